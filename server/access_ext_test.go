package server_test

import (
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"example.com/cardrun"
	"example.com/cardrun/server"
)

// TestHosts holds the Host header against the names of this machine and those that are allowed (DNS rebinding).
func TestHosts(t *testing.T) {
	v := listen(t, server.Options{Local: true, Hosts: []string{"cards.example"}})
	for host, allowed := range map[string]bool{
		"localhost": true, "LocalHost:99": true, "127.0.0.1": true, "127.9.9.9:1": true, "[::1]:8787": true, "[::1]": true,
		"cards.example": true, "CARDS.example:443": true, "a.localhost": true,
		"evil.example": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false, "xlocalhost": false, "0.0.0.0": false,
		"192.0.2.1": false, "[::]": false, "x.cards.example": false, "127.1": false, "2130706433": false,
	} {
		for _, path := range []string{"/v1/sessions/x", "/openapi.json", "/metrics"} {
			a := v.call("GET", path, "", "Host", host)
			if got := a.status != 421; got != allowed {
				t.Errorf("Host %s at %s: %d, want allowed %v", host, path, a.status, allowed)
			}
		}
		v.expect(v.call("GET", "/healthz", "", "Host", host), 200, "") // whoever looks after it has a name of its own for it
	}
	public := listen(t, server.Options{Tokens: []string{"0123456789abcdef012345"}, Hosts: []string{"cards.example"}})
	public.expect(public.call("GET", "/openapi.json", "", "Host", "cards.example"), 200, "")
	public.expect(public.call("GET", "/openapi.json", "", "Host", "localhost"), 421, "host_forbidden")
}

// TestOrigins is about pages of others, which a browser lets send, and read where the answer allows it.
func TestOrigins(t *testing.T) {
	const listed = "https://chat.example"
	v := listen(t, server.Options{Local: true, Origins: []string{listed}, Tokens: []string{"0123456789abcdef012345"}})
	asks := []string{"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization"}
	for _, path := range []string{"/v1/render", "/v1/sessions/x/events", "/v1/sessions/x/stream", "/mcp"} {
		a := v.expect(v.call("OPTIONS", path, "", append(asks, "Origin", listed)...), 204, "") // no token: browsers send none
		for name, has := range map[string]string{
			"Access-Control-Allow-Origin": listed, "Access-Control-Allow-Methods": "DELETE", "Access-Control-Allow-Headers": "Authorization", "Vary": "Origin",
		} {
			if got := a.header.Get(name); !strings.Contains(got, has) {
				t.Errorf("%s: %s: %q lacks %s", path, name, got, has)
			}
		}
		for _, origin := range []string{"https://evil.example", "null", "https://chat.example.evil.example", "http://chat.example", "https://chat.example:444", "HTTPS://CHAT.EXAMPLE", "chat.example", "https://chat.example/"} {
			a := v.expect(v.call("OPTIONS", path, "", append(asks, "Origin", origin)...), 403, "origin_forbidden")
			for name := range a.header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s is told %s", origin, name)
				}
			}
		}
	}
	a := v.expect(v.call("POST", "/v1/render", counting, "Origin", listed), 401, "unauthorized")
	if got := a.header.Get("Access-Control-Allow-Origin"); got != listed {
		t.Errorf("a refusal is not to be read by a listed page: %q", got)
	}
	if got := a.header.Get("Access-Control-Allow-Credentials"); got != "" {
		t.Errorf("cookies and the like are allowed: %q", got)
	}
	both := v.raw("POST /v1/render HTTP/1.1\r\nHost: localhost\r\nOrigin: " + listed + "\r\nOrigin: https://evil.example\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	if !strings.HasPrefix(both, "HTTP/1.1 403") {
		t.Errorf("two origins: %.200s", both)
	}
}

