package sandbox

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"example.com/cardrun/limits"
)

// clearTime is how long a guest waits for a process that is closing the one before, which takes some 20 µs, before it looks
// further: it may be one that hangs.
const clearTime = 5 * time.Millisecond

// pool is the worker processes of an engine. A guest has one for as long as no other guest needs it more, so there may be
// many more guests than processes, and never two of them in one.
//
// Whoever asks for a process has a place among the engine's workers, and there are at least as many processes as places. So
// one that is neither busy nor about to start can always be had, by moving its guest out if need be.
type pool struct {
	o        Options
	identity [sha256.Size]byte
	cacheErr string
	ctx      context.Context // ends when the pool is closed
	end      context.CancelFunc
	launches chan launch
	starts   sync.WaitGroup // those who start a process, watch one, or move a guest out

	mu       sync.Mutex // guards what follows, and each process's state and guest, and each guest's lodging
	all      map[*process]struct{}
	free     []*process
	resting  []*process    // by when their guest ran last
	closing  []*process    // they were told to close their guest, and nobody has asked yet whether they have
	clearing int           // processes that somebody waits for to close their guest
	starting int           // processes that are being started
	want     int           // how many there should be
	most     int           // how many there may be
	failure  error         // why the last start failed; nil after one that did not
	failures int           // how many starts have failed
	pause    time.Duration // before the next start
	lost     time.Time     // when a process last ended in its youth, unasked
	changed  chan struct{} // closed, and made anew, when something changed that others may wait for
	waiting  int           // how many do
	replaced int64
}

// newPool starts as many processes as there are workers: the first one alone, so that the others find the engine compiled, and
// learn nothing new when it cannot be started.
func newPool(ctx context.Context, o Options) (*pool, error) {
	if err := separable(); err != nil {
		return nil, err
	}
	if len(o.WorkerCommand) == 0 {
		// This program, even when its file was replaced meanwhile. The argument is for those who look at lists of processes.
		o.WorkerCommand = []string{"/proc/self/exe", "worker"}
	}
	l := &pool{
		o: o, launches: make(chan launch), all: map[*process]struct{}{}, most: 2 * o.Workers, changed: make(chan struct{}),
	}
	l.ctx, l.end = context.WithCancel(context.Background())
	go l.nursery()
	p, err := startProcess(ctx, o, l.launch)
	if err != nil {
		l.close()
		return nil, err
	}
	l.identity, l.cacheErr = p.identity, p.cacheErr
	if err := l.open(ctx, p); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// open takes the first process in and waits for as many as there are workers. Those that fail are started again while others serve. Where
// there is more than one worker, there will be other guests at rest while they run; so all the processes that there may be are
// started then, for which nobody waits: each takes a core some 0.15 s, and when they were started once they were wanted, under
// load, hundreds of rounds stood in line behind that.
func (l *pool) open(ctx context.Context, first *process) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(first)
	l.want = l.o.Workers
	l.refill()
	for l.starting > 0 && l.failure == nil && err == nil {
		err = l.wait(ctx, time.Time{})
	}
	if l.o.Workers > 1 {
		l.want = l.most
		l.refill()
	}
	return err
}

// add takes in a process that serves. The caller holds mu.
func (l *pool) add(p *process) {
	p.began = time.Now()
	l.all[p] = struct{}{}
	p.state = stateFree
	l.free = append(l.free, p)
	l.starts.Add(1)
	go l.watch(p)
}

// watch waits for the end of a process, and sees to another one.
func (l *pool) watch(p *process) {
	defer l.starts.Done()
	<-p.ended
	_ = p.conn.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, p)
	l.free = without(l.free, p)
	l.resting = without(l.resting, p)
	if n := len(l.closing); n > 0 {
		if l.closing = without(l.closing, p); len(l.closing) < n {
			p.patience.Stop()
		}
	}
	if p.state == stateRest {
		p.guest.away.p = nil
		p.guest.away.lost = fmt.Errorf("%w: it ended between two rounds (%s)", errProcess, p.status)
	}
	if l.ctx.Err() == nil {
		l.replaced++
		switch {
		case p.asked || time.Since(p.began) >= youth:
			l.pause = 0
		case p.began.After(l.lost): // several that end at once count as one
			l.lost = time.Now()
			l.slower()
		}
		l.refill()
	}
	l.tell()
}

