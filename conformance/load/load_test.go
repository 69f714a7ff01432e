package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"

	"example.com/cardrun"
	"example.com/cardrun/conformance"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const counterCase = `{"name":"counter","why":"load","card":{"title":"Counter","summary":"Counts clicks.","html":"<button id=go>Go</button><p id=n></p>","css":"",
	"javascript":"let n = 0; const show = () => ui.text('n', String(n)); ui.on('go', 'click', () => { n++; show() }); show()"},
	"expect":{"text":{"n":"0"}},"steps":[{"events":[{"id":"go","type":"click"},{"id":"go","type":"click"}],"expect":{"text":{"n":"2"}}},
	{"burst":true,"events":[{"id":"go","type":"click"},{"id":"1","type":"click"}],"expect":{"text":{"n":"3"},"rounds":4}}]}`

func parse(t testing.TB, texts ...string) (cases []conformance.Case) {
	t.Helper()
	for i, text := range texts {
		c, err := conformance.Parse(fmt.Sprint("case", i), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	return cases
}

func run(t testing.TB, cases []conformance.Case, o Options) *Report {
	t.Helper()
	r, err := Run(t.Context(), cases, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func kind(p PhaseReport, k Kind) KindReport {
	for _, r := range p.Kinds {
		if r.Kind == k {
			return r
		}
	}
	return KindReport{Kind: k}
}

func text(r *Report) string {
	var b strings.Builder
	_ = r.Print(&b)
	return b.String()
}

// TestAllCases plays the repository's cases over HTTP, as sessions and as renders.
func TestAllCases(t *testing.T) {
	if testing.Short() {
		t.Skip("the cases take some seconds")
	}
	_, ts := newService(t)
	cases, err := conformance.Load("../cases")
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []Mode{Sessions, Renders} {
		o := Options{URL: ts.URL, Mode: mode, Plan: []Phase{{Rate: float64(len(cases)) / 6, Duration: 6500 * time.Millisecond}}}
		r := run(t, cases, o)
		for again := 0; again < 3 && r.Failed == 0 && r.Mismatches > 0; again++ {
			t.Logf("on a busy machine a card may have no time; once more:\n%s", text(r))
			r = run(t, cases, o)
		}
		if !r.Clean() || r.Answered < int64(len(cases)) || r.Sent != r.Answered {
			t.Errorf("%s:\n%s", mode, text(r))
		}
	}
}

func TestCountsAndKinds(t *testing.T) {
	s, ts := newService(t)
	r := run(t, parse(t, counterCase), Options{URL: ts.URL + "/", Plan: []Phase{
		{Rate: 40, Duration: time.Second, Ramp: true}, {Rate: 40, Duration: time.Second}, {Duration: 300 * time.Millisecond}}, Clients: 3})
	if !r.Clean() || len(r.Phases) != 3 {
		t.Fatal(text(r))
	}
	for i, p := range r.Phases {
		open, send, look, end := kind(p, Open), kind(p, Send), kind(p, Look), kind(p, Close)
		// Two clicks one by one; two at once, of which one is malformed, so that they are sent one by one after all.
		if n := open.Sent; n == 0 || send.Sent != 5*n || look.Sent != 2*n || end.Sent != n || open.Latency == nil || open.Refusal != nil || kind(p, Render).Sent != 0 {
			t.Errorf("phase %d: %+v", i+1, p.Kinds)
		}
		if l := open.Latency; l.P50 < 1 || l.P50 > l.P90 || l.P90 > l.P99 || l.P99 > l.P999 || l.P999 > l.Max {
			t.Errorf("phase %d: %+v", i+1, l)
		}
	}
	if a, b := kind(r.Phases[0], Open).Sent, kind(r.Phases[1], Open).Sent; a < 8 || a > 35 || b < 22 || b > 62 {
		t.Errorf("%d sessions while the rate rose to 40/s, %d at 40/s", a, b)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.sessions); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
	if len(s.clients) != 3 && len(s.clients) != 1 { // one where the system has one loopback address
		t.Errorf("callers came from %v", s.clients)
	}
}

func TestMixAndHostile(t *testing.T) {
	s, ts := newService(t)
	r := run(t, parse(t, counterCase), Options{URL: ts.URL, Mode: Mix, Hostile: 0.2, Plan: []Phase{{Rate: 40, Duration: 2500 * time.Millisecond}}})
	p := r.Phases[0]
	// A hostile card may take the time of another here, where nobody sees to it that they share.
	if r.Failed > 0 || kind(p, Render).Sent < 15 || kind(p, Open).Sent < 15 || kind(p, Hostile).Sent < 8 {
		t.Error(text(r))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.clients) != 9 && len(s.clients) != 1 {
		t.Errorf("callers came from %v", s.clients)
	}
}

// TestHostile runs each hostile card: it ends as its entry says.
func TestHostile(t *testing.T) {
	r, err := cardrun.New(t.Context(), cardrun.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	results := conformance.Run(t.Context(), r, hostile(), conformance.Options{})
	var b strings.Builder
	_ = results.Print(&b)
	if _, failed := results.Count(); failed > 0 {
		t.Error(b.String())
	}
	t.Logf("attacks: %d", len(results))
}

// TestFaultsAreSeen switches on one fault after another: each is counted as what it is.
func TestFaultsAreSeen(t *testing.T) {
	s, ts := newService(t)
	type wrap = func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc)
	on := func(path string, f wrap) wrap {
		return func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
			if strings.Contains(r.Method+" "+r.URL.Path, path) {
				f(w, r, next)
			} else {
				next(w, r)
			}
		}
	}
	status := func(n int, header ...string) wrap {
		return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(n)
		}
	}
	body := func(n int, text string) wrap {
		return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
			w.WriteHeader(n)
			_, _ = w.Write([]byte(text))
		}
	}
	edit := func(from, to string) wrap {
		return func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) { next(&editor{w, from, to}, r) }
	}
	cut := func(http.ResponseWriter, *http.Request, http.HandlerFunc) { panic(http.ErrAbortHandler) }
	for _, c := range []struct {
		name  string
		wrap  wrap
		count func(*Report) int64 // what there must be of
		says  string              // in the report
	}{
		{"none", on("nothing", cut), func(r *Report) int64 { return r.Answered }, "0 refused, 0 errors, 0 mismatches"},
		{"wrong text at the start", on("POST /v1/sessions", edit(`<p id=\"n\">0`, `<p id=\"n\">1`)), mismatches, "start: text/n\n    want \"0\"\n    got  \"1\""},
		{"wrong text later", on("GET /v1/sessions/", edit(`<p id=\"n\">2`, `<p id=\"n\">3`)), mismatches, "step 1: text/n"},
		{"lost event", on("/events", body(200, "{}")), mismatches, "step 1: text/n"},
		{"refused", on("POST", status(503, "Retry-After", "1")), refusals, "0 errors, 0 mismatches"},
		{"refused by rate", on("POST", status(429, "Retry-After", "1")), refusals, "0 errors, 0 mismatches"},
		{"events refused", on("/events", status(503, "Retry-After", "1")), refusals, "0 errors, 0 mismatches"},
		{"refused without Retry-After", on("POST", status(503)), failures, "ERROR open: status 503 without Retry-After"},
		{"error", on("POST", status(500)), failures, `ERROR open: status 500, code ""`},
		{"gone", on("GET /v1/sessions/", status(410)), failures, "ERROR state: status 410"},
		{"not closed", on("DELETE", status(200)), failures, "ERROR close: status 200"},
		{"cut", on("POST", cut), failures, "ERROR open: the connection was closed without an answer"},
		{"no JSON", on("POST", body(201, "hello")), failures, "ERROR open: read session:"},
		{"short id", on("POST", edit(`"session":"`, `"session":"x","`)), failures, "ERROR open: read session:"},
		{"unknown outcome", on("GET /v1/sessions/", edit(`"outcome":"ready"`, `"outcome":"fine"`)), failures, "the outcome is"},
		{"unknown member", on("GET /v1/sessions/", edit(`"outcome"`, `"extra":1,"outcome"`)), failures, "ERROR state: read Snapshot:"},
		{"rejected", on("POST", body(422, `{"outcome":"rejected"}`)), mismatches, "start: text/n"},
		{"rejected, and not", on("POST", body(422, `{"outcome":"ready"}`)), failures, "the status does not fit"},
		{"problem with the status of a rejection", on("POST", func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(422)
			_, _ = w.Write([]byte(`{"status":422,"code":"parameter_invalid"}`))
		}), mismatches, `got  status 422, code "parameter_invalid"`},
		{"problem", on("POST", body(400, `{"code":"json_invalid"}`)), mismatches, `got  status 400, code "json_invalid"`},
	} {
		s.mu.Lock()
		s.wrap = c.wrap
		s.mu.Unlock()
		r := run(t, parse(t, counterCase), Options{URL: ts.URL, Plan: []Phase{{Rate: 100, Duration: 150 * time.Millisecond}}})
		if got := text(r); c.count(r) == 0 || !strings.Contains(got, c.says) || (r.Sent != r.Answered+r.Refused+r.Failed) {
			t.Errorf("%s: want %q in\n%s", c.name, c.says, got)
		}
	}
}

