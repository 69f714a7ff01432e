package cardrun

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/cardrun/limits"
)

// FuzzCheck checks cards with any text in their fields, and holds Check against what it promises.
func FuzzCheck(f *testing.F) {
	for _, c := range []*Card{
		sample(nil),
		sample(func(k *Card) { k.HTML, k.CSS = `<input id=a value=1><p onclick=x>`, "p{color:red}" }),
		sample(func(k *Card) { k.HTML, k.CSS = strings.Repeat("<b><p>", 200), "@media (x) {p{" }),
		sample(func(k *Card) { k.Title, k.Summary = "\u200d\xff", "e\u0301\u202e" }),
	} {
		f.Add(c.Title, c.Summary, c.HTML, c.CSS, c.JavaScript)
	}
	f.Fuzz(func(t *testing.T, title, summary, html, css, javascript string) {
		c := &Card{Title: title, Summary: summary, HTML: html, CSS: css, JavaScript: javascript}
		k, ds := c.Check()
		if (k == nil) != rejects(ds) {
			t.Fatalf("passed: %t, with %v", k != nil, ds)
		}
		place := func(d Diagnostic) [3]int { return [3]int{rank(d), d.Line, d.Column} }
		for i, d := range ds {
			if d.Message == "" || d.Code == "" || d.Field != "" && !slices.Contains(names[:], name(d.Field)) {
				t.Fatalf("%+v", d)
			}
			if i > 0 && slices.Compare(sliceOf(place(ds[i-1])), sliceOf(place(d))) > 0 {
				t.Fatalf("%v is before %v", ds[i-1], d)
			}
			text, _, _ := c.field(name(d.Field))
			if d.Line < 0 || d.Line > 1+len(text) || d.Column < 0 || d.Column > 1+len(text) {
				t.Fatalf("%v is outside %q", d, text)
			}
		}
		result, err := c.Result()
		if (err == nil) != (k != nil) {
			t.Fatalf("passed: %t, but the result: %v", k != nil, err)
		}
		if k == nil {
			return
		}
		if len(result) > limits.Result || !json.Valid(result) || k.Title == "" || k.Summary == "" || k.ID != c.ID() {
			t.Fatalf("%q gives %q", c.appendCanonical(nil), result)
		}
		if _, err := k.Document().Snapshot(); err != nil {
			t.Fatalf("a card that passed has no initial inputs: %v", err)
		}
	})
}

func sliceOf(a [3]int) []int { return a[:] }

// The longest texts that Decode looks at take it milliseconds, whatever is in them. The bound here is wide, for slow
// machines; quadratic work would pass it many times over.
func TestDecodeIsLinear(t *testing.T) {
	for what, in := range map[string]string{
		"unknown members":    "{" + strings.Repeat(`"abcdefgh":0,`, MaxJSON/13-1) + `"a":0}`,
		"distinct members":   "{" + distinct(MaxJSON/10) + "}",
		"one member again":   "{" + strings.Repeat(`"css":"",`, MaxJSON/9-1) + `"a":0}`,
		"open arrays":        `{"css":` + strings.Repeat("[", MaxJSON-100),
		"nested to the edge": `{"css":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `,"title":[` + strings.Repeat("{},", MaxJSON/4) + "{}]}",
		"lone surrogates":    `{"css":"` + strings.Repeat(`\ud800`, MaxJSON/6-10) + `"}`,
		"invalid bytes":      `{"css":"` + strings.Repeat("\xff", MaxJSON-100) + `"}`,
		"invisible":          `{"title":"` + strings.Repeat("\u0301", MaxJSON/2-10) + `"}`,
	} {
		start := time.Now()
		if _, ds := new(Decode([]byte(in))).Check(); !rejects(ds) || len(ds) > 50 {
			t.Errorf("%s: %d findings", what, len(ds))
		}
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("%s: %v for %d bytes", what, took, len(in))
		}
	}
}

// distinct is n bytes of members with distinct names.
func distinct(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString(`"` + thousands(i) + `":0,`)
	}
	return b.String() + `"a":0`
}
