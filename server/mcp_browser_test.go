//go:build browser

package server_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"example.com/cardrun/server"
)

// typeOfMessage names the published type of what a view and its host say.
var typeOfMessage = map[string]string{
	"view ui/initialize":                         "McpUiInitializeRequest",
	"view ui/notifications/initialized":          "McpUiInitializedNotification",
	"view ui/notifications/size-changed":         "McpUiSizeChangedNotification",
	"host ui/notifications/tool-input":           "McpUiToolInputNotification",
	"host ui/notifications/tool-result":          "McpUiToolResultNotification",
	"host ui/notifications/tool-cancelled":       "McpUiToolCancelledNotification",
	"host ui/notifications/host-context-changed": "McpUiHostContextChangedNotification",
	"host ui/resource-teardown":                  "McpUiResourceTeardownRequest",
}

// expectProtocol holds all that was said against the extension's schema, and gives how often each message was sent.
func expectProtocol(t *testing.T, b *hostTab, n int) map[string]int {
	t.Helper()
	count := map[string]int{}
	initialized := false
	for _, m := range b.messages(n) {
		what := m.From + " " + m.Message.Method
		count[what]++
		if m.Message.JSONRPC != "2.0" {
			t.Errorf("%s is no JSON-RPC 2.0: %s", what, jsonOf(m))
		}
		switch {
		case typeOfMessage[what] != "":
			body := map[string]any{"method": m.Message.Method}
			if m.Message.Params != nil {
				body["params"] = m.Message.Params
			}
			expectValid(t, appsType(t, typeOfMessage[what]), body, what)
		case what == "host ":
			if m.Message.Error == nil && count["view ui/initialize"] == 1 && count["host "] == 1 {
				result := into[map[string]any](t, m.Message.Result)
				// As published, the schema has no dimensions that are valid, since it joins two objects of which each forbids the
				// members of the other, and asks for all variables of styles, where the extension's text asks for any.
				if context, ok := result["hostContext"].(map[string]any); ok {
					delete(context, "containerDimensions")
					delete(context, "styles")
				}
				expectValid(t, appsType(t, "McpUiInitializeResult"), result, what)
			}
		case what == "view ":
			if m.Message.Error == nil {
				expectValid(t, appsType(t, "McpUiResourceTeardownResult"), m.Message.Result, what)
			}
		case what != "view tools/call" && what != "host ping" && what != "host ui/surprise":
			t.Errorf("%s is no message of the extension", what)
		}
		if m.From == "view" && m.Message.Method != "ui/initialize" && !initialized {
			if initialized = m.Message.Method == "ui/notifications/initialized"; !initialized {
				t.Errorf("%s was sent before the handshake was done", what)
			}
		}
	}
	if count["view ui/initialize"] != 1 || count["view ui/notifications/initialized"] != 1 {
		t.Errorf("the handshake: %v", count)
	}
	return count
}

const counter = `let n = 0; ui.on('b', 'click', () => ui.text('p', 'pressed ' + ++n)); ui.on('t', 'input', e => ui.html('q', '<b>' + e.value.length + '</b>'));
	ui.text('p', 'not yet')`

var counterCard = card(`<p><button id="b">Press</button></p><p id="p"></p><p><label for="t">t</label> <input id="t"></p><p id="q"></p>`, counter)

