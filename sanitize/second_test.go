package sanitize

import (
	"strings"
	"testing"

	"github.com/microcosm-cc/bluemonday"
	"golang.org/x/net/html"
)

// secondPolicy is the whitelist as a policy of bluemonday, which shares no code with this package but the parser's
// tokenizer. It works on tokens, knows no namespaces and lowers attribute names, so it proves less; but what it would
// still take away, this package should not have let through.
func secondPolicy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	for _, elements := range []map[string]bool{htmlElements, svgElements} {
		for name := range elements {
			p.AllowElements(name)
			p.AllowNoAttrs().OnElements(name)
		}
	}
	for name := range globalAttributes {
		p.AllowAttrs(name).Globally()
	}
	for tag, attrs := range elementAttributes {
		for name := range attrs {
			p.AllowAttrs(name).OnElements(tag)
		}
	}
	for name := range svgAttributes {
		for tag := range svgElements {
			p.AllowAttrs(strings.ToLower(name)).OnElements(tag)
		}
	}
	return p
}

// outline writes a parsed tree in a form that hides the habits of bluemonday: names in lower case, no namespaces.
func outline(t *testing.T, s string) string {
	t.Helper()
	nodes, err := parseBody(s)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			b.WriteString("\"" + n.Data + "\"")
			return
		}
		b.WriteString("(" + strings.ToLower(n.Data))
		for _, a := range n.Attr {
			b.WriteString(" " + strings.ToLower(a.Key) + "=" + a.Val)
		}
		for c := range n.ChildNodes() {
			walk(c)
		}
		b.WriteString(")")
	}
	for _, n := range nodes {
		walk(n)
	}
	return b.String()
}

func TestSecondSanitizer(t *testing.T) {
	policy := secondPolicy()
	inputs := []string{cardLike(12_000)}
	for _, c := range mutations {
		inputs = append(inputs, c.in)
	}
	for _, c := range sharedCards(t) {
		inputs = append(inputs, c.html)
	}
	t.Logf("attacks: %d", len(inputs))
	for _, in := range inputs {
		h, err := Fragment(in)
		if err != nil {
			continue
		}
		out := h.String()
		again := policy.Sanitize(out)
		if got, want := outline(t, again), outline(t, out); got != want {
			t.Errorf("of %q, bluemonday makes\n%q\nout of\n%q", in, got, want)
		}
	}
}
