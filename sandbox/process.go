package sandbox

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"
)

const (
	// grace is how much longer than a round's budget the program waits for a worker before it kills it: a worker that is in
	// order ends its round itself, on a busy machine and after thawing what may be megabytes.
	grace = time.Second
	// freezeTime bounds the freezing of a guest, whose memory may differ from the image in all of its pages.
	freezeTime = 5 * time.Second
	// bannerTime and readyTime bound the start of a worker: until it says that it is one, and until it has compiled the engine,
	// without a cache perhaps, and tested it.
	bannerTime = 10 * time.Second
	readyTime  = 60 * time.Second

	// workerVariable marks a process as a worker. Its value is the version of the protocol.
	workerVariable = "CARDRUN_WORKER"
	workerVersion  = "1"
	// workerDescriptor is where a worker finds its end of the connection.
	workerDescriptor = 3
)

// process is one worker process, seen from the program. What it says counts as hostile.
type process struct {
	cmd      *exec.Cmd
	conn     *os.File // a stream socket
	raw      syscall.RawConn
	in       frames
	out      []byte // of the last frame written
	rest     []byte // what of it is not written yet
	limit    int    // how long the answer may be that it owes
	identity [sha256.Size]byte
	cacheErr string

	ended  chan struct{} // closed when the process has ended and was waited for; then status may be read
	status string

	doomed atomic.Bool // it was killed

	patience *time.Timer // ends with the time in which it must close its guest; guarded by pool.mu

	began time.Time // when it first served
	asked bool      // it was given to somebody; guarded by pool.mu

	state state  // guarded by pool.mu, as is guest
	guest *Guest // whose guest is in it, or who is about to ask it; nil when it is free
}

// state is what a process is at.
type state int

const (
	stateBusy state = iota // it belongs to whoever made it busy: it starts, runs a round, or gives its guest away
	stateFree              // it has no guest
	stateRest              // its guest waits for a round
)

// errProcess wraps whatever a worker process did other than to answer.
var errProcess = errors.New("worker process")

// errUnread says that a process ended before it had read what was asked of it.
var errUnread = errors.New("it ended before it read the question")

// errLeft says that the caller's context ended before the process had answered.
var errLeft = errors.New("the caller's context ended")

// startProcess starts a worker process and waits until it serves. launch runs a function on the thread that outlives it.
func startProcess(ctx context.Context, o Options, launch func(func() error) error) (*process, error) {
	mine, its, err := connection()
	if err != nil {
		return nil, fmt.Errorf("%w: make a connection: %w", errProcess, err)
	}
	raw, err := mine.SyscallConn()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: make a connection: %w", errProcess, err), mine.Close(), its.Close())
	}
	p := &process{
		conn: mine, raw: raw, in: frames{r: bufio.NewReaderSize(mine, 16<<10)}, ended: make(chan struct{}),
		cmd: &exec.Cmd{
			Path: o.WorkerCommand[0], Args: o.WorkerCommand, Dir: "/",
			Env: []string{workerVariable + "=" + workerVersion}, ExtraFiles: []*os.File{its},
		},
	}
	confine(p.cmd)
	err = launch(p.cmd.Start)
	_ = its.Close()
	if err != nil {
		_ = mine.Close()
		return nil, fmt.Errorf("%w: %w", errProcess, err)
	}
	go p.wait()
	stop := context.AfterFunc(ctx, p.kill)
	defer stop()
	if err := p.greet(o); err != nil {
		p.kill()
		<-p.ended
		_ = mine.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, err
	}
	return p, nil
}

// wait waits for the end of the process, so that it leaves nothing behind.
func (p *process) wait() {
	err := p.cmd.Wait()
	p.status = p.cmd.ProcessState.String()
	if err != nil && p.cmd.ProcessState == nil {
		p.status = err.Error()
	}
	close(p.ended)
}

// kill ends the process. It may be called more than once.
func (p *process) kill() {
	p.doomed.Store(true)
	_ = p.cmd.Process.Kill() // fails only when it has ended
}

// greet makes a started process a worker that serves.
func (p *process) greet(o Options) error {
	_ = p.conn.SetDeadline(time.Now().Add(bannerTime))
	kind, body, err := p.in.next(maxText)
	if err != nil || kind != frameBanner || string(body) != workerBanner {
		return p.failed("it does not answer as a worker: main of the program must call ServeWorker (package cardrun or sandbox) before it does anything else", err)
	}
	user, _ := userCache() // where there is none, the worker finds that out
	s := setup{prelude: o.Prelude, cacheDir: absolute(o.CacheDir), userDir: absolute(user), noCache: o.NoCache}
	if n := len(s.append(nil)); n > maxSetup {
		return fmt.Errorf("%w: prelude and folder names take %d bytes, more than %d", errProcess, n, maxSetup)
	}
	_ = p.conn.SetDeadline(time.Now().Add(readyTime))
	_, unread := p.conn.Write(seal(s.append(appendFrame(nil, frameSetup))))
	kind, body, err = p.in.next(maxText) // one that did not even read the setup may have said why
	switch {
	case err == nil && kind == frameFailed:
		return fmt.Errorf("%w: %s", errProcess, plainText(body))
	case unread != nil:
		return p.failed("it took no setup", unread)
	case err != nil:
		return p.failed("it did not start to serve", err)
	case kind != frameReady:
		return p.failed("it did not start to serve", errFrame)
	}
	f := fields{b: body}
	copy(p.identity[:], f.take(sha256.Size))
	p.cacheErr = plainText(f.bytes())
	if err := f.end(); err != nil {
		return p.failed("it did not start to serve", err)
	}
	if err := lockedDown(p.cmd.Process.Pid); err != nil {
		return p.failed("it is not locked down", err)
	}
	return nil
}

