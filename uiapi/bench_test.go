package uiapi

import (
	"context"
	"testing"

	"example.com/cardrun/sandbox"
)

const renderScript = `function render() { const n = Number(ui.input('n').value); ui.text('out', n + ' × 25 = ' + n * 25); } ui.on('n', 'input', render); render();`

// BenchmarkStart is a fresh guest with a small script: one handler, one patch.
func BenchmarkStart(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		g, err := engine.Guest(sandbox.Activation{})
		if err != nil {
			b.Fatal(err)
		}
		if out, err := Start(context.Background(), g, renderScript, []byte(shown)); err != nil || len(out.Batch) != 1 {
			b.Fatal(out, err)
		}
		g.Close()
	}
}

// BenchmarkDispatch is one event of it.
func BenchmarkDispatch(b *testing.B) {
	g := guest(b)
	if _, err := Start(context.Background(), g, renderScript, []byte(shown)); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if out, err := Dispatch(context.Background(), g, renderScript, Event{"n", "input"}, []byte(shown)); err != nil || len(out.Batch) != 1 {
			b.Fatal(out, err)
		}
	}
}
