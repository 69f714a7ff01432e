package main

import (
	_ "embed"
	"encoding/json"
	"regexp"
	"strings"
	"time"
)

// The budgets of a card.
const (
	roundTime   = 250 * time.Millisecond
	heapLimit   = 32 << 20
	stackLimit  = 256 << 10
	maxPatches  = 64
	maxHandlers = 192
	maxBatch    = 16_000
)

// glue is the object ui for engines that keep a card's functions on their own side: it checks types, and calls the host.
//
//go:embed glue.js
var glue string

type control struct {
	Value   string `json:"value"`
	Checked bool   `json:"checked"`
}

type inputs map[string]control

type patch struct {
	Op    string `json:"op"`
	ID    string `json:"id"`
	Value string `json:"value"`
}

// answer is what a round gives.
type answer struct {
	Patches  []patch     `json:"patches"`
	Handlers [][2]string `json:"handlers"`
	Failure  string      `json:"failure"`
}

// rules is what a host keeps of a card: what was asked for, and the first thing that was wrong.
type rules struct {
	known   map[string]bool // "id type"
	failure string
	inputs  inputs
	asked   map[string]string
	answer  *answer
	size    int
}

func (r *rules) begin(in inputs) {
	r.inputs, r.asked, r.size = in, nil, 2
	r.answer = &answer{Patches: []patch{}, Handlers: [][2]string{}}
}

// end is the answer, with the first failure there was.
func (r *rules) end(thrown string) *answer {
	r.answer.Failure = thrown
	if r.failure != "" {
		r.answer.Failure = r.failure
	}
	return r.answer
}

func (r *rules) fail(code, message string) string {
	if r.failure == "" {
		r.failure = code
	}
	return message
}

var idForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

// call is one call of ui: the empty string, or what is wrong with it.
func (r *rules) call(op, id, value string) string {
	switch {
	case op == "rejected":
		r.fail("rejection", "")
		return ""
	case r.failure != "":
		return "an earlier ui call failed"
	case op == "refused":
		return r.fail("ui_operation", "ui."+id+": an argument has the wrong type")
	case op == "on":
		if !idForm.MatchString(id) || value != "input" && value != "change" && value != "click" {
			return r.fail("ui_operation", "ui.on: no such id or type")
		}
		if key := id + " " + value; !r.known[key] {
			if len(r.known) == maxHandlers {
				return r.fail("ui_operation", "ui.on: too many handlers")
			}
			if r.known == nil {
				r.known = map[string]bool{}
			}
			r.known[key] = true
			r.answer.Handlers = append(r.answer.Handlers, [2]string{id, value})
		}
		return ""
	}
	if len(r.answer.Patches) == maxPatches {
		return r.fail("patches", "more than 64 patches")
	}
	p := patch{op, id, value}
	text, _ := json.Marshal(p)
	if r.size += len(text) + 1; r.size > maxBatch {
		return r.fail("input_limit", "the batch is too long")
	}
	r.answer.Patches = append(r.answer.Patches, p)
	if op == "value" {
		if r.asked == nil {
			r.asked = map[string]string{}
		}
		r.asked[id] = value
	}
	return ""
}

// input gives a control.
func (r *rules) input(id string) (c control, ok bool) {
	if r.failure != "" {
		return c, false
	}
	c, shown := r.inputs[id]
	if asked, ok := r.asked[id]; ok {
		c.Value = asked
	} else if !shown {
		r.fail("ui_operation", "")
		return c, false
	}
	return c, true
}

// codeOf is the code of what an engine says of an exception.
func codeOf(text string) string {
	switch {
	case strings.Contains(text, "interrupted"):
		return "timeout"
	case strings.Contains(text, "out of memory"):
		return "memory"
	case strings.Contains(text, "SyntaxError"):
		return "script_syntax"
	}
	return "exception"
}
