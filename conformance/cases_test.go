package conformance_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/cardrun"
	"example.com/cardrun/conformance"
)

// engine starts a runtime for a test.
func engine(t testing.TB) *cardrun.Runtime {
	t.Helper()
	r, err := cardrun.New(t.Context(), cardrun.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// TestCases runs all of the project's own case files.
func TestCases(t *testing.T) {
	cases := load(t, "cases")
	if len(cases) < 100 {
		t.Fatalf("found %d cases only", len(cases))
	}
	for _, c := range cases {
		if c.Why == "" {
			t.Errorf("%s: has no why", c.File)
		}
		if want := strings.TrimSuffix(filepath.Base(c.File), ".json"); c.Name != want {
			t.Errorf("%s: its name is %s", c.File, c.Name)
		}
	}
	expectAll(t, cases)
}

// TestSharedCases runs the case files beside the repository.
func TestSharedCases(t *testing.T) {
	dir := filepath.Join("..", "..", "shared", "cases")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("SKIPPED, NOTHING IS PROVED: ../shared/cases is not beside the repository")
	}
	expectAll(t, load(t, dir))
}

func load(t *testing.T, path string) []conformance.Case {
	t.Helper()
	cases, err := conformance.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

func expectAll(t *testing.T, cases []conformance.Case) {
	t.Helper()
	for _, r := range conformance.Run(t.Context(), engine(t), cases, conformance.Options{}) {
		if !r.Passed() {
			var b strings.Builder
			if err := r.Print(&b); err != nil {
				t.Fatal(err)
			}
			t.Error("\n" + b.String())
		}
		t.Logf("%s: %v", r.Case.Name, r.Elapsed)
	}
}
