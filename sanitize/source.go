package sanitize

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// The parser keeps no positions. To give each finding its place, the start tags of the source are found by a tokenizer,
// every one gets an attribute with its number, and the text so marked is parsed and walked once more. Copies that the
// parser makes of an element carry the mark too. All this is done only for a card about which there is something to say,
// and only to place findings: whether a card is rejected, and what of it is shown, is decided on the text as it is.

// mark is the attribute that holds a start tag's number.
const mark = "data-source-tag"

// A tag is a start tag of the source.
type tag struct {
	name       string // lower case
	start, end int    // byte offsets of < and behind >
	nameEnd    int    // byte offset behind the name, which may be spelled longer or shorter than it is
}

// startTags finds the start tags of a source, as the parser's tokenizer does. Where the parser would be inside SVG or
// MathML is followed approximately, since there script, style, title and textarea hold markup and CDATA sections exist.
func startTags(source string) []tag {
	z := html.NewTokenizer(strings.NewReader(source))
	var tags []tag
	var modes []bool // true: foreign content; false: HTML inside it
	foreign := func() bool { return len(modes) > 0 && modes[len(modes)-1] }
	offset := 0
	for {
		z.AllowCDATA(foreign())
		kind := z.Next()
		if kind == html.ErrorToken {
			return tags
		}
		start := offset
		offset += len(z.Raw())
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken && kind != html.EndTagToken {
			continue
		}
		nameBytes, _ := z.TagName()
		name := string(nameBytes)
		point := name == "foreignobject" || name == "desc" || name == "title" || name == "mtext" || name == "annotation-xml"
		if kind == html.EndTagToken {
			for foreign() && (breaksOut[name] || htmlElements[name] && !svgElements[name]) {
				// A </p> ends foreign content, and so does the end of what an unclosed svg is in.
				modes = modes[:len(modes)-1]
			}
			for i := len(modes) - 1; i >= 0; i-- {
				if modes[i] && (name == "svg" || name == "math") || !modes[i] && point {
					modes = modes[:i]
					break
				}
			}
			continue
		}
		nameEnd := start + 1
		for nameEnd < offset && !isSpace(source[nameEnd]) && source[nameEnd] != '/' && source[nameEnd] != '>' {
			nameEnd++
		}
		tags = append(tags, tag{name, start, offset, nameEnd})
		if foreign() && breaksOut[name] {
			for foreign() {
				modes = modes[:len(modes)-1]
			}
		}
		switch open := kind == html.StartTagToken; {
		case open && (name == "svg" || name == "math"):
			modes = append(modes, true)
		case foreign():
			z.NextIsNotRawText()
			if open && point {
				modes = append(modes, false)
			}
		}
	}
}

// breaksOut are the start tags that end foreign content (WHATWG HTML section 13.2.6.5).
var breaksOut = set(`b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu
	meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var`)

// marked returns the source with every start tag numbered. The number comes first, so that a tag's own attribute of the
// same name gives way.
func marked(source string, tags []tag) string {
	var b strings.Builder
	b.Grow(len(source) + 16*len(tags))
	done := 0
	for i, t := range tags {
		b.WriteString(source[done:t.nameEnd])
		b.WriteString(" " + mark + `="` + strconv.Itoa(i) + `"`)
		done = t.nameEnd
	}
	b.WriteString(source[done:])
	return b.String()
}

// numberOf gives the number of the start tag that an element of a marked text was made of, or -1: an implied one.
func numberOf(n *html.Node, tags []tag) int {
	for _, a := range n.Attr {
		if a.Key == mark {
			if i, err := strconv.Atoi(a.Val); err == nil && i >= 0 && i < len(tags) {
				return i
			}
		}
	}
	return -1
}

// attributeOffsets finds where the attributes' names stand in a start tag of the source (WHATWG HTML sections 13.2.5.32 to
// 13.2.5.40), by their names in lower case; of one that stands there twice, the first counts.
func attributeOffsets(source string, t tag) map[string]int {
	offsets := make(map[string]int)
	raw := source[t.start:t.end]
	for i := t.nameEnd - t.start; i < len(raw); {
		if isSpace(raw[i]) || raw[i] == '/' {
			i++
			continue
		}
		if raw[i] == '>' {
			break
		}
		start := i
		i++ // a name may begin with =
		for i < len(raw) && !isSpace(raw[i]) && raw[i] != '/' && raw[i] != '>' && raw[i] != '=' {
			i++
		}
		name := asciiLower(plain(raw[start:i]))
		if _, twice := offsets[name]; !twice {
			offsets[name] = t.start + start
		}
		for i < len(raw) && isSpace(raw[i]) {
			i++
		}
		if i == len(raw) || raw[i] != '=' {
			continue
		}
		i++
		for i < len(raw) && isSpace(raw[i]) {
			i++
		}
		if i == len(raw) {
			break
		}
		if q := raw[i]; q == '"' || q == '\'' {
			end := strings.IndexByte(raw[i+1:], q)
			if end < 0 {
				break
			}
			i += end + 2
			continue
		}
		for i < len(raw) && !isSpace(raw[i]) && raw[i] != '>' {
			i++
		}
	}
	return offsets
}
