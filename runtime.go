package cardrun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/cardrun/limits"
	"example.com/cardrun/sandbox"
	"example.com/cardrun/uiapi"
)

// Options configure a Runtime. The zero value is good.
type Options struct {
	// Workers is how many guests may run at once. Default: GOMAXPROCS, so that 250 ms means what it says (R102).
	Workers int
	// CacheDir holds compiled code between processes; it must be the user's alone. Default: cardrun under the user's cache
	// directory, and no cache where that is not fit.
	CacheDir string
	// NoCache compiles the engine anew: about a second of one core.
	NoCache bool
	// Fuel bounds each round by work as well as by time, the same on every machine (D26). Default: no bound.
	Fuel int64
	// Interpreter runs cards on an interpreter, to hold the compiled engine against it: some fifty times slower, with no
	// bound on a round but Fuel, which must be given. For tests only; see [sandbox.Options].
	Interpreter bool
	// RenderCache is how many bytes of Snapshots are remembered, so that [Runtime.Render] of the same card, seed and time is
	// answered without running it; Usage.Cached says so. What a card gave that looked at the clock without Now, or drew a
	// random number without Seed, is not remembered, nor are timeouts and faults of the engine. Default: nothing is.
	RenderCache int
	// ImageCache is how many bytes of initialized cards are remembered, so that [Runtime.Open] and [Session.Refresh] of the
	// same card start where its initialization ended, with seed and time of their own; what is remembered is as for
	// RenderCache. Default: nothing is.
	ImageCache int
	// Admit, where it is set, is asked before anything runs on a worker: it may make it wait, or refuse it with an error. done
	// is called when the work is over. For a session's rounds after the first, ctx has the values of the context that the
	// session was opened with; refusing one of those ends the session, so Admit should only make it wait.
	Admit func(ctx context.Context) (done func(), err error)
	// Sanitized, where it is set, is told how long each sanitizing took: of a card's html and css, with the other checks on
	// them, or of a batch, with the work of applying it to a copy of the document. It is called from many goroutines, while
	// others may wait for the session, so it should only count.
	Sanitized func(took time.Duration)
	// Isolation says whether cards run in this process or, one at a time in each, in worker processes that may do nothing but
	// compute. IsolationProcess and IsolationAuto need a main that calls [ServeWorker]. Default: IsolationNone.
	Isolation Isolation
	// WorkerCommand is the program that is a worker process, and its arguments. Default: this program.
	WorkerCommand []string

	budget time.Duration // of a round; for tests that are not about time, on a machine that is busy
}

// Runtime is the engine and its pool of guests. One is enough for a process. It may be used from many goroutines.
type Runtime struct {
	engine  *sandbox.Engine
	renders *store[*Snapshot] // nil when nothing is to be remembered, as is images
	images  *store[*image]

	sanitized func(time.Duration)
}

// New starts the engine and proves by a self-test that every budget holds on this machine. It takes about a second of
// one core, or some tens of milliseconds with a warm cache. Close the Runtime when it is no longer wanted.
func New(ctx context.Context, o Options) (*Runtime, error) {
	e, err := sandbox.New(ctx, sandbox.Options{
		Prelude: uiapi.Prelude(), Workers: o.Workers, CacheDir: o.CacheDir, NoCache: o.NoCache, Fuel: o.Fuel, Admit: o.Admit, Budget: o.budget, Interpreter: o.Interpreter,
		Isolation: o.Isolation, WorkerCommand: o.WorkerCommand,
	})
	if err != nil {
		return nil, err
	}
	r := &Runtime{engine: e, renders: newStore[*Snapshot](o.RenderCache), images: newStore[*image](o.ImageCache), sanitized: o.Sanitized}
	if r.sanitized == nil {
		r.sanitized = func(time.Duration) {}
	}
	return r, nil
}

// checked is [Card.Check], and tells how long it took.
func (r *Runtime) checked(c *Card) (*Checked, []Diagnostic) {
	start := time.Now()
	k, found := c.Check()
	r.sanitized(time.Since(start))
	return k, found
}