func mismatches(r *Report) int64 { return r.Mismatches }
func refusals(r *Report) int64   { return r.Refused }
func failures(r *Report) int64   { return r.Failed }

// editor changes what is written.
type editor struct {
	http.ResponseWriter
	from, to string
}

func (e *editor) Write(b []byte) (int, error) {
	_, err := e.ResponseWriter.Write([]byte(strings.ReplaceAll(string(b), e.from, e.to)))
	return len(b), err
}

// TestLatencyCountsFromDue lets a service stand still: those who came meanwhile waited, whenever they were sent.
func TestLatencyCountsFromDue(t *testing.T) {
	s, ts := newService(t)
	start := time.Now()
	s.wrap = func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
		time.Sleep(time.Until(start.Add(1200 * time.Millisecond)))
		next(w, r)
	}
	r := run(t, parse(t, counterCase), Options{URL: ts.URL, Mode: Renders, Plan: []Phase{{Rate: 100, Duration: time.Second}}})
	k := kind(r.Phases[0], Render)
	if !r.Clean() || k.Latency.Max < 900_000 || k.Latency.P50 < 400_000 {
		t.Errorf("%+v\n%s", k.Latency, text(r))
	}
	s.mu.Lock()
	s.wrap = func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
		time.Sleep(time.Second)
		next(w, r)
	}
	s.mu.Unlock()
	r = run(t, parse(t, counterCase), Options{URL: ts.URL, Mode: Renders, Unanswered: 5, Plan: []Phase{{Rate: 50, Duration: 400 * time.Millisecond}}})
	if r.Phases[0].Late == 0 || kind(r.Phases[0], Render).Sent != 5 || r.Clean() {
		t.Errorf("%+v", r.Phases)
	}
}

