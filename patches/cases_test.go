package patches_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/cardrun/limits"
	"example.com/cardrun/patches"
	"example.com/cardrun/sanitize"
)

// caseHTML reads the html of a shared case file. The case files lie beside the repository and may be absent.
func caseHTML(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join("..", "..", "shared", "cases", name+".json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Skipf("SKIPPED: the shared case %s is not beside this repository: %v", name, err)
	}
	var c struct {
		Card struct{ HTML string }
	}
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	return c.Card.HTML
}

func TestCase218BareRowsR62(t *testing.T) {
	d := document(t, caseHTML(t, "218-bare-table-rows-lose-their-tags"))
	apply(t, d,
		html("body", "<tr><td>one</td><td>two</td></tr>"),
		html("note", "<caption>cap</caption><td>cell</td><tbody><tr><th>head</th></tr></tbody>"))
	expectText(t, d, "body", "onetwo")
	expectText(t, d, "note", "capcellhead")
	for _, tag := range []string{"td", "tr", "th", "caption"} {
		if n := d.Elements()[tag]; n != 0 {
			t.Errorf("%d elements %s, want none", n, tag)
		}
	}
	// What stands alone says the same to whoever parses it.
	again := document(t, d.HTML())
	expectText(t, again, "body", "onetwo")
	if n := again.Elements()["td"]; n != 0 {
		t.Errorf("%d elements td in HTML, want none", n)
	}
}

func TestCase219CompleteTableR63(t *testing.T) {
	d := document(t, caseHTML(t, "219-complete-table-structure-kept"))
	apply(t, d, html("box", `<table><caption>Costs</caption><colgroup><col><col></colgroup><thead><tr><th scope="col">A</th>`+
		`<th scope="col" colspan="1">B</th></tr></thead><tbody><tr><td id="c1">1</td><td rowspan="1">2</td></tr><tr><td>3</td>`+
		`<td>4</td></tr></tbody><tfoot><tr><td colspan="2">sum 10</td></tr></tfoot></table>`))
	expectText(t, d, "c1", "1")
	for tag, want := range map[string]int{"table": 1, "caption": 1, "thead": 1, "tbody": 1, "tr": 4, "th": 2, "td": 5} {
		if n := d.Elements()[tag]; n != want {
			t.Errorf("%d elements %s, want %d", n, tag, want)
		}
	}
	if !strings.Contains(d.HTML(), `colspan="2"`) {
		t.Error("HTML lacks colspan")
	}
	apply(t, d, text("c1", "one"))
	expectText(t, d, "c1", "one")
}

func TestCase222DuplicateIDR25(t *testing.T) {
	d := document(t, caseHTML(t, "222-update-duplicating-an-id"))
	expectRefused(t, d, limits.InvalidPatch, text("out", "changed"), html("box", `<p id="out">second</p>`))
	expectText(t, d, "out", "start")
	expectText(t, d, "old", "old")
}

func TestCase401NumbersD21(t *testing.T) {
	d := document(t, caseHTML(t, "401-number-value-sanitization"))
	for id, want := range map[string]string{"v0": "5", "v1": "-0.5", "v2": ".5", "v3": "1e3", "v4": "", "v5": "", "v6": "",
		"v7": "", "v8": "", "v9": "", "v10": "", "v11": ""} {
		expectValue(t, d, id, want)
	}
	expectSound(t, d)
}

func TestCase403SelectsD20(t *testing.T) {
	d := document(t, caseHTML(t, "403-select-default-selection"))
	for id, want := range map[string]string{"a": "two words", "b": "y", "c": "2", "d": "", "e": "g2"} {
		expectValue(t, d, id, want)
	}
	expectSound(t, d)
}

func TestCase406RequestedValuesR59(t *testing.T) {
	d := document(t, caseHTML(t, "406-requested-value-then-normalised"))
	apply(t, d, value("r", "250"), value("n", "many"), value("s", "zzz"))
	if got, want := expectSnapshot(t, d), `{"go":{"value":"","checked":false},"see":{"value":"","checked":false},`+
		`"r":{"value":"100","checked":false},"n":{"value":"","checked":false},"s":{"value":"","checked":false}}`; got != want {
		t.Errorf("snapshot %s, want %s", got, want)
	}
}

