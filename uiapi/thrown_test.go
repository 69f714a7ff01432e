package uiapi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/cardrun/limits"
	"example.com/cardrun/sandbox"
)

// unshown is the message of what cannot be described.
const unshown = "a value that cannot be shown was thrown"

// phases are the places from which a value can be thrown so that it ends the activation: a script, with the event that
// comes after it, or none; and how the end is called.
var phases = []struct {
	name, script string
	event        bool
	code         limits.Code
}{
	{"in the script", `ui.text('out', 'lost'); throw (%s)`, false, limits.Exception},
	{"in a job", `ui.text('out', 'lost'); queueMicrotask(() => { throw (%s) })`, false, limits.Exception},
	{"in a handler", `ui.on('n', 'input', () => { ui.text('out', 'lost'); throw (%s) })`, true, limits.Exception},
	{"while throwing", `ui.on('n', 'input', () => { try { ui.text('out', 'lost'); throw 'first' } finally { throw (%s) } })`, true, limits.Exception},
	{"while an iterator closes", `ui.on('n', 'input', () => { for (const x of {[Symbol.iterator]: () => ({next: () => ({}), return() { throw (%s) }})}) { ui.text('out', 'lost'); break } })`, true, limits.Exception},
	{"in a generator", `const g = (function* () { try { yield 1 } finally { throw (%s) } })(); ui.on('n', 'input', () => { ui.text('out', 'lost'); g.next(); g.return(2) })`, true, limits.Exception},
	{"in a returned promise", `ui.on('n', 'input', async () => { ui.text('out', 'lost'); throw (%s) })`, true, limits.Rejection},
	{"in a returned promise, later", `ui.on('n', 'input', async () => { ui.text('out', 'lost'); await 0; await 0; throw (%s) })`, true, limits.Rejection},
	{"by a thenable", `ui.on('n', 'input', () => { ui.text('out', 'lost'); return {then() { throw (%s) }} })`, true, limits.Rejection},
	{"by the getter of a thenable", `ui.on('n', 'input', () => { ui.text('out', 'lost'); return {get then() { throw (%s) }} })`, true, limits.Rejection},
}

