package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// unit is one call of go test: tests of one folder with one expression for their subtests.
type unit struct {
	folder  string
	subtest string
	tests   []string // names of tests and fuzz targets, sorted
}

// plan says which tests the rows need. Each runs once, however many rows it proves.
type plan struct {
	top   string // folder of the repository
	units []*unit
	tests map[*row][]testKey
}

// testKey is a test within a plan.
type testKey struct {
	unit *unit
	name string
}

// newPlan finds the tests that the rows name in the test files, those of other systems and build tags among them. A proof
// that no test answers to is an error: the document and the tests have come apart.
func newPlan(file string, rows []row) (*plan, error) {
	p := &plan{top: filepath.Dir(file), tests: map[*row][]testKey{}}
	names := map[string][]string{}
	for i := range rows {
		r := &rows[i]
		for _, f := range r.proofs {
			if names[f.folder] == nil {
				found, err := testNames(filepath.Join(p.top, filepath.FromSlash(f.folder)))
				if err != nil {
					return nil, fmt.Errorf("%s:%d: proof %q: %w", file, r.line, f.text, err)
				}
				names[f.folder] = found
			}
			matched := false
			for _, name := range names[f.folder] {
				if f.name.MatchString(name) {
					matched = true
					p.tests[r] = append(p.tests[r], p.add(f, name))
				}
			}
			if !matched {
				return nil, fmt.Errorf("%s:%d: no test answers to %q; correct the row, or write the test", file, r.line, f.text)
			}
		}
	}
	return p, nil
}

func (p *plan) add(f proof, name string) testKey {
	i := slices.IndexFunc(p.units, func(u *unit) bool { return u.folder == f.folder && u.subtest == f.subtest })
	if i < 0 {
		i = len(p.units)
		p.units = append(p.units, &unit{folder: f.folder, subtest: f.subtest})
	}
	u := p.units[i]
	if at, found := slices.BinarySearch(u.tests, name); !found {
		u.tests = slices.Insert(u.tests, at, name)
	}
	return testKey{u, name}
}

// testNames are the functions that go test runs in the test files of a folder, whatever their build constraints.
func testNames(folder string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there are no tests in the folder %q", filepath.Base(folder))
	}
	var names []string
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			if fn, is := d.(*ast.FuncDecl); is && fn.Recv == nil && testName(fn.Name.Name) {
				names = append(names, fn.Name.Name)
			}
		}
	}
	return names, nil
}

func testName(name string) bool {
	return name != "TestMain" && (strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Fuzz"))
}

// expression is what go test takes for -run.
func (u *unit) expression() string {
	s := "^(" + strings.Join(u.tests, "|") + ")$"
	if u.subtest != "" {
		s += "/" + u.subtest
	}
	return s
}

// path is the package as go test takes it.
func (u *unit) path() string {
	if u.folder == "." {
		return "."
	}
	return "./" + u.folder
}

// print lists the calls of go test.
func (p *plan) print(w io.Writer) {
	for _, u := range p.units {
		fmt.Fprintf(w, "go test -count 1 -tags browser -run '%s' %s\n", u.expression(), u.path())
	}
}
