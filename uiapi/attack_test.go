package uiapi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/cardrun/limits"
)

// The sound card of the attacks: it uses the five calls and nothing that a card could break, so that whatever an attack
// did before it, its rounds are known in full. hits counts how often code of the attack was run meanwhile.
const sound = `
ui.on('n', 'input', (e) => {
	ui.text('out', e.id + ' ' + e.type + ' ' + e.value + ' ' + e.checked);
	ui.value('n', '9');
	ui.html('out', '<b>"' + ui.input('n').value + ui.input('box').value + ui.input('constructor').value + '"</b>');
	ui.text('hits', '' + hits);
});
ui.text('out', 'n is ' + ui.input('n').value + ui.input('n').checked);
ui.value('box', 'y');
ui.html('out', '<i>' + ui.input('box').value + ui.input('box').checked + '</i>');
ui.text('hits', '' + hits);`

var (
	soundStart = []string{"text out=n is 1false", "value box=y", "html out=<i>ytrue</i>", "text hits=0"}
	soundEvent = []string{"text out=n input 1 false", "value n=9", `html out=<b>"9onc"</b>`, "text hits=0"}
)

// expectHarmless runs an attack, then the sound card after it in the same guest, then a sound card in the next guest. The
// attack is run in a block, where hit() counts. It tells whether everything was as ever.
func expectHarmless(t *testing.T, name, attack string) bool {
	t.Helper()
	ok := true
	check := func(what string, want []string, out Outcome, err error) {
		t.Helper()
		if d := cmp.Diff(want, short(out.Batch)); err != nil || d != "" {
			t.Errorf("%s: %s: %v %s", name, what, err, d)
			ok = false
		}
	}
	prefix := attacked(attack)
	play := func(what, script string) {
		t.Helper()
		g := guest(t)
		defer g.Close()
		out, err := Start(context.Background(), g, script, []byte(shown))
		check(what, soundStart, out, err)
		if d := cmp.Diff([]Handler{{"n", "input"}}, out.Handlers); d != "" {
			t.Errorf("%s: %s: %s", name, what, d)
			ok = false
		}
		if err == nil {
			out, err = Dispatch(context.Background(), g, script, Event{"n", "input"}, []byte(shown))
			check(what+", event", soundEvent, out, err)
		}
	}
	play("after the attack", prefix+sound)
	play("in the next guest", "let hits = 0;"+sound)

	// What fails must fail all the same, and be told in the same words.
	g := guest(t)
	defer g.Close()
	_, err := Start(context.Background(), g, prefix+"try { ui.text('out', 1) } catch {} ui.text('out', 'on')", []byte(shown))
	const message = "ui.text('out'): the value must be a string, not number; use String(…)"
	var e *limits.Error
	if !errors.As(err, &e) || e.Code != limits.UIOperation || e.Message != message {
		t.Errorf("%s: a failed call: %v", name, err)
		ok = false
	}
	return ok
}

// attacked is a script that begins with an attack.
func attacked(attack string) string {
	return "let hits = 0; { const hit = () => { hits++; throw 'evil' }; try { " + attack + " } catch {} hits = 0 }"
}

// TestAttacksBite shows that what the attacks break is broken: scripts less careful than the bridge come upon them.
func TestAttacksBite(t *testing.T) {
	for _, c := range []struct{ object, key, careless string }{
		{"Array.prototype", "'push'", "[].push(1)"}, {"JSON", "'stringify'", "JSON.stringify(1)"}, {"Object.prototype", "'toJSON'", "JSON.stringify({})"},
		{"Array.prototype", "'0'", "[,][0]()"}, {"String.prototype", "'slice'", "'abc'.slice(1)"}, {"Array.prototype", "Symbol.iterator", "[...[1]]"},
		{"Promise.prototype", "'then'", "Promise.resolve().then(0)"}, {"globalThis", "'String'", "String(1)"}, {"Function.prototype", "'call'", "Object.call(1)"},
	} {
		for _, m := range manners[:3] {
			attack := "const o = " + c.object + ", k = " + c.key + "; " + m.script
			out, err := Start(context.Background(), guest(t), attacked(attack)+"try { "+c.careless+" } catch {} ui.text('hits', '' + (hits > 0))", []byte(shown))
			if d := cmp.Diff([]string{"text hits=true"}, short(out.Batch)); err != nil || d != "" {
				t.Errorf("%s[%s] as %s: %v %s", c.object, c.key, m.name, err, d)
			}
		}
	}
}

