package main

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"

	"example.com/cardrun"
	"example.com/cardrun/conformance"
)

// The most that is read of a file of events, and of one of its lines: an id, a type and a value of 2,048 characters in
// their longest spelling.
const (
	maxEvents    = 16 << 20
	maxEventLine = 32 << 10
)

// readMoves reads events, one JSON object a line; empty lines are passed over. "-" is standard input.
func readMoves(e *env, file string) ([]move, error) {
	data, err := e.read(file, maxEvents)
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	if len(data) > maxEvents {
		return nil, fmt.Errorf("read events: %s has more than %d bytes; use several files", file, maxEvents)
	}
	var moves []move
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		name := fmt.Sprintf("%s:%d", file, n)
		event, err := readEvent(bytes.TrimRight(line, "\r\n"))
		if err != nil {
			return nil, fmt.Errorf("read events: %s: %w", name, err)
		}
		moves = append(moves, move{name, func(s *cardrun.Snapshot) ([]cardrun.Event, error) { return send(s, event) }})
	}
	return moves, nil
}

// readEvent reads one event strictly: no other members, no other types.
func readEvent(line []byte) (cardrun.Event, error) {
	var e cardrun.Event
	if len(line) > maxEventLine {
		return e, fmt.Errorf("the line has %d bytes; the limit is %d", len(line), maxEventLine)
	}
	if err := conformance.CheckMark(line); err != nil {
		return e, err
	}
	if err := json.Unmarshal(line, &e, json.RejectUnknownMembers(true)); err != nil {
		return e, conformance.Fault("", line, err)
	}
	return e, e.Check()
}

// remark says of an event what whoever sent it may not expect; mostly nothing. before is what the card showed then.
//
// A full queue (R74) is not among the reasons for which an event is ignored: each is sent to a session at rest, and even
// the three of a click find room.
func remark(before *cardrun.Snapshot, event cardrun.Event, report cardrun.Report) string {
	c, isControl := control(before.Controls, event.ID)
	if report.Ignored > 0 {
		there, err := shows(before, event.ID)
		switch {
		case len(report.Rounds) > 0 || err == nil && !there:
			// Its own round took the element away, or the one of the event before (D13).
			return fmt.Sprintf("%s vanished; what was left of its events is dropped", event.ID)
		case isControl && c.Disabled:
			return fmt.Sprintf("ignored; a user could not do that now: %s is disabled", event.ID)
		case event.Type != "click" && (!isControl || c.Type == "button"):
			return fmt.Sprintf("ignored; a user could not do that now: %s has no value to enter", event.ID)
		case c.Type == "select":
			return "ignored; a user could not do that now: that option is disabled"
		case event.Type != "click":
			return fmt.Sprintf("ignored; a user could not do that now: %s is read-only", event.ID)
		}
		return "ignored; a user could not do that now" // an element in something disabled
	}
	if c.Type != "select" || event.Value == nil {
		return ""
	}
	// What was entered is in the event that the card saw. A card that saw none has left it as it is.
	entered := event.Value
	if len(report.Rounds) > 0 {
		entered = report.Rounds[0].Event.Value
	} else if now, ok := control(report.Controls, event.ID); ok {
		entered = &now.Value
	}
	if entered == nil || *entered == *event.Value {
		return ""
	}
	return fmt.Sprintf("no option of %s has the value %q; nothing was selected", event.ID, brief(*event.Value))
}
