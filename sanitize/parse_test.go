package sanitize

import (
	"fmt"
	"strings"
	"testing"

	"example.com/cardrun/limits"
)

// Unclosed formatting elements are opened again in each block: about a thousand characters make 3,782 elements.
func TestMultiplicationR22(t *testing.T) {
	var b strings.Builder
	b.WriteString("<p>")
	for i := range 61 {
		fmt.Fprintf(&b, "<b class=%d>", i)
	}
	for range 60 {
		b.WriteString("<p>x")
	}
	if parsed, err := parseBody(b.String()); err != nil || len(parsed) != 61 || grows(b.String()) {
		t.Fatalf("%d, %v", len(parsed), err)
	}
	expectInvalid(t, b.String(), "2048 or more elements")
	if _, found := Card(b.String()); len(found) == 0 || found[0].Code != limits.TooManyElements {
		t.Errorf("%v", found)
	}
	// What would make millions is refused before it is parsed, however it hides that it is open.
	for _, c := range []struct{ open, block string }{
		{"<b class=%d>", "<p>"}, {"<i class=%d><p>", "<p>"}, {"<b class=%d>", "<p></b><b>"},
		{"<u class=%d>", "<table><td></u></table>x"}, {"<table><td><i class=%d></b>", "<p>"}, {"<a class=%d><b class=%[1]d>", "<p>"},
		{"<b class=%d><p><p><div><div><div><div><div><div><div><div></b>", "<p>"},
	} {
		b.Reset()
		for i := range 450 {
			fmt.Fprintf(&b, c.open, i)
		}
		for b.Len() < 60_000 {
			b.WriteString(c.block)
		}
		if !grows(b.String()) {
			if _, err := parseBody(b.String()); err == nil {
				t.Errorf("%q is parsed", limits.Cut(b.String(), 80))
			}
		}
		expectInvalid(t, b.String(), "")
	}
	// A long plain document is no such thing.
	if plain := strings.Repeat("<p><b>a</b><table><tr><td><i>x</i></table>", 1000); grows(plain) {
		t.Error("a plain document is refused")
	}
}

// What is refused says what is the matter: the number, the depth, or what is left open.
func TestReasonsR22(t *testing.T) {
	distinct := func(n int, open, shut string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, open, i)
		}
		return b.String() + strings.Repeat(shut, n)
	}
	const deep, many, again = "nested more than 500 deep", "there are 600 elements, the limit is 512", "opens them again in every block"
	for _, c := range []struct{ in, want string }{
		{strings.Repeat("<b>", 600), deep},
		{strings.Repeat("x<b>", 600), deep},
		{strings.Repeat("<b>", 600) + "x" + strings.Repeat("</b>", 600), deep},
		{distinct(600, "x<b class=%d>", "y</b>"), deep},
		{strings.Repeat("<span><i>", 300), deep},
		{distinct(200, "<b class=%d><i><span>x<br>", "</span></i></b>"), deep},
		{strings.Repeat("<b>x</b>", 600), many},
		{strings.Repeat("<b></b>", 600), many},
		{strings.Repeat("<i><b></b></i>", 300), many},
		{strings.Repeat("<p>", 600), many},
		{distinct(600, "<p><b class=%d>", ""), again},
		{distinct(600, "<b class=%d><p>", ""), again},
	} {
		expectInvalid(t, c.in, c.want)
		_, found := Card(c.in)
		if len(found) != 1 || found[0].Code != limits.TooManyElements || !strings.Contains(found[0].Message, c.want) {
			t.Errorf("Card(%q) finds %v, want %q", limits.Cut(c.in, 40), found, c.want)
		}
	}
	// What is only nested, as deep as may be, is neither.
	for _, in := range []string{
		distinct(450, `x<b class="%d">`, "y</b>"),
		distinct(200, `<b class="%d">`, "") + strings.Repeat("<br>x", 300) + strings.Repeat("</b>", 200),
	} {
		expectFragment(t, in, in)
	}
}
