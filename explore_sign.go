package cardrun

import (
	"fmt"
	"hash/maphash"
	"math/bits"
	"regexp"
	"strings"

	"example.com/cardrun/limits"
	"example.com/cardrun/patches"
	"example.com/cardrun/uiapi/script"
)

// sign is something that an exploration looks for. Equal signs have equal keys.
type sign struct {
	key  string
	code limits.Code
	// failure is set for an activation that ended.
	failure *Failure
	// id is the element or control that it is about, token what was seen there.
	id, token string
	// budget is what was nearly used up.
	budget Budget
	// shown and instead are displays that differ.
	shown, instead string
}

// feature tells which event a round was for, what it showed, with digits alike, and how much it took, by powers of two.
func (r *run) feature() uint64 {
	var h maphash.Hash
	h.SetSeed(featureSeed)
	fmt.Fprintf(&h, "%s %s %d", r.event.ID, r.event.Type, bits.Len64(uint64(r.last.Usage.Fuel)))
	for _, p := range r.last.Batch {
		_, _ = h.WriteString(p.ID)
		value := p.Value
		for _, c := range r.before { // what is typed and shown again is no new display
			if (c.Type == "text" || c.Type == "textarea") && c.Value != "" {
				value = strings.ReplaceAll(value, c.Value, "·")
			}
		}
		writeShape(&h, value)
	}
	return h.Sum64()
}

// featureSeed makes features comparable within the process; nothing is decided by their order.
var featureSeed = maphash.MakeSeed()

// writeShape writes a text with each run of digits, points and separators as one 0.
func writeShape(h *maphash.Hash, s string) {
	if len(s) > 2000 {
		s = s[:2000]
	}
	digits := false
	from := 0
	for i := range len(s) {
		c := s[i]
		if d := c >= '0' && c <= '9' || digits && (c == '.' || c == ','); d != digits {
			if digits = d; d {
				_, _ = h.WriteString(s[from:i])
				_ = h.WriteByte('0')
			}
			from = i
		}
	}
	if !digits {
		_, _ = h.WriteString(s[from:])
	}
}

// odd are words that come from a calculation that went wrong.
var odd = regexp.MustCompile(`\b(NaN|undefined|Infinity)\b|\[object [A-Z]\w*\]`)

// oddWords are what such a word contains, so that most texts need no regular expression.
var oddWords = []string{"NaN", "undefined", "Infinity", "[object "}

// look finds signs in a round's batch, as the script wrote it.
func (p *prober) look(b patches.Batch) (signs []sign) {
	for _, patch := range b {
		for _, word := range oddWords {
			if !strings.Contains(patch.Value, word) {
				continue
			}
			if token := odd.FindString(patch.Value); token != "" && !p.means(token) {
				signs = append(signs, sign{key: "odd " + patch.ID + " " + token, code: limits.DisplayOdd, id: patch.ID, token: token, shown: patch.Value})
			}
			break
		}
		if patch.Op != patches.OpHTML {
			continue
		}
		if strings.Contains(patch.Value, markup) {
			signs = append(signs, sign{key: "markup " + patch.ID, code: limits.HTMLUserText, id: patch.ID, shown: patch.Value})
		}
		if tag := script.TablePart(patch.Value); tag != "" {
			signs = append(signs, sign{key: "table " + patch.ID, code: limits.TablePartBare, id: patch.ID, token: tag, shown: patch.Value})
		}
	}
	return signs
}

// means tells that the card's own text has such a word: a slope may be undefined.
func (p *prober) means(token string) bool {
	if p.lint.script != nil {
		for _, s := range p.lint.script.Strings {
			if strings.Contains(s, token) && s != token {
				return true
			}
		}
	}
	return strings.Contains(p.card.Card.HTML, token) || strings.Contains(p.card.Card.Summary, token)
}

// failed is the sign of an activation that ended.
func failed(f *Failure) sign {
	return sign{key: fmt.Sprintf("failed %s %d:%d", f.Code, f.Line, f.Column), code: limits.InputEndsCard, failure: f}
}

// typed tells that a user entered the word himself, now or before, so that a card may show it.
func typed(path []move, token string) bool {
	for _, m := range path {
		if token != "" && m.kind == "set" && strings.Contains(m.value, token) {
			return true
		}
	}
	return false
}

// cheapBudgets are those that a round is compared on as it ends.
func (r *run) cheapBudgets() []Budget {
	u := r.usage()
	list := []Budget{
		{"heap_bytes", u.HeapBytes, limits.Heap},
		{"microtasks", int64(u.Microtasks), limits.Microtasks},
		{"patches", int64(u.Patches), limits.Patches},
		{"batch_bytes", int64(u.BatchBytes), limits.Batch},
	}
	if b := (Budget{"time_us", u.ElapsedUS, limits.Round.Microseconds()}); b.Near() {
		list = append(list, b)
	}
	return list
}
