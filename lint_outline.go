package cardrun

import (
	"strings"

	"golang.org/x/net/html"

	"example.com/cardrun/limits"
	"example.com/cardrun/patches"
	"example.com/cardrun/sanitize"
)

// outline is what a review asks of a card's html: its controls with their labels and places.
type outline struct {
	document *patches.Document
	nodes    []*sanitize.Node
	types    map[string]string // control id → type
	parts    []part            // controls in document order, those without an id included
	ids      []string          // of all elements
	offsets  map[string]int    // id → place of its element in the html
	labels   map[string]bool   // ids that a label is for
	named    map[string]bool   // ids that another element refers to, for its name or description
	outputs  []*sanitize.Node  // elements with an id that show nothing yet
}

// part is one control.
type part struct {
	node     *sanitize.Node
	id, kind string
	offset   int // in the html; -1 where it is not known
	labelled bool
}

func newOutline(k *Checked) *outline {
	o := &outline{
		document: k.Document(), types: map[string]string{}, offsets: map[string]int{}, labels: map[string]bool{}, named: map[string]bool{},
	}
	o.nodes = o.document.Nodes()
	for _, c := range o.document.Controls() {
		o.types[c.ID] = c.Type
	}
	controls := o.places(k.Card.HTML)
	for _, n := range o.nodes {
		o.note(n)
	}
	for _, n := range o.nodes {
		o.visit(n, false, &controls)
	}
	return o
}

// places reads the source for where its elements stand, and gives the offsets of controls in order.
func (o *outline) places(source string) (controls []int) {
	z := html.NewTokenizer(strings.NewReader(source))
	at := 0
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return controls
		}
		if kind == html.StartTagToken || kind == html.SelfClosingTagToken {
			name, more := z.TagName()
			switch string(name) {
			case "input", "select", "textarea", "button":
				controls = append(controls, at)
			}
			for more {
				var key, value []byte
				key, value, more = z.TagAttr()
				if string(key) == "id" {
					if _, twice := o.offsets[string(value)]; !twice {
						o.offsets[string(value)] = at
					}
				}
			}
		}
		at += len(z.Raw())
	}
}

// note gathers ids and what refers to them.
func (o *outline) note(n *sanitize.Node) {
	if id, ok := n.AttrValue("id"); ok {
		o.ids = append(o.ids, id)
	}
	if id, ok := n.AttrValue("for"); ok && n.Tag == "label" && hasText(n) {
		o.labels[id] = true
	}
	for _, a := range []string{"aria-labelledby", "aria-describedby", "aria-controls", "headers"} {
		list, _ := n.AttrValue(a)
		for _, id := range strings.Fields(list) {
			o.named[id] = true
		}
	}
	for _, c := range n.Children {
		o.note(c)
	}
}

// visit gathers controls and outputs; labelled tells that a label is around the node.
func (o *outline) visit(n *sanitize.Node, labelled bool, controls *[]int) {
	if n.Tag == "" {
		return
	}
	id, _ := n.AttrValue("id")
	labelled = labelled || n.Tag == "label" && hasText(n)
	if sanitize.IsControl(n) {
		p := part{node: n, id: id, kind: n.Tag, offset: -1}
		if len(*controls) > 0 {
			p.offset, *controls = (*controls)[0], (*controls)[1:]
		}
		if p.kind == "input" {
			if p.kind, _ = n.AttrValue("type"); p.kind == "" {
				p.kind = "text"
			}
			p.kind = strings.ToLower(p.kind)
		}
		p.labelled = labelled || id != "" && o.labels[id] || named(n) || n.Tag == "button" && hasText(n)
		o.parts = append(o.parts, p)
	} else if id != "" && !n.SVG && empty(n) {
		o.outputs = append(o.outputs, n)
	}
	for _, c := range n.Children {
		o.visit(c, labelled, controls)
	}
}

// named tells that an element has a name of its own.
func named(n *sanitize.Node) bool {
	for _, a := range []string{"aria-label", "aria-labelledby", "title"} {
		if v, _ := n.AttrValue(a); strings.TrimSpace(v) != "" {
			return true
		}
	}
	return false
}

// hasText tells that an element has text, or something with a name in it.
func hasText(n *sanitize.Node) bool {
	if n.Tag == "" {
		return strings.TrimSpace(n.Text) != ""
	}
	if named(n) {
		return true
	}
	for _, c := range n.Children {
		if c.Tag != "select" && c.Tag != "textarea" && hasText(c) {
			return true
		}
	}
	return false
}

// empty tells of an element that is made to be filled: one that holds text, and has none.
func empty(n *sanitize.Node) bool {
	switch n.Tag {
	case "p", "div", "span", "output", "td", "th", "li", "ul", "ol", "dl", "dd", "dt", "strong", "em", "b", "i", "h1", "h2", "h3", "h4",
		"h5", "h6", "section", "article", "figure", "figcaption", "pre", "code", "samp", "mark", "small", "tbody", "table", "caption":
	default:
		return false
	}
	return len(n.Children) == 0 || !hasText(n) && !contains(n)
}

// contains tells that an element has others in it.
func contains(n *sanitize.Node) bool {
	for _, c := range n.Children {
		if c.Tag != "" {
			return true
		}
	}
	return false
}

// place is where an element with an id stands in the html, or -1.
func (o *outline) place(id string) int {
	if at, ok := o.offsets[id]; ok {
		return at
	}
	return -1
}

// nearest is an id of the html that differs from one in a letter or two, or in case alone.
func (o *outline) nearest(id string) string {
	best, least := "", 3
	for _, have := range o.ids {
		d := distance(strings.ToLower(id), strings.ToLower(have))
		if d < least && d <= max(1, len(id)/3) {
			best, least = have, d
		}
	}
	return best
}

// distance counts the letters to change, add or leave out, up to the lengths of ids.
func distance(a, b string) int {
	if len(a) > limits.IDLength || len(b) > limits.IDLength {
		return limits.IDLength
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