// throwIn throws the value of an expression in a phase, and gives the error of the round.
func throwIn(t *testing.T, e *sandbox.Engine, phase int, value string) error {
	t.Helper()
	p := phases[phase]
	g, err := e.Guest(sandbox.Activation{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	script := fmt.Sprintf(p.script, value)
	out, err := Start(context.Background(), g, script, []byte(shown))
	if p.event {
		if err != nil {
			t.Errorf("%s: %v", script, err)
			return nil
		}
		out, err = Dispatch(context.Background(), g, script, Event{"n", "input"}, []byte(shown))
	}
	if d := cmp.Diff([]string{"text out=lost"}, short(out.Batch)); out.Batch != nil && d != "" {
		t.Errorf("%s\n%s", script, d)
	}
	return err
}

// TestThrownValues throws what is hard to describe, from everywhere: each ends the activation, with the code of its place
// and these words, and the next guest is whole.
func TestThrownValues(t *testing.T) {
	long := strings.Repeat("x", 500) + "…"
	tried := 0
	for _, c := range []struct{ value, message string }{
		{`undefined`, "undefined"}, {`null`, "null"}, {`NaN`, "NaN"}, {`-0`, "0"}, {`12n`, "12"}, {`Symbol('s')`, "Symbol(s)"}, {`''`, ""}, {`'\ud800'`, "\ufffd"}, {`'a\0b'`, "a\x00b"},
		{`'x'.repeat(1e6)`, long}, {`[1, [2]]`, "1,2"}, {`({})`, "[object Object]"}, {`new String('s')`, "s"}, {`/x/g`, "/x/g"}, {`() => 1`, "() => 1"},
		{`Object.create(null)`, unshown}, {`Object(Symbol('s'))`, unshown}, {`Object(12n)`, "12"}, {`globalThis`, "[object global]"}, {`ui`, "[object Object]"},
		// Errors, with hostile members.
		{`new Error('m')`, "Error: m"}, {`new Error()`, "Error: "}, {`new DOMException('m', 'N')`, "N: m"}, {`new AggregateError([new Proxy({}, {})], 'm')`, "AggregateError: m"},
		{`new Error('m', {cause: {get message() { for (;;); }, toString() { for (;;); }}})`, "Error: m"},
		{`Object.assign(new Error('m'), {name: {}})`, "m"}, {`Object.assign(new Error('m'), {name: Symbol()})`, "m"}, {`Object.assign(new Error('m'), {name: ''})`, "m"},
		{`Object.assign(new Error('m'), {name: 'N'.repeat(1e6)})`, strings.Repeat("N", 64) + "…: m"},
		{`new Error('m'.repeat(1e6))`, "Error: " + strings.Repeat("m", 493) + "…"},
		{`Object.assign(new Error('m'), {message: {toString() { return 'o' }}})`, "Error: o"}, {`Object.assign(new Error('m'), {message: Symbol()})`, unshown},
		{`Object.assign(new Error('m'), {stack: 'x'.repeat(1e7)})`, "Error: m"}, {`Object.assign(new Error('m'), {stack: {toString() { for (;;); }}})`, "Error: m"},
		{`Object.defineProperty(new Error('m'), 'name', {get() { throw 1 }})`, unshown}, {`Object.defineProperty(new Error('m'), 'message', {get() { throw 1 }})`, unshown},
		{`Object.defineProperty(new Error('m'), 'message', {get() { throw this }})`, unshown},
		{`Object.setPrototypeOf(new Error('m'), null)`, "m"}, {`new (class extends Error { get message() { return 'got' } get name() { return 'G' } })('own')`, "G: own"},
		{`(() => { Error.prototype.toString = () => 'changed'; return new Error('m') })()`, "Error: m"},
		{`(() => { Error.prepareStackTrace = () => { throw 1 }; return new Error('m') })()`, "Error: m"},
		{`(() => { Error.prepareStackTrace = () => ({toString() { for (;;); }}); return new Error('m') })()`, "Error: m"},
		{`(() => { Error.stackTraceLimit = 1e9; return new Error('m') })()`, "Error: m"},
		{`(() => { Error.stackTraceLimit = {valueOf() { throw 1 }}; return new Error('m') })()`, "Error: m"},
		// Conversion that does more than convert.
		{`({toString() { return 't' }})`, "t"}, {`({toString() { return {} }, valueOf() { return 'v' }})`, "v"}, {`({toString() { return {} }})`, unshown}, {`({toString: 1})`, unshown},
		{`({[Symbol.toPrimitive](hint) { return hint }})`, "string"}, {`({[Symbol.toPrimitive]() { return Symbol() }})`, unshown}, {`({get [Symbol.toPrimitive]() { throw 1 }})`, unshown},
		{`({toString() { throw {toString() { throw 1 }} }})`, unshown}, {`({get message() { throw 1 }})`, unshown}, {`({get name() { throw 1 }})`, unshown}, {`({get stack() { throw 1 }, message: 'm'})`, unshown},
		{`({message: 'm'})`, "m"}, {`({name: 'N', message: 'm'})`, "N: m"}, {`({name: 'N', message: 5})`, "[object Object]"},
		{`Object.assign([], {join() { throw 1 }})`, unshown}, {`Object.assign(() => 1, {toString() { return 'f' }})`, "f"}, {`Object.assign(() => 1, {toString() { throw 1 }})`, unshown},
		{`(() => { Object.prototype.toString = Array.prototype.join = Function.prototype.toString = () => { throw 1 }; return {} })()`, unshown},
		{`(() => { const a = []; a[0] = a; return a })()`, unshown}, {`(() => { let o = 'd'; for (let i = 0; i < 1e4; i++) o = [o]; return o })()`, unshown},
		// Proxies.
		{`new Proxy({}, {})`, "[object Object]"}, {`new Proxy({}, {get() { throw 1 }})`, unshown}, {`new Proxy({}, {get(o, k) { return k }})`, "name: message"},
		{`new Proxy(new Error('m'), {})`, "Error: m"}, {`new Proxy(() => 1, {})`, "function () {\n    [native code]\n}"}, {`new Proxy(() => 1, {get() { throw 1 }})`, unshown},
		{`(() => { const p = Proxy.revocable({}, {}); p.revoke(); return p.proxy })()`, unshown}, {`(() => { const p = Proxy.revocable(() => 1, {}); p.revoke(); return p.proxy })()`, unshown},
		{`new Proxy({}, {get(o, k, p) { return p[k] }})`, unshown}, {`Object.create(new Proxy({}, {get(o, k) { if (k === 'message') return 'inherited' }}))`, "inherited"},
	} {
		for i, p := range phases {
			tried++
			want := c.message
			if p.code == limits.Rejection {
				want = "the promise that the handler returned was rejected: " + want
			}
			var e *limits.Error
			err := throwIn(t, engine, i, c.value)
			if !errors.As(err, &e) || e.Code != p.code || e.Message != want {
				t.Errorf("throw %s, %s: %v, want %s: %q", c.value, p.name, err, p.code, want)
			}
		}
		expectHarmless(t, c.value, "")
	}
	t.Logf("attacks: %d", tried)
}

// TestThrownValuesThatExceed throws what passes a budget while it is described: the round's budgets hold there, too.
func TestThrownValuesThatExceed(t *testing.T) {
	quick, err := sandbox.New(context.Background(), sandbox.Options{Prelude: Prelude()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = quick.Close() }()
	tried := 0
	for _, c := range []struct {
		value string
		code  limits.Code
	}{
		{`{get message() { for (;;); }}`, limits.Timeout}, {`{toString() { for (;;) try { for (;;); } catch {} }}`, limits.Timeout},
		{`new Proxy({}, {get() { /(a+)+$/.test('a'.repeat(60) + 'b') }})`, limits.Timeout},
		{`{get message() { const a = []; for (;;) a.push(new Uint8Array(1e6)) }}`, limits.Memory}, {`{toString() { return 'x'.repeat(2 ** 29) }}`, limits.Memory},
		{`{get message() { return (function f() { return f() })() }}`, ""}, {`{toString() { let s = 'x'; for (;;) s += s }}`, limits.Memory},
	} {
		for i, p := range phases {
			tried++
			want := c.code
			if want == "" {
				want = p.code // a stack that overflows is an exception like any other
			}
			if err := throwIn(t, quick, i, "("+c.value+")"); limits.CodeOf(err) != want {
				t.Errorf("throw %s, %s: %v, want %s", c.value, p.name, err, want)
			}
		}
		expectHarmless(t, c.value, "")
	}
	t.Logf("attacks: %d", tried)
}

// TestThrownValuesThatCall throws what calls ui while it is described, after its round has already failed. What it calls
// comes to nothing: the end is that of the throw.
func TestThrownValuesThatCall(t *testing.T) {
	tried := 0
	for _, call := range []string{
		"ui.text('out', 'late')", "ui.on('late', 'click', () => 0)", "ui.text('n', 1)", "ui.input('gone')", "try { ui.text(1) } catch {}",
		"for (let i = 0; i < 65; i++) ui.text('n', '')", "ui.text('n', 'x'.repeat(16e3))", "queueMicrotask(() => ui.text('n', 'late'))",
		"Promise.resolve().then(() => ui.text('n', 1))",
	} {
		for _, f := range []string{
			"({get message() { %s; return 'm' }})", "({toString() { %s; return 'm' }})", "({get stack() { %s; return '' }, message: 'm'})", "new Proxy({message: 'm'}, {get(o, k) { %s; return o[k] }})",
		} {
			for i, p := range phases {
				tried++
				value := fmt.Sprintf(f, call)
				if err := throwIn(t, engine, i, value); limits.CodeOf(err) != p.code {
					t.Errorf("throw %s, %s: %v, want %s", value, p.name, err, p.code)
				}
			}
		}
	}
	t.Logf("attacks: %d", tried)
}

// TestPlacesThatAreMadeUp gives stacks that no engine wrote: the place is one in the script, or none.
func TestPlacesThatAreMadeUp(t *testing.T) {
	for _, c := range []struct {
		stack        string
		line, column int
	}{
		{"card.js:1:1", 1, 1}, {"card.js:2:3", 2, 3}, {"card.js:0:0", 1, 1}, {"card.js:3:1", 0, 0}, {"card.js:999999999:1", 0, 0}, {"card.js:9999999999:1", 0, 0},
		{"card.js:2:999999999", 2, 4}, {"card.js:-1:-1", 0, 0}, {"prelude.js:1:1", 0, 0}, {"card.js:1", 0, 0}, {strings.Repeat("x", 1000) + "card.js:1:1", 0, 0},
		{strings.Repeat(" ", 2000), 0, 0}, {"card.js:2:1\x00", 2, 1}, {"\ud7ffcard.js:2:2", 2, 2},
	} {
		script := fmt.Sprintf("throw {message: 'm', stack: %s};\n  x", quoteJS(c.stack))
		_, err := Start(context.Background(), guest(t), script, []byte(shown))
		var e *limits.Error
		if !errors.As(err, &e) || e.Code != limits.Exception || e.Line != c.line || c.line == 2 && e.Column != c.column {
			t.Errorf("%q: %v at %d:%d, want %d:%d", c.stack, err, e.Line, e.Column, c.line, c.column)
		}
	}
}

// quoteJS is a string literal of JavaScript; all of the text is escaped.
func quoteJS(s string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, r := range s {
		fmt.Fprintf(&b, `\u{%x}`, r)
	}
	b.WriteByte('\'')
	return b.String()
}
