package conformance_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"example.com/cardrun"
	"example.com/cardrun/conformance"
	"example.com/cardrun/limits"
	"example.com/cardrun/patches"
)

// parse reads a case whose expect is given.
func parse(t *testing.T, expect string) conformance.Case {
	t.Helper()
	c, err := conformance.Parse("x.json", []byte(`{"card": {}, "expect": `+expect+`}`))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ready is a snapshot with one of everything.
func ready() *cardrun.Snapshot {
	return &cardrun.Snapshot{
		Outcome: cardrun.Ready, Card: cardrun.CardInfo{Title: "T"},
		Display: &cardrun.Display{
			HTML: `<p id="a">one <b>two</b></p><p id="n">42</p><input id="c" type="checkbox" value="v" checked="">`,
			CSS:  "p {\n  color: \\72 ed;\n}\n",
		},
		Controls: []patches.Control{{ID: "c", Type: "checkbox", Value: "v", Checked: true}},
		Handlers: []cardrun.Handler{{ID: "c", Type: "click"}},
		Rounds: []cardrun.Round{
			{Phase: cardrun.PhaseInit, Usage: cardrun.Usage{ElapsedUS: 5000}},
			{Phase: cardrun.PhaseEvent, Patches: patches.Batch{{}, {}}, Discarded: true, Usage: cardrun.Usage{ElapsedUS: 9000}},
		},
	}
}

func failed() *cardrun.Snapshot {
	s := ready()
	s.Outcome, s.Failure = cardrun.Failed, &cardrun.Failure{Code: limits.Timeout, Round: 1, Message: "slow"}
	return s
}

func rejected() *cardrun.Snapshot {
	return &cardrun.Snapshot{Outcome: cardrun.Rejected, Diagnostics: []cardrun.Diagnostic{
		{Severity: limits.SeverityWarning, Code: limits.CSSDropped}, {Severity: limits.SeverityError, Code: limits.IDInvalid, Field: "html"}}}
}

// TestCheck holds snapshots against expectations; keys are those of the mismatches.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		snapshot *cardrun.Snapshot
		expect   string
		keys     string
	}{
		{ready(), `{"rounds": 2}`, ""},
		{ready(), `{"outcome": "ready"}`, ""},
		{ready(), `{"outcome": ["failed", "rejected"]}`, "outcome"},
		{ready(), `{"failure": "timeout"}`, "failure"},
		{failed(), `{"outcome": "failed", "failure": ["memory", "timeout"]}`, ""},
		{failed(), `{"failure": "memory"}`, "failure"},
		{failed(), `{"failure_if_failed": ["memory"]}`, "failure_if_failed"},
		{failed(), `{"failure_if_failed": "timeout"}`, ""},
		{ready(), `{"failure_if_failed": "timeout"}`, ""},
		{rejected(), `{"diagnostic": "id_invalid"}`, ""},
		{rejected(), `{"diagnostic": ["id_duplicate", "css_forbidden"]}`, "diagnostic"},
		{ready(), `{"diagnostic": "id_invalid"}`, "diagnostic"},
		{ready(), `{"title": "T"}`, ""},
		{ready(), `{"title": "U"}`, "title"},
		{ready(), `{"if_ready": {"text": {"n": "41"}}}`, "if_ready/text/n"},
		{failed(), `{"if_ready": {"text": {"n": "41"}}}`, ""},
		{ready(), `{"text": {"a": "one two", "n": "42", "c": ""}}`, ""},
		{ready(), `{"text": {"a": "one", "gone": ""}}`, "text/a text/gone"},
		{ready(), `{"text_matches": {"a": "^o.*o$"}}`, ""},
		{ready(), `{"text_matches": {"a": "ONE", "gone": "x"}}`, "text_matches/a text_matches/gone"},
		{ready(), `{"text_lacks_match": {"a": "three", "gone": "."}}`, ""},
		{ready(), `{"text_lacks_match": {"a": "t.o"}}`, "text_lacks_match/a"},
		{ready(), `{"text_range": {"n": [42, 42]}}`, ""},
		{ready(), `{"text_range": {"n": [43, 50], "a": [0, 9], "gone": [0, 0]}}`, "text_range/a text_range/gone text_range/n"},
		{ready(), `{"html": {"a": "one <b>two</b>"}}`, ""},
		{ready(), `{"html": {"a": "one two", "gone": ""}}`, "html/a html/gone"},
		{ready(), `{"elements": {"p": 2, "b": 1, "i": 0, "INPUT": 1}}`, ""},
		{ready(), `{"elements": {"p": 1}}`, "elements/p"},
		{ready(), `{"controls": {"c": {"value": "v", "checked": true}}}`, ""},
		{ready(), `{"controls": {"c": {"value": "w", "checked": false}, "a": {}}}`, "controls/a controls/c/value controls/c/checked"},
		{ready(), `{"display_has": ["<b>two</b>"], "display_lacks": ["<i>"], "display_lacks_match": ["on\\w+="]}`, ""},
		{ready(), `{"display_has": ["<B>"], "display_lacks": ["<B>"], "display_lacks_match": ["TYPE\\s*="]}`, "display_has display_lacks display_lacks_match"},
		{ready(), `{"css_has_match": ["COLOR: red"], "css_lacks_match": ["blue"]}`, ""},
		{ready(), `{"css_has_match": ["blue"], "css_lacks_match": ["Red"]}`, "css_has_match css_lacks_match"},
		{ready(), `{"stable": true}`, ""},
		{ready(), `{"handlers": 1, "patches": 2, "discarded": true, "rounds": 2, "max_ms": 9}`, ""},
		{ready(), `{"handlers": 2, "patches": 0, "discarded": false, "rounds": 1, "max_ms": 4.5}`, "handlers patches discarded rounds max_ms max_ms"},
		// A rejected card shows nothing.
		{rejected(), `{"display_lacks": ["x"], "elements": {"p": 0}, "css_lacks_match": ["."], "stable": true, "patches": 0, "rounds": 0, "handlers": 0, "text_lacks_match": {"a": "."}}`, ""},
		{rejected(), `{"display_has": [""], "text": {"a": ""}, "css_has_match": ["."]}`, "text/a css_has_match"},
	} {
		e := parse(t, c.expect).Expect
		var keys []string
		for _, m := range e.Check(c.snapshot) {
			keys = append(keys, m.Key)
			if m.Want == "" || m.Got == "" {
				t.Errorf("%s: %+v says too little", c.expect, m)
			}
		}
		if got := strings.Join(keys, " "); got != c.keys {
			t.Errorf("%s on a card that is %s: mismatches %q, want %q", c.expect, c.snapshot.Outcome, got, c.keys)
		}
	}
}

