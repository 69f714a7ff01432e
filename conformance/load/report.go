package load

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"example.com/cardrun/conformance"
)

// Kind is what a request does, or whose it is.
type Kind string

// The kinds. A render, an opening and whatever a hostile caller sends is due when the plan says; an event, a look at the
// session and its end when the answer before it has come.
const (
	Render  Kind = "render"  // POST /v1/render
	Open    Kind = "open"    // POST /v1/sessions
	Send    Kind = "event"   // POST /v1/sessions/{s}/events
	Look    Kind = "state"   // GET /v1/sessions/{s}
	Close   Kind = "close"   // DELETE /v1/sessions/{s}
	Hostile Kind = "hostile" // any request of a hostile caller
)

var kinds = []Kind{Render, Open, Send, Look, Close, Hostile}

// Report is how a run went.
type Report struct {
	URL    string        `json:"url"`
	Phases []PhaseReport `json:"phases"`
	// Sent, Answered, Refused, Failed and Mismatches are the sums over all phases, and over the cases that go by the clock, which
	// are played one at a time when the rest is over.
	Sent       int64 `json:"sent"`
	Answered   int64 `json:"answered"`
	Refused    int64 `json:"refused"`
	Failed     int64 `json:"errors"`
	Mismatches int64 `json:"mismatches"`
	// Details are the first mismatches, one for each case at the most; Errors are the first errors, each once.
	Details []Detail `json:"mismatch_details"`
	Errors  []string `json:"error_details"`
}

// PhaseReport is one phase of the plan.
type PhaseReport struct {
	// Rate is requests or sessions a second at the end of the phase, 0 for as many as the callers could.
	Rate    float64 `json:"rate"`
	Seconds float64 `json:"seconds"`
	// Late counts requests that could not be sent since too many were unanswered; they are among the errors.
	Late  int64        `json:"unsent"`
	Kinds []KindReport `json:"kinds"`
}

// KindReport is one kind of requests in a phase: those that were due in it.
type KindReport struct {
	Kind Kind `json:"kind"`
	// Sent are all; each is answered, refused (429 or 503) or an error, and an answer may be a mismatch.
	Sent       int64 `json:"sent"`
	Answered   int64 `json:"answered"`
	Refused    int64 `json:"refused"`
	Failed     int64 `json:"errors"`
	Mismatches int64 `json:"mismatches"`
	// PerSecond is answers a second.
	PerSecond float64 `json:"per_second"`
	// Latency is of answers, Refusal of refusals, both from when the request was due; null where there is none.
	Latency *Latency `json:"latency_us"`
	Refusal *Latency `json:"refusal_us"`
}

// Latency is in microseconds, with three digits that count.
type Latency struct {
	P50  int64 `json:"p50"`
	P90  int64 `json:"p90"`
	P99  int64 `json:"p99"`
	P999 int64 `json:"p999"`
	Max  int64 `json:"max"`
}

// Detail is what was not as a case expects.
type Detail struct {
	File string `json:"file"`
	Case string `json:"case"`
	Step int    `json:"step"`
	Key  string `json:"key"`
	Want string `json:"want"`
	Got  string `json:"got"`
}

// Clean tells that nothing went wrong: no mismatch and no error. Refusals are no fault.
func (r *Report) Clean() bool { return r.Mismatches == 0 && r.Failed == 0 }

