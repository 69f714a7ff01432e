package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"example.com/cardrun"
	"example.com/cardrun/patches"
)

// subject is a card to measure with: its text, the inputs that it starts with, and an event with those that it meets.
type subject struct {
	Name   string
	Card   json.RawMessage
	Inputs json.RawMessage
	Rounds []roundRequest
}

func (s subject) request(op string) request {
	return request{Op: op, Card: s.Card, Inputs: s.Inputs, Rounds: s.Rounds, N: 100_000}
}

// newSubject makes a subject of a card's text, with its document's inputs; it has no rounds yet.
func newSubject(name string, text []byte) (subject, *patches.Document, error) {
	card := cardrun.Decode(text)
	k, found := card.Check()
	if k == nil {
		return subject{}, nil, fmt.Errorf("%s is rejected: %v", name, found)
	}
	doc := k.Document()
	inputs, err := doc.Snapshot()
	return subject{Name: name, Card: text, Inputs: inputs}, doc, err
}

// computes is the subject of a kernel.
func (k kernel) subject() (subject, error) {
	text, err := json.Marshal(map[string]string{
		"title": k.name, "summary": "A kernel that computes.", "css": "", "javascript": k.card(),
		"html": `<button id="go">Go</button><p id="out"></p>`,
	})
	if err != nil {
		return subject{}, err
	}
	s, _, err := newSubject(k.name, text)
	s.Rounds = []roundRequest{{ID: "go", Type: "click", Inputs: s.Inputs}}
	return s, err
}

// small is the card that latencies are taken with first: two controls and one line of text.
const small = "cmd/cardrun/testdata/capacity.json"

// subjects are the small card and the examples below the top of the repository, each with the first event that it listens to,
// as asked of a peer that plays it.
func subjects(top string, play func(request) (reply, error)) ([]subject, error) {
	files, err := filepath.Glob(filepath.Join(top, "examples", "*.json"))
	if err != nil {
		return nil, err
	}
	var all []subject
	for i, file := range append([]string{filepath.Join(top, small)}, files...) {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			var c struct{ Card json.RawMessage }
			if err := json.Unmarshal(text, &c); err != nil {
				return nil, err
			}
			text = c.Card
		}
		s, doc, err := newSubject(filepath.Base(file), text)
		if err != nil {
			return nil, err
		}
		res, err := play(s.request("play"))
		if err != nil {
			return nil, err
		}
		first := res.Answers[0]
		if first.Failure != "" {
			return nil, fmt.Errorf("%s: %s", file, first.Failure)
		}
		if len(first.Handlers) == 0 {
			continue // it has no script, and no round to measure
		}
		if _, err := doc.Apply(first.batch()); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		inputs, err := doc.Snapshot()
		if err != nil {
			return nil, err
		}
		s.Rounds = []roundRequest{{ID: first.Handlers[0][0], Type: first.Handlers[0][1], Inputs: inputs}}
		all = append(all, s)
	}
	return all, nil
}

// batch is the answer's patches as a document takes them.
func (a answer) batch() patches.Batch {
	var b patches.Batch
	for _, p := range a.Patches {
		b = append(b, patches.Patch{Op: patches.Op(p.Op), ID: p.ID, Value: p.Value})
	}
	return b
}

// withScript is a card's text with another script.
func withScript(card json.RawMessage, script string) json.RawMessage {
	var c map[string]string
	if json.Unmarshal(card, &c) != nil {
		return card
	}
	c["javascript"] = script
	text, err := json.Marshal(c)
	if err != nil {
		return card
	}
	return text
}
