package sanitize

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.com/cardrun/limits"
)

// places gives what limits.Position gives, whatever the order of the offsets.
func TestPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.RuneFrom([]rune("ab\r\n\u00e9\u2028\U0001F600"))).Draw(t, "s")
		starts := []int{len(s), len(s) + 3}
		for i := range s {
			starts = append(starts, i)
		}
		var p places
		for range 5 {
			offset := rapid.SampledFrom(starts).Draw(t, "offset")
			line, column := p.at(s, offset)
			if l, c := limits.Position(s, offset); l != line || c != column {
				t.Fatalf("at(%q, %d) = %d:%d, want %d:%d", s, offset, line, column, l, c)
			}
		}
	})
}

func TestStartTags(t *testing.T) {
	for _, c := range []struct{ in, names string }{
		{``, ``},
		{`<p>a</p><B x=">"><br/>`, `p B br`},
		{`a < b <3 </p> <!--<p>--> <?x <p>`, ``},
		{`<script><p></script><style><p></style><title><p></title><textarea><p></textarea><xmp><p></xmp>`, `script style title textarea xmp`},
		{`<svg><style><g></style><title><b></title><![CDATA[<p>]]></svg><style><p></style>`, `svg style g title b style`},
		{`<svg><p><style><g></style>`, `svg p style`},
		{`<svg/><style><p></style>`, `svg style`},
		{`<svg><title><style><g></style></title><style><g></style></svg>`, `svg title style style g`},
		{`<plaintext><p>`, `plaintext`},
		{`<p <b>c`, `p`},
		{"<A\x00B\nc>", "A\x00B"},
		{`<p`, ``},
	} {
		var names []string
		for _, g := range startTags(c.in) {
			names = append(names, c.in[g.start+1:g.nameEnd])
			if c.in[g.start] != '<' || c.in[g.end-1] != '>' {
				t.Errorf("of %q: tag %q", c.in, c.in[g.start:g.end])
			}
		}
		if got := strings.Join(names, " "); got != c.names {
			t.Errorf("startTags(%q) = %q, want %q", c.in, got, c.names)
		}
	}
}

func TestAttributeOffsets(t *testing.T) {
	in := `x<p/A=1 b = "c d=2" 'e' f='g'h  i/j=k/l =m n>`
	offsets := attributeOffsets(in, startTags(in)[0])
	for _, name := range []string{"A", "b ", "'e'", "f=", "h ", "i/", "j=k/l", "=m", "n>"} {
		key := strings.ToLower(strings.TrimRight(name, " =/>"))
		if name == "j=k/l" {
			key = "j"
		}
		if got, want := offsets[key], strings.Index(in, name); got != want {
			t.Errorf("offset of %q is %d, want %d", key, got, want)
		}
	}
	for _, name := range []string{"d", "c", "g", "k", "l"} {
		if at, ok := offsets[name]; ok {
			t.Errorf("%q is at %d", name, at)
		}
	}
}

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{
		`a`: "a", `\61`: "a", `\000061b`: "ab", `\61 b`: "ab", "\\61\r\nb": "ab", "\\61\fb": "ab", `\g`: "g", `\`: "\ufffd", `\0`: "\ufffd", `\d800`: "\ufffd",
		`\110000`: "\ufffd", "a\\\nb": "ab", "a\\\r\nb": "ab", `\\`: `\`, `\é`: "é", `\1F600x`: "\U0001F600x", `\0000411`: "A1",
	} {
		if got := unescape(in); got != want {
			t.Errorf("unescape(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestLoadsNothing(t *testing.T) {
	for in, want := range map[string]bool{
		"": true, "red": true, "rgb(1,2,3)": true, "rotate(45 1 2) scale(2)": true, "curl(1)": true, "url": true, "x-url(1)": true, "(": true, "((": true,
		"url(": false, "URL (": false, "a,url(x)": false, "((url(x": false, `u\72 l(`: false, "u/*(*/rl(": false, "/*x*/url/*y*/(x)": false, "/*url(x)": true,
		"-webkit-image-set(": false, "\u212aurl(x)": true, "\u00fcrl(x)": true, "image(x)": false, `\28 url(x)`: false,
	} {
		if got := loadsNothing(in); got != want {
			t.Errorf("loadsNothing(%q) = %v", in, got)
		}
	}
}
