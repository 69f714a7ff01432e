package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"time"

	"example.com/cardrun"
	"example.com/cardrun/conformance"
	"example.com/cardrun/limits"
	"example.com/cardrun/patches"
	"example.com/cardrun/sandbox"
	"example.com/cardrun/uiapi"
)

// differ plays all examples and cases on our engine and on quickjs-emscripten, with the same inputs for each round, and tells where
// patches, handlers or the failure are not the same. It gives the number of differences that nothing explains.
//
// Events go one at a time, since which of them are merged or dropped is no matter of the engine.
func (b *bench) differ(examples, cases string, w io.Writer) (int, error) {
	p := b.find(emscripten)
	if p == nil {
		return 0, errors.New("quickjs-emscripten could not be started; make bench-peers installs it")
	}
	defer p.stop()
	ctx := context.Background()
	e, err := sandbox.New(ctx, sandbox.Options{Prelude: uiapi.Prelude()})
	if err != nil {
		return 0, err
	}
	defer e.Close()
	all, err := conformance.Load(cases)
	if err != nil {
		return 0, err
	}
	more, err := exampleCases(examples)
	if err != nil {
		return 0, err
	}
	all = append(more, all...)
	d := differences{used: map[string]bool{}}
	for i := range all {
		if err := d.play(ctx, e, p, &all[i]); err != nil {
			return 0, fmt.Errorf("%s: %w", all[i].File, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(explanations)) {
		if !d.used[name] {
			d.unexplained = append(d.unexplained, name+": it does not differ any more; take it out of explain.go")
		}
	}
	d.print(w)
	return len(d.unexplained), nil
}

// differences are what came of it.
type differences struct {
	cards, rejected, rounds, shapes int
	explained, unexplained          []string
	used                            map[string]bool
}

func (d *differences) play(ctx context.Context, e *sandbox.Engine, p *peer, c *conformance.Case) error {
	card := cardrun.Decode(c.Body)
	k, _ := card.Check()
	if k == nil {
		d.rejected++
		return nil
	}
	ours, r, err := answers(ctx, e, k, c)
	if err != nil {
		return err
	}
	r.Card = c.Body
	res, err := p.ask(r, 5*time.Second) // 250 ms a round are all that it may take
	if errors.Is(err, errEnded) || errors.Is(err, errSilent) {
		res, err = reply{Answers: []answer{{Failure: err.Error()}}}, nil
	}
	if err != nil {
		return err
	}
	d.cards++
	random := false
	for i, a := range ours {
		random = random || a.Random
		if i >= len(res.Answers) {
			return fmt.Errorf("%d answers to %d rounds", len(res.Answers), len(ours))
		}
		their := res.Answers[i]
		d.rounds++
		what := difference(a, their, random)
		if random {
			d.shapes++
		}
		if what == "" {
			continue
		}
		line := fmt.Sprintf("%s, round %d: %s", c.Name, i, what)
		if why := explanations[c.Name]; why != "" {
			d.used[c.Name] = true
			d.explained = append(d.explained, line+"\n    "+why)
		} else {
			d.unexplained = append(d.unexplained, line)
		}
		return nil // from here on they go different ways
	}
	return nil
}

// difference says what is not the same, or nothing. Where random numbers or the clock were seen, the values may differ.
func difference(ours, theirs answer, random bool) string {
	switch {
	case ours.Failure != theirs.Failure:
		return fmt.Sprintf("failure %q here, %q there", ours.Failure, theirs.Failure)
	case ours.Failure != "":
		return "" // what a round had asked for until then is shown to nobody
	case !reflect.DeepEqual(ours.Handlers, theirs.Handlers):
		return fmt.Sprintf("handlers %q here, %q there", ours.Handlers, theirs.Handlers)
	case len(ours.Patches) != len(theirs.Patches):
		return fmt.Sprintf("%d patches here, %d there", len(ours.Patches), len(theirs.Patches))
	}
	for i, p := range ours.Patches {
		q := theirs.Patches[i]
		if random {
			p.Value, q.Value = "", ""
		}
		if p != q {
			return fmt.Sprintf("patch %d is %s %s %q here, %s %s %q there", i, p.Op, p.ID, cut(p.Value), q.Op, q.ID, cut(q.Value))
		}
	}
	return ""
}

// answers plays a case on our engine with a document of ours, and gives the request for another engine to do the same.
func answers(ctx context.Context, e *sandbox.Engine, k *cardrun.Checked, c *conformance.Case) ([]answer, request, error) {
	r := request{Op: "play", Rounds: []roundRequest{}}
	doc := k.Document()
	inputs, err := doc.Snapshot()
	if err != nil {
		return nil, r, err
	}
	r.Inputs = inputs
	g, err := e.Guest(sandbox.Activation{Seed: c.Seed, Now: c.Now})
	if err != nil {
		return nil, r, err
	}
	defer g.Close()
	script := k.Card.JavaScript
	out, err := uiapi.Start(ctx, g, script, inputs)
	all := []answer{answerOf(out, err)}
	listens := map[uiapi.Event]bool{}
	for _, s := range stepsOf(c, out.Handlers) {
		for _, v := range s.Events {
			for _, h := range out.Handlers {
				listens[uiapi.Event(h)] = true
			}
			if err != nil || !applied(doc, out.Batch) {
				return all, r, nil // the activation has ended
			}
			out = uiapi.Outcome{}
			if _, err := doc.Edit(v.ID, v.Value, v.Checked); err != nil && v.Type != "click" || doc.Disabled(v.ID) || !doc.Has(v.ID) {
				continue
			}
			ev := uiapi.Event{ID: v.ID, Type: v.Type}
			if !listens[ev] {
				continue
			}
			inputs, tooLong := doc.Snapshot()
			if limits.CodeOf(tooLong) != "" {
				return all, r, nil
			}
			r.Rounds = append(r.Rounds, roundRequest{ID: v.ID, Type: v.Type, Inputs: inputs})
			out, err = uiapi.Dispatch(ctx, g, script, ev, inputs)
			all = append(all, answerOf(out, err))
		}
	}
	return all, r, nil
}

// stepsOf are the case's steps, or, where it has none, an event for each handler, with the controls as they are.
func stepsOf(c *conformance.Case, handlers []uiapi.Handler) []conformance.Step {
	if len(c.Steps) > 0 {
		return c.Steps
	}
	var s conformance.Step
	for _, h := range handlers {
		s.Events = append(s.Events, conformance.Event{ID: h.ID, Type: h.Type})
	}
	return []conformance.Step{s}
}

func applied(d *patches.Document, b patches.Batch) bool {
	_, err := d.Apply(b)
	return err == nil
}

func (d *differences) print(w io.Writer) {
	fmt.Fprintf(w, "%d cards, %d rounds: %d as here, %d differences that are explained, %d that are not; %d cards were rejected before they ran.\n",
		d.cards, d.rounds, d.rounds-len(d.explained)-len(d.unexplained), len(d.explained), len(d.unexplained), d.rejected)
	fmt.Fprintf(w, "%d rounds saw the clock or random numbers: there the values of patches were not compared.\n", d.shapes)
	for _, list := range [][]string{d.explained, d.unexplained} {
		for _, line := range list {
			fmt.Fprintln(w, "  "+line)
		}
	}
}
