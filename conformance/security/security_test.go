package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const head = "text\n\n| promise | what is tried | proved by | may be skipped where |\n|---|---|---|---|\n"

// TestDocument finds the tests behind every row of the real table, without running them.
func TestDocument(t *testing.T) {
	rows, err := readTable("../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPlan("../../SECURITY.md", rows)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) < 20 || len(p.units) < 7 {
		t.Errorf("%d rows with tests in %d folders", len(rows), len(p.units))
	}
}

func TestParseTable(t *testing.T) {
	rows, err := parseTable(head + "| a | b \\| c | `x:TestA`, and `.:FuzzB.*/s` | `no Chromium` |\n| a | d | `x:TestC` | |\n\n| other | table |\n|--|--|\n| 1 | 2 |\n")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rows {
		for _, p := range r.proofs {
			got = append(got, fmt.Sprintf("%d %s %s %s %v %s %q", r.line, r.promise, r.tried, p.folder, p.name, p.subtest, r.excuses))
		}
	}
	want := []string{
		`5 a b | c x ^(?:TestA)$  ["no Chromium"]`,
		`5 a b | c . ^(?:FuzzB.*)$ s ["no Chromium"]`,
		`6 a d x ^(?:TestC)$  []`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestParseTableRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"no table\n", "no table with the columns"},
		{head + "| a | b | `x:TestA` |\n", "5: the row has 3 cells"},
		{head + "| | b | `x:TestA` | |\n", "5: the row does not say"},
		{head + "| a | b | TestA | |\n", "5: the row names no proof"},
		{head + "| a | b | `TestA` | |\n", "does not have the form folder:TestName"},
		{head + "| a | b | `/x:TestA` | |\n", "does not have the form folder:TestName"},
		{head + "| a | b | `../x:TestA` | |\n", "does not have the form folder:TestName"},
		{head + "| a | b | `x:Test(` | |\n", "missing closing )"},
		{head + "| a | b | `x:TestA` | sometimes |\n", "in backquotes"},
	} {
		if _, err := parseTable(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

func TestPlanRefuses(t *testing.T) {
	for _, c := range []struct{ proof, want string }{
		{"conformance/security:TestThatIsNotThere", "no test answers to"},
		{"conformance/security:TestMain", "no test answers to"},
		{"conformance/nowhere:TestA", "there are no tests in the folder"},
	} {
		rows, err := parseTable(head + "| a | b | `" + c.proof + "` | |\n")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := newPlan("../../SECURITY.md", rows); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.proof, err, c.want)
		}
	}
}

