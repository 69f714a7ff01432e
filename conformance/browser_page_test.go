//go:build browser

package conformance_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/cardrun/patches"
	"example.com/cardrun/sanitize"
)

// frameStyle keeps a card in its box as the page of cardrun render --format html does; TestBrowser/frame holds that page
// itself against the browser.
const frameStyle = ".cardrun-frame { contain: layout paint; position: relative; overflow: auto; isolation: isolate; }\n"

// cardPage is a page that shows a card as cardrun render --format html does. strict pages have its policy, which lets
// nothing run or load; others have none, so that whatever could run would.
func cardPage(card, css string, strict bool) []byte {
	style := frameStyle + css
	policy := ""
	if strict {
		sum := sha256.Sum256([]byte(style))
		policy = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-` +
			base64.StdEncoding.EncodeToString(sum[:]) + `'; base-uri 'none'; form-action 'none'">`
	}
	return []byte(`<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">` + policy + `<style>` + style + `</style></head><body>` +
		`<main><h1>Title</h1><div class="cardrun-frame"><div class="cardrun-card">` + card + `</div></div><p>Note</p></main></body></html>`)
}

// around is what is to be around every card, without the style and the policy.
const around = `<html lang="en"><head><meta charset="utf-8"></head><body><main><h1>Title</h1>` +
	`<div class="cardrun-frame"><div class="cardrun-card"></div></div><p>Note</p></main></body></html>`

// A shown is html that our side made, and what our side says of it.
type shown struct {
	// Name says where it comes from.
	Name string
	HTML string
	CSS  string
	// Controls are those of the document; nil where nothing is known of them. Moved: writing the document as html may
	// have changed their order.
	Controls []patches.Control
	Moved    bool
	// Text is the text content by id of the document, where it is not a rewriting.
	Texts map[string]string
}

// abreast is how many pages are shown side by side.
const abreast = 40

// expectPages shows html in the browser, with the policy and without, and expects our tree, our controls, and that nothing
// came of it. It gives how many the browser agreed on.
func expectPages(t *testing.T, b *tab, list []shown) (agreed int) {
	t.Helper()
	return len(list) - len(expectPagesEach(t, b, list))
}

// expectPagesEach is expectPages, and gives those that the browser did not agree on.
func expectPagesEach(t *testing.T, b *tab, list []shown) (differ []int) {
	t.Helper()
	b.visit("/")
	wrong := make([]bool, len(list))
	// Pages with styles of their own have policies of their own, which a document that is written anew would add to its old.
	var loaded, written []int
	for i := range list {
		if list[i].CSS != "" {
			loaded = append(loaded, i)
		} else {
			written = append(written, i)
		}
	}
	for _, strict := range []bool{false, true} { // in this order: a policy stays with the frame
		for _, round := range []struct {
			of   []int
			show func([]*shown, bool) []report
		}{{written, b.write}, {loaded, b.load}} {
			for part := range slices.Chunk(round.of, abreast) {
				pages := make([]*shown, len(part))
				for k, i := range part {
					pages[k] = &list[i]
				}
				reports := round.show(pages, strict)
				if !expectQuiet(t, b, pages, strict) {
					for _, i := range part {
						wrong[i] = true
					}
				}
				for k, i := range part {
					if !expectReport(t, pages[k], &reports[k]) {
						wrong[i] = true
					}
				}
			}
		}
	}
	for i, w := range wrong {
		if w {
			differ = append(differ, i)
		}
	}
	return differ
}

// load loads pages from the server.
func (b *tab) load(pages []*shown, strict bool) (reports []report) {
	urls := make([]string, len(pages))
	for i, s := range pages {
		path := fmt.Sprintf("/card/%d", i)
		urls[i] = b.put(path, cardPage(s.HTML, s.CSS, strict))
		defer b.drop(path)
	}
	b.ask(&reports, "harness.load", urls)
	return reports
}

// write writes pages into frames that are there already, which is faster.
func (b *tab) write(pages []*shown, strict bool) (reports []report) {
	texts := make([]string, len(pages))
	for i, s := range pages {
		texts[i] = string(cardPage(s.HTML, "", strict))
	}
	b.ask(&reports, "harness.write", texts)
	return reports
}

// expectQuiet expects that nothing happened in the browser. Otherwise it finds out which page it was.
func expectQuiet(t *testing.T, b *tab, pages []*shown, strict bool) bool {
	t.Helper()
	incidents := b.takeIncidents()
	if len(incidents) == 0 {
		return true
	}
	for _, s := range pages {
		b.load([]*shown{s}, strict)
		if found := b.takeIncidents(); len(found) > 0 {
			t.Errorf("%s: %q brought about %q", s.Name, s.HTML, found)
		}
	}
	t.Errorf("%d pages brought about %q", len(pages), incidents)
	return false
}

func expectReport(t *testing.T, s *shown, r *report) bool {
	t.Helper()
	good := true
	wrong := func(what, want, got string) {
		t.Helper()
		good = false
		t.Errorf("%s: %s of %q\n-ours +browser's:\n%s", s.Name, what, s.HTML, cmp.Diff(want, got))
	}
	for _, ran := range slices.Concat(r.Ran, r.Violations) {
		good = false
		t.Errorf("%s: %q: %s", s.Name, s.HTML, ran)
	}
	h, diagnostics := sanitize.Card(s.HTML)
	if again := h.String(); again != s.HTML {
		good = false
		t.Errorf("%s: %q is no fixed point: %q, %v", s.Name, s.HTML, again, diagnostics)
	}
	nodes := h.Nodes()
	if want := treeOf(nodes); r.Tree != want {
		wrong("tree", want, r.Tree)
	}
	if want := browserHTML(nodes); r.HTML != want {
		wrong("html", want, r.HTML)
	}
	if len(r.Used) > 0 {
		wrong("exceptions", "", fmt.Sprint(r.Used))
	}
	if r.Around != around {
		wrong("page around the card", around, r.Around)
	}
	if s.Controls != nil {
		want, got := s.Controls, r.Controls
		if s.Moved {
			want, got = byID(want), byID(got)
		}
		if !sameControls(want, got, map[string]bool{}) {
			wrong("controls", fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", got))
		}
	}
	for id, want := range s.Texts {
		if got, ok := r.Texts[id]; !ok || got != want {
			wrong("text of "+id, want, got)
		}
	}
	return good
}

// byID sorts controls.
func byID(list []patches.Control) []patches.Control {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b patches.Control) int {
		switch {
		case a.ID < b.ID:
			return -1
		case a.ID > b.ID:
			return 1
		}
		return 0
	})
	return list
}
