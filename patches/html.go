package patches

import (
	"slices"
	"strconv"

	"example.com/cardrun/limits"
	"example.com/cardrun/sanitize"
)

// HTML is what a browser would show now, as text that stands alone: parsing it again ([sanitize.Card]) and serializing
// gives the same text, and a document made of it ([New]) has the same controls.
//
// The current state of the controls is in the markup: value of text, number and range inputs; checked of checkboxes and
// radios; selected of the one selected option; the text of textareas. A select that shows one row and has no option
// selected, though it could, is given a hidden, empty, selected option in front, since no other markup says so (left out
// where it would be the 513th element). A maxlength over 2,048 is written as 2,048 (R32).
//
// An element whose children a parser would not leave in it is written as a div: a p with a block in it, a heading right
// in a heading, an li in an li, text or a fragment in a part of a table (R62), which then stands before the table, or
// behind it if rows come before it. A button in a button is written after it. Either may change the order of controls.
func (d *Document) HTML() string {
	w := writer{d: d, slab: make([]sanitize.Node, 0, len(d.nodes))}
	var root sanitize.Node
	w.children(0, &root)
	w.look(&root)
	b := make([]byte, 0, 64*len(d.nodes))
	for _, n := range root.Children {
		b = sanitize.AppendHTML(b, n)
	}
	text := string(b)
	if !w.irregular {
		return text
	}
	// A div does not take all attributes of what it stands for, and a button moves: parse until nothing changes.
	for range 4 {
		h, diagnostics := sanitize.Card(text)
		for _, g := range diagnostics {
			if g.Severity == limits.SeverityError {
				return text
			}
		}
		again := h.String()
		if again == text {
			break
		}
		text = again
	}
	return text
}

// writer makes the tree that [Document.HTML] serializes.
type writer struct {
	d    *Document
	slab []sanitize.Node // where nodes come from, until it is full
	// irregular: the tree differs in structure from the document's, or may not parse back as it is.
	irregular bool
	// inButton: within a button, whose buttons go to nested.
	inButton bool
	nested   []*sanitize.Node
	// moved: within a button that goes behind another, and so out of a fieldset there may be in that one.
	moved bool
}

// children writes what is below n into the children of into. Its depth is that of the tree, which sanitize.Check bounds.
func (w *writer) children(n ref, into *sanitize.Node) {
	d := w.d
	size := 0
	for c := d.nodes[n].first; c != 0; c = d.nodes[c].next {
		size++
	}
	if size > 0 {
		into.Children = slices.Grow(into.Children, size)
	}
	for c := d.nodes[n].first; c != 0; c = d.nodes[c].next {
		e := &d.nodes[c]
		if e.kind == kindString {
			// Browsers show no text right in a select, and parsers differ about it.
			if k := d.nodes[n].kind; k == kindSelect || k == kindOptgroup {
				if !blank(e.data) {
					continue
				}
			}
			into.Children = append(into.Children, w.node(sanitize.Node{Text: normalizeNewlines(e.data), Parent: into}))
			continue
		}
		out := w.node(sanitize.Node{Tag: e.tag, SVG: e.has(flagSVG), Attr: w.attributes(c), Parent: into})
		switch e.kind {
		case kindButton:
			w.button(c, out, into)
			continue
		case kindTextarea:
			if e.data != "" {
				out.Children = []*sanitize.Node{{Text: normalizeNewlines(e.data), Parent: out}}
			}
		case kindSelect:
			w.unselected(c, out)
			w.children(c, out)
		default:
			inside := w.inButton
			// A button in a table in a button stands: a table ends the scope in which a parser looks for a button.
			w.inButton = inside && out.Tag != "table"
			w.children(c, out)
			w.inButton = inside
		}
		var before, behind []*sanitize.Node
		if out.Tag == "table" {
			before, behind = w.strays(out)
		}
		into.Children = append(append(append(into.Children, before...), out), behind...)
	}
}

