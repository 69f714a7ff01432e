package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"example.com/cardrun"
	"example.com/cardrun/conformance"
	"example.com/cardrun/limits"
)

// item is a case with its requests.
type item struct {
	c            *conformance.Case
	render, open []byte
	session      bool // of a hostile one: whether it is a session
}

func (r requests) item(c *conformance.Case) *item {
	query := url.Values{}
	if c.Seed != nil {
		query.Set("seed", strconv.FormatUint(*c.Seed, 10))
	}
	if !c.Now.IsZero() {
		query.Set("now", c.Now.Format(time.RFC3339Nano))
	}
	q := ""
	if len(query) > 0 {
		q = "?" + query.Encode()
	}
	return &item{c: c, render: r.post("/v1/render"+q, c.Body), open: r.post("/v1/sessions"+q, c.Body), session: len(c.Steps) > 0}
}

// player plays one item as one caller would.
type player struct {
	requests
	client *client
	check  *checker
	faults *faults
	// kinds are the tallies of the phase in which the item was due.
	kinds map[Kind]*tally
	// as is Hostile where every request counts as that, else empty.
	as Kind
}

// errOver ends a session that need not be played on: the service refused, or something failed that has been counted.
var errOver = errors.New("over")

func (p *player) tally(k Kind) *tally {
	if p.as != "" {
		k = p.as
	}
	return p.kinds[k]
}

// ask sends a request. The error is errOver when there is no answer to look at: it was refused, or failed, and is counted.
func (p *player) ask(ctx context.Context, k Kind, request []byte, due time.Time) (answer, error) {
	a, err := p.client.do(ctx, request)
	switch {
	case ctx.Err() != nil:
		return a, errOver // the run was broken off
	case err != nil:
		return a, p.fail(k, err)
	case a.status != http.StatusServiceUnavailable && a.status != http.StatusTooManyRequests:
		return a, nil
	case a.retryAfter == "":
		return a, p.fail(k, fmt.Errorf("status %d without Retry-After", a.status))
	}
	p.tally(k).refused(time.Since(due))
	return a, errOver
}

func (p *player) fail(k Kind, err error) error {
	p.tally(k).fault()
	p.faults.error(fmt.Errorf("%s: %w", k, err))
	return errOver
}

// render plays the start of a case as a render.
func (p *player) render(ctx context.Context, it *item, due time.Time) {
	a, err := p.ask(ctx, Render, it.render, due)
	if err != nil {
		return
	}
	took := time.Since(due)
	switch {
	case a.status == http.StatusOK:
		_ = p.judge(Render, it, 0, a.body, false, took)
	case a.status == http.StatusUnprocessableEntity && !a.problem():
		_ = p.judge(Render, it, 0, a.body, true, took)
	default:
		p.unexpected(Render, it, a, took)
	}
}

// judge counts an answer that holds a Snapshot.
func (p *player) judge(k Kind, it *item, step int, text []byte, rejected bool, took time.Duration) error {
	v, err := p.check.check(it, step, text)
	if err != nil {
		return p.fail(k, err)
	}
	if (v.outcome == cardrun.Rejected) != rejected {
		return p.fail(k, fmt.Errorf("the status does not fit a Snapshot with outcome %s", v.outcome))
	}
	p.tally(k).answered(took, len(v.found) > 0)
	if len(v.found) > 0 {
		p.faults.mismatch(it.c, v.found)
	}
	return nil
}

// unexpected counts an answer that is no Snapshot. A problem that holds the Snapshot of a rejection, or has the code of one,
// counts as one.
func (p *player) unexpected(k Kind, it *item, a answer, took time.Duration) {
	f := a.fault()
	if a.status == http.StatusUnprocessableEntity && len(f.Snapshot) > 0 {
		_ = p.judge(k, it, 0, f.Snapshot, true, took)
		return
	}
	problem := f.Code
	if a.status < 400 || a.status > 499 || problem == "" {
		_ = p.fail(k, fmt.Errorf("status %d, code %q", a.status, problem))
		return
	}
	s := &cardrun.Snapshot{Outcome: cardrun.Rejected, Diagnostics: []cardrun.Diagnostic{{Severity: limits.SeverityError, Code: problem, Message: fmt.Sprintf("status %d", a.status)}}}
	found := it.c.Expect.Check(s)
	p.tally(k).answered(took, len(found) > 0)
	if len(found) > 0 {
		m := conformance.Mismatch{Key: "status", Want: "a Snapshot", Got: fmt.Sprintf("status %d, code %q", a.status, problem)}
		p.faults.mismatch(it.c, append([]conformance.Mismatch{m}, found...))
	}
}

