package server_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cardrun"
	"example.com/cardrun/server"
)

var elapsed = regexp.MustCompile(`"elapsed_us":\d+`)

// repeatable is JSON text without what differs between equal runs.
func repeatable(b []byte) string { return elapsed.ReplaceAllString(string(b), `"elapsed_us":0`) }

// TestRender holds an answer against what the library gives, byte for byte.
func TestRender(t *testing.T) {
	v := listen(t, server.Options{Local: true})
	seed, now := uint64(7), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	rt := newRuntime(t)
	for name, c := range map[string]struct {
		card   string
		status int
	}{
		"ready": {exampleText(t, "tip.json"), 200}, "random": {cardOf(`ui.text('p', Math.random() + ' ' + Date.now())`), 200},
		"failed": {cardOf(`null.x`), 200}, "rejected": {cardOf(`(`), 422}, "not JSON": {`{"title": 1, "title": 2`, 422},
		"nothing": {" ", 422}, "another type": {`[]`, 422}, "twice": {strings.Replace(counting, `{`, `{"css":"",`, 1), 422},
	} {
		t.Run(name, func(t *testing.T) {
			a := v.call("POST", "/v1/render?seed=7&now=2026-01-02T03:04:05Z", c.card)
			v.expect(a, c.status, "")
			card := cardrun.Decode([]byte(c.card))
			want, err := rt.Render(t.Context(), &card, cardrun.RenderOptions{Seed: &seed, Now: now})
			if err != nil {
				t.Fatal(err)
			}
			text, err := want.AppendJSON(nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(repeatable(text), repeatable(a.body)); diff != "" {
				t.Errorf("(-library +service)\n%s", diff)
			}
			for name, value := range map[string]string{"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Content-Type": "application/json"} {
				if got := a.header.Get(name); got != value {
					t.Errorf("%s: %q, want %q", name, got, value)
				}
			}
		})
	}
}

func TestSession(t *testing.T) {
	v := listen(t, server.Options{Local: true})
	id := v.open(counting)
	if raw, err := base64.RawURLEncoding.DecodeString(id); err != nil || len(raw) < 16 {
		t.Errorf("the id has %d bytes: %v", len(raw), err)
	}
	at := "/v1/sessions/" + id
	text := func(a answered) string {
		var s cardrun.Snapshot
		if err := json.Unmarshal(v.expect(a, 200, "").body, &s); err != nil {
			t.Fatal(err)
		}
		return s.Display.Text
	}
	rounds := func(a answered) (n int, report cardrun.Report) {
		if err := json.Unmarshal(v.expect(a, 200, "").body, &report); err != nil {
			t.Fatal(err)
		}
		return len(report.Rounds), report
	}
	if n, r := rounds(v.call("POST", at+"/events", press)); n != 1 || r.Rounds[0].Patches[0].Value != "pressed 1" {
		t.Errorf("one event: %+v", r)
	}
	a := v.call("POST", at+"/events", `[{"id":"i","type":"input","value":"a"},{"id":"i","type":"input","value":"ab"},{"id":"none","type":"click"}]`)
	if n, r := rounds(a); n < 1 || n > 2 || r.Ignored != 1 || n+r.Combined != 2 || r.Controls[1].Value != "ab" {
		t.Errorf("three events: %+v", r)
	}
	if a.header.Get("Last-Event-ID") == "" {
		t.Error("no place of the last round")
	}
	if got := text(v.call("GET", at, "")); !strings.Contains(got, "\nab") {
		t.Errorf("the display shows %q", got)
	}
	rounds(v.call("POST", at+"/events", press))
	v.expect(v.call("POST", at+"/events", press), 200, "") // the round that ends it is told as a round
	p := v.expect(v.call("POST", at+"/events", press), 409, "activation_ended").problem(t)
	if p.Failure == nil || p.Failure.Code != "exception" {
		t.Errorf("failure %+v", p.Failure)
	}
	if got := text(v.call("POST", at+"/refresh", "")); !strings.Contains(got, "start") {
		t.Errorf("refreshed: %q", got)
	}
	if n, r := rounds(v.call("POST", at+"/events", press)); n != 1 || r.Rounds[0].Patches[0].Value != "pressed 1" {
		t.Errorf("after the refresh: %+v", r)
	}
	v.expect(v.call("DELETE", at, ""), 204, "")
	for _, method := range []string{"GET", "DELETE"} {
		v.expect(v.call(method, at, ""), 410, "session_closed")
	}
	v.expect(v.call("POST", at+"/events", press), 410, "session_closed")
}

func TestProblems(t *testing.T) {
	v := listen(t, server.Options{Local: true, Origins: []string{"https://chat.example"}})
	at := "/v1/sessions/" + v.open(counting)
	many := "[" + strings.Repeat(press+",", 64) + press + "]"
	for _, c := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		code                     string
	}{
		{"no such path", "GET", "/v1/none", "", nil, 404, "not_found"},
		{"another method", "GET", "/v1/render", "", nil, 405, "method_not_allowed"},
		{"a form", "POST", "/v1/render", counting, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "media_type_unsupported"},
		{"no type", "POST", "/v1/render", counting, []string{"Content-Type", ""}, 415, "media_type_unsupported"},
		{"another charset", "POST", "/v1/render", counting, []string{"Content-Type", "application/json; charset=utf-16"}, 415, "media_type_unsupported"},
		{"compressed", "POST", "/v1/render", counting, []string{"Content-Encoding", "gzip"}, 415, "encoding_unsupported"},
		{"too large", "POST", "/v1/render", strings.Repeat(" ", cardrun.MaxJSON+1), nil, 413, "body_too_large"},
		{"a body where none is taken", "GET", at, "x", nil, 413, "body_too_large"},
		{"seed", "POST", "/v1/render?seed=-1", counting, nil, 422, "parameter_invalid"},
		{"a large seed", "POST", "/v1/render?seed=18446744073709551616", counting, nil, 422, "parameter_invalid"},
		{"two seeds", "POST", "/v1/render?seed=1&seed=2", counting, nil, 422, "parameter_invalid"},
		{"an empty seed", "POST", "/v1/sessions?seed=", counting, nil, 422, "parameter_invalid"},
		{"now", "POST", "/v1/render?now=yesterday", counting, nil, 422, "parameter_invalid"},
		{"an early now", "POST", "/v1/sessions?now=1969-01-01T00:00:00Z", counting, nil, 422, "parameter_invalid"},
		{"another parameter", "POST", "/v1/render?sed=1", counting, nil, 422, "parameter_invalid"},
		{"run", "POST", "/v1/check?run=2", counting, nil, 422, "parameter_invalid"},
		{"a rejected card", "POST", "/v1/sessions", cardOf(`(`), nil, 422, "card_rejected"},
		{"no such session", "GET", "/v1/sessions/AAAAAAAAAAAAAAAAAAAAAA", "", nil, 404, "session_unknown"},
		{"no id", "GET", "/v1/sessions/x", "", nil, 404, "session_unknown"},
		{"broken events", "POST", at + "/events", `[{"id":`, nil, 400, "json_invalid"},
		{"two values", "POST", at + "/events", press + press, nil, 400, "json_invalid"},
		{"a member twice", "POST", at + "/events", `{"id":"b","id":"b","type":"click"}`, nil, 400, "json_invalid"},
		{"no UTF-8", "POST", at + "/events", "{\"id\":\"b\xff\",\"type\":\"click\"}", nil, 400, "json_invalid"},
		{"another member", "POST", at + "/events", `{"id":"b","type":"click","x":1}`, nil, 422, "event_invalid"},
		{"another type of member", "POST", at + "/events", `{"id":1,"type":"click"}`, nil, 422, "event_invalid"},
		{"no object", "POST", at + "/events", `[1]`, nil, 422, "event_invalid"},
		{"deep", "POST", at + "/events", `{"id":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`, nil, 422, "event_invalid"},
		{"another event", "POST", at + "/events", `{"id":"b","type":"keydown"}`, nil, 422, "event_invalid"},
		{"a long value", "POST", at + "/events", `{"id":"i","type":"input","value":"` + strings.Repeat("x", 2049) + `"}`, nil, 422, "event_invalid"},
		{"65 events", "POST", at + "/events", many, nil, 422, "event_invalid"},
		{"another Last-Event-ID", "GET", at + "/stream", "", []string{"Last-Event-ID", "x"}, 422, "parameter_invalid"},
		{"a page of another origin", "POST", "/v1/render", counting, []string{"Origin", "https://evil.example"}, 403, "origin_forbidden"},
		{"a page without one", "POST", "/v1/render", counting, []string{"Origin", "null"}, 403, "origin_forbidden"},
		{"another host", "POST", "/v1/render", counting, []string{"Host", "evil.example"}, 421, "host_forbidden"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := *v
			v.t = t
			a := v.expect(v.call(c.method, c.path, c.body, c.headers...), c.status, c.code)
			if c.status == 405 && a.header.Get("Allow") != "POST" {
				t.Errorf("Allow: %q", a.header.Get("Allow"))
			}
		})
	}
	listed := v.expect(v.call("POST", "/v1/render", counting, "Origin", "https://chat.example"), 200, "")
	if got := listed.header.Get("Access-Control-Allow-Origin"); got != "https://chat.example" {
		t.Errorf("Access-Control-Allow-Origin: %q", got)
	}
	v.expect(v.call("OPTIONS", "/v1/render", "", "Origin", "https://chat.example", "Access-Control-Request-Method", "POST"), 204, "")
	v.expect(v.call("POST", "/v1/render", counting, "Host", "LOCALHOST:1"), 200, "")
	v.expect(v.call("POST", "/v1/render", counting, "Origin", v.url), 200, "")
}

