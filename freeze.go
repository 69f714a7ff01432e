package cardrun

import (
	"time"

	"example.com/cardrun/sandbox"
)

// wake gives the activation's guest, thawing it where it was frozen. It is called by whoever runs the round, alone.
func (a *activation) wake(r *Runtime) (*sandbox.Guest, error) {
	switch {
	case a.guest != nil:
		return a.guest, nil
	case a.frozen == nil:
		return nil, ErrEnded
	}
	g, err := r.engine.Thaw(a.frozen)
	if err != nil {
		return nil, err
	}
	a.guest, a.frozen = g, nil
	return g, nil
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

// freeze replaces the guest of a session at rest by what differs from the boot image. A guest that cannot be frozen
// stays as it is.
func (s *Session) freeze() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy || s.act.guest == nil {
		return
	}
	if frozen, err := s.act.guest.Freeze(); err == nil {
		s.act.close()
		s.act.frozen = frozen
	}
}