func TestNoAnswer(t *testing.T) {
	s, ts := newService(t)
	block := make(chan struct{})
	s.wrap = func(_ http.ResponseWriter, r *http.Request, _ http.HandlerFunc) { <-block }
	r := run(t, parse(t, counterCase), Options{URL: ts.URL, Timeout: 200 * time.Millisecond, Plan: []Phase{{Rate: 30, Duration: 200 * time.Millisecond}}})
	if r.Failed == 0 || !strings.Contains(text(r), "no answer within 200ms") {
		t.Error(text(r))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	begun := time.Now()
	if r, err := Run(ctx, parse(t, counterCase), Options{URL: ts.URL, Plan: []Phase{{Rate: 50, Duration: time.Hour}}}); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) > 10*time.Second {
		t.Errorf("broken off: %+v, %v", r, err)
	}
	close(block)
}

// TestServiceThatClosesConnections answers once for each connection: none of it is an error.
func TestServiceThatClosesConnections(t *testing.T) {
	s, ts := newService(t)
	s.wrap = func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
		w.Header().Set("Connection", "close")
		next(w, r)
	}
	if r := run(t, parse(t, counterCase), Options{URL: ts.URL, Plan: []Phase{{Rate: 50, Duration: 400 * time.Millisecond}}}); !r.Clean() {
		t.Error(text(r))
	}
	s.mu.Lock()
	s.wrap = nil
	s.mu.Unlock()
	ts.Config.IdleTimeout = time.Millisecond // says nothing, and closes
	ts.Config.SetKeepAlivesEnabled(true)
	if r := run(t, parse(t, counterCase), Options{URL: ts.URL, Plan: []Phase{{Rate: 50, Duration: 400 * time.Millisecond}}}); !r.Clean() {
		t.Error(text(r))
	}
}