// TestOptions refuses options that mean nothing, and names what is wrong.
func TestOptions(t *testing.T) {
	cases := map[string]server.Options{
		"patience: -1s": {Patience: -time.Second}, "body time: -1s": {BodyTime: -time.Second}, "session idle": {SessionIdle: -1},
		"heartbeat": {Heartbeat: -1}, "drain": {Drain: -1}, "grace": {Grace: -1}, "max waiting: -1": {MaxWaiting: -1},
		"body memory": {BodyMemory: -1}, "max connections": {MaxConnections: -1}, "session memory": {SessionMemory: -1},
		"max sessions": {MaxSessions: -1}, "workers: -1": {Engine: cardrun.Options{Workers: -1}}, "rate: NaN": {Rate: math.NaN()},
		"rate: +Inf": {Rate: math.Inf(1)}, `client header "a:b"`: {ClientHeader: "a:b"}, `client header "a\n"`: {ClientHeader: "a\n"},
		`host "a:1"`: {Hosts: []string{"a:1"}}, `host ""`: {Hosts: []string{""}},
	}
	for _, origin := range []string{"*", "chat.example", "https://chat.example/", "https://", "null", "https://user@chat.example"} {
		cases[fmt.Sprintf("origin %q", origin)] = server.Options{Origins: []string{origin}}
	}
	for want, o := range cases {
		if s, err := server.New(o); err == nil {
			t.Errorf("%s is accepted", want)
			_ = s.Close()
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for _, o := range []server.Options{{}, {KeepRounds: -1, Rate: -1, ClientSessions: -1, FreezeAfter: -1}, {ClientHeader: "X-User", Grace: time.Second}} {
		s, err := server.New(o)
		if err != nil {
			t.Errorf("%+v: %v", o, err)
			continue
		}
		_ = s.Close()
	}
}

// TestAddresses is about who counts as one client: what a stranger says of itself is not believed.
func TestAddresses(t *testing.T) {
	for name, c := range map[string]struct {
		trusted     []netip.Prefix
		first, then string // X-Forwarded-For
		same        bool
	}{
		"no proxy is trusted":         {nil, "192.0.2.1", "192.0.2.2", true},
		"another proxy is trusted":    {prefixes("198.51.100.0/24"), "192.0.2.1", "192.0.2.2", true},
		"two clients":                 {prefixes("127.0.0.0/8"), "192.0.2.1", "192.0.2.2", false},
		"what a client says":          {prefixes("127.0.0.0/8"), "203.0.113.1, 192.0.2.1", "203.0.113.2, 192.0.2.1", true},
		"no address":                  {prefixes("127.0.0.0/8"), "203.0.113.1, x, 192.0.2.1", "y, 192.0.2.1", true},
		"two proxies":                 {prefixes("127.0.0.0/8", "10.0.0.0/8"), "192.0.2.1, 10.0.0.1", "192.0.2.2, 10.0.0.1", false},
		"IPv6 at one home":            {prefixes("127.0.0.0/8"), "2001:db8:0:1::1", "2001:db8:0:1:ffff::2", true},
		"IPv6 at two homes":           {prefixes("127.0.0.0/8"), "2001:db8:0:1::1", "2001:db8:0:2::1", false},
		"IPv4 in both spellings":      {prefixes("127.0.0.0/8"), "::ffff:192.0.2.1", "192.0.2.1", true},
		"IPv4 in IPv6 does not blend": {prefixes("127.0.0.0/8"), "::ffff:192.0.2.1", "::ffff:192.0.2.2", false},
	} {
		t.Run(name, func(t *testing.T) {
			v := listen(t, server.Options{TrustedProxies: c.trusted, ClientSessions: 1})
			v.expect(v.call("POST", "/v1/sessions", counting, "X-Forwarded-For", c.first), 201, "")
			a := v.call("POST", "/v1/sessions", counting, "X-Forwarded-For", c.then)
			if c.same {
				v.expect(a, 429, "too_many_sessions")
			} else {
				v.expect(a, 201, "")
			}
		})
	}
}

func prefixes(texts ...string) (out []netip.Prefix) {
	for _, text := range texts {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

func TestParseTokens(t *testing.T) {
	const good = "0123456789abcdef012345"
	for text, want := range map[string]string{ // what the error has; the tokens where there is none
		good: good, good + "\n": good, "# c\r\n\r\n  " + good + "\t\r\n" + good + "x": good + " " + good + "x",
		"": "no token", "# " + good: "no token", good[1:]: "line 1", "\n" + good + " " + good: "line 2", good + "é": "line 1", good + "\x7f": "line 1",
	} {
		tokens, err := server.ParseTokens([]byte(text))
		if got := strings.Join(tokens, " "); err == nil && got != want {
			t.Errorf("%q: %q", text, got)
		} else if err != nil && (strings.HasPrefix(want, good) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), good)) {
			t.Errorf("%q: %v, want %q and no secret", text, err, want)
		}
	}
}

// TestCodes reaches every code that there is, each by a call of its own.
func TestCodes(t *testing.T) {
	const token = "0123456789abcdef012345"
	open := listen(t, server.Options{Local: true, BodyTime: 200 * time.Millisecond, MaxSessions: 3, Mounts: []server.Mount{{
		Pattern: "GET /panics", Handler: func(*server.Server, *cardrun.Runtime) http.Handler {
			return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("as meant") })
		},
	}, {
		Pattern: "GET /breaks", Handler: func(*server.Server, *cardrun.Runtime) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write([]byte("half"))
				_ = http.NewResponseController(w).Flush()
				panic("as meant")
			})
		},
	}}})
	secured := listen(t, server.Options{Tokens: []string{token}})
	limited := listen(t, server.Options{Local: true, Rate: .001, ClientSessions: 1})
	crowded := listen(t, server.Options{Local: true, BodyMemory: 1})
	unready := listen(t, server.Options{Local: true}, true)
	draining := listen(t, server.Options{Local: true})
	draining.s.Drain()

	expired := "/v1/sessions/" + open.open(counting)
	for range 3 {
		open.open(counting)
	}
	closed := "/v1/sessions/" + open.open(counting)
	open.expect(open.call("DELETE", closed, ""), 204, "")
	id := open.open(counting)
	live := "/v1/sessions/" + id
	failed := "/v1/sessions/" + open.open(cardOf(`null.x`))
	for range 16 {
		_, cancel := open.follow(id, "")
		defer cancel()
	}
	limited.expect(limited.call("GET", "/openapi.json", ""), 200, "") // its one request in a thousand seconds
	raw := func(rest string) func() string {
		return func() string {
			return open.raw("POST /v1/render HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + rest)
		}
	}
	call := func(v *service, method, path, body string, headers ...string) func() string {
		return func() string {
			a := v.call(method, path, body, headers...)
			a.problem(t)
			return fmt.Sprintf("HTTP/1.1 %d\r\nRetry-After: %s\r\n\r\n%s", a.status, a.header.Get("Retry-After"), a.body)
		}
	}
	crowdedOut := listen(t, server.Options{Local: true, ClientSessions: 1})
	crowdedOut.open(counting)
	cases := map[string]struct {
		status int
		call   func() string
	}{
		"unauthorized": {401, call(secured, "POST", "/v1/render", counting)}, "origin_forbidden": {403, call(open, "GET", live, "", "Origin", "null")},
		"host_forbidden": {421, call(open, "GET", live, "", "Host", "x.example")}, "not_found": {404, call(open, "GET", "/v2", "")},
		"session_unknown": {404, call(open, "GET", "/v1/sessions/x", "")}, "session_expired": {410, call(open, "GET", expired, "")},
		"session_closed": {410, call(open, "GET", closed, "")}, "method_not_allowed": {405, call(open, "PUT", live, "")},
		"length_required": {411, raw("Connection: close\r\n\r\n")}, "body_too_large": {413, raw("Content-Length: 99999999\r\nExpect: 100-continue\r\n\r\n")},
		"body_slow": {408, raw("Content-Length: 9\r\n\r\n{")}, "body_incomplete": {400, raw("Transfer-Encoding: chunked\r\n\r\nx\r\n")},
		"media_type_unsupported": {415, call(open, "POST", "/v1/check", "x", "Content-Type", "text/plain")},
		"encoding_unsupported":   {415, call(open, "POST", "/v1/check", "x", "Content-Encoding", "br")},
		"json_invalid":           {400, call(open, "POST", live+"/events", "{")}, "event_invalid": {422, call(open, "POST", live+"/events", "{}")},
		"parameter_invalid": {422, call(open, "POST", "/v1/render?now=1", "{}")}, "card_rejected": {422, call(open, "POST", "/v1/sessions", "{}")},
		"activation_ended": {409, call(open, "POST", failed+"/events", press)}, "rate_limited": {429, func() string {
			limited.call("GET", "/openapi.json", "") // of two at once, where one was taken at most
			return call(limited, "GET", "/openapi.json", "")()
		}},
		"too_many_sessions": {429, call(crowdedOut, "POST", "/v1/sessions", counting)},
		"overloaded":        {503, call(crowded, "POST", "/v1/render", counting)}, "too_many_streams": {503, call(open, "GET", live+"/stream", "")},
		"not_ready": {503, call(unready, "POST", "/v1/render", counting)}, "draining": {503, call(draining, "GET", "/readyz", "")},
		"internal": {500, call(open, "GET", "/panics", "")},
	}
	for _, code := range server.Codes() {
		c, ok := cases[code]
		if !ok {
			t.Errorf("%s is not tried", code)
			continue
		}
		got := c.call()
		if !strings.HasPrefix(got, fmt.Sprintf("HTTP/1.1 %d", c.status)) || !strings.Contains(got, `"code":"`+code+`"`) {
			t.Errorf("%s: %.400s", code, got)
		}
		if waits := c.status == 429 || c.status == 503 && code != "draining"; waits && strings.Contains(got, "Retry-After: \r\n") {
			t.Errorf("%s: no Retry-After", code)
		}
	}
	if len(cases) != len(server.Codes()) {
		t.Errorf("%d codes are tried, of %d", len(cases), len(server.Codes()))
	}
	if a, err := open.try(t.Context(), "GET", "/breaks", ""); err == nil {
		t.Errorf("an answer that broke off looks whole: %d %q", a.status, a.body)
	}
	for _, c := range []struct{ path, want string }{ // an empty body is one
		{"/v1/render", "HTTP/1.1 422"}, {"/v1/check", "HTTP/1.1 200"}, {"/v1/sessions", "HTTP/1.1 422"}, {live + "/events", "HTTP/1.1 400"},
	} {
		got := open.raw("POST " + c.path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		if !strings.HasPrefix(got, c.want) || !strings.Contains(got, "json_invalid") {
			t.Errorf("%s without a byte: %.300s", c.path, got)
		}
	}
}
