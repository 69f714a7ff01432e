package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"example.com/cardrun/limits"
)

// CheckMark refuses a text that begins with the byte order mark of UTF-8, which JSON does not allow and no editor shows.
func CheckMark(text []byte) error {
	if bytes.HasPrefix(text, []byte("\ufeff")) {
		return errors.New("the text begins with a byte order mark; save it as UTF-8 without one")
	}
	return nil
}

// errTwice is what is wrong with the second of two equal members.
var errTwice = errors.New("there twice; leave one out")

// Fault says in one line what is wrong with a JSON text that could not be unmarshalled, for whoever wrote the text: the
// place, the fault, no type of Go's, and of a long value its beginning. where is the way to the text in what it is a part
// of, or empty. An error that is not about JSON is given back as it is; so is nil.
func Fault(where string, text []byte, err error) error {
	if syntactic := (*jsontext.SyntacticError)(nil); errors.As(err, &syntactic) {
		cause := syntactic.Err
		switch {
		case errors.Is(cause, jsontext.ErrDuplicateName):
			return at(where+string(syntactic.JSONPointer), errTwice)
		case errors.Is(cause, io.ErrUnexpectedEOF):
			cause = errors.New("the text ends too early")
		}
		line, column := limits.Position(string(text), int(syntactic.ByteOffset))
		if !bytes.ContainsAny(text, "\r\n") {
			return at(where, fmt.Errorf("column %d: %w", column, cause)) // the caller has a number for its only line
		}
		return at(where, fmt.Errorf("line %d, column %d: %w", line, column, cause))
	}
	semantic := (*json.SemanticError)(nil)
	if !errors.As(err, &semantic) {
		return err
	}
	return at(where+string(semantic.JSONPointer), misfit(semantic))
}

// misfit says what is wrong with a value that is JSON, but not what has to stand in its place.
func misfit(e *json.SemanticError) error {
	notTime := (*time.ParseError)(nil)
	switch {
	case errors.Is(e.Err, json.ErrUnknownName):
		return errors.New("unknown member")
	case errors.Is(e.Err, strconv.ErrRange):
		return fmt.Errorf("%s is out of range", shorten(string(e.JSONValue)))
	case errors.Is(e.Err, strconv.ErrSyntax) && e.GoType != nil && e.GoType.Kind() == reflect.Uint64:
		return fmt.Errorf("%s cannot stand here; give a whole number, 0 or more", shorten(string(e.JSONValue)))
	case errors.Is(e.Err, strconv.ErrSyntax):
		return fmt.Errorf("%s cannot stand here; give a whole number", shorten(string(e.JSONValue)))
	case errors.As(e.Err, &notTime):
		return fmt.Errorf("%s is no time; give one as in 2026-01-02T03:04:05Z (RFC 3339)", quote(notTime.Value))
	case e.Err == nil:
		return fmt.Errorf("a JSON %s cannot stand here", kindName(e.JSONKind))
	}
	return errors.New(shorten(e.Err.Error()))
}

// at puts the place before a fault, where it has one.
func at(pointer string, fault error) error {
	if pointer == "" {
		return fault
	}
	if pointer[0] == '/' {
		pointer = pointer[1:]
	}
	return fmt.Errorf("%s: %w", shorten(pointer), fault)
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '"':
		return "string"
	case '0':
		return "number"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	default:
		return k.String()
	}
}