func TestTokens(t *testing.T) {
	const token = "0123456789abcdef012345"
	playground, err := server.PlaygroundMounts()
	if err != nil {
		t.Fatal(err)
	}
	v := listen(t, server.Options{Tokens: []string{"another-token-of-somebody", token}, Mounts: append(playground, server.MCPMount(server.MCPOptions{}))})
	initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	for _, c := range []struct {
		method, path, body string
		open               bool
	}{
		{"POST", "/v1/render", counting, false}, {"POST", "/v1/check", counting, false}, {"POST", "/v1/sessions", counting, false},
		{"GET", "/v1/sessions/x", "", false}, {"GET", "/metrics", "", false}, {"POST", "/mcp", initialize, false}, {"GET", "/v1/none", "", false},
		{"GET", "/", "", true}, {"GET", "/viewer.js", "", true}, {"GET", "/healthz", "", true}, {"GET", "/readyz", "", true}, {"GET", "/openapi.json", "", true},
	} {
		if c.open {
			v.expect(v.call(c.method, c.path, c.body), 200, "")
			continue
		}
		for _, wrong := range []string{"", "Bearer", "Bearer x", "Basic " + token, "Bearer " + token + "x", "Bearer " + token[1:]} {
			a := v.expect(v.call(c.method, c.path, c.body, "Authorization", wrong), 401, "unauthorized")
			if a.header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s: no WWW-Authenticate", c.path)
			}
		}
		a := v.call(c.method, c.path, c.body, "Authorization", "bearer "+token, "Accept", "application/json, text/event-stream")
		if a.status == 401 {
			t.Errorf("%s %s refuses the token", c.method, c.path)
		}
	}
	if _, err := server.ParseTokens([]byte("# mine\nshort\n")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a short token: %v", err)
	}
}

