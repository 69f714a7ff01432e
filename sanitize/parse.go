package sanitize

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxSource is the longest text, in bytes, that is parsed at all. It is far beyond what a card (R5) or a batch (R107) may
// hold, whose lengths are checked by those who know them; it bounds a caller who forgot.
const maxSource = 1 << 20

// maxNodes bounds what one parse may build. Unclosed formatting elements are opened again in every later block, so that
// n bytes can give n²/32 elements; a text whose bound is higher is refused before it is parsed. Formatting elements that are
// only nested, as deep as maxDepth, stay below it.
const maxNodes = 1 << 17

// parseBody reads s as body content (R20, R62), the way browsers with scripting do: what is inside noscript is then one raw
// text, which is left out. It fails where elements are nested more than about 510 deep.
func parseBody(s string) ([]*html.Node, error) {
	body := &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body}
	return html.ParseFragment(strings.NewReader(s), body)
}

// clean makes a text fit for the parser: valid UTF-8, as every caller's decoder gives anyway.
func clean(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// grows reports whether parsing s could build more than maxNodes nodes.
func grows(s string) bool {
	tags, formatting := countTags(s)
	return 2*tags*(formatting+1) >= maxNodes && // each tag and each text opens at most all of them
		mostNodes(s) > maxNodes
}

// mostNodes is an upper bound of what parsing s builds, but for what the adoption agency copies, which is some elements for
// each end tag. It is found without building anything, and no further than maxNodes: each tag or text adds itself and, at
// most, one copy of every formatting element that is still in the parser's list of active ones and may have left its stack.
// None has left it while formatting elements are only nested in one another, however deep.
func mostNodes(s string) int {
	z := html.NewTokenizer(strings.NewReader(s))
	// open is how many formatting elements may be active, lost how many of them may have left the stack.
	total, open, lost, floor, others := 0, 0, 0, 0, 0
	openedAt := make(map[atom.Atom][]int) // for each name, the number of other tags seen when it was opened
	var nested []atom.Atom                // what was opened since anything could last leave the stack, and is not closed
	disturb := func() { lost, nested = open, nested[:0] }
	for {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			return total
		case html.TextToken:
			total += 1 + lost
		case html.StartTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			a := atom.Lookup(name)
			switch {
			case a == atom.Br || a == atom.Wbr:
			case kind == html.StartTagToken && nests(a):
				nested = append(nested, a)
			default:
				disturb()
			}
			total += 1 + lost
			if isFormatting(a) {
				open++
				openedAt[a] = append(openedAt[a], others)
			} else {
				others++
				if hidesFormatting(a) {
					// An end tag inside these does not reach what was opened outside, so that stays for good.
					floor = open
					clear(openedAt)
				}
			}
		case html.EndTagToken:
			total++
			name, _ := z.TagName()
			a := atom.Lookup(name)
			last := len(nested) - 1
			innermost := last >= 0 && nested[last] == a
			if innermost {
				nested = nested[:last]
			} else {
				disturb()
			}
			if a == atom.Br {
				total += open // </br> is read as <br>
			}
			if at := openedAt[a]; len(at) > 0 && open > floor {
				openedAt[a] = at[:len(at)-1]
				// The adoption agency gives up after eight blocks and leaves the element active.
				if innermost || others-at[len(at)-1] < 8 {
					open--
					lost = min(lost, open)
				}
			}
		}
		if total > maxNodes {
			return total
		}
	}
}

// nests tells the elements of which a start tag takes nothing off the parser's stack but SVG, in any insertion mode, so
// that an end tag right for the innermost of them takes off nothing else. a and nobr end the one before.
func nests(a atom.Atom) bool {
	switch a {
	case atom.A, atom.Nobr:
		return false
	case atom.Span, atom.Sub, atom.Sup, atom.Mark, atom.Kbd, atom.Samp, atom.Var, atom.Abbr, atom.Dfn, atom.Cite, atom.Q, atom.Time, atom.Del,
		atom.Ins:
		return true
	}
	return isFormatting(a)
}

// countTags gives the most tags that s may hold, and the most start tags of formatting elements among them.
func countTags(s string) (tags, formatting int) {
	for i := strings.IndexByte(s, '<'); i >= 0; {
		tags++
		s = s[i+1:]
		end := 0
		for end < len(s) && end < len("strike") && s[end]|0x20 >= 'a' && s[end]|0x20 <= 'z' {
			end++
		}
		if isFormatting(atom.Lookup([]byte(asciiLower(s[:end])))) {
			formatting++
		}
		i = strings.IndexByte(s, '<')
	}
	return tags, formatting
}

// isFormatting tells the elements that a parser opens again (WHATWG HTML section 13.2.4.3).
func isFormatting(a atom.Atom) bool {
	switch a {
	case atom.A, atom.B, atom.Big, atom.Code, atom.Em, atom.Font, atom.I, atom.Nobr, atom.S, atom.Small, atom.Strike, atom.Strong,
		atom.Tt, atom.U:
		return true
	}
	return false
}

// hidesFormatting tells the elements across which an end tag finds no formatting element: those that set a marker or
// bound a scope (WHATWG HTML section 13.2.4.2).
func hidesFormatting(a atom.Atom) bool {
	switch a {
	case atom.Table, atom.Td, atom.Th, atom.Caption, atom.Applet, atom.Object, atom.Marquee, atom.Template, atom.Select, atom.Svg,
		atom.Math, atom.Foreignobject, atom.ForeignObject, atom.Desc, atom.Title, atom.AnnotationXml, atom.Mi, atom.Mo, atom.Mn,
		atom.Ms, atom.Mtext:
		return true
	}
	return false
}
