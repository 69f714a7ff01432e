// Package limits knows every number of the card specification, how lengths are counted, and the closed set of codes
// that faults carry.
//
// It refuses to know anything else: no HTML, no JavaScript, no cards. It imports the standard library only, and every
// other package of cardrun may import it.
//
// The rule of use: compare [Length] (UTF-16 code units, D1) with a limit that the specification gives in characters, and
// len with one that it gives in bytes; report a breach as an [Error].
//
//	if n := limits.Length(title); n > limits.TitleLength {
//		return &limits.Error{Code: limits.FieldLength, Field: "title", …}
//	}
package limits

import "time"

// The fields of a card (R3–R7), in UTF-16 code units. Lower bounds are 1, but for css and javascript, which may be empty.
const (
	TitleLength      = 120
	SummaryLength    = 2_000
	HTMLLength       = 12_000
	CSSLength        = 6_000
	JavaScriptLength = 12_000
)

// Result is the most that the serialized result of a show call may take (R9), in UTF-16 code units and in UTF-8 bytes.
// Bytes are never fewer than units, so the byte count decides.
const Result = 24_000

// The document, at show time and again after every batch.
const (
	// Elements is the most elements a document may hold (R22), implied and SVG ones included (D8).
	Elements = 512
	// Controls is the most controls a document may hold (R23): input, select, textarea and button (D9).
	Controls = 64
	// IDLength is the most characters of an id (R24); all of them are ASCII.
	IDLength = 64
)

// One round (initialization or one event) of a card's script.
const (
	// Heap is what a guest's heap may hold (R100), in bytes.
	Heap = 32 << 20
	// Stack is what a guest's stack may hold (R101), in bytes.
	Stack = 256 << 10
	// Round is the time of one round: script, jobs and copies together (R102, D24).
	Round = 250 * time.Millisecond
	// Microtasks is the most jobs one round may run (R103).
	Microtasks = 256
	// Patches is the most patches one round may emit (R104).
	Patches = 64
	// Handlers is the most distinct pairs of element id and event type (R60): three types for each of 64 controls.
	Handlers = 192
)

// What crosses between the guest and the document.
const (
	// Value is the longest value of a control (R105), and the maxlength of a text control that has none or a larger one
	// (R32), in UTF-16 code units.
	Value = 2_048
	// Snapshot is the most that the JSON text of all control values may take (R106, D19), in units and in bytes.
	Snapshot = 16_000
	// Batch is the most that the JSON text of one batch may take (R107, D19), in units and in bytes.
	Batch = 16_000
)

// Queue is the most events that may wait for a session's worker (R74); the round in flight does not count (D15).
const Queue = 16
