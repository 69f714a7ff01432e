package conformance_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"example.com/cardrun"
	"example.com/cardrun/limits"
)

var update = flag.Bool("update", false, "write what the diagnostics are to testdata instead of comparing")

// A rejection is a card that is rejected: what differs from a good one, or the whole text.
type rejection struct {
	code  limits.Code
	field string // of the good card, with
	value string // in it; or
	raw   string // instead of the card
	// placed: the finding has a line and a column.
	placed bool
	// names are words of the message: the element, property or field meant, the limit, what to write instead.
	names []string
}

// rejections has at least one example of each code with which a card can be rejected.
func rejections() []rejection {
	good := `"summary":"s","html":"<p>x</p>","css":"","javascript":""}`
	return []rejection{
		{code: limits.JSONInvalid, raw: `{"title":"t",}`, placed: true},
		{code: limits.JSONInvalid, raw: `{"title":"t","title":"u",` + good, placed: true, names: []string{"title"}},
		{code: limits.FieldMissing, raw: `{` + good, names: []string{"title"}},
		{code: limits.FieldUnknown, raw: `{"title":"t","style":"x",` + good, names: []string{"style"}},
		{code: limits.FieldType, raw: `{"title":7,` + good, names: []string{"title", "string"}},
		{code: limits.FieldLength, field: "title", value: strings.Repeat("t", 121), names: []string{"title", "121", "120"}},
		{code: limits.FieldLength, field: "html", value: "", names: []string{"html", "12,000"}},
		{code: limits.TextInvisible, field: "summary", value: "\u200b", names: []string{"summary"}},
		{code: limits.ResultTooLarge, field: "javascript", value: "/*" + strings.Repeat("é", 11990) + "*/", names: []string{"24,000"}},
		{code: limits.ElementForbidden, field: "html", value: "<p>x</p>\n<script>x</script>", placed: true, names: []string{"<script>", "javascript"}},
		{code: limits.ElementForbidden, field: "html", value: `<svg><use></use></svg>`, placed: true, names: []string{"<use>", "repeat"}},
		{code: limits.AttributeForbidden, field: "html", value: `<p id="p" onclick="x()">x</p>`, placed: true, names: []string{"onclick", "ui.on"}},
		{code: limits.AttributeForbidden, field: "html", value: `<blockquote cite="x">y</blockquote>`, placed: true, names: []string{"cite", "leave it out"}},
		{code: limits.ControlUnsupported, field: "html", value: `<p>x</p><input type="date">`, placed: true, names: []string{"date", "text, number, range, checkbox or radio"}},
		{code: limits.ControlUnsupported, field: "html", value: `<select multiple><option>x</option></select>`, placed: true, names: []string{"<select multiple>", "checkboxes"}},
		{code: limits.IDInvalid, field: "html", value: `<p id="2x">x</p>`, placed: true, names: []string{"2x", "letter"}},
		{code: limits.IDDuplicate, field: "html", value: `<p id="a">x</p><p id="a">y</p>`, placed: true, names: []string{`"a"`, "own id"}},
		{code: limits.TooManyElements, field: "html", value: strings.Repeat("<b></b>", 513), placed: true, names: []string{"513", "512"}},
		{code: limits.TooManyControls, field: "html", value: strings.Repeat("<input>", 65), placed: true, names: []string{"65", "64"}},
		{code: limits.CSSForbidden, field: "css", value: "p { color: red }\np { background: url(x) }", placed: true, names: []string{"url"}},
		{code: limits.CSSForbidden, field: "css", value: `@import "x";`, placed: true, names: []string{"@import"}},
		{code: limits.CSSForbidden, field: "css", value: `p { behavior: x }`, placed: true, names: []string{"behavior"}},
		{code: limits.CSSInvalid, field: "css", value: `p { color: "red }`, placed: true, names: []string{"string"}},
		{code: limits.CSSInvalid, field: "css", value: `p { color: red`, placed: true, names: []string{"{"}},
		{code: limits.ScriptSyntax, field: "javascript", value: "let a = 1;\nlet b = ;", placed: true, names: []string{"script"}},
		{code: limits.ScriptSyntax, field: "javascript", value: `import x from "y";`, placed: true},
	}
}

func (c *rejection) card() cardrun.Card {
	if c.raw != "" {
		return cardrun.Decode([]byte(c.raw))
	}
	fields := map[string]string{"title": "t", "summary": "s", "html": "<p>x</p>", "css": "", "javascript": ""}
	fields[c.field] = c.value
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return cardrun.Decode(text)
}

// source is the example on one line, long ones cut.
func (c *rejection) source() string {
	s := c.raw
	if s == "" {
		s = c.field + ": " + quote(c.value)
	}
	if r := []rune(s); len(r) > 90 {
		s = string(r[:90]) + "…"
	}
	return s
}

func quote(s string) string { return fmt.Sprintf("%+q", s) }

// TestDiagnosticsR125 prints one card at least for each code of a rejection, with the whole line of each finding as
// cardrun check writes it, and holds it against testdata/diagnostics.golden.
func TestDiagnosticsR125(t *testing.T) {
	r := engine(t)
	var b strings.Builder
	seen := map[limits.Code]bool{}
	for _, c := range rejections() {
		card := c.card()
		found, err := r.Check(t.Context(), &card)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n", c.source())
		var lines []string
		for _, d := range found {
			fmt.Fprintf(&b, "    card.json:%s\n", d)
			if d.Severity != limits.SeverityError || d.Code != c.code {
				continue
			}
			seen[c.code] = true
			lines = append(lines, d.Message)
			if c.placed != (d.Line > 0 && d.Column > 0) {
				t.Errorf("%s: line %d, column %d", c.source(), d.Line, d.Column)
			}
		}
		b.WriteString("\n")
		if len(lines) == 0 {
			t.Errorf("%s: no finding has code %s: %v", c.source(), c.code, found)
		}
		for _, name := range c.names {
			if !strings.Contains(strings.Join(lines, "\n"), name) {
				t.Errorf("%s: %q is not in %q", c.source(), name, lines)
			}
		}
	}
	for _, code := range rejectionCodes(t) {
		if !seen[code] {
			t.Errorf("there is no example of %s", code)
		}
	}
	const golden = "testdata/diagnostics.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("-%s +now:\n%s", golden, diff)
	}
}

// rejectionCodes are the codes that package limits lists first, read from its source, so that none can be forgotten here.
func rejectionCodes(t *testing.T) (codes []limits.Code) {
	t.Helper()
	source, err := os.ReadFile("../limits/error.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, ok := strings.Cut(string(source), "// Why a card is rejected")
	list, _, end := strings.Cut(list, "\n)\n")
	if !ok || !end {
		t.Fatal("limits/error.go does not list the codes of rejections where it did")
	}
	for _, m := range regexp.MustCompile(`Code = "([a-z_]+)"`).FindAllStringSubmatch(list, -1) {
		codes = append(codes, limits.Code(m[1]))
	}
	if len(codes) < 17 {
		t.Fatalf("found the codes %q only", codes)
	}
	return codes
}