// Close ends the Runtime. Renders under way still finish.
func (r *Runtime) Close() error { return r.engine.Close() }

// CacheError tells why the cache for compiled code was not used, or nil. It costs time at the next start, nothing else.
func (r *Runtime) CacheError() error { return r.engine.CacheError() }

// Workers is how many guests may run at once.
func (r *Runtime) Workers() int { return r.engine.Workers() }

// Isolation tells which isolation is in force, IsolationNone or IsolationProcess. With IsolationNone where IsolationAuto was asked
// for, the error says why there are no worker processes.
func (r *Runtime) Isolation() (Isolation, error) { return r.engine.Isolation() }

// CacheStats says how RenderCache and ImageCache do.
func (r *Runtime) CacheStats() (renders, images CacheStats) {
	return r.renders.state(), r.images.state()
}

// Replaced counts guests that were not used again for another card, by the reason.
func (r *Runtime) Replaced() sandbox.Replaced { return r.engine.Replaced() }

// RenderOptions make a run repeatable: the same card, seed and time give the same Snapshot but for elapsed_us.
type RenderOptions struct {
	// Seed determines Math.random; nil takes one at random.
	Seed *uint64
	// Now is the time that the card's clock stands at; zero is the real, running clock.
	Now time.Time
}

// Render runs a card once: it checks it, opens an activation, runs the script, applies the batch, and gives what there is
// to see. Whatever the card did wrong is in the Snapshot; the error is for a context that ended, a closed Runtime, or an
// engine that cannot make a guest.
func (r *Runtime) Render(ctx context.Context, c *Card, o RenderOptions) (*Snapshot, error) {
	var k key
	ok := r.renders != nil
	if ok {
		k, ok = keyOf(c, o)
	}
	if !ok {
		s, _, err := r.render(ctx, c, o, nil)
		return s, err
	}
	release, err := r.engine.Hold() // a closed Runtime answers nothing, not even from memory
	if err != nil {
		return nil, err
	}
	defer release()
	var s *Snapshot
	before, remembered, err := r.renders.do(ctx, k, func(begun func()) (res result[*Snapshot], err error) {
		var a *activation
		if s, a, err = r.render(ctx, c, o, begun); err != nil || !s.lasting() {
			return res, err
		}
		res = result[*Snapshot]{value: s.again(), size: s.size(), lasting: true}
		if a != nil {
			res.random, res.clock = a.readRandom, a.readClock
		}
		return res, nil
	})
	if remembered {
		return before.again(), nil
	}
	return s, err
}

// Remembered is what [Runtime.Render] would answer from memory, or nil where it would have to run the card. It takes some
// microseconds and no worker: a service need not make anybody wait in line for it.
func (r *Runtime) Remembered(c *Card, o RenderOptions) *Snapshot {
	if r.renders == nil {
		return nil
	}
	k, ok := keyOf(c, o)
	if !ok {
		return nil
	}
	release, err := r.engine.Hold()
	if err != nil {
		return nil
	}
	defer release()
	if s, ok := r.renders.peek(k); ok {
		return s.again()
	}
	return nil
}

// render runs a card once. The activation, nil for a card that was rejected, is over.
func (r *Runtime) render(ctx context.Context, c *Card, o RenderOptions, begun func()) (*Snapshot, *activation, error) {
	a, s, err := r.initialize(ctx, c, nil, o, hooks{begun: begun, once: true})
	if a != nil {
		a.close()
	}
	return s, a, err
}

// hooks are what is done on the way of an initialization. They may be nil.
type hooks struct {
	once  bool                                                       // nothing comes after it
	begun func()                                                     // when there is a worker
	last  func(onWorker context.Context, a *activation, s *Snapshot) // before the worker is given back
}

