//go:build browser

package viewer_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"example.com/cardrun"
	"example.com/cardrun/examples"
	"example.com/cardrun/viewer"
)

// A service is the calls of the HTTP service that the viewer makes, over real sessions, with ways to fail that a test chooses.
type service struct {
	t      testing.TB
	rt     *cardrun.Runtime
	server *httptest.Server
	mux    *http.ServeMux

	mu       sync.Mutex
	pages    map[string]served
	sessions map[string]*cardrun.Session
	opened   int
	newest   string                                            // session
	requests []string                                          // method and path, as they came
	before   func(w http.ResponseWriter, r *http.Request) bool // true: the request was answered
	after    func(w http.ResponseWriter, r *http.Request) bool // true: the answer to events is withheld
	streams  map[chan struct{}]bool
}

type served struct{ kind, text string }

func newService(t testing.TB) *service {
	t.Helper()
	rt, err := cardrun.New(t.Context(), cardrun.Options{NoCache: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rt.Close() })
	s := &service{t: t, rt: rt, sessions: map[string]*cardrun.Session{}, streams: map[chan struct{}]bool{}, mux: http.NewServeMux(),
		pages: map[string]served{
			"/host":        {"text/html; charset=utf-8", hostPage},
			"/host.js":     {"text/javascript; charset=utf-8", hostScript},
			"/favicon.ico": {"image/x-icon", ""},
		}}
	s.mux.HandleFunc("POST /v1/sessions", s.create)
	s.mux.HandleFunc("GET /v1/sessions/{s}", s.of(s.read))
	s.mux.HandleFunc("POST /v1/sessions/{s}/events", s.of(s.events))
	s.mux.HandleFunc("POST /v1/sessions/{s}/refresh", s.of(s.refresh))
	s.mux.HandleFunc("GET /v1/sessions/{s}/stream", s.of(s.stream))
	s.mux.HandleFunc("DELETE /v1/sessions/{s}", s.of(s.end))
	pages, err := viewer.Pages(examples.Files)
	if err != nil {
		t.Fatal(err)
	}
	s.mux.Handle("/", pages)
	s.mux.HandleFunc("POST /v1/check", s.check)
	s.server = httptest.NewServer(s)
	t.Cleanup(func() {
		s.cut()
		s.server.CloseClientConnections()
		s.server.Close()
		for _, x := range s.sessions {
			x.Close()
		}
	})
	return s
}

// hostPage is a chat page of somebody else, with a policy as strict as can be.
const hostPage = `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>host</title></head><body><main><h1>Chat</h1><button id="before">before</button>
<div id="place"></div><button id="after">after</button></main><script type="module" src="/host.js"></script></body></html>`

const hostPolicy = "default-src 'none'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types cardrun"

// hostScript keeps what a test asks for where it finds it. What a test evaluates is no part of the page's policy.
const hostScript = `import {mount} from '/viewer.js';
const seen = {rounds: [], states: [], failures: [], sent: [], snapshots: 0};
window.host = {mount, seen, view: null, open(options) {
  this.view = mount(document.getElementById('place'), {...options,
    onround: (r, p) => seen.rounds.push({...r, place: p}), onstate: s => seen.states.push(s), onfailure: f => seen.failures.push(f),
    onsent: e => seen.sent.push(...e), onsnapshot: () => seen.snapshots++,
    reopen: options.reopen ? async () => (await (await fetch('/v1/sessions', {method: 'POST', body: options.reopen})).json()).session : undefined});
  return this.view.frame.ready.then(() => true);
}, get doc() { return this.view.frame.document; }, el(id) { return this.doc.getElementById(id); }};
`

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI())
	p, ok := s.pages[r.URL.Path]
	before := s.before
	s.mu.Unlock()
	if before != nil && before(w, r) {
		return
	}
	if ok {
		w.Header().Set("Content-Type", p.kind)
		w.Header().Set("Content-Security-Policy", hostPolicy)
		_, _ = w.Write([]byte(p.text))
		return
	}
	s.mux.ServeHTTP(w, r)
}

// asked gives the requests so far that begin with a prefix.
func (s *service) asked(prefix string) (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if strings.HasPrefix(r, prefix) {
			list = append(list, r)
		}
	}
	return list
}

func (s *service) set(before, after func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before, s.after = before, after
}

// cut ends all streams, as a proxy that restarts does.
func (s *service) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.streams {
		close(c)
		delete(s.streams, c)
	}
}

// open opens a session of a card from outside the browser.
func (s *service) open(html, css, script string) (string, *cardrun.Session) {
	s.t.Helper()
	card := cardrun.Card{Title: "A card", Summary: "What it says.", HTML: html, CSS: css, JavaScript: script}
	x, snapshot, err := s.rt.Open(s.t.Context(), &card, cardrun.SessionOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	if x == nil {
		s.t.Fatalf("rejected: %v", snapshot.Diagnostics)
	}
	return s.keep(x), x
}

func (s *service) keep(x *cardrun.Session) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened++
	id := fmt.Sprintf("session-%d", s.opened)
	s.sessions[id], s.newest = x, id
	return id
}

