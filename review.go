package cardrun

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/cardrun/limits"
)

// ReviewOptions configure a review. The zero value is good.
type ReviewOptions struct {
	// Seed determines Math.random of the card and what is tried. Default: 1.
	Seed uint64
	// Now is the time that the card's clock stands at. Default: 2026-01-01 12:00 UTC. It does not run, so that a review
	// gives the same findings again.
	Now time.Time
	// Fuzz is how long inputs are tried. Default: 5 s; negative tries none. Where the time ends first, how far a review came
	// depends on the machine. Races and the shortening of what was found come behind, and take as long again at most, or
	// 4 s where that is more.
	Fuzz time.Duration
	// Rounds is how many rounds are tried, about; the same number gives the same findings. Default: as many as Fuzz lets.
	Rounds int
	// Progress is told, now and then, how many rounds have been tried. It may be nil.
	Progress func(rounds int, elapsed time.Duration)
}

// DefaultFuzz is how long inputs are tried where nothing is said.
const DefaultFuzz = 5 * time.Second

// Review is what there is to tell the author of a card.
type Review struct {
	Card    CardInfo `json:"card"`
	Outcome Outcome  `json:"outcome"`
	// Findings are in order of severity, then of place. Errors were seen to happen, or reject the card; warnings are what a
	// person would stumble over; notes may be as the author wants it.
	Findings []Finding `json:"findings"`
	// Budgets are what was used at most, in any round that was run, of each limit; but time_us is that of initialization, or
	// of a round that came near its limit each time it was repeated.
	Budgets []Budget `json:"budgets"`
	// Explored tells what was tried; nil when nothing was.
	Explored *Explored `json:"explored"`
}

// Explored tells how much was tried.
type Explored struct {
	Seed   uint64 `json:"seed"`
	Rounds int    `json:"rounds"`
	// States are displays of different shape that were found.
	States int `json:"states"`
	// Ended tells why it ended: rounds or time are used up, or nothing new was to be found (done).
	Ended     string `json:"ended"`
	ElapsedMS int64  `json:"elapsed_ms"`
}

// Errors tells whether any finding is an error.
func (v *Review) Errors() bool {
	return slices.ContainsFunc(v.Findings, func(f Finding) bool { return isError(f.Diagnostic) })
}

