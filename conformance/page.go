package conformance

import (
	"fmt"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Page is displayed html as a browser reads it: body content, parsed. Its zero value shows nothing.
type Page struct {
	top      []*html.Node
	elements map[string]*html.Node // by id, the first of each
	tags     map[string]int
}

// ParsePage reads displayed html. The error is that of the parser, for html nested too deep to be parsed.
func ParsePage(text string) (*Page, error) {
	body := &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body}
	top, err := html.ParseFragment(strings.NewReader(text), body)
	if err != nil {
		return nil, fmt.Errorf("parse displayed html: %w", err)
	}
	p := &Page{top: top, elements: map[string]*html.Node{}, tags: map[string]int{}}
	for _, n := range top {
		p.index(n)
		for d := range n.Descendants() {
			p.index(d)
		}
	}
	return p, nil
}

func (p *Page) index(n *html.Node) {
	if n.Type != html.ElementNode {
		return
	}
	p.tags[strings.ToLower(n.Data)]++
	for _, a := range n.Attr {
		if a.Key == "id" && a.Namespace == "" && p.elements[a.Val] == nil {
			p.elements[a.Val] = n
		}
	}
}

// Has tells whether an element has that id.
func (p *Page) Has(id string) bool { return p.elements[id] != nil }

// Text is the text content of the element with that id, and whether there is one.
func (p *Page) Text(id string) (string, bool) {
	e := p.elements[id]
	if e == nil {
		return "", false
	}
	var b strings.Builder
	for n := range e.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
	}
	return b.String(), true
}

// InnerHTML is the serialized content of the element with that id, and whether there is one.
func (p *Page) InnerHTML(id string) (string, bool) {
	e := p.elements[id]
	if e == nil {
		return "", false
	}
	var b strings.Builder
	for c := range e.ChildNodes() {
		serialize(&b, c)
	}
	return b.String(), true
}

// Count is how many elements have that tag, in any case.
func (p *Page) Count(tag string) int { return p.tags[strings.ToLower(tag)] }

// HTML is the whole page, serialized.
func (p *Page) HTML() string {
	var b strings.Builder
	for _, n := range p.top {
		serialize(&b, n)
	}
	return b.String()
}

// serialize is WHATWG HTML section 13.3, with the newline that a parser drops from the start of pre, textarea and
// listing put back. The project has a serializer in package sanitize; this is another one on purpose, since it is here to
// find that one's faults, and it writes what that one never would. The depth is bounded by the parser's own limit.
func serialize(b *strings.Builder, n *html.Node) {
	switch n.Type {
	case html.TextNode:
		if p := n.Parent; p != nil && p.Type == html.ElementNode && p.Namespace == "" && rawText(p.Data) {
			b.WriteString(n.Data)
			return
		}
		b.WriteString(textEscapes.Replace(n.Data))
	case html.CommentNode:
		b.WriteString("<!--" + n.Data + "-->")
	case html.ElementNode:
		b.WriteString("<" + n.Data)
		for _, a := range n.Attr {
			b.WriteString(" ")
			if a.Namespace != "" {
				b.WriteString(a.Namespace + ":")
			}
			b.WriteString(a.Key + `="` + attributeEscapes.Replace(a.Val) + `"`)
		}
		b.WriteString(">")
		if n.Namespace == "" && void(n.Data) {
			return
		}
		if c := n.FirstChild; c != nil && c.Type == html.TextNode && strings.HasPrefix(c.Data, "\n") {
			switch n.Data {
			case "pre", "textarea", "listing":
				b.WriteString("\n")
			}
		}
		for c := range n.ChildNodes() {
			serialize(b, c)
		}
		b.WriteString("</" + n.Data + ">")
	}
}

var (
	textEscapes      = strings.NewReplacer("&", "&amp;", "\u00a0", "&nbsp;", "<", "&lt;", ">", "&gt;", "\r", "&#13;")
	attributeEscapes = strings.NewReplacer("&", "&amp;", "\u00a0", "&nbsp;", "<", "&lt;", ">", "&gt;", "\r", "&#13;", `"`, "&quot;")
)

// void tells the elements without an end tag (WHATWG HTML section 13.1.2).
func void(tag string) bool {
	switch tag {
	case "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input", "keygen", "link",
		"meta", "param", "source", "track", "wbr":
		return true
	}
	return false
}

// rawText tells the elements whose text a parser takes as it is.
func rawText(tag string) bool {
	switch tag {
	case "style", "script", "xmp", "iframe", "noembed", "noframes", "plaintext", "noscript":
		return true
	}
	return false
}

// plainCSS is a style sheet with its escapes decoded (CSS Syntax section 4.3.7), so that no spelling hides a word. What is
// no code point becomes U+FFFD.
func plainCSS(css string) string {
	var b strings.Builder
	for i := 0; i < len(css); {
		if css[i] != '\\' || i+1 == len(css) {
			b.WriteByte(css[i])
			i++
			continue
		}
		i++
		if css[i] == '\n' {
			i++ // an escaped line break is nothing
			continue
		}
		start, code := i, rune(0)
		for i < len(css) && i < start+6 && hexDigit(css[i]) >= 0 {
			code = code<<4 | hexDigit(css[i])
			i++
		}
		if i == start { // the character itself, of which this is the first byte
			b.WriteByte(css[i])
			i++
			continue
		}
		if code == 0 || code > 0x10ffff || code >= 0xd800 && code < 0xe000 {
			code = '\ufffd'
		}
		b.WriteRune(code)
		if i < len(css) && strings.IndexByte(" \t\n\r\f", css[i]) >= 0 {
			i++
		}
	}
	return b.String()
}

func hexDigit(c byte) rune {
	switch {
	case c >= '0' && c <= '9':
		return rune(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return -1
}
