package patches

import (
	"math"
	"strconv"
	"strings"
)

// Text is the visible text of the document, laid out in lines as a person would read it: each block on lines of its own,
// white space collapsed but in pre, list items behind "- " or their number, the cells of a table row joined by " | ", a
// rule as "---". What hidden attributes and closed details hide is left out; styles are not known here. In SVG the text
// elements and the title of the drawing are lines.
//
// A control is "label: value", on a new line: its label is that of a label element around it or for it, wherever that
// stands, or its aria-label or title; without any it is its value, in the line. A checkbox is "[x] label" or "[ ] label",
// a radio "(x) label" or "( ) label", a button "[text]". A select shows the label of its selected option. On a screen a
// control is a box; so that what it shows and the text beside it are not read as one, a space is between them, and between
// two controls.
func (d *Document) Text() string {
	l := layout{d: d}
	l.findLabels()
	l.children(0)
	l.breakLine()
	return strings.TrimSuffix(string(l.out), "\n")
}

// layout writes lines.
type layout struct {
	d *Document
	// labels gives for a labelled element its visible labels that are not around it, in document order; wraps gives for a
	// label the element that it is around. Both are nil where labels are of no account, as within a label.
	labels map[ref][]ref
	wraps  map[ref]ref

	out  []byte // finished lines, each with its newline
	line []byte // the line being written
	// indent goes before each line; first, unless empty, before the next one instead.
	indent, first string
	space         bool // a white space is due if anything follows in the line
	box           bool // the line ends with a control, which is set off from what follows by a space
	pre           int  // how many pre elements are around
	inline        int  // how many elements are around that keep everything in one line
	cell          bool // within a table cell: a table's cells are laid out in its line
	skip          ref  // the control whose place is marked by a NUL, which no text holds
	moved         bool // a label was left to its control
}

// children lays out what is below n. Its depth is that of the tree, which sanitize.Check bounds.
func (l *layout) children(n ref) {
	for c := l.d.nodes[n].first; c != 0; c = l.d.nodes[c].next {
		l.node(c)
	}
}

func (l *layout) node(n ref) {
	e := &l.d.nodes[n]
	switch {
	case e.kind == kindString:
		l.text(e.data)
		return
	case e.has(flagSVG):
		l.drawing(n)
		return
	case e.hasAttribute("hidden"):
		return
	case n == l.skip:
		l.raw("\x00")
		l.space = true
		return
	}
	switch e.tag {
	case "br":
		if l.inline == 0 {
			l.flush()
		}
		l.space = true
	case "wbr", "col", "colgroup":
	case "hr":
		l.breakLine()
		l.raw("---")
		l.breakLine()
	case "input", "select", "textarea", "progress", "meter":
		l.value(n)
	case "button":
		l.button(n)
	case "label":
		l.label(n)
	case "output":
		if name := l.name(n, false); name != "" {
			l.breakLine()
			l.raw(name + ":")
			l.space = true
		}
		l.children(n)
	case "q":
		l.enclose("“", n, "”")
	case "pre":
		l.breakLine()
		l.pre++
		l.children(n)
		l.pre--
		l.breakLine()
	case "ul", "ol":
		l.list(n)
	case "li":
		l.item(n, "- ")
	case "dd", "blockquote":
		l.breakLine()
		indent := l.indent
		l.indent = deeper(indent, 2)
		l.children(n)
		l.breakLine()
		l.indent = indent
	case "details":
		l.details(n)
	case "tr":
		l.row(n)
	case "span", "strong", "b", "em", "i", "u", "s", "small", "sub", "sup", "mark", "code", "kbd", "samp", "var", "abbr",
		"dfn", "cite", "time", "del", "ins":
		l.children(n)
	default:
		l.breakLine()
		l.children(n)
		l.breakLine()
	}
}

// text writes a text node's data, its white space as CSS's normal or, within pre, as it is.
func (l *layout) text(s string) {
	if l.pre > 0 && l.inline == 0 {
		for {
			i := strings.IndexByte(s, '\n')
			if i < 0 {
				break
			}
			l.preformatted(s[:i])
			l.flush()
			s = s[i+1:]
		}
		l.preformatted(s)
		return
	}
	for s != "" {
		i := 0
		for i < len(s) && isSpace(s[i]) {
			i++
		}
		l.space = l.space || i > 0
		s = s[i:]
		for i = 0; i < len(s) && !isSpace(s[i]); i++ {
		}
		if i > 0 {
			l.raw(s[:i])
		}
		s = s[i:]
	}
}