// TestJudge holds made-up output of go test against one row.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name   string
		row    string
		events [][3]string // action, test, output
		err    error
		want   string
	}{
		{"a test", "| `x:TestA` | |", [][3]string{{"run", "TestA"}, {"pass", "TestA"}}, nil, "1 held"},
		{"leaves", "| `x:TestA` | |", [][3]string{
			{"run", "TestA"}, {"run", "TestA/a"}, {"run", "TestA/a/b"}, {"run", "TestA/c"}, {"pass", "TestA/a/b"}, {"pass", "TestA/a"}, {"pass", "TestA/c"}, {"pass", "TestA"},
		}, nil, "2 held"},
		{"logged", "| `x:TestA` | |", [][3]string{
			{"run", "TestA"}, {"run", "TestA/a"}, {"output", "TestA/a", "x_test.go:1: attacks: 7\n"}, {"pass", "TestA/a"}, {"output", "TestA", "attacks: 5\n"}, {"pass", "TestA"},
		}, nil, "12 held"},
		{"random", "| `x:TestA` | |", [][3]string{{"run", "TestA"}, {"output", "TestA", "engine.go:285: [rapid] OK, passed 100 tests (1s)\n"}, {"pass", "TestA"}}, nil, "100 held"},
		{"another test's", "| `x:TestA` | |", [][3]string{{"run", "TestAB"}, {"pass", "TestAB"}}, nil, "0 FAILED"},
		{"a subtest failed", "| `x:TestA` | |", [][3]string{
			{"run", "TestA"}, {"run", "TestA/a"}, {"run", "TestA/b"}, {"pass", "TestA/a"}, {"fail", "TestA/b"}, {"fail", "TestA"},
		}, fmt.Errorf("exit status 1"), "1 FAILED"},
		{"did not end", "| `x:TestA` | |", [][3]string{{"run", "TestA"}}, nil, "0 FAILED"},
		{"skipped", "| `x:TestA` | |", [][3]string{{"run", "TestA"}, {"output", "TestA", "no Chromium here"}, {"skip", "TestA"}}, nil, "0 FAILED"},
		{"skipped for another reason", "| `x:TestA` | `no Firefox` |", [][3]string{{"run", "TestA"}, {"output", "TestA", "no Chromium here"}, {"skip", "TestA"}}, nil, "0 FAILED"},
		{"excused", "| `x:TestA` | `no Chromium` |", [][3]string{{"run", "TestA"}, {"output", "TestA", "no Chromium here"}, {"skip", "TestA"}}, nil, "0 NOT RUN here: no Chromium"},
		{"partly excused", "| `x:TestA` | `no Chromium` |", [][3]string{
			{"run", "TestA"}, {"run", "TestA/a"}, {"output", "TestA/a", "no Chromium here"}, {"skip", "TestA/a"}, {"run", "TestA/b"}, {"pass", "TestA/b"}, {"pass", "TestA"},
		}, nil, "1 held; NOT RUN here: TestA/a"},
		{"no subtest", "| `x:TestA/none` | |", [][3]string{{"run", "TestA"}, {"pass", "TestA"}}, nil, "0 FAILED"},
		{"another failed", "| `x:TestA` | |", [][3]string{{"run", "TestA"}, {"pass", "TestA"}, {"run", "TestB"}, {"fail", "TestB"}}, fmt.Errorf("exit status 1"), "1 held"},
		{"the process failed", "| `x:TestA` | |", [][3]string{{"run", "TestA"}, {"pass", "TestA"}, {"output", "", "leaked goroutine"}}, fmt.Errorf("exit status 1"), "1 FAILED"},
		{"did not compile", "| `x:TestA` | |", nil, fmt.Errorf("exit status 1"), "0 FAILED"},
	} {
		rows, err := parseTable(head + "| a | b " + c.row + "\n")
		if err != nil {
			t.Fatal(err)
		}
		p := &plan{tests: map[*row][]testKey{}}
		p.tests[&rows[0]] = []testKey{p.add(rows[0].proofs[0], "TestA")}
		var b bytes.Buffer
		for _, e := range c.events {
			line, _ := json.Marshal(event{Action: e[0], Test: e[1], Output: e[2]})
			b.Write(append(line, '\n'))
		}
		res := readEvents(&b)
		res.err = c.err
		r := judge(rows, p, map[*unit]*unitResult{p.units[0]: res})
		if got := fmt.Sprintf("%d %s", r.lines[0].attacks, r.lines[0].result()); got != c.want {
			t.Errorf("%s: %s, want %s; %q", c.name, got, c.want, r.lines[0].faults)
		}
		if r.failed() != strings.HasSuffix(c.want, "FAILED") {
			t.Errorf("%s: failed is %t", c.name, r.failed())
		}
		var out, details bytes.Buffer
		r.print(&out, &details)
		if !strings.Contains(out.String(), "1 rows") || r.failed() != (details.Len() > 0) && c.err == nil {
			t.Errorf("%s: %s\n%s", c.name, &out, &details)
		}
	}
}

// TestRun runs the command on itself: a document whose one row is proved by a test of this package.
func TestRun(t *testing.T) {
	var out, progress bytes.Buffer
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-file", "../../SECURITY.md", "-only", "^nothing is like this$"}, 2, "no row of"},
		{[]string{"-file", "../../SECURITY.md", "-only", "("}, 2, "-only"},
		{[]string{"-file", "gone.md"}, 2, "gone.md"},
		{[]string{"more"}, 2, "no arguments"},
		{[]string{"-none"}, 2, "-only"},
		{[]string{"-file", "../../SECURITY.md", "-list"}, 0, "go test -count 1 -tags browser -run '^("},
		{[]string{"-file", "testdata/ROW.md"}, 0, "1 rows, 0 failed, 0 not run here; 1 tests, 1 attacks"},
	} {
		out.Reset()
		progress.Reset()
		if code := run(t.Context(), c.args, &out, &progress); code != c.code || !strings.Contains(out.String()+progress.String(), c.want) {
			t.Errorf("%q: %d %s%s", c.args, code, &out, &progress)
		}
	}
}
