package conformance_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rules are all numbers of the specification, in its order, each in a few words.
var rules = []struct{ number, title string }{
	{"R1", "exactly five members"}, {"R2", "all of them strings"}, {"R3", "title 1–120"}, {"R4", "summary 1–2,000"},
	{"R5", "html 1–12,000"}, {"R6", "css 0–6,000"}, {"R7", "javascript 0–12,000"}, {"R8", "title and summary show something"},
	{"R9", "result within 24,000"}, {"R10", "nothing is cut to fit"}, {"R11", "two calls, two cards"},
	{"R12", "the source never changes"}, {"R13", "success claims no verification"}, {"R14", "the two examples"},
	{"R20", "html is body content"}, {"R21", "kinds of elements"}, {"R22", "512 elements"}, {"R23", "64 controls"},
	{"R24", "form of ids"}, {"R25", "ids are unique"}, {"R26", "supported controls"}, {"R27", "no select multiple"},
	{"R28", "no other input types"}, {"R29", "no links, loads, handlers, styles"}, {"R30", "updates are sanitized too"},
	{"R31", "nothing from an update can run"}, {"R32", "maxlength at most 2,048"},
	{"R40", "css loads nothing"}, {"R41", "css is scoped"},
	{"R50", "three event types"}, {"R51", "the event a handler gets"}, {"R52", "ui.input"}, {"R53", "ui.text"}, {"R54", "ui.html"},
	{"R55", "ui.value"}, {"R56", "strings only"}, {"R57", "a request is seen in its round"},
	{"R58", "for new inputs too"}, {"R59", "normalization is seen in the next"}, {"R60", "192 pairs"},
	{"R61", "registering again replaces"}, {"R62", "fragments are body-level"}, {"R63", "whole tables, single cells"},
	{"R64", "a failed call is terminal"},
	{"R70", "initialization"}, {"R71", "one event at a time"}, {"R72", "inputs as displayed at dispatch"},
	{"R73", "inputs may combine"}, {"R74", "16 wait"}, {"R75", "not every event arrives"},
	{"R80", "all or nothing"}, {"R81", "an invalid batch ends"}, {"R82", "a conflict discards"},
	{"R83", "indirect changes conflict"}, {"R84", "variables stay"}, {"R85", "a discard runs nothing"},
	{"R86", "indirect values have the limits"}, {"R87", "stale until the next click"},
	{"R90", "what the guest does not have"}, {"R91", "calculation only"}, {"R92", "activations are apart"},
	{"R100", "heap 32 MiB"}, {"R101", "stack 256 KiB"}, {"R102", "250 ms"}, {"R103", "256 jobs"}, {"R104", "64 patches"},
	{"R105", "values of 2,048"}, {"R106", "snapshots of 16,000"}, {"R107", "batches of 16,000"}, {"R108", "a breach ends one card only"},
	{"R110", "uncaught exceptions end"}, {"R111", "returned rejections end"}, {"R112", "caught ones do not"},
	{"R113", "failed calls end, caught or not"}, {"R114", "others are not watched"}, {"R115", "nor at the start"},
	{"R116", "ready claims little"},
	{"R120", "nothing runs after the end"}, {"R121", "refresh starts from the document"}, {"R122", "nothing persists, nothing streams"},
	{"R123", "the summary stands alone"}, {"R124", "history keeps the document"}, {"R125", "a rejection helps its author"},
	{"D1", "characters are UTF-16 units"}, {"D2", "surrogates"}, {"D3", "display form"}, {"D4", "elements"}, {"D5", "attributes"},
	{"D6", "reject or strip"}, {"D7", "svg"}, {"D8", "what counts as an element"}, {"D9", "what counts as a control"},
	{"D10", "targets of ui.on"}, {"D11", "who emits events"}, {"D12", "missing ids"}, {"D13", "value and checked of an event"},
	{"D14", "combining"}, {"D15", "the round in flight does not wait"}, {"D16", "conflict"}, {"D17", "requests vanish with a batch"},
	{"D18", "targets in sequence"}, {"D19", "what a patch is"}, {"D20", "indirect changes"}, {"D21", "host normalization"},
	{"D22", "ui.value on a checkbox"}, {"D23", "classic script"}, {"D24", "promises and jobs"}, {"D25", "form of the result"},
	{"D26", "time"}, {"D27", "memory and stack errors"}, {"D28", "form of css"}, {"D29", "names and references"},
	{"D30", "display of an ended activation"}, {"D31", "ready"}, {"D32", "new inputs without a request"},
	{"D33", "controls without id"}, {"D34", "user input over the limit"}, {"D35", "snapshot over the limit"},
}

// elsewhere are rules that nothing here can test yet, with the reason and the place that will.
var elsewhere = map[string]string{}

var numbered = regexp.MustCompile(`[RD][0-9]+`)

// TestIndex lists which rule has which tests, and fails for a rule that has none: case files named after it or whose why
// names it, and Go tests in this repository with its number in their name. Run it with -v to read the list.
func TestIndex(t *testing.T) {
	tests := map[string][]string{}
	for _, c := range load(t, "cases") {
		if !numbered.MatchString(c.Name) {
			t.Errorf("%s: the name begins with no rule", c.File)
		}
		for _, number := range numbersIn(c.Name + " " + c.Why) {
			tests[number] = append(tests[number], c.Name)
		}
	}
	for _, name := range goTests(t) {
		for _, number := range numbersIn(name) {
			tests[number] = append(tests[number], name)
		}
	}
	known := map[string]bool{}
	for _, r := range rules {
		known[r.number] = true
		found, reason := tests[r.number], elsewhere[r.number]
		switch {
		case len(found) > 0 && reason != "":
			t.Errorf("%s has tests, and is said to be tested elsewhere: %s", r.number, reason)
		case len(found) == 0 && reason == "":
			t.Errorf("%s (%s) has no test", r.number, r.title)
		case !testing.Verbose():
		case reason != "":
			t.Logf("%-5s %s: %s", r.number, r.title, reason)
		default:
			t.Logf("%-5s %s: %s", r.number, r.title, strings.Join(found, ", "))
		}
	}
	for number, names := range tests {
		if !known[number] {
			t.Errorf("%s is no rule, but has %q", number, names)
		}
	}
	if len(rules) != 83+35 {
		t.Errorf("there are %d rules", len(rules))
	}
}

func numbersIn(s string) []string {
	found := numbered.FindAllString(s, -1)
	slices.Sort(found)
	return slices.Compact(found)
}

// goTests gives the tests of the whole repository, as package.Name.
func goTests(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv != nil {
				continue
			}
			for _, kind := range []string{"Test", "Fuzz", "Example"} {
				if strings.HasPrefix(fn.Name.Name, kind) {
					names = append(names, fmt.Sprintf("%s.%s", strings.TrimSuffix(f.Name.Name, "_test"), fn.Name.Name))
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
