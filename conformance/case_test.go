package conformance_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"example.com/cardrun/conformance"
)

func TestParseErrors(t *testing.T) {
	long := strings.Repeat("x", 3000)
	for in, want := range map[string]string{
		`[]`:                      "a case is one JSON object",
		`{}`:                      "card: there must be a card",
		`{"card": {}, "raw": ""}`: "card: there must be a card, or raw in its place, and not both",
		`{"card": {}} {}`:         "something follows",
		"\ufeff{}":                "the text begins with a byte order mark; save it as UTF-8 without one",

		// Faults of syntax have a place in the file, all others the way to the member.
		`{"card": {}`:                          "x.json: column 12: the text ends too early",
		"{\"card\": {},\n  \"expect\" {}}":     "line 2, column 12: invalid character '{'",
		"{\"card\": {}, \"name\": \"a\nb\"}":   `line 1, column 24: invalid character '\n' in string`,
		`{"card": {}, "card": {}}`:             "card: there twice",
		`{"card": {}, "wrong": 1}`:             "wrong: unknown member",
		`{"card": {}, "name": 1}`:              "name: a JSON number cannot stand here",
		`{"card": {}, "seed": -1}`:             "seed: -1 cannot stand here; give a whole number, 0 or more",
		`{"card": {}, "seed": 1e99}`:           "seed: 1e99 cannot stand here",
		`{"raw": {}}`:                          "raw: a JSON object cannot stand here",
		`{"card": {}, "now": "today"}`:         `now: "today" is no time; give one as in 2026-01-02T03:04:05Z (RFC 3339)`,
		`{"card": {}, "now": 7}`:               "now: a JSON number cannot stand here",
		`{"card": {}, "expect": []}`:           "expect: a JSON array cannot stand here",
		`{"card": {}, "expect": {"txt": 1}}`:   "expect/txt: unknown member",
		`{"card": {}, "steps": {"events": 1}}`: "steps: a JSON object cannot stand here",

		// The clock stands at these times only, and the zero time is not among them.
		`{"card": {}, "now": "0001-01-01T00:00:00Z"}`:      "now: 0001-01-01T00:00:00Z; the year must be 1970 to 2261",
		`{"card": {}, "now": "1970-01-01T00:30:00+01:00"}`: "now: 1970-01-01T00:30:00+01:00; the year must be 1970 to 2261",
		`{"card": {}, "now": "2262-01-01T00:00:00Z"}`:      "now: 2262-01-01T00:00:00Z; the year must be 1970 to 2261",

		`{"card": {}, "expect": {"text": {"a": 1}}}`:                                                                                "expect/text/a: a JSON number cannot stand here",
		`{"card": {}, "expect": {"text": {"a": "", "a": ""}}}`:                                                                      "expect/text/a: there twice",
		`{"card": {}, "expect": {"text_matches": {"a": "("}}}`:                                                                      `expect/text_matches/a: no regular expression: missing closing ) in "("`,
		`{"card": {}, "expect": {"display_lacks_match": ["a", "["]}}`:                                                               `expect/display_lacks_match/1: no regular expression: missing closing ]`,
		`{"card": {}, "expect": {"outcome": []}}`:                                                                                   "expect/outcome: the list is empty",
		`{"card": {}, "expect": {"outcome": "done"}}`:                                                                               `expect/outcome: "done" is none; there are [ready failed rejected]`,
		`{"card": {}, "expect": {"failure": ["timeout", "tiemout"]}}`:                                                               `expect/failure: "tiemout" is none; there are [exception `,
		`{"card": {}, "expect": {"failure": "json_invalid"}}`:                                                                       `expect/failure: "json_invalid" is none`,
		`{"card": {}, "expect": {"failure_if_failed": "slow"}}`:                                                                     `expect/failure_if_failed: "slow" is none`,
		`{"card": {}, "expect": {"diagnostic": "timeout"}}`:                                                                         `expect/diagnostic: "timeout" is none; there are [json_invalid `,
		`{"card": {}, "expect": {"patches": 1.5}}`:                                                                                  "expect/patches: 1.5 cannot stand here; give a whole number",
		`{"card": {}, "expect": {"max_ms": 1e999}}`:                                                                                 "expect/max_ms: 1e999 is out of range",
		`{"card": {}, "expect": {"controls": {"a": {"val": 1}}}}`:                                                                   "expect/controls/a/val: unknown member",
		`{"card": {}, "expect": {"text_range": {"a": [2, 1]}}}`:                                                                     "expect/text_range/a: nothing is from 2 to 1",
		`{"card": {}, "expect": {"text_range": {"a": [1]}}}`:                                                                        "expect/text_range/a: too few",
		`{"card": {}, "expect": {"if_ready": {"if_ready": {}}}}`:                                                                    "expect/if_ready/if_ready: stands in itself",
		`{"card": {}, "expect": {"if_ready": {"outcome": "x"}}}`:                                                                    "expect/if_ready/outcome: ",
		`{"card": {}, "steps": [{}, {"expect": {"outcome": "x"}}]}`:                                                                 "steps/1/expect/outcome: ",
		`{"card": {}, "steps": [{"event": []}]}`:                                                                                    "steps/0/event: unknown member",
		`{"card": {}, "steps": [{"events": [{"id": "a"}]}]}`:                                                                        "steps/0/events/0/type: missing",
		`{"card": {}, "steps": [{"events": [{"type": "click"}]}]}`:                                                                  "steps/0/events/0/id: missing",
		`{"card": {}, "steps": [{"events": [{"id": "a", "type": "clik"}]}]}`:                                                        `steps/0/events/0/type: the event is not acceptable: type is "clik"; use input, change or click`,
		`{"card": {}, "steps": [{"events": [{"id": "a", "type": "click", "x": 1}]}]}`:                                               "steps/0/events/0/x: unknown member",
		`{"card": {}, "steps": [{"events": [{"id": "a", "type": "click", "at_ms": 5}, {"id": "a", "type": "click", "at_ms": 4}]}]}`: "steps/0/events/1/at_ms: 4",

		// A case without any expectation would always pass.
		`{"card": {}}`: "expect: the case expects nothing",
		`{"card": {}, "expect": {"stable": false, "text": {}, "display_has": [], "if_ready": {"controls": {}}}, "steps": [{}]}`: "expect: the case expects nothing",

		// What is long is cut.
		`{"card": {}, "` + long + `": 1}`:                              "xxx…: unknown member",
		`{"card": {}, "expect": {"` + long + `": 1}}`:                  "xxx…: unknown member",
		`{"card": {}, "expect": {"outcome": "` + long + `"}}`:          `xxx…" is none`,
		`{"card": {}, "expect": {"css_has_match": ["(` + long + `"]}}`: "xxx…",
		`{"card": {}, "now": "` + long + `"}`:                          `xxx…" is no time`,
		`{"card": {}, "seed": -` + strings.Repeat("9", 3000) + `}`:     "999… ",
	} {
		_, err := conformance.Parse("dir/x.json", []byte(in))
		if err == nil {
			t.Errorf("%.200s: no error", in)
		} else if got := err.Error(); !strings.HasPrefix(got, "read case dir/x.json: ") || !strings.Contains(got, want) || len(got) > 600 || strings.Contains(got, "\n") {
			t.Errorf("%.200s: %q, want %q in it", in, got, want)
		}
	}
}

