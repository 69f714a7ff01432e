package limits

import (
	"errors"
	"strconv"
	"strings"
)

// Code names a kind of fault. The set is closed: the constants below are all there are, and their texts are part of the
// wire format.
type Code string

// Why a card is rejected, before any of it runs.
const (
	JSONInvalid        Code = "json_invalid"        // not one JSON object: syntax, duplicate member, invalid UTF-8, lone surrogate (D2)
	FieldMissing       Code = "field_missing"       // one of the five members is absent (R1)
	FieldUnknown       Code = "field_unknown"       // a sixth member (R1)
	FieldType          Code = "field_type"          // a member is no string (R2)
	FieldLength        Code = "field_length"        // too short or too long (R3–R7)
	TextInvisible      Code = "text_invisible"      // title or summary shows nothing (R8)
	ResultTooLarge     Code = "result_too_large"    // the serialized result passes 24,000 (R9)
	ElementForbidden   Code = "element_forbidden"   // an element that the specification names (R29)
	AttributeForbidden Code = "attribute_forbidden" // an event handler or a URL (R29)
	ControlUnsupported Code = "control_unsupported" // an input type outside R26, or select multiple (R27)
	IDInvalid          Code = "id_invalid"          // an id or radio name outside R24
	IDDuplicate        Code = "id_duplicate"        // the same id twice (R25)
	TooManyElements    Code = "too_many_elements"   // more than 512 (R22), or nested deeper than can be parsed
	TooManyControls    Code = "too_many_controls"   // more than 64 (R23)
	CSSForbidden       Code = "css_forbidden"       // an at-rule or function that could load or run something (R40)
	CSSInvalid         Code = "css_invalid"         // unterminated string, comment or block (D28)
	ScriptSyntax       Code = "script_syntax"       // the script does not parse as a classic script (D23)
)

// What is reported about a card without rejecting it (severity warning).
const (
	ElementDropped   Code = "element_dropped"   // an unknown harmless element lost its tags; its children stay (D6)
	AttributeDropped Code = "attribute_dropped" // an attribute outside the whitelist was left out (D6)
	ReferenceMissing Code = "reference_missing" // for or aria-labelledby names an id that is not there (D29)
	CSSDropped       Code = "css_dropped"       // a rule or declaration that could not be understood was left out
)

// Why an activation ends.
const (
	Exception         Code = "exception"     // uncaught in the script or a handler (R110); a stack overflow too (D27)
	Rejection         Code = "rejection"     // a promise returned by a handler rejected (R111)
	Timeout           Code = "timeout"       // the round passed 250 ms (R102)
	Memory            Code = "memory"        // the heap passed 32 MiB (R100), caught or not (D27)
	TooManyMicrotasks Code = "microtasks"    // more than 256 jobs in a round (R103)
	TooManyPatches    Code = "patches"       // more than 64 patches in a round (R104)
	UIOperation       Code = "ui_operation"  // a ui call that the rules refuse (R50–R64), caught or not (R113)
	InvalidPatch      Code = "invalid_patch" // a batch that cannot be applied (R81)
	InputLimit        Code = "input_limit"   // a value, snapshot or batch over its size (R105–R107)
	Engine            Code = "engine"        // the sandbox itself failed, or its memory was corrupted
)

// Severity tells whether a Diagnostic rejects a card.
type Severity string

// The severities.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
	// SeverityNote is worth knowing, and may be as the author wants it. Only reviews give it.
	SeverityNote Severity = "note"
)

// Diagnostic is one finding about the source of a card, in the shape of the wire format.
type Diagnostic struct {
	Severity Severity `json:"severity"`
	Code     Code     `json:"code"`
	// Field is title, summary, html, css or javascript, another member's name, or empty for the whole document.
	Field string `json:"field"`
	// Line and Column count from 1 in the field's own text, columns in UTF-16 code units; 0 where there is no place.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Message says what was found, the limit where there is one, and what to do instead.
	Message string `json:"message"`
}

// String is field:line:column: severity: code: message, as the command line prints it.
func (d Diagnostic) String() string {
	var b strings.Builder
	for _, part := range []string{d.Field, number(d.Line), number(d.Column)} {
		b.WriteString(part)
		b.WriteByte(':')
	}
	b.WriteString(" " + string(d.Severity) + ": " + string(d.Code) + ": " + d.Message)
	return b.String()
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// Error is a fault of a card or of its round. All errors that cardrun's packages return for what a card did are of this
// type, possibly wrapped; find the code with [CodeOf].
type Error struct {
	Code Code
	// Field is what the fault is about: a field of the card, an element id, or empty.
	Field string
	// Line and Column count from 1 in the card's own text; 0 where there is no place.
	Line, Column int
	// Message says what happened, for the author of the card.
	Message string
	// Cause is the error below this one, if any.
	Cause error
}

// Error is code: message.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// CodeOf gives the code of the first [Error] in err's chain, and Engine for any other error: what is not explained by
// the card is the sandbox's own failure. It is empty for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Engine
}
