package sanitize

import (
	"strings"
	"testing"
	"time"

	"example.com/cardrun/limits"
)

func FuzzHTML(f *testing.F) {
	for _, c := range mutations {
		f.Add(c.in)
	}
	for _, s := range []string{
		`<section><h2>Plan</h2><label for="a">A</label><input id="a" type="range" min="1" max="20" value="4" checked></section>`,
		`<table><caption>c</caption><tr><td>1<td>2<tfoot><tr><th scope=row>x</table>`,
		`<svg viewbox="0 0 9 9"><g><path d="M0 0"/><text x=1>a<tspan>b</tspan></text><title>t</title></g></svg>`,
		`<select id=s><optgroup label=g><option selected>a<option value=b>b</optgroup><hr></select><textarea>` + "\n\nx</textarea><pre>\n\ny</pre>",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		h, err := Fragment(in)
		if err != nil {
			if limits.CodeOf(err) != limits.InvalidPatch {
				t.Fatalf("Fragment(%q): %v", in, err)
			}
		} else {
			out := h.String()
			expectSafe(t, in, out)
			again, err := Fragment(out)
			if err != nil || again.String() != out {
				t.Fatalf("Fragment(%q) = %q, and of that %q, %v", in, out, again, err)
			}
			if err := Check(h.Nodes()); err != nil {
				t.Fatalf("Check(%q): %v", out, err)
			}
			expectLinked(t, h.nodes, nil)
			if _, found := Card(out); hasError(found) && !strings.Contains(out, "name=") {
				t.Fatalf("Fragment(%q) = %q, and Card finds %v", in, out, found)
			}
		}
		expectLinear(t, in, func(s string) { _, _ = Fragment(s) })
		card, found := Card(in)
		if len(found) > maxDiagnostics+1 {
			t.Fatalf("Card(%q) finds %d", in, len(found))
		}
		if hasError(found) {
			if len(card.nodes) > 0 {
				t.Fatalf("Card(%q) is rejected and yet shows %q", in, card)
			}
			return
		}
		if err != nil {
			t.Fatalf("Card(%q) finds no error, but Fragment says %v", in, err)
		}
		if card.String() != h.String() {
			t.Fatalf("Card(%q) = %q, Fragment gives %q", in, card, h)
		}
		again, found := Card(card.String())
		if again.String() != card.String() {
			t.Fatalf("Card(%q) = %q, and of that %q %v", in, card, again, found)
		}
		for _, d := range found {
			if d.Code != limits.ReferenceMissing {
				t.Fatalf("Card(%q) = %q, of which Card finds %v", in, card, found)
			}
		}
	})
}

// expectLinear holds the time of twice the text against that of the text. A text over the limits of a document ends early, so
// only growth is looked at. The best of some runs counts, since machines stall.
func expectLinear(t *testing.T, in string, run func(string)) {
	t.Helper()
	if len(in) < 256 || len(in) > 8_000 {
		return
	}
	best := func(s string) time.Duration {
		least := time.Hour
		for range 3 {
			start := time.Now()
			run(s)
			least = min(least, time.Since(start))
		}
		return least
	}
	const noise = 20 * time.Millisecond
	for range 5 {
		if best(in+in) <= 6*best(in)+noise {
			return
		}
	}
	t.Fatalf("twice the text takes more than six times as long: %q", in)
}

func hasError(found []limits.Diagnostic) bool {
	for _, d := range found {
		if d.Severity == limits.SeverityError {
			return true
		}
	}
	return false
}

// expectLinked checks the parent links and that text nodes are neither empty nor neighbours.
func expectLinked(t *testing.T, list []*Node, parent *Node) {
	t.Helper()
	for i, n := range list {
		if n.Parent != parent {
			t.Fatalf("wrong parent of %+v", n)
		}
		if n.Tag == "" && (n.Text == "" || len(n.Children) > 0 || i > 0 && list[i-1].Tag == "") {
			t.Fatalf("odd text node %+v", n)
		}
		expectLinked(t, n.Children, n)
	}
}

func FuzzCSS(f *testing.F) {
	for _, c := range styles {
		f.Add(c.in)
	}
	for _, c := range badStyles {
		f.Add(c.in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		expectLinear(t, in, func(s string) { sheet, _ := CSS(s); _ = sheet.Scoped(".card") })
		s, found := CSS(in)
		if len(found) > maxDiagnostics+1 {
			t.Fatalf("CSS(%q) finds %d", in, len(found))
		}
		if hasError(found) {
			if s.String() != "" || s.Scoped(".card") != "" {
				t.Fatalf("CSS(%q) is rejected and yet gives %q", in, s)
			}
			return
		}
		expectTame(t, in, s.String())
		expectRead(t, in, s.String())
		again, found := CSS(s.String())
		if len(found) > 0 || again.String() != s.String() {
			t.Fatalf("CSS(%q) = %q, and of that %q %v", in, s, again, found)
		}
		scoped := s.Scoped(".card")
		expectTame(t, in, scoped)
		expectConfined(t, in, scoped)
	})
}
