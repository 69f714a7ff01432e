package limits

import "unicode/utf8"

// Length counts s in UTF-16 code units, as JavaScript's length and HTML's maxlength do (D1): one for each code point
// up to U+FFFF, two for each above, and one (U+FFFD) for each byte that is not valid UTF-8.
func Length(s string) int {
	n := 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			i++
			n++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// Cut returns the longest prefix of s whose Length is at most n. It never splits a code point.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		n--
		if r > 0xFFFF {
			n--
		}
		if n < 0 {
			return s[:i]
		}
		i += size
	}
	return s
}

// Position turns a byte offset in s into a line and a column, both from 1. Columns count UTF-16 code units, as editors
// and JavaScript engines do; lines end at LF, CR or CRLF. An offset past the end is the end.
func Position(s string, offset int) (line, column int) {
	offset = min(offset, len(s))
	line, start := 1, 0
	for i := range offset {
		if s[i] == '\n' || s[i] == '\r' && (i+1 >= len(s) || s[i+1] != '\n') {
			line++
			start = i + 1
		}
	}
	return line, 1 + Length(s[start:offset])
}

// ValidID reports whether s may be an id: ^[A-Za-z][A-Za-z0-9_-]{0,63}$ (R24).
func ValidID(s string) bool {
	if len(s) == 0 || len(s) > IDLength {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c|0x20 >= 'a' && c|0x20 <= 'z':
		case i > 0 && (c >= '0' && c <= '9' || c == '_' || c == '-'):
		default:
			return false
		}
	}
	return true
}
