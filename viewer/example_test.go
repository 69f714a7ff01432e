package viewer_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"example.com/cardrun/examples"
	"example.com/cardrun/viewer"
)

// A service serves the playground beside its calls.
func ExamplePages() {
	pages, err := viewer.Pages(examples.Files)
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	for _, path := range pages.Paths() {
		if path == "/" {
			path = "/{$}"
		}
		mux.Handle("GET "+path, pages)
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/viewer.js", nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	// Output: 200 text/javascript; charset=utf-8
}
