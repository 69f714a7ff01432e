//go:build browser

package conformance_test

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"example.com/cardrun/patches"
	"example.com/cardrun/sanitize"
)

// A state is what the browser says of a card: testdata/browser.js makes it.
type state struct {
	// Tree is one line a node, indented by depth: <tag name="value"> or a text, both with JSON's strings; names of SVG
	// begin with svg and a space.
	Tree     string            `json:"tree"`
	Controls []patches.Control `json:"controls"`
	// Texts are the text contents of the elements with an id.
	Texts map[string]string `json:"texts"`
	// Used are the differences from a DOM that mattered: svg, textarea, select, void, nul.
	Used []string `json:"used"`
}

// A report is what the browser says of a page that shows a card.
type report struct {
	Tree     string            `json:"tree"`
	Controls []patches.Control `json:"controls"`
	Texts    map[string]string `json:"texts"`
	Used     []string          `json:"used"`
	// HTML is the card serialized, Around the page without what is in the card and in styles.
	HTML   string `json:"html"`
	Around string `json:"around"`
	// Ran are the canaries that sang, Violations what the page's policy kept from happening.
	Ran        []string `json:"ran"`
	Violations []string `json:"violations"`
}

// treeOf writes our own tree as the browser's is written.
func treeOf(nodes []*sanitize.Node) string {
	var b strings.Builder
	writeTree(&b, nodes, 0)
	return strings.TrimSuffix(b.String(), "\n")
}

func writeTree(b *strings.Builder, nodes []*sanitize.Node, depth int) {
	for i := 0; i < len(nodes); i++ {
		n := nodes[i]
		if n.Tag == "" {
			text := n.Text
			for i+1 < len(nodes) && nodes[i+1].Tag == "" {
				i++
				text += nodes[i].Text
			}
			if text != "" {
				b.WriteString(strings.Repeat(" ", depth) + quoted(text) + "\n")
			}
			continue
		}
		b.WriteString(strings.Repeat(" ", depth) + "<")
		if n.SVG {
			b.WriteString("svg ")
		}
		b.WriteString(n.Tag)
		for _, a := range n.Attr {
			b.WriteString(" " + a.Name + "=" + quoted(a.Value))
		}
		b.WriteString(">\n")
		writeTree(b, n.Children, depth+1)
	}
}

// quoted is a string as JSON.stringify writes it.
func quoted(s string) string {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		panic(err) // the strings of a tree are valid
	}
	return string(b)
}

// browserHTML is what a browser's innerHTML gives for a tree: the serialization of WHATWG HTML section 13.3, which is ours
// but for two things that ours adds so that the text means the same when it is parsed again: a second newline at the
// start of pre and textarea, and &#13; for a carriage return.
func browserHTML(nodes []*sanitize.Node) string {
	var b strings.Builder
	writeHTML(&b, nodes)
	return b.String()
}

func writeHTML(b *strings.Builder, nodes []*sanitize.Node) {
	for _, n := range nodes {
		if n.Tag == "" {
			b.WriteString(browserText.Replace(n.Text))
			continue
		}
		b.WriteString("<" + n.Tag)
		for _, a := range n.Attr {
			b.WriteString(" " + a.Name + `="` + browserAttribute.Replace(a.Value) + `"`)
		}
		b.WriteString(">")
		if !n.SVG {
			switch n.Tag {
			case "br", "hr", "wbr", "col", "input":
				continue
			}
		}
		writeHTML(b, n.Children)
		b.WriteString("</" + n.Tag + ">")
	}
}

var (
	browserText      = strings.NewReplacer("&", "&amp;", "\u00a0", "&nbsp;", "<", "&lt;", ">", "&gt;")
	browserAttribute = strings.NewReplacer("&", "&amp;", "\u00a0", "&nbsp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")
)
