package patches

import "example.com/cardrun/sanitize"

// ref is the place of a node in a document's list. 0 is the root, which is no one's child and no one's sibling, so as a
// link it says "none".
type ref = int32

// kind is what a node is, as far as the rules of values are concerned.
type kind uint8

const (
	kindRoot kind = iota
	kindString
	kindElement
	kindText // from here on: controls
	kindNumber
	kindRange
	kindCheckbox
	kindRadio
	kindSelect
	kindTextarea
	kindButton
	kindOption // no control (D9)
	kindOptgroup
)

func (k kind) control() bool { return k >= kindText && k <= kindButton }

// flags are what a node remembers beside its markup.
type flags uint8

const (
	flagSVG      flags = 1 << iota // the element is in the SVG namespace
	flagChecked                    // checkedness of a checkbox or radio
	flagSelected                   // selectedness of an option
	flagDirty                      // dirty value flag of a textarea: its text no longer sets its value
)

// A node is one element or text of a document. Nodes lie in one list and refer to one another by place, so that a working
// copy is one copy of that list. What attr points to is shared between copies and never written to.
type node struct {
	tag string
	// data is the text of a text node, and the current value of a control whose value is not read from elsewhere: text,
	// number, range and textarea.
	data string
	attr []sanitize.Attr

	parent, first, last, prev, next ref

	kind  kind
	flags flags
}

func (n *node) has(f flags) bool { return n.flags&f != 0 }

func (n *node) set(f flags, on bool) {
	if on {
		n.flags |= f
	} else {
		n.flags &^= f
	}
}

func (n *node) attribute(name string) (string, bool) {
	for i := range n.attr {
		if n.attr[i].Name == name {
			return n.attr[i].Value, true
		}
	}
	return "", false
}

func (n *node) hasAttribute(name string) bool {
	_, ok := n.attribute(name)
	return ok
}

// setAttribute gives n a list of attributes of its own, since the old one may be shared.
func (n *node) setAttribute(name, value string) {
	n.attr = withAttribute(n.attr, name, value)
}

// withAttribute is a copy of list in which name has the value.
func withAttribute(list []sanitize.Attr, name, value string) []sanitize.Attr {
	out := make([]sanitize.Attr, len(list), len(list)+1)
	copy(out, list)
	for i := range out {
		if out[i].Name == name {
			out[i].Value = value
			return out
		}
	}
	return append(out, sanitize.Attr{Name: name, Value: value})
}

// withoutAttribute is list itself if name is not in it, or a copy without it.
func withoutAttribute(list []sanitize.Attr, name string) []sanitize.Attr {
	for i := range list {
		if list[i].Name == name {
			out := make([]sanitize.Attr, 0, len(list)-1)
			out = append(out, list[:i]...)
			return append(out, list[i+1:]...)
		}
	}
	return list
}

// kindOf classifies an element. An input without a type is a text input; sanitize lets no others than the five through.
func kindOf(n *sanitize.Node) kind {
	if n.SVG {
		return kindElement
	}
	switch n.Tag {
	case "":
		return kindString
	case "input":
		switch t, _ := n.AttrValue("type"); t {
		case "number":
			return kindNumber
		case "range":
			return kindRange
		case "checkbox":
			return kindCheckbox
		case "radio":
			return kindRadio
		}
		return kindText
	case "select":
		return kindSelect
	case "textarea":
		return kindTextarea
	case "button":
		return kindButton
	case "option":
		return kindOption
	case "optgroup":
		return kindOptgroup
	}
	return kindElement
}

// isVoid tells the elements that hold no children (WHATWG HTML section 13.1.2), of those that sanitize lets through.
func isVoid(n *node) bool {
	if n.has(flagSVG) {
		return false
	}
	switch n.tag {
	case "br", "hr", "wbr", "col", "input":
		return true
	}
	return false
}

// after is the node after n in document order within the tree under root, or 0.
func (d *Document) after(n, root ref) ref {
	if c := d.nodes[n].first; c != 0 {
		return c
	}
	return d.past(n, root)
}

// past is the node after n and all below it, within the tree under root, or 0.
func (d *Document) past(n, root ref) ref {
	for n != root {
		if s := d.nodes[n].next; s != 0 {
			return s
		}
		n = d.nodes[n].parent
	}
	return 0
}

// add makes n the last child of parent and returns its place.
func (d *Document) add(parent ref, n node) ref {
	at := ref(len(d.nodes))
	n.parent, n.prev = parent, d.nodes[parent].last
	d.nodes = append(d.nodes, n)
	p := &d.nodes[parent]
	if p.last == 0 {
		p.first = at
	} else {
		d.nodes[p.last].next = at
	}
	p.last = at
	return at
}

// clear takes all children away from n. Their places stay unused until [Document.compact].
func (d *Document) clear(n ref) { d.nodes[n].first, d.nodes[n].last = 0, 0 }

// compact rewrites the list in document order without what is no longer in the tree. All places change.
func (d *Document) compact() {
	nodes := make([]node, 1, len(d.nodes))
	nodes[0] = node{kind: kindRoot}
	moved := Document{nodes: nodes}
	// into is where the children of the node that at stands under have to go.
	into := ref(0)
	for at := d.nodes[0].first; at != 0; {
		n := d.nodes[at]
		first := n.first
		n.first, n.last, n.next = 0, 0, 0
		place := moved.add(into, n)
		if first != 0 {
			at, into = first, place
			continue
		}
		for at != 0 && d.nodes[at].next == 0 {
			at = d.nodes[at].parent
			if at != 0 {
				into = moved.nodes[into].parent
			}
		}
		if at != 0 {
			at = d.nodes[at].next
		}
	}
	d.nodes = moved.nodes
}

// parentTag is the tag of n's parent, empty at the top.
func (d *Document) parentTag(n ref) string { return d.nodes[d.nodes[n].parent].tag }

// ancestor is the nearest of n and its ancestors that is of kind k, or 0.
func (d *Document) ancestor(n ref, k kind) ref {
	for ; n != 0; n = d.nodes[n].parent {
		if d.nodes[n].kind == k {
			return n
		}
	}
	return 0
}

// textContent is the text of all text nodes in and below n (DOM, textContent).
func (d *Document) textContent(n ref) string {
	only := ""
	var many []byte
	count := 0
	for at := d.after(n, n); at != 0; at = d.after(at, n) {
		if d.nodes[at].kind != kindString {
			continue
		}
		switch count {
		case 0:
			only = d.nodes[at].data
		case 1:
			many = append(append(many, only...), d.nodes[at].data...)
		default:
			many = append(many, d.nodes[at].data...)
		}
		count++
	}
	if count > 1 {
		return string(many)
	}
	return only
}

// childText is the text of n's own text nodes (DOM, child text content).
func (d *Document) childText(n ref) string {
	s := ""
	for c := d.nodes[n].first; c != 0; c = d.nodes[c].next {
		if d.nodes[c].kind == kindString {
			s += d.nodes[c].data
		}
	}
	return s
}