// Every member of an expectation counts as one.
func TestParseExpectsSomething(t *testing.T) {
	for _, expect := range []string{
		`"outcome": "ready"`, `"failure": "timeout"`, `"diagnostic": "id_invalid"`, `"failure_if_failed": "memory"`, `"title": ""`,
		`"text": {"a": ""}`, `"text_matches": {"a": ""}`, `"text_lacks_match": {"a": "x"}`, `"text_range": {"a": [0, 0]}`, `"html": {"a": ""}`,
		`"elements": {"p": 0}`, `"controls": {"a": {}}`, `"display_has": [""]`, `"display_lacks": ["x"]`, `"display_lacks_match": ["x"]`,
		`"css_has_match": [""]`, `"css_lacks_match": ["x"]`, `"stable": true`, `"handlers": 0`, `"patches": 0`, `"discarded": false`, `"rounds": 0`, `"max_ms": 0`,
	} {
		for _, in := range []string{`"expect": {` + expect + `}`, `"expect": {"if_ready": {` + expect + `}}`, `"steps": [{}, {"expect": {` + expect + `}}]`} {
			if _, err := conformance.Parse("x.json", []byte(`{"card": {}, `+in+`}`)); err != nil {
				t.Error(err)
			}
		}
	}
}

// The codes that a case may name are those of package limits: each is either one of failures or one of findings.
func TestParseKnowsAllCodes(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../limits/error.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := 0
	for n := range ast.Preorder(file) {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			continue
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Code" {
			continue
		}
		codes++
		var takes []string
		for _, member := range []string{"failure", "diagnostic"} {
			if _, err := conformance.Parse("x.json", []byte(`{"card": {}, "expect": {"`+member+`": `+spec.Values[0].(*ast.BasicLit).Value+`}}`)); err == nil {
				takes = append(takes, member)
			}
		}
		if len(takes) != 1 {
			t.Errorf("%s can be expected as %q", spec.Names[0], takes)
		}
	}
	if codes < 30 {
		t.Errorf("found %d codes only", codes)
	}
}

