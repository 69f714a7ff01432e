package conformance_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"example.com/cardrun/conformance"
)

func TestParseErrors(t *testing.T) {
	for in, want := range map[string]string{
		`[]`:                                 "a case is one JSON object",
		`{}`:                                 "card: there must be a card",
		`{"card": {}, "raw": ""}`:            "card: there must be a card, or raw in its place, and not both",
		`{"card": {}} {}`:                    "something follows",
		`{"card": {}`:                        "unexpected EOF",
		`{"card": {}, "card": {}}`:           "card: there twice",
		`{"card": {}, "wrong": 1}`:           "wrong: unknown member",
		`{"card": {}, "name": 1}`:            "name: : a JSON number cannot stand here",
		`{"card": {}, "seed": -1}`:           "seed: ",
		`{"card": {}, "now": "today"}`:       "now: ",
		`{"raw": {}}`:                        "raw: : a JSON object cannot stand here",
		`{"card": {}, "expect": {"txt": 1}}`: "expect: /txt: unknown member",
		`{"card": {}, "expect": {"text": {"a": 1}}}`:                                                                                "expect: /text/a: a JSON number cannot stand here",
		`{"card": {}, "expect": {"text_matches": {"a": "("}}}`:                                                                      "expect: /text_matches/a: no regular expression: missing closing )",
		`{"card": {}, "expect": {"outcome": []}}`:                                                                                   "expect: /outcome: the list is empty",
		`{"card": {}, "expect": {"outcome": "done"}}`:                                                                               `expect: outcome: "done" is none`,
		`{"card": {}, "expect": {"controls": {"a": {"val": 1}}}}`:                                                                   "expect: /controls/a/val: unknown member",
		`{"card": {}, "expect": {"text_range": {"a": [2, 1]}}}`:                                                                     "expect: text_range/a: nothing is from 2 to 1",
		`{"card": {}, "expect": {"if_ready": {"if_ready": {}}}}`:                                                                    "expect: if_ready/if_ready",
		`{"card": {}, "expect": {"if_ready": {"outcome": "x"}}}`:                                                                    "expect: if_ready: outcome",
		`{"card": {}, "steps": [{"event": []}]}`:                                                                                    "steps: /0/event: unknown member",
		`{"card": {}, "steps": [{"events": [{"id": "a"}]}]}`:                                                                        "steps/0/events/0/type: missing",
		`{"card": {}, "steps": [{"events": [{"id": "a", "type": "click", "x": 1}]}]}`:                                               "steps: /0/events/0/x: unknown member",
		`{"card": {}, "steps": [{"events": [{"id": "a", "type": "click", "at_ms": 5}, {"id": "a", "type": "click", "at_ms": 4}]}]}`: "steps/0/events/1/at_ms: 4",
		`{"card": {}, "steps": [{}, {"expect": {"outcome": "x"}}]}`:                                                                 "steps/1/expect: outcome",
	} {
		_, err := conformance.Parse("dir/x.json", []byte(in))
		if err == nil {
			t.Errorf("%s: no error", in)
		} else if got := err.Error(); !strings.HasPrefix(got, "read case dir/x.json: ") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q in it", in, got, want)
		}
	}
}

// The card goes to the product as it stands in the file, and what is for the reader may be there.
func TestParse(t *testing.T) {
	c, err := conformance.Parse("x.json", []byte(`{"name": "n", "why": "w", "note": [1], "open": true, "seed": 7, "now": "2026-01-02T03:04:05Z",
		"card": {"title": "a", "title": "\ud800"}, "expect": {}, "steps": [{"why": "x", "note": 1, "events": [{"id": "i", "type": "input", "value": "\ud800", "at_ms": 1.5}], "burst": true, "expect": {}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(c.Body), `{"title": "a", "title": "\ud800"}`; got != want {
		t.Errorf("body %s, want %s", got, want)
	}
	if e := c.Steps[0].Events[0]; *e.Value != "\ufffd" || *e.AtMS != 1.5 || !c.Steps[0].Burst || *c.Seed != 7 || c.Now.Year() != 2026 {
		t.Errorf("got %+v", c)
	}
	raw, err := conformance.Parse("x.json", []byte(`{"raw": "{\"title\""}`))
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
