package cardrun

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"example.com/cardrun/limits"
	"example.com/cardrun/patches"
	"example.com/cardrun/uiapi"
)

var (
	// ErrEnded is the error of events for an activation that has ended (R120): the card failed, or the session was closed.
	// The Snapshot's failure says why; [Session.Refresh] may start a new one.
	ErrEnded = errors.New("the activation has ended")
	// ErrEvent is the error of an event that no page would send: an unknown type, an id that is none, or a value over 2,048
	// characters (D34). It is wrapped with what is wrong. None of the events sent with it was taken.
	ErrEvent = errors.New("the event is not acceptable")
)

// SessionOptions configure a [Session]. The zero value is good.
type SessionOptions struct {
	RenderOptions
	// FreezeAfter is how long a session stays idle before its guest is frozen to what differs from the boot image. Default:
	// one second; negative never freezes.
	FreezeAfter time.Duration
	// KeepRounds is how many rounds are kept beside initialization, which always is: the last ones. Older ones are forgotten
	// and missing in [Snapshot.Rounds], in a Report and in Follow; [Failure.Round] counts them all the same. Default: all
	// rounds are kept, as the specification has it, and a session that lives long grows.
	KeepRounds int

	// schedule runs what Post leaves to do; tests put their own here to decide what happens in between.
	schedule func(work func())
}

// Session is a card that lives: events come, rounds run one at a time in order of arrival (R71), the display follows. Open one
// with [Runtime.Open]; close it. Its methods may be called from many goroutines.
//
// A session that waits for events holds no worker, and after a while no guest.
type Session struct {
	rt      *Runtime
	card    *Checked
	o       SessionOptions
	release func() // of the engine, which lives as long as its sessions

	// life ends with Close, and with it an initialization that Refresh began.
	life context.Context
	die  context.CancelFunc

	// refresh has one place, for the Refresh that is under way, or for Close. gate is held while the activation is
	// exchanged, so that no event falls between two of them. They are taken in this order, before mu.
	refresh chan struct{}
	gate    sync.RWMutex

	mu          sync.Mutex // guards what follows; never held while a guest runs
	ctx         context.Context
	stop        context.CancelFunc // ends the round in flight
	act         *activation
	queue       queue
	busy        bool          // a round is in flight
	rest        chan struct{} // closed when nothing is in flight any more
	news        chan struct{} // closed when a round was recorded, or the activation ended
	vanished    int           // events dropped at dispatch, their element being gone
	activations int           // that there were, the present one included
	timer       *time.Timer   // freezes the guest
}

// Report is what sending events led to.
type Report struct {
	// Rounds are those that ended meanwhile, of which [SessionOptions.KeepRounds] are kept.
	Rounds []Round `json:"rounds"`
	// Controls are the controls afterwards.
	Controls []patches.Control `json:"controls"`
	// Combined counts events that were merged into one that waited (R73).
	Combined int `json:"combined"`
	// Ignored counts events that came to nothing, or not to all that they stand for: the queue was full (R74), or their
	// control is missing, disabled or cannot do that (D11, D13).
	Ignored int `json:"ignored"`
	// Last is the place of the last round there was when the Report was made, which is that of the last of Rounds if there are any.
	Last Place `json:"-"`
}

// Open checks a card, opens an activation and runs its initialization. The Session is nil when the card is rejected; the
// Snapshot says why. A card whose initialization failed gives a Session that has ended. The error is as for
// [Runtime.Render].
func (r *Runtime) Open(ctx context.Context, c *Card, o SessionOptions) (*Session, *Snapshot, error) {
	if o.FreezeAfter == 0 {
		o.FreezeAfter = time.Second
	}
	if o.schedule == nil {
		o.schedule = func(work func()) { go work() }
	}
	release, err := r.engine.Hold()
	if err != nil {
		return nil, nil, err
	}
	a, snapshot, err := r.begin(ctx, c, nil, o.RenderOptions)
	if a == nil {
		release()
		return nil, snapshot, err
	}
	s := &Session{rt: r, card: a.card, o: o, release: release, refresh: make(chan struct{}, 1), news: make(chan struct{})}
	s.life, s.die = context.WithCancel(context.WithoutCancel(ctx))
	s.install(a)
	return s, snapshot, nil
}

// start makes an activation from the saved document and its initial values (R121). It ends with the session.
func (s *Session) start(ctx context.Context) (*activation, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	a, rejected, err := s.rt.begin(ctx, &s.card.Card, s.card, s.o.RenderOptions)
	if rejected != nil && a == nil { // by an engine that has changed its mind
		return nil, &limits.Error{Code: limits.Engine, Message: "the card is rejected now, and was not before"}
	}
	return a, err
}

// install makes an activation the session's. Nothing is in flight.
func (s *Session) install(a *activation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ctx, s.stop = context.WithCancel(s.life)
	s.act, s.queue = a, queue{}
	a.rounds.keep = s.o.KeepRounds
	s.activations++
	s.tell()
	s.rested()
}

