package conformance

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"example.com/cardrun"
)

// Expect is what a snapshot is held against. What it leaves out is not checked.
type Expect struct {
	// Outcome, Failure and Diagnostic are the values allowed. Of the diagnostics at least one must have an allowed code.
	Outcome    OneOf `json:"outcome"`
	Failure    OneOf `json:"failure"`
	Diagnostic OneOf `json:"diagnostic"`
	// FailureIfFailed is looked at only when the outcome is failed, IfReady only when it is ready.
	FailureIfFailed OneOf   `json:"failure_if_failed"`
	IfReady         *Expect `json:"if_ready"`
	// Title is the card's, in display form.
	Title *string `json:"title"`

	// Text is the exact text content of elements, by id.
	Text           map[string]string  `json:"text"`
	TextMatches    map[string]Pattern `json:"text_matches"`
	TextLacksMatch map[string]Pattern `json:"text_lacks_match"`
	// TextRange is the least and the greatest integer that an element's text may be.
	TextRange map[string][2]int64 `json:"text_range"`
	// HTML is the exact inner html of elements, by id.
	HTML map[string]string `json:"html"`
	// Elements counts the displayed elements of a tag.
	Elements map[string]int `json:"elements"`
	// Controls is what controls hold, by id.
	Controls map[string]ControlState `json:"controls"`

	// The display's html: strings in it, strings and patterns not in it whatever their case.
	DisplayHas        []string  `json:"display_has"`
	DisplayLacks      []string  `json:"display_lacks"`
	DisplayLacksMatch []Pattern `json:"display_lacks_match"`
	// The display's css, its escapes decoded, whatever the case.
	CSSHasMatch   []Pattern `json:"css_has_match"`
	CSSLacksMatch []Pattern `json:"css_lacks_match"`
	// Stable: parsing the display's html and serializing it gives the same text.
	Stable bool `json:"stable"`

	// Handlers and Rounds count all so far; Patches and Discarded are about the last round.
	Handlers  *int  `json:"handlers"`
	Patches   *int  `json:"patches"`
	Discarded *bool `json:"discarded"`
	Rounds    *int  `json:"rounds"`
	// MaxMS is the most milliseconds that any round so far may have taken.
	MaxMS *float64 `json:"max_ms"`
}

// ControlState is what a control is expected to hold; nil is not checked.
type ControlState struct {
	Value   *string `json:"value"`
	Checked *bool   `json:"checked"`
}

// OneOf is a list of allowed values; in JSON one string, or a list of them. An empty list in a file is an error.
type OneOf []string

// UnmarshalJSONFrom reads a string or a list of strings.
func (o *OneOf) UnmarshalJSONFrom(in *jsontext.Decoder) error {
	if in.PeekKind() == '"' {
		var one string
		if err := json.UnmarshalDecode(in, &one); err != nil {
			return err
		}
		*o = OneOf{one}
		return nil
	}
	var list []string
	if err := json.UnmarshalDecode(in, &list); err != nil {
		return err
	}
	if len(list) == 0 {
		return errors.New("the list is empty; name what is allowed, or leave the member out")
	}
	*o = list
	return nil
}

// allows tells whether value is among those allowed.
func (o OneOf) allows(value string) bool { return slices.Contains(o, value) }

// Pattern is a regular expression in the syntax of package regexp, which runs in linear time and knows no look-around.
// The zero value is the empty one, which is found in every text.
type Pattern struct{ exact, folded *regexp.Regexp }

// UnmarshalJSONFrom compiles the pattern, both as it is and without regard to case. Null is an error.
func (p *Pattern) UnmarshalJSONFrom(in *jsontext.Decoder) error {
	if in.PeekKind() == 'n' {
		return errNull
	}
	var text string
	if err := json.UnmarshalDecode(in, &text); err != nil {
		return err
	}
	exact, err := compile(text)
	if err != nil {
		return err
	}
	// A flag in front holds for all that follows, and unlike a group around it, needs no end: \Qabc has none.
	folded, err := compile("(?i)" + text)
	if err != nil {
		return err
	}
	*p = Pattern{exact, folded}
	return nil
}

func compile(text string) (*regexp.Regexp, error) {
	r, err := regexp.Compile(text)
	if fault := (*syntax.Error)(nil); errors.As(err, &fault) {
		return nil, fmt.Errorf("no regular expression: %s in %s", fault.Code, quote(fault.Expr))
	}
	return r, err
}

// String is the pattern as written.
func (p Pattern) String() string {
	if p.exact == nil {
		return ""
	}
	return p.exact.String()
}

// find gives the first match and whether there is one.
func (p Pattern) find(s string) (match string, ok bool) { return find(p.exact, s) }

// findFolded is find without regard to case.
func (p Pattern) findFolded(s string) (match string, ok bool) { return find(p.folded, s) }

func find(r *regexp.Regexp, s string) (match string, ok bool) {
	if r == nil {
		return "", true
	}
	at := r.FindStringIndex(s)
	if at == nil {
		return "", false
	}
	return s[at[0]:at[1]], true
}

// valid finds what cannot be meant.
func (e *Expect) valid() error {
	outcomes := []string{string(cardrun.Ready), string(cardrun.Failed), string(cardrun.Rejected)}
	for _, o := range e.Outcome {
		if !slices.Contains(outcomes, o) {
			return fmt.Errorf("outcome: %q is none; say one or several of %q", o, outcomes)
		}
	}
	for id, r := range e.TextRange {
		if r[0] > r[1] {
			return fmt.Errorf("text_range/%s: nothing is from %d to %d", id, r[0], r[1])
		}
	}
	if e.IfReady == nil {
		return nil
	}
	if e.IfReady.IfReady != nil {
		return errors.New("if_ready/if_ready: stands in itself; move what it holds one level up")
	}
	if err := e.IfReady.valid(); err != nil {
		return fmt.Errorf("if_ready: %w", err)
	}
	return nil
}
