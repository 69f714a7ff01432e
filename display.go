package cardrun

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// displayText is the form in which a title or summary is shown (D3): NFC, on one line, runs of white space as one space,
// none at the ends, and no character that shows nothing by itself or changes the direction of others. It is empty
// exactly when s shows nothing (R8). Applying it again changes nothing.
func displayText(s string) string {
	// NFC comes between two passes: taking out a joiner can bring a letter and its accent together, and the
	// normalizer breaks very long runs of accents with an invisible character of its own.
	return visible(norm.NFC.String(visible(s)))
}

func visible(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	space := false
	for _, r := range s {
		switch {
		case r > ' ' && r < 0x7f: // most text, and the tables below take their time
			if space {
				b.WriteByte(' ')
				space = false
			}
			b.WriteByte(byte(r))
		case unicode.Is(unicode.White_Space, r):
			space = b.Len() > 0
		case invisible(r):
		default:
			if space {
				b.WriteByte(' ')
				space = false
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

// invisible is D3's list: control and format characters (the bidirectional controls, joiners and the byte order mark are
// among them) and what Unicode calls default ignorable (DerivedCoreProperties.txt: variation selectors, Hangul
// fillers, the combining grapheme joiner and the ranges reserved for such).
func invisible(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}
