package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/cardrun"
	"example.com/cardrun/server"
)

// service is a Server that listens.
type service struct {
	t    testing.TB
	s    *server.Server
	url  string
	addr string
	log  *safeBuffer
	stop func() error // ends it; once or more
}

// safeBuffer is a buffer for several goroutines.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// listen starts a service with two workers. With unready, its engine is not started.
func listen(t testing.TB, o server.Options, unready ...bool) *service {
	t.Helper()
	v := &service{t: t, log: &safeBuffer{}}
	o.Log = slog.New(slog.NewJSONHandler(v.log, nil))
	o.Engine.CacheDir = cacheDir
	if o.Engine.Workers == 0 {
		o.Engine.Workers = 2
	}
	s, err := server.New(o)
	if err != nil {
		t.Fatal(err)
	}
	v.s = s
	if len(unready) == 0 {
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	v.addr = l.Addr().String()
	v.url = "http://" + v.addr
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	v.stop = sync.OnceValue(func() error {
		cancel()
		http.DefaultClient.CloseIdleConnections()
		return <-done
	})
	t.Cleanup(func() {
		if err := v.stop(); err != nil {
			t.Errorf("the service did not end well: %v", err)
		}
	})
	return v
}

// answered is what came of a request.
type answered struct {
	status int
	header http.Header
	body   []byte
}

func (a answered) problem(t testing.TB) server.Problem {
	t.Helper()
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		t.Fatalf("Content-Type %q with status %d and %.200s", got, a.status, a.body)
	}
	var p server.Problem
	if err := json.Unmarshal(a.body, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// call sends a request. Headers are given as name, value, …; a body is JSON unless they say something else.
func (v *service) call(method, path, body string, headers ...string) answered {
	v.t.Helper()
	a, err := v.try(context.Background(), method, path, body, headers...)
	if err != nil {
		v.t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

func (v *service) try(ctx context.Context, method, path, body string, headers ...string) (answered, error) {
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(ctx, method, v.url+path, in)
	if err != nil {
		return answered{}, err
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for n := 0; n < len(headers); n += 2 {
		if headers[n] == "Host" {
			r.Host = headers[n+1]
			continue
		}
		r.Header.Set(headers[n], headers[n+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return answered{}, err
	}
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	return answered{res.StatusCode, res.Header, out}, err
}

// expect expects a status, and the code of the problem where it is one.
func (v *service) expect(a answered, status int, code string) answered {
	v.t.Helper()
	if a.status != status {
		v.t.Fatalf("status %d, want %d: %.300s", a.status, status, a.body)
	}
	if code != "" {
		p := a.problem(v.t)
		if p.Code != code || p.Status != status || p.Detail == "" || p.RequestID != a.header.Get("X-Request-Id") {
			v.t.Fatalf("problem %+v, want code %s", p, code)
		}
	}
	return a
}

// open opens a session and gives its id.
func (v *service) open(card string) string {
	v.t.Helper()
	var out struct {
		Session  string
		Snapshot cardrun.Snapshot
	}
	if err := json.Unmarshal(v.expect(v.call("POST", "/v1/sessions?seed=1&now=2026-01-02T03:04:05Z", card), 201, "").body, &out); err != nil {
		v.t.Fatal(err)
	}
	return out.Session
}

// cardOf is a card with a button b and a text p.
func cardOf(script string) string {
	b, err := json.Marshal(map[string]string{
		"title": "Card", "summary": "It shows something.", "css": "", "javascript": script,
		"html": `<p><button id="b">Press</button> <label for="i">I</label> <input id="i"></p><p id="p">start</p>`,
	})
	if err != nil {
		panic(err)
	}
	return string(b)
}

const (
	press = `{"id":"b","type":"click"}`
	spin  = `for (;;) {}`
)

var counting = cardOf(`let n = 0; ui.on('b', 'click', () => { if (++n === 3) null.x; ui.text('p', 'pressed ' + n) }); ui.on('i', 'input', e => ui.text('p', e.value))`)

func exampleText(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "examples", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// within waits until something is so.
func within(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never came true: %s", what)
		}
	}
}

// raw sends bytes over a connection of their own and reads until the service closes it.
func (v *service) raw(text string) string {
	v.t.Helper()
	c, err := net.Dial("tcp", v.addr)
	if err != nil {
		v.t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, text); err != nil {
		v.t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
	out, _ := io.ReadAll(c) // what came is looked at
	return string(out)
}
