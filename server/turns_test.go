package server

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// idle checks that nothing is left of any work.
func (q *turns) idle(t *testing.T) {
	t.Helper()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.free != q.workers || q.waiting != 0 || q.active != 0 || len(q.behind) != 0 {
		t.Errorf("%d of %d workers are free, %d wait, %d clients are active, %d in line", q.free, q.workers, q.waiting, q.active, len(q.behind))
	}
	for name, s := range q.shares {
		if s.running != 0 || len(s.waiting) != 0 || s.at != -1 {
			t.Errorf("%s: %d run, %d wait, place %d", name, s.running, len(s.waiting), s.at)
		}
	}
}

// run is one piece of work of a client.
func (q *turns) run(ctx context.Context, client string, takes time.Duration) (waited time.Duration, err error) {
	began := time.Now()
	u, err := q.enter(ctx, client, false)
	if err != nil {
		return time.Since(began), err
	}
	waited = time.Since(began)
	time.Sleep(takes)
	u.done()
	return waited, nil
}

// TestTurnsHostileShare: of 400 requests a second on two workers one in five takes 250 ms, ten times what there are workers
// for; then two of 300, at once, when mostly nobody waits. The others take 2 ms. They are never refused; until the hostile client is known for what it does they wait
// for one of its rounds at most, and after that not to be felt.
func TestTurnsHostileShare(t *testing.T) {
	for each, n := range map[int]int{5: 1, 300: 2} {
		synctest.Test(t, func(t *testing.T) { hostileShare(t, n, each) })
	}
}

// hostileShare sends hostile requests among others: of each so many some.
func hostileShare(t *testing.T, some, each int) {
	q := newTurns(2, time.Second, 1024)
	var mu sync.Mutex
	var waits []time.Duration
	var longest time.Duration
	hostile, refused := 0, 0
	var all sync.WaitGroup
	const seconds, rate = 20, 400
	for n := range seconds * rate {
		all.Go(func() {
			if n%each < some {
				waited, err := q.run(t.Context(), "hostile", 250*time.Millisecond)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					hostile++
				} else if refused++; waited > q.patience {
					t.Errorf("a refusal took %v", waited)
				}
				return
			}
			waited, err := q.run(t.Context(), fmt.Sprint("honest", n%4), 2*time.Millisecond)
			if err != nil {
				t.Errorf("honest work at %d: %v", n, err)
			}
			mu.Lock()
			defer mu.Unlock()
			longest = max(longest, waited)
			if n > rate {
				waits = append(waits, waited)
			}
		})
		time.Sleep(time.Second / rate)
	}
	all.Wait()
	slices.Sort(waits)
	late, last := waits[len(waits)*99/100], waits[len(waits)-1]
	t.Logf("honest work waited %v at first; then %v (p99), %v (longest); %d hostile ran, %d were refused", longest, late, last, hostile, refused)
	if late > 5*time.Millisecond || last > 20*time.Millisecond || longest > 260*time.Millisecond {
		t.Error("hostile work kept honest work waiting")
	}
	if hostile < seconds*2 || each == 5 && refused < 1000 {
		t.Error("the hostile client did not get what nobody else needed")
	}
	q.idle(t)
}

// TestTurnsByTime: clients that always want more get the same time, whatever a piece of their work takes.
func TestTurnsByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTurns(1, 10*time.Second, 1024)
		takes := map[string]time.Duration{"long": 250 * time.Millisecond, "middle": 40 * time.Millisecond, "short": 5 * time.Millisecond}
		got := make(map[string]time.Duration)
		var mu sync.Mutex
		var all sync.WaitGroup
		end := time.Now().Add(time.Minute)
		for name, each := range takes {
			for range 4 {
				all.Go(func() {
					for time.Now().Before(end) {
						if _, err := q.run(t.Context(), name, each); err == nil {
							mu.Lock()
							got[name] += each
							mu.Unlock()
						}
					}
				})
			}
		}
		all.Wait()
		t.Logf("of a minute: %v", got)
		for name, time := range got {
			if s := time.Seconds(); s < 17 || s > 23 {
				t.Errorf("%s got %v of a third of a minute", name, time)
			}
		}
		q.idle(t)
	})
}

