package cardrun

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/cardrun/limits"
)

const (
	mostRaces    = 1_500 // interleavings
	raceFindings = 4
)

// races tries what happens when a person goes on while a round runs: of two moves, the events of the second arrive while a
// round of the first is in flight, at each point where they can. The rounds are run in this goroutine, by the queue of a
// session, so that the same card gives the same answer everywhere.
//
// A display is stale when everything has come to rest, and either the same events one after another give the same control
// values and another display, or a round was dropped for the newer edit (R82) and nothing was shown after it. A card whose
// display counts events is not judged by the former, since combined events are fewer (R73).
func (x *exploration) races(ctx context.Context, start *state, each [][]move) ([]Finding, error) {
	counts := slices.ContainsFunc(x.keys, func(k string) bool { return strings.HasPrefix(k, "memory ") })
	seen := map[string]bool{}
	var fs []Finding
	tried := 0
	for i, first := range each {
		for j, second := range each {
			if i == j && len(first) == 1 {
				continue
			}
			a, b := telling(first, 0), telling(second, 1)
			if i == j {
				b = telling(second, 2)
			}
			for _, at := range cuts(a, b) {
				if tried++; tried > mostRaces || time.Now().After(x.deadline) || len(fs) == raceFindings {
					return fs, nil
				}
				f, err := x.race(ctx, start, a, b, at, counts)
				if err != nil {
					return nil, err
				}
				if key := a.id + " " + b.id; f != nil && !seen[key] {
					seen[key] = true
					fs = append(fs, *f)
				}
			}
		}
	}
	return fs, nil
}

// telling picks a value that is most likely to change something.
func telling(moves []move, n int) move { return moves[(1+n)%len(moves)] }

// cut tells that event number flight is in flight when all up to number until arrive.
type cut struct{ flight, until int }

func cuts(a, b move) []cut {
	first, all := len(a.events()), len(a.events())+len(b.events())
	var list []cut
	for f := range first {
		for u := first; u < all; u++ {
			list = append(list, cut{f, u})
		}
	}
	return list
}

// race makes two moves, cut in time, and compares.
func (x *exploration) race(ctx context.Context, start *state, a, b move, at cut, counts bool) (*Finding, error) {
	r := x.p.resume(start)
	defer r.close()
	events := slices.Concat(a.events(), b.events())
	flew := false
	var during []Event
	for n := 0; n < len(events); n++ {
		if _, ignored := r.s.take(events[n]); ignored {
			return nil, nil
		}
		if n == at.flight {
			if f := r.s.prepare(); f != nil {
				flew = true
				for n < at.until {
					n++
					r.s.take(events[n])
					during = append(during, events[n])
				}
				if err := r.fly(ctx, f); err != nil {
					return nil, err
				}
			}
		}
		if err := r.drain(ctx); err != nil {
			return nil, err
		}
		if r.failure() != nil {
			return nil, nil // found without a race, or too late to be told from it
		}
	}
	if !flew || r.random() {
		return nil, nil
	}
	plain := x.p.resume(start)
	defer plain.close()
	for _, m := range []move{a, b} {
		if can, err := plain.play(ctx, m); err != nil || !can {
			return nil, err
		}
	}
	if plain.failure() != nil {
		return nil, nil
	}
	shown, instead := r.text(), plain.text()
	same := slices.Equal(r.controls(), plain.controls())
	if same && !counts && shown != instead {
		return x.raced(a, b, at, r.dropped, during, shown, instead), nil
	}
	if !r.dropped || same && shown == instead {
		return nil, nil
	}
	fresh, err := x.p.start(ctx, r.controls())
	if err != nil {
		return nil, err
	}
	defer fresh.close()
	if instead = fresh.text(); fresh.failure() != nil || fresh.empty() || shown == instead || !slices.Equal(fresh.controls(), r.controls()) {
		return nil, nil
	}
	return x.raced(a, b, at, true, during, shown, instead), nil
}

// raced is the finding. What cardrun play does is one event after another; the message says what came in between.
func (x *exploration) raced(a, b move, at cut, dropped bool, during []Event, shown, instead string) *Finding {
	e := x.p.evidence([]move{a, b})
	e.Shown, e.Instead = shown, instead
	var what []string
	for _, d := range during {
		what = append(what, d.Type+" of "+d.ID)
	}
	why := "the rounds that follow do not show it"
	fix := "calculate everything from ui.input() in each handler, and remember nothing of what was shown last"
	if dropped {
		why = "its patches are dropped for the newer edit, and no round follows that shows them (R82)"
		fix = fmt.Sprintf("also listen to '%s' of %s, or do not set %s from other handlers", usual(x.p.lint.page.types[b.id]), b.id, b.id)
	}
	f := &Finding{Diagnostic: Diagnostic{Severity: limits.SeverityWarning, Code: limits.RaceStale, Field: "javascript",
		Message: fmt.Sprintf("while the round of %s on %s runs, %s arrives: %s", a.events()[at.flight].Type, a.id, strings.Join(what, ", "), why)},
		Fix: fix, Evidence: e}
	if a.kind == "click" && dropped && x.p.clicks() {
		f.Severity = limits.SeverityNote
		f.Message += "; it stays so until the next click (R87)"
	}
	if o := x.p.lint.callOn(a.id, "on"); o >= 0 {
		f.Line, f.Column = limits.Position(x.p.card.Card.JavaScript, o)
	}
	return f
}
