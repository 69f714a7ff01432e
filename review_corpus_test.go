package cardrun

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"example.com/cardrun/limits"
)

// TestReviewIsQuiet: cards as a careful author writes them get no finding but notes of those kinds that name a choice.
func TestReviewIsQuiet(t *testing.T) {
	r := newRuntime(t, Options{budget: patience})
	files, err := filepath.Glob("examples/*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	cards := map[string]Card{"capacity": Decode(shared(t, "cards/capacity.json")), "weighted": Decode(shared(t, "cards/weighted.json"))}
	for _, f := range files {
		cards[f] = Decode(read(t, f))
	}
	rounds := 1_500
	if testing.Short() {
		rounds = 200
	}
	for name, c := range cards {
		t.Run(name, func(t *testing.T) {
			v, err := r.Review(t.Context(), &c, ReviewOptions{Rounds: rounds, Fuzz: patience})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range v.Findings {
				t.Errorf("%s\n%+v", f.String(), f.Evidence)
			}
		})
	}
}

// TestLintIsQuietOnCases: the cases show rules of the specification, many by what a careful author would not do. Of what
// reading alone tells of them, only these codes occur; each was looked at, and is so.
func TestLintIsQuietOnCases(t *testing.T) {
	known := []limits.Code{
		limits.ControlUnlabelled, limits.ControlUnread, limits.ControlUnheard, limits.NumberUnbounded, limits.ClickOnly, // probes have more controls than they use
		limits.ScriptUnread, limits.TablePartBare, limits.UIIDMissing, limits.Headroom, // what the case is about
	}
	r := newRuntime(t, Options{})
	cases := 0
	for name, c := range sharedCases(t) {
		found, err := r.Lint(t.Context(), &c)
		if err != nil {
			t.Fatal(err)
		}
		if rejects(diagnosticsOf(found)) {
			continue
		}
		cases++
		for _, f := range found {
			if !slices.Contains(known, f.Code) {
				t.Errorf("%s: %s", name, f.String())
			}
		}
	}
	if cases < 20 {
		t.Errorf("%d cases were read", cases)
	}
}

func diagnosticsOf(fs []Finding) (ds []Diagnostic) {
	for _, f := range fs {
		ds = append(ds, f.Diagnostic)
	}
	return ds
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sharedCases are the cards of the cases beside the repository.
func sharedCases(t *testing.T) map[string]Card {
	t.Helper()
	files, err := filepath.Glob("../shared/cases/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("NOT RUN: ../shared/cases is not beside the repository")
	}
	cards := map[string]Card{}
	for _, f := range files {
		var c struct {
			Card jsontext.Value `json:"card"`
		}
		if err := json.Unmarshal(read(t, f), &c); err != nil {
			t.Fatal(err)
		}
		if c.Card != nil {
			cards[filepath.Base(f)] = Decode(c.Card)
		}
	}
	return cards
}