// button writes a button into the children of into, and those in it after it, since a parser ends a button where another
// begins. One that was disabled by a fieldset within the outer button says so itself then, as does every control in it.
func (w *writer) button(n ref, out, into *sanitize.Node) {
	if w.inButton {
		moved := w.moved
		w.moved = true
		out.Attr = w.attributes(n)
		w.nested = append(w.nested, out)
		w.children(n, out)
		w.moved = moved
		return
	}
	before := w.nested
	w.inButton, w.nested = true, nil
	w.children(n, out)
	into.Children = append(into.Children, out)
	for _, b := range w.nested {
		b.Parent = into
		into.Children = append(into.Children, b)
		w.irregular = true
	}
	w.inButton, w.nested = false, before
}

func (w *writer) node(n sanitize.Node) *sanitize.Node {
	if len(w.slab) == cap(w.slab) {
		out := n
		return &out
	}
	w.slab = append(w.slab, n)
	return &w.slab[len(w.slab)-1]
}

// attributes are those of an element with the current state in them.
func (w *writer) attributes(n ref) []sanitize.Attr {
	e := &w.d.nodes[n]
	list := e.attr
	switch e.kind {
	case kindText, kindNumber, kindRange:
		if v, ok := e.attribute("value"); v != e.data || !ok && e.data != "" {
			list = withAttribute(list, "value", e.data)
		}
	case kindCheckbox, kindRadio:
		list = withFlag(list, "checked", e.has(flagChecked))
	case kindOption:
		// An option outside a select has a state too, but nothing to show it.
		list = withFlag(list, "selected", e.has(flagSelected))
	}
	if w.moved && e.kind.control() && w.d.disabled(n) {
		list = withFlag(list, "disabled", true)
	}
	if e.kind == kindText || e.kind == kindTextarea {
		if _, ok := e.attribute("maxlength"); ok && maxLength(e) == limits.Value {
			list = withAttribute(list, "maxlength", strconv.Itoa(limits.Value))
		}
	}
	return list
}

func withFlag(list []sanitize.Attr, name string, on bool) []sanitize.Attr {
	if !on {
		return withoutAttribute(list, name)
	}
	for i := range list {
		if list[i].Name == name {
			return list
		}
	}
	return withAttribute(list, name, "")
}

// unselected puts the option in front that says that no option is selected, where a parser would select one.
func (w *writer) unselected(sel ref, out *sanitize.Node) {
	d := w.d
	if d.selected(sel) != 0 || displaySize(&d.nodes[sel]) != 1 {
		return
	}
	enabled := false
	for o := d.nextOption(sel, sel); o != 0 && !enabled; o = d.nextOption(o, sel) {
		enabled = !d.optionDisabled(o)
	}
	if !enabled {
		return
	}
	elements := 0
	for at := d.after(0, 0); at != 0; at = d.after(at, 0) {
		switch d.nodes[at].kind {
		case kindString:
		case kindSelect:
			elements += 2 // it may need one too
		default:
			elements++
		}
	}
	if elements > limits.Elements {
		return
	}
	out.Children = append(out.Children, &sanitize.Node{Tag: "option", Parent: out, Attr: []sanitize.Attr{
		{Name: "value", Value: ""}, {Name: "hidden", Value: ""}, {Name: "selected", Value: ""}}})
}

// strays makes a div of each part of a table that holds what no table part can, and takes it out: it goes before the
// table, or behind it where a caption or row was before it. A table that itself is such a part becomes a div where it is.
func (w *writer) strays(table *sanitize.Node) (before, behind []*sanitize.Node) {
	if !partHolds(table) {
		w.irregular = true
		table.Tag = "div"
		return nil, nil
	}
	shown := false // a caption or row stays in front
	var sift func(part *sanitize.Node)
	sift = func(part *sanitize.Node) {
		kept := part.Children[:0]
		for _, c := range part.Children {
			switch c.Tag {
			case "thead", "tbody", "tfoot", "tr", "colgroup":
				if partHolds(c) {
					shown = shown || c.Tag == "tr"
					sift(c)
					break
				}
				w.irregular = true
				c.Tag, c.Parent = "div", table.Parent
				if shown {
					behind = append(behind, c)
				} else {
					before = append(before, c)
				}
				continue
			case "caption":
				shown = true
			}
			kept = append(kept, c)
		}
		part.Children = kept
	}
	sift(table)
	return before, behind
}