// reviewTime is where the clock of a reviewed card stands.
var reviewTime = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// Review tells what is wrong with a card, or may be, before a person sees it: what [Runtime.Lint] finds, one real run with
// the budgets it uses, whether the summary says what is displayed, and what comes of inputs that people enter and of
// events that cross. What the card does wrong is in the Review; the error is as for Render.
func (r *Runtime) Review(ctx context.Context, c *Card, o ReviewOptions) (*Review, error) {
	if o.Seed == 0 {
		o.Seed = 1
	}
	if o.Now.IsZero() {
		o.Now = reviewTime
	}
	if o.Fuzz == 0 {
		o.Fuzz = DefaultFuzz
	}
	release, err := r.engine.Hold()
	if err != nil {
		return nil, err
	}
	defer release()
	found, err := r.Lint(ctx, c)
	if err != nil {
		return nil, err
	}
	v := &Review{Card: c.Info(), Outcome: Rejected, Findings: found, Budgets: []Budget{}}
	if v.Errors() {
		return v, nil
	}
	checked, _ := r.checked(c)
	p := &prober{rt: r, card: checked, options: RenderOptions{Seed: &o.Seed, Now: o.Now}, lint: newLint(checked)}
	first, err := p.start(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer first.close()
	if f := first.failure(); f != nil && f.Code == limits.Timeout && first.s.act.readClock {
		p.options.Now = time.Time{} // it waits for the clock to go on
		first.close()
		if first, err = p.start(ctx, nil); err != nil {
			return nil, err
		}
		defer first.close()
	}
	v.Outcome = Ready
	v.Budgets = first.budgets()
	if err := p.again(ctx, v.Budgets); err != nil {
		return nil, err
	}
	v.Findings = append(v.Findings, nearBudgets(v.Budgets, nil, checked)...)
	if f := first.failure(); f != nil {
		v.Findings = slices.DeleteFunc(v.Findings, func(f Finding) bool { return f.Code == limits.BudgetNear && f.Field == "javascript" })
		v.Outcome = Failed
		v.Findings = append(v.Findings, p.failed(f, limits.RunFailed, nil))
	} else {
		v.Findings = append(v.Findings, summarize(checked, first, p.lint)...)
		if o.Fuzz > 0 {
			if err := p.explore(ctx, first, o, v); err != nil {
				return nil, err
			}
		}
	}
	v.Budgets = append(v.Budgets, cardBudgets(c)...)
	sortFindings(v.Findings)
	return v, nil
}

// again runs initialization a few times more where it took long: the machine may have been busy. The least time counts.
func (p *prober) again(ctx context.Context, budgets []Budget) error {
	for n := 0; n < 3; n++ {
		i := slices.IndexFunc(budgets, func(b Budget) bool { return b.Name == "time_us" && b.Near() })
		if i < 0 {
			return nil
		}
		r, err := p.start(ctx, nil)
		if err != nil {
			return err
		}
		budgets[i].Used = min(budgets[i].Used, r.usage().ElapsedUS)
		r.close()
	}
	return nil
}

// nearBudgets reports what is 80 % used or more.
func nearBudgets(all []Budget, path []move, k *Checked) []Finding {
	var fs []Finding
	for _, b := range all {
		if !b.Near() {
			continue
		}
		f := Finding{
			Diagnostic: Diagnostic{Severity: limits.SeverityWarning, Code: limits.BudgetNear, Field: "javascript",
				Message: fmt.Sprintf("%s uses %s of %s (%d %%); one step more ends the card", budgetNames[b.Name], thousands(int(b.Used)), thousands(int(b.Limit)), b.Used*100/b.Limit)},
			Fix: budgetFixes[b.Name],
		}
		if path != nil {
			f.Evidence = evidence(path)
		}
		switch b.Name {
		case "elements", "controls", "snapshot_bytes":
			f.Field = "html"
		}
		fs = append(fs, f)
	}
	return fs
}

var budgetNames = map[string]string{
	"time_us": "a round's time in µs", "heap_bytes": "the heap, in bytes,", "microtasks": "a round's count of promise jobs",
	"patches": "a round's count of ui.text, ui.html and ui.value", "batch_bytes": "the size of a round's patches, in bytes,",
	"snapshot_bytes": "the size of all control values, in bytes,", "handlers": "the count of handlers", "elements": "the count of elements",
	"controls": "the count of controls",
}

var budgetFixes = map[string]string{
	"time_us": "calculate less in a round: bound loops, keep what does not change in a constant", "heap_bytes": "bound what is collected in arrays and strings",
	"microtasks": "call functions directly instead of through promises", "patches": "write several values with one ui.html",
	"batch_bytes": "show fewer rows, or shorten the html of each", "snapshot_bytes": "give text controls a maxlength",
	"handlers": "listen to fewer elements", "elements": "show fewer rows", "controls": "use fewer controls",
}

// failed reports a failure.
func (p *prober) failed(f *Failure, code limits.Code, path []move) Finding {
	out := Finding{Diagnostic: Diagnostic{
		Severity: limits.SeverityError, Code: code, Field: "javascript", Line: f.Line, Column: f.Column,
		Message: fmt.Sprintf("the script ends the card: %s: %s", f.Code, f.Message),
	}, Fix: failureFixes[f.Code]}
	if path != nil {
		out.Message = fmt.Sprintf("what a user can do ends the card: %s: %s", f.Code, f.Message)
		out.Evidence = p.evidence(path)
	}
	return out
}

var failureFixes = map[limits.Code]string{
	limits.Exception:         "look at the place named, and guard against the value that gets there",
	limits.Rejection:         "catch errors in the promise that the handler returns",
	limits.Timeout:           "bound the work of a round by bounding the inputs it depends on",
	limits.Memory:            "bound what is built up, by bounding the inputs it depends on",
	limits.TooManyMicrotasks: "call functions directly instead of through promises",
	limits.TooManyPatches:    "write several values with one ui.html",
	limits.UIOperation:       "call ui with ids that are there and with strings",
	limits.InvalidPatch:      "write to elements that are there then, with each id once",
	limits.InputLimit:        "shorten what is shown or set; give text controls a maxlength",
	limits.Engine:            "avoid very deep nesting and very long array-like objects",
}

// evidence is a path as arguments for cardrun play.
func evidence(path []move) *Evidence {
	e := &Evidence{Play: []string{}}
	for _, m := range path {
		e.Play = append(e.Play, m.args()...)
	}
	return e
}

// evidence is a path with the seed and the time of the review, where the script may ask for them.
func (p *prober) evidence(path []move) *Evidence {
	e := evidence(path)
	if strings.Contains(p.card.Card.JavaScript, "random") && p.options.Seed != nil {
		e.Play = append(e.Play, "--seed", strconv.FormatUint(*p.options.Seed, 10))
	}
	if strings.Contains(p.card.Card.JavaScript, "Date") && !p.options.Now.IsZero() {
		e.Play = append(e.Play, "--now", p.options.Now.UTC().Format(time.RFC3339))
	}
	return e
}

// parallel is how many goroutines explore.
func (r *Runtime) parallel() int { return max(1, min(r.Workers(), runtime.GOMAXPROCS(0))) }
