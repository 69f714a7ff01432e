package sanitize

import (
	"fmt"
	"strings"

	"golang.org/x/net/html"

	"example.com/cardrun/limits"
)

// A builder makes a safe tree by one walk over a parsed one. It copies what the tables list and nothing else: a parsed
// node never becomes part of the result. Its depth is that of the parsed tree, which the parser keeps below 512.
type builder struct {
	// card: collect everything there is to say. Otherwise only what fails a fragment is collected (D6).
	card bool
	// changed tells that something was left out, so that the text of the result means less than what was parsed.
	changed bool
	// elements counts what was built; at maxBuilt the walk ends and full is set.
	elements int
	full     bool
	faults   []fault
	nodes    []Node // not yet given out
	attrs    []Attr
	// from remembers which parsed element a node was made of, where positions are wanted.
	from map[*Node]*html.Node
}

// maxBuilt is how many elements are built at most. A tree over it is over limits.Elements whatever becomes of it, and is not
// worth the time of writing and parsing it again.
const maxBuilt = 4 * limits.Elements

// A fault is one finding, at an element of the parsed tree and there at an attribute, if attr is not empty.
type fault struct {
	severity limits.Severity
	code     limits.Code
	at       *html.Node
	attr     string
	message  string
}

// build makes the safe tree of a parsed fragment.
func (b *builder) build(parsed []*html.Node) []*Node {
	var out []*Node
	for _, n := range parsed {
		out = b.node(out, n, nil, roomFlow)
	}
	return out
}

// children appends what n's children become to parent's.
func (b *builder) children(out []*Node, n *html.Node, parent *Node, r room) []*Node {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		out = b.node(out, c, parent, r)
	}
	return out
}

// node appends what n becomes (nothing, itself, or its children) to out, the children of parent so far.
func (b *builder) node(out []*Node, n *html.Node, parent *Node, r room) []*Node {
	if b.full {
		return out
	}
	switch n.Type {
	case html.TextNode:
		return b.text(out, n.Data, parent, r)
	case html.ElementNode:
		return b.element(out, n, parent, r)
	}
	return out // comments and doctypes, silently
}

func (b *builder) text(out []*Node, text string, parent *Node, r room) []*Node {
	text = plain(text)
	if text == "" {
		return out
	}
	if !r.holds(text) {
		b.changed = true
		return out
	}
	if len(out) > 0 && out[len(out)-1].Tag == "" {
		out[len(out)-1].Text += text
		return out
	}
	e := b.blank()
	e.Text, e.Parent = text, parent
	return append(out, e)
}

func (b *builder) element(out []*Node, n *html.Node, parent *Node, r room) []*Node {
	tag, svg := n.Data, n.Namespace == "svg"
	listed := svg && svgElements[tag] || n.Namespace == "" && htmlElements[tag]
	if !listed {
		return b.unlisted(out, n, parent, r)
	}
	if !r.admits(tag, svg) {
		b.changed = true
		b.refuseAttributes(n)
		b.warn(n, "", limits.ElementDropped, "<%s> is not supported here; %s", tag, placeAdvice(parent, svg))
		if svg || r == roomVoid {
			return out
		}
		return b.children(out, n, parent, r)
	}
	if b.elements == maxBuilt {
		b.full = true
		return out
	}
	b.elements++
	e := b.blank()
	e.Tag, e.SVG, e.Parent = tag, svg, parent
	if b.from != nil {
		b.from[e] = n
	}
	if len(n.Attr) > 0 {
		e.Attr = b.room(len(n.Attr) + 1)
	}
	for _, a := range n.Attr {
		b.attribute(e, n, a)
	}
	if tag == "button" && !svg {
		if _, ok := e.AttrValue("type"); !ok {
			e.Attr = append(e.Attr, Attr{"type", "button"})
		}
	}
	if n.FirstChild != nil {
		count := 0
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			count++
		}
		e.Children = b.children(make([]*Node, 0, count), n, e, roomOf(tag, svg))
		if len(e.Children) == 0 {
			e.Children = nil
		}
	}
	return append(out, e)
}

// blank gives an empty node, and room gives room for attributes; both come from slabs, which spares the collector.
func (b *builder) blank() *Node {
	if len(b.nodes) == 0 {
		b.nodes = make([]Node, slab)
	}
	n := &b.nodes[0]
	b.nodes = b.nodes[1:]
	return n
}

func (b *builder) room(n int) []Attr {
	if len(b.attrs) < n {
		b.attrs = make([]Attr, max(n, slab))
	}
	r := b.attrs[:0:n]
	b.attrs = b.attrs[n:]
	return r
}

// slab is how many nodes or attributes are made at a time: few enough to waste little on a small fragment.
const slab = 32

// placeAdvice says where an element that was not admitted would have been.
func placeAdvice(parent *Node, svg bool) string {
	switch {
	case parent == nil || svg:
		return "write svg shapes inside an <svg>"
	case parent.Tag == "select" || parent.Tag == "optgroup":
		return "inside <" + parent.Tag + "> write <option> elements with plain text"
	}
	return "inside <" + parent.Tag + "> write plain text"
}

