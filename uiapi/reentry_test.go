package uiapi

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/cardrun/limits"
)

// round is how a round must end: with these patches, or with this code.
type round struct {
	code    limits.Code
	patches []string
}

func patched(p ...string) round { return round{patches: p} }

func ended(c limits.Code) round { return round{code: c} }

// expectRounds runs a script, then its handler of a click on go once for each round more, and holds each against what it
// must be. Then the sound card runs in the next guest.
func expectRounds(t *testing.T, script string, want ...round) {
	t.Helper()
	g := guest(t)
	defer g.Close()
	out, err := Start(context.Background(), g, script, []byte(shown))
	for i, w := range want {
		if i > 0 {
			out, err = Dispatch(context.Background(), g, script, Event{"go", "click"}, []byte(shown))
		}
		if code := limits.CodeOf(err); code != w.code || err != nil && code == "" {
			t.Errorf("%s\nround %d: %v, want %q", script, i, err, w.code)
			break
		}
		if d := cmp.Diff(w.patches, short(out.Batch)); err == nil && d != "" {
			t.Errorf("%s\nround %d: %s", script, i, d)
		}
	}
	expectHarmless(t, script, "")
}

// TestHandlersThatReenter has handlers that call each other, replace and empty themselves, are strange functions, and keep
// hold of what they were given.
func TestHandlersThatReenter(t *testing.T) {
	cases := []struct {
		script string
		want   []round
	}{
		// Registering from within.
		{`ui.on('go', 'click', function one() { ui.on('go', 'click', () => ui.text('o', 'two')); ui.text('o', 'one') })`,
			[]round{patched(), patched("text o=one"), patched("text o=two"), patched("text o=two")}},
		{`ui.on('go', 'click', function one() { ui.on('go', 'click', () => 0); ui.text('o', 'one') })`, []round{patched(), patched("text o=one"), patched()}},
		{`ui.on('go', 'click', () => { try { ui.on('go', 'click', undefined) } catch {} })`, []round{patched(), ended(limits.UIOperation)}},
		{`ui.on('go', 'click', () => { ui.on('go', 'click', null) })`, []round{patched(), ended(limits.UIOperation)}},
		{`let n = 0; ui.on('go', 'click', function again() { for (let i = 0; i < 95; i++) ui.on('e' + n++, 'click', again); ui.text('o', '' + n) })`,
			[]round{patched(), patched("text o=95"), patched("text o=190"), ended(limits.UIOperation)}},
		{`ui.on('go', 'click', () => { for (;;) ui.on('go', 'click', () => 0) })`, []round{patched(), ended(limits.Timeout)}},
		{`ui.on('go', 'click', () => { for (let i = 0; i < 1e4; i++) ui.on('go', 'click', () => ui.text('o', 'late')) })`, []round{patched(), patched(), patched("text o=late")}},

		// Calling from within.
		{`let depth = 0; const f = () => { ui.text('o', '' + depth); if (depth++ < 3) f() }; ui.on('go', 'click', f)`,
			[]round{patched(), patched("text o=0", "text o=1", "text o=2", "text o=3"), patched("text o=4")}},
		{`const f = () => { ui.text('o', ''); f() }; ui.on('go', 'click', f)`, []round{patched(), ended(limits.TooManyPatches)}},
		{`const f = () => { try { ui.text('o', '') } finally { f() } }; ui.on('go', 'click', f)`, []round{patched(), ended(limits.TooManyPatches)}},
		{`const f = () => { ui.input('n'); f() }; ui.on('go', 'click', f)`, []round{patched(), ended(limits.Exception)}},
		{`ui.on('go', 'click', (e) => { if (e.id !== 'forged') { ui.text('o', e.id); e.id = 'forged'; e.s = e.patches = 1 } else ui.text('o', 'forged') })`,
			[]round{patched(), patched("text o=go"), patched("text o=go")}},
		{`let kept; ui.on('go', 'click', (e) => { ui.text('o', '' + (kept === e) + (kept && kept.id)); kept = Object.freeze(e) })`,
			[]round{patched(), patched("text o=falseundefined"), patched("text o=falsego")}},
		{`let kept; ui.on('go', 'click', () => { const i = ui.input('n'); ui.text('o', '' + (kept === i) + i.value); i.value = 'forged'; i.__proto__ = {checked: true}; kept = i; ui.text('o', ui.input('n').value + ui.input('n').checked) })`,
			[]round{patched(), patched("text o=false1", "text o=1false"), patched("text o=false1", "text o=1false")}},

		// Strange functions.
		{`ui.on('go', 'click', new Proxy(() => 0, {apply(f, self, args) { ui.text('o', typeof self + args.length + args[0].id) }}))`, []round{patched(), patched("text o=undefined1go")}},
		{`ui.on('go', 'click', new Proxy(() => 0, {get(o, k) { ui.text('o', 'looked up') }, has() { ui.text('o', 'looked up') }}))`, []round{patched(), patched()}},
		{`const p = Proxy.revocable(() => 0, {}); ui.on('go', 'click', p.proxy); p.revoke()`, []round{patched(), ended(limits.Exception)}},
		{`ui.on('go', 'click', class { constructor() { ui.text('o', 'made') } })`, []round{patched(), ended(limits.Exception)}},
		{`ui.on('go', 'click', function () { ui.text('o', this.tag) }.bind({tag: 'bound'}))`, []round{patched(), patched("text o=bound")}},
		{`ui.on('go', 'click', function* () { ui.text('o', 'never') })`, []round{patched(), patched()}},
		{`ui.on('go', 'click', async function* () { ui.text('o', 'never') })`, []round{patched(), patched()}},
		{`ui.on('go', 'click', ui.text)`, []round{patched(), ended(limits.UIOperation)}},
		{`ui.on('go', 'click', Promise.resolve.bind(Promise, Promise.reject(1)))`, []round{patched(), ended(limits.Rejection)}},
		{`ui.on('go', 'click', queueMicrotask)`, []round{patched(), ended(limits.Exception)}},
		{`ui.on('go', 'click', eval)`, []round{patched(), patched()}},
		{`ui.on('go', 'click', Function)`, []round{patched(), ended(limits.Exception)}},
		{`ui.on('go', 'click', Function.prototype)`, []round{patched(), patched()}},
		{`ui.on('go', 'click', function f() { ui.text('o', '' + f.caller + arguments.callee.caller) })`, []round{patched(), patched("text o=undefinedundefined")}},
		{`ui.on('go', 'click', Object.assign(() => ui.text('o', 'own'), {call: 1, apply: 1, bind: 1}))`, []round{patched(), patched("text o=own")}},

		// Throwing while throwing.
		{`ui.on('go', 'click', () => { try { throw 1 } catch { try { throw 2 } catch { ui.text('o', 'calm') } } })`, []round{patched(), patched("text o=calm"), patched("text o=calm")}},
		{`ui.on('go', 'click', () => { for (;;) try { throw 1 } finally { continue } })`, []round{patched(), ended(limits.Timeout)}},
		{`ui.on('go', 'click', () => { try { ui.text('n', 1) } finally { throw 'other' } })`, []round{patched(), ended(limits.UIOperation)}},
		{`ui.on('go', 'click', () => { try { ui.text('n', 1) } finally { return } })`, []round{patched(), ended(limits.UIOperation)}},
		{`ui.on('go', 'click', () => { try { ui.text('n', 1) } catch (e) { e.constructor.prototype.stack = 1; throw e } })`, []round{patched(), ended(limits.UIOperation)}},
		{`ui.on('go', 'click', () => { l: try { throw 1 } finally { break l } ui.text('o', 'swallowed') })`, []round{patched(), patched("text o=swallowed")}},
		{`ui.on('go', 'click', () => { throw new Promise((_, no) => no(1)) })`, []round{patched(), ended(limits.Exception)}},
		{`ui.on('go', 'click', async () => { try { throw 1 } finally { ui.text('n', 1) } })`, []round{patched(), ended(limits.UIOperation)}},
		{`ui.on('go', 'click', () => { Promise.reject(1).finally(() => ui.text('o', 'x')); throw 1 })`, []round{patched(), ended(limits.Exception)}},

		// Calls in other ways than as methods.
		{`const {text, input, on} = ui; ui = null; on('go', 'click', () => text('o', input('n').value)); text('o', 'x')`, []round{patched("text o=x"), patched("text o=1")}},
		{`ui.text.call({id: 'evil'}, 'o', 'called', 'more'); Reflect.apply(ui.html, null, ['o', 'applied']); ui.value.bind(1, 'n')('bound'); ui.text(...new Set(['o', 'spread']))`,
			[]round{patched("text o=called", "html o=applied", "value n=bound", "text o=spread")}},
		{"ui.text`o`", []round{ended(limits.UIOperation)}},
		{`new ui.text('o', 'x')`, []round{ended(limits.Exception)}},
		{`Reflect.construct(Object, [], ui.text)`, []round{ended(limits.Exception)}},
		{`with (ui) { text('o', input('n').value) }`, []round{patched("text o=1")}},
		{`class C extends ui.text {}`, []round{ended(limits.Exception)}},
		{`['a', 'b'].forEach(ui.text)`, []round{ended(limits.UIOperation)}},
		{`ui.text.text = 1; ui.text.call = () => 1; ui.more = 1; delete ui.text; ui.text('o', '' + ui.more)`, []round{patched("text o=undefined")}},
		{`'use strict'; ui.more = 1`, []round{ended(limits.Exception)}},
		{`ui.text('__proto__', 'p'); ui.value('__proto__', 'q'); ui.text('constructor', ui.input('__proto__').value + ui.input('constructor').value)`,
			[]round{patched("text __proto__=p", "value __proto__=q", "text constructor=qc")}},
		{`ui.text('o","value":""},{"op":"html","id":"o', '"}],"failure":null,"x":["')`, []round{patched(`text o","value":""},{"op":"html","id":"o="}],"failure":null,"x":["`)}},
		{`ui.on('go', 'click', () => { ui.text('o', '' + (Promise.prototype.then = function () { throw 1 })); return Promise.resolve() }); Promise.prototype.toString = 1`,
			[]round{patched(), patched("text o=function () { throw 1 }")}},
	}
	for _, c := range cases {
		expectRounds(t, c.script, c.want...)
	}
	t.Logf("attacks: %d", len(cases))
}