// Refresh ends the activation and starts a new one from the saved document and its initial values; what the user entered
// is not restored (R121). It also revives an activation that has ended. When the new one cannot be started, for a
// context that ends, say, the old one goes on.
func (s *Session) Refresh(ctx context.Context) error {
	select {
	case s.refresh <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("wait for another refresh: %w", ctx.Err())
	}
	defer func() { <-s.refresh }()
	if s.life.Err() != nil {
		return ErrEnded
	}
	a, err := s.start(ctx)
	if s.life.Err() != nil {
		if err == nil {
			a.close()
		}
		return ErrEnded
	}
	if err != nil {
		return err
	}
	s.gate.Lock()
	defer s.gate.Unlock()
	s.halt()
	s.install(a)
	return nil
}

// Close ends the activation, and a Refresh under way; when it returns, no code of the card runs any more (R120). The
// Snapshot stays as it was.
func (s *Session) Close() {
	s.die()
	s.refresh <- struct{}{}
	defer func() { <-s.refresh }()
	s.gate.Lock()
	defer s.gate.Unlock()
	s.halt()
	s.release()
}

// halt ends the activation and waits until nothing is in flight.
func (s *Session) halt() {
	s.mu.Lock()
	s.queue = queue{}
	s.stop()
	s.mu.Unlock()
	_ = s.Wait(context.Background()) // which does not end
	s.mu.Lock()
	defer s.mu.Unlock()
	s.still()
	s.act.close()
	s.tell()
}

// Post takes events without waiting for their rounds, in order. What the user entered shows at once, whatever becomes of
// the event (D15). It tells how many were combined and ignored, or [ErrEnded], or an [ErrEvent], of which none was taken.
func (s *Session) Post(events ...Event) (combined, ignored int, err error) {
	p, err := s.post(events)
	if p.work != nil {
		s.o.schedule(func() { p.work(context.Background()) })
	}
	return p.combined, p.ignored, err
}

// posted is what came of taking events.
type posted struct {
	combined, ignored int
	activation        int                   // that took the events
	before, vanished  int                   // rounds, and events dropped at dispatch, that there were already
	work              func(context.Context) // the rounds to run, if nobody is at it
}

func (s *Session) post(events []Event) (p posted, err error) {
	s.gate.RLock()
	defer s.gate.RUnlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Err() != nil || s.act.failure != nil {
		return p, ErrEnded
	}
	for n, e := range events {
		if err := e.Check(); err != nil {
			return p, fmt.Errorf("event %d: %w", n+1, err)
		}
	}
	p.activation, p.before, p.vanished = s.activations, s.act.rounds.count(), s.vanished
	for _, e := range events {
		combined, ignored := false, true
		if s.act.failure == nil { // the events before may have ended it (D35)
			combined, ignored = s.take(e)
		}
		if combined {
			p.combined++
		}
		if ignored {
			p.ignored++
		}
		if !s.busy {
			p.work = s.next() // what arrives at rest is dispatched at once, and does not wait
		}
	}
	return p, nil
}

// Wait waits until no event waits and no round runs. The error is the context's.
func (s *Session) Wait(ctx context.Context) error {
	for {
		s.mu.Lock()
		busy, rest := s.busy, s.rest
		s.mu.Unlock()
		if !busy {
			return nil
		}
		select {
		case <-rest:
		case <-ctx.Done():
			return fmt.Errorf("wait for the session: %w", ctx.Err())
		}
	}
}

// Send is Post and Wait. The Report has the rounds that ended from the moment the events were taken until the session came to rest.
// A context that ends, which is noticed between rounds, leaves the events taken: their rounds go on.
func (s *Session) Send(ctx context.Context, events ...Event) (Report, error) {
	p, err := s.post(events)
	if err != nil {
		return Report{}, err
	}
	switch {
	case p.work == nil:
	case ctx.Done() == nil || s.rt.engine.Idle():
		p.work(ctx) // here, which saves a goroutine
	default: // the wait for a worker may be longer than the caller's patience
		go p.work(context.Background())
	}
	if err := s.Wait(ctx); err != nil {
		return Report{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := Report{Controls: s.act.document.Controls(), Combined: p.combined, Ignored: p.ignored + s.vanished - p.vanished, Last: s.place()}
	if p.activation == s.activations { // else a Refresh has come in between, and its rounds are not of these events
		r.Rounds, _ = s.act.rounds.from(p.before)
	}
	return r, nil
}

// Progress is where a session stands, for those who follow it.
type Progress struct {
	// Activation counts from 1; a Refresh raises it, and then rounds are counted anew.
	Activation int
	// Rounds are those from the number that was asked for, or from the oldest after which none was forgotten
	// ([SessionOptions.KeepRounds]).
	Rounds []Round
	// First is the number of the first of Rounds; where there is none, of the next one to come.
	First int
	// Failure is why the activation ended, or nil. Closed tells that the session was closed.
	Failure *Failure
	Closed  bool
	// News is closed when there is something new. When Closed, there will be nothing any more.
	News <-chan struct{}
}

// Follow gives the rounds of an activation from number from on; initialization is number 0. For an activation that is not the
// present one, all rounds of the present one are given.
func (s *Session) Follow(activation, from int) Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	if activation != s.activations {
		from = 0
	}
	rounds, first := s.act.rounds.from(from)
	return Progress{
		Activation: s.activations, Rounds: rounds, First: first, Failure: s.act.failure,
		Closed: s.life.Err() != nil, News: s.news,
	}
}

// Snapshot gives everything there is to see now.
func (s *Session) Snapshot() *Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.act.snapshot()
}

