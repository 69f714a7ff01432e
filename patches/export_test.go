package patches

import "example.com/cardrun/sanitize"

// What only tests ask of a document.

// InnerHTML is what a browser's innerHTML would give for the element with that id, and whether there is such an element:
// the children as they are in the tree, attributes as authored, current values not reflected.
func (d *Document) InnerHTML(id string) (string, bool) {
	n := d.find(id)
	if n == 0 {
		return "", false
	}
	var b []byte
	for _, c := range d.export(n) {
		b = sanitize.AppendHTML(b, c)
	}
	return string(b), true
}

// Elements counts the elements of the tree by tag.
func (d *Document) Elements() map[string]int {
	m := make(map[string]int)
	for at := d.after(0, 0); at != 0; at = d.after(at, 0) {
		if d.nodes[at].kind != kindString {
			m[d.nodes[at].tag]++
		}
	}
	return m
}