// session plays a whole case: it opens a session, sends the events of each step, looks, and ends the session.
func (p *player) session(ctx context.Context, it *item, due time.Time) {
	a, err := p.ask(ctx, Open, it.open, due)
	if err != nil {
		return
	}
	took := time.Since(due)
	switch {
	case a.status == http.StatusCreated:
	case a.status == http.StatusUnprocessableEntity && !a.problem():
		_ = p.judge(Open, it, 0, a.body, true, took)
		return
	default:
		p.unexpected(Open, it, a, took)
		return
	}
	id, snapshot, err := opened(a.body)
	if err != nil {
		_ = p.fail(Open, err)
		return
	}
	if p.judge(Open, it, 0, snapshot, false, took) == nil {
		p.steps(ctx, it, "/v1/sessions/"+id)
	}
	due = time.Now()
	switch a, err := p.ask(ctx, Close, p.del("/v1/sessions/"+id), due); {
	case err != nil:
	case a.status != http.StatusNoContent:
		_ = p.fail(Close, fmt.Errorf("status %d, code %q", a.status, a.fault().Code))
	default:
		p.tally(Close).answered(time.Since(due), false)
	}
}

func (p *player) steps(ctx context.Context, it *item, path string) {
	for i := range it.c.Steps {
		if err := p.deliver(ctx, path+"/events", &it.c.Steps[i]); err != nil {
			return
		}
		due := time.Now()
		a, err := p.ask(ctx, Look, p.get(path), due)
		if err != nil {
			return
		}
		if a.status != http.StatusOK {
			_ = p.fail(Look, fmt.Errorf("status %d, code %q", a.status, a.fault().Code))
			return
		}
		if p.judge(Look, it, i+1, a.body, false, time.Since(due)) != nil {
			return
		}
	}
}

// deliver sends the events of a step as package conformance does: one by one, at once, or by the clock.
func (p *player) deliver(ctx context.Context, path string, s *conformance.Step) error {
	switch {
	case s.Timed():
		return p.byTheClock(ctx, path, s.Events)
	case s.Burst:
		_, err := p.burst(ctx, path, s.Events)
		return err
	}
	for _, e := range s.Events {
		if ended, err := p.burst(ctx, path, []conformance.Event{e}); ended || err != nil {
			return err
		}
	}
	return nil
}

// burst sends events at once. Of a malformed one none of them is taken; then the others go without it.
func (p *player) burst(ctx context.Context, path string, events []conformance.Event) (ended bool, err error) {
	body, err := json.Marshal(wire(events))
	if err != nil {
		return false, p.fail(Send, err)
	}
	due := time.Now()
	a, err := p.ask(ctx, Send, p.post(path, body), due)
	if err != nil {
		return false, err
	}
	switch a.status {
	case http.StatusOK:
		p.tally(Send).answered(time.Since(due), false)
		return false, nil
	case http.StatusConflict:
		p.tally(Send).answered(time.Since(due), false)
		return true, nil
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		malformed := false
		for _, e := range wire(events) {
			malformed = malformed || e.Check() != nil
		}
		if !malformed {
			break
		}
		p.tally(Send).answered(time.Since(due), false)
		for _, e := range events {
			if len(events) == 1 {
				break
			}
			if ended, err := p.burst(ctx, path, []conformance.Event{e}); ended || err != nil {
				return ended, err
			}
		}
		return false, nil
	}
	return false, p.fail(Send, fmt.Errorf("status %d, code %q", a.status, a.fault().Code))
}

func wire(events []conformance.Event) []cardrun.Event {
	out := make([]cardrun.Event, len(events))
	for i, e := range events {
		out[i] = cardrun.Event{ID: e.ID, Type: e.Type, Value: e.Value, Checked: e.Checked}
	}
	return out
}

// byTheClock sends each event at its time, with those that have none, whether or not earlier ones have been answered.
func (p *player) byTheClock(ctx context.Context, path string, events []conformance.Event) error {
	start := time.Now()
	var wait sync.WaitGroup
	var mu sync.Mutex
	var first error
	for len(events) > 0 {
		n := 1
		for n < len(events) && events[n].AtMS == nil {
			n++
		}
		if at := events[0].AtMS; at != nil {
			if err := sleepUntil(ctx, start.Add(time.Duration(*at*float64(time.Millisecond)))); err != nil {
				first = errOver
				break
			}
		}
		group := events[:n]
		events = events[n:]
		wait.Go(func() {
			if _, err := p.burst(ctx, path, group); err != nil {
				mu.Lock()
				first = err
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return first
}

func sleepUntil(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