func TestCase412NUL(t *testing.T) {
	d := document(t, caseHTML(t, "412-nul-inside-strings"))
	apply(t, d, text("out", "left\x00right"))
	expectText(t, d, "out", "left\ufffdright")
	v := "x\x00z"
	if changed, err := d.Edit("n", &v, nil); !changed || err != nil {
		t.Errorf("Edit = %v, %v", changed, err)
	}
	expectValue(t, d, "n", "x\ufffdz")
	expectSound(t, d)
}

func TestCase419AtomicR80(t *testing.T) {
	d := document(t, caseHTML(t, "419-invalid-batch-is-atomic"))
	expectRefused(t, d, limits.InvalidPatch, text("out", "new"), value("k", "9"), html("list", "<li>two</li>"), text("one", "gone by now"))
	expectValue(t, d, "k", "3")
	expectText(t, d, "list", "one")
}

func TestCase003OptionsRebuiltR83(t *testing.T) {
	d := document(t, caseHTML(t, "003-unit-converter-rebuilds-options"))
	s, err := d.Stage(patches.Batch{html("unit", `<option value="F">F</option><option value="C">C</option>`), value("unit", "F"), text("out", "1 F = -17.22 C")})
	if err != nil {
		t.Fatal(err)
	}
	if !s.Changes("unit") || s.Changes("amount") || s.Changes("kind") {
		t.Error("the batch changes unit and nothing else")
	}
	if err := s.Commit(); err != nil {
		t.Fatal(err)
	}
	expectValue(t, d, "unit", "F")
	if strings.Contains(d.HTML(), `value="mi"`) {
		t.Error("the old options are still there")
	}
	v := "C"
	if changed, err := d.Edit("unit", &v, nil); !changed || err != nil {
		t.Errorf("Edit = %v, %v", changed, err)
	}
	expectValue(t, d, "unit", "C")
	expectSound(t, d)
}

// Every card of the case files that is accepted stands alone as it is shown.
func TestCasesStandAlone(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join("..", "..", "shared", "cases", "*.json"))
	cards, _ := filepath.Glob(filepath.Join("..", "..", "shared", "cards", "*.json"))
	if len(files) == 0 && len(cards) == 0 {
		t.Skip("SKIPPED: no shared cases or cards beside this repository")
	}
	checked := 0
	for _, path := range append(files, cards...) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var c struct {
			Card struct{ HTML string }
			HTML string
		}
		if json.Unmarshal(data, &c) != nil {
			continue // a malformed card on purpose
		}
		h, diagnostics := sanitize.Card(c.Card.HTML + c.HTML)
		refused := slices.ContainsFunc(diagnostics, func(g limits.Diagnostic) bool { return g.Severity == limits.SeverityError })
		d, err := patches.New(h)
		if refused || err != nil {
			continue
		}
		checked++
		expectSound(t, d)
	}
	if checked < 20 {
		t.Errorf("only %d documents were checked", checked)
	}
}

func TestCapacityCardR14(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "shared", "cards", "capacity.json"))
	if err != nil {
		t.Skip("SKIPPED: the shared card capacity is not beside this repository: ", err)
	}
	var c struct{ HTML string }
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	d := document(t, c.HTML)
	five := "5"
	if _, err := d.Edit("workers", &five, nil); err != nil {
		t.Fatal(err)
	}
	apply(t, d, text("answer", "5 workers × 25 requests/s = 125 requests/s"))
	if got, want := d.Text(), "Estimated capacity\nWorkers: 5\nRequests/s per worker: 25\n5 workers × 25 requests/s = 125 requests/s\n"+
		"Formula: workers × requests/s per worker."; got != want {
		t.Errorf("Text = %q\nwant   %q", got, want)
	}
}
