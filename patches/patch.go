package patches

import (
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Op is what a patch does to its target.
type Op string

// The operations: one for each of the calls ui.text, ui.html and ui.value.
const (
	OpText  Op = "text"  // replace the children by plain text (R53)
	OpHTML  Op = "html"  // replace the children by a sanitized fragment (R54)
	OpValue Op = "value" // ask for a control's current value (R55)
)

// Patch is one call of ui.text, ui.html or ui.value (D19: one call, one patch).
type Patch struct {
	Op    Op     `json:"op"`
	ID    string `json:"id"`
	Value string `json:"value"`
}

// Batch is all patches of one round, in the order of the calls.
type Batch []Patch

// AppendJSON appends the JSON text of b to dst: [{"op":…,"id":…,"value":…},…] without white space, byte for byte what
// JSON.stringify writes (D19). An empty or nil batch is []. A byte that is no valid UTF-8 is written as U+FFFD.
func (b Batch) AppendJSON(dst []byte) []byte {
	dst = append(dst, '[')
	for i, p := range b {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"op":`...)
		dst = appendQuoted(dst, string(p.Op))
		dst = append(dst, `,"id":`...)
		dst = appendQuoted(dst, p.ID)
		dst = append(dst, `,"value":`...)
		dst = appendQuoted(dst, p.Value)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// Size is the size of the JSON text that [Batch.AppendJSON] writes, in UTF-16 code units and in UTF-8 bytes: what R107
// measures. It is counted without writing the text.
func (b Batch) Size() (units, bytes int) {
	units = len("[]")
	if len(b) > 1 {
		units += len(b) - 1
	}
	bytes = units
	for _, p := range b {
		const frame = len(`{"op":,"id":,"value":}`)
		units += frame
		bytes += frame
		for _, s := range [...]string{string(p.Op), p.ID, p.Value} {
			u, n := quotedSize(s)
			units += u
			bytes += n
		}
	}
	return units, bytes
}

// appendQuoted writes s as JSON.stringify does: RFC 8785's escapes and no others. AppendQuote's error is about invalid
// UTF-8 alone, for which it has written U+FFFD by then.
func appendQuoted(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

// quotedSize is the size of s as [appendQuoted] writes it, quotes included.
func quotedSize(s string) (units, bytes int) {
	units, bytes = 2, 2
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			n := 1
			switch {
			case c == '"' || c == '\\' || c == '\b' || c == '\f' || c == '\n' || c == '\r' || c == '\t':
				n = 2
			case c < ' ':
				n = len(`\u0000`)
			}
			units += n
			bytes += n
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		units++
		if r > 0xFFFF {
			units++
		}
		bytes += utf8.RuneLen(r)
	}
	return units, bytes
}
