package sandbox

import (
	"context"
	"testing"
)

func TestProcessFirst(t *testing.T) {
	e, err := New(context.Background(), Options{Prelude: plainPrelude, Workers: 1, Isolation: IsolationProcess})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	expect(t, e, "out = 6*7", "42")
	out, u, err := run(t, e, Activation{}, "for(;;);")
	t.Log(out, u, err)
	expect(t, e, "out = 6*7", "42")
}

func BenchmarkRoundTrip(b *testing.B) {
	for _, n := range []Isolation{IsolationNone, IsolationProcess} {
		b.Run(string(n), func(b *testing.B) {
			e := newEngine(b, Options{Isolation: n, Workers: 1})
			g := frozenSubject(b, e)
			for b.Loop() {
				if _, err := g.Run(context.Background(), Round{Input: []byte("1"), MaxOutput: 100}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
