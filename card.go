package cardrun

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"example.com/cardrun/limits"
	"example.com/cardrun/patches"
	"example.com/cardrun/sanitize"
)

// Card is one document as its author gave it: five strings, never changed and never shortened (R1, R10, R12). Write it
// as a literal or read it with [Decode]; either way it says nothing about being acceptable until [Card.Check] has passed
// it. Two cards are two cards, be they equal byte for byte (R11): equality of [Card.ID] is equality of source.
type Card struct {
	Title      string // 1–120 UTF-16 code units (R3)
	Summary    string // 1–2,000 (R4); it must stand alone, where the card cannot be shown (R123)
	HTML       string // 1–12,000 (R5); body content, no page (R20)
	CSS        string // 0–6,000 (R6)
	JavaScript string // 0–12,000 (R7); empty for a static card

	faults []Diagnostic  // what Decode found wrong
	unread map[name]bool // the members that Decode could not read: absent, or no string
}

// name is the name of one of a card's five members.
type name string

// names are the five members in the order in which faults are reported.
var names = [...]name{"title", "summary", "html", "css", "javascript"}

// field gives the member's text and the bounds of its length, in UTF-16 code units (R3–R7).
func (c *Card) field(n name) (text string, low, high int) {
	switch n {
	case "title":
		return c.Title, 1, limits.TitleLength
	case "summary":
		return c.Summary, 1, limits.SummaryLength
	case "html":
		return c.HTML, 1, limits.HTMLLength
	case "css":
		return c.CSS, 0, limits.CSSLength
	default:
		return c.JavaScript, 0, limits.JavaScriptLength
	}
}

// ID is "sha256:" and the SHA-256, in hex, of the five fields as canonical JSON (RFC 8785): members sorted by name, no
// white space, the shortest escapes. The same source has the same ID everywhere. It is empty when a field is missing
// or is no valid UTF-8, since such a card has no canonical form.
func (c *Card) ID() string {
	if !c.whole() {
		return ""
	}
	sum := c.sum()
	return "sha256:" + hex.EncodeToString(sum[:])
}

// sum is what [Card.ID] shows, of a card that is whole.
func (c *Card) sum() [sha256.Size]byte {
	return sha256.Sum256(c.appendCanonical(make([]byte, 0, c.size()+c.size()/8+64)))
}

// whole tells that all five fields are there and can be written as JSON.
func (c *Card) whole() bool {
	if len(c.unread) > 0 {
		return false
	}
	for _, n := range names {
		if text, _, _ := c.field(n); !utf8.ValidString(text) {
			return false
		}
	}
	return true
}

func (c *Card) size() int {
	return len(c.Title) + len(c.Summary) + len(c.HTML) + len(c.CSS) + len(c.JavaScript)
}

// appendCanonical writes RFC 8785; the order of the names is that of their UTF-16 code units.
func (c *Card) appendCanonical(b []byte) []byte {
	b = appendQuoted(append(b, `{"css":`...), c.CSS)
	b = appendQuoted(append(b, `,"html":`...), c.HTML)
	b = appendQuoted(append(b, `,"javascript":`...), c.JavaScript)
	b = appendQuoted(append(b, `,"summary":`...), c.Summary)
	b = appendQuoted(append(b, `,"title":`...), c.Title)
	return append(b, '}')
}

// appendQuoted writes s as a JSON string with RFC 8785's escapes and no others. The error of AppendQuote is invalid
// UTF-8 alone; callers have ruled it out, and it writes U+FFFD then.
func appendQuoted(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}

// Checked is a card that passed [Card.Check]. Nothing in it is to be changed.
type Checked struct {
	Card Card
	ID   string
	// Title and Summary are in display form (D3): normalized, on one line, without invisible characters.
	Title, Summary string
	HTML           sanitize.HTML
	Stylesheet     sanitize.Stylesheet
	// Warnings are the findings that do not reject.
	Warnings []Diagnostic

	document *patches.Document
}

// Document gives the card's initial document, a copy that the caller may change.
func (k *Checked) Document() *patches.Document { return k.document.Clone() }

// Info is the card's entry in a [Snapshot].
func (k *Checked) Info() CardInfo { return CardInfo{ID: k.ID, Title: k.Title, Summary: k.Summary} }

// Info is the card's entry in a [Snapshot], with what can be said of a card that may have been rejected: the ID is empty
// when there is none, title and summary are in display form (D3).
func (c *Card) Info() CardInfo {
	return CardInfo{ID: c.ID(), Title: displayText(c.Title), Summary: displayText(c.Summary)}
}

