package cardrun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

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
	options  RenderOptions
	guest    *sandbox.Guest // nil after close, and while it is frozen
	frozen   []byte
	image    *image // what frozen is of, where that is the image of an initialization and no round has run since
	handlers []Handler
	rounds   history
	failure  *Failure

	readClock, readRandom bool // in a round so far

	sanitized func(time.Duration) // of the runtime, or nil
}

// open prepares an activation; nothing of the card runs yet. Once says that it is for its initialization alone.
func (r *Runtime) open(k *Checked, o RenderOptions, once bool) (*activation, error) {
	of := activationOf(o)
	of.Once = once
	g, err := r.engine.Guest(of)
	if err != nil {
		return nil, err
	}
	return &activation{card: k, document: k.Document(), options: o, guest: g, sanitized: r.sanitized}, nil
}

// close ends the guest; what was displayed stays.
func (a *activation) close() {
	a.frozen, a.image = nil, nil
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
	return a.finish(PhaseInit, nil, out, err, nil)
}

// finish applies a round's batch, all or nothing (R80), unless drop says that a newer edit stands against it (R82), and
// records the round. drop may be nil.
func (a *activation) finish(phase Phase, event *Event, out uiapi.Outcome, err error, drop func(*patches.Stage) bool) error {
	a.handlers = append(a.handlers, out.Handlers...)
	if err == nil && len(a.handlers) > limits.Handlers { // the prelude refuses one more, so this guest wrote over it
		err = &limits.Error{Code: limits.Engine, Message: fmt.Sprintf("the guest's output is corrupted: %d handlers", len(a.handlers))}
	}
	if err != nil {
		return a.end(phase, event, out, err)
	}
	start := time.Now()
	stage, err := a.document.Stage(out.Batch)
	if a.sanitized != nil {
		a.sanitized(time.Since(start))
	}
	if err != nil {
		return a.end(phase, event, out, err)
	}
	discarded := drop != nil && drop(stage)
	if !discarded {
		if err := stage.Commit(); err != nil {
			return fmt.Errorf("commit batch: %w", err)
		}
	}
	a.record(Round{Phase: phase, Event: event, Patches: stage.Batch(), Discarded: discarded}, out)
	return nil
}

// end ends the activation for what the card did, and returns nil; an error that is not the card's is returned as it is.
// The display stays the last good one (D30).
func (a *activation) end(phase Phase, event *Event, out uiapi.Outcome, err error) error {
	var fault *limits.Error
	if !errors.As(err, &fault) {
		return err
	}
	a.record(Round{Phase: phase, Event: event}, out)
	a.failure = &Failure{
		Code: fault.Code, Phase: phase, Round: a.rounds.count() - 1,
		Message: fault.Message, Line: fault.Line, Column: fault.Column,
	}
	a.close()
	return nil
}

// record keeps a round with what it used.
func (a *activation) record(r Round, out uiapi.Outcome) {
	u := out.Usage
	r.Usage = Usage{
		ElapsedUS: u.Elapsed.Microseconds(), Fuel: u.Fuel, Microtasks: u.Microtasks,
		Patches: len(out.Batch), HeapBytes: u.HeapBytes,
	}
	if len(out.Batch) > 0 {
		_, r.Usage.BatchBytes = out.Batch.Size()
	}
	a.rounds.add(r)
	a.readClock, a.readRandom = a.readClock || u.ReadClock, a.readRandom || u.ReadRandom
}

// handles tells whether the card listens to that event (D10).
func (a *activation) handles(id, kind string) bool {
	return slices.Contains(a.handlers, Handler{ID: id, Type: kind})
}

// snapshot is everything there is to see now.
func (a *activation) snapshot() *Snapshot {
	s := &Snapshot{
		Outcome: Ready, Card: a.card.Info(),
		Display: &Display{
			HTML: a.document.HTML(), CSS: a.card.Stylesheet.String(), Text: a.document.Text(),
		},
		Controls: a.document.Controls(), Handlers: slices.Clip(a.handlers), Rounds: a.rounds.kept(), Failure: a.failure,
		Diagnostics: a.card.Warnings,
	}
	if a.failure != nil {
		s.Outcome = Failed
	}
	return s
}
