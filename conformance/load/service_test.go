package load

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"example.com/cardrun"
)

// service is as little of the HTTP service as the load needs, with faults that can be switched on.
type service struct {
	r  *cardrun.Runtime
	mu sync.Mutex

	sessions map[string]*cardrun.Session
	clients  map[string]bool // addresses that asked
	paths    map[string]int  // requests by pattern
	wrap     func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc)
}

func newService(t *testing.T) (*service, *httptest.Server) {
	t.Helper()
	r, err := cardrun.New(t.Context(), cardrun.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &service{r: r, sessions: map[string]*cardrun.Session{}, clients: map[string]bool{}, paths: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	for pattern, h := range map[string]http.HandlerFunc{
		"POST /v1/render": s.render, "POST /v1/sessions": s.open, "GET /v1/sessions/{s}": s.look,
		"POST /v1/sessions/{s}/events": s.events, "DELETE /v1/sessions/{s}": s.end,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			s.mu.Lock()
			s.paths[pattern]++
			s.clients[r.RemoteAddr[:len(r.RemoteAddr)-6]] = true
			wrap := s.wrap
			s.mu.Unlock()
			if wrap != nil {
				wrap(w, r, h)
			} else {
				h(w, r)
			}
		})
	}
	ts := httptest.NewServer(mux)
	t.Cleanup(func() {
		ts.Close()
		for _, session := range s.sessions {
			session.Close()
		}
		_ = r.Close()
	})
	return s, ts
}

func options(r *http.Request) (o cardrun.RenderOptions) {
	if n, err := strconv.ParseUint(r.FormValue("seed"), 10, 64); err == nil {
		o.Seed = &n
	}
	o.Now, _ = time.Parse(time.RFC3339, r.FormValue("now"))
	return o
}

func (s *service) render(w http.ResponseWriter, r *http.Request) {
	o := options(r)
	body, _ := io.ReadAll(r.Body)
	card := cardrun.Decode(body)
	snapshot, err := s.r.Render(context.WithoutCancel(r.Context()), &card, o)
	if err != nil {
		http.Error(w, err.Error(), 500)
		return
	}
	reply(w, map[bool]int{true: 422, false: 200}[snapshot.Outcome == cardrun.Rejected], snapshot)
}

func (s *service) open(w http.ResponseWriter, r *http.Request) {
	o := options(r)
	body, _ := io.ReadAll(r.Body)
	card := cardrun.Decode(body)
	session, snapshot, err := s.r.Open(context.WithoutCancel(r.Context()), &card, cardrun.SessionOptions{RenderOptions: o})
	switch {
	case err != nil:
		http.Error(w, err.Error(), 500)
	case session == nil: // as a problem that holds it; a render answers with it alone
		reply(w, 422, struct {
			Code     string            `json:"code"`
			Snapshot *cardrun.Snapshot `json:"snapshot"`
		}{"card_rejected", snapshot})
	default:
		id := rand.Text()
		s.mu.Lock()
		s.sessions[id] = session
		s.mu.Unlock()
		reply(w, 201, struct {
			Session  string            `json:"session"`
			Snapshot *cardrun.Snapshot `json:"snapshot"`
		}{id, snapshot})
	}
}

func (s *service) session(r *http.Request) *cardrun.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[r.PathValue("s")]
}

func (s *service) look(w http.ResponseWriter, r *http.Request) {
	reply(w, 200, s.session(r).Snapshot())
}

func (s *service) events(w http.ResponseWriter, r *http.Request) {
	var events []cardrun.Event
	if err := json.UnmarshalRead(r.Body, &events); err != nil {
		http.Error(w, err.Error(), 400)
		return
	}
	report, err := s.session(r).Send(context.WithoutCancel(r.Context()), events...)
	switch {
	case errors.Is(err, cardrun.ErrEnded):
		w.WriteHeader(409)
	case err != nil:
		w.WriteHeader(422)
	default:
		reply(w, 200, report)
	}
}

func (s *service) end(w http.ResponseWriter, r *http.Request) {
	s.session(r).Close()
	s.mu.Lock()
	delete(s.sessions, r.PathValue("s"))
	s.mu.Unlock()
	w.WriteHeader(204)
}

func reply(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	if _, ok := v.(*cardrun.Snapshot); status == 422 && !ok {
		w.Header().Set("Content-Type", "application/problem+json")
	}
	w.WriteHeader(status)
	_, _ = w.Write(b)
}
