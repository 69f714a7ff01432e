package sanitize

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"example.com/cardrun/limits"
)

// Card sanitizes the html field of a card at show time. What the specification names rejects the card with an error (R26,
// R27, R29, D6), as do bad and duplicate ids (R24, R25, D29) and a tree over the limits (R22, R23); what is only unknown is left out
// with a warning, and so is told what dangles (D29). All findings come in one go, in the order of the source, with field
// "html", line and column.
//
// The HTML is empty when a diagnostic has severity error: such a card is never shown.
func Card(html string) (HTML, []limits.Diagnostic) {
	source := clean(html)
	whole := func(code limits.Code, offset int, message string) (HTML, []limits.Diagnostic) {
		line, column := limits.Position(source, offset)
		return HTML{}, []limits.Diagnostic{{Severity: limits.SeverityError, Code: code, Field: "html", Line: line, Column: column, Message: message}}
	}
	if len(source) > maxSource {
		return whole(limits.FieldLength, 0, fmt.Sprintf("html is too long; the limit is %d characters", limits.HTMLLength))
	}
	if grows(source) {
		return whole(limits.TooManyElements, 0, tooTangledText)
	}
	parsed, err := parseBody(source)
	if err != nil {
		return whole(limits.TooManyElements, deepOffset(source), tooDeepText+"; nest fewer elements in one another")
	}
	b := builder{card: true}
	nodes := b.build(parsed)
	same := false
	if !b.full {
		settled, unchanged, ok := settle(source, nodes, b.changed)
		if ok {
			nodes, same = settled, unchanged
		} else {
			b.faults = append(b.faults, fault{limits.SeverityError, limits.ElementForbidden, nil, "", unsettledText})
		}
	}
	b.faults = append(b.faults, treeFaults(count(nodes), nil)...)
	b.faults = append(b.faults, dangling(nodes, nil)...)
	if len(b.faults) == 0 && same {
		return HTML{nodes}, nil // no tag was passed over, or it would be missing from the text
	}
	tags := startTags(source)
	if len(b.faults) == 0 && !ignored(tags, nodes) {
		return HTML{nodes}, nil
	}
	diagnostics := place(source, tags, b.faults)
	for _, d := range diagnostics {
		if d.Severity == limits.SeverityError {
			return HTML{}, diagnostics
		}
	}
	return HTML{nodes}, diagnostics
}

// ignored reports whether there may be tags that the parser passed over: one that would reject the card and yet made no
// fault, or more cells and captions than there are elements of that name (other parts of a table may be implied, so
// counting them tells nothing).
func ignored(tags []tag, nodes []*Node) bool {
	parts := 0
	for _, t := range tags {
		if otherHTML[t.name].reject {
			return true
		}
		if countedParts[t.name] {
			parts++
		}
	}
	return parts > 0 && parts > countParts(nodes)
}

// countedParts are the table parts that no parser implies.
var countedParts = set("td th caption col")

func countParts(list []*Node) int {
	n := 0
	for _, c := range list {
		if countedParts[c.Tag] {
			n++
		}
		n += countParts(c.Children)
	}
	return n
}

// treeFaults says what a count found. from gives the parsed element of a node, where it is known.
func treeFaults(c *census, from map[*Node]*html.Node) []fault {
	var out []fault
	add := func(n *Node, attr string, code limits.Code, message string) {
		out = append(out, fault{limits.SeverityError, code, from[n], attr, message})
	}
	if c.tooDeep != nil {
		add(c.tooDeep, "", limits.TooManyElements, tooDeepText+"; nest fewer elements in one another")
	}
	if c.extraElement != nil {
		add(c.extraElement, "", limits.TooManyElements, tooManyElementsText(c.elements))
	}
	if c.extraControl != nil {
		add(c.extraControl, "", limits.TooManyControls, tooManyControlsText(c.controls))
	}
	for _, n := range c.duplicate {
		id, _ := n.AttrValue("id")
		add(n, "id", limits.IDDuplicate, fmt.Sprintf("the id %q is used by an earlier element; give every element its own id", id))
	}
	return out
}

