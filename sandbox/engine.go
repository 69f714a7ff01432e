package sandbox

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"example.com/cardrun/limits"
)

// ErrClosed is returned for guests asked of an engine that was closed.
var ErrClosed = errors.New("the engine is closed")

// Options configure an Engine. The zero value of every field but Prelude is good.
type Options struct {
	// Prelude is the script behind the boot image; see the package doc for what its completion value must be.
	Prelude string
	// Workers is how many guests may run at once, so that a round's time is time on a core. Default: GOMAXPROCS.
	Workers int
	// CacheDir holds compiled code between processes. Whoever can write there can run code in this process, so it must
	// be a directory of mode 0700 that belongs to the user; anything else is an error. Default: cardrun under
	// os.UserCacheDir, where a directory that is not fit is not used (see [Engine.CacheError]).
	CacheDir string
	// NoCache compiles anew in every process, about one second of one core.
	NoCache bool
	// Budget is the time of one round. Default: limits.Round.
	Budget time.Duration
	// Fuel bounds a round by work instead of time as well: loop iterations inside the engine, the same on every machine.
	// Default: no bound. A round that passes it fails with the code timeout.
	Fuel int64
	// Admit, where it is set, is asked before anything runs on a worker. It may make the work wait, or refuse it with an
	// error, which the caller of the work gets, wrapped; done is called when the work is over. ctx is the one of the call.
	// It is for a service that shares the workers among many by rules of its own; it should let no more in at once than
	// there are workers, or they wait here once more.
	Admit func(ctx context.Context) (done func(), err error)
	// Interpreter runs guests on wazero's interpreter in place of compiled code, to hold the one against the other. It is
	// some fifty times slower, so a round is bounded by Fuel, which must be given, and not by Budget. The interpreter has a
	// stack of its own that is shorter than the compiler's: a deep recursion may end with an engine fault. For tests only.
	Interpreter bool
	// Isolation says whether guests run in this process or in worker processes. Default: IsolationNone.
	Isolation Isolation
	// WorkerCommand starts a worker process: a program, found without a search path, that calls [ServeWorker] before it does
	// anything else, and its arguments. Default: this very program.
	WorkerCommand []string

	userCache string                          // where CacheDir's default is, when the environment is not to be asked
	reserve   func(int) (*reservation, error) // for tests of a host that fails
	unfueled  bool                            // for measuring what fuel costs: nothing stops such a guest
}

// Engine is the compiled, adapted module with its boot image and a pool of instances.
type Engine struct {
	wasm     wazero.Runtime
	cache    *codeCache
	cacheErr error
	compiled wazero.CompiledModule
	image    *image
	identity [sha256.Size]byte // of the code, then of the code with the image: what frozen state belongs to
	budget   time.Duration
	fuel     int64
	reserve  func(int) (*reservation, error)
	slots    chan struct{} // one place for each guest that runs
	admit    func(context.Context) (func(), error)
	pool     *pool // of worker processes; nil when guests run here, and then all above but identity is theirs
	together error // why there is none, where there was to be one if possible

	mu       sync.Mutex // guards what follows; held for no longer than it takes to read or write them
	idle     []*instance
	live     int // guests that are open, and holds
	closed   bool
	replaced Replaced
}

// New compiles the module, boots it once, takes the image, and proves with a self-test that every budget holds. It
// takes about a second, or some tens of milliseconds when the compiled code is in the cache.
func New(ctx context.Context, o Options) (*Engine, error) {
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Budget <= 0 {
		o.Budget = limits.Round
	}
	if o.Interpreter {
		if o.Fuel <= 0 {
			return nil, errors.New("start engine: the option Interpreter needs Fuel, which alone bounds a round there")
		}
		o.Budget = math.MaxInt64
	}
	if o.reserve == nil {
		o.reserve = reserve
	}
	if err := errors.Join(o.Isolation.check(), notWorker()); err != nil {
		return nil, fmt.Errorf("start engine: %w", err)
	}
	e := &Engine{budget: o.Budget, fuel: o.Fuel, reserve: o.reserve, admit: o.Admit, slots: make(chan struct{}, o.Workers)}
	if err := e.separate(ctx, o); err != nil || e.pool != nil {
		if err != nil {
			e = nil
		}
		return e, err
	}
	if err := e.compile(ctx, o); err != nil {
		return nil, err
	}
	if err := e.start(ctx, o); err != nil {
		e.release()
		return nil, fmt.Errorf("start engine: %w", err)
	}
	return e, nil
}

