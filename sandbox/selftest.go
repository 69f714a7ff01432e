package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/cardrun/limits"
)

// patience is the time of a probe that is not about time: a busy machine is no reason not to start.
const patience = 10 * time.Second

// probe is one proof of the self-test: a script, run in a fresh guest, and how its round must end.
type probe struct {
	name   string
	script string
	budget time.Duration // default: patience
	code   limits.Code   // of the error; empty for none
	// seen, where there is one, looks at what the script evaluated to and at what the round used.
	seen func(a *activity, value uint64, u Usage) error
}

// probes prove every budget and every address of the layout on the very code that will run cards.
var probes = []probe{
	{name: "arithmetic", script: `if (6 * 7 !== 42) throw 0`, seen: func(_ *activity, _ uint64, u Usage) error {
		if u.ReadRandom || u.ReadClock || u.Fuel == 0 {
			return fmt.Errorf("usage is %+v", u)
		}
		return nil
	}},
	{name: "stack limit", script: `{
		let n = 0;
		const f = () => { n++; f(); };
		try { f(); throw 'no end'; } catch (e) { if (!(e instanceof RangeError) || n < 300 || n > 3000) throw n; }
	}`},
	{name: "stack floor", script: `let it = [1].values(); for (let i = 0; i < 20000; i++) it = it.take(9); try { it.next() } catch {}`, code: limits.Exception},
	{name: "deadline in a chain of calls", script: `{
		let f = Math.abs;
		for (let i = 0; i < 500; i++) { Object.defineProperty(f, 'name', {value: ''}); f = f.bind(); }
		for (;;) [0].forEach(f);
	}`, budget: 2 * time.Millisecond, code: limits.Timeout},
	{name: "long array-likes", script: `for (const m of ['toReversed', 'with', 'toSorted', 'toSpliced'])
		try { [][m].call({length: 2 ** 29 + 1}, undefined, 1); throw m; } catch (e) { if (!(e instanceof RangeError)) throw e; }`},
	{name: "heap cap", script: `try { new ArrayBuffer(40 << 20); } catch {}`, code: limits.Memory},
	{name: "heap cap at 2 GiB", script: `try { new ArrayBuffer(2 ** 31 - 1); } catch {}`, code: limits.Memory},
	{name: "heap count", script: `globalThis.x = new ArrayBuffer(1 << 20)`, seen: func(_ *activity, _ uint64, u Usage) error {
		if u.HeapBytes < 1<<20 || u.HeapBytes > 3<<20 {
			return fmt.Errorf("a heap with 1 MiB in it counts %d bytes", u.HeapBytes)
		}
		return nil
	}},
	{name: "deadline in a loop", script: `for (;;);`, budget: 2 * time.Millisecond, code: limits.Timeout},
	{name: "deadline in a native scan", script: `Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 1)`, budget: 2 * time.Millisecond, code: limits.Timeout},
	{name: "deadline in a regular expression", script: `/(a+)+$/.test('a'.repeat(40) + 'b')`, budget: 2 * time.Millisecond, code: limits.Timeout},
	{name: "as many jobs as may run", script: `for (let i = 0; i < 256; i++) Promise.resolve().then(() => 0)`, seen: func(_ *activity, _ uint64, u Usage) error {
		if u.Microtasks != limits.Microtasks {
			return fmt.Errorf("%d jobs counted, not %d", u.Microtasks, limits.Microtasks)
		}
		return nil
	}},
	{name: "a job too many", script: `for (let i = 0; i < 257; i++) Promise.resolve().then(() => 0)`, code: limits.TooManyMicrotasks},
	{name: "imports", script: `globalThis.loaded = [];
		for (const m of ['qjs:std', 'qjs:os', 'qjs:bjson', 'std', 'os', './card.js', 'x.json'])
			import(m).then(() => loaded.push(m), () => 0);
		loaded`, seen: func(a *activity, _ uint64, _ Usage) error {
		return a.script(`if (loaded.length) throw loaded.join()`)
	}},
	{name: "rejected promise", script: `Promise.reject(0)`, seen: func(a *activity, value uint64, _ Usage) error {
		if is, state, _, err := a.i.promise(value); err != nil || !is || state != 2 {
			return fmt.Errorf("is a promise: %t, state %d: %w", is, state, err)
		}
		return nil
	}},
	{name: "pending promise", script: `new Promise(() => 0)`, seen: func(a *activity, value uint64, _ Usage) error {
		if is, state, _, err := a.i.promise(value); err != nil || !is || state != 0 {
			return fmt.Errorf("is a promise: %t, state %d: %w", is, state, err)
		}
		return nil
	}},
	{name: "random state", script: `Math.random()`, seen: func(_ *activity, _ uint64, u Usage) error {
		if !u.ReadRandom {
			return errors.New("a draw left the state as it was")
		}
		return nil
	}},
	{name: "clock", script: `Date.now()`, seen: func(_ *activity, _ uint64, u Usage) error {
		if !u.ReadClock {
			return errors.New("the host's clock was not asked")
		}
		return nil
	}},
	{name: "strings", script: `'\u00e9\u0000' + 'x'.repeat(3)`, seen: func(a *activity, value uint64, _ Usage) error {
		if s, err := a.i.text(value, 5); err != nil || string(s) != "é\x00xxx" {
			return fmt.Errorf("read back as %q: %w", s, err)
		}
		return nil
	}},
	{name: "wide strings", script: `'\u20ac\ud83d\ude00\ud800' + 'x'.repeat(3)`, seen: func(a *activity, value uint64, _ Usage) error {
		if s, err := a.i.text(value, 7); err != nil || string(s) != "€\U0001f600\ufffdxxx" {
			return fmt.Errorf("read back as %q: %w", s, err)
		}
		return nil
	}},
}

// selfTest runs every probe. A single failure means that this binary, on this machine, is not the engine that the
// promises are about; then nothing may run.
func (e *Engine) selfTest(ctx context.Context) error {
	for _, p := range probes {
		if err := e.prove(ctx, p); err != nil {
			return fmt.Errorf("self-test: %s: %w", p.name, err)
		}
	}
	return nil
}

func (e *Engine) prove(ctx context.Context, p probe) error {
	g, err := e.Guest(Activation{})
	if err != nil {
		return err
	}
	defer g.Close()
	g.budget, g.fuel = cmp.Or(p.budget, patience), 0
	var seen func(Usage) error
	res, err := g.within(ctx, func(a *activity) ([]byte, error) {
		v, err := a.compile(p.script)
		if err == nil {
			v, err = a.i.call(a.i.evalFunction, uint64(a.m.context), v)
		}
		if err == nil && tag(v) == tagException {
			err = a.thrown(Uncaught)
		}
		if err == nil {
			err = a.drain()
		}
		if err == nil && p.seen != nil {
			seen = func(u Usage) error { return p.seen(a, v, u) }
		}
		return nil, err
	})
	if code := limits.CodeOf(err); code != p.code {
		return fmt.Errorf("ended with code %q instead of %q: %w", code, p.code, errors.Join(err, ctx.Err()))
	}
	if seen == nil {
		return nil
	}
	return seen(res.Usage)
}