// Display html that a parser reads as something else is not stable.
func TestCheckUnstable(t *testing.T) {
	for _, html := range []string{
		`<p><div></div></p>`, `<table><tr></tr></table>`, `<b>x`, `<P></P>`, `a & b`, `<p id=x></p>`, "<textarea>\nx</textarea>", `<svg viewbox="0"></svg>`, "a\r\nb", `<p title="<"></p>`,
	} {
		s := ready()
		s.Display.HTML = html
		if found := (&conformance.Expect{Stable: true}).Check(s); len(found) != 1 || found[0].Key != "stable" {
			t.Errorf("%q: %v", html, found)
		}
	}
	for _, html := range []string{
		"", "text &amp; &lt;", `<p id="x" title="&lt;&quot;'">&nbsp;"'</p>`, "<pre>\n\nx</pre>", `<svg viewBox="0"><text>t</text></svg>`, "<br>", "<select><option selected=\"\">o</option></select>", "a&#13;b",
	} {
		s := ready()
		s.Display.HTML = html
		if found := (&conformance.Expect{Stable: true}).Check(s); len(found) != 0 {
			t.Errorf("%q: %v", html, found)
		}
	}
}

// Escapes hide nothing from css_lacks_match.
func TestCheckEscapedCSS(t *testing.T) {
	for css, plain := range map[string]string{
		`\75rl(x)`: `url`, `\000075 rl(x)`: `url`, "@\\69\nmport": "@import", `\u\r\l`: "url", "ur\\\nl": "url", `\\75`: `\\75$`, `\0 x`: "\ufffdx", `\110000 x`: "\ufffdx", `\é`: "^é$", `\`: `^\\$`,
	} {
		s := ready()
		s.Display.CSS = css
		c := parse(t, `{"css_has_match": [`+fmt.Sprintf("%q", plain)+`]}`)
		if found := c.Expect.Check(s); len(found) > 0 {
			t.Errorf("%q: %v", css, found)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"b.json": `{"raw": "", "expect": {"outcome": "rejected"}}`, "sub/a.JSON": `{"name": "own", "raw": "", "expect": {"outcome": "rejected"}}`, "c.txt": "no", "bad.json": `{"x": 1}`, "empty/none.txt": ""} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cases, err := conformance.Load(dir, filepath.Join(dir, "b.json"), filepath.Join(dir, "gone"), filepath.Join(dir, "empty"))
	var names []string
	for _, c := range cases {
		names = append(names, c.Name)
	}
	if diff := cmp.Diff([]string{"b", "own", "b"}, names); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err == nil {
		t.Fatal("no error")
	}
	lines := strings.Split(err.Error(), "\n")
	wants := []string{"bad.json: x: unknown member", "gone: no such file", "no *.json file in " + filepath.Join(dir, "empty")}
	if len(lines) != len(wants) {
		t.Fatalf("errors %q", lines)
	}
	for i, want := range wants {
		if !strings.Contains(lines[i], want) {
			t.Errorf("error %q, want %q in it", lines[i], want)
		}
	}
}

// A link to a folder stands for the folder, and its files are named by the link.
func TestLoadLink(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "real", "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.json", "sub/b.json"} {
		if err := os.WriteFile(filepath.Join(dir, "real", name), []byte(`{"raw": "", "expect": {"outcome": "rejected"}}`), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("real", link); err != nil {
		t.Skipf("SKIPPED, NOTHING IS PROVED: no links can be made here: %v", err)
	}
	for _, path := range []string{link, link + string(filepath.Separator)} {
		var files []string
		cases, err := conformance.Load(path)
		for _, c := range cases {
			files = append(files, c.File)
		}
		if want := []string{filepath.Join(link, "a.json"), filepath.Join(link, "sub", "b.json")}; err != nil || !slices.Equal(files, want) {
			t.Errorf("%s: files %q, %v, want %q", path, files, err, want)
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, "real")); err != nil {
		t.Fatal(err)
	}
	if _, err := conformance.Load(link); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a link to nothing: %v", err)
	}
}

// The printed differences are short, and cut where the texts part.
func TestPrint(t *testing.T) {
	long := strings.Repeat("é", 500)
	s := ready()
	s.Display.HTML = `<p id="a">` + long + `x` + long + `</p>`
	e := parse(t, `{"text": {"a": "`+long+`y`+long+`"}, "outcome": "failed"}`)
	found := e.Expect.Check(s)
	found[1].Step = 2
	results := conformance.Results{{Case: &e, Mismatches: found}, {Case: &e}}
	var b strings.Builder
	if err := results.Print(&b); err != nil {
		t.Fatal(err)
	}
	before, after := strings.Repeat("é", 20), strings.Repeat("é", 60)
	want := "FAIL x.json: \n  start: outcome\n    want failed\n    got  ready\n  step 2: text/a\n" +
		"    want \"…" + before + "y" + after + "…\"\n    got  \"…" + before + "x" + after + "…\"\n1 passed, 1 failed\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Whatever a case and a card hold, a failure is told in few and short lines.
func TestPrintLines(t *testing.T) {
	long := strings.Repeat("\n9 passed, 0 failed", 300)
	e := conformance.Expect{
		Text:     map[string]string{long: long},
		Controls: map[string]conformance.ControlState{long: {}},
		Outcome:  conformance.OneOf{long},
	}
	var p conformance.Pattern
	if err := p.UnmarshalJSONFrom(jsontext.NewDecoder(strings.NewReader(strings.ReplaceAll(`"`+long+`"`, "\n", `\n`)))); err != nil {
		t.Fatal(err)
	}
	e.CSSHasMatch, e.TextMatches = []conformance.Pattern{p}, map[string]conformance.Pattern{"a": p}
	s := failed()
	s.Failure.Message = long
	results := conformance.Results{{Case: &conformance.Case{File: "x.json", Name: long}, Mismatches: e.Check(s), Err: errors.New(long)}}
	var b strings.Builder
	if err := results.Print(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if want := 2 + 3*5 + 1; len(lines) != want || lines[want-1] != "0 passed, 1 failed" {
		t.Errorf("%d lines, want %d:\n%s", len(lines), want, b.String())
	}
	for _, line := range lines {
		if len(line) > 1000 {
			t.Errorf("%d bytes: %.100s", len(line), line)
		}
	}
}

// Run reports what is not as expected, at the step where it is not, in the order of the cases; and a case that cannot be
// played as an error.
func TestRunFinds(t *testing.T) {
	r := engine(t)
	const card = `"card": {"title": "T", "summary": "S", "html": "<button id=\"b\">B</button><p id=\"p\">0</p>", "css": "", "javascript": "let n = 0; ui.on('b', 'click', () => { ui.text('p', String(++n)); if (n === 3) throw 1; });"}`
	var cases []conformance.Case
	for _, rest := range []string{
		`"expect": {"text": {"p": "1"}}`,
		`"expect": {"text": {"p": "0"}}, "steps": [{"events": [{"id": "b", "type": "click"}], "expect": {"text": {"p": "1"}}}, {"events": [{"id": "b", "type": "click"}], "expect": {"text": {"p": "9"}}}]`,
		`"steps": [{"burst": true, "events": [{"id": "b", "type": "click"}, {"id": "no id", "type": "click"}, {"id": "b", "type": "click"}], "expect": {"text": {"p": "2"}, "rounds": 3}}]`,
		`"steps": [{"events": [{"id": "b", "type": "click", "at_ms": 0}, {"id": "b", "type": "click", "at_ms": 30}], "expect": {"text": {"p": "2"}}}]`,
		`"steps": [{"events": [{"id": "b", "type": "click"}, {"id": "b", "type": "click"}, {"id": "b", "type": "click"}, {"id": "b", "type": "click"}], "expect": {"outcome": "failed", "rounds": 4}}, {"burst": true, "events": [{"id": "b", "type": "click"}], "expect": {"rounds": 4, "text": {"p": "3"}}}]`,
	} {
		c, err := conformance.Parse("x.json", []byte("{"+card+", "+rest+"}"))
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	last := 0
	results := conformance.Run(t.Context(), r, cases, conformance.Options{Workers: 2, Done: func(done, all int) {
		if done != last+1 || all != len(cases) {
			t.Errorf("%d of %d after %d", done, all, last)
		}
		last = done
	}})
	var got []string
	for i, res := range results {
		if res.Err != nil {
			t.Errorf("case %d: %v", i, res.Err)
		}
		for _, m := range res.Mismatches {
			got = append(got, fmt.Sprintf("%d: step %d: %s: %s, not %s", i, m.Step, m.Key, m.Got, m.Want))
		}
	}
	want := []string{`0: step 0: text/p: "0", not "1"`, `1: step 2: text/p: "2", not "9"`, `4: step 2: text/p: "2", not "3"`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if passed, failed := results.Count(); passed != 2 || failed != 3 || last != len(cases) {
		t.Errorf("%d passed, %d failed, %d done", passed, failed, last)
	}
}
