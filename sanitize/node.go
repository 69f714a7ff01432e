package sanitize

// Node is one node of a safe tree: an element, or a text node (Tag is empty). There are no comments, doctypes or other
// kinds. Children and Parent are kept consistent by whoever changes a tree.
type Node struct {
	// Tag is the element's local name as a serializer writes it ("p", "polyline"); empty for a text node.
	Tag string
	// SVG tells that the element is in the SVG namespace.
	SVG bool
	// Attr holds the element's attributes in source order, names unique, SVG ones in their own case ("viewBox").
	Attr []Attr
	// Text is a text node's data, entities resolved.
	Text string
	// Parent is nil for a top-level node of a fragment.
	Parent   *Node
	Children []*Node
}

// Attr is one attribute of an element, entities resolved.
type Attr struct{ Name, Value string }

// HTML is a fragment of body-level HTML that passed the whitelist. Only this package can make one that is not empty;
// the zero value is the empty fragment. It is immutable and may be shared between goroutines.
type HTML struct {
	nodes []*Node
}

// Nodes returns a fresh deep copy of the fragment's top-level nodes, which the caller may change. Parent links are set;
// a top-level node has none.
func (h HTML) Nodes() []*Node { return copyNodes(h.nodes, nil) }

// String is the fragment as HTML text (WHATWG HTML section 13.3), as [AppendHTML] writes it. Parsing it again as body
// content gives the same tree.
func (h HTML) String() string { return string(appendNodes(nil, h.nodes)) }

// AttrValue returns the value of the attribute with exactly that name, and whether it is there.
func (n *Node) AttrValue(name string) (string, bool) {
	for i := range n.Attr {
		if n.Attr[i].Name == name {
			return n.Attr[i].Value, true
		}
	}
	return "", false
}

// IsControl reports whether n is a control (D9): an HTML input, select, textarea or button. Options are none, nor is
// anything in SVG.
func IsControl(n *Node) bool {
	if n.SVG {
		return false
	}
	switch n.Tag {
	case "input", "select", "textarea", "button":
		return true
	}
	return false
}

// copyNodes copies a list of sibling nodes with all below them. Its depth is that of the tree, which Check bounds.
func copyNodes(list []*Node, parent *Node) []*Node {
	if len(list) == 0 {
		return nil
	}
	block := make([]Node, len(list))
	out := make([]*Node, len(list))
	for i, n := range list {
		c := &block[i]
		c.Tag, c.SVG, c.Text, c.Parent = n.Tag, n.SVG, n.Text, parent
		c.Attr = append([]Attr(nil), n.Attr...)
		c.Children = copyNodes(n.Children, c)
		out[i] = c
	}
	return out
}
