package cardrun

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"example.com/cardrun/sandbox"
	"example.com/cardrun/uiapi"
)

// benchCard is a card with what a round of it needs.
type benchCard struct {
	name          string
	text          []byte
	script        string
	start, inputs []byte // control values at first, and when its first event comes
	event         Event
}

// benchCards are the cards of the measurement beside other engines (conformance/peers) and those of ../shared: all that listen
// to an event.
func benchCards(b *testing.B, r *Runtime) []benchCard {
	b.Helper()
	var files []string
	for _, dir := range []string{"examples", "../shared/cards"} {
		found, err := filepath.Glob(filepath.Join(dir, "*.json"))
		if err != nil {
			b.Fatal(err)
		}
		files = append(files, found...)
	}
	var all []benchCard
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		card := Decode(text)
		k, found := card.Check()
		if k == nil {
			b.Fatal(file, found)
		}
		start, err := k.Document().Snapshot()
		if err != nil {
			b.Fatal(err)
		}
		s, shown, err := r.Open(b.Context(), &card, SessionOptions{FreezeAfter: -1})
		if err != nil || shown.Outcome != Ready {
			b.Fatal(file, shown, err)
		}
		inputs, err := s.act.document.Snapshot()
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
		if len(shown.Handlers) == 0 {
			continue
		}
		h := shown.Handlers[0]
		all = append(all, benchCard{filepath.Base(file), text, card.JavaScript, start, inputs, Event{ID: h.ID, Type: h.Type}})
	}
	return all
}

// eachCard takes the time of what prepare gives for each card, in turn, and reports the geometric mean over the cards of the
// median of each. With CARDRUN_BENCH_CARDS each card's median is logged.
func eachCard(b *testing.B, cards []benchCard, prepare func(benchCard) (once, after func())) {
	once, after := make([]func(), len(cards)), make([]func(), len(cards))
	for i, c := range cards {
		once[i], after[i] = prepare(c)
	}
	took := make([][]float64, len(cards))
	b.ReportAllocs()
	for b.Loop() {
		for i := range cards {
			start := time.Now()
			once[i]()
			took[i] = append(took[i], float64(time.Since(start).Nanoseconds()))
			after[i]()
		}
	}
	sum, low := 0.0, 0.0
	for i, c := range cards {
		slices.Sort(took[i])
		median := took[i][len(took[i])/2]
		sum += math.Log(median)
		low += math.Log(took[i][len(took[i])/10])
		if os.Getenv("CARDRUN_BENCH_CARDS") != "" {
			b.Logf("%-16s %8.1f µs", c.name, median/1e3)
		}
	}
	b.ReportMetric(math.Exp(sum/float64(len(cards)))/1e3, "µs/card")
	b.ReportMetric(math.Exp(low/float64(len(cards)))/1e3, "µs-p10")
}

// BenchmarkCards is what a caller waits for with each card: the first Snapshot, and one event round; the whole way, and the
// engine's part of it.
func BenchmarkCards(b *testing.B) {
	r := newRuntime(b, Options{})
	cards := benchCards(b, r)
	ctx := b.Context()
	nothing := func() {}
	begin := func(c benchCard) *sandbox.Guest {
		g, err := r.engine.Guest(sandbox.Activation{})
		if err == nil {
			var out uiapi.Outcome
			out, err = uiapi.Start(ctx, g, c.script, c.start)
			out.Batch.AppendJSON(nil)
		}
		if err != nil {
			b.Fatal(c.name, err)
		}
		return g
	}
	b.Run("first/whole", func(b *testing.B) {
		eachCard(b, cards, func(c benchCard) (once, after func()) {
			return func() {
				card := Decode(c.text)
				s, err := r.Render(ctx, &card, RenderOptions{})
				if err == nil {
					_, err = s.AppendJSON(nil)
				}
				if err != nil {
					b.Fatal(c.name, err)
				}
			}, nothing
		})
	})
	b.Run("first/script", func(b *testing.B) {
		eachCard(b, cards, func(c benchCard) (once, after func()) {
			var g *sandbox.Guest
			return func() { g = begin(c) }, func() { g.Close() }
		})
	})
	b.Run("round/whole", func(b *testing.B) {
		eachCard(b, cards, func(c benchCard) (once, after func()) {
			card := Decode(c.text)
			s, _, err := r.Open(ctx, &card, SessionOptions{FreezeAfter: -1, KeepRounds: 4})
			if err != nil {
				b.Fatal(c.name, err)
			}
			b.Cleanup(s.Close)
			return func() {
				report, err := s.Send(ctx, c.event)
				if err == nil {
					_, err = json.Marshal(report)
				}
				if err != nil || len(report.Rounds) != 1 {
					b.Fatal(c.name, report, err)
				}
			}, nothing
		})
	})
	b.Run("round/script", func(b *testing.B) {
		eachCard(b, cards, func(c benchCard) (once, after func()) {
			g := begin(c)
			b.Cleanup(g.Close)
			return func() {
				out, err := uiapi.Dispatch(ctx, g, c.script, uiapi.Event{ID: c.event.ID, Type: c.event.Type}, c.inputs)
				if err != nil {
					b.Fatal(c.name, err)
				}
				out.Batch.AppendJSON(nil)
			}, nothing
		})
	})
}
