//go:build browser

package conformance_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/cardrun/sanitize"
)

// TestBrowser holds what we show against what Chromium makes of it. Its last line says how much the browser agreed on.
func TestBrowser(t *testing.T) {
	start := time.Now()
	b := openTab(t)
	documents, batches, edits, attacks, refusals := 0, 0, 0, 0, 0
	section := func(name string, run func(t *testing.T)) {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			run(t)
			if found := b.takeIncidents(); len(found) > 0 {
				t.Errorf("all this brought about %q", found)
			}
			t.Logf("in %v", time.Since(start).Round(time.Millisecond))
		})
	}
	section("watch", func(t *testing.T) {
		expectWatched(t, b)
		list := corpus(t, "html.txt")
		n := dangerous(b, list)
		if n < 100 {
			t.Errorf("only %d attacks do anything", n)
		}
		t.Logf("%d of %d attacks do something when they are not sanitized", n, len(list))
	})
	b.put("/live", cardPage("", "", false))
	section("cards", func(t *testing.T) {
		r := engine(t)
		b.visit("/live")
		var pages []shown
		cases := cardCases(t)
		for i := range cases {
			n, list := playBeside(t, b, r, &cases[i])
			batches += n
			pages = append(pages, list...)
		}
		pages = distinct(pages)
		n := expectPages(t, b, pages)
		documents += n
		t.Logf("%d cards, %d batches, %d of %d documents", len(cases), batches, n, len(pages))
	})
	section("random", func(t *testing.T) {
		cards := 400
		b.visit("/live")
		n, m, pages, used := expectRandom(t, b, cards)
		batches, edits = batches+n, edits+m
		for _, u := range []string{"svg", "select", "textarea", "void", "nul", "return", "spelling"} {
			if !used[u] {
				t.Errorf("no random batch came upon the meant difference %s", u)
			}
		}
		pages = distinct(pages)
		agreed := expectPages(t, b, pages)
		documents += agreed
		t.Logf("%d batches, %d edits, %d of %d documents", n, m, agreed, len(pages))
	})
	section("differences", func(t *testing.T) { expectDifferences(t, b) })
	for _, c := range []struct {
		name  string
		list  []attack
		least int
	}{
		{"attacks", corpus(t, "html.txt"), 150},
		{"long attacks", longAttacks(), 100},
		{"html5lib", treeConstruction(t), 1500},
	} {
		section(c.name, func(t *testing.T) {
			if len(c.list) < c.least {
				t.Fatalf("found %d inputs only", len(c.list))
			}
			n, refused, shows := expectAttacks(t, b, c.list)
			attacks, refusals = attacks+n, refusals+refused
			t.Logf("%d of %d inputs, on %d different pages; %d were refused", n, len(c.list)-refused, shows, refused)
		})
	}
	sheets := corpus(t, "css.txt")
	section("styles", func(t *testing.T) {
		n, rejected, effective := expectStyles(t, b, sheets)
		attacks, refusals = attacks+n, refusals+rejected
		if effective < 30 {
			t.Errorf("only %d style sheets style anything", effective)
		}
		t.Logf("%d of %d style sheets, of which %d style the card; %d were rejected", n, len(sheets)-rejected, effective, rejected)
	})
	section("frame", func(t *testing.T) {
		// Those that are rejected have nothing to show.
		covers := slices.DeleteFunc(slices.Clone(sheets), func(a attack) bool {
			style, _ := sanitize.CSS(a.text)
			return !strings.Contains(a.name, "cover") || style.String() == ""
		})
		if len(covers) < 25 {
			t.Fatalf("found %d style sheets only", len(covers))
		}
		n := expectFramed(t, b, covers)
		t.Logf("%d of %d style sheets stay in their frame", n, len(covers))
	})
	t.Logf("the browser agreed on %d documents, %d batches, %d edits and %d attacks; %d more attacks were refused before there was anything to show; in %v",
		documents, batches, edits, attacks, refusals, time.Since(start).Round(time.Second))
	t.Logf("attacks: %d", attacks+refusals)
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