func without(list []*process, p *process) []*process {
	return slices.DeleteFunc(list, func(q *process) bool { return p == q })
}

// tell wakes those who wait. The caller holds mu.
func (l *pool) tell() {
	if l.waiting > 0 {
		close(l.changed)
		l.changed, l.waiting = make(chan struct{}), 0
	}
}

// wait lets go of mu, which the caller holds, until something changed, the context ended, or that time came, where it is set.
func (l *pool) wait(ctx context.Context, until time.Time) error {
	var timer <-chan time.Time
	if !until.IsZero() {
		t := time.NewTimer(time.Until(until))
		defer t.Stop()
		timer = t.C
	}
	l.waiting++
	changed := l.changed
	l.mu.Unlock()
	defer l.mu.Lock()
	select {
	case <-changed:
	case <-timer:
	case <-ctx.Done():
		return fmt.Errorf("wait for a worker process: %w", ctx.Err())
	}
	return nil
}

// lease gives the guest's process, busy, or one that is free for it, and how the guest begins there. The caller has a place
// among the workers. Where there is no process at all, he waits for one, until a start has failed meanwhile: what failed before he came may
// be over.
func (l *pool) lease(ctx context.Context, g *Guest) (*process, beginning, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var moved *bool // whether the guest that is moved out for this one is out
	start, failures := time.Now(), l.failures
	for {
		a, until := g.away, time.Time{}
		switch {
		case a.lost != nil:
			return nil, beginning{}, a.lost
		case a.p != nil && a.p.state == stateRest:
			l.resting = without(l.resting, a.p)
			a.p.state = stateBusy
			return a.p, beginning{}, nil
		case a.p != nil: // it is just being moved out
		case len(l.free) > 0:
			p := l.free[len(l.free)-1]
			l.free = l.free[:len(l.free)-1]
			select {
			case <-p.ended: // and is still to be taken out by watch
				continue
			default:
			}
			p.state, p.guest, p.asked, a.p = stateBusy, g, true, p
			return p, a.begin, nil
		case len(l.closing) > 0:
			l.ask(l.closing[0], clearTime)
			continue
		case moved != nil && !*moved:
		case l.clearing > 0 && time.Since(start) < clearTime:
			until = start.Add(clearTime)
		case len(l.resting) > 0:
			l.grow()
			moved = new(bool)
			l.moveOut(l.resting[0], moved)
		case len(l.all)+l.starting < l.most:
			l.grow()
		}
		if len(l.all) == 0 && l.failure != nil && l.failures > failures {
			return nil, beginning{}, &limits.Error{Code: limits.Engine, Message: "no worker process can be started", Cause: l.failure}
		}
		if err := l.wait(ctx, until); err != nil {
			return nil, beginning{}, err
		}
	}
}

// grow has one process more than there is, where that may be. The caller holds mu.
func (l *pool) grow() {
	if l.want = min(l.most, len(l.all)+l.starting+1); l.failure == nil {
		l.refill()
	}
}

// moveOut begins to freeze the guest of a process at rest, so that it is free for another; moved is set when that is done. Nobody
// waits for a process that hangs longer than he likes, or when another one is there first. The caller holds mu.
func (l *pool) moveOut(p *process, moved *bool) {
	l.resting = without(l.resting, p)
	p.state = stateBusy
	l.starts.Add(1)
	go func() {
		defer l.starts.Done()
		frozen, err := p.freeze(context.Background(), maximumPages*pageSize, l.identity[:], true)
		l.mu.Lock()
		defer l.mu.Unlock()
		*moved = true
		l.movedOut(p, frozen, err)
	}()
}

// movedOut ends what moveOut began. The caller holds mu.
func (l *pool) movedOut(p *process, frozen []byte, err error) {
	if g := p.guest; g != nil { // it was not closed meanwhile
		g.away.p = nil
		if err != nil {
			g.away.lost = err
		} else {
			g.away.begin = beginning{kind: beginThaw, frozen: frozen}
		}
	}
	l.release(p)
	l.tell()
}

// release makes a busy process free, unless it is at its end. The caller holds mu.
func (l *pool) release(p *process) {
	p.guest, p.state = nil, stateFree
	if _, alive := l.all[p]; alive && !p.doomed.Load() {
		l.free = append(l.free, p)
	}
}

