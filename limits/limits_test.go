package limits

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"
)

func TestLengthD1(t *testing.T) {
	for in, want := range map[string]int{
		"": 0, "abc": 3, "é": 1, "€": 1, "\U0001F600": 2, "a\U0001F600b": 4, "\x00": 1, "\xff\xfe": 2, "\ufffd": 1, "×": 1,
	} {
		if got := Length(in); got != want {
			t.Errorf("Length(%q) = %d, want %d", in, got, want)
		}
	}
}

func FuzzLength(f *testing.F) {
	for _, s := range []string{"", "a€\U0001F600\xff", "\xf0\x9f"} {
		f.Add(s, 2)
	}
	f.Fuzz(func(t *testing.T, s string, n int) {
		if got, want := Length(s), len(utf16.Encode([]rune(s))); got != want {
			t.Fatalf("Length(%q) = %d, utf16 has %d", s, got, want)
		}
		n = int(uint(n) % 64)
		cut := Cut(s, n)
		if !strings.HasPrefix(s, cut) || Length(cut) > n || cut != s && Length(cut) < n-1 {
			t.Fatalf("Cut(%q, %d) = %q", s, n, cut)
		}
	})
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{{"abc", 2, "ab"}, {"abc", 3, "abc"}, {"a\U0001F600", 2, "a"}, {"a\U0001F600", 3, "a\U0001F600"}, {"é€", 1, "é"}, {"x", 0, ""}} {
		if got := Cut(c.in, c.n); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestPosition(t *testing.T) {
	for _, c := range []struct {
		in           string
		offset       int
		line, column int
	}{{"abc", 0, 1, 1}, {"abc", 2, 1, 3}, {"a\nb", 2, 2, 1}, {"a\r\nb", 3, 2, 1}, {"a\rb", 2, 2, 1}, {"\U0001F600x", 4, 1, 3}, {"ab", 9, 1, 3}} {
		if l, col := Position(c.in, c.offset); l != c.line || col != c.column {
			t.Errorf("Position(%q, %d) = %d:%d, want %d:%d", c.in, c.offset, l, col, c.line, c.column)
		}
	}
}

func TestValidIDR24(t *testing.T) {
	for _, s := range []string{"a", "Z", "a-b_C9", "constructor", strings.Repeat("x", 64)} {
		if !ValidID(s) {
			t.Errorf("ValidID(%q) = false", s)
		}
	}
	for _, s := range []string{"", "9a", "_a", "-a", "a b", "é", "a\u212a", "a.b", "@a", "[a", "`a", "{a", strings.Repeat("x", 65)} {
		if ValidID(s) {
			t.Errorf("ValidID(%q) = true", s)
		}
	}
}

func TestCodeOf(t *testing.T) {
	if got := CodeOf(nil); got != "" {
		t.Errorf("CodeOf(nil) = %q", got)
	}
	if got := CodeOf(errors.New("x")); got != Engine {
		t.Errorf("CodeOf(other) = %q", got)
	}
	cause := errors.New("below")
	err := fmt.Errorf("run round: %w", &Error{Code: Timeout, Message: "250 ms passed", Cause: cause})
	if got := CodeOf(err); got != Timeout || !errors.Is(err, cause) {
		t.Errorf("CodeOf = %q", got)
	}
}

func TestDiagnosticString(t *testing.T) {
	d := Diagnostic{SeverityWarning, AttributeDropped, "html", 1, 20, "style is not allowed; use css"}
	if got, want := d.String(), "html:1:20: warning: attribute_dropped: style is not allowed; use css"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	d.Line, d.Column, d.Field = 0, 0, ""
	if got, want := d.String(), ":::"; !strings.HasPrefix(got, want) {
		t.Errorf("got %q", got)
	}
}
