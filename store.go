package cardrun

import (
	"container/list"
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"
)

// key names a run whose result may be remembered: the card and, as far as the result depends on them, seed and time.
// What else decides a result is the Runtime's own, as the store is.
type key struct {
	card   [sha256.Size]byte
	seed   uint64
	now    int64 // nanoseconds since 1970
	seeded bool
	timed  bool
}

// keyOf gives the key of a run, or false for one that cannot be told from another by it: a card whose JSON had more in it
// than the five members, or less, and a time that no clock of a guest can show.
func keyOf(c *Card, o RenderOptions) (k key, ok bool) {
	if len(c.faults) > 0 || !c.whole() || activationOf(o).Check() != nil {
		return key{}, false
	}
	k.card = c.sum()
	if o.Seed != nil {
		k.seed, k.seeded = *o.Seed, true
	}
	if !o.Now.IsZero() {
		k.now, k.timed = o.Now.UnixNano(), true
	}
	return k, true
}

// narrow is the key of all runs that give the same result: those with another seed where none was used, and so with the
// time.
func (k key) narrow(seed, now bool) key {
	if !seed {
		k.seed, k.seeded = 0, false
	}
	if !now {
		k.now, k.timed = 0, false
	}
	return k
}

// result is what a run gave.
type result[V any] struct {
	value V
	size  int // in bytes, about
	// lasting tells that another run with the same key would give the same; a timeout, say, is not.
	lasting bool
	// random and clock tell that the run drew a random number and looked at the clock.
	random, clock bool
}

// store remembers results, up to a number of bytes, and lets one run serve all who ask for the same at the same time.
//
// It is a segmented LRU: what is asked for again moves to a part of its own, four fifths of the whole, and a flood of
// runs that nobody repeats goes through the last fifth alone. One entry may take an eighth of the whole.
type store[V any] struct {
	max int

	mu        sync.Mutex // guards what follows; never held while a run is under way
	entries   map[key]*list.Element
	probation *list.List // of *entry[V], the latest first
	protected *list.List
	size      int // of all entries
	safe      int // of those that are protected
	flights   map[key]*flightOf[V]
	stats     CacheStats
}

type entry[V any] struct {
	key       key
	value     V
	size      int
	fresh     bool // no result, but the knowledge that every run is to be a new one
	protected bool
}

// flightOf is a run that others wait for.
type flightOf[V any] struct {
	begun chan struct{} // closed when it has its worker, and so will end soon
	done  chan struct{} // closed when what follows is set
	value V
	kept  bool
}

// flightPatience is how long a run that waits for its worker is waited for: it may stand in a line of its own caller's making,
// in which nobody else should stand.
const flightPatience = 5 * time.Millisecond

const entrySize = 256 // what an entry takes beside its value

// CacheStats says how a cache does.
type CacheStats struct {
	// Hits counts what was answered from memory, Misses what had to be run. A run for which another was waited for in vain
	// is a miss.
	Hits, Misses int64
	// Evicted counts entries that made room for others.
	Evicted int64
	// Entries and Bytes are what is held; bytes are counted by what strings and trees take, not measured.
	Entries int
	Bytes   int
}

func newStore[V any](max int) *store[V] {
	if max <= 0 {
		return nil
	}
	return &store[V]{
		max: max, entries: make(map[key]*list.Element), probation: list.New(), protected: list.New(),
		flights: make(map[key]*flightOf[V]),
	}
}

// peek gives what is remembered under k, if there is anything.
func (s *store[V]) peek(k key) (v V, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.find(k)
	if e == nil || e.fresh {
		return v, false
	}
	s.stats.Hits++
	return e.value, true
}

// do gives what is remembered under k, and true; or it runs, remembers, and gives what came of that. run calls begun, at
// most once, when it has its worker. Who comes while the same is run waits for it, once, so that runs of which nothing can be
// remembered do not stand in a line. The error is run's, or that of ctx.
func (s *store[V]) do(ctx context.Context, k key, run func(begun func()) (result[V], error)) (v V, hit bool, err error) {
	s.mu.Lock()
	e := s.find(k)
	if e != nil && !e.fresh {
		s.stats.Hits++
		s.mu.Unlock()
		return e.value, true, nil
	}
	other := s.flights[k]
	if e != nil || other == nil {
		s.stats.Misses++
		f := (*flightOf[V])(nil)
		if e == nil {
			f = &flightOf[V]{begun: make(chan struct{}), done: make(chan struct{})}
			s.flights[k] = f
		}
		s.mu.Unlock()
		return s.run(k, f, run)
	}
	s.mu.Unlock()
	done, err := other.wait(ctx)
	if err != nil {
		return v, false, err
	}
	s.mu.Lock()
	if done && other.kept {
		s.stats.Hits++
		s.mu.Unlock()
		return other.value, true, nil
	}
	s.stats.Misses++
	s.mu.Unlock()
	return s.run(k, nil, run)
}

