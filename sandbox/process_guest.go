package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/klauspost/compress/s2"

	"example.com/cardrun/limits"
)

// lodging is where a guest in a worker process is. The pool's mu guards it, but for closed, which is guarded by Guest.mu.
type lodging struct {
	p      *process  // nil when it is nowhere
	begin  beginning // how it comes into a process, where it is in none
	lost   error     // its process ended with it
	closed bool
}

// lodge makes a guest that begins in a worker process at its first round. frozen is nil for a fresh one.
func (e *Engine) lodge(a Activation, frozen []byte, kind byte) (*Guest, error) {
	if err := e.come(frozen != nil); err != nil {
		return nil, err
	}
	b := beginning{kind: kind, seed: a.seed(), now: realClock, frozen: frozen}
	if !a.Now.IsZero() {
		b.now = a.Now.UnixNano()
	}
	return &Guest{engine: e, budget: e.budget, fuel: e.fuel, now: a.Now, once: a.Once, away: &lodging{begin: b}}, nil
}

// lodgeFrozen is thaw where guests are in worker processes. What is in the pages is looked at there, in the first round.
func (e *Engine) lodgeFrozen(frozen []byte, a *Activation, reseed bool) (*Guest, error) {
	if _, _, err := e.unseal(frozen); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFrozen, err)
	}
	kind := byte(beginThaw)
	switch {
	case reseed:
		kind = beginReseed
	case a != nil:
		kind = beginThawAs
	default:
		a = &Activation{}
	}
	return e.lodge(*a, bytes.Clone(frozen), kind)
}

// ask runs one round, or compiles, in a worker process.
func (g *Guest) ask(ctx context.Context, q question) (Result, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.unsaid; err != nil {
		g.unsaid = nil
		return Result{}, err
	}
	if g.ended {
		return Result{}, errEnded
	}
	if len(q.Input) > bufferRoom || len(q.Script) > bufferRoom {
		g.ended = true
		return Result{}, endFault.explain(ctx, g.budget, g.fuel, errRoom(max(len(q.Input), len(q.Script))))
	}
	vacate, err := g.engine.occupy(ctx)
	if err != nil {
		return Result{}, err
	}
	defer vacate()
	l := g.engine.pool
	q.budget, q.fuel, q.once = g.budget, g.fuel, g.once
	start := time.Now()
	p, a, err := g.question(ctx, q)
	if err != nil {
		return Result{Usage: Usage{Elapsed: time.Since(start)}}, err
	}
	res := Result{Output: a.output, Usage: a.usage}
	g.ended = a.ending != endGood || g.once
	if a.ending > endThrown {
		g.engine.stopped()
	}
	if a.ending == endFault {
		p.kill() // whatever the card did to its engine, the process is not used again
	}
	l.giveBack(g, p, !g.ended)
	switch a.ending {
	case endGood:
		return res, nil
	case endThrown:
		return res, &Thrown{Detail: a.detail, Kind: a.kind}
	}
	return res, a.ending.explain(ctx, g.budget, g.fuel, nil)
}

// question puts a question to the guest's process, or to one that is free. The process is the caller's to give back. A process
// that ended before it read the question costs nobody anything but time, where the guest was not in it.
func (g *Guest) question(ctx context.Context, q question) (*process, answer, error) {
	l := g.engine.pool
	for tries := 0; ; tries++ {
		p, begin, err := l.lease(ctx, g)
		if err != nil {
			return nil, answer{}, g.lose(err)
		}
		q.begin = begin
		a, err := p.ask(ctx, q)
		switch err {
		case nil:
			return p, a, nil
		case errLeft:
			if q.mode == modeOpen {
				l.linger(g, p)
			} else {
				l.abandon(g, p)
				g.ended = true
			}
			return nil, answer{}, endContext.explain(ctx, g.budget, g.fuel, nil)
		}
		l.giveBack(g, p, false)
		if begin.kind == beginNot || tries == 2 || !errors.Is(err, errUnread) {
			g.ended = true
			return nil, answer{}, g.gone(err)
		}
	}
}

// lose is the error of a guest that got no process: its own is gone, or there is none, or the caller would not wait.
func (g *Guest) lose(err error) error {
	var none *limits.Error
	switch {
	case errors.As(err, &none):
		g.ended = true
	case errors.Is(err, errProcess):
		g.ended = true
		return g.gone(err)
	}
	return err
}

// gone is the error of a round whose process did not answer.
func (g *Guest) gone(err error) error {
	return &limits.Error{Code: limits.Engine, Message: "the worker process that ran the card failed and was replaced; the card's state is lost", Cause: err}
}

// freezeAway is Freeze where guests are in worker processes. A guest that is in none is frozen already, unless it has never
// run: then it begins for that.
func (g *Guest) freezeAway(ctx context.Context, limit int) ([]byte, error) {
	e, l := g.engine, g.engine.pool
	vacate, err := e.occupy(ctx)
	if err != nil {
		return nil, err
	}
	defer vacate()
	l.mu.Lock()
	frozen := g.away.begin.frozen
	kept := g.away.p == nil && g.away.begin.kind == beginThaw
	l.mu.Unlock()
	if kept {
		if n, err := s2.DecodedLen(frozen[frozenPages:]); err != nil || n > limit {
			return nil, ErrTooLarge
		}
		return bytes.Clone(frozen), nil
	}
	p, a, err := g.question(ctx, question{budget: freezeTime, mode: modeOpen})
	if err != nil {
		return nil, err
	}
	if a.ending != endGood {
		g.ended = true
		l.giveBack(g, p, false)
		return nil, a.ending.explain(ctx, g.budget, g.fuel, nil)
	}
	frozen, err = p.freeze(ctx, limit, l.identity[:], false)
	if err == errLeft {
		l.linger(g, p)
		return nil, fmt.Errorf("freeze guest: %w", ctx.Err())
	}
	if err != nil && !errors.Is(err, ErrTooLarge) {
		g.ended = true
		l.giveBack(g, p, false)
		return nil, g.gone(err)
	}
	l.giveBack(g, p, true)
	return frozen, err
}

// leave ends the guest. The caller holds mu.
func (g *Guest) leave() {
	g.engine.pool.evict(g)
	g.away.closed, g.ended = true, true
	g.engine.gone()
}
