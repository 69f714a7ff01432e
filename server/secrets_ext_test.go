package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"example.com/cardrun"
	"example.com/cardrun/server"
)

// TestSecretsStayInside calls in every way with secrets in all places where callers put some, and looks for them in whatever
// an operator reads: the log, metrics and spans.
func TestSecretsStayInside(t *testing.T) {
	const token = "tok0123456789abcdef012345"
	var mu sync.Mutex
	var spans bytes.Buffer
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.Copy(&spans, r.Body)
	}))
	defer collector.Close()
	tracer, end, err := server.NewTracer(t.Context(), collector.URL+"/v1/traces")
	if err != nil {
		t.Fatal(err)
	}
	v := listen(t, server.Options{
		Local: true, Tokens: []string{token}, Tracer: tracer, ClientHeader: "X-User",
		Mounts: []server.Mount{server.MCPMount(server.MCPOptions{}), {
			Pattern: "POST /fails", MaxBody: 1 << 20, Handler: func(*server.Server, *cardrun.Runtime) http.Handler {
				return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("as meant") })
			},
		}},
	})
	const secret = "Zanzibar"
	headers := []string{"Authorization", "Bearer " + token, "X-User", secret, "User-Agent", secret, "Referer", "http://x/" + secret, "Cookie", "c=" + secret, "Accept", "application/json, text/event-stream"}
	call := func(method, path, body string) answered { t.Helper(); return v.call(method, path, body, headers...) }
	cards := []string{
		cardOf(`ui.text('p', '` + secret + `'); ui.on('i', 'input', e => { throw new Error('` + secret + `' + e.value) })`),
		cardOf(`throw new Error('` + secret + `')`), cardOf(`ui.` + secret + `(`), `{"` + secret + `": `, `{"` + secret + `": 1}`,
		strings.Replace(counting, "<p>", "<"+secret+">", 1), cardOf(spin + `//` + secret),
	}
	calls := 0
	for _, card := range cards {
		for _, path := range []string{"/v1/render", "/v1/sessions", "/v1/check", "/v1/check?run=1", "/fails"} {
			call("POST", path, card)
			calls++
		}
	}
	var out struct{ Session string }
	if err := json.Unmarshal(v.expect(call("POST", "/v1/sessions", cards[0]), 201, "").body, &out); err != nil {
		t.Fatal(err)
	}
	at := "/v1/sessions/" + out.Session
	for _, c := range [][3]string{
		{"GET", at, ""}, {"POST", at + "/events", `{"id":"` + secret + `","type":"click"}`}, {"POST", at + "/events", `{"id":"b","` + secret + `":1}`},
		{"POST", at + "/events", `[{"id":"i","type":"input","value":"` + secret + `"}]`}, {"POST", at + "/events", `{"` + secret}, {"POST", at + "/events", press},
		{"GET", at + "/stream", ""}, {"POST", at + "/refresh", ""}, {"PUT", at, ""}, {"GET", at + "?x=" + secret, ""}, {"GET", "/" + secret, ""},
		{secret, at, ""}, {"DELETE", at, ""}, {"GET", at, ""}, {"POST", at + "/events", press}, {"GET", at + "/" + secret, ""}, {"GET", "//" + secret, ""},
	} {
		call(c[0], c[1], c[2])
		calls++
	}
	// The tools, with a session of the protocol's and one of a card's.
	initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"` + secret + `","version":"1"}}}`
	a := v.expect(call("POST", "/mcp", initialize), 200, "")
	protocol := a.header.Get("Mcp-Session-Id")
	if protocol != "" {
		headers = append(headers, "Mcp-Session-Id", protocol)
	}
	call("POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	a = call("POST", "/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"generated_ui_play","arguments":{"card":%s,"keep":true}}}`, cards[0]))
	_, rest, found := strings.Cut(string(a.body), `"session":"`)
	played, _, _ := strings.Cut(rest, `"`)
	if !found || len(played) < 22 {
		t.Fatalf("no session was kept: %d %.500s", a.status, a.body)
	}
	call("POST", "/mcp", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"generated_ui_play","arguments":{"session":"`+played+`"}}}`)
	call("POST", "/mcp", `{"jsonrpc":"2.0","id":4,"method":"`+secret+`"}`)
	calls += 6 // with the one that opened the session
	for _, wrong := range []string{"Bearer " + token + secret, "Basic " + secret} {
		v.expect(v.call("POST", "/v1/render", counting, "Authorization", wrong, "X-Request-Id", "no id "+secret), 401, "unauthorized")
		calls++
	}
	within(t, "all are logged", func() bool { return strings.Count(v.log.String(), `"msg":"request"`) >= calls })
	metrics := string(v.expect(call("GET", "/metrics", ""), 200, "").body)
	if err := end(t.Context()); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for where, text := range map[string]string{"the log": v.log.String(), "metrics": metrics, "spans": spans.String()} {
		if len(text) < 1000 {
			t.Errorf("%s has %d bytes", where, len(text))
		}
		for what, never := range map[string]string{"a token": token, "a session": out.Session, "a session of the tools": played, "a session of the protocol": protocol, "content": secret} {
			if n := strings.Index(text, never); never != "" && n >= 0 {
				t.Errorf("%s tells %s: …%s…", where, what, text[max(0, n-200):min(len(text), n+100)])
			}
		}
	}
	if !strings.Contains(v.log.String(), `"msg":"panic"`) {
		t.Error("the log does not tell of the panics")
	}
}