// dangling warns of references to ids that are not there (D29).
func dangling(nodes []*Node, from map[*Node]*html.Node) []fault {
	ids := make(map[string]bool)
	var refs []fault
	var owners []Attr
	var walk func(list []*Node)
	walk = func(list []*Node) {
		for _, n := range list {
			for _, a := range n.Attr {
				switch f := formOf(n.Tag, n.SVG, a.Name); f {
				case formID:
					ids[a.Value] = true
				case formRefs:
					refs = append(refs, fault{limits.SeverityWarning, limits.ReferenceMissing, from[n], a.Name, ""})
					owners = append(owners, a)
				}
			}
			walk(n.Children)
		}
	}
	walk(nodes)
	var out []fault
	for i, r := range refs {
		for _, id := range strings.Fields(owners[i].Value) {
			if !ids[id] {
				r.message = fmt.Sprintf("%s=%q names an id that no element has; give the element that id, or leave %s out",
					r.attr, limits.Cut(id, 80), r.attr)
				out = append(out, r)
			}
		}
	}
	return out
}

// place turns findings into diagnostics with their places in the source. sure holds the findings on the source as it is;
// those on the marked source, which have places, replace them, but no kind of error that is sure is ever lost.
func place(source string, tags []tag, sure []fault) []limits.Diagnostic {
	var found []placed
	add := func(f fault, offset int) { found = append(found, placed{f, offset}) }
	seen := make([]bool, len(tags))
	if parsed, err := parseBody(marked(source, tags)); err == nil {
		b := builder{card: true, from: make(map[*Node]*html.Node)}
		nodes := b.build(noteTags(parsed, tags, seen))
		b.faults = append(b.faults, treeFaults(count(nodes), b.from)...)
		b.faults = append(b.faults, dangling(nodes, b.from)...)
		last, offsets := -1, map[string]int(nil)
		for _, f := range b.faults {
			offset := -1
			if f.at != nil {
				if i := numberOf(f.at, tags); i >= 0 {
					offset = tags[i].start
					if f.attr != "" {
						if i != last {
							last, offsets = i, attributeOffsets(source, tags[i])
						}
						if at, ok := offsets[asciiLower(f.attr)]; ok {
							offset = at
						}
					}
				}
			}
			add(f, offset)
		}
	}
	// Tags that the parser ignores leave no element: a body or a form in a form, a row outside a table.
	for i, t := range tags {
		if seen[i] {
			continue
		}
		if f, ok := otherHTML[t.name]; ok && f.reject {
			add(fault{limits.SeverityError, limits.ElementForbidden, nil, "", "<" + t.name + ">: " + f.why}, t.start)
		} else if tableParts[t.name] {
			add(fault{limits.SeverityWarning, limits.ElementDropped, nil, "", "<" + t.name + "> outside a table loses its tags; write a complete <table>"}, t.start)
		}
	}
	for _, f := range sure {
		if f.severity == limits.SeverityError && !slices.ContainsFunc(found, func(p placed) bool { return p.code == f.code }) {
			add(f, -1)
		}
	}
	return shorten(diagnose(source, found))
}

// A placed is a finding with the byte offset of its place, or -1.
type placed struct {
	fault
	offset int
}

// diagnose gives findings their lines and columns.
func diagnose(source string, found []placed) []limits.Diagnostic {
	slices.SortStableFunc(found, func(a, b placed) int { return a.offset - b.offset })
	out := make([]limits.Diagnostic, 0, len(found))
	var at places
	for _, p := range found {
		d := limits.Diagnostic{Severity: p.severity, Code: p.code, Field: "html", Message: p.message}
		if p.offset >= 0 {
			d.Line, d.Column = at.at(source, p.offset)
		}
		out = append(out, d)
	}
	return out
}

// tableParts are the tags that mean nothing outside a table.
var tableParts = set("caption colgroup col thead tbody tfoot tr th td")

// noteTags notes in seen which tags became elements, and returns parsed.
func noteTags(parsed []*html.Node, tags []tag, seen []bool) []*html.Node {
	for _, top := range parsed {
		if i := numberOf(top, tags); i >= 0 {
			seen[i] = true
		}
		for n := range top.Descendants() {
			if i := numberOf(n, tags); i >= 0 {
				seen[i] = true
			}
		}
	}
	return parsed
}

// deepOffset finds about where a source nests too deep: the first tag with maxDepth tags open before it.
func deepOffset(source string) int {
	z := html.NewTokenizer(strings.NewReader(source))
	depth, offset := 0, 0
	for {
		kind := z.Next()
		switch kind {
		case html.ErrorToken:
			return 0
		case html.StartTagToken:
			if name, _ := z.TagName(); !isVoid(string(name)) {
				depth++
			}
			if depth > maxDepth {
				return offset
			}
		case html.EndTagToken:
			depth = max(0, depth-1)
		}
		offset += len(z.Raw())
	}
}
