package cardrun

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/cardrun/limits"
)

// sample is a card that passes; change makes a card that may not.
func sample(change func(c *Card)) *Card {
	c := &Card{Title: "Plain title", Summary: "A summary that stands on its own.", HTML: `<p id="out">start</p>`, JavaScript: "ui.text('out', 'ok');"}
	if change != nil {
		change(c)
	}
	return c
}

// expectCodes checks the findings of severity error, each as code and field.
func expectCodes(t *testing.T, c *Card, want ...string) []Diagnostic {
	t.Helper()
	k, ds := c.Check()
	var got []string
	for _, d := range ds {
		if isError(d) {
			got = append(got, string(d.Code)+" "+d.Field)
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q\n%.500v", got, want, ds)
	}
	if (k == nil) != (len(want) > 0) {
		t.Fatalf("Checked: %t", k != nil)
	}
	return ds
}

func TestLengthsR3toR7D1(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want []string
	}{
		{"t", 120, nil},
		{"t", 121, []string{"field_length title"}},
		{"é", 120, nil},
		{"\U0001F600", 60, nil},
		{"\U0001F600", 61, []string{"field_length title"}},
		{"", 0, []string{"field_length title"}},
	} {
		expectCodes(t, sample(func(k *Card) { k.Title = strings.Repeat(c.text, c.n) }), c.want...)
	}
	expectCodes(t, sample(func(k *Card) { k.Summary = "" }), "field_length summary")
	expectCodes(t, sample(func(k *Card) { k.Summary = strings.Repeat("s", 2000) }))
	expectCodes(t, sample(func(k *Card) { k.Summary = strings.Repeat("s", 2001) }), "field_length summary")
	expectCodes(t, sample(func(k *Card) { k.HTML = "" }), "field_length html")
	expectCodes(t, sample(func(k *Card) { k.HTML = strings.Repeat("h", 12000) }))
	expectCodes(t, sample(func(k *Card) { k.HTML = strings.Repeat("h", 12001) }), "field_length html")
	expectCodes(t, sample(func(k *Card) { k.CSS = "p{" + strings.Repeat(" ", 5997) + "}" }))
	expectCodes(t, sample(func(k *Card) { k.CSS = "p{" + strings.Repeat(" ", 5998) + "}" }), "field_length css")
	expectCodes(t, sample(func(k *Card) { k.JavaScript = strings.Repeat(" ", 12000) }))
	expectCodes(t, sample(func(k *Card) { k.JavaScript = strings.Repeat(" ", 12001) }), "field_length javascript")
	expectCodes(t, sample(func(k *Card) { k.JavaScript = "" }))
	expectCodes(t, &Card{}, "field_length title", "field_length summary", "field_length html")

	ds := expectCodes(t, sample(func(k *Card) { k.Title = strings.Repeat("\U0001F600", 1000) }), "field_length title")
	if want := "title has 2,000 characters (UTF-16 code units); the limit is 120. Shorten it by 1,880"; !strings.HasPrefix(ds[0].Message, want) {
		t.Errorf("got %q, want %q", ds[0].Message, want)
	}
}

func TestVisibilityR8(t *testing.T) {
	for _, s := range []string{" ", "\u200d", "\t\n\u00a0\u3000", "\u200b \u2060\ufeff", "\u00ad", "\u034f", "\u202e\u2066", "\ufe0f", "\u3164", "\u115f\u1160\uffa0", "\x00\x1f\x7f\u0085", "\U000e0041"} {
		expectCodes(t, sample(func(k *Card) { k.Title = s }), "text_invisible title")
		expectCodes(t, sample(func(k *Card) { k.Summary = s }), "text_invisible summary")
	}
	for _, s := range []string{".", "\u200d.\u200d", "0", "\u0301", "\u4e00", "\ufffd"} {
		expectCodes(t, sample(func(k *Card) { k.Title, k.Summary = s, s }))
	}
}

func TestUTF8OfLiteralCards(t *testing.T) {
	c := sample(func(k *Card) { k.JavaScript, k.HTML = "a\n\xff", "<p>\xc3</p>" })
	ds := expectCodes(t, c, "json_invalid html", "json_invalid javascript")
	if ds[1].Line != 2 || ds[1].Column != 1 || c.ID() != "" {
		t.Errorf("got %v, ID %q", ds[1], c.ID())
	}
	if _, err := c.Result(); limits.CodeOf(err) != limits.JSONInvalid {
		t.Errorf("Result: %v", err)
	}
	expectCodes(t, sample(func(k *Card) { k.Title = "\ufffd" }))
}

func TestInitialInputsD35(t *testing.T) {
	area := func(n int, text string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `<textarea id="a%d">%s</textarea>`, i, text)
		}
		return b.String()
	}
	expectCodes(t, sample(func(k *Card) { k.HTML, k.JavaScript = area(5, strings.Repeat("x", 2000)), "" }))
	// R105: one value.
	ds := expectCodes(t, sample(func(k *Card) { k.HTML = area(1, strings.Repeat("x", 2049)) }), "field_length html")
	if !strings.Contains(ds[0].Message, "2,048") {
		t.Errorf("got %v", ds)
	}
	// R106: all values; within html's 12,000 only escapes can get there.
	ds = expectCodes(t, sample(func(k *Card) {
		k.HTML, k.JavaScript = area(5, strings.Repeat(`"`, 2000)), ""
	}), "field_length html")
	if !strings.Contains(ds[0].Message, "16,000") {
		t.Errorf("got %v", ds)
	}
}

