//go:build browser

package viewer_test

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/debugger"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"example.com/cardrun/conformance/chromium"
)

// A tab is one page of Chromium with a watch over it.
type tab struct {
	t      testing.TB
	ctx    context.Context
	origin string

	mu        sync.Mutex
	incidents []string                     // what must not happen, as it happened
	requests  map[network.RequestID]string // for what no page of ours asks, unless a policy holds them back
}

func openTab(t testing.TB, s *service) *tab {
	t.Helper()
	b := &tab{t: t, origin: s.server.URL, requests: map[network.RequestID]string{}}
	b.ctx = chromium.Start(t, b.watch)
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
	b.visit("/favicon.ico")
	b.takeIncidents()
	return b
}

func (b *tab) incident(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.incidents = append(b.incidents, what)
}

func (b *tab) takeIncidents() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.incidents
	for _, what := range b.requests {
		list = append(list, what)
	}
	b.incidents = nil
	clear(b.requests)
	return list
}

// ownScript tells the scripts of the pages and of the tests.
func (b *tab) ownScript(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	return address == "harness.js" || strings.HasPrefix(address, b.origin+"/") && regexp.MustCompile(`^/[a-z]+(\.min)?\.js$`).MatchString(u.Path)
}

// ownRequest tells what the pages ask for. No card can make an address of these.
var ownRequest = regexp.MustCompile(`^/($|[a-z]+\.(js|css|svg|ico|json)$|host$|examples/[a-z]+\.json$|v1/)`)

// watch notes what a card must not bring about.
func (b *tab) watch(event any) {
	switch e := event.(type) {
	case *page.EventJavascriptDialogOpening:
		b.incident("dialog: " + e.Message)
	case *page.EventWindowOpen:
		b.incident("window: " + e.URL)
	case *page.EventFileChooserOpened:
		b.incident("file chooser")
	case *page.EventFrameNavigated:
		if u := e.Frame.URL; !strings.HasPrefix(u, b.origin) && u != "about:srcdoc" && u != "about:blank" {
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
	case *log.EventEntryAdded:
		if !ownRemark.MatchString(e.Entry.Text) {
			b.incident("log: " + string(e.Entry.Level) + ": " + e.Entry.Text)
		}
	case *debugger.EventScriptParsed:
		if !b.ownScript(e.URL) {
			b.incident("script of " + e.URL)
		}
	case *network.EventRequestWillBeSent:
		path, own := strings.CutPrefix(e.Request.URL, b.origin)
		if !own || !ownRequest.MatchString(path) {
			b.mu.Lock()
			b.requests[e.RequestID] = "request for " + e.Request.URL
			b.mu.Unlock()
		}
	case *network.EventLoadingFailed:
		if e.BlockedReason == network.BlockedReasonCsp {
			b.mu.Lock()
			delete(b.requests, e.RequestID)
			b.mu.Unlock()
		}
	case *network.EventWebSocketCreated:
		b.incident("web socket to " + e.URL)
	}
}

// ownRemark is what Chromium says of its own: of values and geometry that mean nothing, and of answers that a test chose.
var ownRemark = regexp.MustCompile(`^(The specified value ".*" (cannot be parsed|does not conform)|Error: <[A-Za-z]+> attribute [A-Za-z0-9-]+: |Failed to load resource: )`)

// expectQuiet expects that nothing happened that must not.
func (b *tab) expectQuiet(t *testing.T, what string) bool {
	t.Helper()
	found := b.takeIncidents()
	if len(found) > 0 {
		t.Errorf("%.300s: this brought about %.2000q", what, found)
	}
	return len(found) == 0
}

// do performs an action. Whatever the browser cannot do in half a minute it will not do.
func (b *tab) do(a chromedp.Action[chromedp.Void]) {
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	if err := chromedp.Do(ctx, a); err != nil {
		panic(fmt.Sprintf("browser: %v", err))
	}
}

func (b *tab) visit(path string) { b.do(chromedp.Navigate(b.origin + path)) }

// eval evaluates an expression, which may be a promise, and reads its value into out.
func (b *tab) eval(out any, expression string) {
	ctx, cancel := context.WithTimeout(b.ctx, 60*time.Second)
	defer cancel()
	answer, err := chromedp.Run(ctx, chromedp.Evaluate[[]byte]("("+expression+"\n)\n//# sourceURL=harness.js", chromedp.EvalAwaitPromise))
	if err != nil {
		panic(fmt.Sprintf("browser: %.300s: %v", expression, err))
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(answer, out); err != nil {
		panic(fmt.Sprintf("browser: %.300s: %v in %.200s", expression, err, answer))
	}
}

func (b *tab) text(expression string) (s string) {
	b.eval(&s, "String("+expression+")")
	return s
}

// await waits until an expression is true.
func (b *tab) await(t *testing.T, expression string) {
	t.Helper()
	end := time.Now().Add(20 * time.Second)
	for {
		var is bool
		b.eval(&is, "Boolean("+expression+")")
		if is {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("never came true: %s\nthe page: %.700s", expression, b.text(`(document.getElementById("live") ?? document.body).innerText + "\n" + (window.host?.view ? JSON.stringify(host.seen) + host.view.state + host.view.frame.card?.innerHTML : "")`))
		}
		time.Sleep(15 * time.Millisecond)
	}
}

// expect waits until the text content of a card's element is so.
func (b *tab) expect(t *testing.T, id, want string) {
	t.Helper()
	b.await(t, "host.el("+quote(id)+")?.textContent === "+quote(want))
}

func quote(s string) string {
	data, err := json.Marshal(s, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(err)
	}
	return string(data)
}

// A point in the page, in CSS pixels.
type point struct{ X, Y float64 }

// at gives where in the page a part of a card's element is: fractions of its width and height.
func (b *tab) at(id string, x, y float64) (p point) {
	b.eval(&p, fmt.Sprintf(`(() => { const f = host.view.frame.iframe, e = host.el(%s); f.scrollIntoView({block: 'nearest', behavior: 'instant'});
		e.scrollIntoView({block: 'nearest', behavior: 'instant'}); const a = f.getBoundingClientRect(), r = e.getBoundingClientRect();
		return {X: a.left + r.left + r.width * %g, Y: a.top + r.top + r.height * %g}; })()`, quote(id), x, y))
	return p
}

func (b *tab) click(id string) {
	p := b.at(id, 0.5, 0.5)
	b.do(chromedp.MouseClickXY(p.X, p.Y))
}

func (b *tab) keys(keys string) { b.do(chromedp.KeyEvent(keys)) }

func (b *tab) mouse(kind input.DispatchMouseEventType, p point) {
	b.do(chromedp.MouseEvent(kind, p.X, p.Y, chromedp.ButtonLeft))
}

// insert is what an input method or a paste puts in.
func insert(text string) func(context.Context, *chromedp.Target) error {
	return func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, input.InsertText, input.InsertTextParams{Text: text})
		return err
	}
}