// Check applies every rule about a card that can be decided without running its script (R1–R10, R20–R41) and reports all
// faults at once (R125), by field in the order title, summary, html, css, javascript, within a field by place. Findings
// about the whole document come first when its JSON could not be read, last when they are about its members or its size.
//
// The Checked is nil when any finding has severity error; otherwise all findings are warnings, and Checked holds them
// too. Whether the script parses is found by [Runtime.Check].
func (c *Card) Check() (*Checked, []Diagnostic) {
	ds := slices.Clone(c.faults)
	for _, n := range names {
		if !c.unread[n] {
			ds = append(ds, c.checkField(n)...)
		}
	}
	k := &Checked{Card: *c}
	if !c.unread["html"] && withinReach(c.HTML, limits.HTMLLength) {
		var found []Diagnostic
		k.HTML, found = sanitize.Card(c.HTML)
		ds = append(ds, found...)
		if !rejects(found) {
			var err error
			if k.document, err = patches.New(k.HTML); err != nil {
				ds = append(ds, initialInputs(err))
			}
		}
	}
	if !c.unread["css"] && withinReach(c.CSS, limits.CSSLength) {
		var found []Diagnostic
		k.Stylesheet, found = sanitize.CSS(c.CSS)
		ds = append(ds, found...)
	}
	if c.whole() {
		k.ID = c.ID()
		if n := len(c.appendResult(nil, k.ID)); n > limits.Result {
			ds = append(ds, resultTooLarge(n))
		}
	}
	sortDiagnostics(ds)
	if rejects(ds) {
		return nil, ds
	}
	k.Title, k.Summary, k.Warnings = displayText(c.Title), displayText(c.Summary), ds
	return k, ds
}

// withinReach tells whether a text may be looked into. One that is over its limit is looked into too, so that its
// author hears of all faults in one go, unless it is so much longer that it has to be written anew anyway: the work of
// a check stays bounded.
func withinReach(s string, limit int) bool { return utf8.ValidString(s) && limits.Length(s) <= 2*limit }

// checkField applies the rules that need nothing but the text: UTF-8, length (R3–R7) and visibility (R8).
func (c *Card) checkField(n name) []Diagnostic {
	text, low, high := c.field(n)
	if !utf8.ValidString(text) {
		line, column := limits.Position(text, invalidOffset(text))
		return []Diagnostic{{
			Severity: limits.SeverityError, Code: limits.JSONInvalid, Field: string(n), Line: line, Column: column,
			Message: fmt.Sprintf("%s is not valid UTF-8 here; give Unicode text", n),
		}}
	}
	units := limits.Length(text)
	if units < low {
		return []Diagnostic{fault(limits.FieldLength, string(n), "%s is empty; it must have 1 to %s characters", n, thousands(high))}
	}
	var ds []Diagnostic
	if units > high {
		ds = append(ds, fault(limits.FieldLength, string(n),
			"%s has %s characters (UTF-16 code units); the limit is %s. Shorten it by %s: nothing is cut to fit",
			n, thousands(units), thousands(high), thousands(units-high)))
	}
	if (n == "title" || n == "summary") && displayText(text) == "" {
		ds = append(ds, fault(limits.TextInvisible, string(n),
			"%s shows nothing: it holds only white space and invisible characters. Write visible text", n))
	}
	return ds
}

func invalidOffset(s string) int {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return i
			}
		}
	}
	return len(s)
}

// initialInputs reports that the inputs cannot be handed to the script as they are at first (R105, R106, D35). The
// code is field_length: what is too long is text that the html field holds. result_too_large is about the result
// (R9), and too_many_controls would tell the author to remove controls where shorter values do.
func initialInputs(err error) Diagnostic {
	return fault(limits.FieldLength, "html",
		"the initial values of the controls are too long (%v). One value may have %s characters, and the JSON text of all values %s bytes: shorten value attributes, option values or textarea text",
		err, thousands(limits.Value), thousands(limits.Snapshot))
}

func resultTooLarge(n int) Diagnostic {
	return fault(limits.ResultTooLarge, "",
		"the serialized result has %s bytes; the limit is %s. Title and summary count twice, and every character outside ASCII and every quote, backslash and line break counts more than once. Shorten the card by about %s bytes: nothing is cut to fit",
		thousands(n), thousands(limits.Result), thousands(n-limits.Result))
}
