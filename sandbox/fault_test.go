package sandbox

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"example.com/cardrun/limits"
)

// expectEnding accepts what a round may end with when the guest's memory is not its own any more: anything but a code that
// blames the host's caller, and never with output beyond its bound.
func expectEnding(t *testing.T, what string, res Result, err error, max int) {
	t.Helper()
	switch code := limits.CodeOf(err); {
	case err == nil || isThrown(err):
	case code == limits.Engine, code == limits.Timeout, code == limits.Memory, code == limits.TooManyMicrotasks, code == limits.Exception:
	default:
		t.Errorf("%s: %v", what, err)
	}
	if len(res.Output) > 3*max {
		t.Errorf("%s: %d bytes of output", what, len(res.Output))
	}
}

// TestFaultsBetweenRounds writes chosen and random values over a guest's memory between its rounds.
func TestFaultsBetweenRounds(t *testing.T) {
	e := newEngine(t, Options{Budget: 20 * time.Millisecond})
	rng := rand.New(rand.NewPCG(1, 2))
	m := e.image
	fields := []uint32{
		m.runtime + rtHeapBytes, m.runtime + rtStackSize, m.runtime + rtStackTop, m.runtime + rtStackLimit, m.runtime + rtException, m.runtime + rtException + 4,
		m.runtime + rtJobList, m.runtime + rtJobList + 4, m.runtime + rtModuleLoader, m.runtime + 152, m.runtime, m.runtime + 4, m.runtime + 16,
		m.context + ctxRuntime, m.context + ctxRandom, m.context + ctxModules, m.context + 240, m.context + 272, m.context + 288,
		uint32(m.enter), uint32(m.enter) + objClass - 2, uint32(m.enter) + objOpaque, uint32(m.leave), uint32(m.leave) + objOpaque, uint32(m.describeFn) + 4, m.buffer, m.buffer - 8,
	}
	values := func() uint32 {
		switch rng.IntN(4) {
		case 0:
			return []uint32{0, 1, 0xffff_ffff, 0x7fff_ffff, 0x8000_0000, uint32(m.size), uint32(m.size) - 4, stackTop, stackLow, 1024}[rng.IntN(10)]
		case 1:
			return fields[rng.IntN(len(fields))]
		case 2:
			return m.runtime + uint32(rng.IntN(1<<16))
		}
		return rng.Uint32()
	}
	scripts := []string{
		"f = (x) => { Promise.resolve().then(() => { out = 'o' + x }); return Promise.reject(x) }",
		"f = (x) => { out = JSON.stringify({x, s: 'x'.repeat(50)}) }",
		"f = (x) => { throw new Error('e' + x) }",
		"f = (x) => { const a = []; for (let i = 0; i < 200; i++) a.push({i}); out = a.length }",
	}
	for n := range 1500 {
		g := newGuest(t, e, Activation{})
		if _, err := g.Run(context.Background(), Round{Input: []byte("0"), Script: scripts[n%len(scripts)], MaxOutput: 1000}); err != nil {
			if isThrown(err) || limits.CodeOf(err) == limits.Timeout { // a busy machine
				g.Close()
				continue
			}
			t.Fatal(err)
		}
		var what string
		for range 1 + rng.IntN(3) {
			at := fields[rng.IntN(len(fields))]
			if rng.IntN(2) == 0 {
				at = uint32(rng.IntN(g.i.mem.size - 4))
			}
			v := values()
			what += fmt.Sprintf(" [%#x]=%#x", at, v)
			binary.LittleEndian.PutUint32(g.i.mem.buf[at:], v)
		}
		start := time.Now()
		res, err := g.Run(context.Background(), Round{Input: []byte("1"), MaxOutput: 1000})
		expectEnding(t, what, res, err, 1000)
		if frozen, err := g.Freeze(context.Background(), frozenPages+maximumPages*pageSize); err == nil {
			if again, err := e.Thaw(frozen); err == nil {
				again.Close()
			} else {
				t.Errorf("%s: thaw: %v", what, err)
			}
		} else if !errors.Is(err, errEnded) {
			t.Errorf("%s: freeze: %v", what, err)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: took %v", what, took)
		}
		g.Close()
	}
	expect(t, e, "out = 6 * 7", "42")
}

