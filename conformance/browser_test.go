//go:build browser

package conformance_test

import (
	"fmt"
	"testing"
	"time"
)

// TestBrowser holds what we show against what Chromium makes of it.
func TestBrowser(t *testing.T) {
	b := openTab(t)
	t.Run("batches and documents", func(t *testing.T) {
		start := time.Now()
		r := engine(t)
		b.put("/live", cardPage("", "", false))
		b.visit("/live")
		var pages []shown
		batches, documents := 0, 0
		cases := cardCases(t)
		for i := range cases {
			n, list := playBeside(t, b, r, &cases[i])
			batches += n
			pages = append(pages, list...)
		}
		if found := b.takeIncidents(); len(found) > 0 {
			t.Errorf("batches brought about %q", found)
		}
		t.Logf("%d cases in %v", len(cases), time.Since(start))
		pages = distinct(pages)
		documents += expectPages(t, b, pages)
		t.Logf("%d documents, %d batches, %d pages in %v", documents, batches, len(pages), time.Since(start))
	})
}

// distinct leaves out pages that show the same as others.
func distinct(pages []shown) (out []shown) {
	seen := map[string]bool{}
	for _, s := range pages {
		key := fmt.Sprintf("%q %q %+v %v %q", s.HTML, s.CSS, s.Controls, s.Moved, s.Texts)
		if !seen[key] {
			seen[key] = true
			out = append(out, s)
		}
	}
	return out
}
