package examples_test

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"example.com/cardrun"
)

var update = flag.Bool("update", false, "write what the cards show to testdata instead of comparing")

// expectation is what testdata/expect.json says of a card after its script has run. The figures in it were computed
// apart from this project.
type expectation struct {
	Handlers int
	Patches  int
	Text     map[string]string // element id → text content
	Elements map[string]int    // tag → count
}

func TestExamples(t *testing.T) {
	r := runtime(t)
	wants := expectations(t)
	files := cards(t)
	if got, want := slices.Sorted(maps.Keys(files)), slices.Sorted(maps.Keys(wants)); !slices.Equal(got, want) {
		t.Fatalf("there are the cards %q and expectations for %q", got, want)
	}
	for name, data := range files {
		t.Run(name, func(t *testing.T) {
			card := cardrun.Decode(data)
			seed := uint64(1)
			s, err := r.Render(t.Context(), &card, cardrun.RenderOptions{Seed: &seed, Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)})
			if err != nil {
				t.Fatal(err)
			}
			if s.Outcome != cardrun.Ready || len(s.Diagnostics) > 0 {
				t.Fatalf("outcome %s, failure %+v, diagnostics %v", s.Outcome, s.Failure, s.Diagnostics)
			}
			expectShown(t, s, wants[name])
			expectGolden(t, filepath.Join("testdata", name+".txt"), s.Display.Text)
		})
	}
}

func runtime(t *testing.T) *cardrun.Runtime {
	t.Helper()
	r, err := cardrun.New(t.Context(), cardrun.Options{Workers: 1, NoCache: true})
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

func expectShown(t *testing.T, s *cardrun.Snapshot, want expectation) {
	t.Helper()
	if len(s.Rounds) != 1 || len(s.Rounds[0].Patches) != want.Patches || len(s.Handlers) != want.Handlers {
		t.Errorf("got %d rounds, %d handlers, want 1 round with %d patches, %d handlers", len(s.Rounds), len(s.Handlers), want.Patches, want.Handlers)
	}
	texts, counts := parse(t, s.Display.HTML)
	for id, text := range want.Text {
		if got, ok := texts[id]; !ok || got != text {
			t.Errorf("#%s is %q (there: %t), want %q", id, got, ok, text)
		}
	}
	for tag, n := range want.Elements {
		if counts[tag] != n {
			t.Errorf("there are %d <%s>, want %d", counts[tag], tag, n)
		}
	}
}

// parse reads displayed html as a browser does: the text content of each element that has an id, and how many elements
// there are of each tag.
func parse(t *testing.T, displayed string) (texts map[string]string, counts map[string]int) {
	t.Helper()
	root, err := html.Parse(strings.NewReader("<!DOCTYPE html><body>" + displayed))
	if err != nil {
		t.Fatal(err)
	}
	texts, counts = map[string]string{}, map[string]int{}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		counts[n.Data]++
		for _, a := range n.Attr {
			if a.Key != "id" {
				continue
			}
			var b strings.Builder
			for d := range n.Descendants() {
				if d.Type == html.TextNode {
					b.WriteString(d.Data)
				}
			}
			texts[a.Val] = b.String()
		}
	}
	return texts, counts
}

// The summary stands alone (R123): the figures that the card first shows are in it. It names the numbers that
// expect.json has, so that a change of a card cannot leave its summary behind.
func TestSummariesStandAloneR123(t *testing.T) {
	for name, figures := range map[string][]string{
		"bars":      {"660", "165", "Q4"},
		"breakeven": {"1,000 units", "$12.00", "1,400", "$4,800.00"},
		"budget":    {"$1,050.00", "$600.00", "$300.00", "$450.00", "20%"},
		"checklist": {"Two of the six", "33%"},
		"dates":     {"343 days", "49 weeks", "245 weekdays", "Thursday"},
		"dice":      {"55.6327%", "721", "1,296"},
		"growth":    {"$43,816.01", "$25,000.00", "$18,816.01"},
		"kitchen":   {"4.93", "14.79", "29.57", "236.59", "473.18"},
		"loan":      {"$386.66", "$23,199.36", "$3,199.36"},
		"pace":      {"5:00", "8:03", "12.00", "1:45:29", "3:30:59"},
		"planets":   {"2,440", "24,622", "60,190"},
		"plans":     {"$22.00", "$35.00", "$36.00"},
		"quiz":      {"8 minutes", "red", "air"},
		"roller":    {"7"},
		"signup":    {"name, address and consent"},
		"tip":       {"$8.64", "$56.64", "$18.88"},
		"units":     {"6.21371"},
	} {
		data, err := os.ReadFile(name + ".json")
		if err != nil {
			t.Error(err)
			continue
		}
		card := cardrun.Decode(data)
		for _, f := range figures {
			if !strings.Contains(card.Summary, f) {
				t.Errorf("%s: the summary does not say %q", name, f)
			}
		}
	}
}

func cards(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("*.json")
	if err != nil || len(files) < 14 {
		t.Fatalf("found the cards %q, %v", files, err)
	}
	all := map[string][]byte{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(f, ".json")] = data
	}
	return all
}

func expectations(t *testing.T) map[string]expectation {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "expect.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]expectation
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func expectGolden(t *testing.T, file, got string) {
	t.Helper()
	got = strings.TrimRight(got, "\n") + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
