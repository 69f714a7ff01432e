package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"example.com/cardrun"
)

// Mismatch is one expectation that was not met.
type Mismatch struct {
	// Step counts from 1; 0 is initialization.
	Step int
	// Key is the member of expect, with the id or tag behind a slash: text/answer.
	Key string
	// Want and Got are what was expected and what came, in words or quoted, long ones cut.
	Want, Got string
}

// Check holds a snapshot against what is expected of it, and gives every expectation that is not met, in the order of
// [Expect]'s members, by id within one. A snapshot of a rejected card shows nothing: it has no element with any
// text, and whatever must be absent is absent.
func (e *Expect) Check(s *cardrun.Snapshot) []Mismatch {
	c := checker{s: s, page: &Page{}}
	if s.Display != nil {
		var err error
		if c.page, err = ParsePage(s.Display.HTML); err != nil {
			c.page = &Page{}
			c.miss("display", "html that can be parsed", err.Error())
		}
	}
	c.check(e)
	return c.found
}

type checker struct {
	s     *cardrun.Snapshot
	page  *Page
	found []Mismatch
}

func (c *checker) miss(key, want, got string) {
	c.found = append(c.found, Mismatch{Key: key, Want: want, Got: got})
}

func (c *checker) check(e *Expect) {
	c.outcome(e)
	c.texts(e)
	c.display(e)
	c.rounds(e)
	if e.IfReady != nil && c.s.Outcome == cardrun.Ready {
		n := len(c.found)
		c.check(e.IfReady)
		for i := range c.found[n:] {
			c.found[n+i].Key = "if_ready/" + c.found[n+i].Key
		}
	}
}

func (c *checker) outcome(e *Expect) {
	outcome := string(c.s.Outcome)
	if e.Outcome != nil && !e.Outcome.allows(outcome) {
		c.miss("outcome", list(e.Outcome), outcome+c.reason())
	}
	code := ""
	if c.s.Failure != nil {
		code = string(c.s.Failure.Code)
	}
	if e.Failure != nil && !e.Failure.allows(code) {
		c.miss("failure", list(e.Failure), outcome+c.reason())
	}
	if c.s.Outcome == cardrun.Failed && e.FailureIfFailed != nil && !e.FailureIfFailed.allows(code) {
		c.miss("failure_if_failed", list(e.FailureIfFailed), outcome+c.reason())
	}
	if e.Diagnostic != nil {
		codes := []string{}
		for _, d := range c.s.Diagnostics {
			codes = append(codes, string(d.Code))
		}
		if !slices.ContainsFunc(codes, e.Diagnostic.allows) {
			c.miss("diagnostic", list(e.Diagnostic), fmt.Sprintf("%q", codes))
		}
	}
	if e.Title != nil && c.s.Card.Title != *e.Title {
		c.differ("title", *e.Title, c.s.Card.Title)
	}
}

// reason says why a card did not go on, for whoever expected it to.
func (c *checker) reason() string {
	switch f := c.s.Failure; {
	case f != nil:
		return fmt.Sprintf(" (%s in round %d: %s)", f.Code, f.Round, shorten(f.Message))
	case c.s.Outcome == cardrun.Rejected && len(c.s.Diagnostics) > 0:
		return fmt.Sprintf(" (%s)", shorten(c.s.Diagnostics[0].String()))
	}
	return ""
}

func (c *checker) texts(e *Expect) {
	const nothing = "no element with this id"
	for id, want := range sorted(e.Text) {
		if got, ok := c.page.Text(id); !ok {
			c.miss("text/"+id, quote(want), nothing)
		} else if got != want {
			c.differ("text/"+id, want, got)
		}
	}
	for id, p := range sorted(e.TextMatches) {
		if got, ok := c.page.Text(id); !ok {
			c.miss("text_matches/"+id, p.String(), nothing)
		} else if _, ok := p.find(got); !ok {
			c.miss("text_matches/"+id, p.String(), quote(got))
		}
	}
	for id, p := range sorted(e.TextLacksMatch) {
		if got, ok := c.page.Text(id); ok {
			if m, ok := p.find(got); ok {
				c.miss("text_lacks_match/"+id, "nothing like "+p.String(), quote(m))
			}
		}
	}
	for id, r := range sorted(e.TextRange) {
		want := fmt.Sprintf("an integer from %d to %d", r[0], r[1])
		got, ok := c.page.Text(id)
		n, err := strconv.ParseInt(strings.TrimSpace(got), 10, 64)
		switch {
		case !ok:
			c.miss("text_range/"+id, want, nothing)
		case err != nil || n < r[0] || n > r[1]:
			c.miss("text_range/"+id, want, quote(got))
		}
	}
	for id, want := range sorted(e.HTML) {
		if got, ok := c.page.InnerHTML(id); !ok {
			c.miss("html/"+id, quote(want), nothing)
		} else if got != want {
			c.differ("html/"+id, want, got)
		}
	}
	for tag, want := range sorted(e.Elements) {
		if got := c.page.Count(tag); got != want {
			c.miss("elements/"+tag, strconv.Itoa(want), strconv.Itoa(got))
		}
	}
	for id, want := range sorted(e.Controls) {
		c.control(id, want)
	}
}