// preformatted writes a part of a line that keeps its white space.
func (l *layout) preformatted(s string) {
	if s == "" {
		return
	}
	if l.box && len(l.line) > 0 && !isSpace(s[0]) {
		l.line = append(l.line, ' ')
	}
	l.space, l.box = false, false
	l.line = append(l.line, s...)
}

// raw writes s as it is, after the white space that is due.
func (l *layout) raw(s string) {
	if len(l.line) > 0 && (l.space || l.box) {
		l.line = append(l.line, ' ')
	}
	l.space, l.box = false, false
	l.line = append(l.line, s...)
}

// control writes s, which stands for a control or the like; it may be empty.
func (l *layout) control(s string) {
	l.setOff()
	if s != "" {
		l.raw(s)
	}
	l.box = true
}

// setOff makes a white space due before a control.
func (l *layout) setOff() {
	if n := len(l.line); n > 0 && !isSpace(l.line[n-1]) {
		l.space = true
	}
}

// enclose writes the content of n between two marks, in the line.
func (l *layout) enclose(open string, n ref, shut string) {
	l.raw(open)
	start := len(l.line)
	l.inline++
	l.children(n)
	l.inline--
	// A space right after the opening mark was collapsed into it.
	if start < len(l.line) && l.line[start] == ' ' {
		l.line = append(l.line[:start], l.line[start+1:]...)
	}
	l.line = append(l.line, shut...)
	l.space, l.box = false, false
}

// breakLine ends the line unless it is empty.
func (l *layout) breakLine() {
	if l.inline > 0 {
		l.space = true
		return
	}
	if len(l.line) > 0 {
		l.flush()
	}
	l.space = false
}

// flush ends the line, be it empty.
func (l *layout) flush() {
	prefix := l.indent
	if l.first != "" {
		prefix, l.first = l.first, ""
	}
	start := len(l.out)
	l.out = append(append(l.out, prefix...), l.line...)
	for len(l.out) > start && (l.out[len(l.out)-1] == ' ' || l.out[len(l.out)-1] == '\t') {
		l.out = l.out[:len(l.out)-1]
	}
	l.out = append(l.out, '\n')
	l.line, l.space, l.box = l.line[:0], false, false
}

// deeper is an indent that is n columns wider, up to a width: deep nesting makes no long lines of short ones.
func deeper(indent string, n int) string {
	const widest = 24
	return strings.Repeat(" ", min(len(indent)+n, widest))
}

// list lays out the items of a list, an ordered one's with their numbers (WHATWG HTML section 4.4.5).
func (l *layout) list(n ref) {
	d := l.d
	l.breakLine()
	e := &d.nodes[n]
	if e.tag == "ul" {
		l.children(n)
		l.breakLine()
		return
	}
	step, at := 1, 1
	if e.hasAttribute("reversed") {
		step, at = -1, 0
		for c := e.first; c != 0; c = d.nodes[c].next {
			if d.nodes[c].tag == "li" {
				at++
			}
		}
	}
	at = integerAttribute(e, "start", at)
	style, _ := e.attribute("type")
	for c := e.first; c != 0; c = d.nodes[c].next {
		item := &d.nodes[c]
		if item.tag != "li" || item.hasAttribute("hidden") {
			l.node(c)
			continue
		}
		at = integerAttribute(item, "value", at)
		l.item(c, counter(at, style)+". ")
		at += step
	}
	l.breakLine()
}

// integerAttribute reads a whole number that a person could count to, or gives the default.
func integerAttribute(e *node, name string, otherwise int) int {
	if s, ok := e.attribute(name); ok {
		if v, err := strconv.Atoi(strings.TrimSpace(s)); err == nil && v > -1e9 && v < 1e9 {
			return v
		}
	}
	return otherwise
}

// counter is the number of a list item in the style of the list's type attribute.
func counter(n int, style string) string {
	switch {
	case (style == "a" || style == "A") && n > 0:
		s := ""
		for ; n > 0; n = (n - 1) / 26 {
			s = string(rune(style[0])+rune((n-1)%26)) + s
		}
		return s
	case (style == "i" || style == "I") && n > 0 && n < 4000:
		s := ""
		for _, r := range [...]struct {
			value int
			sign  string
		}{{1000, "m"}, {900, "cm"}, {500, "d"}, {400, "cd"}, {100, "c"}, {90, "xc"}, {50, "l"}, {40, "xl"}, {10, "x"},
			{9, "ix"}, {5, "v"}, {4, "iv"}, {1, "i"}} {
			for n >= r.value {
				s += r.sign
				n -= r.value
			}
		}
		if style == "I" {
			return strings.ToUpper(s)
		}
		return s
	}
	return strconv.Itoa(n)
}

