//go:build browser

package viewer_test

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"example.com/cardrun"
)

// openPlayground visits the page and waits for its first card.
func openPlayground(t *testing.T, b *tab) {
	t.Helper()
	b.visit("/")
	b.await(t, ready)
}

const ready = "document.getElementById('outcome')?.textContent.startsWith('Ready')"

// inCard is the document of the frame of the playground's card.
const inCard = "document.querySelector('.cardrun-viewer')?.shadowRoot.querySelector('iframe').contentDocument"

const focusCard = "document.querySelector('.cardrun-viewer').shadowRoot.querySelector('iframe').focus()"

// paste puts a text into the page as the clipboard would, where the focus is in a part's editor.
func (b *tab) paste(text string) {
	b.eval(nil, `(() => { document.getElementById('paste').click(); const area = document.activeElement, data = new DataTransfer(); data.setData('text/plain', `+quote(text)+`);
		if (area.dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}))) { area.value = `+quote(text)+`; area.dispatchEvent(new Event('input', {bubbles: true})); document.getElementById('run').click() } })()`)
}

func card(t *testing.T, html, css, script string) string {
	t.Helper()
	return `{"title":"Pasted","summary":"What it says.","html":` + quote(html) + `,"css":` + quote(css) + `,"javascript":` + quote(script) + `}`
}