func TestBadOptions(t *testing.T) {
	good := []Phase{{Rate: 1, Duration: time.Millisecond}}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	unready := http.NewServeMux()
	unready.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
	srv := &http.Server{Handler: unready}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = srv.Serve(l) }()
	defer srv.Close()
	const u = "http://127.0.0.1:1"
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{URL: u}, "no phase"},
		{Options{URL: "127.0.0.1", Plan: good}, "use one like http://"},
		{Options{URL: "ftp://127.0.0.1", Plan: good}, "use http or https"},
		{Options{URL: u, Plan: good, Mode: "x"}, "the mode"},
		{Options{URL: u, Plan: good, Clients: -1}, "clients"},
		{Options{URL: u, Plan: good, Hostile: 2}, "hostile share"},
		{Options{URL: u, Plan: good, Hostile: math.NaN()}, "hostile share"},
		{Options{URL: u, Plan: good, Timeout: -1}, "less than zero"},
		{Options{URL: u, Plan: good, Token: "a\r\nb"}, "the token has"},
		{Options{URL: u, Plan: []Phase{{Rate: -1, Duration: 1}}}, "the rate"},
		{Options{URL: u, Plan: []Phase{{Rate: math.NaN(), Duration: 1}}}, "the rate"},
		{Options{URL: u, Plan: []Phase{{Rate: 1}}}, "it takes"},
		{Options{URL: u, Plan: []Phase{{Duration: 1, Ramp: true}}}, "a ramp"},
		{Options{URL: "http://" + closed.Addr().String(), Plan: good}, "reach the service"},
		{Options{URL: "http://" + l.Addr().String(), Plan: good}, "not ready: /readyz answers 503"},
	} {
		if _, err := Run(t.Context(), parse(t, counterCase), c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v; want %q", c.o, err, c.want)
		}
	}
	if _, err := Run(t.Context(), nil, Options{URL: u, Plan: good}); err == nil || !strings.Contains(err.Error(), "no case") {
		t.Errorf("without cases: %v", err)
	}
}

// TestArrivals holds the times of arrivals against the rate: as many in each part of a ramp as its integral says.
func TestArrivals(t *testing.T) {
	for _, c := range []struct{ from, to float64 }{{500, 500}, {0, 1000}, {1000, 100}, {300, 0.001}} {
		const all = 20.0
		r := rand.New(rand.NewPCG(1, 2))
		var quarters [4]float64
		for at := next(0, r.ExpFloat64(), c.from, c.to, all); at < all; at = next(at, r.ExpFloat64(), c.from, c.to, all) {
			quarters[int(at/all*4)]++
		}
		for i, got := range quarters {
			middle := (float64(i) + 0.5) / 4
			want := (c.from + (c.to-c.from)*middle) * all / 4
			if math.Abs(got-want) > 5*math.Sqrt(want)+1 {
				t.Errorf("%g to %g: %g arrivals in quarter %d; want about %g", c.from, c.to, got, i, want)
			}
		}
	}
}

