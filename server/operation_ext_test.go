package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/cardrun/server"
)

// sse is one event of a stream.
type sse struct{ event, id, data string }

// follow reads a stream until it ends or cancel is called.
func (v *service) follow(id, last string) (events chan sse, cancel func()) {
	v.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, "GET", v.url+"/v1/sessions/"+id+"/stream", nil)
	if err != nil {
		v.t.Fatal(err)
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		v.t.Fatalf("stream: %d %q", res.StatusCode, res.Header.Get("Content-Type"))
	}
	events = make(chan sse, 1000)
	go func() {
		defer res.Body.Close()
		defer close(events)
		var e sse
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "event":
				e.event = value
			case "id":
				e.id = value
			case "data":
				e.data = value
			case "":
				if e.event != "" {
					events <- e
				}
				e = sse{}
			}
		}
	}()
	return events, cancel
}

func TestStream(t *testing.T) {
	v := listen(t, server.Options{Local: true})
	id := v.open(counting)
	next := func(from chan sse) sse {
		t.Helper()
		select {
		case e := <-from:
			return e
		case <-time.After(5 * time.Second):
			t.Fatal("no event came")
			return sse{}
		}
	}
	expect := func(got sse, event, id, data string) {
		t.Helper()
		if got.event != event || got.id != id || !strings.Contains(got.data, data) {
			t.Fatalf("got %+v, want %s %s with %s", got, event, id, data)
		}
	}
	all, cancel := v.follow(id, "")
	defer cancel()
	expect(next(all), "round", "1.0", `"phase":"init"`)
	v.expect(v.call("POST", "/v1/sessions/"+id+"/events", press), 200, "")
	expect(next(all), "round", "1.1", "pressed 1")
	v.expect(v.call("POST", "/v1/sessions/"+id+"/events", press), 200, "")
	expect(next(all), "round", "1.2", "pressed 2")
	behind, cancelBehind := v.follow(id, "1.1")
	expect(next(behind), "round", "1.2", "pressed 2")
	cancelBehind()
	v.call("POST", "/v1/sessions/"+id+"/events", press)
	expect(next(all), "round", "1.3", `"patches":[]`)
	expect(next(all), "failure", "", `"code":"exception"`)
	expect(next(all), "end", "", "failure")
	if e, more := <-all; more {
		t.Errorf("after the end: %+v", e)
	}
	v.expect(v.call("POST", "/v1/sessions/"+id+"/refresh", ""), 200, "")
	again, cancelAgain := v.follow(id, "1.3") // of the activation before: all of this one
	defer cancelAgain()
	expect(next(again), "round", "2.0", `"phase":"init"`)
	v.expect(v.call("DELETE", "/v1/sessions/"+id, ""), 204, "")
	expect(next(again), "end", "", "closed")

	id = v.open(counting)
	for range 16 {
		_, cancel := v.follow(id, "")
		defer cancel()
	}
	if a := v.expect(v.call("GET", "/v1/sessions/"+id+"/stream", ""), 503, "too_many_streams"); a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}

// metric reads the sum of a family's values whose labels contain a text.
func (v *service) metric(family, labels string) (sum float64) {
	v.t.Helper()
	for line := range strings.Lines(string(v.expect(v.call("GET", "/metrics", ""), 200, "").body)) {
		if m := regexp.MustCompile(`^` + family + `(\{[^}]*\})? (\S+)`).FindStringSubmatch(line); m != nil && strings.Contains(m[1], labels) {
			n, err := strconv.ParseFloat(m[2], 64)
			if err != nil {
				v.t.Fatal(err)
			}
			sum += n
		}
	}
	return sum
}