// forget is what a restart does to a session.
func (s *service) forget(id string) {
	s.mu.Lock()
	x := s.sessions[id]
	delete(s.sessions, id)
	s.mu.Unlock()
	x.Close()
}

func (s *service) create(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, cardrun.MaxJSON))
	if err != nil {
		problem(w, 413, err.Error())
		return
	}
	card := cardrun.Decode(data)
	o := cardrun.SessionOptions{}
	if v := r.URL.Query().Get("seed"); v != "" {
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			problem(w, 400, "seed")
			return
		}
		o.Seed = &n
	}
	if v := r.URL.Query().Get("now"); v != "" {
		at, err := time.Parse(time.RFC3339, v)
		if err != nil {
			problem(w, 400, "now")
			return
		}
		o.Now = at
	}
	x, snapshot, err := s.rt.Open(r.Context(), &card, o)
	if err != nil {
		problem(w, 500, err.Error())
		return
	}
	if x == nil {
		answer(w, 422, map[string]any{"title": "rejected", "status": 422, "snapshot": snapshot})
		return
	}
	w.Header().Set("Last-Event-ID", "1.0")
	answer(w, 201, map[string]any{"session": s.keep(x), "snapshot": snapshot})
}

func (s *service) check(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, cardrun.MaxJSON))
	if err != nil {
		problem(w, 413, err.Error())
		return
	}
	card := cardrun.Decode(data)
	_, found := card.Check()
	answer(w, 200, map[string]any{"diagnostics": found})
}

func (s *service) of(h func(w http.ResponseWriter, r *http.Request, x *cardrun.Session)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		x := s.sessions[r.PathValue("s")]
		s.mu.Unlock()
		if x == nil {
			problem(w, 404, "there is no such session")
			return
		}
		h(w, r, x)
	}
}

func (s *service) read(w http.ResponseWriter, _ *http.Request, x *cardrun.Session) {
	snapshot, place := x.Look()
	w.Header().Set("Last-Event-ID", place.String())
	answer(w, 200, snapshot)
}

func (s *service) events(w http.ResponseWriter, r *http.Request, x *cardrun.Session) {
	var events []cardrun.Event
	if err := json.UnmarshalRead(r.Body, &events, json.RejectUnknownMembers(true)); err != nil {
		problem(w, 400, err.Error())
		return
	}
	report, err := x.Send(s.t.Context(), events...)
	if err != nil {
		problem(w, 409, err.Error())
		return
	}
	s.mu.Lock()
	after := s.after
	s.mu.Unlock()
	if after != nil && after(w, r) {
		return
	}
	w.Header().Set("Last-Event-ID", report.Last.String())
	answer(w, 200, report)
}

func (s *service) refresh(w http.ResponseWriter, r *http.Request, x *cardrun.Session) {
	if err := x.Refresh(r.Context()); err != nil {
		problem(w, 500, err.Error())
		return
	}
	s.read(w, r, x)
}

func (s *service) end(w http.ResponseWriter, r *http.Request, _ *cardrun.Session) {
	s.forget(r.PathValue("s"))
	w.WriteHeader(204)
}

func (s *service) stream(w http.ResponseWriter, r *http.Request, x *cardrun.Session) {
	cut := make(chan struct{})
	s.mu.Lock()
	s.streams[cut] = true
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(200)
	activation, from := 0, 0
	if a, n, ok := strings.Cut(r.Header.Get("Last-Event-ID"), "."); ok {
		activation, _ = strconv.Atoi(a)
		from, _ = strconv.Atoi(n)
		from++
	}
	for {
		p := x.Follow(activation, from)
		activation = p.Activation
		for i, round := range p.Rounds {
			fmt.Fprintf(w, "id: %d.%d\nevent: round\ndata: ", activation, p.First+i)
			_ = json.MarshalWrite(w, round)
			fmt.Fprint(w, "\n\n")
		}
		from = p.First + len(p.Rounds)
		if p.Failure != nil {
			fmt.Fprint(w, "event: failure\ndata: ")
			_ = json.MarshalWrite(w, p.Failure)
			fmt.Fprint(w, "\n\nevent: end\ndata: {\"reason\":\"failure\"}\n\n")
			return
		}
		if p.Closed {
			fmt.Fprint(w, "event: end\ndata: {\"reason\":\"closed\"}\n\n")
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-p.News:
		case <-r.Context().Done():
			return
		case <-cut:
			return
		}
	}
}

func answer(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.MarshalWrite(w, value)
}

func problem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.MarshalWrite(w, map[string]any{"title": http.StatusText(status), "status": status, "detail": detail})
}
