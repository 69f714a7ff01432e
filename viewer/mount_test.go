//go:build browser

package viewer_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// openHost mounts a session in somebody else's page.
func openHost(t *testing.T, b *tab, s *service, html, css, script string) string {
	t.Helper()
	id, _ := s.open(html, css, script)
	b.visit("/host")
	b.await(t, "window.host")
	b.eval(nil, "host.open({session: "+quote(id)+", url: location.origin})")
	b.await(t, "host.view.state === 'live' && host.seen.snapshots > 0")
	return id
}

func TestMount(t *testing.T) {
	s := newService(t)
	b := openTab(t, s)
	section := func(name string, run func(t *testing.T)) {
		t.Run(name, func(t *testing.T) {
			defer b.expectQuiet(t, name)
			run(t)
		})
	}
	section("drag", func(t *testing.T) {
		openHost(t, b, s, `<label for="r">r</label> <input id="r" type="range" min="0" max="100" value="10"><p id="p"></p>`, "#r { width: 300px }",
			`const f = () => ui.text('p', 'at ' + ui.input('r').value); ui.on('r', 'input', f); f()`)
		b.expect(t, "p", "at 10")
		from := b.at("r", 0.1, 0.5)
		b.mouse(chromedp.MousePressed, from)
		for i := range 30 {
			to := b.at("r", 0.1+0.8*float64(i+1)/30, 0.5)
			b.mouse("mouseMoved", to)
		}
		b.mouse(chromedp.MouseReleased, b.at("r", 0.9, 0.5))
		b.await(t, `host.view.settled && host.el('p').textContent === 'at ' + host.el('r').value && host.el('r').value > 80`)
		if n := len(s.asked("POST /v1/sessions/")); n > 40 {
			t.Errorf("%d requests for one drag", n)
		}
	})
	section("type", func(t *testing.T) {
		// Each letter comes back in capitals and is written into the very field: the caret stays where one types.
		openHost(t, b, s, `<label for="n">n</label> <input id="n" value="ad"><p id="p"></p><div id="box"></div>`, "",
			`ui.on('n', 'input', () => { const v = ui.input('n').value; ui.text('p', v); ui.value('n', v.toUpperCase()); ui.html('box', '<b>' + v.length + '</b>') })`)
		b.click("n")
		b.keys(kb.Home + kb.ArrowRight)
		b.keys("bc")
		b.await(t, `host.view.settled && host.el('n').value === 'ABCD'`)
		if got := b.text("host.el('n').selectionStart"); got != "3" {
			t.Errorf("the caret is at %s, not 3", got)
		}
		b.keys("x")
		b.await(t, `host.view.settled && host.el('n').value === 'ABCXD'`)
	})
	section("focus in what is replaced", func(t *testing.T) {
		openHost(t, b, s, `<div id="box"></div>`, "#list { height: 60px; overflow: auto }",
			`let v = ''; const draw = () => ui.html('box', '<label for="n">n</label> <input id="n" value="' + v + '"><div id="list">' + '<p>line</p>'.repeat(40) + '</div>');
			ui.on('n', 'input', e => { v = e.value; draw() }); draw()`)
		b.click("n")
		b.eval(nil, "host.el('list').scrollTop = 100")
		b.keys("hel")
		b.await(t, "host.view.settled")
		b.keys(kb.ArrowLeft + "X")
		b.await(t, `host.view.settled && host.el('n').value === 'heXl'`)
		if got := b.text(`[host.doc.activeElement.id, host.el('n').selectionStart, host.el('list').scrollTop]`); got != "n,3,100" {
			t.Errorf("focus, caret and scroll are %s", got)
		}
	})
	section("labels, radios, selects, buttons, Enter", func(t *testing.T) {
		openHost(t, b, s, `<p><label id="lc"><input type="checkbox" id="c"> check</label></p>
			<p><label><input type="radio" name="g" id="r1" checked> one</label> <label id="l2"><input type="radio" name="g" id="r2"> two</label></p>
			<p><label for="s">s</label> <select id="s"><option>a<option>b<option>c</select></p>
			<p><label for="t">t</label> <input id="t"></p><p><button id="b"><b id="in">press</b></button></p>
			<svg id="svg" width="40" height="20"><rect id="shape" width="40" height="20"></rect></svg>
			<p id="out"></p>`, "",
			`let log = []; const say = e => { log.push(e.id + ' ' + e.type + (e.id === 'b' || e.id === 'shape' ? '' : ' ' + (e.id === 's' || e.id === 't' ? e.value : e.checked))); ui.text('out', log.join('; ')) };
			for (const id of ['c', 'r2']) for (const t of ['click', 'input', 'change']) ui.on(id, t, say);
			ui.on('s', 'change', say); ui.on('t', 'change', say); ui.on('b', 'click', say); ui.on('shape', 'click', say)`)
		b.click("lc")
		b.expect(t, "out", "c click true; c input true; c change true")
		b.click("l2")
		want := "c click true; c input true; c change true; r2 click true; r2 input true; r2 change true"
		b.expect(t, "out", want)
		b.await(t, "host.el('r2').checked && !host.el('r1').checked")
		b.eval(nil, "host.el('s').focus()")
		b.keys("c")
		want += "; s change c"
		b.expect(t, "out", want)
		b.click("t")
		b.keys("yes" + kb.Enter)
		want += "; t change yes"
		b.expect(t, "out", want)
		b.click("in") // a click on a word in a button is one on the button
		want += "; b click"
		b.expect(t, "out", want)
		b.click("shape")
		want += "; shape click"
		b.expect(t, "out", want)
	})
	section("tab through", func(t *testing.T) {
		openHost(t, b, s, `<label for="a">a</label> <input id="a"> <button id="k">k</button> <label for="z">z</label> <select id="z"><option>1</select><p id="p"></p>`, "",
			`let n = 0; ui.on('k', 'click', () => ui.text('p', 'pressed ' + ++n))`)
		b.eval(nil, "document.getElementById('before').focus()")
		where := "(document.activeElement.shadowRoot ? 'card ' + host.doc.activeElement.id : document.activeElement.id)"
		for _, want := range []string{"card a", "card k"} {
			b.keys(kb.Tab)
			b.await(t, where+" === "+quote(want))
		}
		b.keys(" ")
		b.expect(t, "p", "pressed 1")
		b.keys(kb.Enter)
		b.expect(t, "p", "pressed 2")
		for _, want := range []string{"card z", "after"} {
			b.keys(kb.Tab)
			b.await(t, where+" === "+quote(want))
		}
	})
	section("limit of typing", func(t *testing.T) {
		openHost(t, b, s, `<label for="n">n</label> <textarea id="n"></textarea><p id="p"></p>`, "", `ui.on('n', 'input', e => ui.text('p', String(e.value.length)))`)
		b.click("n")
		b.do(chromedp.Func(insert(strings.Repeat("x", 3000))))
		b.expect(t, "p", "2048")
	})
	section("a card that fails", func(t *testing.T) {
		openHost(t, b, s, `<button id="k">k</button><p id="p">good</p>`, "", "let n = 0; ui.on('k', 'click', () => {\n  if (++n > 1) throw new Error('no more');\n  ui.text('p', 'once')\n})")
		b.click("k")
		b.expect(t, "p", "once")
		b.click("k")
		alert := "host.view.frame.iframe.getRootNode().querySelector('[role=alert]')"
		b.await(t, alert+".textContent.includes('no more') && "+alert+".textContent.includes('line 2')")
		b.expect(t, "p", "once")
		b.await(t, "host.el('k').disabled")
		b.eval(nil, alert+".querySelector('button').click()")
		b.expect(t, "p", "good")
		b.await(t, "!host.el('k').disabled && "+alert+".textContent.trim() === 'Start again'.slice(0, 0) + "+alert+".querySelector('button').textContent")
		b.click("k")
		b.expect(t, "p", "once")
	})
	section("destroy and close", func(t *testing.T) {
		id := openHost(t, b, s, `<p id="p">x</p>`, "", ``)
		b.eval(nil, "host.view.close().then(() => true)")
		b.await(t, "document.getElementById('place').childElementCount === 0")
		if got := s.asked("DELETE /v1/sessions/" + id); len(got) != 1 {
			t.Errorf("asked %q", got)
		}
	})
	t.Logf("%d requests in all", len(s.asked("")))
}
