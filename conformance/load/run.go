package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"example.com/cardrun/conformance"
)

// Mode says as what cases are played.
type Mode string

// The modes.
const (
	Sessions Mode = "session" // with all their steps; the default
	Renders  Mode = "render"  // their start alone
	Mix      Mode = "mix"     // half and half
)

// Phase is a stretch of the plan.
type Phase struct {
	// Rate is how many renders or sessions are due in a second, at times as random as those of callers who do not know of one
	// another. 0 is a closed loop: each caller begins the next when the one before is over, and it is due then.
	Rate float64
	// Duration is how long it takes.
	Duration time.Duration
	// Ramp lets the rate rise, or fall, evenly to Rate from that of the phase before, or from 0.
	Ramp bool
}

// Options say how a service is put under load. The zero value of every field but URL and Plan is good.
type Options struct {
	// URL is where the service is, with http or https; a path is put in front of the service's own.
	URL string
	// Token is sent as bearer, where there is one.
	Token string
	// Mode says as what cases are played. Default: [Sessions].
	Mode Mode
	// Plan are the phases, one after the other.
	Plan []Phase
	// Clients is how many callers there are, each with connections of its own. Default: 8.
	Clients int
	// Hostile is the share of what is due, from 0 to 1, that is a hostile card instead, from callers of its own, one for each
	// eight others.
	Hostile float64
	// Timeout is how long an answer is waited for. Default: 30 seconds.
	Timeout time.Duration
	// Unanswered is how many renders and sessions may be under way; what is due beyond counts as an error. Default: 4,096.
	Unanswered int
	// Seed determines which case is due when, and from whom. Default: 1.
	Seed uint64
	// Progress is called twice a second, never twice at once. Default: nothing is called.
	Progress func(Progress)
}

// Progress is how far a run has come.
type Progress struct {
	Phase, Phases int
	Elapsed, All  time.Duration
	// Sent to Mismatches count requests.
	Sent, Answered, Refused, Failed, Mismatches int64
}

// maxClients is how many addresses there are for them: 127.0.0.1 to 127.0.255.254.
const maxClients = 65_000

func (o *Options) fill() error {
	if o.Mode == "" {
		o.Mode = Sessions
	}
	if o.Clients == 0 {
		o.Clients = 8
	}
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	if o.Unanswered == 0 {
		o.Unanswered = 4096
	}
	if o.Seed == 0 {
		o.Seed = 1
	}
	switch {
	case o.Mode != Sessions && o.Mode != Renders && o.Mode != Mix:
		return fmt.Errorf("the mode is %.20q; use %s, %s or %s", o.Mode, Sessions, Renders, Mix)
	case o.Clients < 0 || o.Clients > maxClients:
		return fmt.Errorf("%d clients; use 1 to %d", o.Clients, maxClients)
	case !(o.Hostile >= 0 && o.Hostile <= 1):
		return fmt.Errorf("the hostile share is %g; use 0 to 1", o.Hostile)
	case o.Timeout < 0 || o.Unanswered < 0:
		return errors.New("a time or a bound is less than zero")
	case len(o.Plan) == 0:
		return errors.New("the plan has no phase")
	}
	for i, p := range o.Plan {
		switch {
		case !(p.Rate >= 0 && p.Rate <= 1e6):
			return fmt.Errorf("phase %d: the rate is %g; use 0 to 1000000 a second", i+1, p.Rate)
		case p.Duration <= 0 || p.Duration > 7*24*time.Hour:
			return fmt.Errorf("phase %d: it takes %s; use more than nothing and at most a week", i+1, p.Duration)
		case p.Ramp && p.Rate == 0:
			return fmt.Errorf("phase %d: a ramp has to end at a rate; say which", i+1)
		}
	}
	return nil
}

// generator is one run.
type generator struct {
	o       Options
	req     requests
	items   []*item
	timed   []*item // go by the clock
	hostile []*item
	clients []*client
	enemies []*client
	check   *checker
	faults  faults
	phases  []*phaseState
	tail    map[Kind]*tally // of what goes by the clock
	places  chan struct{}   // one for each that is under way
	wait    sync.WaitGroup
	phase   atomic.Int64
}

type phaseState struct {
	kinds   map[Kind]*tally
	late    atomic.Int64
	seconds float64
}

func newTallies() map[Kind]*tally {
	m := make(map[Kind]*tally, len(kinds))
	for _, k := range kinds {
		m[k] = newTally()
	}
	return m
}

