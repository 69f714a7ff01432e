package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"example.com/cardrun"
)

// mostEvents is how many events one call may send.
const mostEvents = 64

// decodeEvents reads one event, or an array of at most 64, strictly: no other members, no member twice, no other types.
// Nothing deeper than that is looked into.
func decodeEvents(text []byte) ([]cardrun.Event, error) {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	var events []cardrun.Event
	one := func() error {
		var e cardrun.Event
		if kind := d.PeekKind(); kind != '{' {
			if kind == 0 { // which does not read
				if _, err := d.ReadToken(); err != nil {
					return badEvent(len(events), err)
				}
			}
			return problem(http.StatusUnprocessableEntity, codeEvent, fmt.Sprintf("event %d is no object; send {\"id\", \"type\"} with value and checked where there are any", len(events)+1))
		}
		if err := json.UnmarshalDecode(d, &e, json.RejectUnknownMembers(true)); err != nil {
			return badEvent(len(events), err)
		}
		if err := e.Check(); err != nil {
			return problem(http.StatusUnprocessableEntity, codeEvent, fmt.Sprintf("event %d: %s", len(events)+1, err))
		}
		events = append(events, e)
		return nil
	}
	if d.PeekKind() != '[' {
		if err := one(); err != nil {
			return nil, err
		}
	} else {
		_, _ = d.ReadToken()
		for d.PeekKind() != ']' {
			if len(events) == mostEvents {
				return nil, problem(http.StatusUnprocessableEntity, codeEvent, fmt.Sprintf("there are more than %d events; send them in several calls", mostEvents))
			}
			if err := one(); err != nil {
				return nil, err
			}
		}
		_, _ = d.ReadToken()
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, problem(http.StatusBadRequest, codeJSON, fmt.Sprintf("something follows the events, at byte %d; send one JSON value", d.InputOffset()))
	}
	return events, nil
}

// badEvent tells what is no JSON from JSON that is no event.
func badEvent(n int, err error) *Problem {
	var meaning *json.SemanticError
	if errors.As(err, &meaning) {
		what := "it has another form than {\"id\", \"type\", \"value\", \"checked\"}: strings, but for checked"
		if errors.Is(err, json.ErrUnknownName) {
			what = fmt.Sprintf("it has a member at %.80s that events do not have", meaning.JSONPointer)
		}
		return problem(http.StatusUnprocessableEntity, codeEvent, fmt.Sprintf("event %d: %s", n+1, what))
	}
	detail := "the body is not JSON"
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		detail = fmt.Sprintf("the body is not JSON, at byte %d: %.200s", syntax.ByteOffset, syntax.Err)
	}
	return problem(http.StatusBadRequest, codeJSON, detail)
}