// initialize gives an activation whose initialization has run, and what there is to see then. For a card that is rejected
// there is only the latter. known is the card when it has been checked, or nil.
func (r *Runtime) initialize(ctx context.Context, c *Card, known *Checked, o RenderOptions, then hooks) (*activation, *Snapshot, error) {
	if known == nil {
		var found []Diagnostic
		if known, found = r.checked(c); known == nil {
			s, err := r.reject(ctx, c, found)
			return nil, s, err
		}
	}
	a, err := r.open(known, o, then.once)
	if err != nil {
		return nil, nil, err
	}
	ctx, vacate, err := r.engine.Occupy(ctx)
	if err != nil {
		a.close()
		return nil, nil, err
	}
	defer vacate()
	if then.begun != nil {
		then.begun()
	}
	if err := a.start(ctx); err != nil {
		a.close()
		var syntax *limits.Error
		if errors.As(err, &syntax) && syntax.Code == limits.ScriptSyntax {
			return nil, c.rejection(append(slices.Clip(known.Warnings), syntaxDiagnostic(syntax, c.JavaScript))), nil
		}
		return nil, nil, err
	}
	s := a.snapshot()
	if then.last != nil {
		then.last(ctx, a, s)
	}
	return a, s, nil
}

// Check is [Card.Check] with the one rule more that needs an engine: whether the script parses (D23). Nothing of it runs.
// The error is as for Render.
func (r *Runtime) Check(ctx context.Context, c *Card) ([]Diagnostic, error) {
	_, found := r.checked(c)
	return r.withSyntax(ctx, c, found)
}

// withSyntax adds the finding about the script's syntax, where there is one.
func (r *Runtime) withSyntax(ctx context.Context, c *Card, found []Diagnostic) ([]Diagnostic, error) {
	if c.unread["javascript"] || !withinReach(c.JavaScript, limits.JavaScriptLength) {
		return found, nil
	}
	g, err := r.engine.Guest(sandbox.Activation{Once: true})
	if err != nil {
		return nil, err
	}
	defer g.Close()
	err = uiapi.Check(ctx, g, c.JavaScript)
	var fault *limits.Error
	switch {
	case err == nil:
		return found, nil
	case !errors.As(err, &fault):
		return nil, fmt.Errorf("check script: %w", err)
	case fault.Code != limits.ScriptSyntax:
		return found, nil // compiling it takes more than a round may; running it will tell
	}
	found = append(found, syntaxDiagnostic(fault, c.JavaScript))
	sortDiagnostics(found)
	return found, nil
}

// syntaxDiagnostic reports a script that does not parse.
func syntaxDiagnostic(e *limits.Error, script string) Diagnostic {
	advice := "; correct the script, which must parse as a classic script"
	switch line := nthLine(script, e.Line); {
	case strings.HasPrefix(e.Message, "RangeError"):
		advice = "; the script is nested too deeply to be parsed: simplify it"
	case strings.Contains(line, "import") || strings.Contains(line, "export"):
		advice = "; modules are not supported: use neither import nor export"
	case strings.Contains(line, "await"):
		advice = "; await may be used in async functions only"
	}
	return Diagnostic{
		Severity: limits.SeverityError, Code: limits.ScriptSyntax, Field: "javascript",
		Line: e.Line, Column: e.Column, Message: e.Message + advice,
	}
}

func nthLine(s string, n int) string {
	for ; n > 1; n-- {
		_, s, _ = strings.Cut(s, "\n")
	}
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// reject is the Snapshot of a card that was refused without its script having been looked at.
func (r *Runtime) reject(ctx context.Context, c *Card, found []Diagnostic) (*Snapshot, error) {
	found, err := r.withSyntax(ctx, c, found)
	if err != nil {
		return nil, err
	}
	return c.rejection(found), nil
}

// rejection is the Snapshot of a card that never ran.
func (c *Card) rejection(found []Diagnostic) *Snapshot {
	return &Snapshot{Outcome: Rejected, Card: c.Info(), Diagnostics: found}
}
