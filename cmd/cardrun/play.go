package main

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"example.com/cardrun"
	"example.com/cardrun/conformance"
	"example.com/cardrun/patches"
)

type playCmd struct {
	renderCmd `embed:""`

	Events []turn `sep:"none" placeholder:"FILE.jsonl" help:"Send the events in FILE, one JSON object a line: {\"id\", \"type\", \"value\", \"checked\"}; value and checked may be left out. - is standard input."`
	Set    []turn `sep:"none" placeholder:"ID=VALUE" help:"Enter VALUE in the text, number, range, select or textarea control ID: input, then change."`
	Toggle []turn `sep:"none" placeholder:"ID" help:"Click the checkbox or radio ID, which is then checked or not: click, input, change."`
	Click  []turn `sep:"none" placeholder:"ID" help:"Click the element ID; a checkbox or radio as with --toggle."`
}

// Help is shown below the flags.
func (*playCmd) Help() string {
	return `Opens a session, does what --events, --set, --toggle and --click say, in the order given, each after the rounds before have ended, and prints what render prints: the state at the end, and in json every round.

Each does what a browser would: --set gives the event input with the new value and, when its round has ended, change with what the control holds then. --toggle gives one click, from which the session makes click, input and change; a radio that is checked stays so and gives click alone. Events that nothing handles cause no round. Noted on standard error are: what a user could not have done, such as typing into a disabled control, which changes nothing; an element that vanished before all of its events were handled; a value that no option of a select has, after which nothing is selected.

When the activation has ended, what is left to do is dropped.

Exit status: 0 the card is ready, 1 it was rejected or failed, 2 a bad call, an unreadable file, an event that is none (the message names file and line), or an ID that the card does not show at that time.

Examples:

    cardrun play card.json --set workers=5 --format text
    cardrun play card.json --set amount=100 --toggle express --click calculate
    cardrun play card.json --seed 1 --events events.jsonl`
}

// A turn is one flag that does something, with its place on the command line: kong collects flags by name, and play
// needs them in order.
type turn struct {
	place     int
	flag, arg string
}

// turns reads turns, and numbers them as they come.
func turns() kong.MapperFunc {
	count := 0
	return func(ctx *kong.DecodeContext, target reflect.Value) error {
		t := turn{flag: ctx.Value.Name}
		if err := ctx.Scan.PopValueInto("string", &t.arg); err != nil {
			return err
		}
		count++
		t.place = count
		target.Set(reflect.ValueOf(t))
		return nil
	}
}

// A move is a turn made ready: the events it sends, or how to find them from what the card shows then.
type move struct {
	name   string // for messages: the flag as given, or file:line
	events func(s *cardrun.Snapshot) ([]cardrun.Event, error)
}

// Run plays the card.
func (c *playCmd) Run(e *env) error {
	options, err := c.options()
	if err != nil {
		return err
	}
	moves, err := c.moves(e)
	if err != nil {
		return err
	}
	card, r, err := e.start(c.Card)
	if err != nil {
		return err
	}
	defer r.Close()
	session, s, err := r.Open(e.ctx, &card, cardrun.SessionOptions{RenderOptions: options})
	if err != nil {
		return fmt.Errorf("open session: %w", err)
	}
	if session != nil {
		defer session.Close()
		if s, err = play(e, session, moves); err != nil {
			return err
		}
	}
	return c.finish(e, &card, s)
}

// play makes the moves until the activation ends.
func play(e *env, session *cardrun.Session, moves []move) (*cardrun.Snapshot, error) {
	s := session.Snapshot()
	for _, m := range moves {
		if s.Outcome != cardrun.Ready {
			break
		}
		events, err := m.events(s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
		for _, event := range events {
			report, err := session.Send(e.ctx, event)
			if errors.Is(err, cardrun.ErrEnded) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("%s: send event: %w", m.name, err)
			}
			before := s
			s = session.Snapshot()
			note := remark(before, event, report)
			if note != "" {
				fmt.Fprintf(e.stderr, "cardrun: %s: %s\n", lineSafe(m.name), lineSafe(note))
			}
			if report.Ignored > 0 {
				break
			}
		}
	}
	return s, nil
}

