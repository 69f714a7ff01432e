package sanitize

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/microcosm-cc/bluemonday"
)

// cardLike is a document such as a model writes, of at least n bytes: headings, text, controls, a table, a chart. Its
// ids are unique and it is written as the serializer writes; for many n it holds more elements than a card may.
func cardLike(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, `<section class="part"><h2>Estimated capacity %d</h2><p>Formula: <strong>workers</strong> × requests/s &amp; overhead.</p>`, i)
		fmt.Fprintf(&b, `<label for="w%[1]d">Workers</label><input id="w%[1]d" type="range" min="1" max="20" value="4">`, i)
		b.WriteString(`<table><caption>Costs</caption><thead><tr><th scope="col">Plan</th><th scope="col">Score</th></tr></thead><tbody>`)
		for j := range 4 {
			fmt.Fprintf(&b, `<tr><td>Plan %d</td><td id="c%d-%d">7.%d</td></tr>`, j, i, j, j)
		}
		b.WriteString(`</tbody></table><svg viewBox="0 0 100 40" role="img" aria-label="Chart"><polyline points="0,40 20,10 60,30 100,0" fill="none" stroke="#246" stroke-width="2"></polyline></svg></section>`)
	}
	return b.String()
}

func BenchmarkHTML(b *testing.B) {
	// Written as the serializer writes, and as people do: no end tags that may be left out, entities, one style attribute.
	canonical := func(n int) string { return cardLike(n) }
	handmade := func(n int) string {
		s := strings.NewReplacer("</td>", "", "</tr>", "", "×", "&times;", `type="range"`, "type=range").Replace(cardLike(n))
		return s + `<p style="color:red">x</p>`
	}
	ugc, second := bluemonday.UGCPolicy(), secondPolicy()
	for _, size := range []int{600, 12_000, 64 << 10} {
		for _, form := range []struct {
			name string
			text string
		}{{"canonical", canonical(size)}, {"handmade", handmade(size)}} {
			for _, f := range []struct {
				name string
				run  func(s string)
			}{
				{"parse", func(s string) { parseBody(s) }},
				{"Card", func(s string) { Card(s) }},
				{"Fragment", func(s string) { Fragment(s) }},
				{"bluemondayUGC", func(s string) { ugc.Sanitize(s) }},
				{"bluemondaySecond", func(s string) { second.Sanitize(s) }},
			} {
				b.Run(fmt.Sprintf("%dB/%s/%s", size, form.name, f.name), func(b *testing.B) {
					b.SetBytes(int64(len(form.text)))
					b.ReportAllocs()
					for b.Loop() {
						f.run(form.text)
					}
				})
			}
		}
	}
}

func BenchmarkCSS(b *testing.B) {
	s := strings.Repeat("section > p:hover, .a { padding: 16px; color: rgba(0,0,0,.5); }\n@media (min-width: 400px) { p { margin: 0 auto } }\n", 50)[:5_700]
	b.SetBytes(int64(len(s)))
	b.ReportAllocs()
	for b.Loop() {
		sheet, _ := CSS(s + "}}")
		_ = sheet.Scoped(".card")
	}
}

// Hostile texts of the largest size that a card or batch may have take milliseconds. The bound is dozens of times what
// was measured, so that only growth beyond linear passes it.
func TestHostileTime(t *testing.T) {
	for _, unit := range []string{"<", "<p a=", "<p style=x>", "<img>", "<b>", "<b><p>", "<a><table>", "</p>", "</b>", "<b></p>", "<table><tr>x", "<select><option>", "<svg><title>",
		"<svg><p>", "<math><mi>", "<i class=a><div></i>", "&amp", "&#", "<!--", "<![CDATA[", "<textarea>", "<label for=a><p id=a>", "<p a b c d e f=", "<template>", "<svg><template>",
		"<nobr>", "<dd><dt>", "<li>", "<form><form>", "<button><button>", "<h1><h2>", "<p id=1>", "<svg fill='((((((' a=\\\\>", "\r", "\x00", "</br>", "<input name='' type=file>",
		"<p aria-labelledby='a b c d e f g h'>", "<frameset>", "<td>", "<caption>", "<x-y>"} {
		expectQuick(t, unit, strings.Repeat(unit, 16_000/len(unit)+1))
		expectQuick(t, "<p "+unit, "<p "+strings.Repeat(unit[1:]+" ", 16_000/len(unit)+1)+">")
	}
	for _, open := range []int{100, 200, 250, 300, 500} {
		var tangle strings.Builder
		for i := range open {
			fmt.Fprintf(&tangle, "<b class=%d>", i)
		}
		for _, blocks := range []int{100, 140, 200, 400, 3000} {
			expectQuick(t, fmt.Sprint(open, " left open"), "<p>"+tangle.String()+strings.Repeat("<p>x", blocks))
			expectQuick(t, fmt.Sprint(open, " left open"), "<p>"+tangle.String()+strings.Repeat("<p></b>", blocks))
		}
	}
	var attrs strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&attrs, " on%d", i)
	}
	expectQuick(t, "many attributes", "<p"+attrs.String()+">")
	for _, unit := range []string{"a", "a{", "a{}", "a,", "{", "}", "(", "\\", "/**/", "/*", "\"", "\"\n", "@a", "@a{}", "@media a{", "@import;", "a:b;", "a{a:b;", "a{a{}", "a{--a:{}}", "url(", "url(a)", "\\75 rl(",
		"--a:{}", "a/**/", "a b ", "&", "a{&", "<", "-->", "body ", "body>", ":root", "!", "a{b!", "u+", "1e", "#", ".", ":is(", "[", "a[b]", "\x00", "\r\n", "é"} {
		s := strings.Repeat(unit, 60_000/len(unit))
		start := time.Now()
		sheet, _ := CSS(s)
		_ = sheet.Scoped(".card")
		sheet, _ = CSS("a{" + s + "}")
		_ = sheet.Scoped(".card")
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("CSS of many %q takes %v", unit, d)
		}
	}
}

func expectQuick(t *testing.T, name, s string) {
	t.Helper()
	start := time.Now()
	Card(s)
	card := time.Since(start)
	Fragment(s)
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("%q: Card takes %v, Fragment %v", name, card, d-card)
	} else if testing.Verbose() && d > 30*time.Millisecond {
		t.Logf("%q: Card takes %v, Fragment %v", name, card, d-card)
	}
}