// R125: html and css are looked into although other fields, or their own lengths, are wrong already.
func TestAllFaultsR125(t *testing.T) {
	expectCodes(t, &Card{
		Title: "\u200d", Summary: "s", HTML: `<p onclick="x()">` + strings.Repeat("h", 12000), CSS: "@import 'x';", JavaScript: strings.Repeat("j", 12001),
	}, "text_invisible title", "field_length html", "attribute_forbidden html", "css_forbidden css", "field_length javascript", "result_too_large ")
}

// A field that is far over its limit is not parsed: the work of a check is bounded.
func TestHugeFields(t *testing.T) {
	huge := strings.Repeat("<b>", 1<<20)
	expectCodes(t, sample(func(k *Card) { k.HTML, k.CSS = huge, huge }), "field_length html", "field_length css", "result_too_large ")
}

func TestWarningsPass(t *testing.T) {
	k, ds := sample(func(k *Card) { k.HTML = "<p>\n<blink>x</blink></p>" }).Check()
	if k == nil || len(ds) != 1 || ds[0].Severity != limits.SeverityWarning || ds[0].Line != 2 || !slices.Equal(ds, k.Warnings) {
		t.Fatalf("got %v, %v", k, ds)
	}
	if got := k.HTML.String(); got != "<p>\nx</p>" {
		t.Errorf("html is %q", got)
	}
}

func TestIDCanonicalRFC8785(t *testing.T) {
	// Both hashes were computed with Node's JSON.stringify over sorted members, not with this package.
	c := &Card{Title: "t", Summary: "é", HTML: "\b\f\n\r\t\x01\x7f\"\\/", CSS: "\u2028<>&", JavaScript: "€\U0001F600"}
	if got, want := c.ID(), "sha256:527073bfeeb6f298db163eacac7864ff3d12b84c4009829a5ac34850b4777107"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := new(sharedCard(t, "capacity")).ID(), "sha256:09d66c3cd45a7eb7ceff441d88b71b0c1598b3823c30496418e4fe4f28a1e06f"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// R11: the ID is of the source as given, so that what is shown alike may still be two sources.
func TestIDIsOfTheSource(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range []string{"a", "a ", "\u200da", "b"} {
		seen[sample(func(k *Card) { k.Title = s }).ID()] = true
	}
	seen[sample(func(k *Card) { k.CSS, k.JavaScript = k.JavaScript, k.CSS }).ID()] = true
	if len(seen) != 5 {
		t.Errorf("%d ids", len(seen))
	}
	one, two := sample(nil), sample(nil)
	if one.ID() != two.ID() {
		t.Error("equal sources have two ids")
	}
}

// R14: the complete examples pass unchanged, with nothing to remark.
func TestExamplesPassR14(t *testing.T) {
	for _, file := range []string{"capacity", "weighted"} {
		c := sharedCard(t, file)
		if k, ds := c.Check(); k == nil || len(ds) > 0 {
			t.Errorf("%s: %v", file, ds)
		}
	}
}

// The document of a checked card is each caller's own.
func TestDocumentsAreSeparate(t *testing.T) {
	k, _ := sample(func(k *Card) { k.HTML = `<input id="a" value="1">` }).Check()
	one, two := k.Document(), k.Document()
	value := "2"
	if _, err := one.Edit("a", &value, nil); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{two.HTML(), k.Document().HTML()} {
		if strings.Contains(d, `"2"`) || !strings.Contains(d, `"1"`) {
			t.Errorf("an edit shows in another document: %s", d)
		}
	}
}

func TestInfoD3(t *testing.T) {
	c := sample(func(k *Card) { k.Title, k.Summary = "\u202eA  B\n", "e\u0301" })
	k, _ := c.Check()
	want := CardInfo{ID: c.ID(), Title: "A B", Summary: "é"}
	if k.Info() != want || c.Info() != want {
		t.Errorf("got %v and %v, want %v", k.Info(), c.Info(), want)
	}
	if got := new(Decode([]byte(`{"title":" T "}`))).Info(); got != (CardInfo{Title: "T"}) {
		t.Errorf("got %v", got)
	}
}

func TestResultErrorIsTheFirstFault(t *testing.T) {
	_, err := sample(func(k *Card) { k.Title, k.HTML = "", "<p>\n<script></script>" }).Result()
	var e *limits.Error
	if !errors.As(err, &e) || e.Code != limits.FieldLength || e.Field != "title" {
		t.Errorf("got %v", err)
	}
}

func sharedCard(t *testing.T, file string) Card {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "shared", "cards", file+".json"))
	if err != nil {
		t.Skipf("SKIPPED: the shared cards are not beside the repository: %v", err)
	}
	return Decode(data)
}
