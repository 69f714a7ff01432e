package uiapi

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"example.com/cardrun/limits"
	"example.com/cardrun/patches"
	"example.com/cardrun/sandbox"
)

// output is what a round has done, as the prelude's parts tell it.
type output struct {
	Patches  patches.Batch
	Handlers []Handler
	Failure  *failure
}

// failure is the first ui call that failed.
type failure struct {
	Code limits.Code `json:"code"`
	thrown
}

// thrown is what the prelude says of an error.
type thrown struct {
	Message string `json:"message"`
	Stack   string `json:"stack"`
}

// parse reads what the prelude has written of it. Lone surrogates, which JSON.stringify escapes, become U+FFFD (D2).
func (t *thrown) parse(text []byte) error { return parseStrict(text, t) }

func parseStrict(text []byte, to any) error {
	return json.Unmarshal(text, to, json.RejectUnknownMembers(true), jsontext.AllowInvalidUTF8(true))
}

// corrupted is the error of output that the prelude cannot have written: the engine's fault, not the card's.
func corrupted(err error) error {
	return &limits.Error{Code: limits.Engine, Message: "the guest's output is corrupted", Cause: err}
}

// parseOutput reads a round's output strictly: parts in threes, each behind its length.
func parseOutput(text []byte) (*output, error) {
	o := new(output)
	if err := o.parse(text); err != nil {
		return nil, corrupted(err)
	}
	return o, nil
}

func (o *output) parse(text []byte) error {
	for len(text) > 0 {
		var p [3][]byte
		for n := range p {
			if len(text) < sandbox.PartHead {
				return errors.New("a part without a length")
			}
			size, err := strconv.ParseUint(string(text[:sandbox.PartHead]), 16, 32)
			if text = text[sandbox.PartHead:]; err != nil || size > uint64(len(text)) {
				return fmt.Errorf("a part of %d bytes in %d", size, len(text))
			}
			if p[n], text = text[:size], text[size:]; !utf8.Valid(p[n]) {
				return errors.New("a part that is no UTF-8")
			}
		}
		if err := o.add(p[0], p[1], p[2]); err != nil {
			return err
		}
	}
	return nil
}

// add takes three parts in. Each string is by itself: a document or a handler that keeps one for long keeps no round's output with it.
func (o *output) add(what, id, text []byte) error {
	switch op := patches.Op(what); op {
	case patches.OpText, patches.OpHTML, patches.OpValue:
		if len(o.Patches) == limits.Patches {
			return fmt.Errorf("more than %d patches", limits.Patches)
		}
		o.Patches = append(o.Patches, patches.Patch{Op: op, ID: string(id), Value: string(text)})
	case "on":
		h := Handler{string(id), string(text)}
		if len(o.Handlers) == limits.Handlers {
			return fmt.Errorf("more than %d handlers", limits.Handlers)
		}
		if !limits.ValidID(h.ID) || h.Type != "input" && h.Type != "change" && h.Type != "click" {
			return fmt.Errorf("handler %.80q %.20q", h.ID, h.Type)
		}
		o.Handlers = append(o.Handlers, h)
	case "failure":
		f := new(failure)
		if err := parseStrict(id, f); err != nil {
			return err
		}
		if o.Failure != nil || f.Code != limits.UIOperation && f.Code != limits.TooManyPatches && f.Code != limits.InputLimit {
			return fmt.Errorf("failure with code %.20q", f.Code)
		}
		o.Failure = f
	default:
		return fmt.Errorf("a part that is %.20q", what)
	}
	return nil
}

func (f *failure) err(script string) error {
	e := &limits.Error{Code: f.Code, Message: f.Message}
	e.Line, e.Column = place(f.Stack, script, f.Message)
	return e
}
