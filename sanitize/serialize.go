package sanitize

import "strings"

// AppendHTML appends n and all below it to dst as HTML text and returns the longer slice. It is the one serializer of
// the product, and follows WHATWG HTML section 13.3 ("serializing HTML fragments") with two additions that make the
// text parse back into the same tree: a newline at the start of pre and textarea is doubled, since a parser drops the
// first; and a carriage return becomes &#13;, since a parser turns a bare one into a line feed. Escaping < and > in attribute
// values is the section's own rule since 2025; it takes the raw-text mutations away.
func AppendHTML(dst []byte, n *Node) []byte {
	if n.Tag == "" {
		return appendEscaped(dst, n.Text, false)
	}
	dst = append(dst, '<')
	dst = append(dst, n.Tag...)
	for _, a := range n.Attr {
		dst = append(dst, ' ')
		dst = append(dst, a.Name...)
		dst = append(dst, '=', '"')
		dst = appendEscaped(dst, a.Value, true)
		dst = append(dst, '"')
	}
	dst = append(dst, '>')
	if !n.SVG {
		if isVoid(n.Tag) {
			return dst
		}
		if (n.Tag == "pre" || n.Tag == "textarea") && startsWithNewline(n) {
			dst = append(dst, '\n')
		}
	}
	dst = appendNodes(dst, n.Children)
	dst = append(dst, '<', '/')
	dst = append(dst, n.Tag...)
	return append(dst, '>')
}

func appendNodes(dst []byte, list []*Node) []byte {
	for _, n := range list {
		dst = AppendHTML(dst, n)
	}
	return dst
}

// isVoid tells the elements of the whitelist that have no end tag (WHATWG HTML section 13.1.2).
func isVoid(tag string) bool {
	switch tag {
	case "br", "hr", "wbr", "col", "input":
		return true
	}
	return false
}

func startsWithNewline(n *Node) bool {
	for _, c := range n.Children {
		if c.Tag != "" {
			return false
		}
		if c.Text != "" {
			return c.Text[0] == '\n'
		}
	}
	return false
}

// appendEscaped escapes a string (WHATWG HTML section 13.3, "escaping a string"). A NUL, which no parse leaves in a
// tree, is written as the replacement character that a parser would put there.
func appendEscaped(dst []byte, s string, attribute bool) []byte {
	start := 0
	for i := 0; i < len(s); i++ {
		esc, size := "", 1
		switch s[i] {
		case '&':
			esc = "&amp;"
		case '<':
			esc = "&lt;"
		case '>':
			esc = "&gt;"
		case '\r':
			esc = "&#13;"
		case 0:
			esc = "\ufffd"
		case '"':
			if attribute {
				esc = "&quot;"
			}
		case nbsp[0]:
			if strings.HasPrefix(s[i:], nbsp) {
				esc, size = "&nbsp;", len(nbsp)
			}
		}
		if esc == "" {
			continue
		}
		dst = append(dst, s[start:i]...)
		dst = append(dst, esc...)
		i += size - 1
		start = i + 1
	}
	return append(dst, s[start:]...)
}

const nbsp = "\u00a0"