func TestMetrics(t *testing.T) {
	o := server.Options{Local: true}
	o.Engine.RenderCache, o.Engine.ImageCache = 1<<20, 1<<20
	v := listen(t, o)
	for range 2 {
		v.expect(v.call("POST", "/v1/render", counting), 200, "")
		v.open(counting)
	}
	v.expect(v.call("POST", "/v1/render", cardOf(spin)), 200, "")
	v.expect(v.call("POST", "/v1/render", cardOf(`null.x`)), 200, "")
	for _, c := range []struct {
		family, labels string
		least          float64
	}{
		{"cardrun_requests_total", `status="200"`, 4}, {"cardrun_request_seconds_count", `route="/v1/render"`, 4},
		{"cardrun_rounds_total", `outcome="ok"`, 1}, {"cardrun_rounds_total", `outcome="cached"`, 2},
		{"cardrun_rounds_total", `outcome="timeout"`, 1}, {"cardrun_rounds_total", `outcome="exception"`, 1},
		{"cardrun_guest_seconds_sum", "", .25}, {"cardrun_queue_seconds_count", "", 3}, {"cardrun_sanitizer_seconds_count", "", 6}, {"cardrun_workers", "", 2},
		{"cardrun_sessions", "", 2}, {"cardrun_session_bytes", "", 1}, {"cardrun_cache_hits_total", `cache="render"`, 1},
		{"cardrun_cache_hits_total", `cache="image"`, 1}, {"cardrun_guests_replaced_total", `reason="stopped"`, 1}, {"cardrun_ready", "", 1},
		{"go_goroutines", "", 1},
	} {
		if got := v.metric(c.family, c.labels); got < c.least {
			t.Errorf("%s{%s} is %v, want %v or more", c.family, c.labels, got, c.least)
		}
	}
	w := httptest.NewRecorder()
	v.s.OperationHandler().ServeHTTP(w, httptest.NewRequest("GET", "/debug/pprof/cmdline", nil))
	if w.Code != 200 {
		t.Errorf("profiles: %d", w.Code)
	}
	v.expect(v.call("GET", "/debug/pprof/", ""), 404, "not_found")
}

// TestReady is about the time before the engine has proved itself, and the time of draining.
func TestReady(t *testing.T) {
	v := listen(t, server.Options{Local: true}, true)
	v.expect(v.call("GET", "/healthz", ""), 200, "")
	v.expect(v.call("GET", "/readyz", ""), 503, "not_ready")
	v.expect(v.call("POST", "/v1/render", counting), 503, "not_ready")
	if err := v.s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	v.expect(v.call("GET", "/readyz", ""), 200, "")
	v.expect(v.call("POST", "/v1/render", counting), 200, "")
	v.s.Drain()
	v.expect(v.call("GET", "/readyz", ""), 503, "draining")
	v.expect(v.call("GET", "/healthz", ""), 200, "")
	v.expect(v.call("POST", "/v1/render", counting), 200, "") // what comes all the same is answered
}

// TestEnd ends a service that is at work: what it took is answered, streams are told, and nothing is left.
func TestEnd(t *testing.T) {
	http.DefaultClient.CloseIdleConnections()
	before := goleak.IgnoreCurrent()
	v := listen(t, server.Options{Local: true, FreezeAfter: time.Millisecond, Patience: 10 * time.Second})
	id := v.open(counting)
	stream, cancel := v.follow(id, "")
	defer cancel()
	answers := make(chan answered, 6)
	for range cap(answers) {
		go func() {
			a, err := v.try(context.Background(), "POST", "/v1/render", cardOf(`const t = Date.now(); while (Date.now() < t + 200) {}`))
			if err != nil {
				t.Errorf("a request that was taken: %v", err)
			}
			answers <- a
		}()
	}
	within(t, "all are taken", func() bool {
		done := v.metric("cardrun_requests_total", `route="/v1/render"`) // on a slow machine some are, before all are taken
		return done+v.metric("cardrun_workers_busy", "")+v.metric("cardrun_queue_length", "") >= 6
	})
	if err := v.stop(); err != nil {
		t.Error(err)
	}
	for range cap(answers) {
		v.expect(<-answers, 200, "")
	}
	var last sse
	for e := range stream {
		last = e
	}
	if last.event != "end" || !strings.Contains(last.data, "shutdown") {
		t.Errorf("the stream's last event: %+v", last)
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

// TestTrace follows a trace context through to a collector.
func TestTrace(t *testing.T) {
	const trace = "0af7651916cd43dd8448eb211c80319c"
	var mu sync.Mutex
	var sent bytes.Buffer
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.Copy(&sent, r.Body)
	}))
	defer collector.Close()
	tracer, end, err := server.NewTracer(t.Context(), collector.URL+"/v1/traces")
	if err != nil {
		t.Fatal(err)
	}
	v := listen(t, server.Options{Local: true, Tracer: tracer})
	a := v.expect(v.call("POST", "/v1/render", counting, "Traceparent", "00-"+trace+"-b7ad6b7169203331-01"), 200, "")
	if got := a.header.Get("Traceparent"); !strings.Contains(got, trace) || strings.Contains(got, "b7ad6b7169203331") {
		t.Errorf("traceparent of the answer: %q", got)
	}
	within(t, "the log names the trace", func() bool { return strings.Contains(v.log.String(), trace) })
	if err := end(t.Context()); err != nil {
		t.Fatal(err)
	}
	id, err := hex.DecodeString(trace)
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if !bytes.Contains(sent.Bytes(), id) || !bytes.Contains(sent.Bytes(), []byte("/v1/render")) {
		t.Errorf("the collector got %d bytes without the span", sent.Len())
	}
	if bytes.Contains(sent.Bytes(), []byte("It shows")) {
		t.Error("a span tells of the card")
	}
}