// failed is the error of a process that did what it should not. The process is killed, and waited for.
func (p *process) failed(what string, err error) error {
	p.kill()
	status := "it does not end"
	select {
	case <-p.ended:
		status = p.status
	case <-time.After(grace): // the kernel has it, for a disk that does not answer perhaps
	}
	switch {
	case err == nil:
		return fmt.Errorf("%w: %s", errProcess, what)
	case errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET):
		return fmt.Errorf("%w: %s: %w (%s)", errProcess, what, errUnread, status)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, os.ErrClosed):
		return fmt.Errorf("%w: %s: it ended (%s)", errProcess, what, status)
	}
	return fmt.Errorf("%w: %s: %w", errProcess, what, err)
}

// plainText is what a worker said in words, with nothing in it but text.
func plainText(b []byte) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return '?'
		}
		return r
	}, string(b))
}

// exchange writes what is left of a question and reads the answer. When a deadline stopped it, it can be called again.
func (p *process) exchange() (kind byte, body []byte, err error) {
	for len(p.rest) > 0 {
		n, err := p.conn.Write(p.rest)
		if p.rest = p.rest[n:]; err != nil {
			return 0, nil, err
		}
	}
	kind, body, err = p.in.next(p.limit)
	if cap(body) > frameStep {
		p.in.body, p.out = nil, nil // what was once needed for a large guest
	}
	return kind, body, err
}

// request puts a question and waits for the answer, for so long, and no longer than the caller's context. The error is errLeft
// when that ended first: then the process owes the answer. The answer is good until the next request.
func (p *process) request(ctx context.Context, frame []byte, limit int, within time.Duration) (kind byte, body []byte, err error) {
	p.out, p.rest, p.limit = frame, seal(frame), limit
	_ = p.conn.SetDeadline(time.Now().Add(within))
	if ctx.Done() != nil {
		var wg sync.WaitGroup
		wg.Add(1)
		stop := context.AfterFunc(ctx, func() {
			defer wg.Done()
			_ = p.conn.SetDeadline(time.Unix(1, 0))
		})
		defer func() {
			if !stop() {
				wg.Wait() // so that it does not stop the next request
			}
		}()
	}
	kind, body, err = p.exchange()
	if errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() != nil {
		err = errLeft
	}
	return kind, body, err
}

// ask has the worker do one round. An error other than errLeft means that the process is gone.
func (p *process) ask(ctx context.Context, q question) (answer, error) {
	start := time.Now()
	kind, body, err := p.request(ctx, q.append(appendFrame(p.out[:0], frameRound)), answerLength(q.MaxOutput), q.budget+grace)
	if err == nil && kind != frameDone {
		err = errFrame
	}
	var a answer
	if err == nil {
		a, err = parseAnswer(body, q, time.Since(start))
	}
	switch {
	case err == nil || err == errLeft:
		return a, err
	case len(p.rest) > 0:
		return answer{}, p.failed("it took no question", err)
	}
	return answer{}, p.failed("it gave no answer", err)
}

// freeze has the worker freeze its guest, and close it when it is to move out. An error other than ErrTooLarge and errLeft means
// that the process is gone.
func (p *process) freeze(ctx context.Context, limit int, identity []byte, out bool) ([]byte, error) {
	frame := appendBool(appendU64(appendFrame(p.out[:0], frameFreeze), uint64(max(limit, 0))), out)
	kind, body, err := p.request(ctx, frame, maxFrozen, freezeTime)
	switch {
	case err == errLeft:
		return nil, err
	case err == nil && kind == frameLarge && !out:
		return nil, ErrTooLarge
	case err == nil && kind == frameFrozen && len(body) >= frozenPages && string(body[:frozenEngine]) == frozenMagic &&
		string(body[frozenEngine:frozenChecksum]) == string(identity):
		return append(make([]byte, 0, len(body)), body...), nil
	case err == nil:
		err = errFrame
	}
	return nil, p.failed("it did not freeze its guest", err)
}

// late takes the answer that the process owes for a question that it need not be stopped in. An error means that it is gone.
func (p *process) late() error {
	_ = p.conn.SetDeadline(time.Now().Add(freezeTime))
	if _, _, err := p.exchange(); err != nil {
		return p.failed("it gave no answer", err)
	}
	return nil
}

// beginClear tells the worker to close its guest, and to stop the round before where it still owes that answer. What the socket has no
// room for is left for endClear: nobody waits here.
func (p *process) beginClear(owes bool) {
	_ = p.conn.SetDeadline(time.Now().Add(grace))
	frames := p.rest[:len(p.rest):len(p.rest)]
	if owes {
		frames = append(frames, seal(appendFrame(nil, frameStop))...)
	}
	p.rest = append(frames, seal(appendFrame(nil, frameClose))...)
	p.rest = p.rest[writeNow(p.raw, p.rest):]
}

// endClear waits for so long until the worker has closed its guest. The error is errLeft when it has not yet, and may still; another
// one means that the process is gone.
func (p *process) endClear(owes bool, patience time.Duration) (err error) {
	_ = p.conn.SetDeadline(time.Now().Add(patience))
	if owes {
		_, _, err = p.exchange()
	}
	if err == nil {
		var kind byte
		p.limit = 0
		if kind, _, err = p.exchange(); err == nil && kind != frameClosed {
			err = errFrame
		}
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errLeft
	case err != nil:
		return p.failed("it did not close its guest", err)
	}
	return nil
}