// wait waits for the end of a run, but not for its beginning for longer than flightPatience; then done is false.
func (f *flightOf[V]) wait(ctx context.Context) (done bool, err error) {
	timer := time.NewTimer(flightPatience)
	defer timer.Stop()
	select {
	case <-f.begun:
	case <-f.done:
	case <-timer.C:
		return false, nil
	case <-ctx.Done():
	}
	select {
	case <-f.done:
		return true, nil
	case <-ctx.Done():
		return false, fmt.Errorf("wait for the same card: %w", ctx.Err())
	}
}

// run runs, and tells those who wait for f.
func (s *store[V]) run(k key, f *flightOf[V], run func(begun func()) (result[V], error)) (v V, hit bool, err error) {
	var r result[V]
	defer func() { // also when run panics: nobody is to wait for ever
		s.mu.Lock()
		defer s.mu.Unlock()
		kept := s.keep(k, r)
		if f != nil {
			f.value, f.kept = r.value, kept
			delete(s.flights, k)
			close(f.done)
		}
	}()
	begun := func() {}
	if f != nil {
		begun = func() { close(f.begun) }
	}
	r, err = run(begun)
	if err != nil {
		r.lasting = false
	}
	return r.value, false, err
}

// find looks for a result that is that of k, and notes that it was wanted. A run that used neither seed nor time stands
// under neither; that there is no result is known of k itself alone. The caller holds mu.
func (s *store[V]) find(k key) *entry[V] {
	for _, n := range [...]key{k.narrow(false, false), k.narrow(true, false), k.narrow(false, true), k} {
		at := s.entries[n]
		if at == nil {
			continue
		}
		if e := at.Value.(*entry[V]); !e.fresh || n == k {
			s.touch(at)
			return e
		}
	}
	return nil
}

// touch moves an entry to the front of the protected part. The caller holds mu.
func (s *store[V]) touch(at *list.Element) {
	e := at.Value.(*entry[V])
	if e.protected {
		s.protected.MoveToFront(at)
		return
	}
	s.probation.Remove(at)
	e.protected = true
	s.safe += e.size
	s.entries[e.key] = s.protected.PushFront(e)
	for s.safe > s.max/5*4 {
		last := s.protected.Back()
		e := s.protected.Remove(last).(*entry[V])
		e.protected = false
		s.safe -= e.size
		s.entries[e.key] = s.probation.PushFront(e)
	}
}

// keep remembers a result, or that there is none to remember, and tells whether it is one to be given to others. The caller
// holds mu.
func (s *store[V]) keep(k key, r result[V]) (kept bool) {
	if !r.lasting {
		return false
	}
	e := &entry[V]{key: k.narrow(r.random, r.clock), value: r.value, size: r.size + entrySize}
	if r.random && !k.seeded || r.clock && !k.timed || e.size > s.max/8 {
		var none V
		*e = entry[V]{key: k, value: none, size: entrySize, fresh: true}
	}
	if s.entries[e.key] != nil { // from one who did not wait
		return !e.fresh
	}
	s.entries[e.key] = s.probation.PushFront(e)
	s.size += e.size
	for s.size > s.max {
		last := s.probation.Back()
		if last == nil {
			last = s.protected.Back()
		}
		s.drop(last)
	}
	return !e.fresh
}

// drop forgets an entry. The caller holds mu.
func (s *store[V]) drop(at *list.Element) {
	e := at.Value.(*entry[V])
	if e.protected {
		s.protected.Remove(at)
		s.safe -= e.size
	} else {
		s.probation.Remove(at)
	}
	delete(s.entries, e.key)
	s.size -= e.size
	s.stats.Evicted++
}

func (s *store[V]) state() CacheStats {
	if s == nil {
		return CacheStats{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.stats
	out.Entries, out.Bytes = len(s.entries), s.size
	return out
}