// TestReportJSON holds the names that machines read.
func TestReportJSON(t *testing.T) {
	tl := newTally()
	for range 100 {
		tl.answered(3*time.Millisecond, false)
	}
	tl.answered(time.Hour, true)
	tl.refused(0)
	tl.fault()
	r := &Report{URL: "u", Phases: []PhaseReport{{Rate: 5, Seconds: 2, Kinds: []KindReport{tl.report(Render, 2)}}}}
	b, err := json.Marshal(r)
	const want = `{"url":"u","phases":[{"rate":5,"seconds":2,"unsent":0,"kinds":[{"kind":"render","sent":103,"answered":101,"refused":1,"errors":1,"mismatches":1,` +
		`"per_second":50.5,"latency_us":{"p50":3001,"p90":3001,"p99":3001,"p999":600309759,"max":600309759},"refusal_us":{"p50":1,"p90":1,"p99":1,"p999":1,"max":1}}]}],` +
		`"sent":0,"answered":0,"refused":0,"errors":0,"mismatches":0,"mismatch_details":[],"error_details":[]}`
	if err != nil || string(b) != want {
		t.Errorf("%v\n got %s\nwant %s", err, b, want)
	}
}

// TestChecksAreRemembered looks at equal answers once, whatever time they took, and never takes one step for another.
func TestChecksAreRemembered(t *testing.T) {
	c := newChecker()
	if a, b := c.hash([]byte(`{"elapsed_us":12,"x":1},{"elapsed_us":3}`)), c.hash([]byte(`{"elapsed_us":7,"x":1},{"elapsed_us":99}`)); a != b {
		t.Error("the time makes a difference")
	}
	for _, other := range []string{`{"elapsed_us":12,"x":2}`, `{"elapsed_us":12,"x":1}`, `"\"elapsed_us\":12`, `"\"elapsed_us\":13`, ``} {
		for _, text := range []string{`{"elapsed_us":1,"y":2}`, `"\"elapsed_us\":14`} {
			if c.hash([]byte(text)) == c.hash([]byte(other)) {
				t.Errorf("%s counts as %s", text, other)
			}
		}
	}
	req, _ := newRequests(mustURL(t, "http://h"), "")
	it := req.item(&parse(t, counterCase)[0])
	answer := []byte(`{"outcome":"ready","display":{"html":"<p id=\"n\">0</p>","css":"","text":""}}`)
	for range 2 {
		if v, err := c.check(it, 0, answer); err != nil || len(v.found) != 0 {
			t.Errorf("start: %+v, %v", v, err)
		}
		if v, err := c.check(it, 1, answer); err != nil || len(v.found) != 1 || v.found[0].Step != 1 {
			t.Errorf("step 1: %+v, %v", v, err)
		}
	}
	if len(c.seen) != 2 {
		t.Errorf("%d were looked at", len(c.seen))
	}
}

func TestRequests(t *testing.T) {
	r, err := newRequests(mustURL(t, "http://host:1/base/"), "secret")
	if err != nil {
		t.Fatal(err)
	}
	want := "POST /base/v1/render?now=2026-01-01T00%3A00%3A00Z&seed=7 HTTP/1.1\r\nHost: host:1\r\nUser-Agent: cardrun-load\r\nAccept: application/json\r\n" +
		"Authorization: Bearer secret\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
	seed := uint64(7)
	it := r.item(&conformance.Case{Body: []byte("{}"), Seed: &seed, Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
	if got := it.render; !bytes.Equal(got, []byte(want)) {
		t.Errorf("%q", got)
	}
	if slices.Contains([]string{string(r.get("/x")), string(r.del("/x"))}, "") || !bytes.HasPrefix(r.del("/x"), []byte("DELETE /base/x HTTP/1.1\r\n")) {
		t.Errorf("%q", r.del("/x"))
	}
}

func mustURL(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