func (e *Engine) start(ctx context.Context, o Options) error {
	if err := instantiateHost(ctx, e.wasm, e.compiled); err != nil {
		return err
	}
	i, err := e.instantiate()
	if err != nil {
		return err
	}
	if e.image, err = boot(i, o.Prelude); err != nil {
		i.close()
		return err
	}
	e.identity = e.image.sum(e.identity)
	e.idle = append(e.idle, i)
	if o.unfueled || o.Interpreter { // the self-test is about the code that cards run on
		return nil
	}
	return e.selfTest(ctx)
}

// compile makes machine code of the adapted module, from the cache where there is one that is fit.
func (e *Engine) compile(ctx context.Context, o Options) error {
	wasm, err := original()
	if err == nil {
		wasm, err = adapt(wasm, !o.unfueled)
	}
	if err != nil {
		return fmt.Errorf("load engine: %w", err)
	}
	e.identity = sha256.Sum256(wasm)
	if !o.NoCache && !o.Interpreter {
		e.cache, e.cacheErr = openCache(cmp.Or(o.CacheDir, o.userCache), e.identity)
		if o.CacheDir != "" && errors.Is(e.cacheErr, errUnfit) {
			return fmt.Errorf("load engine: %w", e.cacheErr)
		}
	}
	ctx = experimental.WithCompilationWorkers(ctx, runtime.GOMAXPROCS(0))
	config := wazero.NewRuntimeConfig()
	if o.Interpreter {
		config = wazero.NewRuntimeConfigInterpreter()
	}
	config = config.WithMemoryLimitPages(maximumPages)
	if e.cache != nil {
		e.wasm = wazero.NewRuntimeWithConfig(context.WithoutCancel(ctx), config.WithCompilationCache(e.cache.CompilationCache))
		if e.compiled, err = e.wasm.CompileModule(ctx, wasm); err == nil {
			e.cacheErr = e.cache.seal()
			return nil
		}
		// A cache that is full, read-only or damaged costs time, not the service.
		e.cacheErr = fmt.Errorf("use the compiled-code cache: %w", err)
		e.release()
		e.cache = nil
	}
	e.wasm = wazero.NewRuntimeWithConfig(context.WithoutCancel(ctx), config)
	if e.compiled, err = e.wasm.CompileModule(ctx, wasm); err != nil {
		e.release()
		return fmt.Errorf("load engine: %w", err)
	}
	return nil
}

// CacheError tells why compiled code was not taken from or put into the cache, or nil.
func (e *Engine) CacheError() error { return e.cacheErr }

// Workers is how many guests may run at once.
func (e *Engine) Workers() int { return cap(e.slots) }

// Replaced counts instances that were thrown away, by the reason.
type Replaced struct {
	Stopped int64 // a guest trapped or ran out of something, or was stopped from outside
	Grown   int64 // a guest took more memory than the boot image has; not counted in worker processes

	Processes int64 // worker processes that ended while they were to serve on
}

// Replaced counts the instances, and the worker processes, that were thrown away so far.
func (e *Engine) Replaced() Replaced {
	e.mu.Lock()
	r := e.replaced
	e.mu.Unlock()
	if e.pool != nil {
		r.Processes = e.pool.count()
	}
	return r
}

// occupy waits for a worker. vacate gives it back.
func (e *Engine) occupy(ctx context.Context) (vacate func(), err error) {
	if err := ctx.Err(); err != nil { // a free worker would win against it half of the time
		return nil, fmt.Errorf("wait for a worker: %w", err)
	}
	if ctx.Value(occupied{}) == e {
		return func() {}, nil
	}
	done := func() {}
	if e.admit != nil {
		if done, err = e.admit(ctx); err != nil {
			return nil, fmt.Errorf("wait for a worker: %w", err)
		}
	}
	select {
	case e.slots <- struct{}{}:
		return func() { <-e.slots; done() }, nil
	case <-ctx.Done():
		done()
		return nil, fmt.Errorf("wait for a worker: %w", ctx.Err())
	}
}

