package sanitize

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// expectSafe is the oracle of all HTML tests: parsing out again, as a fragment and inside a whole page, finds only what
// the tables list, and writing what was found gives out. It shares no code with the builder but the tables.
func expectSafe(t *testing.T, in, out string) {
	t.Helper()
	for _, scripting := range []bool{true, false} {
		body := &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body}
		nodes, err := html.ParseFragmentWithOptions(strings.NewReader(out), body, html.ParseOptionEnableScripting(scripting))
		if err != nil {
			t.Fatalf("sanitizing %q gives %q, which does not parse: %v", in, out, err)
		}
		expectSame(t, in, out, nodes)
		page, err := html.ParseWithOptions(strings.NewReader("<!DOCTYPE html><html><body>"+out), html.ParseOptionEnableScripting(scripting))
		if err != nil {
			t.Fatalf("sanitizing %q gives %q, which does not parse in a page: %v", in, out, err)
		}
		var inBody []*html.Node
		for n := range page.Descendants() {
			if n.DataAtom == atom.Body && n.Namespace == "" {
				for c := range n.ChildNodes() {
					inBody = append(inBody, c)
				}
				break
			}
		}
		expectSame(t, in, out, inBody)
	}
	// The text of the output never holds these, whatever a parser makes of it.
	lower := strings.ToLower(out)
	for _, bad := range []string{"<script", "</script", "<style", "</style", "<iframe", "<object", "<embed", "<img", "<link", "<meta", "<base",
		"<form", "<math", "<a ", "<a>", "<foreignobject", "<!--", "-->", "<![cdata", "<template", "<noscript", "<title"} {
		if strings.Contains(lower, bad) && !(bad == "<title" && strings.Contains(lower, "<svg")) {
			t.Fatalf("sanitizing %q gives %q, which holds %s", in, out, bad)
		}
	}
}

func expectSame(t *testing.T, in, out string, nodes []*html.Node) {
	t.Helper()
	var found []*Node
	for _, n := range nodes {
		found = append(found, expectListed(t, in, out, n, false))
	}
	if again := string(appendNodes(nil, found)); again != out {
		t.Fatalf("sanitizing %q gives\n%q, which parses as\n%q", in, out, again)
	}
}

// expectListed copies a parsed tree without leaving anything out, and fails where something is not listed.
func expectListed(t *testing.T, in, out string, n *html.Node, inSVG bool) *Node {
	t.Helper()
	if n.Type == html.TextNode {
		return &Node{Text: n.Data}
	}
	fail := func(what string) { t.Helper(); t.Fatalf("sanitizing %q gives %q, in which there is %s", in, out, what) }
	if n.Type != html.ElementNode {
		fail("a comment or doctype")
	}
	svg := n.Namespace == "svg"
	switch {
	case n.Namespace != "" && !svg, !svg && !htmlElements[n.Data], svg && !svgElements[n.Data]:
		fail("<" + n.Data + ">")
	case svg && !inSVG && n.Data != "svg", !svg && inSVG:
		fail("<" + n.Data + "> in the wrong place")
	}
	e := &Node{Tag: n.Data, SVG: svg}
	for _, a := range n.Attr {
		if a.Namespace != "" || formOf(n.Data, svg, a.Key) == formNone {
			fail(a.Key + " on <" + n.Data + ">")
		}
		lower := strings.ToLower(a.Key)
		if strings.HasPrefix(lower, "on") || strings.Contains(lower, "href") || strings.Contains(lower, "src") || lower == "style" || lower == "action" {
			fail(a.Key + " on <" + n.Data + ">")
		}
		e.Attr = append(e.Attr, Attr{a.Key, a.Val})
	}
	for c := range n.ChildNodes() {
		e.Children = append(e.Children, expectListed(t, in, out, c, svg))
	}
	return e
}