// unlisted deals with an element outside the whitelist, by its fate.
func (b *builder) unlisted(out []*Node, n *html.Node, parent *Node, r room) []*Node {
	b.changed = true
	f := fateOf(n.Data, n.Namespace)
	if f.reject {
		b.reject(n, "", limits.ElementForbidden, "<%s>: %s", n.Data, f.why)
	} else {
		b.refuseAttributes(n)
		b.warn(n, "", limits.ElementDropped, "<%s>: %s", limits.Cut(n.Data, 40), f.why)
	}
	if f.content || r == roomVoid {
		return out
	}
	return b.children(out, n, parent, r)
}

func fateOf(tag, namespace string) fate {
	switch namespace {
	case "svg":
		if f, ok := otherSVG[tag]; ok {
			return f
		}
		return unknownSVG
	case "math":
		return otherHTML["math"]
	}
	if f, ok := otherHTML[tag]; ok {
		return f
	}
	return unknownHTML
}

// attribute adds to e what an attribute of n becomes.
func (b *builder) attribute(e *Node, n *html.Node, a html.Attribute) {
	name := fullName(a)
	if b.from != nil && name == mark {
		return
	}
	if e.Tag == "select" && !e.SVG && name == "multiple" {
		b.changed = true
		b.fail(n, name, limits.ControlUnsupported, "<select multiple> is not supported; use a group of checkboxes")
		return
	}
	value := plain(a.Val)
	f := formOf(e.Tag, e.SVG, name)
	if f == formNone {
		b.changed = true
		if !b.refuse(n, a) && b.card {
			b.warn(n, name, limits.AttributeDropped, "attribute %s on <%s> was left out%s", limits.Cut(name, 40), e.Tag, adviceFor(name))
		}
		return
	}
	switch f {
	case formInputType:
		value = asciiLower(value)
		if value == "" { // WHATWG HTML section 4.10.5: the state is text
			return
		}
		if !inputTypes[value] {
			b.changed = true
			b.fail(n, name, limits.ControlUnsupported,
				"input type %q is not supported; use text, number, range, checkbox or radio", limits.Cut(value, 40))
			return
		}
	case formButton:
		value = "button"
	case formSVG:
		if b.refuse(n, a) {
			b.changed = true
			return
		}
	}
	keep, ok, wrong := f.fits(value)
	if ok {
		e.Attr = append(e.Attr, Attr{name, keep})
		return
	}
	b.changed = true
	switch {
	case f == formID, f == formName && (b.card || isRadio(n)):
		// A fragment's bad name loses only itself (D6), but on a radio, whose group it would tear apart.
		b.fail(n, name, limits.IDInvalid, "%s", badIDText(name, value))
	default:
		b.warn(n, name, limits.AttributeDropped, "attribute %s on <%s> must be %s and was left out", name, e.Tag, wrong)
	}
}

func isRadio(n *html.Node) bool {
	for _, a := range n.Attr {
		if a.Key == "type" {
			return n.Data == "input" && asciiLower(a.Val) == "radio"
		}
	}
	return false
}

// refuseAttributes reports the attributes that reject a card on an element that is itself left out.
func (b *builder) refuseAttributes(n *html.Node) {
	if b.card {
		for _, a := range n.Attr {
			b.refuse(n, a)
		}
	}
}

// refuse reports whether an attribute runs or loads something, and so is never kept.
func (b *builder) refuse(n *html.Node, a html.Attribute) bool {
	name := fullName(a)
	switch {
	case isEventHandler(name):
		b.reject(n, name, limits.AttributeForbidden, "event handler %s is not allowed; give the element an id and call ui.on in javascript", limits.Cut(name, 40))
	case urlAttributes[name]:
		b.reject(n, name, limits.AttributeForbidden, "attribute %s is not allowed, since it bears a URL; leave it out", name)
	case n.Namespace == "svg" && name != "style" && !loadsNothing(a.Val):
		b.reject(n, name, limits.AttributeForbidden, "url() and other references in %s are not allowed; use a plain color or number", limits.Cut(name, 40))
	default:
		return false
	}
	return true
}

func fullName(a html.Attribute) string {
	if a.Namespace != "" {
		return a.Namespace + ":" + a.Key
	}
	return a.Key
}

// reject notes what rejects a card and is stripped from a fragment in silence.
func (b *builder) reject(n *html.Node, attr string, code limits.Code, format string, args ...any) {
	if b.card {
		b.faults = append(b.faults, fault{limits.SeverityError, code, n, attr, fmt.Sprintf(format, args...)})
	}
}

// fail notes what rejects a card and makes a fragment invalid.
func (b *builder) fail(n *html.Node, attr string, code limits.Code, format string, args ...any) {
	if b.card || len(b.faults) == 0 {
		b.faults = append(b.faults, fault{limits.SeverityError, code, n, attr, fmt.Sprintf(format, args...)})
	}
}

// warn notes what is left out of a card.
func (b *builder) warn(n *html.Node, attr string, code limits.Code, format string, args ...any) {
	if b.card {
		b.faults = append(b.faults, fault{limits.SeverityWarning, code, n, attr, fmt.Sprintf(format, args...)})
	}
}

// plain gives a text as it survives serializing and parsing: line ends are LF, and there is no NUL.
func plain(s string) string {
	if strings.IndexByte(s, '\r') >= 0 {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	}
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\ufffd")
	}
	return s
}
