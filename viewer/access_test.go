//go:build browser

package viewer_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"example.com/cardrun"
	"example.com/cardrun/examples"
)

// axeSum is that of axe.min.js of axe-core 4.14.1, which make browser installs.
const axeSum = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"

// axe is axe-core, or the test is skipped, loudly.
func axe(t *testing.T) string {
	t.Helper()
	path := os.Getenv("CARDRUN_AXE")
	if path == "" {
		path = filepath.Join("..", ".tools", "node_modules", "axe-core", "axe.min.js")
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("SKIPPED, NOTHING IS PROVED: there is no axe-core at %s; make browser installs it with npm, or CARDRUN_AXE names it", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != axeSum {
		t.Fatalf("%s is not axe-core 4.14.1", path)
	}
	return string(data)
}

// expectAccessible runs axe on the page that is shown. Frames have their own test, since no script runs in them.
func expectAccessible(t *testing.T, b *tab, source, what string) {
	t.Helper()
	b.eval(nil, "window.axe ? 0 : (() => { "+source+"\n })()")
	var found []struct {
		ID     string   `json:"id"`
		Impact string   `json:"impact"`
		Nodes  []string `json:"nodes"`
	}
	b.eval(&found, `axe.run(document, {iframes: false, resultTypes: ['violations']}).then(r => r.violations.map(v => ({id: v.id, impact: v.impact, nodes: v.nodes.map(n => n.html + ': ' + n.failureSummary)})))`)
	for _, f := range found {
		if f.Impact == "serious" || f.Impact == "critical" {
			t.Errorf("%s: %s (%s): %.600q", what, f.ID, f.Impact, f.Nodes)
		} else {
			t.Logf("%s: %s (%s): %.200q", what, f.ID, f.Impact, f.Nodes)
		}
	}
}

func (b *tab) scheme(t *testing.T, scheme string) {
	t.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
	}); err != nil {
		t.Fatal(err)
	}
}

func TestAccessiblePage(t *testing.T) {
	source := axe(t)
	s := newService(t)
	b := openTab(t, s)
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(t, scheme)
		openPlayground(t, b)
		for _, view := range []string{"tab-rounds", "tab-snapshot", "tab-source"} {
			b.eval(nil, "document.getElementById('"+view+"').click()")
			expectAccessible(t, b, source, scheme+" "+view)
		}
		b.paste(card(t, "<p>two <a href=\"x\">link</a></p>", "", ""))
		b.await(t, "document.getElementById('outcome').textContent.startsWith('Rejected')")
		expectAccessible(t, b, source, scheme+" rejected")
		b.paste(card(t, "<p>x</p>", "", "throw new Error('no')"))
		b.await(t, "document.getElementById('outcome').textContent.startsWith('Stopped')")
		b.await(t, "document.querySelector('.cardrun-viewer')?.shadowRoot.querySelector('[role=alert]').textContent.includes('has stopped')")
		expectAccessible(t, b, source, scheme+" failed")
	}
}

// TestAccessibleExamples looks at what the examples show, in a page of its own where axe can run.
func TestAccessibleExamples(t *testing.T) {
	source := axe(t)
	s := newService(t)
	b := openTab(t, s)
	n := 0
	for _, name := range exampleNames(t) {
		snapshot := s.render(t, name)
		s.mu.Lock()
		s.pages["/card"] = served{"text/html; charset=utf-8", `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Card</title></head><body><main><h1>Card</h1>` + snapshot.Display.HTML + `</main></body></html>`}
		s.mu.Unlock()
		b.visit("/card")
		b.eval(nil, `(() => { const s = new CSSStyleSheet(); s.replaceSync(':root { background: Canvas; color: CanvasText; font: 16px/1.5 system-ui }' + `+quote(snapshot.Display.CSS)+`); document.adoptedStyleSheets = [s] })()`)
		expectAccessible(t, b, source, name)
		n++
	}
	if n < 10 {
		t.Errorf("only %d examples", n)
	}
}

func exampleNames(t *testing.T) (names []string) {
	t.Helper()
	files, err := fs.Glob(examples.Files, "*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f, ".json"))
	}
	return names
}

func (s *service) render(t *testing.T, name string) *cardrun.Snapshot {
	t.Helper()
	data, err := examples.Files.ReadFile(name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	c, seed := cardrun.Decode(data), uint64(1)
	snapshot, err := s.rt.Render(t.Context(), &c, cardrun.RenderOptions{Seed: &seed})
	if err != nil {
		t.Fatal(err)
	}
	return snapshot
}

// TestEveryControlIsNamed reads the accessibility tree of the page and of the frame, as a screen reader gets it.
func TestEveryControlIsNamed(t *testing.T) {
	s := newService(t)
	b := openTab(t, s)
	if _, err := chromedp.Call(b.ctx, accessibility.Enable, struct{}{}); err != nil {
		t.Fatal(err)
	}
	openPlayground(t, b)
	total := 0
	for _, name := range exampleNames(t) {
		b.eval(nil, fmt.Sprintf("(() => { const e = document.getElementById('example'); e.value = %q; e.dispatchEvent(new Event('change')) })()", name))
		title := s.render(t, name).Card.Title
		b.await(t, ready+" && document.getElementById('title').textContent === "+quote(title)+" && document.querySelector('.cardrun-viewer')?.shadowRoot.querySelector('iframe')?.title === "+quote(title))
		tree, err := chromedp.Call(b.ctx, page.GetFrameTree, struct{}{})
		if err != nil {
			t.Fatal(err)
		}
		if len(tree.FrameTree.ChildFrames) != 1 {
			t.Fatalf("%s: %d frames", name, len(tree.FrameTree.ChildFrames))
		}
		n := expectNamed(t, b, name+", page", accessibility.GetFullAXTreeParams{})
		n += expectNamed(t, b, name+", card", accessibility.GetFullAXTreeParams{FrameID: tree.FrameTree.ChildFrames[0].Frame.ID})
		var want int
		b.eval(&want, "[..."+inCard+".querySelectorAll('input,select,textarea,button')].filter(e => e.checkVisibility()).length")
		if n < want {
			t.Errorf("%s: %d controls in the tree, %d in the card", name, n, want)
		}
		total += n
	}
	t.Logf("%d controls have names", total)
}

func expectNamed(t *testing.T, b *tab, what string, of accessibility.GetFullAXTreeParams) (n int) {
	t.Helper()
	tree, err := chromedp.Call(b.ctx, accessibility.GetFullAXTree, of)
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range tree.Nodes {
		if node.Ignored || node.Role == nil {
			continue
		}
		switch role := strings.Trim(string(node.Role.Value), `"`); role {
		case "textbox", "searchbox", "slider", "spinbutton", "checkbox", "radio", "combobox", "listbox", "button", "tab", "Iframe", "meter":
			n++
			if node.Name == nil || strings.TrimSpace(strings.Trim(string(node.Name.Value), `"`)) == "" {
				t.Errorf("%s: a %s has no name", what, role)
			}
		}
	}
	return n
}
