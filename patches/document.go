package patches

import (
	"slices"

	"example.com/cardrun/sanitize"
)

// Document is what a card shows: the tree of its elements, and the state of its controls as a browser would keep it beside
// the markup. Make one with [New], change it with [Document.Stage] or [Document.Apply] (a round's batch) and with
// [Document.Edit] (a user's edit).
//
// The tree is that of the DOM a browser would hold, with three exceptions where a DOM can hold what no HTML text says
// and no browser shows. A fragment put into a select, optgroup or option keeps only options, groups and their text; one
// put into a textarea keeps only its own text, which is all that a textarea reads; one put into an SVG element keeps
// only svg elements and text. Text or a fragment put into an element that holds no children (an input, a br) is accepted
// and leaves no trace, as in a browser, where it changes nothing that is shown.
//
// Elsewhere the tree may be one that HTML cannot say, such as text right in a tbody (R62) or a list in a p.
// [Document.ElementText] and [Document.Text] answer from the tree.
// [Document.HTML] writes such an element as a div, so that its id, its text and all in it survive being parsed.
//
// A NUL or a byte that is not UTF-8 in a text or value becomes U+FFFD.
//
// A Document may be read by several goroutines at once; a change excludes all else. Nothing it returns is shared with it.
type Document struct {
	nodes []node // nodes[0] is the root; in document order but within a Stage
	index *index // of nodes; shared with clones, never changed
	// version counts changes, so that a Stage knows whether it is still about this document.
	version uint64
}

// New makes the initial document of a card. It fails with code input_limit when a control's or option's value passes
// 2,048 UTF-16 code units (R105) or the snapshot of all values passes 16,000 (D35), and with invalid_patch when h holds
// more than a document may ([sanitize.Check]; what [sanitize.Card] accepted never does).
func New(h sanitize.HTML) (*Document, error) {
	nodes := h.Nodes()
	if err := sanitize.Check(nodes); err != nil {
		return nil, err
	}
	d := build(nodes)
	if err := d.checkValues(); err != nil {
		return nil, err
	}
	return d, nil
}

// build makes a document of a tree whose limits the caller answers for.
func build(nodes []*sanitize.Node) *Document {
	d := &Document{nodes: make([]node, 1, 1+count(nodes))}
	d.insert(0, nodes)
	d.connect(0)
	d.index = d.makeIndex()
	return d
}

func count(nodes []*sanitize.Node) int {
	n := len(nodes)
	for _, c := range nodes {
		n += count(c.Children)
	}
	return n
}

// Clone gives a copy that changes apart from d.
func (d *Document) Clone() *Document {
	nodes := make([]node, len(d.nodes), len(d.nodes)+4)
	copy(nodes, d.nodes)
	return &Document{nodes: nodes, index: d.index}
}

// Size is about how many bytes d takes. Texts that it shares with others are counted.
func (d *Document) Size() int {
	const perNode, perAttribute = 136, 32 // with its place in the index
	n := 128 + len(d.nodes)*perNode
	for i := range d.nodes {
		n += len(d.nodes[i].data)
		for _, a := range d.nodes[i].attr {
			n += perAttribute + len(a.Value)
		}
	}
	return n
}

// index tells where the elements with an id are.
type index struct {
	ids      []idRef
	byID     map[string]ref // only where ids are many
	controls []ref          // those with an id, in document order
}

type idRef struct {
	id string
	at ref
}

// fewIDs is up to how many ids looking through all of them is faster than a map, which takes time to make.
const fewIDs = 16

func (d *Document) makeIndex() *index {
	x := &index{}
	for at := d.after(0, 0); at != 0; at = d.after(at, 0) {
		n := &d.nodes[at]
		if n.kind == kindString {
			continue
		}
		if id, ok := n.attribute("id"); ok {
			x.ids = append(x.ids, idRef{id, at})
			if n.kind.control() {
				x.controls = append(x.controls, at)
			}
		}
	}
	if len(x.ids) > fewIDs {
		x.byID = make(map[string]ref, len(x.ids))
		for _, r := range x.ids {
			// Within a batch an id may be there twice; the first in document order is found, as in a DOM.
			if _, ok := x.byID[r.id]; !ok {
				x.byID[r.id] = r.at
			}
		}
	}
	return x
}

// find is the first element with that id, or 0.
func (d *Document) find(id string) ref {
	if d.index.byID != nil {
		return d.index.byID[id]
	}
	for i := range d.index.ids {
		if d.index.ids[i].id == id {
			return d.index.ids[i].at
		}
	}
	return 0
}

// Has reports whether an element has that id.
func (d *Document) Has(id string) bool { return d.find(id) != 0 }

// ElementText is the exact text content of the element with that id, that of hidden elements and options included, and
// whether there is such an element. A textarea's is its default value, an input's is empty.
func (d *Document) ElementText(id string) (string, bool) {
	n := d.find(id)
	if n == 0 {
		return "", false
	}
	return d.textContent(n), true
}

// Nodes gives a fresh deep copy of the tree as a browser's DOM holds it, but for the exceptions that [Document] names: with
// the attributes as they were written and not the current state of the controls, and with elements that no HTML text can
// say. [Document.HTML] is what to show; this is for comparing with a DOM.
func (d *Document) Nodes() []*sanitize.Node {
	nodes := d.export(0)
	owned(nodes)
	return nodes
}

// owned gives nodes attributes of their own, since those of the document are shared.
func owned(nodes []*sanitize.Node) {
	for _, n := range nodes {
		n.Attr = slices.Clone(n.Attr)
		owned(n.Children)
	}
}

// export makes sanitize's nodes of what is below n, as it is in the tree.
func (d *Document) export(n ref) []*sanitize.Node {
	size := 0
	for at := d.after(n, n); at != 0; at = d.after(at, n) {
		size++
	}
	slab := make([]sanitize.Node, 0, size)
	root := &sanitize.Node{}
	into := root
	for at := d.nodes[n].first; at != 0; {
		c := d.exportNode(at)
		slab = append(slab, c)
		made := &slab[len(slab)-1]
		if into != root {
			made.Parent = into
		}
		into.Children = append(into.Children, made)
		if first := d.nodes[at].first; first != 0 {
			at, into = first, made
			continue
		}
		for at != n && d.nodes[at].next == 0 {
			at = d.nodes[at].parent
			if at != n {
				if into = into.Parent; into == nil {
					into = root
				}
			}
		}
		if at == n {
			break
		}
		at = d.nodes[at].next
	}
	return root.Children
}

// exportNode is one node without its links. A control's data is its value, not text.
func (d *Document) exportNode(at ref) sanitize.Node {
	n := &d.nodes[at]
	if n.kind == kindString {
		return sanitize.Node{Text: n.data}
	}
	return sanitize.Node{Tag: n.tag, SVG: n.has(flagSVG), Attr: n.attr}
}
