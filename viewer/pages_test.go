package viewer_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"example.com/cardrun/examples"
	"example.com/cardrun/viewer"
)

func TestModuleStandsAlone(t *testing.T) {
	for name, text := range map[string]string{"Module": viewer.Module(), "FrameModule": viewer.FrameModule()} {
		if found := regexp.MustCompile(`(?m)^\s*(import|export \*)\b.*|\bimport\(`).FindString(text); found != "" {
			t.Errorf("%s imports: %s", name, found)
		}
		for _, want := range []string{"export class CardFrame", "export class EventQueue"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %s", name, want)
			}
		}
		if strings.Contains(text, "</script") || strings.Contains(text, "<!--") {
			t.Errorf("%s cannot stand in a script element", name)
		}
	}
	if strings.Contains(viewer.FrameModule(), "fetch(") {
		t.Error("FrameModule knows the network")
	}
	if !strings.Contains(viewer.Module(), "export function mount(") {
		t.Error("Module has no mount")
	}
}

func TestPages(t *testing.T) {
	p, err := viewer.Pages(examples.Files)
	if err != nil {
		t.Fatal(err)
	}
	get := func(method, path, tag string) *http.Response {
		r := httptest.NewRequest(method, path, nil)
		if tag != "" {
			r.Header.Set("If-None-Match", tag)
		}
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		return w.Result()
	}
	for _, c := range []struct {
		method, path string
		status       int
		kind         string
	}{
		{"GET", "/", 200, "text/html; charset=utf-8"},
		{"HEAD", "/", 200, "text/html; charset=utf-8"},
		{"POST", "/", 405, ""},
		{"GET", "/viewer.js", 200, "text/javascript; charset=utf-8"},
		{"GET", "/playground.js", 200, "text/javascript; charset=utf-8"},
		{"GET", "/playground.css", 200, "text/css; charset=utf-8"},
		{"GET", "/favicon.svg", 200, "image/svg+xml"},
		{"GET", "/examples.json", 200, "application/json"},
		{"GET", "/examples/tip.json", 200, "application/json"},
		{"GET", "/examples/", 404, ""},
		{"GET", "/examples/../index.html", 404, ""},
		{"GET", "/index.html", 404, ""},
	} {
		r := get(c.method, c.path, "")
		if r.StatusCode != c.status || c.kind != "" && r.Header.Get("Content-Type") != c.kind {
			t.Errorf("%s %s: %d %q", c.method, c.path, r.StatusCode, r.Header.Get("Content-Type"))
		}
		if r.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s %s: may be sniffed", c.method, c.path)
		}
		if r.StatusCode != 200 {
			continue
		}
		if r.Header.Get("Content-Security-Policy") != viewer.Policy || strings.Contains(viewer.Policy, "unsafe") {
			t.Errorf("%s %s: policy %q", c.method, c.path, r.Header.Get("Content-Security-Policy"))
		}
		if again := get(c.method, c.path, `"other", W/`+r.Header.Get("ETag")); again.StatusCode != 304 {
			t.Errorf("%s %s: asked again, %d", c.method, c.path, again.StatusCode)
		}
	}
	if _, err := viewer.Pages(fstest.MapFS{"bad.json": {Data: []byte("{")}}); err == nil || !strings.Contains(err.Error(), "bad.json") {
		t.Errorf("an example that is no JSON: %v", err)
	}
}

// TestPageHasNothingInline: what stands in the page itself would not run under its policy.
func TestPageHasNothingInline(t *testing.T) {
	p, err := viewer.Pages(examples.Files)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	text := w.Body.String()
	if found := regexp.MustCompile(`(?i)<style| style=| on[a-z]+=|<script[^>]*>[^<]|javascript:|(src|href)="(https?:)?/`).FindString(text); found != "" {
		t.Errorf("the page has %q", found)
	}
}
