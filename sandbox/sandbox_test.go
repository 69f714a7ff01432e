package sandbox

import (
	"context"
	"testing"
)

// plainPrelude hands the round's input to the function that the script left in globalThis.f.
const plainPrelude = `({
	enter(input) { return globalThis.f ? globalThis.f(input) : undefined; },
	leave() { const o = globalThis.out; globalThis.out = undefined; return '>' + o; },
	describe(e) { try { return '!' + e; } catch { return '!'; } },
})`

func newEngine(t testing.TB, o Options) *Engine {
	t.Helper()
	if o.Prelude == "" {
		o.Prelude = plainPrelude
	}
	e, err := New(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func TestEngine(t *testing.T) {
	e := newEngine(t, Options{})
	g, err := e.Guest(Activation{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	res, err := g.Run(context.Background(), Round{Input: []byte("1"), Script: "out = 6*7", MaxOutput: 100})
	t.Logf("%s %+v %v", res.Output, res.Usage, err)
}