// TestOverload: two workers, and clients whose cards take all of their time.
func TestOverload(t *testing.T) {
	v := listen(t, server.Options{Local: true, ClientHeader: "X-User"})
	ctx, cancel := context.WithCancel(context.Background())
	var hostile sync.WaitGroup
	var mu sync.Mutex
	refused, slowest := 0, time.Duration(0)
	for n := range 3 {
		for range 20 {
			hostile.Go(func() {
				for ctx.Err() == nil {
					began := time.Now()
					a, err := v.try(ctx, "POST", "/v1/render", cardOf(spin), "X-User", fmt.Sprint("hostile", n))
					if err != nil {
						continue
					}
					mu.Lock()
					if a.status == 503 {
						refused++
						slowest = max(slowest, time.Since(began))
						if a.header.Get("Retry-After") == "" {
							t.Error("no Retry-After")
						}
					}
					mu.Unlock()
					time.Sleep(20 * time.Millisecond)
				}
			})
		}
	}
	within(t, "they are refused", func() bool { mu.Lock(); defer mu.Unlock(); return refused > 50 })
	var times []time.Duration
	for range 15 { // an honest client, whose share nobody takes
		began := time.Now()
		v.expect(v.call("POST", "/v1/render", counting, "X-User", "honest"), 200, "")
		times = append(times, time.Since(began))
	}
	cancel()
	hostile.Wait()
	t.Logf("honest renders took %v; %d were refused, the slowest after %v", times, refused, slowest)
	// Three hostile clients and one honest on two workers: a turn comes up when a round of 250 ms ends.
	for _, took := range times {
		if took > 3*time.Second {
			t.Errorf("an honest render took %v", took)
		}
	}
	if slowest > 4*time.Second {
		t.Errorf("a refusal took %v", slowest)
	}
	within(t, "the service recovers", func() bool { return v.call("POST", "/v1/render", counting, "X-User", "honest").status == 200 })
}

// TestGoneCallers shows that a request whose caller went away before its turn does no work.
func TestGoneCallers(t *testing.T) {
	o := server.Options{Local: true, Patience: 20 * time.Second}
	o.Engine.Workers = 1
	v := listen(t, o)
	before := v.metric("cardrun_guests_replaced_total", "") // by the self-test
	ctx, cancel := context.WithCancel(context.Background())
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() { _, _ = v.try(ctx, "POST", "/v1/render", cardOf(spin)) })
	}
	within(t, "seven wait", func() bool { return v.metric("cardrun_queue_length", "") >= 6 })
	cancel()
	calls.Wait()
	within(t, "nobody waits", func() bool {
		return v.metric("cardrun_queue_length", "") == 0 && v.metric("cardrun_workers_busy", "") == 0
	})
	v.expect(v.call("POST", "/v1/render", counting), 200, "")
	if gone, failed := v.metric("cardrun_requests_total", `status="499"`), v.metric("cardrun_requests_total", `status="500"`); gone != 8 || failed != 0 {
		t.Errorf("%v callers that went away are counted as gone, %v as failures of the service", gone, failed)
	}
	if ran := v.metric("cardrun_guests_replaced_total", "") - before; ran < 1 || ran > 3 {
		t.Errorf("%v of 8 cards ran whose callers were gone", ran)
	}
}
