package conformance

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/cardrun"
)

var goldenCard = cardrun.Card{
	Title: "T", Summary: "S", HTML: `<label for="n">N</label><input id="n" type="range" max="9" value="1"><textarea id="t"></textarea><label><input id="c" type="checkbox"> C</label><button id="go">Go</button><p id="out"></p>`,
	JavaScript: `const f = () => ui.text('out', ui.input('n').value + ' ' + ui.input('c').checked + ' ' + ui.input('t').value); for (const id of ['n', 'c', 't']) ui.on(id, 'input', f); ui.on('go', 'click', () => { throw new Error('enough'); }); f();`,
}

func golden(t *testing.T, r *cardrun.Runtime, text string) *GoldenResult {
	t.Helper()
	g, err := ReadGolden("a.test", text)
	if err != nil {
		t.Fatal(err)
	}
	res, err := RunGolden(t.Context(), r, &goldenCard, g)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestGolden(t *testing.T) {
	r, err := cardrun.New(t.Context(), cardrun.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	steps := "# read me\nseed 3\n\nstart\nset n=5\n# between\ntoggle c\nset t=\"two\\nlines \"\nclick go\n"
	filled := golden(t, r, steps)
	if len(filled.Failures) > 0 || filled.Steps != 5 {
		t.Fatalf("%d steps, failures %v", filled.Steps, filled.Failures)
	}
	for _, want := range []string{"# read me\nseed 3\n\nstart\n  N: 1\n", "\nset n=5\n  N: 5\n", "\n# between\ntoggle c\n", "  5 true two lines\n", "  ! exception: Error: enough\n"} {
		if !strings.Contains(filled.Text, want) {
			t.Errorf("the text lacks %q:\n%s", want, filled.Text)
		}
	}
	// What was filled in passes, and stays as it is.
	again := golden(t, r, filled.Text)
	if len(again.Failures) > 0 || again.Text != filled.Text {
		t.Errorf("failures %v (-first +again):\n%s", again.Failures, cmp.Diff(filled.Text, again.Text))
	}
	// What differs is told, line by line.
	res := golden(t, r, strings.Replace(filled.Text, "  5 false", "  6 false", 1))
	if len(res.Failures) != 1 || res.Failures[0].Line != 8 || !strings.Contains(strings.Join(res.Failures[0].Diff, "\n"), "- 6 false\n+ 5 false") {
		t.Errorf("failures %+v", res.Failures)
	}
	// What a user cannot do fails, whatever is displayed.
	for _, step := range []string{"set nobody=1", "click nobody", "toggle nobody", "set go=1", "click go\nclick go"} {
		if res := golden(t, r, "start\n"+step+"\n"); len(res.Failures) != 1 || res.Failures[0].Why == "" {
			t.Errorf("%s: failures %+v", step, res.Failures)
		}
	}
	var b bytes.Buffer
	if err := WriteJUnit(&b, "card.json", []*GoldenResult{res}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`tests="5" failures="1"`, `<testcase classname="a.test" name="8 set n=5">`, "- 6 false"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the report lacks %s:\n%s", want, b.String())
		}
	}
}

func TestGoldenFaults(t *testing.T) {
	for _, c := range [][2]string{
		{"", "a.test: there is no step"}, {"# nothing\n", "there is no step"}, {"set n=1\n", "a.test:1: the first step must be start"},
		{"start\nstart\n", "a.test:2: start stands first"}, {"start\npush go\n", "a.test:2: \"push\" is no step"}, {"start\nset n\n", "write set ID=VALUE"},
		{"start\nset 1=2\n", "write set ID=VALUE"}, {"start\nclick\n", "write click ID"}, {"  x\nstart\n", "a.test:1: a display before the first step"},
		{"seed x\nstart\n", "seed \"x\""}, {"now yesterday\nstart\n", "now \"yesterday\""}, {"start\nset n=\"x\n", "no text in quotes"}, {"start\n   \n", "a line of spaces"},
	} {
		if _, err := ReadGolden("a.test", c[0]); err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%q: error %v, want %s", c[0], err, c[1])
		}
	}
}