// The card goes to the product as it stands in the file, and what is for the reader may be there.
func TestParse(t *testing.T) {
	c, err := conformance.Parse("x.json", []byte(`{"name": "n", "why": "w", "note": [1], "open": true, "seed": 7, "now": "2026-01-02T03:04:05Z",
		"card": {"title": "a", "title": "\ud800"}, "expect": {"rounds": 1}, "steps": [{"why": "x", "note": 1, "events": [{"id": "i", "type": "input", "value": "\ud800", "at_ms": 1.5}], "burst": true, "expect": {}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(c.Body), `{"title": "a", "title": "\ud800"}`; got != want {
		t.Errorf("body %s, want %s", got, want)
	}
	if e := c.Steps[0].Events[0]; *e.Value != "\ufffd" || *e.AtMS != 1.5 || !c.Steps[0].Burst || *c.Seed != 7 || c.Now.Year() != 2026 {
		t.Errorf("got %+v", c)
	}
	raw, err := conformance.Parse("x.json", []byte(`{"raw": "{\"title\"", "expect": {"outcome": "rejected"}}`))
	if err != nil || string(raw.Body) != `{"title"` {
		t.Errorf("raw body %q, %v", raw.Body, err)
	}
}

// Null stands for nothing in a case: wherever a value has a type, null is refused, with the place.
func TestParseNull(t *testing.T) {
	expectRefused := func(in, where string) {
		t.Helper()
		_, err := conformance.Parse("x.json", []byte(in))
		if err == nil || !strings.Contains(err.Error(), "null cannot stand here") || !strings.Contains(err.Error(), where) {
			t.Errorf("%s: %v, want null refused at %s", in, err, where)
		}
	}
	expectRefused(`{"raw": null}`, "raw")
	for _, member := range []string{"name", "why", "seed", "now", "expect", "steps"} {
		expectRefused(`{"card": {}, "`+member+`": null}`, member)
	}
	scalars := []string{"outcome", "failure", "diagnostic", "failure_if_failed", "if_ready", "title", "stable", "handlers", "patches", "discarded", "rounds", "max_ms"}
	maps := []string{"text", "text_matches", "text_lacks_match", "text_range", "html", "elements", "controls"}
	lists := []string{"outcome", "failure", "diagnostic", "failure_if_failed", "display_has", "display_lacks", "display_lacks_match", "css_has_match", "css_lacks_match"}
	for _, member := range append(append(scalars, maps...), lists...) {
		expectRefused(`{"card": {}, "expect": {"`+member+`": null}}`, member)
		expectRefused(`{"card": {}, "expect": {"if_ready": {"`+member+`": null}}}`, "if_ready/"+member)
	}
	for _, member := range maps {
		expectRefused(`{"card": {}, "expect": {"`+member+`": {"out": null}}}`, member+"/out")
	}
	for _, member := range lists {
		expectRefused(`{"card": {}, "expect": {"`+member+`": [null]}}`, member+"/0")
	}
	expectRefused(`{"card": {}, "expect": {"text_range": {"out": [1, null]}}}`, "text_range/out/1")
	expectRefused(`{"card": {}, "expect": {"controls": {"out": {"value": null}}}}`, "controls/out/value")
	expectRefused(`{"card": {}, "expect": {"controls": {"out": {"checked": null}}}}`, "controls/out/checked")
	expectRefused(`{"card": {}, "steps": [null]}`, "0")
	for _, member := range []string{"events", "burst", "expect"} {
		expectRefused(`{"card": {}, "steps": [{"`+member+`": null}]}`, "0/"+member)
	}
	expectRefused(`{"card": {}, "steps": [{"events": [null]}]}`, "0/events/0")
	for _, member := range []string{"id", "type", "value", "checked", "at_ms"} {
		expectRefused(`{"card": {}, "steps": [{"events": [{"`+member+`": null}]}]}`, "0/events/0/"+member)
	}
	// The card is the product's to judge, and notes are the reader's.
	if _, err := conformance.Parse("x.json", []byte(`{"card": null, "note": null, "expect": {"outcome": "rejected"}, "steps": [{"note": null, "why": null}]}`)); err != nil {
		t.Error(err)
	}
}

// A pattern is compiled when it is read, in both forms, so that holding it against a text cannot fail.
func TestPattern(t *testing.T) {
	for in, want := range map[string]string{
		`null`: "null cannot stand here", `7`: "number", `"("`: "missing closing ) in \"(\"", `"a{2000}"`: "invalid repeat count", `"(?=a)"`: "invalid or unsupported Perl syntax",
	} {
		var p conformance.Pattern
		if err := json.Unmarshal([]byte(in), &p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", in, err, want)
		}
	}
	for _, in := range []string{`"\\Qone"`, `"ONE"`, `"x|ONE"`, `"(?-i)one"`, `""`} {
		e := parse(t, `{"display_lacks_match": [`+in+`]}`).Expect
		if found := e.Check(ready()); len(found) != 1 {
			t.Errorf("%s is not found: %v", in, found)
		}
	}
	// One that nothing was read into is the empty one.
	e := conformance.Expect{TextMatches: map[string]conformance.Pattern{"a": {}}, DisplayLacksMatch: []conformance.Pattern{{}}}
	if found := e.Check(ready()); len(found) != 1 || found[0].Key != "display_lacks_match" {
		t.Errorf("%v", found)
	}
}