// Print writes the report for people: a table for each phase, what went wrong, and as its last line the sums. The texts in
// it are the service's: whoever prints to a terminal takes the control characters out first.
func (r *Report) Print(w io.Writer) error {
	b := bufio.NewWriter(w)
	for i, p := range r.Phases {
		rate := fmt.Sprintf("%g/s", p.Rate)
		if p.Rate == 0 {
			rate = "as fast as answered"
		}
		fmt.Fprintf(b, "phase %d: %s for %.1f s\n", i+1, rate, p.Seconds)
		fmt.Fprintf(b, "  %-8s %9s %9s %9s %7s %7s %9s | %8s %8s %8s %8s ms | refusal %8s %8s ms\n",
			"", "sent", "answered", "refused", "errors", "wrong", "per s", "p50", "p90", "p99", "max", "p50", "p99")
		for _, k := range p.Kinds {
			fmt.Fprintf(b, "  %-8s %9d %9d %9d %7d %7d %9.1f | %s %s %s %s    |         %s %s\n", k.Kind, k.Sent, k.Answered, k.Refused,
				k.Failed, k.Mismatches, k.PerSecond, ms(k.Latency, 50), ms(k.Latency, 90), ms(k.Latency, 99), ms(k.Latency, 100),
				ms(k.Refusal, 50), ms(k.Refusal, 99))
		}
		if p.Late > 0 {
			fmt.Fprintf(b, "  %d were not sent: too many were unanswered\n", p.Late)
		}
	}
	for _, d := range r.Details {
		where := "start"
		if d.Step > 0 {
			where = fmt.Sprintf("step %d", d.Step)
		}
		fmt.Fprintf(b, "MISMATCH %s: %s\n  %s: %s\n    want %s\n    got  %s\n", oneLine(d.File), oneLine(d.Case), where, oneLine(d.Key), oneLine(d.Want), oneLine(d.Got))
	}
	for _, e := range r.Errors {
		fmt.Fprintf(b, "ERROR %s\n", oneLine(e))
	}
	fmt.Fprintf(b, "%d sent, %d answered, %d refused, %d errors, %d mismatches\n", r.Sent, r.Answered, r.Refused, r.Failed, r.Mismatches)
	return b.Flush()
}

func oneLine(s string) string {
	return strings.NewReplacer("\r\n", " ↵ ", "\n", " ↵ ", "\r", " ↵ ").Replace(s)
}

func ms(l *Latency, percentile int) string {
	if l == nil {
		return fmt.Sprintf("%8s", "-")
	}
	us := map[int]int64{50: l.P50, 90: l.P90, 99: l.P99, 100: l.Max}[percentile]
	return fmt.Sprintf("%8.2f", float64(us)/1000)
}

// The histograms reach from a microsecond to ten minutes; what takes longer counts as that.
const (
	shortest = 1
	longest  = int64(10 * time.Minute / time.Microsecond)
	digits   = 3
)

// tally counts the requests of one kind in one phase.
type tally struct {
	mu                       sync.Mutex
	sent, failed, mismatched int64
	answers, refusals        *hdrhistogram.Histogram
}

func newTally() *tally {
	return &tally{answers: hdrhistogram.New(shortest, longest, digits), refusals: hdrhistogram.New(shortest, longest, digits)}
}

func (t *tally) answered(took time.Duration, mismatched bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent++
	if mismatched {
		t.mismatched++
	}
	_ = t.answers.RecordValue(within(took)) // within its range there is no error
}

func (t *tally) refused(took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent++
	_ = t.refusals.RecordValue(within(took))
}

func (t *tally) fault() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent++
	t.failed++
}

func within(d time.Duration) int64 { return min(max(d.Microseconds(), shortest), longest) }

func (t *tally) report(k Kind, seconds float64) KindReport {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := KindReport{
		Kind: k, Sent: t.sent, Answered: t.answers.TotalCount(), Refused: t.refusals.TotalCount(), Failed: t.failed, Mismatches: t.mismatched,
		Latency: latency(t.answers), Refusal: latency(t.refusals),
	}
	if seconds > 0 {
		r.PerSecond = float64(r.Answered) / seconds
	}
	return r
}

func latency(h *hdrhistogram.Histogram) *Latency {
	if h.TotalCount() == 0 {
		return nil
	}
	at := h.ValueAtPercentilesSlice([]float64{50, 90, 99, 99.9})
	return &Latency{P50: at[0], P90: at[1], P99: at[2], P999: at[3], Max: h.Max()}
}

// faults collects the first of what went wrong.
type faults struct {
	mu      sync.Mutex
	details []Detail
	errors  []string
}

const maxFaults = 20

func (f *faults) mismatch(c *conformance.Case, found []conformance.Mismatch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.details) == maxFaults || slices.ContainsFunc(f.details, func(d Detail) bool { return d.File == c.File && d.Case == c.Name }) {
		return
	}
	m := found[0]
	f.details = append(f.details, Detail{File: c.File, Case: c.Name, Step: m.Step, Key: m.Key, Want: m.Want, Got: m.Got})
}

func (f *faults) error(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := err.Error(); len(f.errors) < maxFaults && !slices.Contains(f.errors, s) {
		f.errors = append(f.errors, s)
	}
}
