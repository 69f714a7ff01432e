package sanitize

import "strings"

// loadsNothing reports whether a value of an SVG presentation attribute is free of the CSS functions that load or refer
// (R29, D7). Comments and escapes are resolved first, and white space before the parenthesis is ignored, which is stricter
// than CSS.
func loadsNothing(value string) bool {
	if strings.IndexByte(value, '(') < 0 && strings.IndexByte(value, '\\') < 0 {
		return true
	}
	s := asciiLower(unescape(withoutComments(value)))
	for i := strings.IndexByte(s, '('); i >= 0; {
		head := strings.TrimRight(s[:i], " \t\n\r\f")
		start := len(head)
		for start > 0 && isNameByte(head[start-1]) {
			start--
		}
		if forbiddenFunction(head[start:]) {
			return false
		}
		next := strings.IndexByte(s[i+1:], '(')
		if next < 0 {
			break
		}
		i += 1 + next
	}
	return true
}

func isNameByte(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c >= 0x80
}

// withoutComments takes CSS comments out; an unterminated one runs to the end.
func withoutComments(s string) string {
	if !strings.Contains(s, "/*") {
		return s
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "/*")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, s, _ = strings.Cut(rest, "*/")
	}
}

// unescape resolves CSS escapes (CSS Syntax 3, section 4.3.7). A backslash before a line end, which continues a string, goes
// with it.
func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			i++
			continue
		}
		i++
		if i == len(s) {
			b.WriteRune('\ufffd')
			break
		}
		r, digits := rune(0), 0
		for digits < 6 && i+digits < len(s) && isHex(s[i+digits]) {
			r = r<<4 | rune(hexValue(s[i+digits]))
			digits++
		}
		switch {
		case digits > 0:
			i += digits
			if r == 0 || r > 0x10FFFF || r >= 0xD800 && r <= 0xDFFF {
				r = '\ufffd'
			}
			b.WriteRune(r)
			if strings.HasPrefix(s[i:], "\r\n") {
				i += 2
			} else if i < len(s) && isSpace(s[i]) {
				i++
			}
		case strings.HasPrefix(s[i:], "\r\n"):
			i += 2
		case s[i] == '\n' || s[i] == '\r' || s[i] == '\f':
			i++
		default:
			b.WriteByte(s[i])
			i++
		}
	}
	return b.String()
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

func hexValue(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }
