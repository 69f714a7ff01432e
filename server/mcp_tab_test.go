//go:build browser

package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/debugger"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/cardrun/conformance/chromium"
	"example.com/cardrun/server"
)

// hostTab is a tab with the page of a host, which calls the tools through the SDK's client, and a watch over what a card must
// not bring about.
type hostTab struct {
	*mcpFixture
	ctx    context.Context
	origin string
	page   string // the text of the resource

	mu        sync.Mutex
	asked     map[network.RequestID]string // requests that are not the page's own
	incidents []string
}

// viewPolicy is what the extension has hosts send for a page that declares nothing.
const viewPolicy = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; " +
	"media-src 'self' data:; connect-src 'none'; frame-src 'none'; object-src 'none'; base-uri 'self'"

// shadeScript makes a page believe that it cannot reach into frames, and its shadow tree open to the test.
const shadeScript = `<script>Object.defineProperty(HTMLIFrameElement.prototype, 'contentDocument', {get() { return null }});
const attach = Element.prototype.attachShadow;
Element.prototype.attachShadow = function () { return window.shade = attach.call(this, {mode: 'open'}) };</script>`

func openHost(t *testing.T, o server.MCPOptions) *hostTab {
	t.Helper()
	b := &hostTab{mcpFixture: newMCP(t, "memory", o), asked: map[network.RequestID]string{}}
	uri := b.tools["generated_ui_show"].Meta["ui"].(map[string]any)["resourceUri"].(string)
	b.page = expectPage(t, b.mcpFixture, uri)
	mux := http.NewServeMux()
	for path, file := range map[string]string{"/": "host.html", "/host.js": "host.js"} {
		data, err := os.ReadFile("testdata/mcp-host/" + file)
		if err != nil {
			t.Fatal(err)
		}
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, file, time.Time{}, bytes.NewReader(data))
		})
	}
	view := func(text func(r *http.Request) string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Content-Security-Policy", viewPolicy)
			_, _ = io.WriteString(w, text(r))
		}
	}
	mux.HandleFunc("GET /view", view(func(*http.Request) string { return b.page }))
	mux.HandleFunc("GET /shade", view(func(*http.Request) string { return strings.Replace(b.page, "<head>", "<head>"+shadeScript, 1) }))
	mux.HandleFunc("GET /read", view(func(r *http.Request) string { return expectPage(t, b.mcpFixture, r.URL.Query().Get("uri")) }))
	mux.HandleFunc("POST /call", b.passOn)
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	s := httptest.NewServer(mux)
	b.ctx = chromium.Start(t, b.watch)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	b.origin = s.URL
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		if _, err := cdp.Call(ctx, target, network.Enable, network.EnableParams{}); err != nil {
			return err
		}
		if _, err := cdp.Call(ctx, target, log.Enable, cdp.Empty{}); err != nil {
			return err
		}
		_, err := cdp.Call(ctx, target, debugger.Enable, debugger.EnableParams{})
		return err
	}))
	b.do(chromedp.Navigate(b.origin + "/"))
	b.await(t, "window.views")
	b.mu.Lock()
	b.incidents = nil // what the browser itself brings about as a tab begins
	b.mu.Unlock()
	return b
}

// passOn is the host's way to the server.
func (b *hostTab) passOn(w http.ResponseWriter, r *http.Request) {
	var params mcp.CallToolParams
	if err := json.NewDecoder(r.Body).Decode(&params); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	res, err := b.client.CallTool(r.Context(), &params)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	_ = json.NewEncoder(w).Encode(res)
}

func (b *hostTab) incident(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.incidents = append(b.incidents, what)
}

// ownPaths are what the pages of the test load.
var ownPaths = map[string]bool{"/": true, "/host.js": true, "/view": true, "/shade": true, "/read": true, "/call": true, "/favicon.ico": true}

func (b *hostTab) own(address string) bool {
	path, ok := strings.CutPrefix(address, b.origin)
	path, _, _ = strings.Cut(path, "?")
	return ok && ownPaths[path]
}

