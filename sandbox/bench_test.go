package sandbox

import (
	"context"
	"slices"
	"testing"
	"time"
)

// BenchmarkRestore is making an instance's memory that of the boot image again: untouched, after a round of an ordinary
// script, and after one that used a megabyte.
func BenchmarkRestore(b *testing.B) {
	e := newEngine(b, Options{})
	for _, c := range []struct{ name, script string }{
		{"untouched", ""},
		{"small", "let a = []; for (let i = 0; i < 500; i++) a.push({i}); out = a.length"},
		{"megabyte", "let a = []; for (let i = 0; i < 10000; i++) a.push({i}); out = a.length"},
	} {
		b.Run(c.name, func(b *testing.B) {
			g, err := e.Guest(Activation{})
			if err != nil {
				b.Fatal(err)
			}
			defer g.Close()
			for b.Loop() {
				if c.script != "" {
					b.StopTimer()
					if _, err := g.Run(context.Background(), Round{Input: []byte("0"), Script: c.script, MaxOutput: 100}); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
				e.image.restore(g.i)
			}
		})
	}
}

// BenchmarkGuest is opening a guest, running nothing but enter and leave, and closing it.
func BenchmarkGuest(b *testing.B) {
	e := newEngine(b, Options{})
	b.ReportAllocs()
	for b.Loop() {
		g, err := e.Guest(Activation{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := g.Run(context.Background(), Round{Input: []byte("0"), MaxOutput: 100}); err != nil {
			b.Fatal(err)
		}
		g.Close()
	}
}

// BenchmarkInstantiate is what a guest costs whose instance cannot be used again.
func BenchmarkInstantiate(b *testing.B) {
	e := newEngine(b, Options{})
	for b.Loop() {
		i, err := e.instantiate()
		if err != nil {
			b.Fatal(err)
		}
		if err := e.image.load(i); err != nil {
			b.Fatal(err)
		}
		i.close()
	}
}

// kernels are the programs that the cost of fuel is measured on.
var kernels = []struct{ name, script string }{
	{"fib", "(function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2) })(18)"},
	{"loop", "let s = 0; for (let i = 0; i < 20000; i++) s += i & 7; s"},
	{"sort", "let a = [], x = 1; for (let i = 0; i < 1500; i++) a.push(x = x * 16807 % 2147483647); a.sort((p, q) => p - q)[0]"},
	{"json", "let o = {a: [], b: {}}; for (let i = 0; i < 60; i++) { o.a.push({i, s: 'x' + i}); o.b['k' + i] = [i, null, true] } for (let i = 0; i < 5; i++) JSON.parse(JSON.stringify(o)).a.length"},
	{"objects", "let k = []; for (let i = 0; i < 1500; i++) k.push({a: i, b: [i], c: 'c' + i}); k.map((o) => o.a + o.b[0]).length"},
	{"strings", "let t = ''; for (let i = 0; i < 1500; i++) t += i; let n = 0; for (let i = 0; i < 60; i++) n += t.indexOf('1499' + i) + t.slice(i).length; n"},
	{"regexp", "let m = 0; for (let i = 0; i < 300; i++) m += /^(\\w+)-(\\d+)@(.*)$/.exec('abcdef-' + i + '@' + 'z'.repeat(40))[2].length; m"},
}

// BenchmarkFuel runs each kernel on the engine as it is and on the same module without fuel, in turn, and reports the
// median of the ratios pair by pair: what the budgets cost.
func BenchmarkFuel(b *testing.B) {
	const patient = time.Minute // on a busy machine a kernel may take its time
	with, without := newEngine(b, Options{Budget: patient}), newEngine(b, Options{Budget: patient, unfueled: true})
	for _, k := range kernels {
		b.Run(k.name, func(b *testing.B) {
			once := func(e *Engine) float64 {
				g, err := e.Guest(Activation{})
				if err != nil {
					b.Fatal(err)
				}
				defer g.Close()
				res, err := g.Run(context.Background(), Round{Input: []byte("0"), Script: k.script, MaxOutput: 100})
				if err != nil {
					b.Fatal(err)
				}
				return float64(res.Usage.Elapsed)
			}
			var ratios []float64
			for b.Loop() {
				ratios = append(ratios, once(with)/once(without))
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "with/without")
			b.ReportMetric(0, "ns/op") // of both together, which tells nothing
		})
	}
}

// BenchmarkFreeze and BenchmarkThaw are about a guest after a small script; bytes are those of the frozen state.
func BenchmarkFreeze(b *testing.B) {
	g := frozenSubject(b, newEngine(b, Options{}))
	var frozen []byte
	for b.Loop() {
		var err error
		if frozen, err = g.Freeze(context.Background(), maximumPages*pageSize); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(frozen)), "bytes")
}

func BenchmarkThaw(b *testing.B) {
	e := newEngine(b, Options{})
	frozen, err := frozenSubject(b, e).Freeze(context.Background(), maximumPages*pageSize)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		g, err := e.Thaw(frozen)
		if err != nil {
			b.Fatal(err)
		}
		g.Close()
	}
}

func frozenSubject(b *testing.B, e *Engine) *Guest {
	g := newGuest(b, e, Activation{})
	script := "let n = 0; f = (x) => { n += x; out = 'n is ' + n }; const rows = []; for (let i = 0; i < 100; i++) rows.push({i, text: 'row ' + i})"
	if _, err := g.Run(context.Background(), Round{Input: []byte("0"), Script: script, MaxOutput: 100}); err != nil {
		b.Fatal(err)
	}
	return g
}
