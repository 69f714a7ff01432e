//go:build browser

package viewer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/go-json-experiment/json"

	"example.com/cardrun/conformance/chromium"
)

// hostileScript is what the page of the tests does with attacks. The payload of each calls canary().
const hostileScript = `window.ran = [], window.canary = () => ran.push('canary'),
window.escaped = () => {
  const out = [...ran.splice(0)];
  if (location.href !== window.home) out.push('the page went to ' + location.href);
  if (window.length > 1) out.push(window.length + ' frames');
  if (document.title !== window.titled && !document.title.endsWith('cardrun playground')) out.push('the title is ' + document.title);
  const f = document.querySelector('.cardrun-viewer')?.shadowRoot.querySelector('iframe');
  if (!f) return out;
  const d = f.contentDocument;
  if (!d || d.URL !== 'about:srcdoc') return [...out, 'the frame went to ' + (d ? d.URL : 'elsewhere')];
  if (d.defaultView.canary) out.push('a canary in the frame');
  if (f.getAttribute('sandbox') !== 'allow-same-origin') out.push('the sandbox is ' + f.getAttribute('sandbox'));
  for (const e of d.querySelectorAll('script,iframe,object,embed,a[href],form,link,base,img,body style,head style,[onclick],[onload],[onerror]')) out.push('in the frame: ' + e.outerHTML.slice(0, 80));
  const head = d.head.innerHTML, want = 5;
  if (d.head.childElementCount !== 4 || d.querySelectorAll('meta').length !== 3) out.push('the head is ' + head);
  if (document.querySelectorAll('h1').length !== 1 || document.elementFromPoint(20, 5) === f) out.push('the page is not what it was');
  return out;
}`

func attacks(t *testing.T, file string) []chromium.Attack {
	return chromium.Attacks(t, filepath.Join("..", "conformance", "testdata", "attacks", file))
}

// TestHostileFrame puts attacks into the frame that no sanitizer has seen: what the frame holds back by itself.
func TestHostileFrame(t *testing.T) {
	s := newService(t)
	b := openTab(t, s)
	openHost(t, b, s, `<p>x</p>`, "", "")
	b.eval(nil, hostileScript+", window.home = location.href, window.titled = document.title")
	b.takeIncidents()
	run := func(name, text string, css bool) {
		display := `{html: ` + quote(text) + `, css: ''}`
		if css {
			display = `{html: '<p id="p" class="a">x</p><button>b</button>', css: ` + quote(text) + `}`
		}
		var out []string
		b.eval(&out, `(async () => { try { host.view.frame.show(`+display+`) } catch (e) { return ['throws ' + e] }
			const d = host.view.frame.document; for (const e of d.querySelectorAll('.cardrun-card *')) { if (e.click) e.click(); e.dispatchEvent(new Event('mouseover', {bubbles: true})); e.dispatchEvent(new Event('focus')); }
			await new Promise(done => setTimeout(done, 3)); return escaped() })()`)
		if len(out) > 0 {
			t.Errorf("%s: %.300q: %q", name, text, out)
		}
		for _, incident := range b.takeIncidents() {
			// That a policy held something back is what is to be seen here.
			warned := strings.HasPrefix(incident, "log: warning: ") // of what needs a person's own click, and of imports
			if !warned && !(strings.HasPrefix(incident, "log: ") && strings.Contains(incident, "violates the following Content Security Policy")) {
				t.Errorf("%s: %.300q brought about %.300q", name, text, incident)
			}
		}
	}
	n := 0
	for _, a := range attacks(t, "html.txt") {
		run(a.Name, a.Text, false)
		n++
	}
	for _, a := range attacks(t, "css.txt") {
		run(a.Name, a.Text, true)
		n++
	}
	if got := s.asked("GET /leak"); len(got) > 0 {
		t.Errorf("the server was asked for %q", got)
	}
	// What the page itself does shows that the watch sees.
	var out []string
	b.eval(&out, "(canary(), fetch('/leak').then(() => escaped()))")
	if found := b.takeIncidents(); len(found) == 0 || len(out) == 0 {
		t.Errorf("the watch sees nothing: %q, %q", found, out)
	}
	if n < 250 {
		t.Errorf("only %d attacks", n)
	}
	t.Logf("attacks: %d", n)
}