// partHolds reports whether everything right in a part of a table may stand there.
func partHolds(part *sanitize.Node) bool {
	for _, c := range part.Children {
		fits := false
		switch part.Tag {
		case "table":
			switch c.Tag {
			case "caption", "colgroup", "thead", "tbody", "tfoot":
				fits = true
			}
		case "thead", "tbody", "tfoot":
			fits = c.Tag == "tr"
		case "tr":
			fits = c.Tag == "td" || c.Tag == "th"
		case "colgroup":
			fits = c.Tag == "col"
		}
		if !fits && (c.Tag != "" || !blank(c.Text)) {
			return false
		}
	}
	return true
}

// blank reports whether s is white space alone.
func blank(s string) bool {
	for i := range len(s) {
		if !isSpace(s[i]) {
			return false
		}
	}
	return true
}

// within says what a parser meets inside an element that would close an element around it.
type within uint8

const (
	closesP      within = 1 << iota // in button scope (WHATWG HTML section 13.2.4.2)
	closesLI                        // with nothing but div, p and elements that are not special between
	closesDD                        // likewise, for dd and dt
	closesButton                    // in scope
)

// look goes through the tree from below, makes a div of every element that its content would close, and says what n
// holds for those around it.
func (w *writer) look(n *sanitize.Node) within {
	var in within
	for _, c := range n.Children {
		if c.Tag != "" && !c.SVG {
			in |= w.look(c)
		}
	}
	switch n.Tag {
	case "p":
		w.divIf(n, in&closesP != 0)
	case "li":
		w.divIf(n, in&closesLI != 0)
	case "dd", "dt":
		w.divIf(n, in&closesDD != 0)
	case "h1", "h2", "h3", "h4", "h5", "h6":
		for _, c := range n.Children {
			if heading(c.Tag) {
				w.divIf(n, true)
				break
			}
		}
	case "button":
		w.irregular = w.irregular || in&closesButton != 0
	}
	switch n.Tag {
	case "table", "td", "th", "caption", "select":
		in = 0
	case "button":
		in &^= closesP
	}
	if special(n.Tag) {
		in &^= closesLI | closesDD
	}
	switch n.Tag {
	case "address", "article", "aside", "blockquote", "details", "div", "dl", "fieldset", "figcaption", "figure", "footer",
		"header", "main", "ol", "p", "section", "summary", "ul", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "hr", "table":
		in |= closesP
	case "li":
		in |= closesP | closesLI
	case "dd", "dt":
		in |= closesP | closesDD
	case "button":
		in |= closesButton
	}
	return in
}

func (w *writer) divIf(n *sanitize.Node, closed bool) {
	if closed {
		n.Tag = "div"
		w.irregular = true
	}
}

func heading(tag string) bool {
	return len(tag) == 2 && tag[0] == 'h' && tag[1] >= '1' && tag[1] <= '6'
}

// special tells the elements at which a parser stops looking for an li, dd or dt to close: the special ones (WHATWG HTML
// section 13.2.4.2) that sanitize lets through, but for div and p.
func special(tag string) bool {
	switch tag {
	case "article", "aside", "blockquote", "button", "caption", "dd", "details", "dl", "dt", "fieldset", "figcaption",
		"figure", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "li", "main", "ol", "pre", "section", "select",
		"summary", "table", "tbody", "td", "textarea", "tfoot", "th", "thead", "tr", "ul":
		return true
	}
	return false
}