// intrinsics is a script that lists every property of every object that a card can reach from its global object without
// calling anything of its own: through values, accessors and prototypes. Each is a line of two expressions, the object
// and the key. It tells a page of them with each click.
const intrinsics = `
const lines = [], seen = new Set(), known = new Map();
for (const k of Reflect.ownKeys(Symbol)) if (typeof Symbol[k] === 'symbol') known.set(Symbol[k], 'Symbol.' + k);
const walk = (o, path) => {
	if (o === null || typeof o !== 'object' && typeof o !== 'function' || seen.has(o)) return;
	seen.add(o);
	const next = [];
	for (const k of Reflect.ownKeys(o)) {
		if (o === globalThis && (k === 'ui' || k === 'lines' || k === 'seen' || k === 'walk')) continue;
		const key = typeof k === 'symbol' ? known.get(k) : JSON.stringify(k);
		if (key === undefined) throw new Error('a symbol without a name: ' + String(k));
		lines.push(path + '\t' + key);
		const d = Reflect.getOwnPropertyDescriptor(o, k), at = 'Reflect.getOwnPropertyDescriptor(' + path + ', ' + key + ')';
		if ('value' in d) next.push([d.value, path + '[' + key + ']']);
		else next.push([d.get, at + '.get'], [d.set, at + '.set']);
	}
	next.push([Reflect.getPrototypeOf(o), 'Reflect.getPrototypeOf(' + path + ')']);
	for (const [v, p] of next) walk(v, p);
};
walk(globalThis, 'globalThis');
for (const [o, p] of [[(async () => 0), '(async () => 0)'], [(function* () {}), '(function* () {})'], [(async function* () {}), '(async function* () {})'],
	[[][Symbol.iterator](), '[][Symbol.iterator]()'], [''[Symbol.iterator](), '""[Symbol.iterator]()'], [new Map().keys(), 'new Map().keys()'],
	[new Set().keys(), 'new Set().keys()'], [''.matchAll(/x/g), '"".matchAll(/x/g)'], [[].values().map(() => 0), '[].values().map(() => 0)'],
	[Iterator.from({next() {}}), 'Iterator.from({next() {}})']]) walk(Reflect.getPrototypeOf(o), 'Reflect.getPrototypeOf(' + p + ')');
ui.on('more', 'click', () => { if (lines.length) ui.text('page', lines.splice(0, 150).join('\n')) });`

// properties runs the script above.
func properties(t *testing.T) (lines []string) {
	t.Helper()
	g := guest(t)
	defer g.Close()
	if _, err := Start(context.Background(), g, intrinsics, []byte(shown)); err != nil {
		t.Fatal(err)
	}
	for {
		out, err := Dispatch(context.Background(), g, intrinsics, Event{"more", "click"}, []byte(shown))
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Batch) == 0 {
			return lines
		}
		lines = append(lines, strings.Split(out.Batch[0].Value, "\n")...)
	}
}

// manners are the ways to break a property: o and k are the object and the key. Those that cannot be broken throw.
var manners = []struct{ name, script string }{
	{"a function that counts and throws", `Object.defineProperty(o, k, {value: function () { return hit() }, configurable: true, writable: true})`},
	{"an accessor that counts", `Object.defineProperty(o, k, {get() { hits++; return hit }, set() { hits++ }, configurable: true})`},
	{"a proxy that counts", `const p = new Proxy(typeof o[k] === 'function' || typeof o[k] === 'object' && o[k] ? o[k] : hit,
		{apply: hit, construct: hit, get: hit, has: hit, getPrototypeOf: hit, getOwnPropertyDescriptor: hit, ownKeys: hit, set: hit, defineProperty: hit});
		Object.defineProperty(o, k, {value: p, configurable: true, writable: true})`},
	{"nothing", `if (!Reflect.deleteProperty(o, k)) throw 0`},
	{"null", `Object.defineProperty(o, k, {value: null})`},
}

