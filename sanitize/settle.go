package sanitize

// rounds is how often a tree may be written and parsed again until it stays the same. Taking tags away can move what is
// left (a p in a p, a row without its table); hardly anything moves twice.
const rounds = 4

// settle returns a tree that parsing its own text gives again, and whether there is one. nodes was built from source.
// same tells that source is that text.
//
// Where nothing was left out and the tree's text is the source itself, parsing that text is what just happened, and
// there is nothing to do. That is the case of a card written in the serializer's own form. Otherwise the text is parsed
// and built until it gives itself, with nothing left out.
func settle(source string, nodes []*Node, changed bool) (settled []*Node, same, ok bool) {
	text := appendNodes(make([]byte, 0, len(source)+len(source)/4), nodes)
	if !changed && string(text) == source {
		return nodes, true, true
	}
	for range rounds {
		parsed, err := parseBody(string(text))
		if err != nil {
			return nil, false, false
		}
		var b builder
		nodes = b.build(parsed)
		again := appendNodes(make([]byte, 0, len(text)+16), nodes)
		if !b.changed && string(again) == string(text) {
			return nodes, false, true
		}
		text = again
	}
	return nil, false, false
}
