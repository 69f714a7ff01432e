package cardrun

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"example.com/cardrun/limits"
)

// MaxJSON is the most bytes of JSON text that [Decode] looks at. No acceptable card needs more: the result holds at most
// 24,000 bytes (R9), and JSON's longest spelling of a byte takes six.
const MaxJSON = 256 << 10

// maxUnknown is the most members that are reported by name for not being part of a card.
const maxUnknown = 20

// five lists the members in messages.
const five = "title, summary, html, css, javascript"

// Decode reads one JSON object with exactly five members, all strings: title, summary, html, css and javascript (R1,
// R2). Nothing is coerced, defaulted or repaired: a missing or an extra member, a repeated one, a value that is no
// string, invalid UTF-8, a lone surrogate and anything after the object are faults (D2).
//
// Decode never fails. What is wrong is kept in the Card, and [Card.Check] reports it together with everything that is
// wrong with the fields that could be read, so that an author hears of all faults at once (R125). A text of more than
// [MaxJSON] bytes is not looked at; its one finding has the code result_too_large.
func Decode(data []byte) Card {
	if len(data) > MaxJSON {
		return unreadable(fault(limits.ResultTooLarge, "",
			"the card's JSON text has more than %s bytes; no card that fits its limits needs more. Shorten the card: nothing is cut to fit",
			thousands(MaxJSON)))
	}
	d := decoder{data: data}
	err := d.decode(false)
	if err == nil {
		return d.card()
	}
	syntax := d.syntaxFault(err)
	// A lone surrogate or a byte that is no UTF-8 hides nothing: with U+FFFD in its place the rest can be checked.
	again := decoder{data: data}
	if again.decode(true) != nil {
		return unreadable(syntax)
	}
	again.faults = slices.Insert(again.faults, 0, syntax)
	return again.card()
}

func unreadable(d Diagnostic) Card {
	c := Card{faults: []Diagnostic{d}, unread: make(map[name]bool, len(names))}
	for _, n := range names {
		c.unread[n] = true
	}
	return c
}

type decoder struct {
	data    []byte
	found   map[name]string // the strings
	seen    map[name]bool   // the members there, whatever they hold
	again   map[name]bool   // those there more than once
	unknown []string        // the first maxUnknown distinct ones
	more    int             // further members that are unknown
	faults  []Diagnostic
}

// errShape says that the fault has been reported: the text is JSON, but no object.
var errShape = errors.New("not an object")

