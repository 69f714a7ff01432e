package cardrun

import (
	"context"
	"sync"
	"time"

	"example.com/cardrun/sandbox"
)

// wake gives the activation's guest for a round, thawing it where it was frozen. It is called by whoever runs the round,
// alone; mu, which he does not hold, is taken where others may look, such as [Session.Size].
func (a *activation) wake(r *Runtime, mu *sync.Mutex) (g *sandbox.Guest, err error) {
	mu.Lock()
	m := a.image
	a.image = nil // which the guest is no longer, after the round
	mu.Unlock()
	switch {
	case a.guest != nil:
		return a.guest, nil
	case a.frozen == nil:
		return nil, ErrEnded
	}
	if m != nil {
		g, err = r.engine.ThawAs(a.frozen, activationOf(a.options), !m.drawn)
	} else {
		g, err = r.engine.Thaw(a.frozen)
	}
	if err != nil {
		return nil, err
	}
	mu.Lock()
	defer mu.Unlock()
	a.guest, a.frozen = g, nil
	return g, nil
}

// settle brings the session to rest after a flight. The caller holds mu.
func (s *Session) settle(frozen bool) {
	s.busy = false
	clear(s.queue.edits) // they matter to a round in flight alone
	close(s.rest)
	if !frozen {
		s.rested()
	}
}

// rested sets the timer that freezes the guest of a session at rest. The caller holds mu.
func (s *Session) rested() {
	if s.o.FreezeAfter > 0 && s.act.guest != nil {
		s.timer = time.AfterFunc(s.o.FreezeAfter, s.freeze)
	}
}

// still takes the timer back. The caller holds mu.
func (s *Session) still() {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}

// freeze replaces the guest of a session at rest by what differs from the boot image. It is a flight of its own kind: it
// takes a worker, and events that come meanwhile wait. A guest that cannot be frozen, or whose frozen state would be larger
// than is good to keep, stays as it is.
func (s *Session) freeze() {
	s.mu.Lock()
	a, ctx := s.act, s.ctx
	if s.busy || a.guest == nil || ctx.Err() != nil {
		s.mu.Unlock()
		return
	}
	if m := a.image; m != nil { // it is frozen already
		a.close()
		a.frozen, a.image = m.frozen, m
		s.mu.Unlock()
		return
	}
	s.busy, s.rest = true, make(chan struct{})
	g := a.guest
	s.mu.Unlock()

	frozen, err := g.Freeze(ctx, frozenLimit)

	s.mu.Lock()
	if err == nil && a.guest == g {
		a.close()
		a.frozen = frozen
	}
	var f *flight
	if ctx.Err() == nil {
		f = s.prepare()
	}
	if f == nil {
		s.settle(true) // one that could not be frozen is tried again after its next round
	}
	s.mu.Unlock()
	if f != nil {
		s.fly(ctx, context.Background(), f)
	}
}

// frozenLimit is how many bytes of a guest may differ from the boot image for it to be frozen: with more, freezing and
// thawing cost more time than the memory is worth.
const frozenLimit = 4 << 20

// Frozen tells that the session keeps no guest of its own at this moment: it is frozen, or its activation has ended.
func (s *Session) Frozen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.act.guest == nil
}
