package sanitize

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"example.com/cardrun/limits"
)

// maxDiagnostics is how many findings are told one by one; a last one counts the rest.
const maxDiagnostics = 50

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
	parsed, err := parse(source)
	if err != nil {
		return whole(limits.TooManyElements, deepOffset(source), tooDeepText+"; nest fewer elements in one another")
	}
	b := builder{card: true}
	nodes := b.build(parsed)
	built := nodes
	nodes, ok := settle(source, nodes, b.changed)
	if !ok {
		b.faults = append(b.faults, fault{limits.SeverityError, limits.ElementForbidden, nil, "", unsettledText})
		nodes = built
	}
	b.faults = append(b.faults, treeFaults(count(nodes), nil)...)
	b.faults = append(b.faults, dangling(nodes, nil)...)
	if len(b.faults) == 0 && text(nodes) == source {
		return HTML{nodes}, nil
	}
	diagnostics := place(source, b.faults)
	for _, d := range diagnostics {
		if d.Severity == limits.SeverityError {
			return HTML{}, diagnostics
		}
	}
	return HTML{nodes}, diagnostics
}

func text(nodes []*Node) string { return string(appendNodes(nil, nodes)) }

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
				r.message = fmt.Sprintf("%s names the id %q, which no element has; give the element that id, or leave %s out",
					r.attr, limits.Cut(id, 80), r.attr)
				out = append(out, r)
			}
		}
	}
	return out
}

// place turns findings into diagnostics with their places in the source. sure holds the findings on the source as it is;
// those on the marked source, which have places, replace them, but no kind of error that is sure is ever lost.
func place(source string, sure []fault) []limits.Diagnostic {
	tags := startTags(source)
	var found []limits.Diagnostic
	add := func(f fault, offset int) {
		d := limits.Diagnostic{Severity: f.severity, Code: f.code, Field: "html", Message: f.message}
		if offset >= 0 {
			d.Line, d.Column = limits.Position(source, offset)
		}
		found = append(found, d)
	}
	seen := make([]bool, len(tags))
	if parsed, err := parse(marked(source, tags)); err == nil {
		b := builder{card: true, from: make(map[*Node]*html.Node)}
		nodes := b.build(unmark(parsed, tags, seen))
		b.faults = append(b.faults, treeFaults(count(nodes), b.from)...)
		b.faults = append(b.faults, dangling(nodes, b.from)...)
		for _, f := range b.faults {
			if f.attr == mark {
				continue
			}
			offset := -1
			if f.at != nil {
				if i := numberOf(f.at, tags); i >= 0 {
					offset = tags[i].start
					if f.attr != "" {
						offset = attributeOffset(source, tags[i], f.attr)
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
		if f.severity == limits.SeverityError && !slices.ContainsFunc(found, func(d limits.Diagnostic) bool { return d.Code == f.code }) {
			add(f, -1)
		}
	}
	return shorten(found)
}

// tableParts are the tags that mean nothing outside a table.
var tableParts = set("caption colgroup col thead tbody tfoot tr th td")

// unmark notes in seen which tags became elements.
func unmark(parsed []*html.Node, tags []tag, seen []bool) []*html.Node {
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

// shorten sorts findings by their place, drops repeated ones (the parser copies elements), and keeps at most
// maxDiagnostics, errors first.
func shorten(found []limits.Diagnostic) []limits.Diagnostic {
	byPlace := func(a, b limits.Diagnostic) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	}
	slices.SortStableFunc(found, byPlace)
	told := make(map[limits.Diagnostic]bool, len(found))
	found = slices.DeleteFunc(found, func(d limits.Diagnostic) bool {
		if told[d] {
			return true
		}
		told[d] = true
		return false
	})
	if len(found) <= maxDiagnostics {
		return found
	}
	slices.SortStableFunc(found, func(a, b limits.Diagnostic) int { return rank(a) - rank(b) })
	rest := found[maxDiagnostics:]
	last := rest[0]
	last.Message = fmt.Sprintf("and %d more findings like those before", len(rest))
	last.Line, last.Column = 0, 0
	found = found[:maxDiagnostics:maxDiagnostics]
	slices.SortStableFunc(found, byPlace)
	return append(found, last)
}

func rank(d limits.Diagnostic) int {
	if d.Severity == limits.SeverityError {
		return 0
	}
	return 1
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
