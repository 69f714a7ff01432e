package patches_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/cardrun/patches"
)

// smallCard has 12 nodes or so, as most cards' working parts do; largeCard is all but at the limits: 511 elements, 64 controls.
const smallCard = `<section><h2>Estimated capacity</h2><label for="workers">Workers</label><input id="workers" type="range" min="1" max="20" value="4">` +
	`<label for="rate">Requests/s per worker</label><input id="rate" type="number" min="1" max="100" value="25"><p id="answer"></p><p>Formula</p></section>`

func largeCard() string {
	var b strings.Builder
	for i := range 64 {
		fmt.Fprintf(&b, `<p><label for="k%d">Value</label><input id="k%d" type="number" value="%d"><b id="o%d">x</b><i>y</i><span>z</span></p>`, i, i, i, i)
	}
	return b.String() + strings.Repeat("<i></i>", 511-64*6)
}

func BenchmarkStageCommit(b *testing.B) {
	for _, c := range []struct {
		name, card string
		batch      patches.Batch
	}{
		{"small/text", smallCard, patches.Batch{text("answer", "4 workers × 25 requests/s = 100 requests/s")}},
		{"small/text-value", smallCard, patches.Batch{text("answer", "100"), value("workers", "4"), value("rate", "25")}},
		{"small/html", smallCard, patches.Batch{html("answer", "<strong>Plan B</strong> ranks higher")}},
		{"large/text", largeCard(), patches.Batch{text("o1", "100")}},
		{"large/value", largeCard(), patches.Batch{value("k1", "100")}},
		{"large/html", largeCard(), patches.Batch{html("o1", "<b>100</b>")}},
	} {
		b.Run(c.name, func(b *testing.B) {
			d := document(b, c.card)
			b.ReportAllocs()
			for b.Loop() {
				s, err := d.Stage(c.batch)
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Commit(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// benchmark runs f on the two cards, and on a small one whose tree HTML cannot say.
func benchmark(b *testing.B, f func(d *patches.Document)) {
	odd := document(b, smallCard)
	apply(b, odd, html("answer", "<ul><li>one<li>two</ul>"))
	for _, c := range []struct {
		name string
		d    *patches.Document
	}{{"small", document(b, smallCard)}, {"odd", odd}, {"large", document(b, largeCard())}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f(c.d)
			}
		})
	}
}

func BenchmarkSnapshot(b *testing.B) {
	benchmark(b, func(d *patches.Document) {
		if _, err := d.Snapshot(); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkHTML(b *testing.B) { benchmark(b, func(d *patches.Document) { d.HTML() }) }

func BenchmarkText(b *testing.B) { benchmark(b, func(d *patches.Document) { d.Text() }) }