func (c *checker) control(id string, want ControlState) {
	for _, got := range c.s.Controls {
		if got.ID != id {
			continue
		}
		if want.Value != nil && got.Value != *want.Value {
			c.differ("controls/"+id+"/value", *want.Value, got.Value)
		}
		if want.Checked != nil && got.Checked != *want.Checked {
			c.miss("controls/"+id+"/checked", strconv.FormatBool(*want.Checked), strconv.FormatBool(got.Checked))
		}
		return
	}
	c.miss("controls/"+id, "a control", "no control with this id")
}

func (c *checker) display(e *Expect) {
	var html, css string
	if c.s.Display != nil {
		html, css = c.s.Display.HTML, plainCSS(c.s.Display.CSS)
	}
	for _, want := range e.DisplayHas {
		if !strings.Contains(html, want) {
			c.miss("display_has", quote(want), quote(html))
		}
	}
	lower := strings.ToLower(html)
	for _, want := range e.DisplayLacks {
		if at := strings.Index(lower, strings.ToLower(want)); at >= 0 {
			c.miss("display_lacks", "no "+quote(want), quoteAt(lower, at))
		}
	}
	for _, p := range e.DisplayLacksMatch {
		if m, ok := p.findFolded(html); ok {
			c.miss("display_lacks_match", "nothing like "+p.String(), quote(m))
		}
	}
	for _, p := range e.CSSHasMatch {
		if _, ok := p.findFolded(css); !ok {
			c.miss("css_has_match", p.String(), quote(css))
		}
	}
	for _, p := range e.CSSLacksMatch {
		if m, ok := p.findFolded(css); ok {
			c.miss("css_lacks_match", "nothing like "+p.String(), quote(m))
		}
	}
	if e.Stable {
		if again := c.page.HTML(); again != html {
			c.differ("stable", html, again)
		}
	}
}

func (c *checker) rounds(e *Expect) {
	c.count("handlers", e.Handlers, len(c.s.Handlers))
	var last cardrun.Round
	if n := len(c.s.Rounds); n > 0 {
		last = c.s.Rounds[n-1]
	}
	c.count("patches", e.Patches, len(last.Patches))
	if e.Discarded != nil && *e.Discarded != last.Discarded {
		c.miss("discarded", strconv.FormatBool(*e.Discarded), strconv.FormatBool(last.Discarded))
	}
	c.count("rounds", e.Rounds, len(c.s.Rounds))
	if e.MaxMS == nil {
		return
	}
	for i, r := range c.s.Rounds {
		if ms := float64(r.Usage.ElapsedUS) / 1000; ms > *e.MaxMS {
			c.miss("max_ms", fmt.Sprintf("at most %g ms", *e.MaxMS), fmt.Sprintf("%.1f ms in round %d", ms, i))
		}
	}
}

func (c *checker) count(key string, want *int, got int) {
	if want != nil && *want != got {
		c.miss(key, strconv.Itoa(*want), strconv.Itoa(got))
	}
}

// differ reports two texts that should be equal, both cut around the place where they part.
func (c *checker) differ(key, want, got string) {
	at := 0
	for at < len(want) && at < len(got) && want[at] == got[at] {
		at++
	}
	c.miss(key, quoteAt(want, at), quoteAt(got, at))
}

// list is what is allowed, as a person would say it.
func list(o OneOf) string { return strings.Join(o, " or ") }

// sorted goes through a map by name, so that equal runs report alike.
func sorted[V any](m map[string]V) func(yield func(string, V) bool) {
	return func(yield func(string, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}