// moves gives what is to be done, in the order of the command line. Files are read whole before anything runs.
func (c *playCmd) moves(e *env) ([]move, error) {
	all := slices.Concat(c.Events, c.Set, c.Toggle, c.Click)
	slices.SortFunc(all, func(a, b turn) int { return a.place - b.place })
	var moves []move
	consumed := false // standard input
	for _, t := range all {
		if t.flag == "events" {
			switch {
			case t.arg == "-" && c.Card == "-":
				return nil, errors.New("--events -: standard input already is the card")
			case t.arg == "-" && consumed:
				return nil, errors.New("--events -: standard input has been read by the --events - before")
			}
			consumed = consumed || t.arg == "-"
			more, err := readMoves(e, t.arg)
			if err != nil {
				return nil, err
			}
			moves = append(moves, more...)
			continue
		}
		m := move{name: "--" + t.flag + " " + brief(t.arg)}
		switch t.flag {
		case "set":
			id, value, ok := strings.Cut(t.arg, "=")
			if !ok {
				return nil, fmt.Errorf("%s: write ID=VALUE", m.name)
			}
			m.events = func(s *cardrun.Snapshot) ([]cardrun.Event, error) { return set(s, id, value) }
		case "toggle":
			m.events = func(s *cardrun.Snapshot) ([]cardrun.Event, error) { return toggle(s, t.arg) }
		case "click":
			m.events = func(s *cardrun.Snapshot) ([]cardrun.Event, error) {
				return send(s, cardrun.Event{ID: t.arg, Type: "click"})
			}
		}
		moves = append(moves, m)
	}
	return moves, nil
}

// set is what a browser sends when a user enters a value. change says nothing of the value: the card may have set
// another one meanwhile, and that is what the control holds.
func set(s *cardrun.Snapshot, id, value string) ([]cardrun.Event, error) {
	kind, err := controlType(s, id)
	switch {
	case err != nil:
		return nil, err
	case kind == "checkbox" || kind == "radio":
		return nil, fmt.Errorf("%s is a %s; use --toggle %s", id, kind, id)
	case kind == "button":
		return nil, fmt.Errorf("%s is a button; use --click %s", id, id)
	}
	return []cardrun.Event{{ID: id, Type: "input", Value: &value}, {ID: id, Type: "change"}}, nil
}

func toggle(s *cardrun.Snapshot, id string) ([]cardrun.Event, error) {
	kind, err := controlType(s, id)
	switch {
	case err != nil:
		return nil, err
	case kind != "checkbox" && kind != "radio":
		return nil, fmt.Errorf("%s is a %s; only a checkbox or radio can be toggled", id, kind)
	}
	return []cardrun.Event{{ID: id, Type: "click"}}, nil
}

// send is an event for any element that the card shows now: a click is not for controls alone (D11).
func send(s *cardrun.Snapshot, event cardrun.Event) ([]cardrun.Event, error) {
	there, err := shows(s, event.ID)
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, fmt.Errorf("the card shows no element with the id %q now", brief(event.ID))
	}
	return []cardrun.Event{event}, nil
}

// shows tells whether the card shows an element with that id. Controls are found without reading the html.
func shows(s *cardrun.Snapshot, id string) (bool, error) {
	if _, ok := control(s.Controls, id); ok {
		return true, nil
	}
	page, err := conformance.ParsePage(s.Display.HTML)
	if err != nil {
		return false, err
	}
	return page.Has(id), nil
}

func control(all []patches.Control, id string) (patches.Control, bool) {
	if i := slices.IndexFunc(all, func(c patches.Control) bool { return c.ID == id }); i >= 0 {
		return all[i], true
	}
	return patches.Control{}, false
}

// controlType gives the type of a control that the card shows now. The error names those there are.
func controlType(s *cardrun.Snapshot, id string) (string, error) {
	if c, ok := control(s.Controls, id); ok {
		return c.Type, nil
	}
	const most = 16
	var ids []string
	for _, c := range s.Controls[:min(len(s.Controls), most)] {
		ids = append(ids, c.ID)
	}
	switch n := len(s.Controls); {
	case n == 0:
		return "", fmt.Errorf("the card has no control with the id %q now, nor any other", brief(id))
	case n > most:
		ids = append(ids, fmt.Sprintf("and %d more", n-most))
	}
	return "", fmt.Errorf("the card has no control with the id %q now; it has %s", brief(id), strings.Join(ids, ", "))
}
