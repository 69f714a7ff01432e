//go:build browser

package conformance_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
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
	"github.com/go-json-experiment/json"

	"example.com/cardrun/conformance/chromium"
)

// A tab is one page of Chromium, a server for what it loads, and a watch over all that happens in it.
type tab struct {
	t      testing.TB
	ctx    context.Context
	server *httptest.Server

	mu        sync.Mutex
	pages     map[string][]byte // by path
	incidents []string          // what must not happen, as it happened
}

// openTab starts the browser. No name is resolved in it but that of the test's own server.
func openTab(t testing.TB) *tab {
	t.Helper()
	b := &tab{t: t, pages: map[string][]byte{
		"/":            []byte("<!DOCTYPE html><meta charset=utf-8><title>host</title><body>"),
		"/blank":       []byte("<!DOCTYPE html><meta charset=utf-8>"),
		"/favicon.ico": nil, // which the browser asks for by itself
	}}
	b.server = httptest.NewServer(b)
	t.Cleanup(b.server.Close)

	b.ctx = chromium.Start(t, b.watch)
	script, err := os.ReadFile("testdata/browser.js")
	if err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		for _, enable := range []func() error{
			func() error { return command(ctx, target, network.Enable, network.EnableParams{}) },
			func() error { return command(ctx, target, debugger.Enable, debugger.EnableParams{}) },
			func() error {
				return command(ctx, target, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: string(script)})
			},
		} {
			if err := enable(); err != nil {
				return err
			}
		}
		return nil
	}))
	b.visit("/")
	b.takeIncidents() // of the browser's own start
	return b
}

func command[P, R any](ctx context.Context, s cdp.Session, c cdp.Command[P, R], params P) error {
	_, err := cdp.Call(ctx, s, c, params)
	return err
}

// ServeHTTP serves the pages there are. A request for anything else is an incident, whoever made it.
func (b *tab) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	body, ok := b.pages[r.URL.Path]
	b.mu.Unlock()
	if !ok || r.Method != http.MethodGet || r.URL.RawQuery != "" {
		b.incident("the server was asked for " + r.Method + " " + r.URL.String())
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(body) // a page that went away asks for nothing more
}

func (b *tab) incident(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.incidents = append(b.incidents, what)
}

// watch notes what a card must not bring about: dialogs, messages, scripts, requests, windows, downloads.
func (b *tab) watch(event any) {
	switch e := event.(type) {
	case *page.EventJavascriptDialogOpening:
		b.incident("dialog: " + e.Message)
		go func() { // an open dialog stands in the way of everything else
			ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
			defer cancel()
			err := chromedp.Do(ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
				return command(ctx, t, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: false})
			}))
			if err != nil {
				b.incident("dialog that does not close: " + err.Error())
			}
		}()
	case *page.EventWindowOpen:
		b.incident("window: " + e.URL)
	case *page.EventFileChooserOpened:
		b.incident("file chooser")
	case *runtime.EventConsoleAPICalled:
		b.incident("console call")
	case *runtime.EventExceptionThrown:
		b.incident("exception: " + e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		if !ownRemark.MatchString(e.Entry.Text) {
			b.incident("log: " + string(e.Entry.Level) + ": " + e.Entry.Text)
		}
	case *debugger.EventScriptParsed:
		if e.URL != "harness.js" { // the name that all scripts of the tests give themselves
			b.incident("script of " + e.URL)
		}
	case *network.EventRequestWillBeSent:
		path, own := strings.CutPrefix(e.Request.URL, b.server.URL)
		b.mu.Lock()
		_, known := b.pages[path]
		b.mu.Unlock()
		if !own || !known {
			b.incident("request for " + e.Request.URL)
		}
	case *network.EventWebSocketCreated:
		b.incident("web socket to " + e.URL)
	case *network.EventWebTransportCreated:
		b.incident("web transport to " + e.URL)
	}
}

// ownRemark is what Chromium says of its own of values that mean nothing: a text in a number input, words in the geometry
// of an SVG element. Both are shown as the standards say.
var ownRemark = regexp.MustCompile(`^(The specified value ".*" (cannot be parsed|does not conform)|Error: <[A-Za-z]+> attribute [A-Za-z0-9-]+: )`)

// takeIncidents gives what happened since it was asked last.
func (b *tab) takeIncidents() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.incidents
	b.incidents = nil
	return list
}

// put makes a page that can be loaded, and gives its address.
func (b *tab) put(path string, body []byte) (url string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pages[path] = body
	return b.server.URL + path
}

func (b *tab) drop(path string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.pages, path)
}

// do performs an action. Whatever the browser cannot do in half a minute it will not do.
func (b *tab) do(a chromedp.Action[chromedp.Void]) {
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	if err := chromedp.Do(ctx, a); err != nil {
		panic(fmt.Sprintf("browser: %v", err))
	}
}

func (b *tab) visit(path string) { b.do(chromedp.Navigate(b.server.URL + path)) }

// ask calls a function of the harness with arguments and reads its answer, which may be a promise, into out.
func (b *tab) ask(out any, function string, args ...any) {
	list := make([]string, len(args))
	for i, a := range args {
		text, err := json.Marshal(a)
		if err != nil {
			panic(err)
		}
		list[i] = string(text)
	}
	b.eval(out, function+"("+strings.Join(list, ", ")+")")
}

func (b *tab) eval(out any, expression string) {
	ctx, cancel := context.WithTimeout(b.ctx, 60*time.Second)
	defer cancel()
	answer, err := chromedp.Run(ctx, chromedp.Evaluate[[]byte](expression+"\n//# sourceURL=harness.js", chromedp.EvalAwaitPromise))
	if err != nil {
		panic(fmt.Sprintf("browser: %.200s: %v", expression, err))
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(answer, out); err != nil {
		panic(fmt.Sprintf("browser: %.200s: %v in %.200s", expression, err, answer))
	}
}
