package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"example.com/cardrun"
)

// Options configure a Server. The zero value serves everybody who can connect, which is good on loopback only; with Local,
// it is good there.
type Options struct {
	// Engine are the options of the engine. Default for its caches: none. Admit and Sanitized are the server's own and overwritten.
	Engine cardrun.Options

	// Tokens are those of which each request must bear one (see [ParseTokens]). Default: none is asked for.
	Tokens []string
	// Local tells that the listener is on loopback: then a request must name it so in its Host header, or one of Hosts, so
	// that no page in a browser can reach it by a name of its own (DNS rebinding).
	Local bool
	// Hosts are further names, without port, that the Host header may have. Where it is not empty, it holds for listeners
	// that are not local as well.
	Hosts []string
	// Origins are those whose pages may call, as in https://chat.example. Default: none but the service's own.
	Origins []string
	// TrustedProxies are the addresses whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix
	// ClientHeader is the name of a header in which a backend tells its users apart, so that they share fairly. It is believed
	// of those who bear a token, of loopback, and of trusted proxies. Default: none.
	ClientHeader string

	// Rate is how many requests a second each client may send; twice as many at once. Default: 100 for clients that are
	// neither on loopback nor bear a token, no limit for others; negative is no limit for anybody.
	Rate float64
	// ClientSessions is how many sessions one client may have. Default: 1,000 for clients that are neither on loopback nor
	// bear a token, no limit of its own for others; negative is no limit for anybody.
	ClientSessions int

	// Patience is how long a request waits for a worker; one that would wait half as long by what is known is refused at
	// once. Default: 1 second.
	Patience time.Duration
	// MaxWaiting is how many requests wait for a worker. Default: 1,024.
	MaxWaiting int
	// BodyTime is how long a body may take to come. Default: 5 seconds.
	BodyTime time.Duration
	// BodyMemory is how many bytes bodies take that are being read or wait. Default: 64 MiB.
	BodyMemory int
	// MaxConnections is how many connections there are; for one more, the one that waits longest for a request is closed.
	// Default: 8,192.
	MaxConnections int

	// SessionIdle is how long a session lives that nobody uses or follows. Default: 30 minutes.
	SessionIdle time.Duration
	// SessionMemory is how many bytes all sessions take, about; past it, those least recently used end. Default: 512 MiB.
	SessionMemory int
	// MaxSessions is how many sessions there are; past it, likewise. Default: 50,000.
	MaxSessions int
	// KeepRounds is how many rounds after the first a session keeps. Default: 256; negative keeps all.
	KeepRounds int
	// FreezeAfter is as in cardrun.SessionOptions.
	FreezeAfter time.Duration

	// Heartbeat is how often a stream says that it lives. Default: 15 seconds.
	Heartbeat time.Duration
	// Grace is how long requests are still taken after the end was announced on /readyz. Default: none.
	Grace time.Duration
	// Drain is how long requests may take to finish after that. Default: 20 seconds.
	Drain time.Duration

	// Log gets one record for each request, with neither content of cards nor ids of sessions. Default: none.
	Log *slog.Logger
	// Tracer gets a span for each request. Default: none.
	Tracer trace.Tracer
	// Mounts are handlers of others, under the same rules.
	Mounts []Mount
}

// Mount is a handler of somebody else's that is served under the rules of a [Server]: who may call, how often, how large a
// body may be.
type Mount struct {
	// Pattern is that of an http.ServeMux, with a method or without.
	Pattern string
	// Handler makes the handler once the engine runs. Its requests carry the client in their context, so that what they
	// run on that runtime has its fair turn.
	Handler func(*Server, *cardrun.Runtime) http.Handler
	// MaxBody is how many bytes a body may have, which must be JSON; it is read before the handler is called.
	MaxBody int
	// Work tells that the handler runs cards: it is not called when there is more to do than can be done.
	Work bool
	// Public tells that it is served to anybody, without a token: a page that asks for one, say.
	Public bool
}

// withDefaults fills in what was not said.
func (o Options) withDefaults() (Options, error) {
	set := func(n *int, to int) {
		if *n == 0 {
			*n = to
		}
	}
	after := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	set(&o.MaxWaiting, 1024)
	set(&o.BodyMemory, 64<<20)
	set(&o.MaxConnections, 8192)
	set(&o.SessionMemory, 512<<20)
	set(&o.MaxSessions, 50_000)
	set(&o.KeepRounds, 256)
	set(&o.Engine.Workers, runtime.GOMAXPROCS(0))
	after(&o.Patience, time.Second)
	after(&o.BodyTime, 5*time.Second)
	after(&o.SessionIdle, 30*time.Minute)
	after(&o.Heartbeat, 15*time.Second)
	after(&o.Drain, 20*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError + 1}))
	}
	if o.Tracer == nil {
		o.Tracer = noop.NewTracerProvider().Tracer("")
	}
	return o, o.check()
}