// occupied is the key under which a context says that whoever has it holds a worker of that engine.
type occupied struct{}

// Occupy waits for a worker and holds it until vacate is called, for several things to be done on it one after another, by one
// goroutine: what is called with the context that it gives does not wait again.
func (e *Engine) Occupy(ctx context.Context) (on context.Context, vacate func(), err error) {
	if vacate, err = e.occupy(ctx); err != nil {
		return nil, nil, err
	}
	return context.WithValue(ctx, occupied{}, e), vacate, nil
}

// Idle tells whether a worker is free at this moment, as far as is known here: where Admit decides, it is not.
func (e *Engine) Idle() bool { return e.admit == nil && len(e.slots) < cap(e.slots) }

// Hold keeps the engine going for one who has frozen guests: until the release, which may be called once or more, Thaw works
// even when the engine was closed meanwhile.
func (e *Engine) Hold() (release func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, ErrClosed
	}
	e.live++
	return sync.OnceFunc(e.gone), nil
}

// Close ends the engine. Guests that are open, and guests frozen by those who hold the engine, stay usable until they are
// closed; new ones are refused.
func (e *Engine) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	idle, last := e.idle, e.live == 0
	e.idle = nil
	e.mu.Unlock()
	for _, i := range idle {
		i.close()
	}
	if last {
		e.release()
	}
	return nil
}

// release gives the module and its code back, once no instance is left.
func (e *Engine) release() {
	e.mu.Lock()
	idle := e.idle
	e.idle = nil
	e.mu.Unlock()
	for _, i := range idle {
		i.close()
	}
	if e.pool != nil {
		e.pool.close()
	}
	if e.wasm != nil {
		_ = e.wasm.Close(context.Background())
	}
	if e.cache != nil {
		_ = e.cache.Close(context.Background())
	}
}

// take gives a restored instance, an idle one or a new one. held is for one who holds the engine, and may take one of a closed
// engine too.
func (e *Engine) take(held bool) (*instance, error) {
	if err := e.come(held); err != nil {
		return nil, err
	}
	e.mu.Lock()
	var i *instance
	if n := len(e.idle); n > 0 {
		i, e.idle = e.idle[n-1], e.idle[:n-1]
	}
	e.mu.Unlock()
	if i != nil {
		return i, nil
	}
	i, err := e.instantiate()
	if err == nil {
		if err = e.image.load(i); err != nil {
			i.close()
		}
	}
	if err != nil {
		e.gone()
		return nil, &limits.Error{Code: limits.Engine, Message: "no guest could be made: " + err.Error(), Cause: err}
	}
	return i, nil
}

// put takes an instance back. One that is sound and as large as its image is restored at once, so that nothing of its
// card outlives the card; any other is closed.
func (e *Engine) put(i *instance, sound bool) {
	if sound && i.mem.size == e.image.size {
		e.image.restore(i)
		e.mu.Lock()
		if !e.closed && len(e.idle) < 2*cap(e.slots) {
			e.idle = append(e.idle, i)
			i = nil
		}
		e.mu.Unlock()
	} else {
		e.mu.Lock()
		if sound {
			e.replaced.Grown++
		} else {
			e.replaced.Stopped++
		}
		e.mu.Unlock()
	}
	if i != nil {
		i.close()
	}
	e.gone()
}

// come counts a guest in; held is as for take.
func (e *Engine) come(held bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed && (!held || e.live == 0) {
		return ErrClosed
	}
	e.live++
	return nil
}

// stopped counts an instance that a worker process threw away.
func (e *Engine) stopped() {
	e.mu.Lock()
	e.replaced.Stopped++
	e.mu.Unlock()
}

// gone counts a guest out; the last one of a closed engine turns off the light.
func (e *Engine) gone() {
	e.mu.Lock()
	e.live--
	last := e.closed && e.live == 0
	e.mu.Unlock()
	if last {
		e.release()
	}
}