// TestLimitsOfClients tells clients apart by what a trusted proxy says, and bounds each.
func TestLimitsOfClients(t *testing.T) {
	v := listen(t, server.Options{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Rate: 5, ClientSessions: 2})
	from := func(n int) []string { return []string{"X-Forwarded-For", fmt.Sprintf("10.9.9.9, 192.0.2.%d", n)} }
	v.expect(v.call("POST", "/v1/sessions", counting, from(1)...), 201, "")
	v.expect(v.call("POST", "/v1/sessions", counting, from(1)...), 201, "")
	v.expect(v.call("POST", "/v1/sessions", counting, from(1)...), 429, "too_many_sessions")
	v.expect(v.call("POST", "/v1/sessions", counting, from(2)...), 201, "")
	refused := 0
	for range 40 {
		a := v.call("POST", "/v1/render", counting, from(3)...)
		if a.status == 429 {
			refused++
			v.expect(a, 429, "rate_limited")
			if a.header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
		}
	}
	if refused == 0 {
		t.Error("40 requests at once passed a rate of 5 a second")
	}
	v.expect(v.call("POST", "/v1/render", counting, from(4)...), 200, "")
}

func TestSessionsEnd(t *testing.T) {
	t.Run("idle", func(t *testing.T) {
		v := listen(t, server.Options{Local: true, SessionIdle: 100 * time.Millisecond})
		at := "/v1/sessions/" + v.open(counting)
		time.Sleep(500 * time.Millisecond)
		v.expect(v.call("GET", at, ""), 410, "session_expired")
	})
	t.Run("room", func(t *testing.T) {
		v := listen(t, server.Options{Local: true, MaxSessions: 2})
		first, second := v.open(counting), v.open(counting)
		v.expect(v.call("GET", "/v1/sessions/"+first, ""), 200, "") // now the second is the one used longest ago
		v.open(counting)
		v.expect(v.call("GET", "/v1/sessions/"+second, ""), 410, "session_expired")
		v.expect(v.call("GET", "/v1/sessions/"+first, ""), 200, "")
	})
	t.Run("memory", func(t *testing.T) {
		v := listen(t, server.Options{Local: true, SessionMemory: 1 << 20, FreezeAfter: -1})
		first := v.open(counting)
		for range 40 {
			v.open(counting)
		}
		v.expect(v.call("POST", "/v1/sessions/"+first+"/events", press), 410, "session_expired")
	})
	t.Run("frozen", func(t *testing.T) {
		v := listen(t, server.Options{Local: true, FreezeAfter: time.Millisecond})
		at := "/v1/sessions/" + v.open(counting)
		for n := 1; n <= 2; n++ {
			a := v.expect(v.call("POST", at+"/events", press), 200, "")
			if want := fmt.Sprintf("pressed %d", n); !strings.Contains(string(a.body), want) {
				t.Errorf("not %q: %s", want, a.body)
			}
			within(t, "it is frozen", func() bool {
				return strings.Contains(string(v.call("GET", "/metrics", "").body), `cardrun_sessions{state="frozen"} 1`)
			})
		}
	})
	t.Run("rounds", func(t *testing.T) {
		v := listen(t, server.Options{Local: true, KeepRounds: 2})
		at := "/v1/sessions/" + v.open(counting)
		for _, value := range []string{"1", "2", "3", "4"} {
			v.expect(v.call("POST", at+"/events", `{"id":"i","type":"input","value":"`+value+`"}`), 200, "")
		}
		var s cardrun.Snapshot
		if err := json.Unmarshal(v.call("GET", at, "").body, &s); err != nil || len(s.Rounds) != 3 {
			t.Errorf("%d rounds are kept: %v", len(s.Rounds), err)
		}
	})
}

