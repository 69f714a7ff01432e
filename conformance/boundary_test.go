package conformance_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"example.com/cardrun"
	"example.com/cardrun/limits"
)

// letters are characters of every kind of encoding: what they are in JavaScript and in Go, and the size of one in the JSON
// text that R106 and R107 measure, by the tables of UTF-8 and of JSON.stringify rather than by any code of ours.
var letters = []struct {
	name, script, is string
	bytes, units     int
}{
	{"ascii", "a", "a", 1, 1}, {"two bytes", "é", "é", 2, 1}, {"three bytes", "€", "€", 3, 1}, {"four bytes", `\u{1f600}`, "\U0001f600", 4, 2},
	{"last of two", `\u07ff`, "\u07ff", 2, 1}, {"first of three", `\u0800`, "\u0800", 3, 1}, {"last of three", `\uffff`, "\uffff", 3, 1}, {"last of four", `\u{10ffff}`, "\U0010ffff", 4, 2},
	{"first of two", `\u0080`, "\u0080", 2, 1}, {"delete", `\x7f`, "\x7f", 1, 1},
	{"quote", `"`, `"`, 2, 1}, {"backslash", `\\`, `\`, 2, 1}, {"line feed", `\n`, "\n", 2, 1}, {"tab", `\t`, "\t", 2, 1}, {"backspace", `\b`, "\b", 2, 1},
	{"NUL", `\0`, "\x00", 6, 1}, {"escape", `\x1b`, "\x1b", 6, 1}, {"last control", `\x1f`, "\x1f", 6, 1},
	{"line separator", `\u2028`, "\u2028", 3, 1}, {"byte order mark", `\ufeff`, "\ufeff", 3, 1}, {"slash", "/", "/", 1, 1}, {"less than", "<", "<", 1, 1}, {"ampersand", "&", "&", 1, 1},
	{"high surrogate", `\ud800`, "\ufffd", 3, 1}, {"low surrogate", `\udfff`, "\ufffd", 3, 1}, {"two low surrogates", `\udc00\udc00`, "\ufffd\ufffd", 6, 2},
}

// renderBoundary runs a card with a script, twelve text areas t0 to t11, a paragraph o and a button go, which is
// clicked as often as is said.
func renderBoundary(t *testing.T, r *cardrun.Runtime, script string, clicks int) *cardrun.Snapshot {
	t.Helper()
	var html strings.Builder
	html.WriteString(`<p id="o">start</p><button id="go">G</button>`)
	for i := range 12 {
		fmt.Fprintf(&html, `<textarea id="t%d"></textarea>`, i)
	}
	s, snapshot, err := r.Open(t.Context(), &cardrun.Card{Title: "T", Summary: "S", HTML: html.String(), JavaScript: script}, cardrun.SessionOptions{})
	if err != nil || s == nil {
		t.Fatalf("%s: %v %+v", script, err, snapshot)
	}
	defer s.Close()
	for range clicks {
		if s.Snapshot().Outcome == cardrun.Ready {
			if _, err := s.Send(t.Context(), click("go")); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s.Snapshot()
}

// expectEnd holds how a card ended against what it must be: "" for ready.
func expectEnd(t *testing.T, what string, s *cardrun.Snapshot, want limits.Code) {
	t.Helper()
	got := limits.Code("")
	if s.Failure != nil {
		got = s.Failure.Code
		if !utf8.ValidString(s.Failure.Message) || limits.Length(s.Failure.Message) > 700 {
			t.Errorf("%s: message %.1000q", what, s.Failure.Message)
		}
	}
	if got != want {
		t.Errorf("%s: ended with %q (%+v), want %q", what, got, s.Failure, want)
	}
}

// TestBatchToTheByteR107 writes batches of exactly 16,000 bytes, and of one more, in every encoding.
func TestBatchToTheByteR107(t *testing.T) {
	r := engine(t)
	tried := 0
	for _, l := range letters {
		for _, op := range []string{"text", "html"} {
			const frame = len(`[{"op":"text","id":"o","value":""}]`)
			n, rest := (limits.Batch-frame)/l.bytes, (limits.Batch-frame)%l.bytes
			for more := range 2 {
				tried++
				what := fmt.Sprintf("%s of %d × %s and %d bytes", op, n, l.name, rest+more)
				s := renderBoundary(t, r, fmt.Sprintf("ui.%s('o', '%s'.repeat(%d) + 'x'.repeat(%d))", op, l.script, n, rest+more), 0)
				if more > 0 {
					expectEnd(t, what, s, limits.InputLimit)
					continue
				}
				expectEnd(t, what, s, "")
				if got := s.Rounds[0].Usage.BatchBytes; got != limits.Batch {
					t.Errorf("%s: measured as %d bytes", what, got)
				}
				if op == "text" && len(s.Rounds[0].Patches) == 1 && s.Rounds[0].Patches[0].Value != strings.Repeat(l.is, n)+strings.Repeat("x", rest) {
					t.Errorf("%s: arrived as %.100q…", what, s.Rounds[0].Patches[0].Value)
				}
			}
		}
	}
	t.Logf("attacks: %d", tried)
}

// TestValueToTheUnitR105 asks for values of exactly 2,048 UTF-16 code units, and of one more, in every encoding.
func TestValueToTheUnitR105(t *testing.T) {
	r := engine(t)
	tried := 0
	for _, l := range letters {
		n := limits.Value / l.units
		for more := range 2 {
			for _, call := range []string{"ui.value('t0', %s)", "ui.text('t0', %s)", "ui.html('o', '<select><option id=q></select>'); ui.text('q', %s)"} {
				if strings.Contains(call, "select") && strings.TrimSpace(l.is) == "" {
					continue // the value of an option is its text without white space around it
				}
				tried++
				what := fmt.Sprintf(call, fmt.Sprintf("%d × %s and %d", n, l.name, more))
				s := renderBoundary(t, r, fmt.Sprintf(call, fmt.Sprintf("'%s'.repeat(%d) + 'x'.repeat(%d)", l.script, n, more)), 0)
				if more == 0 {
					expectEnd(t, what, s, "")
				} else {
					expectEnd(t, what, s, limits.InputLimit)
				}
				if more == 0 && !strings.Contains(call, "select") && limits.Length(valueOf(s, "t0")) != limits.Value {
					t.Errorf("%s: the control holds %d characters", what, limits.Length(valueOf(s, "t0")))
				}
			}
		}
	}
	t.Logf("attacks: %d", tried)
}

func valueOf(s *cardrun.Snapshot, id string) string {
	for _, c := range s.Controls {
		if c.ID == id {
			return c.Value
		}
	}
	return ""
}

// TestSnapshotToTheByteR106 fills the text areas until the values of all controls take exactly 16,000 bytes, and one more,
// in every encoding, over several rounds, since a batch cannot hold so much.
func TestSnapshotToTheByteR106(t *testing.T) {
	r := engine(t)
	frame := len(`{"go":{"value":"","checked":false}}`)
	for i := range 12 {
		frame += len(fmt.Sprintf(`,"t%d":{"value":"","checked":false}`, i))
	}
	tried := 0
	for _, l := range letters {
		if l.is == "\x00" {
			continue // which a text area holds as U+FFFD, three bytes
		}
		left := (limits.Snapshot - frame) / l.bytes // characters
		rest := (limits.Snapshot - frame) % l.bytes
		each := (limits.Value - 10) / l.units
		var rounds []string
		for i := 0; left > 0; i++ {
			n := min(each, left)
			left -= n
			if i == 11 && left > 0 {
				t.Fatalf("%s: %d characters too many for the card", l.name, left)
			}
			rounds = append(rounds, fmt.Sprintf("ui.value('t%d', '%s'.repeat(%d))", i, l.script, n))
		}
		for more := range 2 {
			tried++
			script := "let round = 0; ui.on('go', 'click', () => { switch (round++) {"
			for i, s := range rounds {
				script += fmt.Sprintf("case %d: %s; break;", i, s)
			}
			script += fmt.Sprintf("case %d: ui.value('t11', 'x'.repeat(%d)) } })", len(rounds), rest+more)
			s := renderBoundary(t, r, script, len(rounds)+2)
			what := fmt.Sprintf("%s, %d rounds, %d bytes more", l.name, len(rounds), more)
			if more > 0 {
				expectEnd(t, what, s, limits.InputLimit)
				if len(s.Rounds) != len(rounds)+2 {
					t.Errorf("%s: ended in round %d", what, len(s.Rounds)-1)
				}
			} else {
				expectEnd(t, what, s, "")
			}
		}
	}
	t.Logf("attacks: %d", tried)
}

// TestIDToTheCharacterR24 uses ids of 64 characters and of 65, in calls and in html, and ids that hold anything else.
func TestIDToTheCharacterR24(t *testing.T) {
	r := engine(t)
	longest := strings.Repeat("a", limits.IDLength)
	tried := 0
	try := func(script string, want limits.Code) {
		t.Helper()
		tried++
		expectEnd(t, script, renderBoundary(t, r, script, 0), want)
	}
	try(fmt.Sprintf("ui.html('o', '<b id=%[1]s></b>'); ui.text('%[1]s', 'x'); ui.on('%[1]s', 'click', () => 0)", longest), "")
	try(fmt.Sprintf("ui.html('o', '<b id=%sb></b>')", longest), limits.InvalidPatch)
	try(fmt.Sprintf("ui.on('%sb', 'click', () => 0)", longest), limits.UIOperation)
	try(fmt.Sprintf("ui.text('%sb', 'x')", longest), limits.InvalidPatch)
	try(fmt.Sprintf("ui.input('%sb')", longest), limits.UIOperation)
	for _, l := range letters {
		if l.is == "a" {
			continue
		}
		for _, at := range []string{"%s", "a%s", "%sa", "a%sa", strings.Repeat("a", limits.IDLength-1) + "%s"} {
			id := fmt.Sprintf(at, l.script)
			try(fmt.Sprintf("ui.on('%s', 'click', () => 0)", id), limits.UIOperation)
			try(fmt.Sprintf("ui.input('%s')", id), limits.UIOperation)
			try(fmt.Sprintf("ui.text('%s', 'x')", id), limits.InvalidPatch)
			try(fmt.Sprintf("try { ui.text('%s', 1) } catch {}", id), limits.UIOperation)
		}
	}
	t.Logf("attacks: %d", tried)
}

// TestMessagesToTheUnit fails with messages that are cut, at every place in a character.
func TestMessagesToTheUnit(t *testing.T) {
	r := engine(t)
	tried := 0
	for _, l := range letters {
		for pad := range 8 {
			for script, want := range map[string]limits.Code{
				"throw '%s' + '%s'.repeat(1000)":                                             limits.Exception,
				"throw new Error('%s' + '%s'.repeat(1000))":                                  limits.Exception,
				"throw {name: '%s' + '%s'.repeat(1000), message: ''}":                        limits.Exception,
				"throw {message: 'm', stack: '%s' + '%s'.repeat(5000)}":                      limits.Exception,
				"ui.input('%s' + '%s'.repeat(1000))":                                         limits.UIOperation,
				"ui.on('a', '%s' + '%s'.repeat(1000), () => 0)":                              limits.UIOperation,
				"ui.text('%s' + '%s'.repeat(100), 'x')":                                      limits.InvalidPatch,
				"ui.text('%s' + '%s'.repeat(100), 7)":                                        limits.UIOperation,
				"ui.html('o', '<input type=\"' + '%s' + '%s'.repeat(1000) + '\" id=\"1\">')": limits.InvalidPatch,
			} {
				tried++
				script = fmt.Sprintf(script, strings.Repeat("x", pad), l.script)
				expectEnd(t, script, renderBoundary(t, r, script, 0), want)
			}
		}
	}
	t.Logf("attacks: %d", tried)
}
