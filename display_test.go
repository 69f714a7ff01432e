package cardrun

import (
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

func TestDisplayTextD3(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "",
		"Loan":                      "Loan",
		"  Loan\t\r\n payment ":     "Loan payment",
		"a\u00a0\u2003\u3000b":      "a b",
		"a \u200b \u2060 b":         "a b",
		"pass\u00adword":            "password",
		"e\u0301":                   "\u00e9",
		"e\u200d\u0301":             "\u00e9",
		"\u202eevil\u202c":          "evil",
		"\u2066x\u2069":             "x",
		"\ufeffx":                   "x",
		"a\u034fb":                  "ab",
		"x\ufe0f":                   "x",
		"\u3164x\uffa0":             "x",
		"\x1b[31mred":               "[31mred",
		"a\x00b":                    "ab",
		"a\u0085b\u2028c\u2029d":    "a b c d",
		"\U0001F600":                "\U0001F600",
		"\u2126":                    "\u03a9",
		"\U000e0100x":               "x",
		"\u2800":                    "\u2800", // a Braille pattern is a visible character to Unicode
		"5 × 3 = 15 ✓":              "5 × 3 = 15 ✓",
		"a\u0301\u0323":             "\u1ea1\u0301",
		strings.Repeat("\u200d", 9): "",
	} {
		if got := displayText(in); got != want {
			t.Errorf("displayText(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzDisplayText(f *testing.F) {
	for _, s := range []string{"a\u200d\u0301 b", "\u1100\u115f\u1161", "\u0344" + strings.Repeat("\u0301", 70), "x\u034f\u0323\u0301"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := displayText(s)
		if again := displayText(got); again != got {
			t.Fatalf("displayText(%q) = %q, and again %q", s, got, again)
		}
		if !utf8.ValidString(got) || strings.TrimSpace(got) != got || strings.Contains(got, "  ") {
			t.Fatalf("displayText(%q) = %q", s, got)
		}
		for _, r := range got {
			if invisible(r) {
				t.Fatalf("displayText(%q) = %q holds %U", s, got, r)
			}
		}
		// The normalizer itself breaks longer runs of accents.
		if len(s) < 30 && !norm.NFC.IsNormalString(got) {
			t.Fatalf("displayText(%q) = %q is not NFC", s, got)
		}
	})
}