// Server is the service. Make one with [New].
type Server struct {
	o        Options
	tokens   tokens
	rates    *rates
	turns    *turns
	bodies   *bodies
	sessions *sessions
	metrics  *metrics
	mux      *http.ServeMux
	routes   map[string]route // by pattern
	describe []byte           // the OpenAPI description
	http     *http.Server
	conns    *connections
	lines    lines

	rt       atomic.Pointer[cardrun.Runtime] // nil until it is ready
	draining atomic.Bool
	ending   chan struct{} // closed when streams are to end
	end      sync.Once
	starting sync.Mutex         // guards closers, and a start against the end
	closers  []func()           // of mounts
	reviews  chan struct{}      // one place for each card that is reviewed
	stop     context.CancelFunc // of what goes on beside requests
	life     context.Context
	beside   sync.WaitGroup
}

// New makes a Server that is not ready yet. Close it.
func New(o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("make server: %w", err)
	}
	s := &Server{
		o: o, tokens: newTokens(o.Tokens), rates: newRates(o.Rate), bodies: newBodies(o.BodyMemory, o.BodyTime),
		turns: newTurns(o.Engine.Workers, o.Patience, o.MaxWaiting),
		sessions: newSessions(storeOptions{
			ceiling: o.SessionMemory, most: o.MaxSessions, perClient: o.ClientSessions, idle: o.SessionIdle,
		}),
		mux: http.NewServeMux(), routes: make(map[string]route), ending: make(chan struct{}),
		reviews: make(chan struct{}, max(1, o.Engine.Workers/2)),
	}
	s.life, s.stop = context.WithCancel(context.Background())
	s.metrics = newMetrics(s)
	s.turns.observe = func(d time.Duration) { s.metrics.queue.Observe(d.Seconds()) }
	s.turns.refused = func(reason string) { s.metrics.shed.WithLabelValues(reason).Inc() }
	if err := s.register(); err != nil {
		return nil, fmt.Errorf("make server: %w", err)
	}
	s.conns = newConnections(o.MaxConnections)
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.gate),
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    16 << 10,
		ConnState:         s.conns.state,
		ConnContext:       s.conns.context,
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug), // what clients do wrong
	}
	s.beside.Go(s.sweep)
	return s, nil
}

// Start starts the engine, which proves itself, and turns the service ready. It takes about a second of one core, or some
// tens of milliseconds with a warm cache.
func (s *Server) Start(ctx context.Context) error {
	s.starting.Lock()
	defer s.starting.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	options := s.o.Engine
	options.Admit = s.turns.admit
	options.Sanitized = func(took time.Duration) { s.metrics.sanitizer.Observe(took.Seconds()) }
	rt, err := cardrun.New(ctx, options)
	if err == nil && s.life.Err() != nil {
		err = errors.Join(errors.New("the server is closed"), rt.Close())
	}
	if err != nil {
		return fmt.Errorf("start engine: %w", err)
	}
	for _, m := range s.o.Mounts {
		if err := s.mount(m, rt); err != nil {
			_ = rt.Close()
			return err
		}
	}
	if !s.rt.CompareAndSwap(nil, rt) {
		_ = rt.Close()
		return errors.New("start engine: it was started before")
	}
	return nil
}

// mount serves a handler of somebody else's.
func (s *Server) mount(m Mount, rt *cardrun.Runtime) (err error) {
	defer func() {
		if fault := recover(); fault != nil { // which is how ServeMux refuses a pattern
			err = fmt.Errorf("mount %s: %v", m.Pattern, fault)
		}
	}()
	s.mux.Handle(m.Pattern, m.Handler(s, rt))
	return nil
}

// Runtime is the engine, or nil while the service is not ready.
func (s *Server) Runtime() *cardrun.Runtime { return s.rt.Load() }

// Handler is the whole service as a handler, for those who listen in their own way. Its bounds on connections do not hold
// there.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.gate) }

// sweep expires sessions until the server ends.
func (s *Server) sweep() {
	every := min(max(s.o.SessionIdle/20, 10*time.Millisecond), time.Second)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			s.sessions.sweep(now)
		case <-s.life.Done():
			return
		}
	}
}

// Drain announces the end: /readyz says so, and connections are closed after the answer that is due on them.
func (s *Server) Drain() { s.draining.Store(true) }

// endStreams tells streams to end.
func (s *Server) endStreams() { s.end.Do(func() { close(s.ending) }) }

// Close ends all that is left: streams, sessions and the engine. Requests under way may fail; see [Server.Serve] for the
// gentle way.
func (s *Server) Close() error {
	s.Drain()
	s.endStreams()
	err := s.http.Close()
	s.stop()
	s.beside.Wait()
	s.sessions.close()
	s.starting.Lock() // a start under way ends with life
	defer s.starting.Unlock()
	for _, close := range s.closers {
		close()
	}
	if rt := s.rt.Load(); rt != nil {
		err = errors.Join(err, rt.Close())
	}
	return err
}