// TestStackTracesThatReenter has the function that formats stack traces, which runs inside the very calls that fail, call
// ui again, throw and loop.
func TestStackTracesThatReenter(t *testing.T) {
	tried := 0
	for _, body := range []string{
		"ui.text('o', 'late')", "ui.text('o', 2)", "ui.on('x', 'click', () => 0)", "ui.input('gone')", "throw 1", "return {}", "return 'card.js:1:1'",
		"return new Proxy({}, {get() { throw 1 }})", "for (let i = 0; i < 100; i++) try { ui.text(i) } catch {}", "new TypeError('inner').stack", "delete Error.prepareStackTrace; ui.text(1)",
		"f()",
	} {
		for _, by := range []string{"Error.prepareStackTrace = f", "Object.defineProperty(Error, 'prepareStackTrace', {get: f})", "Object.defineProperty(Error, 'stackTraceLimit', {get: f})",
			"Error.stackTraceLimit = 'x'; for (const o of [TypeError, Error, Object]) Object.defineProperty(o.prototype, 'stack', {get: f, set: f})"} {
			for _, call := range []string{"ui.text('n', 1)", "ui.input('gone')", "ui.on('n', 'keyup', f)"} {
				tried++
				script := "ui.text('o', 'x'); function f() { " + body + " } " + by + "; try { " + call + " } catch {} try { ui.text('o', 'more') } catch {}"
				out, err := Start(context.Background(), guest(t), script, []byte(shown))
				if d := cmp.Diff([]string{"text o=x"}, short(out.Batch)); limits.CodeOf(err) != limits.UIOperation || d != "" {
					t.Errorf("%s: %v %s", script, err, d)
				}
			}
		}
	}
	expectFails(t, limits.Timeout, "Error.prepareStackTrace = () => { for (;;); }; try { ui.text('n', 1) } catch {}")
	expectHarmless(t, "stack traces", "")
	t.Logf("attacks: %d", tried+1)
}
