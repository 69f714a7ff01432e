// Package uiapi knows the JavaScript that a card sees — prelude.js, with the five calls of ui — and its Go half: it
// starts a card's script in a guest, dispatches events to its handlers, and parses what came out into a batch.
//
// It refuses to know queues, HTTP, and the rules of HTML.
//
// The rule of use: make the sandbox's engine with [Prelude]; for each guest call [Start] once, then [Dispatch] for each
// event, and stop at the first error. Guest output is parsed here, once, with bounds on size, count and form, and counts
// as written by an attacker until then.
package uiapi

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"example.com/cardrun/limits"
	"example.com/cardrun/patches"
	"example.com/cardrun/sandbox"
)

//go:embed prelude.js
var prelude string

// Prelude is the script for sandbox.Options.Prelude.
func Prelude() string {
	return fmt.Sprintf("%s({patches: %d, batch: %d, handlers: %d})", prelude, limits.Patches, limits.Batch, limits.Handlers)
}

// Event is what a handler is called for: the id of the element and the type of the event, one of input, change and
// click (R50). The handler's value and checked come from the snapshot (D13).
type Event struct{ ID, Type string }

// Handler is one registered pair of element id and event type (R60).
type Handler struct {
	ID   string `json:"id"`
	Type string `json:"type"`
}

// Outcome is what a round did.
type Outcome struct {
	// Batch holds the round's patches in order. After an error they are what the round had emitted until then, where that
	// is known, and not to be applied.
	Batch patches.Batch
	// Handlers are the pairs that were registered for the first time, in order.
	Handlers []Handler
	// Usage is what the round used, also after an error.
	Usage sandbox.Usage
}

// maxOutput bounds one round's output, in UTF-16 code units: a batch, all handlers, and a failure whose 1,500 characters are
// all escaped; and the heads of their parts.
const maxOutput = limits.Batch + limits.Handlers*(limits.IDLength+16) + 10_000 +
	3*sandbox.PartHead*(limits.Patches+limits.Handlers+1)

// Start runs a card's script with the initial snapshot, JSON text as patches.Document.Snapshot gives it (R70).
//
// The error is a *limits.Error, with line and column in the script where they are known: script_syntax when it does not
// parse (none of it ran), exception, timeout, memory, microtasks, patches, ui_operation, input_limit, engine; or the
// context's own error, wrapped.
func Start(ctx context.Context, g *sandbox.Guest, script string, snapshot []byte) (Outcome, error) {
	return run(ctx, g, script, nil, snapshot, sandbox.Round{Script: script})
}

// Dispatch calls the handler of an event with the inputs as displayed now (R72). Without such a handler nothing is
// called. The errors are those of Start but for script_syntax, and rejection.
//
// script is the card's script again, which errors find their place in.
func Dispatch(ctx context.Context, g *sandbox.Guest, script string, e Event, snapshot []byte) (Outcome, error) {
	return run(ctx, g, script, &e, snapshot, sandbox.Round{})
}

// Check parses a script without running it; the error is that of Start.
func Check(ctx context.Context, g *sandbox.Guest, script string) error {
	_, err := g.Compile(ctx, script)
	return explain(err, script)
}

func run(ctx context.Context, g *sandbox.Guest, script string, e *Event, snapshot []byte, r sandbox.Round) (Outcome, error) {
	r.MaxOutput = maxOutput
	var err error
	if r.Input, err = appendInput(make([]byte, 0, 64+len(snapshot)), e, snapshot); err != nil {
		return Outcome{}, err
	}
	res, err := g.Run(ctx, r)
	out := Outcome{Usage: res.Usage}
	if err != nil && res.Output == nil {
		return out, explain(err, script)
	}
	o, parseErr := parseOutput(res.Output)
	if parseErr != nil {
		return out, parseErr
	}
	out.Batch, out.Handlers = o.Patches, o.Handlers
	if o.Failure != nil {
		return out, o.Failure.err(script) // whatever was thrown afterwards
	}
	if err != nil {
		return out, explain(err, script)
	}
	return out, nil
}

// explain turns what a guest threw into a limits.Error; other errors are what they are.
func explain(err error, script string) error {
	var t *sandbox.Thrown
	if !errors.As(err, &t) {
		return err
	}
	var d thrown
	if err := d.parse(t.Detail); err != nil {
		return corrupted(err)
	}
	e := &limits.Error{Code: limits.Exception, Message: d.Message}
	switch t.Kind {
	case sandbox.Rejected:
		e.Code = limits.Rejection
		e.Message = "the promise that the handler returned was rejected: " + e.Message
	case sandbox.Syntax:
		e.Code, e.Field = limits.ScriptSyntax, "javascript"
		e.Line, e.Column = syntaxPlace(d.Stack, script, d.Message)
		return e
	}
	e.Line, e.Column = place(d.Stack, script, d.Message)
	return e
}