// TestHostileNavigation tries to leave the frame in the ways that a document without scripts has, in a frame whose wall is left out.
func TestHostileNavigation(t *testing.T) {
	s := newService(t)
	b := openTab(t, s)
	openHost(t, b, s, `<p>x</p>`, "", "")
	b.eval(nil, hostileScript+", window.home = location.href, window.titled = document.title")
	b.takeIncidents()
	n := 0
	for _, c := range []struct{ tag, attributes, act string }{
		{"a", "target=_top href=/leak", "e.click()"},
		{"a", "target=_blank href=/leak", "e.click()"},
		{"a", "href=javascript:canary()", "e.click()"},
		{"form", "action=/leak method=post", "e.submit()"},
		{"form", "action=/leak", "e.requestSubmit()"},
		{"meta", "http-equiv=refresh content=0;url=/leak", ""},
		{"base", "href=https://other.example/", ""},
		{"img", "src=/leak", ""},
		{"link", "rel=stylesheet href=/leak", ""},
		{"iframe", "src=/leak", ""},
		{"object", "data=/leak", ""},
		{"script", "src=/leak", ""},
		{"video", "poster=/leak src=/leak", ""},
		{"div", "onclick=canary()", "e.click()"},
	} {
		var out []string
		attributes := []string{}
		for a := range strings.FieldsSeq(c.attributes) {
			name, value, _ := strings.Cut(a, "=")
			attributes = append(attributes, name, value)
		}
		list, err := json.Marshal(attributes)
		if err != nil {
			t.Fatal(err)
		}
		b.eval(&out, fmt.Sprintf(`(async () => { const d = host.view.frame.document, e = d.createElement(%q), l = %s; for (let i = 0; i < l.length; i += 2) try { e.setAttribute(l[i], l[i + 1]) } catch {}
			try { (%q === 'meta' || %q === 'base' ? d.head : host.view.frame.card).append(e); %s; } catch (x) { if (x.name !== 'TypeError') throw x }
			await new Promise(done => setTimeout(done, 100)); e.remove(); return [...ran, location.href !== home && location.href].filter(Boolean) })()`, c.tag, list, c.tag, c.tag, c.act))
		if len(out) > 0 {
			t.Errorf("%s %s: %q", c.tag, c.attributes, out)
		}
		for _, incident := range b.takeIncidents() {
			// That it was held back; Chromium's own page and pictures in place of what was not loaded; a window that was asked for.
			if !regexp.MustCompile(`^(log: |request for data:image/|(frame at|script of) chrome-error:|window: )`).MatchString(incident) {
				t.Errorf("%s %s: %s", c.tag, c.attributes, incident)
			}
		}
		n++
	}
	if got := s.asked("GET /leak"); len(got) > 0 {
		t.Errorf("the server was asked for %q", got)
	}
	targets, err := chromedp.Targets(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range targets {
		if target.Type == "page" && !strings.HasPrefix(target.URL, s.server.URL+"/host") {
			t.Errorf("there is a page at %s", target.URL)
		}
	}
	// A frame that does navigate itself is thrown away, and shows the card again.
	b.eval(nil, `host.view.frame.iframe.contentWindow.location.replace('about:blank')`)
	b.await(t, "host.view.frame.document?.URL === 'about:srcdoc' && host.view.frame.card?.textContent === 'x'")
	t.Logf("attacks: %d", n)
}

// TestHostilePlayground opens each attack in the playground, as a card and as what a script shows.
func TestHostilePlayground(t *testing.T) {
	s := newService(t)
	b := openTab(t, s)
	openPlayground(t, b)
	// It works in the page: an attack is pasted, and what has become of it is looked at when the card is there or rejected.
	b.eval(nil, hostileScript+`, window.home = location.href, window.titled = document.title,
		window.attack = async text => {
			const area = document.querySelector('#source-json textarea'), data = new DataTransfer(), outcome = document.getElementById('outcome');
			data.setData('text/plain', text);
			outcome.textContent = '';
			area.dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}));
			for (let i = 0; i < 2000 && !/^(Ready|Rejected|Stopped|The card could)/.test(outcome.textContent); i++) await new Promise(done => setTimeout(done, 2));
			const said = outcome.textContent;
			await new Promise(done => setTimeout(done, 2));
			return {said, out: escaped()};
		}`)
	b.takeIncidents()
	said := map[string]int{}
	n := 0
	run := func(name, text string) {
		var r struct {
			Said string   `json:"said"`
			Out  []string `json:"out"`
		}
		b.eval(&r, "attack("+quote(text)+")")
		word, _, _ := strings.Cut(strings.TrimRight(r.Said, "."), " ")
		said[strings.Trim(word, ",.:")]++
		if r.Said == "" || strings.HasPrefix(r.Said, "The") || strings.HasPrefix(r.Said, "Running") || len(r.Out) > 0 {
			t.Errorf("%s: %.300q: %q, %q", name, text, r.Said, r.Out)
		}
		b.expectQuiet(t, name)
		n++
	}
	for _, a := range attacks(t, "html.txt") {
		run(a.Name, card(t, a.Text, "", ""))
		run(a.Name+" by ui.html", card(t, `<div id="x"></div>`, "", "ui.html('x', "+quote(a.Text)+")"))
	}
	for _, a := range attacks(t, "css.txt") {
		run(a.Name, card(t, `<p class="a">x</p>`, a.Text, ""))
	}
	files, err := filepath.Glob("../conformance/cases/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		files = nil
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var c struct {
			Card map[string]any `json:"card"`
		}
		if err := json.Unmarshal(data, &c); err != nil || c.Card == nil {
			continue
		}
		for _, field := range []string{"title", "summary", "html", "css", "javascript"} {
			if _, ok := c.Card[field].(string); !ok {
				c.Card = nil
				break
			}
		}
		if c.Card == nil {
			continue
		}
		text, err := json.Marshal(c.Card)
		if err != nil {
			continue // what JSON cannot say cannot be pasted
		}
		run(filepath.Base(file), string(text))
	}
	if said["Ready"] < 100 || said["Rejected"] < 50 || n < 400 {
		t.Errorf("%d attacks, of which %v", n, said)
	}
	t.Logf("attacks: %d, %v", n, said)
}