func TestMCPPage(t *testing.T) {
	b := openHost(t, server.MCPOptions{})
	section := func(name string, run func(t *testing.T)) {
		t.Run(name, func(t *testing.T) {
			defer b.expectQuiet(t, name)
			defer b.eval(nil, "close()")
			run(t)
		})
	}
	section("static", func(t *testing.T) {
		n := b.show(counterCard, "")
		b.expect(t, n, "p", "not yet")
		b.await(t, "note(%d).startsWith('This is how the card begins. It does not react')", n)
		b.await(t, "el(%d, 'b').disabled && el(%d, 't').disabled", n, n)
		b.await(t, "views[%d].sizes.length > 0", n)
		if count := expectProtocol(t, b, n); count["view tools/call"] != 0 {
			t.Errorf("calls without leave: %v", count)
		}
	})
	for _, way := range []string{"src: '/view'", "src: '/shade'"} {
		section("live, "+way, func(t *testing.T) {
			n := b.show(counterCard, "tools: true, "+way)
			b.expect(t, n, "p", "not yet")
			b.await(t, "!el(%d, 'b').disabled", n)
			b.click(n, "b")
			b.expect(t, n, "p", "pressed 1")
			b.click(n, "b")
			b.expect(t, n, "p", "pressed 2")
			b.click(n, "t")
			b.keys("hello")
			b.expect(t, n, "q", "5")
			b.await(t, "el(%d, 't').value === 'hello'", n)
			b.keys(kb.ArrowLeft + "X")
			b.expect(t, n, "q", "6")
			b.await(t, "el(%d, 't').value === 'hellXo' && note(%d) === ''", n, n)
			b.eval(nil, "post(views[%d], {id: 'teardown', method: 'ui/resource-teardown', params: {}})", n)
			b.await(t, "views[%d].torn", n)
			expectProtocol(t, b, n)
		})
	}
	section("an opaque origin", func(t *testing.T) {
		// The page is in a sandbox without an origin, as the strictest hosts have it: it cannot reach into a frame.
		n := b.show(with(counterCard, "html", `<p><button id="b" style="">Press</button></p><p id="p"></p><p><label for="t">t</label> <input id="t"></p><p id="q"></p>`),
			"tools: true, sandbox: 'allow-scripts', srcdoc: "+jsonOf(b.page))
		b.await(t, "views[%d].sizes.at(-1)?.height > 80", n)
		var p struct{ X, Y float64 }
		b.eval(&p, "(() => { const r = views[%d].frame.getBoundingClientRect(); return {X: r.left + 30, Y: r.top + 30} })()", n)
		b.clickAt(p.X, p.Y)
		b.await(t, "views[%d].answers.at(-1)?.structuredContent.snapshot?.display.text.includes('pressed 1')", n)
		b.clickAt(p.X, p.Y)
		b.await(t, "views[%d].answers.at(-1)?.structuredContent.rounds?.at(-1)?.patches[0].value === 'pressed 2'", n)
		expectProtocol(t, b, n)
	})
	section("the page of one card", func(t *testing.T) {
		res := b.call("generated_ui_show", counterCard)
		var n int
		b.eval(&n, "open({tools: true, src: '/read?uri=' + encodeURIComponent(%s)})", jsonOf(into[struct{ ResourceURI string }](t, res.Meta["ui"]).ResourceURI))
		b.expect(t, n, "p", "not yet")
		b.click(n, "b")
		b.expect(t, n, "p", "pressed 1")
	})
	section("a host that never answers", func(t *testing.T) {
		res := b.call("generated_ui_show", counterCard)
		var n int
		b.eval(&n, "open({silent: true, src: '/read?uri=' + encodeURIComponent(%s)})", jsonOf(into[struct{ ResourceURI string }](t, res.Meta["ui"]).ResourceURI))
		b.expect(t, n, "p", "not yet")
		b.await(t, "note(%d) !== '' && el(%d, 'b').disabled", n, n)
	})
	section("theme", func(t *testing.T) {
		scheme := with(counterCard, "css", ":root { color-scheme: light dark } #p { color: red } @media (prefers-color-scheme: dark) { #p { color: rgb(1, 2, 3) } } #q { height: 900px }")
		n := b.show(scheme, "tools: true, context: {theme: 'dark', styles: {variables: {'--color-text-primary': 'rgb(9, 8, 7)'}}, containerDimensions: {maxHeight: 300}}")
		b.expect(t, n, "p", "not yet")
		b.await(t, "inside(%d).querySelector('#card iframe').getBoundingClientRect().height <= 300", n)
		// What is no variable of the extension is not taken.
		b.eval(nil, "views[%d].frame.contentWindow.postMessage({jsonrpc: '2.0', method: 'ui/notifications/host-context-changed', params: {styles: {variables: {'--evil': 'x', '--color-text-primary': 'rgb(9, 8, 7)'}}}}, '*')", n)
		colour := fmt.Sprintf("card(%d).defaultView.getComputedStyle(el(%d, 'p')).color", n, n)
		b.await(t, "%s === 'rgb(1, 2, 3)'", colour)
		b.await(t, "getComputedStyle(inside(%d).documentElement).color === 'rgb(9, 8, 7)' && !inside(%d).documentElement.style.getPropertyValue('--evil')", n, n)
		b.eval(nil, "post(views[%d], {method: 'ui/notifications/host-context-changed', params: {theme: 'light'}})", n)
		b.await(t, "%s === 'rgb(255, 0, 0)'", colour)
		if count := expectProtocol(t, b, n); count["host ui/notifications/host-context-changed"] != 1 {
			t.Errorf("messages: %v", count)
		}
	})
	section("too large for its first snapshot", func(t *testing.T) {
		large := with(counterCard, "html", counterCard["html"].(string)+"<p>"+strings.Repeat("word ", 2200)+"</p>")
		n := b.show(large, "")
		b.await(t, "note(%d).startsWith('The card is too large')", n)
		n = b.show(large, "tools: true")
		b.expect(t, n, "p", "not yet")
		b.click(n, "b")
		b.expect(t, n, "p", "pressed 1")
	})
	section("failure and a new start", func(t *testing.T) {
		n := b.show(card(`<p><button id="b">Press</button></p><p id="p">start</p>`, `let n = 0; ui.on('b', 'click', () => { if (++n > 1) null.x; ui.text('p', 'pressed ' + n) })`), "tools: true")
		b.expect(t, n, "p", "start")
		b.click(n, "b")
		b.expect(t, n, "p", "pressed 1")
		b.click(n, "b")
		b.await(t, "note(%d).startsWith('The card has stopped: TypeError') && el(%d, 'b').disabled", n, n)
		b.expect(t, n, "p", "pressed 1")
		b.eval(nil, "inside(%d).querySelector('#note button').click()", n)
		b.expect(t, n, "p", "start")
		b.await(t, "!el(%d, 'b').disabled", n)
		b.click(n, "b")
		b.expect(t, n, "p", "pressed 1")
	})
	section("a host that refuses, and then does not", func(t *testing.T) {
		n := b.show(counterCard, "tools: true, play: () => { throw new Error('x') }")
		b.eval(nil, "(views[%d].o.play = () => ({isError: true, content: [{type: 'text', text: 'busy: come again'}]}), 0)", n)
		b.expect(t, n, "p", "not yet")
		b.click(n, "b")
		b.await(t, "note(%d).includes('busy: come again')", n)
		b.eval(nil, "(views[%d].o.play = null, 0)", n)
		b.eval(nil, "inside(%d).querySelector('#note button').click()", n)
		b.expect(t, n, "p", "pressed 1")
		b.await(t, "note(%d) === ''", n)
	})
	section("a rejected card", func(t *testing.T) {
		bad := with(counterCard, "html", `<a href="https://evil.example/">x</a><img src=q onerror=alert(1)>`)
		res := b.call("generated_ui_show", bad)
		var n int
		b.eval(&n, "open({tools: true, arguments: %s, result: %s})", jsonOf(bad), jsonOf(res))
		b.await(t, "note(%d) === 'The card was rejected.' && inside(%d).getElementById('plain').textContent.includes('links are not allowed')", n, n)
	})
	section("cancelled, surprised, and lied to", func(t *testing.T) {
		var n int
		b.eval(&n, "open({tools: true})")
		b.await(t, "views[%d].initialized", n)
		b.eval(nil, "post(views[%d], {method: 'ui/notifications/tool-cancelled', params: {reason: 'test'}})", n)
		b.await(t, "note(%d).includes('cancelled')", n)
		b.eval(nil, "post(views[%d], {id: 7, method: 'ping', params: {}}), post(views[%d], {id: 8, method: 'ui/surprise', params: {}})", n, n)
		b.await(t, "views[%d].log.some(l => l.message.id === 8 && l.message.error?.code === -32601) && views[%d].log.some(l => l.message.id === 7 && l.message.result)", n, n)
		for _, odd := range []string{`null`, `1`, `"x"`, `[]`, `{"jsonrpc":"2.0"}`, `{"jsonrpc":"2.0","method":1}`, `{"jsonrpc":"2.0","id":99,"result":null}`,
			`{"jsonrpc":"2.0","method":"ui/notifications/tool-input","params":{"arguments":null}}`,
			`{"jsonrpc":"2.0","method":"ui/notifications/host-context-changed","params":{"theme":{},"styles":1,"safeAreaInsets":{"top":1e99}}}`,
			`{"jsonrpc":"2.0","method":"ui/notifications/tool-result","params":{"content":7,"structuredContent":{"execution":{"omitted":3,"snapshot":{"display":4}}}}}`} {
			b.eval(nil, "views[%d].frame.contentWindow.postMessage(%s, '*')", n, odd)
		}
		b.await(t, "note(%d) !== ''", n)
	})
}

