package script

import (
	"fmt"
	"strings"
	"testing"
)

// said is what Read tells of a script, in one line a thing.
func said(t *testing.T, source string) string {
	t.Helper()
	s, err := Read(source)
	if err != nil {
		return "error"
	}
	var lines []string
	for _, c := range s.Calls {
		id := strings.Join(c.ID.Names, ",")
		switch {
		case !c.ID.Known:
			id = "?" + strings.Join(c.ID.Pattern, "*")
		case !c.ID.Exact:
			id += "~"
		}
		line := c.Name + " " + id
		if c.Type != "" {
			line += " " + c.Type
		}
		if c.Value.Kind != "" {
			line += " kind=" + c.Value.Kind
		}
		if c.Value.Object {
			line += " object"
		}
		if c.Value.TableParts != "" {
			line += " part=" + c.Value.TableParts
		}
		if len(c.Value.Inputs) > 0 {
			line += " inputs=" + strings.Join(c.Value.Inputs, ",")
		}
		lines = append(lines, line)
	}
	for _, f := range s.Foreign {
		lines = append(lines, "foreign "+f.Name)
	}
	for _, m := range s.Misused {
		lines = append(lines, fmt.Sprintf("misused %s %d", m.Name, m.Kind))
	}
	if s.Opaque {
		lines = append(lines, "opaque")
	}
	return strings.Join(lines, "; ")
}

func expectSaid(t *testing.T, source, want string) {
	t.Helper()
	if got := said(t, source); got != want {
		t.Errorf("%s\n got %s\nwant %s", source, got, want)
	}
}

func TestIDs(t *testing.T) {
	for _, c := range [][2]string{
		{`ui.text('a', 'x')`, `text a`},
		{"ui.text(`a`, 'x')", `text a`},
		{`const id = 'a' + 1; ui.text(id, '')`, `text a1`},
		{`let id = 'a'; id = 'b'; ui.text(id, '')`, `text a,b~`},
		{`let id = 'a'; id += 'b'; ui.text(id, '')`, `text ?*`},
		{`for (const id of ['a', 'b']) ui.on(id, 'input', f); function f() {}`, `on a,b input`},
		{`['a', 'b'].forEach(id => ui.on(id, 'input', f)); function f() {}`, `on a,b input`},
		{`['a', 'b'].forEach(function (id, i) { ui.text('t' + i, id) })`, `text t0,t1`},
		{`const ids = ['a', 'b']; for (const id of [...ids, 'c']) ui.input(id).value`, `input a,b,c`},
		{`const ids = ['a']; ids.push('b'); for (const id of ids) ui.input(id).value`, `input ?*`},
		{`const o = {a: 1, b: 2}; for (const k of Object.keys(o)) ui.text(k + '-out', '')`, `text a-out,b-out`},
		{`const o = {a: 1, b: 2}; for (const k in o) ui.text(k, '')`, `text a,b`},
		{`const o = {a: 1}; o.b = 2; for (const k in o) ui.text(k, '')`, `text ?*`},
		{`const fs = [{id: 'a', n: 1}, {id: 'b', n: 2}]; for (const f of fs) ui.text(f.id, '')`, `text a,b`},
		{`const fs = [{id: 'a', n: 1}, {id: 'b', n: 2}]; for (const {id} of fs) ui.text(id, '')`, `text a,b`},
		{`for (const [id, x] of [['a', 1], ['b', 2]]) ui.text(id, '')`, `text a,b`},
		{`for (const [k, v] of Object.entries({a: 'x', b: 'y'})) ui.text(v, k)`, `text x,y`},
		{`for (let i = 1; i <= 3; i++) ui.on('q' + i, 'input', f); function f() {}`, `on q1,q2,q3 input`},
		{`for (var i = 0; i < 2; i++) ui.text('q' + i, '')`, `text q0,q1`},
		{`for (let i = 0; i < n; i++) ui.text('q' + i + '-x', '')`, `text ?q*-x; foreign n`},
		{`for (const a of ['x', 'y']) for (const b of ['1', '2']) ui.text(a + b, '')`, `text x1,x2,y1,y2~`},
		{`function read(id) { return ui.input(id).value } read('a'); read('b')`, `input a,b`},
		{`const read = id => ui.input(id).value; read('a'); read(String(1))`, `input 1,a`},
		{`const read = id => ui.input(id).value; ['a', 'b'].map(read)`, `input a,b`},
		{`const read = id => ui.input(id).value; later(read)`, `input ?*; foreign later`},
		{`function f(id, n) { ui.text(id + n, '') } f('a', '1'); f('b', '2')`, `text a1,a2,b1,b2~`},
		{`const ids = ['a', 'b'].map(x => x + '1'); ids.forEach(x => ui.text(x, ''))`, `text a1,b1`},
		{`Array.from({length: 2}, (_, i) => 'p' + i).forEach(x => ui.text(x, ''))`, `text p0,p1`},
		{`const ids = 'a b'.split(' '); for (const x of ids) ui.text(x, '')`, `text a,b`},
		{`const m = {x: 'a', y: 'b'}; ui.text(m[k], ''); var k = pick`, `text a,b~; foreign pick`},
		{`ui.text(ok ? 'a' : 'b', ''); const ok = Math.random() > 0`, `text a,b~`},
		{`{ const ui = {text() {}}; ui.text('a', '') }`, ``},
		{`const u = ui; u.text('a', '')`, `opaque`},
		{`const {text} = ui; text('a', '')`, `opaque`},
		{`ui['text']('a', '')`, `opaque`},
		{`ui?.text?.('a', '')`, `text a`},
		{`ui.text(...['a', 'b'])`, `text ?`},
		{`function f(id) { if (id) f(id) } f('a'); ui.text(g(), ''); function g() { return 'x' }`, `text ?*`},
	} {
		want := strings.ReplaceAll(c[1], "?*", "?")
		if got := strings.ReplaceAll(said(t, c[0]), "?*", "?"); got != want {
			t.Errorf("%s\n got %s\nwant %s", c[0], got, want)
		}
	}
}

