package conformance_test

import (
	"os"
	"path/filepath"
	"slices"
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

// TestCasesFromMemory runs all cases twice on a runtime that remembers: what came from memory is as expected, too.
func TestCasesFromMemory(t *testing.T) {
	r, err := cardrun.New(t.Context(), cardrun.Options{RenderCache: 8 << 20, ImageCache: 32 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cases := load(t, "cases")
	for range 2 {
		expectAllOn(t, r, cases)
	}
	if _, images := r.CacheStats(); images.Hits < int64(len(cases))/2 {
		t.Errorf("%+v for %d cases", images, len(cases))
	}
}

func load(t *testing.T, path string) []conformance.Case {
	t.Helper()
	cases, err := conformance.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// expectAll runs cases. Budgets are wall time (D26), and a machine that others use as well may stop for a second in the
// middle of a round; a case that failed for its time alone is played again, by itself.
func expectAll(t *testing.T, cases []conformance.Case) {
	t.Helper()
	expectAllOn(t, engine(t), cases)
}

func expectAllOn(t *testing.T, r *cardrun.Runtime, cases []conformance.Case) {
	t.Helper()
	results := conformance.Run(t.Context(), r, cases, conformance.Options{})
	for i := range results {
		for again := 0; again < 3 && late(&results[i]); again++ {
			t.Logf("%s: the machine was busy; once more", results[i].Case.Name)
			results[i] = conformance.Run(t.Context(), r, cases[i:i+1], conformance.Options{})[0]
		}
		if !results[i].Passed() {
			var b strings.Builder
			if err := results[i].Print(&b); err != nil {
				t.Fatal(err)
			}
			t.Error("\n" + b.String())
		}
	}
}

// late tells that time may be what a case failed for.
func late(r *conformance.Result) bool {
	return slices.ContainsFunc(r.Mismatches, func(m conformance.Mismatch) bool {
		return m.Key == "max_ms" || strings.Contains(m.Got, "(timeout in round")
	})
}
