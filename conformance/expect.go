package conformance

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"example.com/cardrun"
	"example.com/cardrun/limits"
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

// The codes there are: why a card fails, and what is found in one.
var (
	failures = []limits.Code{
		limits.Exception, limits.Rejection, limits.Timeout, limits.Memory, limits.TooManyMicrotasks, limits.TooManyPatches,
		limits.UIOperation, limits.InvalidPatch, limits.InputLimit, limits.Engine,
	}
	findings = []limits.Code{
		limits.JSONInvalid, limits.FieldMissing, limits.FieldUnknown, limits.FieldType, limits.FieldLength, limits.TextInvisible,
		limits.ResultTooLarge, limits.ElementForbidden, limits.AttributeForbidden, limits.ControlUnsupported, limits.IDInvalid,
		limits.IDDuplicate, limits.TooManyElements, limits.TooManyControls, limits.CSSForbidden, limits.CSSInvalid,
		limits.ScriptSyntax, limits.ElementDropped, limits.AttributeDropped, limits.ReferenceMissing, limits.CSSDropped,
	}
	outcomes = []cardrun.Outcome{cardrun.Ready, cardrun.Failed, cardrun.Rejected}
)

// valid finds what cannot be meant. where is the way to e in its file.
func (e *Expect) valid(where string) error {
	if err := cmp.Or(
		known(where+"/outcome", e.Outcome, outcomes), known(where+"/failure", e.Failure, failures),
		known(where+"/diagnostic", e.Diagnostic, findings), known(where+"/failure_if_failed", e.FailureIfFailed, failures),
	); err != nil {
		return err
	}
	for id, r := range sorted(e.TextRange) {
		if r[0] > r[1] {
			return fmt.Errorf("%s/text_range/%s: nothing is from %d to %d", where, shorten(id), r[0], r[1])
		}
	}
	if e.IfReady == nil {
		return nil
	}
	if e.IfReady.IfReady != nil {
		return fmt.Errorf("%s/if_ready/if_ready: stands in itself; move what it holds one level up", where)
	}
	return e.IfReady.valid(where + "/if_ready")
}

// known finds a value that is none of those there are.
func known[S ~string](where string, values OneOf, all []S) error {
	for _, v := range values {
		if !slices.Contains(all, S(v)) {
			return fmt.Errorf("%s: %s is none; there are %v", where, quote(v), all)
		}
	}
	return nil
}

// empty tells that nothing is expected, whatever members there are.
func (e *Expect) empty() bool {
	v := reflect.ValueOf(e).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Map, reflect.Slice:
			if f.Len() > 0 {
				return false
			}
		default:
			if nested, ok := f.Interface().(*Expect); ok && nested != nil && nested.empty() {
				continue
			}
			if !f.IsZero() {
				return false
			}
		}
	}
	return true
}
