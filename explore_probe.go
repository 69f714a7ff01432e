package cardrun

import (
	"context"
	"errors"
	"slices"

	"example.com/cardrun/limits"
	"example.com/cardrun/patches"
	"example.com/cardrun/uiapi"
)

// prober runs a card from known states, in this goroutine, event by event.
type prober struct {
	rt      *Runtime
	card    *Checked
	options RenderOptions
	lint    *lint
}

// move is one thing that a user does, as a flag of cardrun play has it.
type move struct {
	kind  string // set, toggle or click
	id    string
	value string // of set
}

func (m move) args() []string {
	if m.kind == "set" {
		return []string{"--set", m.id + "=" + m.value}
	}
	return []string{"--" + m.kind, m.id}
}

// events are what a page sends for a move, each when the rounds before have ended.
func (m move) events() []Event {
	if m.kind == "set" {
		return []Event{{ID: m.id, Type: "input", Value: &m.value}, {ID: m.id, Type: "change"}}
	}
	return []Event{{ID: m.id, Type: "click"}}
}

// run is an activation with the queue of a session, whose rounds are run where they are asked for. It is what a [Session]
// is but for goroutines and time.
type run struct {
	p *prober
	s *Session
	// last is what came of the last round, before it was applied; emitted counts rounds.
	last    uiapi.Outcome
	event   Event             // of the last round
	before  []patches.Control // what it was dispatched with
	rounds  int
	dropped bool       // the last round's batch was discarded, and nothing was applied since
	watch   func(*run) // called after each round
}

func (p *prober) run(a *activation) *run {
	return &run{p: p, s: &Session{rt: p.rt, card: p.card, act: a, news: make(chan struct{})}}
}

// start runs the script on a document in which controls have the given values, where they can have them. nil is the
// initial document.
func (p *prober) start(ctx context.Context, values []patches.Control) (*run, error) {
	a, err := p.rt.open(p.card, p.options, false)
	if err != nil {
		return nil, err
	}
	if values != nil {
		impose(a.document, values)
	}
	if err := a.start(ctx); err != nil {
		a.close()
		return nil, err
	}
	return p.run(a), nil
}

// impose gives controls the values that others of the same id have.
func impose(d *patches.Document, values []patches.Control) {
	for _, v := range values {
		c, ok := d.Control(v.ID)
		if !ok || c.Type != v.Type || c.Type == "button" {
			continue
		}
		switch {
		case c.Type == "checkbox" || c.Type == "radio":
			if c.Checked != v.Checked {
				_, _ = d.Edit(v.ID, nil, &v.Checked) // one that a user cannot change keeps its state
			}
		case c.Value != v.Value:
			if _, err := d.Edit(v.ID, &v.Value, nil); err != nil {
				_, _ = d.Apply(patches.Batch{{Op: patches.OpValue, ID: v.ID, Value: v.Value}})
			}
		}
	}
}

func (r *run) close()                      { r.s.act.close() }
func (r *run) failure() *Failure           { return r.s.act.failure }
func (r *run) document() *patches.Document { return r.s.act.document }
func (r *run) text() string                { return r.s.act.document.Text() }
func (r *run) controls() []patches.Control { return r.s.act.document.Controls() }
func (r *run) random() bool                { return r.s.act.readRandom }
func (r *run) usage() Usage                { h := r.s.act.rounds.rounds; return h[len(h)-1].Usage }
func (r *run) budgets() []Budget           { return roundBudgets(r.usage(), r.document(), len(r.s.act.handlers)) }

// play makes a move, and runs all rounds of it. It tells whether a user could do that.
func (r *run) play(ctx context.Context, m move) (done bool, err error) {
	c, control := r.document().Control(m.id)
	if m.kind == "set" && (!control || c.Type == "range" && m.value == "" || c.Type == "select" && !slices.Contains(r.document().Options(m.id), m.value)) || !r.document().Has(m.id) {
		return false, nil
	}
	for _, e := range m.events() {
		if r.failure() != nil {
			return true, nil
		}
		if _, ignored := r.s.take(e); ignored {
			return done, nil
		}
		done = true
		if err := r.drain(ctx); err != nil {
			return done, err
		}
	}
	return done, nil
}

// drain runs what waits.
func (r *run) drain(ctx context.Context) error {
	for f := r.s.prepare(); f != nil; f = r.s.prepare() {
		if err := r.fly(ctx, f); err != nil {
			return err
		}
	}
	clear(r.s.queue.edits)
	return nil
}

// fly runs one round. The error is the context's.
func (r *run) fly(ctx context.Context, f *flight) error {
	r.before = r.controls()
	g, err := f.act.wake(r.p.rt, &r.s.mu)
	var out uiapi.Outcome
	if err == nil {
		out, err = uiapi.Dispatch(ctx, g, r.p.card.Card.JavaScript, uiapi.Event{ID: f.event.ID, Type: f.event.Type}, f.inputs)
	}
	if ctx.Err() != nil && err != nil && errors.Is(err, ctx.Err()) {
		return err
	}
	r.s.land(f, out, err)
	r.last, r.event = out, f.event
	r.rounds++
	h := r.s.act.rounds.rounds
	switch {
	case h[len(h)-1].Discarded:
		r.dropped = true
	case len(out.Batch) > 0:
		r.dropped = false
	}
	if r.watch != nil {
		r.watch(r)
	}
	return nil
}

// state is an activation that rests, and can be gone on from many times.
type state struct {
	document *patches.Document
	frozen   []byte
	handlers []Handler
	random   bool
	path     []move
}

// size is about how many bytes a state takes.
func (st *state) size() int {
	n := len(st.frozen) + st.document.Size()
	for _, m := range st.path {
		n += len(m.value)
	}
	return n
}

// save freezes a run; nil when it is too large to keep.
func (r *run) save(ctx context.Context, path []move) (*state, error) {
	a := r.s.act
	if a.guest == nil {
		return nil, nil
	}
	frozen, err := a.guest.Freeze(ctx, frozenLimit)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, nil
	}
	return &state{document: a.document.Clone(), frozen: frozen, handlers: slices.Clip(a.handlers), random: a.readRandom, path: slices.Clone(path)}, nil
}

// resume goes on from a state.
func (p *prober) resume(st *state) *run {
	return p.run(&activation{
		card: p.card, document: st.document.Clone(), options: p.options, frozen: st.frozen, handlers: st.handlers,
		rounds: history{keep: 4}, readRandom: st.random, sanitized: p.rt.sanitized,
	})
}

// clickable are elements beside controls that listen to clicks.
func (r *run) clickable() []string {
	var ids []string
	for _, h := range r.s.act.handlers {
		if _, control := r.document().Control(h.ID); h.Type == "click" && !control && limits.ValidID(h.ID) && r.document().Has(h.ID) {
			ids = append(ids, h.ID)
		}
	}
	return ids
}