// TestEveryIntrinsicBroken breaks every property of every built-in object, each in every manner: the bridge must not come
// upon any. None of the attack's code may even run.
func TestEveryIntrinsicBroken(t *testing.T) {
	lines := properties(t)
	if len(lines) < 1000 {
		t.Fatalf("only %d properties were found", len(lines))
	}
	tried := 0
	for i, line := range lines {
		if testing.Short() && i%40 != 0 {
			continue
		}
		o, k, _ := strings.Cut(line, "\t")
		for _, m := range manners {
			tried++
			if !expectHarmless(t, o+" "+k+" as "+m.name, "const o = "+o+", k = "+k+"; "+m.script) {
				break
			}
		}
	}
	t.Logf("%d properties; attacks: %d", len(lines), tried)
}

// TestPrototypesPolluted puts names and indices that a bridge might look up where every object, array, string, function,
// number, boolean, promise or error finds them.
func TestPrototypesPolluted(t *testing.T) {
	prototypes := []string{"Object", "Array", "String", "Function", "Number", "Boolean", "Promise", "Error", "TypeError", "Symbol", "BigInt", "Iterator", "Map"}
	keys := []string{"'0'", "'1'", "'2'", "'63'", "'4294967294'", "'-1'", "''", "'e'", "'s'", "'id'", "'type'", "'value'", "'checked'", "'op'", "'n'", "'box'", "'n input'",
		"'then'", "'catch'", "'constructor'", "'toJSON'", "'toString'", "'valueOf'", "'length'", "'get'", "'set'", "'writable'", "'enumerable'", "'configurable'", "'prototype'",
		"'name'", "'message'", "'cause'", "'patches'", "'handlers'", "'failure'", "'code'", "'batch'", "'__proto__'", "'fileName'", "'raw'",
		"Symbol.iterator", "Symbol.toPrimitive", "Symbol.species", "Symbol.toStringTag", "Symbol.hasInstance", "Symbol.unscopables", "Symbol.isConcatSpreadable"}
	tried := 0
	for i, p := range prototypes {
		for j, k := range keys {
			if testing.Short() && (i+j)%20 != 0 {
				continue
			}
			for _, m := range manners[:3] {
				tried++
				expectHarmless(t, p+".prototype["+k+"] as "+m.name, "const o = "+p+".prototype, k = "+k+"; "+m.script)
			}
		}
	}
	for _, all := range []string{
		`for (const c of [Object, Array, String, Function, Promise, TypeError]) for (let i = 0; i < 300; i++)
			Object.defineProperty(c.prototype, i, {get() { hits++; return 'evil' }, set() { hits++ }, configurable: true})`,
		`for (const n of Object.getOwnPropertyNames(globalThis)) if (n !== 'ui') for (const o of [globalThis[n], globalThis[n]?.prototype])
			if (o) for (const k of Reflect.ownKeys(o)) try { o[k] = hit } catch {}`,
		`for (const n of Object.getOwnPropertyNames(globalThis)) if (n !== 'ui') delete globalThis[n]`,
		`for (const c of [Object, Function, Array, String, Promise, Error, TypeError, JSON, Reflect]) { Object.freeze(c); if (c.prototype) Object.freeze(c.prototype) }`,
		`for (const c of [Function, Array, String, Promise, Error, TypeError]) Object.setPrototypeOf(c.prototype, new Proxy({}, {get: hit, has: hit, set: hit, getPrototypeOf: hit}))`,
		`Object.setPrototypeOf(globalThis, new Proxy({}, {get: hit, has: hit, set: hit}))`,
		`for (const f of [ui.on, ui.input, ui.text, ui.html, ui.value]) Object.setPrototypeOf(f, null)`,
		`for (const k of Reflect.ownKeys(ui)) Object.defineProperty(ui, k, {value: hit})`,
		`Object.setPrototypeOf(ui, {text: hit})`,
		`Error.stackTraceLimit = {valueOf: hit}; Error.prepareStackTrace = hit`,
		`Object.defineProperty(Error, 'stackTraceLimit', {get: hit}); Object.defineProperty(Error, 'prepareStackTrace', {get: hit})`,
		`Object.defineProperty(TypeError.prototype, 'stack', {get: hit, set: hit}); Object.defineProperty(Error.prototype, 'stack', {get: hit, set: hit})`,
	} {
		tried++
		expectHarmless(t, all, all)
	}
	t.Logf("attacks: %d", tried)
}

