package uiapi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cardrun/limits"
	"example.com/cardrun/patches"
	"example.com/cardrun/sandbox"
)

var engine *sandbox.Engine

func TestMain(m *testing.M) {
	sandbox.ServeWorker()
	// make isolate runs all of these tests with guests in worker processes.
	isolation := sandbox.Isolation(os.Getenv("CARDRUN_TEST_ISOLATION"))
	e, err := sandbox.New(context.Background(), sandbox.Options{Prelude: Prelude(), Budget: 2 * time.Second, Isolation: isolation})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	engine = e
	code := m.Run()
	_ = e.Close()
	os.Exit(code)
}

const shown = `{"n":{"value":"1","checked":false},"box":{"value":"on","checked":true},"constructor":{"value":"c","checked":false}}`

func guest(t testing.TB) *sandbox.Guest {
	t.Helper()
	seed := uint64(1)
	g, err := engine.Guest(sandbox.Activation{Seed: &seed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

// start runs a script and returns its patches in short form, "op id=value", and the code of its error.
func start(t testing.TB, script string) (got []string, code limits.Code) {
	t.Helper()
	out, err := Start(context.Background(), guest(t), script, []byte(shown))
	return short(out.Batch), limits.CodeOf(err)
}

func short(b patches.Batch) (got []string) {
	for _, p := range b {
		got = append(got, fmt.Sprintf("%s %s=%s", p.Op, p.ID, p.Value))
	}
	return got
}

// expect runs a script that must be ready with these patches.
func expect(t *testing.T, script string, want ...string) {
	t.Helper()
	got, code := start(t, script)
	if code != "" {
		t.Errorf("%s\nended with %s", script, code)
	} else if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s\n%s", script, d)
	}
}

// expectFails runs a script that must end with this code.
func expectFails(t *testing.T, code limits.Code, script string) {
	t.Helper()
	if got, c := start(t, script); c != code {
		t.Errorf("%s\nended with %q, patches %q, want %s", script, c, got, code)
	}
}

func TestInputR52(t *testing.T) {
	expect(t, `const a = ui.input('n'); ui.text('out', Object.keys(a) + ' ' + typeof a.value + a.value + a.checked)`, "text out=value,checked string1false")
	expect(t, `ui.text('out', String(ui.input('box').checked))`, "text out=true")
	expect(t, `ui.text('out', ui.input('constructor').value)`, "text out=c")
	expectFails(t, limits.UIOperation, `ui.input('toString')`)
	expectFails(t, limits.UIOperation, `ui.input('__proto__')`)
	expectFails(t, limits.UIOperation, `ui.input('gone')`)
	expectFails(t, limits.UIOperation, `ui.input(7)`)
	expectFails(t, limits.UIOperation, `ui.input()`)
}

func TestRequestedValuesR57R58D32(t *testing.T) {
	expect(t, `ui.value('n', 'many'); ui.text('o', ui.input('n').value)`, "value n=many", "text o=many")
	expect(t, `ui.html('o', '<input id="new">'); ui.value('new', 'x'); ui.text('p', ui.input('new').value + ui.input('new').checked)`,
		`html o=<input id="new">`, "value new=x", "text p=xfalse")
	expect(t, `ui.value('box', 'y'); ui.text('p', ui.input('box').value + ui.input('box').checked)`, "value box=y", "text p=ytrue")
	expectFails(t, limits.UIOperation, `ui.html('o', '<input id="new">'); ui.input('new')`)
	expect(t, `ui.html('parent', ''); ui.text('o', ui.input('n').value)`, "html parent=", "text o=1") // D32: removed, still answers
	expect(t, `ui.value('__proto__', 'x'); ui.text('o', ui.input('__proto__').value)`, "value __proto__=x", "text o=x")
}

func TestStringsOnlyR56(t *testing.T) {
	for _, bad := range []string{"42", "null", "undefined", "true", "{}", "[]", "1n", "Symbol()", "new String('x')", "() => 1", "{toString(){return 'x'}}"} {
		for _, op := range []string{"text", "html", "value"} {
			expectFails(t, limits.UIOperation, fmt.Sprintf("ui.%s('n', %s)", op, bad))
			expectFails(t, limits.UIOperation, fmt.Sprintf("ui.%s(%s, 'x')", op, bad))
			expectFails(t, limits.UIOperation, fmt.Sprintf("try { ui.%s('n', %s) } catch {}", op, bad))
		}
	}
}

func TestOnR50D10(t *testing.T) {
	for _, bad := range []string{
		`ui.on('n', 'keyup', () => 0)`, `ui.on('n', 'Input', () => 0)`, `ui.on('n', {toString() { return 'input' }}, () => 0)`,
		`ui.on('n', 'input')`, `ui.on('n', 'input', {})`, `ui.on('n', 'input', 'f')`,
		`ui.on(1, 'input', () => 0)`, `ui.on('', 'input', () => 0)`, `ui.on('1a', 'input', () => 0)`, `ui.on('a b', 'input', () => 0)`,
		`ui.on('a'.repeat(65), 'input', () => 0)`, `ui.on('\u212a', 'input', () => 0)`,
	} {
		expectFails(t, limits.UIOperation, bad)
		expectFails(t, limits.UIOperation, "try {"+bad+"} catch {}")
	}
	out, err := Start(context.Background(), guest(t), `ui.on('later', 'click', () => 0); ui.on('n', 'input', () => 0); ui.on('later', 'click', () => 1)`, []byte(shown))
	if d := cmp.Diff([]Handler{{"later", "click"}, {"n", "input"}}, out.Handlers); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
}

func TestPairsR60R61(t *testing.T) {
	const fill = `for (let i = 0; i < 64; i++) for (const t of ['input', 'change', 'click']) ui.on('c' + i, t, () => 0);`
	expect(t, fill+`for (let i = 0; i < 64; i++) ui.on('c' + i, 'input', () => 1); ui.text('o', 'fine')`, "text o=fine")
	expectFails(t, limits.UIOperation, fill+`ui.on('more', 'input', () => 0)`)
	expectFails(t, limits.UIOperation, fill+`try { ui.on('more', 'input', () => 0) } catch {}`)
}

func TestTerminalR64R113(t *testing.T) {
	expectFails(t, limits.UIOperation, `try { ui.text('n', 1) } catch {} ui.text('n', 'after')`)
	expectFails(t, limits.UIOperation, `try { ui.text('n', 1) } catch {} try { ui.text('n', 'after') } catch {}`)
	expectFails(t, limits.UIOperation, `Promise.resolve().then(() => ui.text('n', 1)).catch(() => 0)`)
	expectFails(t, limits.UIOperation, `try { ui.text('n', 1) } catch {} throw new Error('later')`)
}

// TestFailureAtTheEndOfTheStack fails a ui call in every frame down to where nothing more can be called.
func TestFailureAtTheEndOfTheStack(t *testing.T) {
	for _, call := range []string{"ui.text(1, 1)", "ui.input('gone')", "ui.on(1, 1, 1)", "ui.value('n', null)"} {
		expectFails(t, limits.UIOperation, "function f() { try { f() } catch { "+call+" } } f()")
		expectFails(t, limits.UIOperation, "function f() { try { f() } finally { "+call+" } } try { f() } catch {}")
	}
	for _, call := range []string{"ui.text('n', 'x')", "ui.input('n')", "ui.on('n', 'input', f)"} {
		if _, code := start(t, "function f() { try { f() } catch { "+call+" } } try { f() } catch {}"); code == limits.Engine {
			t.Errorf("%s: %s", call, code)
		}
	}
}

// TestPreludeIsOutOfReach looks for its functions in the stack frames of a handler that it called.
func TestPreludeIsOutOfReach(t *testing.T) {
	g := guest(t)
	_, err := Start(context.Background(), g, `ui.on('go', 'click', function handler() {
		Error.prepareStackTrace = (e, frames) => frames;
		const seen = [];
		for (const frame of new Error().stack)
			for (let o = frame; o !== Object.prototype; o = Object.getPrototypeOf(o))
				for (const k of Reflect.ownKeys(o)) {
					let v;
					try { v = typeof o[k] === 'function' ? o[k].call(frame) : o[k] } catch {}
					if (typeof v === 'function' || typeof v === 'object') seen.push(String(k));
				}
		for (const k of ['caller', 'callee', 'arguments']) for (const o of [handler, arguments, ui.on])
			try { if (typeof o[k] === 'function' && o[k] !== handler) seen.push(k) } catch {}
		ui.text('o', seen.join());
	})`, []byte(shown))
	if err != nil {
		t.Fatal(err)
	}
	out, err := Dispatch(context.Background(), g, "", Event{"go", "click"}, []byte(shown))
	if d := cmp.Diff([]string{"text o="}, short(out.Batch)); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
}

// TestPartsAreOutOfReach has all that a card can put in the way of an array, its elements and the strings in it: none of it meets the
// array that patches leave in.
func TestPartsAreOutOfReach(t *testing.T) {
	traps := []string{
		`for (let i = 0; i < 900; i++) Object.defineProperty(Array.prototype, i, {get: met, set: met, configurable: true})`,
		`Array.prototype.__proto__ = new Proxy({}, {get: met, set: met, has: met, defineProperty: met, getOwnPropertyDescriptor: met, deleteProperty: met, ownKeys: met})`,
		`Object.setPrototypeOf(Array.prototype, null)`,
		`const keys = [Symbol.species, Symbol.iterator, Symbol.isConcatSpreadable, Symbol.toPrimitive, 'length', 'constructor', 'at'];
		const on = [Array, String, Object, Array.prototype, String.prototype, Object.prototype], define = Object.defineProperty;
		for (let i = 0; i < 6; i++) for (let k = 0; k < 7; k++) try { define(on[i], keys[k], {get: met, set: met}) } catch {}`,
		`for (const k of Object.getOwnPropertyNames(String.prototype)) try { String.prototype[k] = met } catch {}
		for (const k of Object.getOwnPropertyNames(Array.prototype)) try { Array.prototype[k] = met } catch {}`,
		`for (const k of ['i', 's', 'c', 't', 'id', 'type', 'checked', 'parts', 0, 1, 2, 3]) Object.defineProperty(Object.prototype, k, {get: met, set: met})`,
		`Object.freeze(Array.prototype); Object.freeze(Object.prototype); Object.freeze(String.prototype); Object.freeze(globalThis)`,
	}
	for _, trap := range traps {
		g := guest(t)
		script := `let n = 0; function met() { n++; return 'evil' } const long = 'x'.repeat(3000), all = () => {
			ui.text('o', 'a'); ui.html('o', long); ui.value('n', 'b'); ui.text('o', ui.input('n').value); ui.text('o', '' + n)
		}; ui.on('go', 'click', all); { ` + trap + ` } n = 0; all()`
		want := []string{"text o=a", "html o=" + strings.Repeat("x", 3000), "value n=b", "text o=b", "text o=0"}
		out, err := Start(context.Background(), g, script, []byte(shown))
		if d := cmp.Diff(want, short(out.Batch)); err != nil || d != "" {
			t.Errorf("%s: %v %s", trap, err, d)
			continue
		}
		out, err = Dispatch(context.Background(), g, script, Event{"go", "click"}, []byte(shown))
		if d := cmp.Diff(want, short(out.Batch)); err != nil || d != "" {
			t.Errorf("%s, in a handler: %v %s", trap, err, d)
		}
	}
	t.Logf("attacks: %d", len(traps))
}

func TestPatchesR104(t *testing.T) {
	if got, code := start(t, `for (let i = 0; i < 64; i++) ui.text('n', '')`); code != "" || len(got) != 64 {
		t.Errorf("64 patches: %d, %s", len(got), code)
	}
	expectFails(t, limits.TooManyPatches, `for (let i = 0; i < 65; i++) ui.text('n', '')`)
	expectFails(t, limits.TooManyPatches, `try { for (let i = 0; i < 65; i++) ui.text('n', '') } catch {}`)
	expectFails(t, limits.TooManyPatches, `for (let i = 0; i < 64; i++) ui.text('n', ''); Promise.resolve().then(() => ui.value('n', '')).catch(() => 0)`)
}

func TestBatchR107D19(t *testing.T) {
	const frame = len(`[{"op":"text","id":"n","value":""}]`)
	if got, code := start(t, fmt.Sprintf(`ui.text('n', 'x'.repeat(%d))`, limits.Batch-frame)); code != "" || len(got) != 1 {
		t.Errorf("exactly %d: %s", limits.Batch, code)
	}
	expectFails(t, limits.InputLimit, fmt.Sprintf(`ui.text('n', 'x'.repeat(%d))`, limits.Batch-frame+1))
	expectFails(t, limits.InputLimit, fmt.Sprintf(`ui.text('n', '"'.repeat(%d))`, limits.Batch/2))
	expectFails(t, limits.InputLimit, `try { for (let i = 0; i < 9; i++) ui.text('n', 'x'.repeat(2000)) } catch {}`)
}

func TestStringsCrossD2(t *testing.T) {
	expect(t, `ui.text('o', 'a\u0000b\ud83d\ude00\ud800c\u2028"\\\u007f\u001f')`, "text o=a\x00b\U0001f600\ufffdc\u2028\"\\\x7f\x1f")
	expect(t, `ui.text('o', '\udc00\udc00')`, "text o=\ufffd\ufffd")
}

// TestPiecesKeepNothing shows pieces of long strings, which are windows on them in the engine: neither within a round nor until the next
// is the whole in memory for that.
func TestPiecesKeepNothing(t *testing.T) {
	const most = 500_000 // bytes; each whole has more
	for _, show := range []string{"ui.text('o', piece)", "ui.html('o', piece)", "ui.value('n', piece)", "ui.text(piece, '')", "ui.value(piece, '')"} {
		for _, cut := range []string{"big.slice(5, 5 + n)", "big.substring(big.length - n)", "big.match(RegExp('^[^]{' + n + '}'))[0]", "big.slice(0, n - 1) + '\\u20ac'",
			"('\\u20ac' + big).slice(3, n)", "(big.slice(0, n) + ' '.repeat(9)).trimEnd()"} {
			for _, n := range []int{499, 500, 1024, 2000} {
				script := fmt.Sprintf(`const n = %d, f = () => { for (let i = 0; i < 6; i++) { const big = 'abcdefg'.repeat(1e5) + i, piece = %s; %s } }; ui.on('go', 'click', f); f()`, n, cut, show)
				g := guest(t)
				out, err := Start(context.Background(), g, script, []byte(shown))
				if err == nil && out.Usage.HeapBytes < most {
					out, err = Dispatch(context.Background(), g, script, Event{"go", "click"}, []byte(shown))
				}
				if err != nil || len(out.Batch) != 6 || out.Usage.HeapBytes >= most {
					t.Errorf("%d units, %s, %s: %d patches, %d bytes in the heap, %v", n, cut, show, len(out.Batch), out.Usage.HeapBytes, err)
				}
				g.Close()
			}
		}
	}
}

func TestScriptModeD23(t *testing.T) {
	expect(t, `var v = 1; let l = 2; function f() { return this === globalThis } ui.text('o', [globalThis.v, globalThis.l, f(), typeof l] + '')`, "text o=1,,true,number")
	expect(t, `undeclared = 1; with ({a: 1}) ui.text('o', String(a + undeclared))`, "text o=2")
	expect(t, "ui.text('o', '' + eval('1+1') + Function('return 2')())", "text o=22")
	for _, s := range []string{`import x from 'y'`, `export default 1`, `await 0`, `return 1`, `let a; let a`, `{`, "\x00", `import.meta`} {
		expectFails(t, limits.ScriptSyntax, s)
	}
	expectFails(t, limits.Exception, `JSON.parse('{')`)
	expectFails(t, limits.Exception, `eval('{')`)
	expectFails(t, limits.Exception, `throw new SyntaxError('no')`)
	expect(t, "// only a comment \x00")
	expect(t, "'\x00'")
}

func TestPlacesInTheScript(t *testing.T) {
	for _, c := range []struct {
		script       string
		line, column int
		message      string
	}{
		{"\n\n  null.x", 3, 8, "TypeError: cannot read property 'x' of null"},
		{"function f() {\n  ui.text('n', 1)\n}\nf()", 2, 6, "ui.text('n'): the value must be a string, not number; use String(…)"},
		{"let x = ;", 1, 9, "SyntaxError: unexpected token in expression: ';'"},
		{"\n\r\n\n  let y = 'é\U0001f600' 1", 4, 17, "SyntaxError: expecting ';'"},
		{"\n\n\n  let y = 1 +", 4, 14, "SyntaxError: unexpected token in expression: ''"},
		{"throw 'plain'", 0, 0, "plain"},
		{"let a = 1;\nlet b = undefinedThing + 1;", 2, 9, "ReferenceError: undefinedThing is not defined"},
		{"/* pad */ const f = (a) => { let b = a;\n return b.y.z }; f({})", 2, 13, "TypeError: cannot read property 'z' of undefined"},
		{"function f(a) {\n return a.x + a.x }\nf()", 1, 1, "TypeError: cannot read property 'x' of undefined"}, // it may be either
		{"const my_x = 0;\nx + my_x", 2, 1, "ReferenceError: x is not defined"},
		{"new Error('x').y.z = '€'", 1, 18, "TypeError: cannot set property 'z' of undefined"},
		{"throw {toString() { throw 1 }}", 0, 0, "a value that cannot be shown was thrown"},
		{"\nvar é = '€€';    null.x", 2, 23, "TypeError: cannot read property 'x' of null"},
		{"var é = '\U0001f600€';    null.x", 1, 24, "TypeError: cannot read property 'x' of null"},
		{"var é = '€€';    null.x", 1, 23, "TypeError: cannot read property 'x' of null"},
	} {
		_, err := Start(context.Background(), guest(t), c.script, []byte(shown))
		var e *limits.Error
		if !errors.As(err, &e) || e.Line != c.line || e.Column != c.column || e.Message != c.message {
			t.Errorf("%q: %d:%d %q", c.script, e.Line, e.Column, e.Message)
		}
	}
}

func TestDispatchR51R72D13(t *testing.T) {
	g := guest(t)
	ctx := context.Background()
	if _, err := Start(ctx, g, `
		let calls = 0;
		ui.on('n', 'input', (e) => { calls++; ui.text('o', calls + JSON.stringify(e) + (Object.getPrototypeOf(e) === Object.prototype)) });
		ui.on('go', 'click', function (e) { ui.text('o', JSON.stringify(e) + arguments.length + (this === globalThis)) });
		ui.on('n', 'change', () => ui.on('n', 'click', () => ui.text('o', 'late')));`, []byte(shown)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		event Event
		want  []string
	}{
		{Event{"n", "input"}, []string{`text o=1{"id":"n","type":"input","value":"1","checked":false}true`}},
		{Event{"go", "click"}, []string{`text o={"id":"go","type":"click","value":"","checked":false}1true`}},
		{Event{"n", "click"}, nil},
		{Event{"n", "change"}, nil},
		{Event{"n", "click"}, []string{"text o=late"}},
		{Event{"n", "input"}, []string{`text o=2{"id":"n","type":"input","value":"1","checked":false}true`}},
		{Event{"toString", "input"}, nil},
	} {
		out, err := Dispatch(ctx, g, "", c.event, []byte(shown))
		if d := cmp.Diff(c.want, short(out.Batch)); err != nil || d != "" {
			t.Errorf("%v: %v %s", c.event, err, d)
		}
	}
}

func TestPromisesR111R114D24(t *testing.T) {
	dispatch := func(body string) (got []string, code limits.Code) {
		t.Helper()
		g := guest(t)
		if _, err := Start(context.Background(), g, "ui.on('go', 'click', "+body+")", []byte(shown)); err != nil {
			t.Fatal(body, err)
		}
		out, err := Dispatch(context.Background(), g, "", Event{"go", "click"}, []byte(shown))
		return short(out.Batch), limits.CodeOf(err)
	}
	for _, c := range []struct {
		body string
		code limits.Code
		want []string
	}{
		{`async () => { await 0; ui.text('o', 'x') }`, "", []string{"text o=x"}},
		{`async () => { throw 1 }`, limits.Rejection, nil},
		{`async () => { await 0; throw new Error('late') }`, limits.Rejection, nil},
		{`() => { throw 1 }`, limits.Exception, nil},
		{`() => new Promise(() => 0)`, "", nil},
		{`() => Promise.reject(1).catch(() => ui.text('o', 'c'))`, "", []string{"text o=c"}},
		{`() => { Promise.reject(1); ui.text('o', 'x') }`, "", []string{"text o=x"}},
		{`() => ({then(ok, no) { no(1) }})`, limits.Rejection, nil},
		{`() => ({then(ok, no) { ok(1) }})`, "", nil},
		{`() => ({get then() { throw 1 }})`, limits.Rejection, nil},
		{`() => { const p = Promise.reject(1); p.constructor = Object; p.catch(() => 0); return p }`, limits.Rejection, nil},
		{`() => { queueMicrotask(() => { throw 1 }) }`, limits.Exception, nil},
	} {
		got, code := dispatch(c.body)
		if d := cmp.Diff(c.want, got); code != c.code || d != "" {
			t.Errorf("%s: %q %s", c.body, code, d)
		}
	}
	expect(t, `Promise.reject(1)`) // R115
	expect(t, `Promise.reject(1).catch(() => ui.text('o', 'c'))`, "text o=c")
	expect(t, `for (let i = 0; i < 255; i++) Promise.resolve().then(() => 0); Promise.resolve().then(() => ui.text('o', 'last'))`, "text o=last")
	expectFails(t, limits.TooManyMicrotasks, `(function again() { Promise.resolve().then(again) })()`)
}

// TestBridge breaks every built-in that a careless bridge would use.
func TestBridge(t *testing.T) {
	for _, poison := range []string{
		`Object.prototype.toJSON = String.prototype.toJSON = Array.prototype.toJSON = () => 'hijack'`,
		`JSON.stringify = JSON.parse = () => '[]'`,
		`Array.prototype.push = Array.prototype.join = () => { throw 1 }`,
		`for (const k of ['0', 'e', 's', 'id', 'type', 'value', 'checked', 'n', 'then', 'get', 'set'])
			Object.defineProperty(Object.prototype, k, {get() { return 'evil' }, set() {}, configurable: true})`,
		`Object.defineProperty(Array.prototype, 0, {get() { return 'evil' }, set() {}, configurable: true})`,
		`Reflect.apply = Object.hasOwn = Object.create = Promise.resolve = () => { throw 1 }`,
		`Function.prototype.call = Function.prototype.apply = Function.prototype.bind = () => { throw 1 }`,
		`String.prototype.slice = String.prototype.charCodeAt = () => { throw 1 }`,
		`String = TypeError = Error = Promise = Object = Symbol = undefined`,
		`Promise.prototype.then = () => { throw 1 }`,
		`Object.setPrototypeOf(Object.prototype, null); Object.freeze(Object.prototype)`,
		`Error.prepareStackTrace = () => { throw 1 }; Error.stackTraceLimit = -1`,
		`for (const k of Reflect.ownKeys(globalThis)) if (k !== 'ui') try { delete globalThis[k] } catch {}`,
		`globalThis.__defineGetter__('undefined', () => 1)`,
	} {
		g := guest(t)
		script := `ui.on('n', 'input', (e) => { ui.text('out', e.id + '=' + e.value + e.checked + ui.input('box').checked); }); try {` +
			poison + `} catch {} ui.text('out', 'n is ' + ui.input('n').value)`
		out, err := Start(context.Background(), g, script, []byte(shown))
		if d := cmp.Diff([]string{"text out=n is 1"}, short(out.Batch)); err != nil || d != "" {
			t.Errorf("%s: %v %s", poison, err, d)
			continue
		}
		out, err = Dispatch(context.Background(), g, "", Event{"n", "input"}, []byte(shown))
		if d := cmp.Diff([]string{"text out=n=1falsetrue"}, short(out.Batch)); err != nil || d != "" {
			t.Errorf("%s: %v %s", poison, err, d)
		}
		g = guest(t)
		_, err = Start(context.Background(), g, "try {"+poison+"} catch {} ui.text('out', 1)", []byte(shown))
		if limits.CodeOf(err) != limits.UIOperation {
			t.Errorf("%s: %v", poison, err)
		}
	}
}

// TestHostileErrors throws what is hard to describe.
func TestHostileErrors(t *testing.T) {
	for _, s := range []string{
		`throw undefined`, `throw null`, `throw Symbol('x')`, `throw 1n`, `throw () => 1`,
		`throw new Proxy({}, {get() { throw 1 }})`, `throw {get message() { throw 1 }}`, `throw {message: {}, stack: 7}`,
		`throw {message: '\u0001'.repeat(1e6), stack: '\ud800'.repeat(1e6)}`,
		`throw {get stack() { ui.text('n', 'late'); return 'card.js:9999999999:1' }, message: 'm'}`,
		`const e = new Error('x'); e.name = {}; throw e`, `throw Object.create(null)`,
		`class E extends Error { get name() { return 'E'.repeat(1e6) } } throw new E('m')`,
	} {
		expectFails(t, limits.Exception, s)
	}
	expectFails(t, limits.Timeout, `throw {get message() { for (;;); }}`)
	expectFails(t, limits.Timeout, `throw {toString() { for (;;); }}`)
	expectFails(t, limits.Memory, `throw {get message() { const a = []; for (;;) a.push(new Uint8Array(1e6)) }}`)
}

// TestGlobals compares the guest's global object with the list in testdata (R90).
func TestGlobals(t *testing.T) {
	want, err := os.ReadFile("testdata/globals.txt")
	if err != nil {
		t.Fatal(err)
	}
	got, code := start(t, `const names = Object.getOwnPropertyNames(globalThis).sort(); for (let i = 0; i < names.length; i += 20) ui.text('o', names.slice(i, i + 20).join('\n') + '\n')`)
	if code != "" {
		t.Fatal(code)
	}
	names := strings.Split(strings.TrimSpace(strings.ReplaceAll(strings.Join(got, ""), "text o=", "")), "\n")
	slices.Sort(names)
	if d := cmp.Diff(strings.Fields(string(want)), names); d != "" {
		t.Errorf("the guest's globals are not those of testdata/globals.txt:\n%s", d)
	}
}

func TestAbsentR90(t *testing.T) {
	names := []string{"document", "window", "self", "fetch", "require", "setTimeout", "setInterval", "setImmediate", "clearTimeout", "postMessage",
		"querySelector", "addEventListener", "XMLHttpRequest", "WebSocket", "process", "std", "os", "bjson", "print", "console", "gc", "navigator",
		"scriptArgs", "performance", "QJS_PROXY_VALUE", "Worker", "module", "exports", "Deno", "Bun", "importScripts"}
	t.Logf("attacks: %d", 6*len(names)+12)
	for _, n := range names {
		expect(t, fmt.Sprintf(`ui.text('o', [typeof %[1]s, typeof globalThis.%[1]s, typeof Function('return this')().%[1]s, typeof (0, eval)('this').%[1]s,
			typeof ui.text.constructor('return this')().%[1]s, typeof (() => 0).constructor('return this')().%[1]s] + '')`, n),
			"text o="+strings.Repeat("undefined,", 5)+"undefined")
	}
	expect(t, `Promise.all(['qjs:std', 'qjs:os', 'qjs:bjson', 'std', 'os', './x.js', '/etc/hostname', 'data:text/javascript,1', 'card.js', 'prelude.js', '<evalScript>', ''].map((m) =>
		import(m).then(() => 'LOADED', () => 'no'))).then((r) => ui.text('o', [...new Set(r)].join()))`, "text o=no")
}

func TestCheckParsesOnly(t *testing.T) {
	g := guest(t)
	if err := Check(context.Background(), g, `for (;;); ui.text('n', 1)`); err != nil {
		t.Error(err)
	}
	if err := Check(context.Background(), g, `let x = `); limits.CodeOf(err) != limits.ScriptSyntax {
		t.Error(err)
	}
}

// parts are strings as a guest's output has them.
func parts(all ...string) string {
	var b strings.Builder
	for _, p := range all {
		fmt.Fprintf(&b, "%06x%s", len(p), p)
	}
	return b.String()
}

func TestParseOutput(t *testing.T) {
	const refused = `{"code":"ui_operation","message":"m","stack":"s"}`
	good := parts("on", "a", "input", "text", "a", "é\U0001f600", "html", "b", "", "value", "", "5", "failure", refused, "")
	want := &output{
		Patches:  patches.Batch{{Op: "text", ID: "a", Value: "é\U0001f600"}, {Op: "html", ID: "b"}, {Op: "value", Value: "5"}},
		Handlers: []Handler{{"a", "input"}}, Failure: &failure{limits.UIOperation, thrown{"m", "s"}},
	}
	if o, err := parseOutput([]byte(good)); err != nil || !cmp.Equal(o, want, cmp.AllowUnexported(output{}, failure{})) {
		t.Errorf("parseOutput: %v, %s", err, cmp.Diff(want, o, cmp.AllowUnexported(output{}, failure{})))
	}
	for _, bad := range []string{
		`0`, `{}`, `00000g`, `-00001`, `000001`, parts("text"), parts("text", "a"), good + "0", good[:len(good)-1], parts("", "", ""),
		parts("eval", "a", ""), parts("on", "a", "keyup"), parts("on", "a b", "input"), parts("text", "a", "\xff"), parts("text", "a", "\xc3") + "\xa9",
		parts("failure", `{"code":"timeout","message":"","stack":""}`, ""), parts("failure", "", ""), parts("failure", `{"more":1}`, ""),
		parts("failure", refused, "", "failure", refused, ""),
		strings.Repeat(parts("text", "a", ""), limits.Patches+1), strings.Repeat(parts("on", "a", "input"), limits.Handlers+1),
	} {
		if o, err := parseOutput([]byte(bad)); limits.CodeOf(err) != limits.Engine || o != nil {
			t.Errorf("parseOutput(%.60q) = %v", bad, err)
		}
	}
}

func TestInput(t *testing.T) {
	for _, c := range []struct{ snapshot, want string }{
		{`{}`, `{"i":"a","t":"click","s":{},"c":null}`},
		{`{"n":{"value":"\"}\\","checked":false}}`, `{"i":"a","t":"click","s":{"n":"\"}\\"},"c":null}`},
		{`{"n":{"value":"","checked":true},"m":{"value":"é","checked":false},"o":{"value":"on","checked":true}}`,
			`{"i":"a","t":"click","s":{"n":"","m":"é","o":"on"},"c":{"n":true,"o":true}}`},
		{"{ \"n\" : {\"value\": \"1 2\",\n\"checked\":false} }", `{"i":"a","t":"click","s":{"n":"1 2"},"c":null}`},
		{``, ``}, {`{`, ``}, {`{}}`, ``}, {`[]`, ``}, {`{"n":{"value":"1"}}`, ``}, {`{"n":{"value":"1","checked":0}}`, ``}, {`{"n":{"checked":false,"value":"1"}}`, ``},
		{`{"n":{"value":"1","checked":false},}`, ``}, {`{"n":{"value":"1","checked":false}"m":{"value":"1","checked":false}}`, ``}, {`{"n":{"value":"1\`, ``},
	} {
		got, err := appendInput(nil, &Event{"a", "click"}, []byte(c.snapshot))
		if string(got) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("appendInput(%s) = %s, %v, want %s", c.snapshot, got, err, c.want)
		}
	}
}
