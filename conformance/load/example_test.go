package load_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"example.com/cardrun/conformance"
	"example.com/cardrun/conformance/load"
)

func Example() {
	// A service that refuses everything, as one under too much load does.
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer ts.Close()
	cases, err := conformance.Load("../cases/R71-events-in-order.json", "../cases/D14-two-controls-do-not-combine.json")
	if len(cases) == 0 {
		fmt.Println(err)
		return
	}
	report, err := load.Run(context.Background(), cases, load.Options{
		URL: ts.URL, Mode: load.Renders, Plan: []load.Phase{{Rate: 100, Duration: 200 * time.Millisecond}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Answered, report.Refused == report.Sent, report.Clean())
	// Output: 0 true true
}
