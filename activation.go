package cardrun

import (
	"context"
	"errors"

	"example.com/cardrun/limits"
	"example.com/cardrun/patches"
	"example.com/cardrun/sandbox"
	"example.com/cardrun/uiapi"
)

// activation is one run of a card's guest, from initialization until it is stopped or fails, with the document that it
// changes.
type activation struct {
	card     *Checked
	document *patches.Document
	guest    *sandbox.Guest // nil after close
	handlers []Handler
	rounds   []Round
	failure  *Failure
}

// open prepares an activation; nothing of the card runs yet.
func (r *Runtime) open(k *Checked, o RenderOptions) (*activation, error) {
	g, err := r.engine.Guest(sandbox.Activation{Seed: o.Seed, Now: o.Now})
	if err != nil {
		return nil, err
	}
	return &activation{card: k, document: k.Document(), guest: g}, nil
}

// close ends the guest; what was displayed stays.
func (a *activation) close() {
	if a.guest != nil {
		a.guest.Close()
		a.guest = nil
	}
}

// start runs the script (R70). The error is a *limits.Error with code script_syntax, or one that is not the card's; what the
// card did wrong is a.failure.
func (a *activation) start(ctx context.Context) error {
	inputs, err := a.document.Snapshot()
	if err != nil {
		return a.end(PhaseInit, nil, uiapi.Outcome{}, err)
	}
	out, err := uiapi.Start(ctx, a.guest, a.card.Card.JavaScript, inputs)
	if limits.CodeOf(err) == limits.ScriptSyntax {
		return err
	}
	return a.finish(PhaseInit, nil, out, err)
}

// finish applies a round's batch (R80) and records the round.
func (a *activation) finish(phase Phase, event *Event, out uiapi.Outcome, err error) error {
	for _, h := range out.Handlers {
		a.handlers = append(a.handlers, Handler{ID: h.ID, Type: h.Type})
	}
	if err != nil {
		return a.end(phase, event, out, err)
	}
	applied, err := a.document.Apply(out.Batch)
	if err != nil {
		return a.end(phase, event, out, err)
	}
	a.record(phase, event, out, applied)
	return nil
}

// end ends the activation for what the card did, and returns nil; an error that is not the card's is returned as it is.
// The display stays the last good one (D30).
func (a *activation) end(phase Phase, event *Event, out uiapi.Outcome, err error) error {
	var fault *limits.Error
	if !errors.As(err, &fault) {
		return err
	}
	a.record(phase, event, out, nil)
	a.failure = &Failure{
		Code: fault.Code, Phase: phase, Round: len(a.rounds) - 1,
		Message: fault.Message, Line: fault.Line, Column: fault.Column,
	}
	a.close()
	return nil
}

func (a *activation) record(phase Phase, event *Event, out uiapi.Outcome, applied patches.Batch) {
	_, bytes := out.Batch.Size()
	if len(out.Batch) == 0 {
		bytes = 0
	}
	a.rounds = append(a.rounds, Round{
		Phase: phase, Event: event, Patches: applied,
		Usage: Usage{
			ElapsedUS: out.Usage.Elapsed.Microseconds(), Fuel: out.Usage.Fuel, Microtasks: out.Usage.Microtasks,
			Patches: len(out.Batch), BatchBytes: bytes, HeapBytes: out.Usage.HeapBytes,
		},
	})
}

// snapshot is everything there is to see now.
func (a *activation) snapshot() *Snapshot {
	s := &Snapshot{
		Outcome: Ready, Card: a.card.Info(),
		Display: &Display{
			HTML: a.document.HTML(), CSS: a.card.Stylesheet.String(), Text: a.document.Text(),
		},
		Controls: a.document.Controls(), Handlers: a.handlers, Rounds: a.rounds, Failure: a.failure,
		Diagnostics: a.card.Warnings,
	}
	if a.failure != nil {
		s.Outcome = Failed
	}
	return s
}
