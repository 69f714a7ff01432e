package server

import (
	"container/heap"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// turns decides who runs on a worker next. It is fair among clients, not among requests: each has a virtual time, which
// advances by the time that its work took; whoever is furthest behind goes first, and within a client the oldest. A client that was away comes back at the time of the others, so that nobody saves up.
//
// What a piece of work will take is not known beforehand. It is charged with what the client's work took lately, and the
// difference afterwards; so a client whose cards use up their 250 ms pays for them before they end.
type turns struct {
	workers  int
	patience time.Duration // longest wait that is begun
	most     int           // that may wait
	observe  func(waited time.Duration)
	refused  func(reason string)

	mu      sync.Mutex
	free    int
	shares  map[string]*share
	behind  byTime  // the shares for which somebody waits
	active  int     // shares for which somebody waits or runs
	clock   float64 // virtual time of the share that was served last, in seconds
	waiting int
	typical float64 // what a piece of work takes, over all clients, in seconds
}

// share is one client's part.
type share struct {
	name    string
	time    float64 // virtual
	cost    float64 // what a piece of its work takes lately, in seconds
	running int
	waiting []*waiter // oldest first; those that gave up are taken out
	at      int       // in behind, or -1
	seen    time.Time
}

type waiter struct {
	share   *share
	turn    chan struct{} // closed when it is its turn, or when it is refused
	refused *Problem
	patient bool
	since   time.Time
	guess   float64 // what was charged when its turn came
}

// turn is the right to use a worker, once.
type turn struct {
	t     *turns
	share *share
	start time.Time
	guess float64 // what was charged
	over  atomic.Bool
}

const (
	heavy      = 0.020       // seconds; work that is felt by others who wait for it
	recent     = time.Second // how long a client counts as present
	mostShares = 4096        // remembered, beside those that are active
	smoothing  = 1.0 / 8     // weight of the newest in averages
	firstGuess = 0.001       // seconds, before anything was measured
)

func newTurns(workers int, patience time.Duration, most int) *turns {
	return &turns{
		workers: workers, free: workers, patience: patience, most: most, shares: make(map[string]*share), typical: firstGuess,
		observe: func(time.Duration) {}, refused: func(string) {},
	}
}

// full tells whether a request of that client would be refused now, and is cheap: it is asked before anything of the
// request is read.
func (t *turns) full(client string) *Problem {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refuse(t.shares[client])
}

// refuse tells whether a share can take no more. The caller holds mu.
func (t *turns) refuse(s *share) *Problem {
	if s == nil || len(s.waiting) == 0 {
		return nil
	}
	wait := time.Duration(float64(len(s.waiting)+1) * s.cost * float64(max(t.active, 1)) / float64(t.workers) * float64(time.Second))
	if wait > t.patience/2 {
		return overloaded(wait)
	}
	return nil
}

func overloaded(wait time.Duration) *Problem {
	p := problem(503, codeOverloaded, "all workers are taken and too many wait already; try again after the time in Retry-After")
	p.retry = min(max(wait, time.Second), 30*time.Second)
	return p
}

// enter waits for a worker: not at all when too many wait already, and no longer than patience. patient is for work that
// was accepted before: it waits as long as it takes. The error is a *Problem, or the context's.
func (t *turns) enter(ctx context.Context, client string, patient bool) (*turn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t.mu.Lock()
	s := t.share(client)
	if !patient {
		if p := t.refuse(s); p != nil {
			t.mu.Unlock()
			t.refused("backlog")
			return nil, p
		}
	}
	if t.free > 0 && len(t.behind) == 0 && !t.held(s) {
		turn := t.begin(s)
		t.mu.Unlock()
		t.observe(0)
		return turn, nil
	}
	w := &waiter{share: s, turn: make(chan struct{}), patient: patient, since: time.Now()}
	if !patient && t.waiting >= t.most && !t.pushOut(s) {
		t.mu.Unlock()
		t.refused("queue")
		return nil, overloaded(t.patience)
	}
	t.wait(w)
	t.next()
	t.mu.Unlock()

	var timeout <-chan time.Time
	if !patient {
		timer := time.NewTimer(t.patience)
		defer timer.Stop()
		timeout = timer.C
	}
	var err error
	select {
	case <-w.turn:
	case <-ctx.Done():
		err = fmt.Errorf("wait for a worker: %w", ctx.Err())
	case <-timeout:
		err = overloaded(t.patience)
	}
	t.observe(time.Since(w.since))
	if err != nil && t.leave(w) {
		if ctx.Err() == nil {
			t.refused("wait")
		}
		return nil, err
	}
	if w.refused != nil {
		t.refused("queue")
		return nil, w.refused
	}
	turn := &turn{t: t, share: s, start: time.Now(), guess: w.guess}
	if err != nil { // it came at the same moment
		turn.done()
		return nil, err
	}
	return turn, nil
}

// share finds or makes a client's. The caller holds mu.
func (t *turns) share(client string) *share {
	s := t.shares[client]
	if s == nil {
		if len(t.shares) >= mostShares {
			t.forget()
		}
		s = &share{name: client, at: -1, cost: t.typical}
		t.shares[client] = s
	}
	s.seen = time.Now()
	if s.running == 0 && len(s.waiting) == 0 {
		s.time = max(s.time, t.clock)
	}
	return s
}

// forget drops the shares of clients that are not active, but for those seen lately who are known to be heavy; all where
// that is not enough. The caller holds mu.
func (t *turns) forget() {
	for _, all := range []bool{false, true} {
		for name, s := range t.shares {
			idle := s.running == 0 && len(s.waiting) == 0
			if idle && (all || s.cost < heavy || time.Since(s.seen) > time.Minute) {
				delete(t.shares, name)
			}
		}
		if len(t.shares) < mostShares*3/4 {
			return
		}
	}
}

// wait puts a waiter in line. The caller holds mu.
func (t *turns) wait(w *waiter) {
	s := w.share
	if s.running == 0 && len(s.waiting) == 0 {
		t.active++
	}
	s.waiting = append(s.waiting, w)
	t.waiting++
	if s.at < 0 {
		heap.Push(&t.behind, s)
	}
}

// leave takes a waiter out of line; false when it is there no more. The caller does not hold mu.
func (t *turns) leave(w *waiter) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for n, other := range w.share.waiting {
		if other == w {
			t.remove(w.share, n)
			return true
		}
	}
	return false
}

