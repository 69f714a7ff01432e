package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
)

// ServeWorker makes the process a worker where an engine started it as one ([IsolationProcess]), and does not return then. In
// any other process it returns at once, having done nothing. A program that wants its guests in worker processes calls
// it first thing in main, and in TestMain of tests that start engines.
func ServeWorker() {
	if os.Getenv(workerVariable) == workerVersion {
		os.Exit(serveWorker(workerHooks{}))
	}
}

// workerHooks let tests stand in for what a worker does, or do something else in its place.
type workerHooks struct {
	lock    func(descriptor) error // in place of lockDown
	locked  func()                 // called once the worker is locked down
	asked   func(question) bool    // called for each question; true to take it as answered
	closing func()                 // called before a guest is closed
}

// workerMemory is what Go may keep in a worker beside its guest's memory before it collects its garbage in earnest.
const workerMemory = 64 << 20

// worker is a process that holds one guest and answers for it. It trusts the program that started it, and nothing else.
type worker struct {
	conn descriptor
	in   *bufio.Reader
	body []byte
	out  []byte
	e    *Engine
	g    *Guest // nil: none is open
}

// serveWorker serves until the program is gone. It returns the exit status.
func serveWorker(h workerHooks) int {
	conn := descriptor(workerDescriptor)
	w := &worker{conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}
	if err := w.start(h); err != nil {
		_ = w.say(append(appendFrame(nil, frameFailed), cut(err.Error(), maxText)...))
		return 1
	}
	if err := w.serve(h); err != nil {
		return 1
	}
	return 0
}

func cut(s string, n int) string { return s[:min(n, len(s))] }

// start makes the engine, proves it, and gives up every right that serving does not take.
func (w *worker) start(h workerHooks) error {
	os.Clearenv() // and it is a worker no more for those who ask
	if err := w.say(append(appendFrame(nil, frameBanner), workerBanner...)); err != nil {
		return err
	}
	if err := w.conn.only(); err != nil {
		return fmt.Errorf("close inherited descriptors: %w", err)
	}
	kind, body, err := readFrame(w.in, nil, maxSetup)
	if err != nil || kind != frameSetup {
		return fmt.Errorf("read setup: %w", errors.Join(err, errFrame))
	}
	s, err := parseSetup(body)
	if err != nil {
		return fmt.Errorf("read setup: %w", err)
	}
	reserve, err := lasting()
	if err != nil {
		return err
	}
	w.e, err = New(context.Background(), Options{
		Prelude: s.prelude, Workers: 1, CacheDir: s.cacheDir, NoCache: s.noCache, userCache: s.userDir, reserve: reserve,
	})
	if err != nil {
		return err
	}
	// Guests in here run one at a time, and what is beside them is little.
	runtime.GOMAXPROCS(1)
	debug.SetMemoryLimit(workerMemory)
	debug.FreeOSMemory()
	lock := descriptor.lockDown
	if h.lock != nil {
		lock = h.lock
	}
	if err := lock(w.conn); err != nil {
		return fmt.Errorf("lock the worker down: %w", err)
	}
	if h.locked != nil {
		h.locked()
	}
	note := ""
	if err := w.e.CacheError(); err != nil {
		note = cut(err.Error(), maxText/2)
	}
	ready := append(appendFrame(nil, frameReady), w.e.identity[:]...)
	return w.say(appendField(ready, note))
}

// serve answers until the program ends the connection.
func (w *worker) serve(h workerHooks) error {
	for {
		kind, body, err := readFrame(w.in, w.body, maxQuestion)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if w.body = body; cap(body) > frameStep {
			w.body = nil // what was once needed for a large guest
		}
		switch kind {
		case frameRound:
			q, err := parseQuestion(body)
			if err != nil {
				return err
			}
			if h.asked != nil && h.asked(q) {
				continue
			}
			w.out = w.answer(q).append(appendFrame(w.out[:0], frameDone))
		case frameFreeze:
			if w.out, err = w.freeze(body); err != nil {
				return err
			}
		case frameClose:
			if h.closing != nil {
				h.closing()
			}
			w.leave()
			w.out = appendFrame(w.out[:0], frameClosed)
		case frameStop:
			continue // the round was over before it came
		default:
			return errFrame
		}
		if err := w.say(w.out); err != nil {
			return err
		}
		if cap(w.out) > frameStep {
			w.out = nil
		}
	}
}

// say writes one frame.
func (w *worker) say(frame []byte) error {
	_, err := w.conn.Write(seal(frame))
	return err
}

func (w *worker) leave() {
	if w.g != nil {
		w.g.Close()
		w.g = nil
	}
}

// answer does what a question asks for.
func (w *worker) answer(q question) answer {
	if n := w.begin(q.begin); n != endGood {
		return answer{ending: n}
	}
	if w.g == nil {
		return answer{ending: endFault}
	}
	if q.mode == modeOpen {
		return answer{}
	}
	w.g.budget, w.g.fuel = q.budget, q.fuel
	ctx := stopping{context.Background(), w}
	w.g.mu.Lock()
	res, err := w.g.bounded(ctx, func(a *activity) ([]byte, error) {
		if q.mode == modeCompile {
			return a.parse(q.Script)
		}
		return a.round(q.Round)
	})
	w.g.mu.Unlock()
	a := answer{ending: endingOf(ctx, err), usage: res.Usage, output: res.Output}
	var t *Thrown
	if errors.As(err, &t) {
		a.kind, a.detail = t.Kind, t.Detail
	}
	if err != nil || q.once {
		w.leave()
	}
	return a
}

// begin opens the guest that a question is for, where it is not there yet.
func (w *worker) begin(b beginning) ending {
	var err error
	switch b.kind {
	case beginNot:
		return endGood
	case beginFresh:
		w.leave()
		w.g, err = w.e.Guest(b.activation())
	case beginThaw:
		w.leave()
		w.g, err = w.e.Thaw(b.frozen)
	default:
		w.leave()
		w.g, err = w.e.ThawAs(b.frozen, b.activation(), b.kind == beginReseed)
	}
	switch {
	case errors.Is(err, ErrFrozen):
		return endFrozen
	case err != nil:
		return endMissing
	}
	return endGood
}

// freeze answers with the guest's frozen state.
func (w *worker) freeze(body []byte) ([]byte, error) {
	f := fields{b: body}
	limit, out := f.u64(), f.bool()
	if err := f.end(); err != nil || w.g == nil {
		return nil, errFrame
	}
	frozen, err := w.g.Freeze(context.Background(), int(min(limit, maximumPages*pageSize)))
	if out {
		w.leave()
	}
	switch {
	case errors.Is(err, ErrTooLarge):
		return appendFrame(w.out[:0], frameLarge), nil
	case err != nil:
		return nil, err
	}
	return append(appendFrame(w.out[:0], frameFrozen), frozen...), nil
}

// stopping is the context of a round in a worker. It has ended when something came on the connection meanwhile: word to stop,
// or its end.
type stopping struct {
	context.Context
	w *worker
}

// Err is asked at each of the guest's ticks.
func (s stopping) Err() error {
	if s.w.in.Buffered() > 0 || s.w.conn.pending() {
		return context.Canceled
	}
	return nil
}
