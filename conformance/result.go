package conformance

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Result is how one case went.
type Result struct {
	Case *Case
	// Mismatches are the expectations that were not met; none, and no Err, is a pass.
	Mismatches []Mismatch
	// Err is why the case could not be played: a context that ended, a closed runtime, an engine that cannot make a guest.
	Err error
	// Elapsed is the time from opening the session to the last check.
	Elapsed time.Duration
}

// Passed tells that everything was as expected.
func (r *Result) Passed() bool { return r.Err == nil && len(r.Mismatches) == 0 }

// Print writes what went wrong, three lines for each mismatch; nothing for a pass. Nothing in a case or a card adds a line.
func (r *Result) Print(w io.Writer) error {
	if r.Passed() {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "FAIL %s: %s\n", line(r.Case.File), line(r.Case.Name))
	if r.Err != nil {
		fmt.Fprintf(&b, "  %s\n", line(r.Err.Error()))
	}
	for _, m := range r.Mismatches {
		where := "start"
		if m.Step > 0 {
			where = "step " + strconv.Itoa(m.Step)
		}
		fmt.Fprintf(&b, "  %s: %s\n    want %s\n    got  %s\n", where, line(m.Key), line(m.Want), line(m.Got))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Results are those of all cases, in the order of the cases.
type Results []Result

// Count gives how many passed and how many did not.
func (rs Results) Count() (passed, failed int) {
	for i := range rs {
		if rs[i].Passed() {
			passed++
		} else {
			failed++
		}
	}
	return passed, failed
}

// Print writes every failure, and as its last line "N passed, N failed". The texts in it are the card's: whoever prints
// to a terminal takes the control characters out first.
func (rs Results) Print(w io.Writer) error {
	b := bufio.NewWriter(w)
	for i := range rs {
		if err := rs[i].Print(b); err != nil {
			return err
		}
	}
	passed, failed := rs.Count()
	fmt.Fprintf(b, "%d passed, %d failed\n", passed, failed)
	return b.Flush()
}

// window is how many bytes of a text are shown, and before how many of them something of note is.
const (
	window = 160
	before = 40
)

// around is the part of s around the byte at, with … where something was cut.
func around(s string, at int) string {
	if len(s) <= window {
		return s
	}
	start := max(0, min(at-before, len(s)-window))
	end := min(len(s), start+window)
	for start > 0 && !utf8.RuneStart(s[start]) {
		start--
	}
	for end < len(s) && !utf8.RuneStart(s[end]) {
		end++
	}
	part := s[start:end]
	if start > 0 {
		part = "…" + part
	}
	if end < len(s) {
		part += "…"
	}
	return part
}

// line is a text on one line, cut where it is longer than what is quoted in it can be.
func line(s string) string {
	const most = 6 * window // each byte of a window may be quoted as \x1b, and some words stand around it
	if len(s) > most {
		s = around(s, 0)
	}
	return strings.NewReplacer("\r\n", " ↵ ", "\n", " ↵ ", "\r", " ↵ ").Replace(s)
}

// quoteAt is the part of a text around a byte as a Go string.
func quoteAt(s string, at int) string { return strconv.Quote(around(s, at)) }

// shorten cuts a long text to its beginning.
func shorten(s string) string { return around(s, 0) }

// quote is a text as a Go string, so that white space and control characters can be seen.
func quote(s string) string { return quoteAt(s, 0) }
