package server_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/cardrun/server"
)

func TestPlayground(t *testing.T) {
	mounts, err := server.PlaygroundMounts()
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	for _, m := range mounts {
		mux.Handle(m.Pattern, m.Handler(nil, nil))
	}
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/", 200}, {"HEAD", "/", 200}, {"POST", "/", 405}, {"GET", "/viewer.js", 200}, {"GET", "/examples/tip.json", 200}, {"GET", "/v1/sessions", 404}, {"GET", "/none", 404},
	} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(c.method, c.path, nil))
		if w.Code != c.status {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, w.Code, c.status)
		}
		if w.Code == 200 && !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s %s has no policy", c.method, c.path)
		}
	}
}
