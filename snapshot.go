package cardrun

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"example.com/cardrun/limits"
	"example.com/cardrun/patches"
	"example.com/cardrun/uiapi"
)

// Outcome says how far a card came.
type Outcome string

// The outcomes.
const (
	Ready    Outcome = "ready"    // its first batch was applied, and its activation lives (D31, R116)
	Failed   Outcome = "failed"   // accepted, but its activation ended; Failure says why (D30)
	Rejected Outcome = "rejected" // never run; Diagnostics says why
)

// Phase is what a round ran.
type Phase string

// The phases.
const (
	PhaseInit  Phase = "init"  // the script itself (R70)
	PhaseEvent Phase = "event" // the handler of one event (R71)
)

// Snapshot is what running a card has yielded so far. Its JSON form is fixed: the fields below in this order, lists
// never null.
type Snapshot struct {
	Outcome Outcome  `json:"outcome"`
	Card    CardInfo `json:"card"`
	// Display is the last good document; nil when the card was rejected.
	Display *Display `json:"display"`
	// Controls are those that have an id, in document order, buttons included (D33).
	Controls []patches.Control `json:"controls"`
	// Handlers are the pairs given to ui.on, in order of first registration (R60, R61).
	Handlers []Handler `json:"handlers"`
	// Rounds are all rounds so far, or initialization and the last ones ([SessionOptions.KeepRounds]); one that ended the
	// activation is among them, with no patches.
	Rounds []Round `json:"rounds"`
	// Failure is nil unless Outcome is Failed.
	Failure     *Failure     `json:"failure"`
	Diagnostics []Diagnostic `json:"diagnostics"`
}

// CardInfo names a card. Title and Summary are in display form (D3). ID is empty for a card that has none.
type CardInfo struct {
	ID      string `json:"id"`
	Title   string `json:"title"`
	Summary string `json:"summary"`
}

// Display is what a person would see.
type Display struct {
	// HTML is the sanitized body content with the controls' current values written into it, so that it stands alone.
	HTML string `json:"html"`
	// CSS is the checked stylesheet, without a scope.
	CSS string `json:"css"`
	// Text is the visible text in lines.
	Text string `json:"text"`
}

// Handler is one registered pair of element id and event type.
type Handler = uiapi.Handler

// Event is one thing a user did, to the element with the id that has a handler: that a click on a word inside a button is
// one on the button, and one on a label one on its control, is for the page to know. Value and Checked are what the control holds now in the user's browser; both may be
// left out.
type Event struct {
	ID      string  `json:"id"`
	Type    string  `json:"type"` // input, change or click (R50)
	Value   *string `json:"value,omitzero"`
	Checked *bool   `json:"checked,omitzero"`
}

// Check refuses what no page would send (D34), with an [ErrEvent] that says what to send instead.
func (e Event) Check() error {
	switch {
	case e.Type != "input" && e.Type != "change" && e.Type != "click":
		return fmt.Errorf("%w: type is %.40q; use input, change or click", ErrEvent, e.Type)
	case !limits.ValidID(e.ID):
		return fmt.Errorf("%w: id is %.80q; an id is a letter, then letters, digits, _ or -, at most %d characters", ErrEvent, e.ID, limits.IDLength)
	case e.Value != nil && limits.Length(*e.Value) > limits.Value:
		return fmt.Errorf("%w: the value of %s has %d characters; the limit is %d", ErrEvent, e.ID, limits.Length(*e.Value), limits.Value)
	}
	return nil
}

// Round is initialization, or the handling of one event (R70, R71).
type Round struct {
	Phase Phase `json:"phase"`
	// Event is nil for initialization.
	Event *Event `json:"event"`
	// Patches is the batch; html patches carry the sanitized html.
	Patches patches.Batch `json:"patches"`
	// Discarded tells that the batch was dropped for a newer edit (R82); Patches is then what was dropped.
	Discarded bool  `json:"discarded"`
	Usage     Usage `json:"usage"`
}

// Usage is what a round took.
type Usage struct {
	// ElapsedUS is wall time in microseconds: the one figure that differs between equal runs.
	ElapsedUS int64 `json:"elapsed_us"`
	// Fuel counts the engine's deterministic steps (D26).
	Fuel int64 `json:"fuel"`
	// Microtasks is the number of jobs run (R103).
	Microtasks int `json:"microtasks"`
	// Patches is the number of ui.text, ui.html and ui.value calls (D19).
	Patches int `json:"patches"`
	// BatchBytes is the size of the batch's JSON text in UTF-8 (R107, D19).
	BatchBytes int `json:"batch_bytes"`
	// HeapBytes is what the guest's heap holds after the round.
	HeapBytes int64 `json:"heap_bytes"`
	// Cached tells that the round was not run but remembered.
	Cached bool `json:"cached"`
}

// Failure says why an activation ended.
type Failure struct {
	Code  limits.Code `json:"code"`
	Phase Phase       `json:"phase"`
	// Round counts from 0, which is initialization.
	Round   int    `json:"round"`
	Message string `json:"message"`
	// Line and Column count from 1 in the card's own javascript; 0 where there is no place.
	Line   int `json:"line"`
	Column int `json:"column"`
}

// AppendJSON appends the snapshot as compact JSON. Characters are escaped only where JSON requires it: < stays <. Bytes
// that are no UTF-8 become U+FFFD.
func (s *Snapshot) AppendJSON(dst []byte) ([]byte, error) { return s.appendJSON(dst) }

// AppendIndent is [Snapshot.AppendJSON] over several lines, each level indented by indent, which may hold spaces and
// tabs only.
func (s *Snapshot) AppendIndent(dst []byte, indent string) ([]byte, error) {
	return s.appendJSON(dst, jsontext.WithIndent(indent))
}

// MarshalJSON is AppendJSON. Package encoding/json adds escapes of its own to what it gets here, unless its Encoder has
// SetEscapeHTML(false).
func (s *Snapshot) MarshalJSON() ([]byte, error) { return s.AppendJSON(nil) }

// appendJSON uses the json package whose nil slices are [] and which escapes nothing for HTML.
func (s *Snapshot) appendJSON(dst []byte, options ...json.Options) ([]byte, error) {
	type plain Snapshot // without methods, or Marshal would come back here
	b, err := json.Marshal((*plain)(s), append(options, jsontext.AllowInvalidUTF8(true))...)
	return append(dst, b...), err
}