// Run plays cases against a service as the plan says, all of them in turn and in random order, and tells what came. Cases that
// go by the clock are played once, one at a time, when the rest is over. When ctx ends, the run is broken off and its error
// is that of ctx. The error is about options, or of a service that cannot be reached or is not ready; whatever it does
// wrong later is in the Report.
func Run(ctx context.Context, cases []conformance.Case, o Options) (*Report, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	g, err := newGenerator(cases, o)
	if err != nil {
		return nil, err
	}
	defer g.close()
	if err := g.ready(ctx); err != nil {
		return nil, err
	}
	stop := g.watch()
	for i := range o.Plan {
		g.phase.Store(int64(i))
		start := time.Now()
		if o.Plan[i].Rate == 0 {
			g.closed(ctx, i, start)
		} else {
			g.open(ctx, i, start)
		}
		g.phases[i].seconds = time.Since(start).Seconds()
	}
	g.wait.Wait()
	for _, it := range g.timed {
		p := g.player(g.clients[0], g.tail, "")
		if o.Mode == Renders {
			p.render(ctx, it, time.Now())
		} else {
			p.session(ctx, it, time.Now())
		}
	}
	stop()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return g.report(), nil
}

func newGenerator(cases []conformance.Case, o Options) (*generator, error) {
	target, err := url.Parse(o.URL)
	if err != nil || target.Host == "" {
		return nil, fmt.Errorf("the URL is %.200q; use one like http://127.0.0.1:8787", o.URL)
	}
	g := &generator{o: o, check: newChecker(), places: make(chan struct{}, o.Unanswered), tail: newTallies()}
	if g.req, err = newRequests(target, o.Token); err != nil {
		return nil, err
	}
	for i := range cases {
		it := g.req.item(&cases[i])
		if cases[i].Timed() {
			g.timed = append(g.timed, it)
		} else {
			g.items = append(g.items, it)
		}
	}
	if len(g.items) == 0 {
		return nil, errors.New("there is no case to play, but such as go by the clock")
	}
	enemies := 0
	if o.Hostile > 0 {
		enemies = (o.Clients + 7) / 8
		for _, c := range hostile() {
			g.hostile = append(g.hostile, g.req.item(&c))
		}
	}
	for n := range o.Clients + enemies {
		c, err := newClient(target, n+2, o.Timeout)
		if err != nil {
			return nil, err
		}
		if n < o.Clients {
			g.clients = append(g.clients, c)
		} else {
			g.enemies = append(g.enemies, c)
		}
	}
	for range o.Plan {
		g.phases = append(g.phases, &phaseState{kinds: newTallies()})
	}
	return g, nil
}

func (g *generator) close() {
	for _, c := range append(g.clients, g.enemies...) {
		c.close()
	}
}

// ready asks whether the service is.
func (g *generator) ready(ctx context.Context) error {
	a, err := g.clients[0].do(ctx, g.req.get("/readyz"))
	switch {
	case err != nil:
		return fmt.Errorf("reach the service: %w", err)
	case a.status != http.StatusOK:
		return fmt.Errorf("the service is not ready: /readyz answers %d", a.status)
	}
	return nil
}

// chooser draws what is due next.
type chooser struct {
	*rand.Rand
	g    *generator
	next []*item // what is left of this turn
	foul []*item
}

func (g *generator) chooser(stream uint64) *chooser {
	return &chooser{Rand: rand.New(rand.NewPCG(g.o.Seed, stream)), g: g}
}

// draw takes from a deck, shuffled anew when it is used up, so that all are played equally often.
func (c *chooser) draw(deck *[]*item, all []*item) *item {
	if len(*deck) == 0 {
		*deck = append(*deck, all...)
		c.Shuffle(len(*deck), func(i, j int) { (*deck)[i], (*deck)[j] = (*deck)[j], (*deck)[i] })
	}
	last := len(*deck) - 1
	it := (*deck)[last]
	*deck = (*deck)[:last]
	return it
}

// choose gives the next thing to do. by is the caller where that is settled, or nil.
func (c *chooser) choose(phase int, by *client) func(ctx context.Context, due time.Time) {
	g := c.g
	tallies := g.phases[phase].kinds
	if g.o.Hostile > 0 && c.Float64() < g.o.Hostile {
		it := c.draw(&c.foul, g.hostile)
		p := g.player(g.enemies[c.IntN(len(g.enemies))], tallies, Hostile)
		if it.session {
			return func(ctx context.Context, due time.Time) { p.session(ctx, it, due) }
		}
		return func(ctx context.Context, due time.Time) { p.render(ctx, it, due) }
	}
	it := c.draw(&c.next, g.items)
	if by == nil {
		by = g.clients[c.IntN(len(g.clients))]
	}
	p := g.player(by, tallies, "")
	if g.o.Mode == Renders || g.o.Mode == Mix && c.IntN(2) == 0 {
		return func(ctx context.Context, due time.Time) { p.render(ctx, it, due) }
	}
	return func(ctx context.Context, due time.Time) { p.session(ctx, it, due) }
}