// remove takes the nth waiter of a share out. The caller holds mu.
func (t *turns) remove(s *share, n int) {
	copy(s.waiting[n:], s.waiting[n+1:])
	s.waiting[len(s.waiting)-1] = nil
	s.waiting = s.waiting[:len(s.waiting)-1]
	t.waiting--
	if len(s.waiting) == 0 {
		heap.Remove(&t.behind, s.at)
		if s.running == 0 {
			t.active--
		}
	}
}

// pushOut refuses the newest of those who wait for the client that has the most work waiting, to make room for one of
// another; false when there is nobody with more waiting than newcomer. The caller holds mu.
func (t *turns) pushOut(newcomer *share) bool {
	var most *share
	for _, s := range t.behind {
		if most == nil || float64(len(s.waiting))*s.cost > float64(len(most.waiting))*most.cost {
			most = s
		}
	}
	if most == nil || most == newcomer || float64(len(most.waiting))*most.cost <= float64(len(newcomer.waiting)+1)*newcomer.cost {
		return false
	}
	for n := len(most.waiting) - 1; n >= 0; n-- {
		if w := most.waiting[n]; !w.patient {
			t.remove(most, n)
			w.refused = overloaded(t.patience)
			close(w.turn)
			return true
		}
	}
	return false
}

// begin takes a worker for a share and charges it. The caller holds mu.
func (t *turns) begin(s *share) *turn {
	if s.running == 0 && len(s.waiting) == 0 {
		t.active++
	}
	s.running++
	t.free--
	t.clock = max(t.clock, s.time)
	s.time += s.cost
	return &turn{t: t, share: s, start: time.Now(), guess: s.cost}
}

// held tells whether a share must wait though a worker is free: a client whose work is heavy leaves one to others while there
// are any. What it takes cannot be interrupted, and they would wait for the whole of it. The caller holds mu.
func (t *turns) held(s *share) bool {
	return s.cost >= heavy && t.workers > 1 && s.running >= t.workers-1 && t.others(s)
}

// next gives free workers to those who wait and are not held. The caller holds mu.
func (t *turns) next() {
	var passed []*share
	for t.free > 0 && len(t.behind) > 0 {
		s := heap.Pop(&t.behind).(*share)
		if t.held(s) {
			passed = append(passed, s)
			continue
		}
		w := s.waiting[0]
		w.guess = s.cost
		s.waiting[0] = nil
		s.waiting = s.waiting[1:]
		t.waiting--
		s.running++
		t.free--
		t.clock = max(t.clock, s.time)
		s.time += s.cost
		if len(s.waiting) > 0 {
			heap.Push(&t.behind, s)
		}
		close(w.turn)
	}
	for _, s := range passed {
		heap.Push(&t.behind, s)
	}
}

// others tells whether other clients were there lately. The caller holds mu.
func (t *turns) others(s *share) bool {
	for _, other := range t.shares {
		if other != s && (other.running > 0 || len(other.waiting) > 0 || time.Since(other.seen) < recent) {
			return true
		}
	}
	return false
}

// done gives the worker back. It may be called once or more.
func (u *turn) done() {
	if u.over.Swap(true) {
		return
	}
	took := time.Since(u.start).Seconds()
	t, s := u.t, u.share
	t.mu.Lock()
	defer t.mu.Unlock()
	s.time += took - u.guess
	s.cost += (took - s.cost) * smoothing
	t.typical += (took - t.typical) * smoothing
	s.running--
	t.free++
	if s.at >= 0 {
		heap.Fix(&t.behind, s.at)
	}
	if s.running == 0 && len(s.waiting) == 0 {
		t.active--
	}
	t.next()
}

// state is for metrics.
func (t *turns) state() (waiting, busy int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting, t.workers - t.free
}

// turnKey is the key of the turn in a context, and of its client.
type turnKey struct{}

// admit is what the engine asks before it runs something. Whoever has a turn goes on; all else was accepted before, such
// as the rounds of a session, and waits for one.
func (t *turns) admit(ctx context.Context) (func(), error) {
	if u, ok := ctx.Value(turnKey{}).(*turn); ok && !u.over.Load() {
		return func() {}, nil
	}
	u, err := t.enter(ctx, requestOf(ctx).client.name, true)
	if err != nil {
		return nil, err
	}
	return u.done, nil
}

// byTime is a heap of shares.
type byTime []*share

func (b byTime) Len() int           { return len(b) }
func (b byTime) Less(i, j int) bool { return b[i].time < b[j].time }
func (b byTime) Swap(i, j int) {
	b[i], b[j] = b[j], b[i]
	b[i].at, b[j].at = i, j
}
func (b *byTime) Push(x any) {
	s := x.(*share)
	s.at = len(*b)
	*b = append(*b, s)
}
func (b *byTime) Pop() any {
	old := *b
	s := old[len(old)-1]
	old[len(old)-1] = nil
	*b = old[:len(old)-1]
	s.at = -1
	return s
}