func TestPlayground(t *testing.T) {
	s := newService(t)
	b := openTab(t, s)
	if _, err := chromedp.CallBrowser(b.ctx, browser.SetPermission, browser.SetPermissionParams{
		Permission: &browser.PermissionDescriptor{Name: "clipboard-write"}, Setting: browser.PermissionSettingDenied, Origin: s.server.URL,
	}); err != nil {
		t.Fatal(err)
	}
	section := func(name string, run func(t *testing.T)) {
		t.Run(name, func(t *testing.T) {
			defer b.expectQuiet(t, name)
			run(t)
		})
	}
	section("a newcomer", func(t *testing.T) {
		openPlayground(t, b)
		var ms float64
		b.eval(&ms, "performance.now()")
		t.Logf("a live card %.0f ms after the page was opened, as the test saw it", ms)
		if n := b.text("document.getElementById('example').options.length"); n != "18" {
			t.Errorf("%s cards can be picked, want 17 and one's own", n)
		}
		b.eval(nil, "(() => { const e = document.getElementById('example'); e.value = 'quiz'; e.dispatchEvent(new Event('change')) })()")
		b.await(t, ready+" && document.getElementById('title').textContent === 'Three questions about light'")
	})
	section("rounds, snapshot", func(t *testing.T) {
		openPlayground(t, b)
		b.eval(nil, inCard+".getElementById('people').focus()")
		b.keys(kb.ArrowUp)
		b.await(t, "document.querySelector('#rounds > li:first-child summary').textContent.includes('input people')")
		b.await(t, "document.querySelectorAll('#rounds > li:first-child meter').length === 5")
		b.await(t, "document.querySelector('#rounds .patches').textContent.includes('ui.text')")
		b.eval(nil, "document.getElementById('tab-snapshot').click()")
		b.await(t, `JSON.parse(document.getElementById('snapshot').textContent).controls.find(c => c.id === 'people').value === '4'`)
		b.await(t, `JSON.parse(document.getElementById('snapshot').textContent).rounds.length > 1`)
	})
	section("a rejected card", func(t *testing.T) {
		openPlayground(t, b)
		b.paste(card(t, "<p>one</p>\n<p>two <a href=\"x\">link</a></p>", "p { color: url(x) }", "let x = ;"))
		b.await(t, "document.getElementById('outcome').textContent.startsWith('Rejected')")
		b.await(t, "[...document.querySelectorAll('#finding-list b')].some(e => e.textContent.includes('element_forbidden in html, line 2, column 8'))")
		b.await(t, "document.querySelector('#source-html mark.error')?.textContent === '<a' && document.querySelector('#source-html .lines .marked').textContent === '2'")
		b.eval(nil, "[...document.querySelectorAll('#finding-list button')].find(e => e.textContent.includes('in html')).click()")
		b.await(t, "document.activeElement === document.querySelector('#source-html textarea') && document.activeElement.selectionStart === '<p>one</p>\\n<p>two '.length")
		// What is mended is run: the finding goes as one types.
		b.eval(nil, `(() => { const set = (p, v) => { const e = document.querySelector('#source-' + p + ' textarea'); e.value = v; e.dispatchEvent(new Event('input', {bubbles: true})) };
			set('html', '<p id="p">mended</p>'); set('css', ''); set('javascript', 'ui.text("p", "ran")') })()`)
		b.await(t, "document.getElementById('findings').hidden")
		b.eval(nil, "document.querySelector('#source-html textarea').focus()")
		b.do(chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(2)))
		b.await(t, ready+" && "+inCard+"?.getElementById('p')?.textContent === 'ran'")
	})
	section("a card that fails", func(t *testing.T) {
		openPlayground(t, b)
		b.paste(card(t, `<button id="k">k</button>`, "", "ui.on('k', 'click', () => {\n  nothing()\n})"))
		b.await(t, ready+" && "+inCard+"?.getElementById('k')")
		b.eval(nil, focusCard)
		b.keys(kb.Tab + " ")
		b.await(t, "document.getElementById('outcome').textContent === 'Stopped: exception.'")
		b.await(t, "document.querySelector('#source-javascript .lines .marked')?.textContent === '2'")
		b.await(t, "document.querySelector('#rounds .tag.failed')?.textContent === 'exception'")
	})
	section("a round that is discarded", func(t *testing.T) {
		openPlayground(t, b)
		b.paste(card(t, `<button id="k">k</button><label for="n">n</label><input id="n">`, "", slow+`ui.on('k', 'click', () => { hold(200); ui.value('n', 'x') })`))
		b.await(t, ready+" && "+inCard+"?.getElementById('k')")
		var x *cardrun.Session
		s.mu.Lock()
		x = s.sessions[s.newest]
		s.mu.Unlock()
		b.eval(nil, focusCard)
		b.keys(kb.Tab + " ")
		b.postDuring(t, x, "n", "mine")
		b.await(t, "document.querySelector('#rounds .tag.discarded') && document.querySelector('#rounds').textContent.includes('Dropped whole')")
	})
	section("a link", func(t *testing.T) {
		openPlayground(t, b)
		b.paste(card(t, `<button id="k">k</button><p id="p"></p><p id="now"></p>`, "", `let list = []; const show = () => { ui.text('p', list.join(' ')); ui.text('now', String(Date.now())) }; ui.on('k', 'click', () => { list.push(Math.random()); show() }); show()`))
		b.await(t, ready+" && "+inCard+"?.getElementById('k')")
		b.eval(nil, focusCard)
		b.keys(kb.Tab + " ")
		b.await(t, "document.querySelectorAll('#rounds > li').length === 2")
		b.keys(" ")
		b.await(t, "document.querySelectorAll('#rounds > li').length === 3")
		want := b.text(inCard + ".getElementById('p').textContent")
		b.eval(nil, "document.getElementById('link').click()")
		b.await(t, "document.getElementById('told').textContent.startsWith('The link is')")
		link := b.text("location.hash")
		if !strings.HasPrefix(link, "#card=") || len(link) > 2000 {
			t.Errorf("the link is %d characters: %.50s", len(link), link)
		}
		b.visit("/favicon.ico")
		b.visit("/" + link)
		b.await(t, inCard+"?.getElementById('p')?.textContent === "+quote(want))
		at := b.text(inCard + ".getElementById('now').textContent")
		b.visit("/favicon.ico")
		b.visit("/" + link)
		b.await(t, inCard+"?.getElementById('p')?.textContent === "+quote(want)+" && "+inCard+".getElementById('now').textContent === "+quote(at))
		// What is no link is said to be none, and what is too long is not unpacked.
		for _, bad := range []string{"#card=AAAA", "#card=%00", "#card=" + bomb(t)} {
			b.visit("/favicon.ico")
			b.visit("/" + bad)
			b.await(t, ready)
		}
	})
	section("narrow", func(t *testing.T) {
		b.do(chromedp.EmulateViewport(320, 640))
		defer b.do(chromedp.EmulateViewport(1000, 800))
		openPlayground(t, b)
		for _, tab := range []string{"tab-rounds", "tab-snapshot", "tab-source"} {
			b.eval(nil, fmt.Sprintf("document.getElementById(%q).click()", tab))
			if w := b.text("document.documentElement.scrollWidth"); w != "320" {
				t.Errorf("%s: the page is %s wide", tab, w)
			}
		}
	})
	section("keyboard only", func(t *testing.T) {
		openPlayground(t, b)
		reached := map[string]bool{}
		b.eval(nil, "document.activeElement.blur()")
		for range 40 {
			b.keys(kb.Tab)
			reached[b.text("document.activeElement.id || document.activeElement.className || document.activeElement.localName")] = true
		}
		for _, want := range []string{"example", "paste", "link", "cardrun-viewer", "tab-rounds", "panel-rounds", "summary"} {
			if !reached[want] {
				t.Errorf("the tab key does not reach %s: %v", want, reached)
			}
		}
		b.eval(nil, "document.getElementById('tab-rounds').focus()")
		b.keys(kb.ArrowRight + kb.ArrowRight)
		b.await(t, "document.activeElement.id === 'tab-source' && !document.getElementById('panel-source').hidden")
	})
}

// bomb is a link that is small and holds much.
func bomb(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(bytes.Repeat([]byte(" "), 64<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(out.Bytes())
}

// postDuring enters a value from another page of the session while a round runs.
func (b *tab) postDuring(t *testing.T, x *cardrun.Session, id, value string) {
	t.Helper()
	before := len(x.Snapshot().Rounds)
	time.Sleep(80 * time.Millisecond)
	if n := len(x.Snapshot().Rounds); n != before {
		t.Fatalf("the round that was to be interrupted has ended: %d rounds", n)
	}
	if _, _, err := x.Post(cardrun.Event{ID: id, Type: "input", Value: &value}); err != nil {
		t.Fatal(err)
	}
}