func TestForeignNames(t *testing.T) {
	for _, c := range [][2]string{
		{`document.title`, `foreign document`},
		{`const document = 1; document.title`, ``},
		{`function f(document) { return document.title }`, ``},
		{`try {} catch (window) { window.x }`, ``},
		{`if (typeof document !== 'undefined') document.title = 1`, ``},
		{`total = 1; total + 1`, ``},
		{`setTimeout(() => fetch('x'), 1)`, `foreign setTimeout; foreign fetch`},
		{`class A { fetch() { this.fetch() } }; ({fetch: 1}).fetch`, ``},
		{`for (const window of []) window.x; label: for (;;) break label`, ``},
		{`var f = function g() { return g }; new Intl.NumberFormat('en').format(1)`, `foreign Intl`},
		{`{ function h() {} } h(); arguments_ = 1; (function () { return arguments.length })()`, ``},
		{`const {a, b: {c = 1}, ...d} = {}; [a, c, d]; ({a: x} = {a: 1}); x`, ``},
		{`with (Math) { document }`, ``},
		{`rendr(); function render() {}`, `foreign rendr`},
		{`switch (1) { case 1: let q = 2; q }`, ``},
		{`async function* g() {} ({async *x() {}})`, `error`},
	} {
		expectSaid(t, c[0], c[1])
	}
}

func TestMisuses(t *testing.T) {
	for _, c := range [][2]string{
		{`ui.set('a', 'b')`, `misused set 0`},
		{`ui.on('a', 'input', e => e.target.value)`, `on a input; misused target 1`},
		{`ui.on('a', 'input', e => e.value)`, `on a input`},
		{`ui.on('a', 'click', f); function f(event) { event.preventDefault() }`, `on a click; misused preventDefault 1`},
		{`ui.on('a', 'click', f); f({own: 1}); function f(event) { event.own }`, `on a click`},
		{`ui.on('a', 'input', ({target}) => target)`, `on a input; misused target 1`},
		{`ui.text('a', (1).toLocaleString('en'))`, `text a; misused toLocaleString 2`},
		{`ui.text('a', (1).toLocaleString())`, `text a`},
		{`ui.text('a', 1)`, `text a kind=number`},
		{`ui.text('a', 2 * Number(ui.input('b').value))`, `text a kind=number; input b`},
		{`ui.text('a', 2 + ' x')`, `text a`},
		{`ui.text('a', ui.input('b').checked)`, `text a kind=boolean; input b`},
		{`Number(ui.input('b')) + 1`, `input b object`},
		{`ui.input('b') * 2`, `input b object`},
		{`const b = ui.input('b'); b.value`, `input b`},
		{`ui.html('t', '<tr><td>1</td></tr>')`, `html t part=tr`},
		{"ui.html('t', rows.map(r => `<tr><td>${r}</td></tr>`).join('')); const rows = [1]", `html t part=tr`},
		{`let rows = ''; for (const x of [1]) rows += '<tr><td>' + x + '</td></tr>'; ui.html('t', rows)`, `html t part=tr`},
		{`let rows = ''; for (const x of [1]) rows += '<tr></tr>'; ui.html('t', '<table>' + rows + '</table>')`, `html t`},
		{`ui.html('t', x ? '<tr></tr>' : '<p>none</p>'); var x`, `html t`},
		{`ui.html('t', '<b>' + ui.input('n').value + '</b>')`, `html t inputs=n; input n`},
		{"const n = ui.input('n').value.trim(); ui.html('t', `<b>${n}</b>`)", `input n; html t inputs=n`},
		{`ui.html('t', '<b>' + escape(ui.input('n').value) + '</b>')`, `html t; input n`},
	} {
		expectSaid(t, c[0], c[1])
	}
}
