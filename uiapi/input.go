package uiapi

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// errSnapshot is for callers who hand in what no document gives.
var errSnapshot = errors.New(`read the controls' values: they are not JSON text of the form {"ID":{"value":"…","checked":false},…}`)

// appendInput writes what the prelude's enter takes: an object for each control would cost the guest most of the time that
// reading the values takes, so it gets those as one object of strings, and another one of the few that are checked.
func appendInput(dst []byte, e *Event, snapshot []byte) ([]byte, error) {
	dst = append(dst, `{"i":`...)
	if e == nil {
		dst = append(dst, "null"...)
	} else {
		dst, _ = jsontext.AppendQuote(dst, e.ID) // invalid UTF-8 becomes U+FFFD, and no id has it
		dst = append(dst, `,"t":`...)
		dst, _ = jsontext.AppendQuote(dst, e.Type)
	}
	dst = append(dst, `,"s":{`...)
	out, checked, ok := appendValues(dst, snapshot)
	if !ok {
		text := jsontext.Value(bytes.Clone(snapshot))
		if text.Compact() == nil {
			out, checked, ok = appendValues(dst, text)
		}
		if !ok {
			return nil, errSnapshot
		}
	}
	out = append(out, `},"c":`...)
	if len(checked) == 0 {
		return append(out, "null}"...), nil
	}
	out = append(out, '{')
	for n, id := range checked {
		if n > 0 {
			out = append(out, ',')
		}
		out = append(append(out, id...), ":true"...)
	}
	return append(out, "}}"...), nil
}

// appendValues writes "ID":"value" for each control, with commas, and gives the quoted ids of those that are checked.
func appendValues(dst, snapshot []byte) (out []byte, checked [][]byte, ok bool) {
	if len(snapshot) < 2 || snapshot[0] != '{' {
		return nil, nil, false
	}
	rest := snapshot[1:]
	for first := true; ; first = false {
		if len(rest) == 1 && rest[0] == '}' {
			return dst, checked, true
		}
		if !first {
			if rest, ok = bytes.CutPrefix(rest, []byte(",")); !ok {
				return nil, nil, false
			}
			dst = append(dst, ',')
		}
		var id, value []byte
		if id, rest, ok = quoted(rest); !ok {
			return nil, nil, false
		}
		if rest, ok = bytes.CutPrefix(rest, []byte(`:{"value":`)); !ok {
			return nil, nil, false
		}
		if value, rest, ok = quoted(rest); !ok {
			return nil, nil, false
		}
		dst = append(append(append(dst, id...), ':'), value...)
		if after, is := bytes.CutPrefix(rest, []byte(`,"checked":true}`)); is {
			checked, rest = append(checked, id), after
		} else if rest, ok = bytes.CutPrefix(rest, []byte(`,"checked":false}`)); !ok {
			return nil, nil, false
		}
	}
}

// quoted cuts the JSON string off that text begins with, quotes included.
func quoted(text []byte) (s, rest []byte, ok bool) {
	if len(text) == 0 || text[0] != '"' {
		return nil, nil, false
	}
	for at := 1; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case '"':
			return text[:at+1], text[at+1:], true
		}
	}
	return nil, nil, false
}
