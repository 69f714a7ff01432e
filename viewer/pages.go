package viewer

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
)

//go:embed page
var pageFiles embed.FS

// Policy is the Content-Security-Policy of the playground: its own scripts and styles, calls to its own service, and nothing else.
// Frames need no source, since theirs is in the page. Trusted Types hold the page to the one place where it parses html,
// which is the module's.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types cardrun"

// Example is a card that the playground offers.
type Example struct {
	Name  string `json:"name"`  // of the file, without .json
	Title string `json:"title"` // of the card
}

// PageSet is the playground and all that it loads, in memory.
type PageSet struct {
	files map[string]file
}

type file struct {
	kind, tag string
	body      []byte
}

// Pages makes the playground. Its examples are the cards in the root of examples, one JSON file each, in the order of their
// titles; there should be one named tip.json, which it shows first. The error is about examples that cannot be read.
//
// It serves / and what that loads from there: viewer.js, which is [Module] and may be loaded from other origins, its own scripts and
// styles, examples.json and examples/NAME.json. Addresses are relative, so it may be mounted below another path with
// http.StripPrefix. It needs the service's /v1 calls beside it.
func Pages(examples fs.FS) (*PageSet, error) {
	p := &PageSet{files: map[string]file{}}
	entries, err := fs.ReadDir(pageFiles, "page")
	if err != nil {
		return nil, fmt.Errorf("read page: %w", err)
	}
	for _, e := range entries {
		data, err := fs.ReadFile(pageFiles, "page/"+e.Name())
		if err != nil {
			return nil, fmt.Errorf("read page: %w", err)
		}
		name := "/" + e.Name()
		if name == "/index.html" {
			name = "/"
		}
		p.add(name, data)
	}
	p.add("/viewer.js", []byte(Module()))
	list, err := p.addExamples(examples)
	if err != nil {
		return nil, err
	}
	index, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("list examples: %w", err)
	}
	p.add("/examples.json", index)
	return p, nil
}

func (p *PageSet) addExamples(examples fs.FS) ([]Example, error) {
	names, err := fs.Glob(examples, "*.json")
	if err != nil {
		return nil, fmt.Errorf("list examples: %w", err)
	}
	list := make([]Example, 0, len(names))
	for _, name := range names {
		data, err := fs.ReadFile(examples, name)
		if err != nil {
			return nil, fmt.Errorf("read example: %w", err)
		}
		e := Example{Name: strings.TrimSuffix(name, ".json")}
		var card struct {
			Title string `json:"title"`
		}
		if err := json.Unmarshal(data, &card); err != nil {
			return nil, fmt.Errorf("read example %s: %w", name, err)
		}
		e.Title = card.Title
		list = append(list, e)
		p.add("/examples/"+name, data)
	}
	return list, nil
}

func (p *PageSet) add(path string, body []byte) {
	kinds := map[string]string{"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "json": "application/json", "svg": "image/svg+xml"}
	kind := "text/html; charset=utf-8"
	if _, ext, ok := strings.Cut(path, "."); ok {
		kind = kinds[ext]
	}
	sum := sha256.Sum256(body)
	p.files[path] = file{kind: kind, tag: `"` + hex.EncodeToString(sum[:12]) + `"`, body: body}
}

// Paths are the paths that are served, for a mux that wants to know them.
func (p *PageSet) Paths() []string {
	list := make([]string, 0, len(p.files))
	for path := range p.files {
		list = append(list, path)
	}
	return list
}

// ServeHTTP answers GET and HEAD for its paths, each time with the policy, and with an entity tag by which a browser that has the
// file already is told so.
func (p *PageSet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, ok := p.files[r.URL.Path]
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	switch {
	case !ok:
		http.NotFound(w, r)
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	h.Set("Content-Security-Policy", Policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.tag)
	if r.URL.Path == "/viewer.js" {
		// A module is fetched with CORS, whatever page loads it; there is nothing secret in it.
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	}
	for tag := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		if strings.TrimPrefix(strings.TrimSpace(tag), "W/") == f.tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	h.Set("Content-Type", f.kind)
	h.Set("Content-Length", fmt.Sprint(len(f.body)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(f.body) // a reader that went away needs no more
	}
}