// Size is about how many bytes the session takes: document, rounds, and its guest, frozen or not. What it shares with other
// sessions of the same card counts for each.
func (s *Session) Size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.act
	n := 4096 + 4*s.card.Card.size() + a.document.Size() + a.rounds.size() + len(a.frozen)
	if a.guest != nil {
		last := a.rounds.rounds[len(a.rounds.rounds)-1]
		n += restingGuest + int(last.Usage.HeapBytes)
	}
	return n
}

// restingGuest is what a guest keeps of memory beside its heap: pages that were touched, and the machine's own.
const restingGuest = 300 << 10

// tell wakes those who follow. The caller holds mu.
func (s *Session) tell() {
	close(s.news)
	s.news = make(chan struct{})
}

// flight is one round on its way.
type flight struct {
	act    *activation
	event  Event // as dispatched, with the values of that moment (D13)
	inputs []byte
	clock  uint64 // of the edits, at dispatch
}

// next dispatches the first waiting event for which there is something to do, and gives the work of it; the caller, who
// holds mu, must see to it that it is done. Nothing is in flight.
func (s *Session) next() (work func(context.Context)) {
	f := s.prepare()
	if f == nil {
		return nil
	}
	s.still()
	s.busy, s.rest = true, make(chan struct{})
	ctx := s.ctx
	return func(caller context.Context) { s.fly(ctx, caller, f) }
}

// prepare takes the first waiting event whose element is still there, with the inputs as displayed now (R72), or nil.
func (s *Session) prepare() *flight {
	for {
		e, ok := s.queue.pop()
		if !ok || s.act.failure != nil {
			return nil
		}
		if !s.act.document.Has(e.ID) {
			s.vanished++ // (D13)
			continue
		}
		e = s.displayed(e)
		inputs, err := s.act.document.Snapshot()
		if err != nil { // the user's edits no longer fit (D35)
			s.land(&flight{act: s.act, event: e}, uiapi.Outcome{}, err)
			return nil
		}
		return &flight{act: s.act, event: e, inputs: inputs, clock: s.queue.clock}
	}
}

// displayed gives the event the values that its control shows now.
func (s *Session) displayed(e Event) Event {
	out := Event{ID: e.ID, Type: e.Type}
	c, ok := s.act.document.Control(e.ID)
	switch {
	case !ok || c.Type == "button":
	case c.Type == "checkbox" || c.Type == "radio":
		out.Value, out.Checked = &c.Value, &c.Checked
	default:
		out.Value = &c.Value
	}
	return out
}

// fly runs rounds until no event waits. ctx is the activation's. When the caller's ends, the rest goes on without him.
func (s *Session) fly(ctx, caller context.Context, f *flight) {
	for f != nil {
		if caller.Err() != nil {
			go s.fly(ctx, context.Background(), f)
			return
		}
		var out uiapi.Outcome
		g, err := f.act.wake(s.rt, &s.mu)
		if err == nil {
			out, err = uiapi.Dispatch(ctx, g, s.card.Card.JavaScript, uiapi.Event{ID: f.event.ID, Type: f.event.Type}, f.inputs)
		}
		s.mu.Lock()
		if ctx.Err() == nil { // else the activation was ended from outside, and nothing more is to be seen of it
			s.land(f, out, err)
			f = s.prepare()
		} else {
			f = nil
		}
		if f == nil {
			s.settle(false)
		}
		s.mu.Unlock()
	}
}

// land ends a round: its batch is applied, or dropped for a newer edit. The caller holds mu.
func (s *Session) land(f *flight, out uiapi.Outcome, err error) {
	event := f.event
	if err := f.act.finish(PhaseEvent, &event, out, err, func(st *patches.Stage) bool { return s.queue.conflicts(st, f.clock) }); err != nil {
		// Not the card's doing, but its state is lost all the same.
		fault := &limits.Error{Code: limits.Engine, Message: "the sandbox failed: " + err.Error(), Cause: err}
		_ = f.act.end(PhaseEvent, &event, out, fault) // a limits.Error always ends it
	}
	if f.act.failure != nil {
		s.queue = queue{}
	}
	s.tell()
}
