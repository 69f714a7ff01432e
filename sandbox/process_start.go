package sandbox

import (
	"runtime"
	"time"
)

// retry is how long after a worker could not be started, or ended in its youth before it was asked anything, the next one is tried,
// doubled each time up to retryMost. Starting one takes a core some 0.15 s, and what ends it may end the next one as well: a machine
// without memory, or a kernel that does not let it idle. One that a card has ended is replaced at once.
const (
	retry     = 100 * time.Millisecond
	retryMost = 5 * time.Second
	youth     = 10 * time.Second
)

// launch is a process to be started on the thread that all are started on.
type launch struct {
	start func() error
	done  chan error
}

// nursery starts processes, all on one thread: the kernel ends a worker when the thread that started it ends, which is
// meant to be when the program does.
func (l *pool) nursery() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer lateTimers()()
	for {
		select {
		case n := <-l.launches:
			n.done <- n.start()
		case <-l.ctx.Done():
			return
		}
	}
}

func (l *pool) launch(start func() error) error {
	n := launch{start, make(chan error, 1)}
	select {
	case l.launches <- n:
		return <-n.done
	case <-l.ctx.Done():
		return ErrClosed
	}
}

// refill starts the processes that are missing. The caller holds mu.
func (l *pool) refill() {
	for len(l.all)+l.starting < l.want && l.ctx.Err() == nil {
		l.starting++
		l.starts.Add(1)
		go l.start(l.pause)
	}
}

// start adds one process.
func (l *pool) start(pause time.Duration) {
	defer l.starts.Done()
	if pause > 0 {
		select {
		case <-time.After(pause):
		case <-l.ctx.Done():
		}
	}
	p, err := startProcess(l.ctx, l.o, l.launch)
	if err == nil && p.identity != l.identity {
		err = p.failed("it has another engine", nil)
		_ = p.conn.Close()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.starting--
	if err != nil {
		l.failure = err
		l.failures++
		l.slower()
	} else {
		l.failure = nil
		if l.add(p); l.ctx.Err() != nil {
			p.kill() // close did not see it
		}
	}
	l.refill()
	l.tell()
}

// slower has the next start wait, longer than the one before. The caller holds mu.
func (l *pool) slower() { l.pause = min(max(2*l.pause, retry), retryMost) }