func (l *layout) item(n ref, marker string) {
	l.breakLine()
	if l.inline > 0 {
		l.children(n)
		l.breakLine()
		return
	}
	indent, before := l.indent, l.first
	if before == "" {
		before = indent
	}
	l.first, l.indent = before+marker, deeper(indent, len(marker))
	l.children(n)
	l.breakLine()
	if l.first != "" {
		l.flush() // an empty item has its marker
	}
	l.indent = indent
}

// details shows its first summary, and the rest when it is open (WHATWG HTML section 4.11.1).
func (l *layout) details(n ref) {
	d := l.d
	l.breakLine()
	summary := d.summary(n)
	if summary != 0 {
		l.node(summary)
	}
	if d.nodes[n].hasAttribute("open") {
		for c := d.nodes[n].first; c != 0; c = d.nodes[c].next {
			if c != summary {
				l.node(c)
			}
		}
	}
	l.breakLine()
}

// summary is the first summary right in a details, or 0.
func (d *Document) summary(details ref) ref {
	for c := d.nodes[details].first; c != 0; c = d.nodes[c].next {
		if d.nodes[c].tag == "summary" {
			return c
		}
	}
	return 0
}

// row lays out a table row. Lines within a cell are joined by " / "; a cell whose label went to its control is left out.
func (l *layout) row(n ref) {
	d := l.d
	l.breakLine()
	started, filled := false, false
	row := ""
	for c := d.nodes[n].first; c != 0; c = d.nodes[c].next {
		e := &d.nodes[c]
		if e.tag != "td" && e.tag != "th" || e.hasAttribute("hidden") {
			if e.kind != kindString || !blank(e.data) {
				l.node(c)
			}
			continue
		}
		if l.cell || l.inline > 0 {
			if started {
				l.space = true
				l.raw("|")
				l.space = true
			}
			started = true
			l.inline++
			l.children(c)
			l.inline--
			continue
		}
		in := layout{d: d, labels: l.labels, wraps: l.wraps, cell: true}
		in.children(c)
		in.breakLine()
		text := strings.ReplaceAll(strings.TrimSuffix(string(in.out), "\n"), "\n", " / ")
		if text == "" && in.moved {
			continue
		}
		filled = filled || text != ""
		if started {
			row += " | "
		}
		started = true
		row += text
	}
	if filled {
		l.raw(row)
	}
	l.breakLine()
}

// drawing lays out the texts of an SVG element, and the title right in an svg.
func (l *layout) drawing(n ref) {
	d := l.d
	e := &d.nodes[n]
	switch e.tag {
	case "text", "title":
		if e.tag == "title" && d.parentTag(n) != "svg" {
			return
		}
		l.breakLine()
		l.text(d.textContent(n))
		l.breakLine()
	case "desc":
	default:
		if e.tag == "svg" {
			l.breakLine()
		}
		for c := e.first; c != 0; c = d.nodes[c].next {
			if d.nodes[c].kind != kindString {
				l.node(c)
			}
		}
		if e.tag == "svg" {
			l.breakLine()
		}
	}
}

// gauge is what a progress or meter shows, in words (WHATWG HTML sections 4.10.13, 4.10.14).
func gauge(e *node) string {
	number := func(name string, otherwise float64) float64 {
		if s, ok := e.attribute(name); ok {
			if f, ok := parseNumber(s); ok {
				return f
			}
		}
		return otherwise
	}
	if e.tag == "progress" {
		top := number("max", 1)
		if top <= 0 {
			top = 1
		}
		if !e.hasAttribute("value") {
			return "…"
		}
		return formatNumber(math.Round(100*min(max(number("value", 0)/top, 0), 1))) + "%"
	}
	low := number("min", 0)
	high := max(number("max", max(1, low)), low)
	s := formatNumber(min(max(number("value", 0), low), high))
	if low == 0 && high != 1 {
		s += " of " + formatNumber(high)
	}
	return s
}
