package cardrun

import (
	"context"
	"slices"

	"example.com/cardrun/limits"
	"example.com/cardrun/patches"
	"example.com/cardrun/sandbox"
)

// image is a card after its initialization, from which sessions start without running it again. Nothing in it is ever
// changed.
type image struct {
	snapshot *Snapshot // right after initialization, or of the rejection
	card     *Checked  // nil when it was rejected
	document *patches.Document
	handlers []Handler
	frozen   []byte // the guest; nil when it failed
	drawn    bool   // its random numbers go on from those that it drew
}

// activation is one that goes on where the image stands. Its guest is thawed for its first event.
func (m *image) activation(o RenderOptions) *activation {
	s := m.snapshot.again()
	return &activation{
		card: m.card, document: m.document.Clone(), options: o, frozen: m.frozen, image: m,
		handlers: s.Handlers, rounds: history{rounds: s.Rounds}, failure: s.Failure,
	}
}

// begin gives an activation whose initialization has run, here or for somebody else before. The Snapshot is what there is
// to see then; for a card that is rejected there is no activation. known is the card when it has been checked, or nil.
func (r *Runtime) begin(ctx context.Context, c *Card, known *Checked, o RenderOptions) (a *activation, s *Snapshot, err error) {
	if r.images == nil {
		return r.initialize(ctx, c, known, o, hooks{})
	}
	k, ok := keyOf(c, o)
	if !ok {
		return r.initialize(ctx, c, known, o, hooks{})
	}
	m, remembered, err := r.images.do(ctx, k, func(begun func()) (res result[*image], err error) {
		a, s, err = r.initialize(ctx, c, known, o, hooks{begun: begun, last: func(ctx context.Context, a *activation, s *Snapshot) {
			res = a.remember(ctx, s)
		}})
		if err == nil && a == nil {
			res = a.remember(ctx, s)
		}
		return res, err
	})
	if err != nil || !remembered {
		return a, s, err
	}
	if m.card != nil {
		a = m.activation(o)
		a.sanitized = r.sanitized
	}
	return a, m.snapshot.again(), nil
}

// remember makes the image of an activation right after its initialization; a is nil, and s says why, for a card that was
// rejected.
func (a *activation) remember(ctx context.Context, s *Snapshot) (res result[*image]) {
	if !s.lasting() {
		return res
	}
	m := &image{snapshot: s.again()}
	if a == nil {
		return result[*image]{value: m, size: m.size(), lasting: true}
	}
	m.card, m.document, m.handlers, m.drawn = a.card, a.document.Clone(), slices.Clip(a.handlers), a.readRandom
	res = result[*image]{value: m, lasting: true, random: a.readRandom, clock: a.readClock}
	fresh := a.readRandom && a.options.Seed == nil || a.readClock && a.options.Now.IsZero()
	if a.guest != nil && !fresh {
		var err error
		if m.frozen, err = a.guest.Freeze(ctx, frozenLimit); err != nil {
			return result[*image]{} // too large, or nobody waits any more
		}
		a.image = m
	}
	res.size = m.size()
	return res
}

// size is about how many bytes the image takes.
func (m *image) size() int {
	n := m.snapshot.size() + len(m.frozen)
	if m.card != nil {
		// The source, and its html and css as cleaned; the tree of the html, the document of it, and the one now.
		n += 2*m.card.Card.size() + 2*m.card.document.Size() + m.document.Size()
	}
	return n
}

// lasting tells whether another run of the same card, with the same seed and time, gives the same: not where the machine
// had a part in it.
func (s *Snapshot) lasting() bool {
	return s.Failure == nil || s.Failure.Code != limits.Timeout && s.Failure.Code != limits.Engine
}

// again is a Snapshot for one more caller: nothing in it is shared, and its rounds were remembered.
func (s *Snapshot) again() *Snapshot {
	out := *s
	if s.Display != nil {
		d := *s.Display
		out.Display = &d
	}
	if s.Failure != nil {
		f := *s.Failure
		out.Failure = &f
	}
	out.Controls, out.Handlers = slices.Clone(s.Controls), slices.Clone(s.Handlers)
	out.Diagnostics, out.Rounds = slices.Clone(s.Diagnostics), slices.Clone(s.Rounds)
	for i := range out.Rounds {
		out.Rounds[i].Patches = slices.Clone(out.Rounds[i].Patches)
		out.Rounds[i].Usage.Cached = true
	}
	return &out
}

// size is about how many bytes a Snapshot right after initialization takes.
func (s *Snapshot) size() int {
	n := 512 + len(s.Card.ID) + len(s.Card.Title) + len(s.Card.Summary)
	if s.Display != nil {
		n += len(s.Display.HTML) + len(s.Display.CSS) + len(s.Display.Text)
	}
	for _, c := range s.Controls {
		n += 64 + len(c.ID) + len(c.Value)
	}
	for _, h := range s.Handlers {
		n += 32 + len(h.ID) + len(h.Type)
	}
	for _, r := range s.Rounds {
		n += r.size()
	}
	if s.Failure != nil {
		n += 128 + len(s.Failure.Message)
	}
	for _, d := range s.Diagnostics {
		n += 80 + len(d.Field) + len(d.Message)
	}
	return n
}

// size is about how many bytes a round takes.
func (r *Round) size() int {
	n := 192
	for _, p := range r.Patches {
		n += 48 + len(p.ID) + len(p.Value)
	}
	if r.Event != nil {
		n += 64 + len(r.Event.ID)
		if r.Event.Value != nil {
			n += 16 + len(*r.Event.Value)
		}
	}
	return n
}

func activationOf(o RenderOptions) sandbox.Activation {
	return sandbox.Activation{Seed: o.Seed, Now: o.Now}
}