func (b *hostTab) watch(event any) {
	switch e := event.(type) {
	case *page.EventJavascriptDialogOpening:
		b.incident("dialog: " + e.Message)
	case *page.EventWindowOpen:
		b.incident("window: " + e.URL)
	case *page.EventFrameNavigated:
		if u := e.Frame.URL; !b.own(u) && u != "about:srcdoc" && u != "about:blank" {
			b.incident("frame at " + u)
		}
	case *runtime.EventConsoleAPICalled:
		b.incident("console call")
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		b.incident("exception: " + text)
	case *debugger.EventScriptParsed:
		if !b.own(e.URL) && e.URL != "harness.js" && e.URL != "about:srcdoc" {
			b.incident("script of " + e.URL)
		}
	case *network.EventRequestWillBeSent:
		if !b.own(e.Request.URL) {
			b.mu.Lock()
			b.asked[e.RequestID] = e.Request.URL
			b.mu.Unlock()
		}
	case *network.EventLoadingFailed:
		b.mu.Lock()
		if e.BlockedReason == "csp" { // it never left the browser
			delete(b.asked, e.RequestID)
		}
		b.mu.Unlock()
	case *network.EventWebSocketCreated:
		b.incident("web socket to " + e.URL)
	}
}

// expectQuiet expects that nothing happened that must not.
func (b *hostTab) expectQuiet(t *testing.T, what string) {
	t.Helper()
	b.mu.Lock()
	found := b.incidents
	for _, url := range b.asked {
		found = append(found, "request for "+url)
	}
	b.incidents, b.asked = nil, map[network.RequestID]string{}
	b.mu.Unlock()
	if len(found) > 0 {
		t.Errorf("%.300s: this brought about %.2000q", what, found)
	}
}

func (b *hostTab) do(a chromedp.Action[chromedp.Void]) {
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	if err := chromedp.Do(ctx, a); err != nil {
		b.t.Fatalf("browser: %v", err)
	}
}

func (b *hostTab) eval(out any, format string, args ...any) {
	expression := fmt.Sprintf(format, args...)
	ctx, cancel := context.WithTimeout(b.ctx, 60*time.Second)
	defer cancel()
	answer, err := chromedp.Run(ctx, chromedp.Evaluate[[]byte]("("+expression+"\n)\n//# sourceURL=harness.js", chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("browser: %.300s: %v", expression, err)
	}
	if out != nil {
		if err := json.Unmarshal(answer, out); err != nil {
			b.t.Fatalf("browser: %.300s: %v in %.200s", expression, err, answer)
		}
	}
}

// await waits until an expression is true.
func (b *hostTab) await(t *testing.T, format string, args ...any) {
	t.Helper()
	expression := fmt.Sprintf(format, args...)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(15 * time.Millisecond) {
		var is bool
		b.eval(&is, "Boolean(%s)", expression)
		if is {
			return
		}
		if time.Now().After(end) {
			var state string
			b.eval(&state, `JSON.stringify(views.map((v, n) => ({log: v.log.slice(-6), note: inside(n) && note(n), plain: inside(n)?.getElementById('plain').textContent, card: card(n)?.querySelector('.cardrun-card')?.innerHTML}))).slice(0, 4000)`)
			t.Fatalf("never came true: %s\n%s", expression, state)
		}
	}
}

// expect waits until the text content of a card's element is so.
func (b *hostTab) expect(t *testing.T, n int, id, want string) {
	t.Helper()
	b.await(t, "el(%d, %q)?.textContent === %s", n, id, jsonOf(want))
}

// show calls generated_ui_show and opens a view of the result. more are further options, as JavaScript.
func (b *hostTab) show(card map[string]any, more string) (n int) {
	b.t.Helper()
	res := b.call("generated_ui_show", card)
	b.eval(&n, "open({arguments: %s, result: %s, %s})", jsonOf(card), jsonOf(res), more)
	return n
}

func (b *hostTab) click(n int, id string) {
	var p struct{ X, Y float64 }
	b.eval(&p, "at(%d, %q)", n, id)
	b.do(chromedp.MouseClickXY(p.X, p.Y))
}

func (b *hostTab) keys(keys string) { b.do(chromedp.KeyEvent(keys)) }

// message is one of those between a view and its host.
type message struct {
	From    string
	Message struct {
		JSONRPC string
		ID      any
		Method  string
		Params  json.RawMessage
		Result  json.RawMessage
		Error   *struct {
			Code    int
			Message string
		}
	}
}

func (b *hostTab) messages(n int) (list []message) {
	b.eval(&list, "views[%d].log", n)
	return list
}

func (b *hostTab) clickAt(x, y float64) { b.do(chromedp.MouseClickXY(x, y)) }