// TestTurnsPushOut: when as many wait as may, one of the client with the most work waiting makes room.
func TestTurnsPushOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTurns(1, time.Minute, 8)
		refusals := make(chan error, 20)
		for range 9 { // one runs
			go func() {
				_, err := q.run(t.Context(), "many", time.Second)
				refusals <- err
			}()
			synctest.Wait()
		}
		if _, err := q.run(t.Context(), "many", time.Second); !isOverloaded(err) {
			t.Errorf("one more of the same: %v", err)
		}
		if waited, err := q.run(t.Context(), "one", time.Millisecond); err != nil || waited > time.Second {
			t.Errorf("one of another: waited %v: %v", waited, err)
		}
		time.Sleep(time.Minute)
		out := 0
		for range 9 {
			if err := <-refusals; isOverloaded(err) {
				out++
			} else if err != nil {
				t.Error(err)
			}
		}
		if out != 1 {
			t.Errorf("%d made room", out)
		}
		q.idle(t)
	})
}

func isOverloaded(err error) bool {
	var p *Problem
	return errors.As(err, &p) && p.Status == 503 && p.Code == codeOverloaded && p.retry >= time.Second
}

// TestTurnsPatience: a request is refused when it has waited for long, or would have to; work that was accepted before is
// not.
func TestTurnsPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTurns(1, time.Second, 100)
		u, err := q.enter(t.Context(), "a", false)
		if err != nil {
			t.Fatal(err)
		}
		accepted := make(chan time.Duration)
		go func() {
			began := time.Now()
			u, err := q.enter(t.Context(), "a", true)
			if err != nil {
				t.Error(err)
			}
			u.done()
			accepted <- time.Since(began)
		}()
		synctest.Wait()
		if waited, err := q.run(t.Context(), "b", 0); !isOverloaded(err) || waited != time.Second {
			t.Errorf("it waited %v: %v", waited, err)
		}
		time.Sleep(time.Minute)
		u.done()
		u.done() // which does nothing
		if waited := <-accepted; waited != 61*time.Second {
			t.Errorf("accepted work waited %v", waited)
		}
		// "a" is known now for work of a minute.
		u, err = q.enter(t.Context(), "c", false)
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = q.run(t.Context(), "a", 0) }()
		synctest.Wait()
		if waited, err := q.run(t.Context(), "a", 0); !isOverloaded(err) || waited != 0 || q.full("a") == nil || q.full("b") != nil {
			t.Errorf("it waited %v: %v", waited, err)
		}
		u.done()
		synctest.Wait()
		q.idle(t)
	})
}

// TestTurnsAnyOrder: whatever comes, goes, gives up and takes how long, in the end nothing is left, and never more run than
// there are workers.
func TestTurnsAnyOrder(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			workers := 1 + r.IntN(4)
			q := newTurns(workers, time.Duration(1+r.IntN(1000))*time.Millisecond, 1+r.IntN(50))
			var mu sync.Mutex
			running := 0
			var all sync.WaitGroup
			for range 500 {
				client, patient := fmt.Sprint(r.IntN(8)), r.IntN(4) == 0
				takes, gives := time.Duration(r.IntN(300))*time.Millisecond, time.Duration(r.IntN(2000))*time.Millisecond
				all.Go(func() {
					ctx, cancel := context.WithTimeout(context.Background(), gives)
					defer cancel()
					u, err := q.enter(ctx, client, patient)
					if err != nil {
						if !isOverloaded(err) && ctx.Err() == nil {
							t.Errorf("seed %d: %v", seed, err)
						}
						return
					}
					mu.Lock()
					if running++; running > workers {
						t.Errorf("seed %d: %d run on %d workers", seed, running, workers)
					}
					mu.Unlock()
					time.Sleep(takes)
					mu.Lock()
					running--
					mu.Unlock()
					u.done()
				})
				time.Sleep(time.Duration(r.IntN(30)) * time.Millisecond)
			}
			all.Wait()
			q.idle(t)
		})
	}
}

// TestTurnsForget: clients are not remembered without bound.
func TestTurnsForget(t *testing.T) {
	q := newTurns(1, time.Second, 10)
	for n := range 3 * mostShares {
		if _, err := q.run(t.Context(), fmt.Sprint(n), 0); err != nil {
			t.Fatal(err)
		}
		if len(q.shares) > mostShares {
			t.Fatalf("%d are remembered", len(q.shares))
		}
	}
	q.idle(t)
}