// TestFaultsDuringRounds writes over a guest's memory from outside while it runs and while the host reads it.
func TestFaultsDuringRounds(t *testing.T) {
	if raceEnabled {
		t.Skip("NOT RUN: the fault is a race on purpose")
	}
	e := newEngine(t, Options{Budget: 20 * time.Millisecond})
	for n := range 60 {
		g := newGuest(t, e, Activation{})
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(n), 3))
			buf, heap := g.i.mem.buf, int(e.image.runtime)
			for {
				select {
				case <-stop:
					return
				default:
				}
				at := rng.IntN(e.image.size - 8)
				if rng.IntN(2) == 0 {
					at = heap + rng.IntN(64<<10)
				}
				buf[at] = byte(rng.Uint32())
				runtime.Gosched()
			}
		})
		for x := range 20 {
			r := Round{Input: fmt.Append(nil, x), MaxOutput: 1000}
			if x == 0 {
				r.Script = "f = (x) => { out = JSON.stringify({x, s: 'x'.repeat(50)}); return Promise.resolve(x).then(() => 1) }"
			}
			res, err := g.Run(context.Background(), r)
			expectEnding(t, fmt.Sprint("guest ", n), res, err, 1000)
			if err != nil {
				break
			}
		}
		close(stop)
		wg.Wait()
		g.Close()
		expect(t, e, "out = 6 * 7", "42")
	}
}