// decode reads the whole text. An error is about the syntax; faults of members are collected.
func (d *decoder) decode(lenient bool) error {
	d.found, d.seen, d.again = make(map[name]string, len(names)), make(map[name]bool, len(names)), make(map[name]bool)
	// Repeated names are found here, so that what follows them is still read.
	in := jsontext.NewDecoder(bytes.NewReader(d.data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(lenient))
	if kind := in.PeekKind(); kind != '{' {
		if err := in.SkipValue(); err != nil {
			return err
		}
		d.faults = append(d.faults, d.at(0, "the card is "+kindName(kind)+"; it must be one object with the members "+five))
		return errShape
	}
	if _, err := in.ReadToken(); err != nil {
		return err
	}
	for in.PeekKind() != '}' {
		place := d.next(in)
		t, err := in.ReadToken()
		if err != nil {
			return err
		}
		if err := d.member(in, t.String(), place); err != nil {
			return err
		}
	}
	if _, err := in.ReadToken(); err != nil {
		return err
	}
	end := d.next(in)
	if _, err := in.ReadToken(); err == nil || !errors.Is(err, io.EOF) {
		d.faults = append(d.faults, d.at(end, "something follows the card's closing brace; send one JSON object and nothing else"))
	}
	return nil
}

// member reads the value of the member called key, which starts at the offset place.
func (d *decoder) member(in *jsontext.Decoder, key string, place int) error {
	n := name(key)
	known := slices.Contains(names[:], n)
	switch {
	case !known:
		d.unknownMember(key)
	case d.seen[n] && !d.again[n]:
		// Told once, or a text full of repetitions would give as many findings.
		d.again[n] = true
		d.faults = append(d.faults, d.at(place, "the member "+key+" is there twice; give it once"))
	}
	kind := in.PeekKind()
	if !known || kind != '"' || d.seen[n] {
		if err := in.SkipValue(); err != nil {
			return err
		}
		if known && kind != '"' && !d.again[n] {
			d.faults = append(d.faults, fault(limits.FieldType, key, "%s is %s; it must be a string. %s", key, kindName(kind), typeAdvice(n)))
		}
		if known {
			d.seen[n] = true
		}
		return nil
	}
	t, err := in.ReadToken()
	if err != nil {
		return err
	}
	d.seen[n], d.found[n] = true, t.String()
	return nil
}

func (d *decoder) unknownMember(key string) {
	short := key
	if limits.Length(key) > limits.IDLength {
		short = limits.Cut(key, limits.IDLength) + "…"
	}
	switch {
	case slices.Contains(d.unknown, short):
		return
	case len(d.unknown) == maxUnknown:
		d.more++
		return
	}
	d.unknown = append(d.unknown, short)
	advice := "remove it"
	if i := slices.IndexFunc(names[:], func(n name) bool { return strings.EqualFold(string(n), key) }); i >= 0 {
		advice = "write " + string(names[i])
	}
	d.faults = append(d.faults, fault(limits.FieldUnknown, short,
		"the member %s is not part of a card; %s. A card has exactly five members: %s", strconv.Quote(short), advice, five))
}

// card makes the card, with a fault for each member that is not there.
func (d *decoder) card() Card {
	c := Card{
		Title: d.found["title"], Summary: d.found["summary"], HTML: d.found["html"], CSS: d.found["css"], JavaScript: d.found["javascript"],
		faults: d.faults,
	}
	for _, n := range names {
		if _, ok := d.found[n]; ok {
			continue
		}
		if c.unread == nil {
			c.unread = make(map[name]bool)
		}
		c.unread[n] = true
		if !d.seen[n] {
			c.faults = append(c.faults, fault(limits.FieldMissing, string(n),
				"%s is missing; a card has exactly five members: %s. %s", n, five, typeAdvice(n)))
		}
	}
	if d.more > 0 {
		c.faults = append(c.faults, fault(limits.FieldUnknown, "…", "%s further members are not part of a card; remove them", thousands(d.more)))
	}
	return c
}

// typeAdvice says what to write when a member holds nothing that can be used.
func typeAdvice(n name) string {
	switch n {
	case "css":
		return `Write "" when there is no style`
	case "javascript":
		return `Write "" for a card that does not change`
	}
	return "Write its text as a JSON string"
}

// syntaxFault reports an error of the JSON reader.
func (d *decoder) syntaxFault(err error) Diagnostic {
	if errors.Is(err, errShape) {
		return d.faults[len(d.faults)-1]
	}
	if len(bytes.TrimSpace(d.data)) == 0 {
		return d.at(0, "the card is empty; send one JSON object with the members "+five)
	}
	switch {
	case bytes.HasPrefix(d.data, []byte("\xef\xbb\xbf")):
		return d.at(0, "the card begins with a byte order mark; send the JSON object alone")
	case bytes.HasPrefix(bytes.TrimSpace(d.data), []byte("```")):
		return d.at(bytes.IndexByte(d.data, '`'), "the card is wrapped in a Markdown fence; send the JSON object alone")
	}
	offset, reason := len(d.data), "the text ends too early"
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) && !errors.Is(err, io.ErrUnexpectedEOF) {
		offset, reason = int(syntax.ByteOffset), syntax.Err.Error()
	}
	advice := "send one JSON object (RFC 8259) in UTF-8"
	switch {
	case strings.Contains(reason, "in string (expecting non-control character)"):
		advice = `write line breaks and tabs in strings as \n and \t`
	case strings.Contains(reason, "surrogate"):
		reason, advice = "half of a surrogate pair stands alone", `write the character itself, or both halves as \uD83D\uDE00`
	}
	return d.at(offset, "the card is not valid JSON: "+reason+"; "+advice)
}

// at is json_invalid at a byte offset of the text.
func (d *decoder) at(offset int, message string) Diagnostic {
	f := fault(limits.JSONInvalid, "", "%s", message)
	f.Line, f.Column = limits.Position(string(d.data), offset)
	return f
}

// next is the offset of the token that comes next.
func (d *decoder) next(in *jsontext.Decoder) int {
	i := int(in.InputOffset())
	for i < len(d.data) && strings.IndexByte(" \t\r\n,:", d.data[i]) >= 0 {
		i++
	}
	return i
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '0':
		return "a number"
	case '"':
		return "a string"
	case '[':
		return "an array"
	}
	return "an object"
}
