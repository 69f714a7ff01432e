package sanitize

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// tangles are the pieces of documents that are nested in every wrong way: each element that moves others about, that a
// parser reads in another mode, or that is stripped.
var tangles = words(`p div b i a em code nobr font h1 h2 ul li dl dt dd table caption colgroup col thead tbody tfoot tr th td select optgroup
	option hr br input textarea button label form fieldset legend details summary pre listing center marquee object template title style
	script noscript xmp iframe math mi mtext mglyph annotation-xml svg g path text desc foreignObject ruby rt rp body html head frameset
	x-y span section image plaintext`)

// However formatting elements are tangled, the parser builds no more than was counted before.
func TestMostNodes(t *testing.T) {
	piece := rapid.Custom(func(r *rapid.T) string {
		names := words("b i em s tt u a nobr font span mark sub p div li table tr td caption select option svg g desc foreignObject math mi annotation-xml button h1 template")
		name := rapid.SampledFrom(names).Draw(r, "name")
		switch rapid.IntRange(0, 9).Draw(r, "kind") {
		case 0, 1, 2:
			name = rapid.SampledFrom(names[:12]).Draw(r, "formatting")
			return fmt.Sprintf("<%s class=%d>", name, rapid.IntRange(0, 999).Draw(r, "class"))
		case 3, 4:
			return "<" + name + ">"
		case 5, 6, 7:
			return "</" + name + ">"
		case 8:
			return "<" + name + "/>"
		}
		return rapid.SampledFrom([]string{"x", " ", "<br>", "</br>", "</p>x", "<p>"}).Draw(r, "text")
	})
	rapid.Check(t, func(r *rapid.T) {
		in := strings.Join(rapid.SliceOfN(piece, 1, 200).Draw(r, "pieces"), "")
		parsed, err := parseBody(in)
		if err != nil {
			return
		}
		built := 0
		for _, top := range parsed {
			built++
			for range top.Descendants() {
				built++
			}
		}
		// Beside what is counted, implied parts of tables come in, at most three for a tag, and what the adoption agency copies.
		if most := mostNodes(in) + 3*strings.Count(in, "<") + 4*strings.Count(in, "</"); built > most {
			r.Fatalf("%q: %d nodes, at most %d were counted", in, built, most)
		}
	})
}

// Whatever is tangled into whatever, the result is safe and stays as it is.
func TestTangles(t *testing.T) {
	piece := rapid.Custom(func(r *rapid.T) string {
		name := rapid.SampledFrom(tangles).Draw(r, "name")
		switch rapid.IntRange(0, 9).Draw(r, "kind") {
		case 0, 1, 2, 3:
			return "<" + name + ">"
		case 4, 5, 6:
			return "</" + name + ">"
		case 7:
			return "<" + name + " class='</" + rapid.SampledFrom(tangles).Draw(r, "other") + "><img src onerror=x>'>"
		case 8:
			return "<" + name + "/>"
		}
		return rapid.SampledFrom([]string{"x", " ", "\n", "&lt;img&gt;", "<!--", "-->", "<![CDATA[", "]]>"}).Draw(r, "text")
	})
	unsettled := 0
	rapid.Check(t, func(r *rapid.T) {
		in := strings.Join(rapid.SliceOfN(piece, 1, 40).Draw(r, "pieces"), "")
		h, err := Fragment(in)
		if err != nil {
			if strings.Contains(err.Error(), unsettledText) {
				unsettled++
			}
			return
		}
		out := h.String()
		expectSafe(t, in, out)
		if again, err := Fragment(out); err != nil || again.String() != out {
			r.Fatalf("Fragment(%q) = %q, and of that %q, %v", in, out, again, err)
		}
		if card, found := Card(in); !hasError(found) && card.String() != out {
			r.Fatalf("Card(%q) = %q, and Fragment %q", in, card, out)
		}
	})
	t.Logf("%d documents do not settle", unsettled)
}