// TestAttackMCPPage shows every attack of the corpus in the page as if nobody had sanitized it, which a server never does: nothing
// in it runs or loads anything. A wall behind the wall.
func TestAttackMCPPage(t *testing.T) {
	b := openHost(t, server.MCPOptions{})
	htmls, sheets := attackTexts(t, "html.txt"), attackTexts(t, "css.txt")
	attacks := 0
	show := func(src string, html, css []string) {
		var results []map[string]any
		for i := range html {
			results = append(results, lie(html[i], css[i]))
		}
		b.eval(nil, "%s.map(result => open({src: %q, result})) && 0", jsonOf(results), src)
		b.await(t, "views.every((v, n) => card(n)?.querySelector('.cardrun-card') && v.sizes.length > 0)")
		// What a card could do on being used.
		b.eval(nil, `views.forEach((v, n) => { for (const e of card(n).querySelectorAll('*')) { e.dispatchEvent(new Event('click', {bubbles: true})); e.dispatchEvent(new Event('focus')); e.dispatchEvent(new Event('mouseover', {bubbles: true})) } })`)
		b.await(t, "new Promise(done => setTimeout(() => done(true), 30))")
		b.eval(nil, "close()")
		attacks += len(html)
		b.expectQuiet(t, src+": "+strings.Join(html, " | "))
	}
	const together = 24
	none := make([]string, together)
	for _, src := range []string{"/view", "/shade"} {
		for at := 0; at < len(htmls); at += together {
			if testing.Short() && at/together%2 == 1 == (src == "/view") { // each in one of the two
				continue
			}
			part := htmls[at:min(at+together, len(htmls))]
			show(src, part, none[:len(part)])
		}
		for at := 0; at < len(sheets); at += together {
			part := sheets[at:min(at+together, len(sheets))]
			html := make([]string, len(part))
			for i := range html {
				html[i] = `<p id="p" class="a">x</p><input id="i" value="secret">`
			}
			show(src, html, part)
		}
	}
	// The watch is awake: what runs is noticed.
	b.eval(nil, "eval('1')")
	if len(b.incidents) == 0 {
		t.Error("the watch did not notice a script that ran")
	}
	t.Logf("attacks: %d", attacks)
}

// lie is a result with a display that no server gives.
func lie(html, css string) map[string]any {
	card := map[string]any{"title": html, "summary": html, "html": "x", "css": "", "javascript": ""}
	card["execution"] = map[string]any{"omitted": []string{}, "snapshot": map[string]any{
		"display": map[string]any{"html": html, "css": css, "text": html}, "handlers": []any{}, "failure": nil}}
	return map[string]any{"content": []any{map[string]any{"type": "text", "text": html}}, "structuredContent": card}
}

// attackTexts reads the corpus of the conformance tests.
func attackTexts(t *testing.T, file string) (list []string) {
	t.Helper()
	data, err := os.ReadFile("../conformance/testdata/attacks/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	flush := func() {
		if text := strings.Join(lines, "\n"); text != "" {
			list = append(list, text)
		}
		lines = nil
	}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "---") {
			flush()
			continue
		}
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	flush()
	return list
}
