package patches

import "example.com/cardrun/sanitize"

// insert adds the nodes and all below them under parent, adapted to what parent may hold (see [Document]), and
// initializes every control and option among them.
func (d *Document) insert(parent ref, nodes []*sanitize.Node) {
	for _, n := range nodes {
		switch d.fate(parent, n) {
		case keep:
			c := node{tag: n.Tag, attr: n.Attr, kind: kindOf(n)}
			c.set(flagSVG, n.SVG)
			if n.Tag == "" {
				c.data = toText(n.Text)
			}
			at := d.add(parent, c)
			d.insert(at, n.Children)
			d.initialize(at)
		case unwrap:
			d.insert(parent, n.Children)
		case drop:
		}
	}
}

type fate uint8

const (
	keep   fate = iota
	unwrap      // lose the tags, keep what is between them
	drop        // lose all of it
)

// fate decides what becomes of n under parent. Only patches meet the exceptions: what sanitize parsed as a whole holds
// nothing else.
func (d *Document) fate(parent ref, n *sanitize.Node) fate {
	p := &d.nodes[parent]
	switch {
	case p.has(flagSVG):
		switch {
		case n.Tag == "" || n.SVG && p.tag != "title" && p.tag != "desc":
			return keep
		case sanitize.IsControl(n):
			return drop
		}
		return unwrap
	case p.kind == kindTextarea:
		if n.Tag != "" {
			return drop
		}
	case p.kind == kindOption:
		if n.Tag != "" {
			return unwrap
		}
	case p.kind == kindOptgroup || p.kind == kindSelect:
		switch {
		case n.Tag == "" || n.Tag == "option":
		case (n.Tag == "optgroup" || n.Tag == "hr") && p.kind == kindSelect:
		case sanitize.IsControl(n):
			return drop
		default:
			return unwrap
		}
	case isVoid(p):
		return drop
	}
	return keep
}

// connect does what a browser does when the elements below n have become part of the document: a radio that is checked
// unchecks the others of its group, so that the last of those that came stays, and every select to which options came, be
// it n, around n or below it, settles which of them is selected.
func (d *Document) connect(n ref) {
	var radios []ref
	for at := d.after(n, n); at != 0; at = d.after(at, n) {
		switch c := &d.nodes[at]; {
		case c.kind == kindRadio && c.has(flagChecked):
			radios = append(radios, at)
		case c.kind == kindSelect:
			d.settle(at)
		}
	}
	for i := len(radios) - 1; i >= 0; i-- {
		if d.nodes[radios[i]].has(flagChecked) {
			d.check(radios[i], true)
		}
	}
	if d.nextOption(n, n) != 0 {
		if sel := d.ancestor(n, kindSelect); sel != 0 {
			d.settle(sel)
		}
	}
}
