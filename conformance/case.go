package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"example.com/cardrun"
)

// Case is one case file: a card, what it shows at first, and what it shows after each step.
type Case struct {
	// File is where the case was read from, as given to [Load].
	File string
	// Name is the case's own name, or that of its file.
	Name string
	// Why says which rule the case is about.
	Why string
	// Body is the card as it goes to the product: the JSON text as it stands in the file (duplicate members, lone
	// surrogates and all), or what the case has as raw.
	Body []byte
	// Seed and Now make the run repeatable; nil and zero are as in [cardrun.RenderOptions].
	Seed *uint64
	Now  time.Time
	// Expect holds after initialization.
	Expect Expect
	// Steps follow one another in one session.
	Steps []Step
}

// Step is what a user does, and what the card shows then.
type Step struct {
	// Events are sent one by one, each after the round before has ended.
	Events []Event `json:"events"`
	// Burst sends them all at once.
	Burst bool `json:"burst"`
	// Expect holds when all rounds have ended.
	Expect Expect `json:"expect"`
	// Note is for the reader.
	Note jsontext.Value `json:"note"`
	// Why is for the reader too.
	Why jsontext.Value `json:"why"`
}

// Event is an event of a step. Where any event of a step has AtMS, each is sent that many milliseconds after the first
// one was, whether or not earlier rounds have ended; one without is sent with the one before it.
type Event struct {
	ID      string   `json:"id"`
	Type    string   `json:"type"`
	Value   *string  `json:"value"`
	Checked *bool    `json:"checked"`
	AtMS    *float64 `json:"at_ms"`
}

// event is what the session gets of it.
func (e Event) event() cardrun.Event {
	return cardrun.Event{ID: e.ID, Type: e.Type, Value: e.Value, Checked: e.Checked}
}

// Timed tells that the step's events go out by the clock.
func (s *Step) Timed() bool {
	for _, e := range s.Events {
		if e.AtMS != nil {
			return true
		}
	}
	return false
}

// Timed tells that some step goes by the clock, so that the case wants the machine for itself.
func (c *Case) Timed() bool {
	for i := range c.Steps {
		if c.Steps[i].Timed() {
			return true
		}
	}
	return false
}

// Parse reads one case. Unknown members are errors, but for note and open, which are for the reader, and anything inside
// the card, which the product judges; so are null, codes and event types that do not exist, and a case that expects
// nothing. An error names file and member.
func Parse(file string, data []byte) (Case, error) {
	c := Case{File: file}
	if err := c.parse(data); err != nil {
		return Case{}, fmt.Errorf("read case %s: %w", file, Fault("", data, err))
	}
	return c, nil
}

// parse takes the members one by one, since the card keeps its text, faults and all.
func (c *Case) parse(data []byte) error {
	if err := CheckMark(data); err != nil {
		return err
	}
	in := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if in.PeekKind() != '{' {
		return errors.New("a case is one JSON object; this is none")
	}
	if _, err := in.ReadToken(); err != nil {
		return err
	}
	seen := map[string]bool{}
	for in.PeekKind() == '"' {
		name, err := in.ReadToken()
		if err != nil {
			return err
		}
		member := name.String()
		value, err := in.ReadValue()
		if err != nil {
			return err
		}
		if seen[member] {
			return fmt.Errorf("%s: %w", shorten(member), errTwice)
		}
		seen[member] = true
		if err := c.take(member, value); err != nil {
			return err
		}
	}
	if _, err := in.ReadToken(); err != nil {
		return err
	}
	if _, err := in.ReadToken(); err != io.EOF {
		return errors.New("something follows the object; one file holds one case")
	}
	if seen["card"] == seen["raw"] {
		return errors.New("card: there must be a card, or raw in its place, and not both")
	}
	// The clock of a card can stand still in these years only, and zero would be the real one.
	if year := c.Now.UTC().Year(); seen["now"] && (year < 1970 || year > 2261) {
		return fmt.Errorf("now: %s; the year must be 1970 to 2261", c.Now.Format(time.RFC3339))
	}
	return c.check()
}

// take reads one member.
func (c *Case) take(member string, value jsontext.Value) error {
	var target any
	switch member {
	case "name":
		target = &c.Name
	case "why":
		target = &c.Why
	case "note", "open":
		return nil
	case "card":
		c.Body = bytes.Clone(value)
		return nil
	case "raw":
		var raw string
		if err := unmarshal(member, value, &raw); err != nil {
			return err
		}
		c.Body = []byte(raw)
		return nil
	case "seed":
		target = &c.Seed
	case "now":
		target = &c.Now
	case "expect":
		target = &c.Expect
	case "steps":
		target = &c.Steps
	default:
		return fmt.Errorf("%s: unknown member; a case has name, why, card or raw, seed, now, expect, steps, note and open", shorten(member))
	}
	return unmarshal(member, value, target)
}

// errNull is what is wrong with null, which could mean that a member is not there, or that it is empty.
var errNull = errors.New("null cannot stand here; leave it out")

// noNull refuses null for whatever has a type. What is for the reader has none.
var noNull = json.UnmarshalFromFunc(func(in *jsontext.Decoder, target any) error {
	if _, free := target.(*jsontext.Value); in.PeekKind() == 'n' && !free {
		return errNull
	}
	return errors.ErrUnsupported // and so the type reads itself
})

// unmarshal is strict but for lone surrogates, which become U+FFFD, as they do where a guest's string leaves it (D2).
func unmarshal(member string, value jsontext.Value, target any) error {
	err := json.Unmarshal(value, target, json.RejectUnknownMembers(true), jsontext.AllowInvalidUTF8(true), json.WithUnmarshalers(noNull))
	return Fault(member, value, err)
}

// check finds what a case cannot mean.
func (c *Case) check() error {
	empty := c.Expect.empty()
	if err := c.Expect.valid("expect"); err != nil {
		return err
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		empty = empty && s.Expect.empty()
		if err := s.Expect.valid(fmt.Sprintf("steps/%d/expect", i)); err != nil {
			return err
		}
		last := 0.0
		for k, e := range s.Events {
			where := fmt.Sprintf("steps/%d/events/%d", i, k)
			if err := e.check(where); err != nil {
				return err
			}
			if e.AtMS == nil {
				continue
			}
			if *e.AtMS < last || *e.AtMS > maxAtMS {
				return fmt.Errorf("%s/at_ms: %g; events stand in the order of their times, and none is later than %d", where, *e.AtMS, maxAtMS)
			}
			last = *e.AtMS
		}
	}
	if empty {
		return errors.New("expect: the case expects nothing, and would pass whatever came; say what must come of it")
	}
	return nil
}

// check finds an event that says too little, or has a type that none has. One with an id or a value that the product
// must refuse may be what a case is about.
func (e Event) check(where string) error {
	switch {
	case e.ID == "":
		return fmt.Errorf("%s/id: missing; say which element", where)
	case e.Type == "":
		return fmt.Errorf("%s/type: missing; say input, change or click", where)
	}
	if err := (cardrun.Event{ID: "any", Type: e.Type}).Check(); err != nil {
		return fmt.Errorf("%s/type: %w", where, err)
	}
	return nil
}

// maxAtMS keeps a case from standing still for ever.
const maxAtMS = 60_000