// giveBack ends what lease began. The guest stays in its process when it rests there. A process that is gone is not taken.
func (l *pool) giveBack(g *Guest, p *process, rests bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if rests {
		l.settle(g, p)
	} else {
		g.away.p = nil
		l.release(p)
	}
	l.tell()
}

// settle lets a guest rest in its process, which was busy. The caller holds mu.
func (l *pool) settle(g *Guest, p *process) {
	if _, alive := l.all[p]; !alive {
		g.away.p, g.away.lost = nil, fmt.Errorf("%w: it ended after the round (%s)", errProcess, p.status)
		return
	}
	p.state = stateRest
	g.away.begin = beginning{}
	l.resting = append(l.resting, p)
}

// evict takes a guest that is closed out of its process. It waits for nothing.
func (l *pool) evict(g *Guest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := g.away.p
	g.away.p, g.away.begin = nil, beginning{}
	if p == nil {
		return
	}
	p.guest = nil // and whoever moves it out, or waits for what it owes, finds it closed
	if p.state == stateRest {
		l.resting = without(l.resting, p)
		p.state = stateBusy
		l.clear(p, false)
	}
}

// abandon takes a guest whose caller has left out of its process, which runs its round.
func (l *pool) abandon(g *Guest, p *process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p.guest, g.away.p = nil, nil
	l.clear(p, true)
}

// clear makes a busy process free once it has closed the guest that was in it, and ended the round that it may be in. One that does
// not say in time that it has is ended, so that no other guest meets it. Nobody waits here: the next guest asks, or in the end
// a timer does. The caller holds mu.
func (l *pool) clear(p *process, owes bool) {
	p.beginClear(owes)
	if owes { // it may take a while to stop
		l.await(p, true)
		return
	}
	l.closing = append(l.closing, p)
	p.patience = time.AfterFunc(grace, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if slices.Contains(l.closing, p) {
			l.ask(p, 0)
		}
	})
}

// ask waits for so long until a process says that it has closed its guest. It lets go of mu, which the caller holds, meanwhile.
func (l *pool) ask(p *process, patience time.Duration) {
	l.closing = without(l.closing, p)
	p.patience.Stop()
	if patience > 0 {
		l.mu.Unlock()
		err := p.endClear(false, patience)
		l.mu.Lock()
		if err != errLeft {
			l.release(p)
			l.tell()
			return
		}
	}
	l.await(p, false)
}

// await waits for that in the background, as long as may be. The caller holds mu.
func (l *pool) await(p *process, owes bool) {
	l.clearing++
	l.starts.Add(1)
	go func() {
		defer l.starts.Done()
		if err := p.endClear(owes, grace); err == errLeft {
			_ = p.failed("it did not close its guest", os.ErrDeadlineExceeded)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.clearing--
		l.release(p)
		l.tell()
	}()
}

// linger takes the answer that a process owes to a caller who has left, and lets its guest rest.
func (l *pool) linger(g *Guest, p *process) {
	l.starts.Add(1)
	go func() {
		defer l.starts.Done()
		err := p.late()
		l.mu.Lock()
		defer l.mu.Unlock()
		switch closed := p.guest != g; {
		case closed && err == nil:
			l.clear(p, false)
		case closed:
			l.release(p)
		case err != nil:
			g.away.p, g.away.lost = nil, err
		default:
			l.settle(g, p)
		}
		l.tell()
	}()
}

// count is how many processes ended that were to serve on.
func (l *pool) count() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.replaced
}

// close ends every process and waits until it has ended. No guest is left.
func (l *pool) close() {
	l.end()
	l.mu.Lock()
	for p := range l.all {
		p.kill()
	}
	l.mu.Unlock()
	l.starts.Wait()
}

// absolute makes a folder's name one that means the same in another working directory. A name that cannot be made so stays as
// it is, and an empty one empty.
func absolute(dir string) string {
	if dir == "" {
		return ""
	}
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

// notWorker refuses to start an engine in a process that was started as a worker and is not one: it would start workers too,
// and they would.
func notWorker() error {
	if os.Getenv(workerVariable) != "" {
		return errors.New("this process was started as a worker; main must call ServeWorker before it does anything else")
	}
	return nil
}
