package cardrun

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestIsolationChangesNothing gives equal Snapshots whether cards run in this process or in worker processes.
func TestIsolationChangesNothing(t *testing.T) {
	here, there := newRuntime(t, Options{budget: patience, Isolation: IsolationNone}), newRuntime(t, Options{budget: patience, Isolation: IsolationProcess})
	if n, err := here.Isolation(); err != nil || n != Isolation("none") {
		t.Errorf("here: %s, %v", n, err)
	}
	if n, err := there.Isolation(); err != nil || n != IsolationProcess {
		t.Errorf("there: %s, %v", n, err)
	}
	seed := uint64(4)
	o := RenderOptions{Seed: &seed, Now: time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC)}
	for _, script := range []string{
		`ui.text('out', Math.random() + ' ' + new Date())`,
		`ui.on('x', 'input', () => ui.html('out', '<b>' + ui.input('x').value + '</b>')); ui.text('out', 'ready')`,
		`ui.text('out', 'shown'); throw new Error('é')`,
		`ui.text('out', `,
		`ui.text('nowhere', 'x')`,
		`new ArrayBuffer(2 ** 31 - 1)`,
	} {
		play := func(r *Runtime) *Snapshot {
			c := isolationCard(script)
			s, snap, err := r.Open(context.Background(), c, SessionOptions{RenderOptions: o})
			if err != nil {
				t.Fatal(err)
			}
			if s == nil {
				return snap
			}
			defer s.Close()
			if snap.Outcome == Ready {
				send(t, s, input("x", "7"))
			}
			return s.Snapshot()
		}
		if d := cmp.Diff(play(here), play(there), cmpopts.IgnoreFields(Usage{}, "ElapsedUS")); d != "" {
			t.Errorf("%s: -here +there\n%s", script, d)
		}
	}
}

func isolationCard(script string) *Card {
	return &Card{Title: "t", Summary: "s", HTML: `<label for="x">X</label><input id="x" value="1"><p id="out"></p>`, JavaScript: script}
}

// BenchmarkIsolation does the same with cards in this process and in a worker process, in turn, and reports the medians in
// microseconds, for the card that the specification has as its example.
func BenchmarkIsolation(b *testing.B) {
	kinds := []Isolation{IsolationNone, IsolationProcess}
	c := Decode(shared(b, "cards/capacity.json"))
	ctx := context.Background()
	runtimes, sessions := map[Isolation]*Runtime{}, map[Isolation]*Session{}
	open := func(n Isolation) *Session {
		s, snap, err := runtimes[n].Open(ctx, &c, SessionOptions{FreezeAfter: time.Hour})
		if err != nil || snap.Outcome != Ready {
			b.Fatal(err, snap)
		}
		return s
	}
	for _, n := range kinds {
		runtimes[n] = newRuntime(b, Options{Workers: 1, Isolation: n})
		sessions[n] = open(n)
		defer sessions[n].Close()
	}
	count := 0
	for _, task := range []struct {
		name string
		do   func(n Isolation)
	}{
		{"round", func(n Isolation) {
			count++
			v := []string{"3", "4", "5", "6"}[count/2%4]
			if r, err := sessions[n].Send(ctx, input("workers", v)); err != nil || len(r.Rounds) != 1 {
				b.Fatal(r, err)
			}
		}},
		{"render", func(n Isolation) {
			if s, err := runtimes[n].Render(ctx, &c, RenderOptions{}); err != nil || s.Outcome != Ready {
				b.Fatal(s, err)
			}
		}},
		{"open", func(n Isolation) { open(n).Close() }},
	} {
		b.Run(task.name, func(b *testing.B) {
			took := map[Isolation][]time.Duration{}
			for b.Loop() {
				for _, n := range kinds {
					start := time.Now()
					task.do(n)
					took[n] = append(took[n], time.Since(start))
				}
			}
			for _, n := range kinds {
				slices.Sort(took[n])
				b.ReportMetric(float64(took[n][len(took[n])/2].Nanoseconds())/1000, string(n)+"-µs")
			}
			b.ReportMetric(0, "ns/op") // of both together, which tells nothing
		})
	}
}
