package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"example.com/cardrun"
)

// Options say how cases are run. The zero value is good.
type Options struct {
	// Workers is how many cases are played at once. Default: the runtime's workers.
	Workers int
	// Done is called after each case, never twice at once. Default: nothing is called.
	Done func(done, all int)
}

// Run plays all cases on one runtime, each in a session of its own, and gives their results in the same order. Cases that
// go by the clock come last, one at a time, since a busy machine would make them tell of itself.
//
// When ctx ends, the cases not yet played have its error.
func Run(ctx context.Context, r *cardrun.Runtime, cases []Case, o Options) Results {
	if o.Workers < 1 {
		o.Workers = r.Workers()
	}
	results := make(Results, len(cases))
	var free, timed []int
	for i := range cases {
		if cases[i].Timed() {
			timed = append(timed, i)
		} else {
			free = append(free, i)
		}
	}
	var (
		mu   sync.Mutex
		done int
	)
	play := func(i int) {
		results[i] = cases[i].run(ctx, r)
		mu.Lock()
		defer mu.Unlock()
		done++
		if o.Done != nil {
			o.Done(done, len(cases))
		}
	}
	next := make(chan int)
	var wait sync.WaitGroup
	for range min(o.Workers, len(free)) {
		wait.Go(func() {
			for i := range next {
				play(i)
			}
		})
	}
	for _, i := range free {
		next <- i
	}
	close(next)
	wait.Wait()
	for _, i := range timed {
		play(i)
	}
	return results
}

// run plays one case.
func (c *Case) run(ctx context.Context, r *cardrun.Runtime) Result {
	start := time.Now()
	res := Result{Case: c}
	res.Mismatches, res.Err = c.play(ctx, r)
	res.Elapsed = time.Since(start)
	return res
}

func (c *Case) play(ctx context.Context, r *cardrun.Runtime) ([]Mismatch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	card := cardrun.Decode(c.Body)
	session, snapshot, err := r.Open(ctx, &card, cardrun.SessionOptions{RenderOptions: cardrun.RenderOptions{Seed: c.Seed, Now: c.Now}})
	if err != nil {
		return nil, fmt.Errorf("open session: %w", err)
	}
	if session != nil {
		defer session.Close()
	}
	found := c.Expect.Check(snapshot)
	for i := range c.Steps {
		if session != nil {
			if err := deliver(ctx, session, &c.Steps[i]); err != nil {
				return found, fmt.Errorf("step %d: %w", i+1, err)
			}
			snapshot = session.Snapshot()
		}
		for _, m := range c.Steps[i].Expect.Check(snapshot) {
			m.Step = i + 1
			found = append(found, m)
		}
	}
	if snapshot.Outcome != cardrun.Failed {
		return found, nil
	}
	m, err := survives(ctx, r)
	for i := range m {
		m[i].Step = len(c.Steps)
	}
	return append(found, m...), err
}

// deliver sends a step's events and waits for the rounds that they cause. What comes after the end of the activation is
// dropped.
func deliver(ctx context.Context, s *cardrun.Session, step *Step) error {
	switch {
	case step.Timed():
		start := time.Now()
		for _, e := range step.Events {
			if e.AtMS != nil {
				at := start.Add(time.Duration(*e.AtMS * float64(time.Millisecond)))
				if err := sleepUntil(ctx, at); err != nil {
					return err
				}
			}
			if ended, err := post(s, e.event()); ended || err != nil {
				return err
			}
		}
		return wait(ctx, s)
	case step.Burst:
		if ended, err := burst(s, step.Events); ended || err != nil {
			return err
		}
		return wait(ctx, s)
	}
	for _, e := range step.Events {
		_, err := s.Send(ctx, e.event())
		if ended, err := taken(err); ended || err != nil {
			return err
		}
	}
	return nil
}

// burst sends events at once. A malformed one makes the session refuse them all; then the others go without it.
func burst(s *cardrun.Session, list []Event) (ended bool, err error) {
	events := make([]cardrun.Event, len(list))
	for i, e := range list {
		events[i] = e.event()
	}
	_, _, err = s.Post(events...)
	if !errors.Is(err, cardrun.ErrEvent) {
		return taken(err)
	}
	for _, e := range events {
		if ended, err := post(s, e); ended || err != nil {
			return ended, err
		}
	}
	return false, nil
}

func post(s *cardrun.Session, e cardrun.Event) (ended bool, err error) {
	_, _, err = s.Post(e)
	return taken(err)
}

// taken tells what became of events: an activation that has ended takes none, and a malformed one is refused, as no page
// would have sent it (D34). Neither is a fault of the run.
func taken(err error) (ended bool, _ error) {
	switch {
	case errors.Is(err, cardrun.ErrEnded):
		return true, nil
	case err == nil || errors.Is(err, cardrun.ErrEvent):
		return false, nil
	}
	return false, fmt.Errorf("send events: %w", err)
}

func wait(ctx context.Context, s *cardrun.Session) error {
	if err := s.Wait(ctx); err != nil {
		return fmt.Errorf("wait for rounds: %w", err)
	}
	return nil
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