func TestCheck(t *testing.T) {
	v := listen(t, server.Options{Local: true})
	var found struct {
		Diagnostics []cardrun.Finding
		Outcome     cardrun.Outcome
		Explored    *cardrun.Explored
	}
	read := func(a answered) {
		t.Helper()
		found.Outcome, found.Explored, found.Diagnostics = "", nil, nil
		if err := json.Unmarshal(v.expect(a, 200, "").body, &found); err != nil {
			t.Fatal(err)
		}
	}
	if read(v.call("POST", "/v1/check", cardOf(`document.title`))); len(found.Diagnostics) == 0 || found.Outcome != "" {
		t.Errorf("without a run: %+v", found)
	}
	if read(v.call("POST", "/v1/check?run=1", exampleText(t, "tip.json"))); len(found.Diagnostics) != 0 || found.Outcome != cardrun.Ready || found.Explored == nil {
		t.Errorf("a good card: %+v", found)
	}
	bad := cardOf(`ui.on('i', 'input', e => ui.text('p', e.value === '' ? null.x : 'in: ' + Number(e.value)))`)
	if read(v.call("POST", "/v1/check?run=1", bad)); len(found.Diagnostics) == 0 {
		t.Errorf("a card that fails: %+v", found)
	}
}

// TestSecretsAreNotLogged looks for session ids, tokens and what is in cards.
func TestSecretsAreNotLogged(t *testing.T) {
	const token = "0123456789abcdef012345"
	v := listen(t, server.Options{Local: true, Tokens: []string{token}})
	secret := "Zanzibar"
	a := v.call("POST", "/v1/sessions", strings.Replace(counting, "It shows", secret, 1), "Authorization", "Bearer "+token, "X-Request-Id", "mine-1")
	var out struct{ Session string }
	if err := json.Unmarshal(v.expect(a, 201, "").body, &out); err != nil {
		t.Fatal(err)
	}
	v.call("POST", "/v1/sessions/"+out.Session+"/events", `{"id":"i","type":"input","value":"`+secret+`"}`, "Authorization", "Bearer "+token)
	v.call("GET", "/v1/sessions/"+out.Session+"/nowhere?x="+secret, "", "Authorization", "Bearer "+token, "User-Agent", secret)
	within(t, "three lines", func() bool { return strings.Count(v.log.String(), `"msg":"request"`) == 3 })
	log := v.log.String()
	for _, never := range []string{token, out.Session, secret} {
		if strings.Contains(log, never) {
			t.Errorf("the log tells %q:\n%s", never, log)
		}
	}
	for line := range strings.Lines(log) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
	if !strings.Contains(log, `"request_id":"mine-1"`) || a.header.Get("X-Request-Id") != "mine-1" {
		t.Error("the caller's request id is not there")
	}
}
