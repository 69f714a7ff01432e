package sanitize

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// A sharedCard is the html and css of a card among the shared inputs.
type sharedCard struct{ name, html, css string }

// sharedCards reads the cards and cases beside the repository, and skips the test where there are none.
func sharedCards(t testing.TB) []sharedCard {
	t.Helper()
	var out []sharedCard
	for _, pattern := range []string{"cards/*.json", "cases/*.json"} {
		names, err := filepath.Glob(filepath.Join("..", "..", "shared", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			type fields struct{ HTML, CSS *string }
			var c struct {
				fields
				Card json.RawMessage
			}
			if err := json.Unmarshal(data, &c); err != nil {
				t.Fatal(err)
			}
			f := c.fields
			if len(c.Card) > 0 && json.Unmarshal(c.Card, &f) != nil {
				continue // a case of a malformed card
			}
			if f.HTML != nil && f.CSS != nil {
				out = append(out, sharedCard{filepath.Base(name), *f.HTML, *f.CSS})
			}
		}
	}
	if len(out) == 0 {
		t.Skip("SKIPPED, NOTHING IS PROVED: ../shared/cards and ../shared/cases are not beside the repository")
	}
	return out
}

// The examples of the source document are accepted as they are (R14), and so is all that the cases show but what they
// are there to reject.
func TestSharedCardsR14(t *testing.T) {
	rejected := map[string]bool{"212-css-import-with-escaped-keyword.json": true, "313-elements-513.json": true,
		"315-duplicate-ids-in-html.json": true, "319-select-multiple.json": true}
	for _, c := range sharedCards(t) {
		h, found := Card(c.html)
		s, foundCSS := CSS(c.css)
		if got := hasError(found) || hasError(foundCSS); got != rejected[c.name] {
			t.Errorf("%s: %v %v", c.name, found, foundCSS)
		}
		if !hasError(found) {
			expectSafe(t, c.html, h.String())
			if len(found) == 0 && h.String() != c.html {
				t.Logf("%s: %q is written as %q", c.name, c.html, h)
			}
		}
		expectTame(t, c.css, s.String())
		expectConfined(t, c.css, s.Scoped(".card"))
	}
}
