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
// the zero value is the empty fragment.
type HTML struct {
	nodes []*Node
}
