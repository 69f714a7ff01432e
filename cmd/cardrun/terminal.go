package main

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.com/cardrun/limits"
)

// A card's text may end up on a terminal. There, control characters move the cursor, change colours or type answers, and
// bidirectional controls show text in another order than it has. Neither leaves this program as itself.

// terminalSafe writes such characters of a text as \u{1b}, but for line breaks and tabs. Bytes that are no UTF-8 become
// U+FFFD.
func terminalSafe(s string) string {
	return escape(s, "\n\t")
}

// lineSafe is terminalSafe for text that has to stay on one line: a line break becomes ↵, set off by spaces, and a tab a
// space.
func lineSafe(s string) string {
	if strings.ContainsAny(s, "\r\n\t") {
		s = strings.NewReplacer("\r\n", " ↵ ", "\n", " ↵ ", "\r", " ↵ ", "\t", " ").Replace(s)
	}
	return escape(s, "")
}

// brief is the beginning of what somebody gave, for a message about it.
func brief(s string) string {
	const most = 80
	if cut := limits.Cut(s, most); len(cut) < len(s) {
		return cut + "…"
	}
	return s
}

// message is an error as it is printed: safe for a terminal, on one line, and with its middle left out where it is so long
// that somebody's text must be in it.
func message(err error) string {
	const most, head, tail = 600, 400, 150
	s := lineSafe(err.Error())
	if r := []rune(s); len(r) > most {
		s = string(r[:head]) + " … " + string(r[len(r)-tail:])
	}
	return s
}

func escape(s, keep string) string {
	if strings.IndexFunc(s, func(r rune) bool { return unprintable(r) && !strings.ContainsRune(keep, r) || r == utf8.RuneError }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unprintable(r) && !strings.ContainsRune(keep, r) {
			fmt.Fprintf(&b, `\u{%x}`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// jsonSafe escapes, in a JSON text, the unsafe characters that JSON lets strings hold as they are. The text means the same
// afterwards: outside strings JSON knows none of them.
func jsonSafe(text []byte) []byte {
	if bytes.IndexFunc(text, unprintableInJSON) < 0 {
		return text
	}
	b := make([]byte, 0, len(text)+64)
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case !unprintableInJSON(r):
			b = append(b, text[:n]...)
		case r > 0xFFFF:
			r -= 0x10000
			b = fmt.Appendf(b, `\u%04x\u%04x`, 0xD800+r>>10, 0xDC00+r&0x3FF)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
		text = text[n:]
	}
	return b
}

func unprintableInJSON(r rune) bool { return unprintable(r) && r >= 0x20 }

// unprintable tells of a control character (C0, DEL, C1), a line separator, or a format character that is no joiner: joiners
// shape scripts and emoji, and do nothing else.
func unprintable(r rune) bool {
	switch r {
	case '\u200c', '\u200d':
		return false
	case '\u2028', '\u2029':
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf)
}
