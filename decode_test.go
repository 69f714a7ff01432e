package cardrun

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/cardrun/limits"
)

const small = `{"title":"T","summary":"S","html":"<p>x</p>","css":"","javascript":""}`

// expectFaults checks the findings about a JSON text, each as code, field and place.
func expectFaults(t *testing.T, in string, want ...string) []Diagnostic {
	t.Helper()
	c := Decode([]byte(in))
	k, ds := c.Check()
	var got []string
	for _, d := range ds {
		if d.Severity != limits.SeverityError {
			continue
		}
		s := strings.TrimSpace(string(d.Code) + " " + d.Field)
		if d.Line != 0 {
			s += fmt.Sprintf(" %d:%d", d.Line, d.Column)
		}
		got = append(got, s)
		if d.Message == "" {
			t.Errorf("%s: no message", s)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Decode(%.200q) (-want +got):\n%s%v", in, diff, ds)
	}
	if (k == nil) != (len(want) > 0) {
		t.Errorf("Decode(%.200q): Checked: %t", in, k != nil)
	}
	return ds
}

func TestDecodeR1R2(t *testing.T) {
	expectFaults(t, small)
	expectFaults(t, " \r\n\t"+small+"\n\n")
	expectFaults(t, `{"javascript":"","css":"","html":"<p>x</p>","summary":"S","title":"T"}`)
	expectFaults(t, `{"\u0074itle":"T","summary":"S","html":"<p>x</p>","css":"","javascript":""}`)

	// R1: a member too few, a member too many.
	expectFaults(t, `{"title":"T","summary":"S","html":"<p>x</p>","javascript":""}`, "field_missing css")
	expectFaults(t, `{}`, "field_missing title", "field_missing summary", "field_missing html", "field_missing css", "field_missing javascript")
	expectFaults(t, `{"title":"T","summary":"S","html":"<p>x</p>","css":"","javascript":"","js":""}`, "field_unknown js")
	expectFaults(t, `{"title":"T","summary":"S","html":"<p>x</p>","css":"","javascript":"","":{"title":[1e9,{}]}}`, "field_unknown")
	expectFaults(t, `{"Title":"T","summary":"S","html":"<p>x</p>","css":"","javascript":""}`, "field_missing title", "field_unknown Title")

	// R2: no coercion.
	for value, kind := range map[string]string{"null": "null", "0": "a number", "true": "a boolean", "[]": "an array", `{"a":"b"}`: "an object", `["x"]`: "an array"} {
		ds := expectFaults(t, strings.Replace(small, `"css":""`, `"css":`+value, 1), "field_type css")
		if want := "css is " + kind + "; it must be a string"; len(ds) != 1 || !strings.HasPrefix(ds[0].Message, want) {
			t.Errorf("%s: got %v, want %q", value, ds, want)
		}
	}
}

func TestDecodeD2(t *testing.T) {
	all := "json_invalid 1:"
	// Members that come twice, in any spelling, of any type.
	expectFaults(t, `{"title":"T","title":"T","summary":"S","html":"<p>x</p>","css":"","javascript":""}`, all+"14")
	expectFaults(t, `{"title":"T",`+"\n"+`"tit\u006ce":"T","summary":"S","html":"<p>x</p>","css":"","javascript":""}`, "json_invalid 2:1")
	expectFaults(t, `{"css":"","css":"","css":1,"css":2,"title":"T","summary":"S","html":"<p>x</p>","javascript":""}`, all+"11")
	expectFaults(t, `{"css":null,"css":"","title":"T","summary":"S","html":"<p>x</p>","javascript":""}`, all+"13", "field_type css")
	// Bytes that are no UTF-8, lone surrogates.
	expectFaults(t, strings.Replace(small, `"S"`, "\"S\xff\"", 1), all+"26")
	expectFaults(t, strings.Replace(small, `"S"`, "\"\xed\xa0\x80\"", 1), all+"25")
	expectFaults(t, strings.Replace(small, `"S"`, `"\ud83d"`, 1), all+"25")
	expectFaults(t, strings.Replace(small, `"S"`, `"\ud83d\u0041"`, 1), all+"25")
	expectFaults(t, strings.Replace(small, `"S"`, `"\ude00"`, 1), all+"25")
	expectFaults(t, strings.Replace(small, `"S"`, `"\ud83d\ude00"`, 1))
	expectFaults(t, strings.Replace(small, `"S"`, `"S","x":{"\ud83d":"\ud83d"}`, 1), all+"34", "field_unknown x")
	// Something after the object.
	expectFaults(t, small+small, all+fmt.Sprint(len(small)+1))
	expectFaults(t, small+"\n ]", "json_invalid 2:2")
	expectFaults(t, small+"\x00", all+fmt.Sprint(len(small)+1))
}

func TestDecodeSyntax(t *testing.T) {
	for in, want := range map[string]struct{ place, message string }{
		"":                          {"1:1", "empty"},
		" \n\t":                     {"1:1", "empty"},
		"null":                      {"1:1", "the card is null"},
		"[" + small + "]":           {"1:1", "the card is an array"},
		`"` + "card" + `"`:          {"1:1", "the card is a string"},
		"{":                         {"1:2", "ends too early"},
		`{"title":"T`:               {"1:12", "ends too early"},
		`{"title"`:                  {"1:9", "ends too early"},
		`{"title":"T",}`:            {"1:13", "invalid character"},
		`{'title':"T"}`:             {"1:2", "invalid character"},
		`{"title":T}`:               {"1:10", "invalid character"},
		`{"title":"T" "css":""}`:    {"1:14", "invalid character"},
		"{\n\"title\": \"a\nb\"}":   {"2:12", `\n`},
		`{"title":"\x"}`:            {"1:11", "escape"},
		`{1:2}`:                     {"1:2", "name must be a string"},
		"\xef\xbb\xbf" + small:      {"1:1", "byte order mark"},
		"\n```json\n" + small:       {"2:1", "Markdown fence"},
		"// note\n" + small:         {"1:1", "invalid character"},
		`{"title":01}`:              {"1:11", "invalid character"},
		`{"é😀":"\q"}`:               {"1:9", "escape"},
		strings.Repeat("[", 200000): {"1:10001", "max depth"},
		`{"x":` + strings.Repeat(`{"a":`, 40000) + "1": {"1:50001", "max depth"},
	} {
		c := Decode([]byte(in))
		k, ds := c.Check()
		if k != nil || len(ds) != 1 {
			t.Errorf("%.40q: got %v", in, ds)
			continue
		}
		d := ds[0]
		if got := fmt.Sprintf("%d:%d", d.Line, d.Column); d.Code != limits.JSONInvalid || d.Field != "" || got != want.place || !strings.Contains(d.Message, want.message) {
			t.Errorf("%.40q: got %v, want %s %s", in, d, want.place, want.message)
		}
		if c.ID() != "" {
			t.Errorf("%.40q: has an ID", in)
		}
		if _, err := c.Result(); limits.CodeOf(err) != limits.JSONInvalid {
			t.Errorf("%.40q: Result: %v", in, err)
		}
	}
}

func TestDecodeTooLong(t *testing.T) {
	// A text of the greatest size is read, and one byte more is not.
	full := small + strings.Repeat(" ", MaxJSON-len(small))
	expectFaults(t, full)
	expectFaults(t, full+" ", "result_too_large")
}

// The bound never rejects what the limits allow: the dearest spelling of the largest card is read.
func TestDecodeDearestSpelling(t *testing.T) {
	long := strings.Repeat(`\u0061`, 1000)
	in := `{"title":"` + long[:6*120] + `","summary":"` + long + `","html":"` + strings.Repeat(long, 12) + `","css":"","javascript":"` + strings.Repeat(long, 8) + `"}`
	if len(in) > MaxJSON {
		t.Fatalf("%d bytes", len(in))
	}
	expectFaults(t, in)
}

// R125: faults of the JSON, of the members and of the fields come in one go, and in order.
func TestDecodeAllFaultsR125(t *testing.T) {
	in := `{"extra":1,"summary":" \u200d ","title":"` + strings.Repeat("t", 121) + `","html":"\ud83d","html":7,"javascript":false,"more":2}`
	expectFaults(t, in, "json_invalid 1:173", "json_invalid 1:181", "field_length title", "text_invisible summary",
		"field_missing css", "field_type javascript", "field_unknown extra", "field_unknown more")
}

func TestDecodeManyUnknown(t *testing.T) {
	var b strings.Builder
	b.WriteString(small[:len(small)-1])
	for i := range 5000 {
		fmt.Fprintf(&b, `,"m%d":0`, i)
	}
	fmt.Fprintf(&b, `,"%s\u001b[31m":0}`, strings.Repeat("n", 70))
	_, ds := new(Decode([]byte(b.String()))).Check()
	if len(ds) != maxUnknown+1 || ds[maxUnknown].Code != limits.FieldUnknown || !strings.Contains(ds[maxUnknown].Message, "4,981 further") {
		t.Errorf("got %d findings, last %v", len(ds), ds[len(ds)-1])
	}

	_, ds = new(Decode([]byte(small[:len(small)-1] + `,"` + strings.Repeat("n", 70) + `":0,"\u001b[31m":0}`))).Check()
	if len(ds) != 2 || limits.Length(ds[0].Field) != 65 || strings.ContainsRune(ds[1].Message, 0x1b) {
		t.Errorf("got %q", ds)
	}
}

func TestDecodeNeverChanges(t *testing.T) {
	// R12: the card holds a copy of what it was given.
	data := []byte(small)
	c := Decode(data)
	clear(data)
	if got := c.HTML; got != "<p>x</p>" {
		t.Errorf("got %q", got)
	}
}

// The cases of the specification about the input object.
func TestDecodeSharedCases(t *testing.T) {
	for file, want := range map[string]limits.Code{
		"301-missing-css-field":       limits.FieldMissing,
		"303-non-string-field":        limits.FieldType,
		"307-title-121-characters":    limits.FieldLength,
		"309-whole-result-over-24000": limits.ResultTooLarge,
	} {
		data, err := os.ReadFile(filepath.Join("..", "shared", "cases", file+".json"))
		if err != nil {
			t.Skipf("SKIPPED: the shared cases are not beside the repository: %v", err)
		}
		var item struct{ Card json.RawMessage }
		if err := json.Unmarshal(data, &item); err != nil {
			t.Fatal(err)
		}
		_, ds := new(Decode(item.Card)).Check()
		if len(ds) != 1 || ds[0].Code != want {
			t.Errorf("%s: got %v, want %s", file, ds, want)
		}
	}
}

// FuzzDecode holds Decode against encoding/json: whatever Decode takes, that one reads alike, and whatever is wrong in a
// way that it can see, Decode refuses.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{small, "{}", "[]", `{"title":"\ud83d\ude00","title":1}`, small + "x", strings.Replace(small, "S", `\u2028\ud800`, 1)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := Decode(data)
		var members map[string]any
		err := json.Unmarshal(data, &members)
		if len(c.faults) > 0 {
			if !rejects(c.faults) {
				t.Fatalf("faults that do not reject: %v", c.faults)
			}
			for _, d := range c.faults {
				if rank(d) == -1 && d.Code != limits.JSONInvalid || !slices.Contains([]limits.Code{limits.JSONInvalid, limits.FieldMissing, limits.FieldType, limits.FieldUnknown, limits.ResultTooLarge}, d.Code) {
					t.Fatalf("%v", d)
				}
			}
			return
		}
		want := map[string]any{"title": c.Title, "summary": c.Summary, "html": c.HTML, "css": c.CSS, "javascript": c.JavaScript}
		if diff := cmp.Diff(want, members); err != nil || diff != "" {
			t.Fatalf("encoding/json: %v\n%s", err, diff)
		}
		// What was read, written as canonical JSON and read again, is the same card.
		again := Decode(c.appendCanonical(nil))
		if again.ID() != c.ID() || c.ID() == "" || !bytes.Equal(again.appendResult(nil, again.ID()), c.appendResult(nil, c.ID())) {
			t.Fatalf("%+v is another card when read again: %+v", c, again)
		}
	})
}
