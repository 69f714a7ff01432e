package sandbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"example.com/cardrun/limits"
)

// Activation is what one guest starts from. The zero value is a real clock and a random seed.
type Activation struct {
	// Seed determines Math.random; nil takes one at random.
	Seed *uint64
	// Now stops the guest's clock at a time; zero is the real clock.
	Now time.Time
	// Once says that the guest is for one call of Run or Compile, and ends with it even when all went well. Close it all the
	// same. In a worker process such a guest is gone with the answer, which spares it a second errand.
	Once bool
}

// Check refuses a time that the guest's clock cannot tell: years before 1970 or after 2261.
func (a Activation) Check() error {
	if year := a.Now.UTC().Year(); !a.Now.IsZero() && (year < 1970 || year > 2261) {
		return fmt.Errorf("set the guest's clock to %s: the year must be 1970 to 2261", a.Now.Format(time.RFC3339))
	}
	return nil
}

// seed is the one given, or one at random.
func (a Activation) seed() uint64 {
	if a.Seed != nil {
		return *a.Seed
	}
	return rand.Uint64()
}

// Round is one round to run.
type Round struct {
	// Input is JSON text, parsed in the guest and handed to the prelude's enter. It must be valid.
	Input []byte
	// Script is run after enter, once, as a classic script; empty runs nothing. Its first line and column are 1.
	Script string
	// MaxOutput is how long Output may be, in UTF-16 code units; more counts as corruption.
	MaxOutput int
}

// PartHead is how many characters stand before each part in a Result's Output: its length in bytes, in hexadecimal digits. A part
// of 16 MiB or more counts as corruption.
const PartHead = 6

// ScriptName stands for the round's script in stack traces.
const ScriptName = "card.js"

// Result is what a round gave.
type Result struct {
	// Output is what the prelude's leave returned, or its parts, each behind a head. It is there after a Thrown error as well,
	// and nil after any other.
	Output []byte
	Usage  Usage
}

// Thrown is the error of a round that the guest's own code ended: nothing was exceeded and nothing is broken.
type Thrown struct {
	// Detail is what the prelude's describe made of the value thrown.
	Detail []byte
	// Kind tells how it came.
	Kind ThrownKind
}

// ThrownKind tells how an exception left the guest.
type ThrownKind int

// The kinds.
const (
	Uncaught ThrownKind = iota // from the script, from enter, or from a job
	Rejected                   // the promise that enter returned was rejected
	Syntax                     // the script does not parse; none of it ran
)

func (t *Thrown) Error() string { return "the guest threw: " + string(t.Detail) }

// maxDetail bounds what describe may return, in UTF-16 code units.
const maxDetail = 16 << 10

// Guest is one activation: a machine with its memory. It runs one round at a time, and none after a round that failed.
type Guest struct {
	engine *Engine
	budget time.Duration // of each round
	fuel   int64         // likewise; 0 is no bound
	now    time.Time     // where its clock stands; zero for the real one

	mu      sync.Mutex // held for a whole round, so that Close waits for it
	i       *instance  // nil once closed
	once    bool       // its first round is its last
	random  uint64     // the generator's state when it was last looked at
	ended   bool       // a round failed: no code runs any more
	unsound bool       // the instance must not be used again

	away   *lodging // where the guest is when it is in a worker process; nil when it is here
	unsaid error    // why it ended when it was to be frozen, which its next round tells
}

// errEnded is the misuse of running a guest again after it failed or was closed.
var errEnded = &limits.Error{Code: limits.Engine, Message: "the guest has ended; start a new one"}

// Guest opens an activation: a machine exactly as the boot image says, seeded. It does not wait for a worker; Run does.
func (e *Engine) Guest(a Activation) (*Guest, error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	if e.pool != nil {
		return e.lodge(a, nil, beginFresh)
	}
	i, err := e.take(false)
	if err != nil {
		return nil, err
	}
	g := e.newGuest(i, a.Now)
	g.once = a.Once
	if g.random, err = e.image.seed(i, a.seed()); err != nil {
		e.put(i, false)
		return nil, &limits.Error{Code: limits.Engine, Message: "no guest could be made: " + err.Error(), Cause: err}
	}
	return g, nil
}

func (e *Engine) newGuest(i *instance, now time.Time) *Guest {
	i.round.now = time.Now
	if !now.IsZero() {
		i.round.now = func() time.Time { return now }
	}
	return &Guest{engine: e, budget: e.budget, fuel: e.fuel, i: i, now: now}
}

// Close ends the activation: its memory is made that of the image again, or given back. It waits for a round that runs.
func (g *Guest) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.away != nil && !g.away.closed {
		g.leave()
	}
	if g.i != nil {
		g.engine.put(g.i, !g.unsound)
		g.i, g.ended = nil, true
	}
}

// Run runs one round within the engine's budgets: enter, the script, all jobs, leave. It first waits for a worker, which
// does not count as the round's time.
//
// The error is a *Thrown for what the guest's code did; a *limits.Error with code timeout, memory, microtasks or engine;
// or the context's own error, wrapped. After any error the guest is at its end.
func (g *Guest) Run(ctx context.Context, r Round) (Result, error) {
	if g.away != nil {
		return g.ask(ctx, question{Round: r})
	}
	return g.within(ctx, func(a *activity) ([]byte, error) { return a.round(r) })
}

// Compile parses a script as Run would, without running any of it. A script that does not parse is a *Thrown with kind
// Syntax, and ends the guest like any other error.
func (g *Guest) Compile(ctx context.Context, script string) (Result, error) {
	if g.away != nil {
		return g.ask(ctx, question{Round: Round{Script: script}, mode: modeCompile})
	}
	return g.within(ctx, func(a *activity) ([]byte, error) { return a.parse(script) })
}

// within does work on a worker, bounded, and accounts for it.
func (g *Guest) within(ctx context.Context, work func(*activity) ([]byte, error)) (Result, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return Result{}, errEnded
	}
	vacate, err := g.engine.occupy(ctx)
	if err != nil {
		return Result{}, err
	}
	defer vacate()
	res, err := g.bounded(ctx, work)
	var known *limits.Error
	if err == nil || isThrown(err) || errors.As(err, &known) {
		return res, err
	}
	return res, endingOf(ctx, err).explain(ctx, g.budget, g.fuel, err)
}

// bounded does work within the budgets and accounts for it. The error is as the work gave it. The caller holds mu and has a
// place among the workers.
func (g *Guest) bounded(ctx context.Context, work func(*activity) ([]byte, error)) (Result, error) {
	e := g.engine

	a := &activity{m: e.image, i: g.i}
	rd := g.i.round
	rd.begin(ctx, g.budget, g.fuel)
	out, err := work(a)
	res := Result{Output: out}
	res.Usage = Usage{Elapsed: time.Since(rd.start), Fuel: rd.spent(), Microtasks: a.jobs, ReadClock: rd.readClock}
	rd.end()
	g.ended = g.once
	g.i.shrink()
	if res.Usage.Elapsed > g.budget && (err == nil || isThrown(err)) {
		res.Output, err = nil, errTime // the last stretch had no tick, but the time is over all the same
	}
	res.Usage.HeapBytes = e.image.used(g.i)
	if state, ok := g.i.u64(e.image.context + ctxRandom); ok == nil {
		res.Usage.ReadRandom = state != g.random
		g.random = state
	}
	if err == nil {
		return res, nil
	}
	g.ended = true
	if !isThrown(err) {
		g.unsound = true
		res.Output = nil
	}
	return res, err
}

func isThrown(err error) bool {
	var t *Thrown
	return errors.As(err, &t)
}
