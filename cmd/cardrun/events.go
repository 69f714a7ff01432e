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
		moves = append(moves, move{name, func(*cardrun.Snapshot) ([]cardrun.Event, error) { return []cardrun.Event{event}, nil }})
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