// TestConversionsNeverRun gives the calls everything that could run code while it is turned into a string, a boolean or
// a function. The call fails, and none of the code has run: it would have left a patch or a handler, or never ended.
func TestConversionsNeverRun(t *testing.T) {
	const mark = `{ ui.text('mark', 'ran'); ui.on('mark', 'click', () => 0) }`
	values := []string{
		`{toString() ` + mark + `}`, `{valueOf() ` + mark + `}`, `{[Symbol.toPrimitive]() ` + mark + `}`, `{get toString() ` + mark + `}`,
		`{get [Symbol.toPrimitive]() ` + mark + `}`, `{get length() ` + mark + `}`, `{get [Symbol.toStringTag]() ` + mark + `}`, `{toJSON() ` + mark + `}`,
		`{toString() { throw 1 }}`, `{toString() { for (;;); }}`, `{toString() { return {} }}`, `{toString() { ui.text('n', this) }}`,
		`Object.assign(new String('n'), {toString() ` + mark + `})`, `Object.assign([], {join() ` + mark + `})`, `Object.assign(() => 1, {toString() ` + mark + `})`,
		`Object.assign(new Date(0), {toString() ` + mark + `})`, `Object.assign(/x/, {exec() ` + mark + `})`, `Object.create(null)`,
		`new (class extends String { toString() ` + mark + ` })('n')`, `(function () { return arguments })('n')`, `Symbol('n')`, `Object(Symbol('n'))`, `Object(1n)`,
		`new Proxy({}, new Proxy({}, {get() ` + mark + `}))`, `new Proxy([], {get() ` + mark + `, has() ` + mark + `, getPrototypeOf() ` + mark + `})`,
		`new Proxy(new String('n'), {get(o, k) ` + mark + `})`, `(() => { const p = Proxy.revocable({}, {}); p.revoke(); return p.proxy })()`,
	}
	tried := 0
	for _, v := range values {
		calls := []string{"ui.on(%s, 'click', () => 0)", "ui.on('n', %s, () => 0)", "ui.input(%s)"}
		for _, op := range []string{"text", "html", "value"} {
			calls = append(calls, "ui."+op+"(%s, 'x')", "ui."+op+"('n', %s)", "ui."+op+"(%[1]s, %[1]s)")
		}
		if !strings.Contains(v, "() => 1") {
			calls = append(calls, "ui.on('n', 'click', %s)")
		}
		for _, c := range calls {
			call := fmt.Sprintf(c, "("+v+")")
			for _, s := range []string{call, "try { " + call + " } catch {}", "Promise.resolve().then(() => " + call + ").catch(() => 0)"} {
				tried++
				out, err := Start(context.Background(), guest(t), s, []byte(shown))
				if limits.CodeOf(err) != limits.UIOperation || len(out.Batch) > 0 || len(out.Handlers) > 0 {
					t.Errorf("%s: %v, patches %q, handlers %v", s, err, short(out.Batch), out.Handlers)
				}
			}
		}
	}
	t.Logf("attacks: %d", tried)
}