func (g *generator) player(c *client, tallies map[Kind]*tally, as Kind) *player {
	return &player{requests: g.req, client: c, check: g.check, faults: &g.faults, kinds: tallies, as: as}
}

// open begins what is due at the times when it is, whatever has become of what was due before.
func (g *generator) open(ctx context.Context, phase int, start time.Time) {
	p := g.o.Plan[phase]
	from := p.Rate
	if p.Ramp {
		from = 0
		if phase > 0 {
			from = g.o.Plan[phase-1].Rate
		}
	}
	c := g.chooser(uint64(phase) << 32)
	at := 0.0 // seconds since the start
	for all := p.Duration.Seconds(); ; {
		at = next(at, c.ExpFloat64(), from, p.Rate, all)
		due := start.Add(time.Duration(at * float64(time.Second)))
		if at >= all {
			_ = sleepUntil(ctx, start.Add(p.Duration))
			return
		}
		if wait := time.Until(due); wait > 0 && sleepUntil(ctx, due) != nil || ctx.Err() != nil {
			return
		}
		do := c.choose(phase, nil)
		select {
		case g.places <- struct{}{}:
		default:
			g.phases[phase].late.Add(1)
			continue
		}
		g.wait.Go(func() {
			defer func() { <-g.places }()
			do(ctx, due)
		})
	}
}

// next is the time of the next arrival in a process whose rate goes evenly from one to another within the time all: the
// time at which the integral of the rate has grown by step.
func next(at, step, from, to, all float64) float64 {
	slope := (to - from) / all
	rate := from + slope*at
	if slope == 0 {
		return at + step/rate
	}
	d := rate*rate + 2*slope*step
	if d < 0 {
		return math.Inf(1) // the rate falls to nothing before
	}
	return at + (math.Sqrt(d)-rate)/slope
}

// closed lets each caller begin when what it began before is over.
func (g *generator) closed(ctx context.Context, phase int, start time.Time) {
	end := start.Add(g.o.Plan[phase].Duration)
	var wait sync.WaitGroup
	for n, by := range g.clients {
		wait.Go(func() {
			c := g.chooser(uint64(phase)<<32 + uint64(n) + 1)
			for ctx.Err() == nil {
				now := time.Now()
				if !now.Before(end) {
					return
				}
				c.choose(phase, by)(ctx, now)
			}
		})
	}
	wait.Wait()
}

// watch reports progress until it is stopped.
func (g *generator) watch() (stop func()) {
	if g.o.Progress == nil {
		return func() {}
	}
	start, done, over := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				g.o.Progress(g.progress(time.Since(start)))
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-over }
}

func (g *generator) progress(elapsed time.Duration) Progress {
	p := Progress{Phase: int(g.phase.Load()) + 1, Phases: len(g.phases), Elapsed: elapsed}
	for i := range g.phases {
		p.All += g.o.Plan[i].Duration
		for _, t := range g.phases[i].kinds {
			r := t.report("", 0)
			p.Sent, p.Answered, p.Refused = p.Sent+r.Sent, p.Answered+r.Answered, p.Refused+r.Refused
			p.Failed, p.Mismatches = p.Failed+r.Failed, p.Mismatches+r.Mismatches
		}
	}
	return p
}

func (g *generator) report() *Report {
	r := &Report{URL: g.o.URL, Details: g.faults.details, Errors: g.faults.errors}
	add := func(k KindReport) {
		r.Sent, r.Answered, r.Refused = r.Sent+k.Sent, r.Answered+k.Answered, r.Refused+k.Refused
		r.Failed, r.Mismatches = r.Failed+k.Failed, r.Mismatches+k.Mismatches
	}
	for i, s := range g.phases {
		p := PhaseReport{Rate: g.o.Plan[i].Rate, Seconds: s.seconds, Late: s.late.Load()}
		r.Failed += p.Late
		for _, kind := range kinds {
			if k := s.kinds[kind].report(kind, s.seconds); k.Sent > 0 {
				p.Kinds = append(p.Kinds, k)
				add(k)
			}
		}
		r.Phases = append(r.Phases, p)
	}
	for kind, t := range g.tail {
		add(t.report(kind, 0))
	}
	return r
}