// TestKillMatrix spends time or memory in every way that comes to mind, each in the script, in the function that enter
// calls, and in a job: it ends with its code, and the next guest is whole.
func TestKillMatrix(t *testing.T) {
	e := newEngine(t, Options{Budget: 15 * time.Millisecond})
	base := instances(e)
	endless := []string{
		"for (;;);", "while (true) { try { throw 1 } catch { continue } finally { } }", "do { var x = x + 1 } while (1)", "for (const k in new Proxy({}, {ownKeys() { for (;;); }})) ;",
		"({get x() { for (;;); }}).x", "'' + {toString() { for (;;); }}", "+{valueOf() { for (;;); }}", "`${{[Symbol.toPrimitive]() { for (;;); }}}`",
		"[...{[Symbol.iterator]() { return {next() { return {} }} }}]", "new Map({[Symbol.iterator]() { return {next() { return {value: [1, 2]} }} }})", "const [a] = {[Symbol.iterator]() { for (;;); }}",
		"[3, 1, 2].sort(() => { for (;;); })", "Array.from({length: 1e9}, (_, i) => 0 * i)", "(function* () { for (;;) yield })().forEach(() => {})", "for (const x of (function* () { for (;;) yield 1 })());",
		"(function f(n) { if (n) { f(n - 1); f(n - 1) } })(60)", "const f = (n) => n && (f(n - 1), f(n - 1)); f(60)", "/(a+)+$/.test('a'.repeat(40) + 'b')", "/^(([a-z])+.)+[A-Z]([a-z])+$/.test('a'.repeat(60))",
		"'a'.repeat(60).match(/(a*)*b/)", "'x'.repeat(1e5).replace(/x/g, () => { for (;;); })", "'x'.repeat(5e4).split('').join('y').split(/(?:)/u).map((c) => { for (;;); })",
		"[].indexOf.call({length: 2 ** 53 - 1}, 1)", "[].includes.call({length: 2 ** 53 - 1}, 1)", "[].lastIndexOf.call({length: 2 ** 53 - 1}, 1)", "[].fill.call({length: 2 ** 53 - 1, set 0(v) { for (;;); }}, 1)",
		"[].reverse.call({length: 2 ** 53 - 1})", "[].copyWithin.call({length: 2 ** 53 - 1}, 1)", "[].join.call({length: 2 ** 32})", "const a = []; a.length = 2 ** 32 - 1; a.reduce((p) => p, 0)",
		"JSON.stringify({toJSON() { for (;;); }})", "JSON.parse('[1,2]', function () { for (;;); })", "JSON.stringify(Array(1e5).fill({a: [1]}), (k, v) => { for (;;); })",
		"let b = 3n ** 100000n; for (;;) b * b", "(2n ** 400000n).toString()", "BigInt('9'.repeat(300000))", "for (;;) 10n ** 3000n % 7n", "const u = new Uint32Array(1e6); for (;;) u.sort()",
		"new Uint8Array(1e6).sort((a, b) => { for (;;); })", "const s = new Set; for (;;) s.has({})", "for (;;) Reflect.construct(Date, [])", "for (;;) eval('1')", "for (;;) new Function('return 1')()", "for (;;) import('x').catch(() => 0) && 0",
		"let p = {}; for (let i = 0; i < 1e4; i++) p = Object.create(p); for (;;) p.x", "let p = {x: 1}; for (let i = 0; i < 900; i++) p = new Proxy(p, {}); for (;;) p.x", "class A { static { for (;;); } }", "label: for (;;) { for (;;) continue label }",
		"with ({get y() { for (;;); }}) y", "Object.defineProperty(globalThis, 'zz', {get() { for (;;); }}); zz", "new Date({valueOf() { for (;;); }})", "Math.max(...{*[Symbol.iterator]() { for (;;) yield 1 }})",
		"'a'.localeCompare({toString() { for (;;); }})", "'a'.normalize({toString() { for (;;); }})", "'\\u0344'.repeat(1e6).normalize('NFD').length; for (;;) 'é'.repeat(1e4).normalize('NFC')", "for (;;) Symbol.for(Math.random() + '')",
		"for (;;) 'x'.repeat(1e6).toUpperCase()", "for (;;) decodeURIComponent('%41'.repeat(1e4))", "for (;;) structured = [...'x'.repeat(1e4)]", "for (;;) new WeakRef({})", "const r = new FinalizationRegistry(() => { for (;;); }); for (;;) r.register({}, 1)",
		"Error.prepareStackTrace = () => { for (;;); }; new Error().stack",
		"let f = Math.abs; for (let i = 0; i < 900; i++) { Object.defineProperty(f, 'name', {value: ''}); f = f.bind() } for (;;) [1, 2, 3].forEach(f)",
	}
	hungry := []string{
		"const a = []; for (;;) a.push(new Uint8Array(1e6))", "const a = []; try { for (;;) a.push(new ArrayBuffer(4e6)) } catch { a.length = 0 }", "new Uint8Array(2 ** 31 - 1)", "'x'.repeat(5e8)",
		"let s = 'x'.repeat(1e6); for (;;) s += s", "[].concat(...Array(9).fill(Array(1e6)))", "new Array(2 ** 26).fill(0)", "Array(1e7).join('xx')", "JSON.stringify(Array(3e7))", "new Float64Array(5e6)",
		"'x'.padEnd(2 ** 29, 'abc')", "const b = new ArrayBuffer(1, {maxByteLength: 2 ** 30}); b.resize(2 ** 29)", "'ab'.repeat(9e6).split('')", "new Map(Array.from({length: 40}, (_, i) => [i, new Uint8Array(1e6)]))",
	}
	deep := []string{
		"(function f() { f() })()", "let o = {}; for (let i = 0; i < 1e5; i++) o = {o}; JSON.stringify(o)", "JSON.parse('['.repeat(1e5))", "eval('('.repeat(1e5))", "eval('['.repeat(1e5))", "eval('!'.repeat(1e5) + '1')", "eval('a?'.repeat(2e4))",
		"new RegExp('('.repeat(1e5) + ')'.repeat(1e5))", "new RegExp('(?:'.repeat(2e4) + 'a' + ')*'.repeat(2e4)).test('a')", "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; a.flat(Infinity)", "let a = []; a[0] = a; a.toString(); (function t() { return `${{toString: t}}` })()",
		"let it = [1].values(); for (let i = 0; i < 2e4; i++) it = it.map((x) => x); it.next()", "let p = {}; for (let i = 0; i < 2e4; i++) p = new Proxy(p, {}); p.x", "class A { constructor() { new A } } new A", "const g = function* () { yield* g() }; g().next()",
		"(async function f() { await f() })()", "Object.defineProperty(Object.prototype, 'q', {get() { return this.q }}); ({}).q",
	}
	run := func(codes []limits.Code, body string) {
		for _, shape := range []string{"%s", "f = () => { %s }", "Promise.resolve().then(() => { %s })"} {
			script := fmt.Sprintf(shape, body)
			g, err := e.Guest(Activation{})
			if err != nil {
				t.Fatal(err)
			}
			res, err := g.Run(context.Background(), Round{Input: []byte("0"), Script: script, MaxOutput: 1000})
			if shape[0] == 'f' && err == nil {
				res, err = g.Run(context.Background(), Round{Input: []byte("1"), MaxOutput: 1000})
			}
			g.Close()
			ok := false
			for _, code := range codes {
				ok = ok || limits.CodeOf(err) == code || code == limits.Exception && isThrown(err) || code == "" && err == nil
			}
			if !ok {
				t.Errorf("%s\nended with %q: %v", script, res.Output, err)
			}
			if res.Usage.Elapsed > 3*time.Second {
				t.Errorf("%s\ntook %v", script, res.Usage.Elapsed)
			}
		}
	}
	for _, body := range endless {
		run([]limits.Code{limits.Timeout}, body)
	}
	for _, body := range hungry { // on a slow machine the time may be over first; some are refused by a RangeError
		run([]limits.Code{limits.Memory, limits.Timeout, limits.Exception}, body)
	}
	for _, body := range deep { // an error in a promise that nobody looks at is none
		run([]limits.Code{limits.Exception, limits.Timeout, limits.Memory, limits.TooManyMicrotasks, ""}, body)
	}
	expect(t, e, "out = 6 * 7", "42")
	if got := instances(e); got > base+2*e.Workers() {
		t.Errorf("%d instances are kept, %d before", got, base)
	}
}

// instances counts what the pool holds, all of it restored.
func instances(e *Engine) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.idle) + e.live
}
