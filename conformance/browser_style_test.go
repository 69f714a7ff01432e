//go:build browser

package conformance_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/go-json-experiment/json"

	"example.com/cardrun"
	"example.com/cardrun/sanitize"
)

// styledCard is what a card's style is tried on. Its classes and tags are those of the page around it.
const styledCard = `<h1 class="a">h</h1><p class="a" id="a" title="t">p <b class="cardrun-note">b</b></p><ul><li>l</li></ul><input value="v"><button type="button">b</button>` +
	`<select><option>o</option></select><textarea>t</textarea><details open=""><summary>s</summary>d</details><svg viewBox="0 0 9 9"><g class="a"><rect width="9"></rect></g></svg>`

// stylePage is a page with a card's style in a style element of its own, and elements around the card that the style could
// mean. The frame has a size of its own, so that nothing around it moves when the card grows.
func stylePage(css string) []byte {
	const host = ".cardrun-frame { contain: layout paint; position: relative; overflow: auto; isolation: isolate; height: 200px; width: 500px; }\n"
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	beside := strings.ReplaceAll(styledCard, `id="a"`, `id="out1"`)
	return []byte(`<!DOCTYPE html><html lang="en" class="a"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src ` +
		hash(host) + ` ` + hash(css) + `"><style>` + host + `</style><style id="cardstyle">` + css + `</style></head><body class="a"><main class="cardrun-page cardrun-cardx">` + beside +
		`<div class="cardrun-frame"><div class="cardrun-card">` + styledCard + `</div></div>` + `<p class="a">p</p></main><p class="cardrun-note">n</p></body></html>`)
}

// A styleReport is what the browser says of a card's style sheet: what it selects and changes outside the card, and how many
// elements it changes in it.
type styleReport struct {
	Outside []string `json:"outside"`
	Changed []string `json:"changed"`
	Inside  int      `json:"inside"`
	Ran     []string `json:"ran"`
}

// expectStyles checks each style sheet; what is left of one is put on a page, where it must select nothing outside the card,
// change the computed style of nothing there, and load nothing. It gives how many the browser agreed on, how many others
// were rejected, and how many style something in the card.
func expectStyles(t *testing.T, b *tab, list []attack) (agreed, rejected, effective int) {
	t.Helper()
	for _, unscoped := range []string{"* { color: red }", "main > p { color: red }", "html { --x: 1 }", "p::before { content: \"x\" }", "body { &:has(p) { color: red } }"} {
		b.put("/style", stylePage(unscoped))
		b.visit("/style")
		var r styleReport
		b.ask(&r, "harness.style")
		if len(r.Changed) == 0 && len(r.Outside) == 0 {
			t.Errorf("%s: that it styles the page goes unnoticed", unscoped)
		}
	}
	for _, a := range list {
		style, _ := sanitize.CSS(a.text)
		css := style.Scoped(".cardrun-card")
		if css == "" {
			rejected++
			continue
		}
		b.put("/style", stylePage(css))
		b.visit("/style")
		var r styleReport
		b.ask(&r, "harness.style")
		found := append(append(append(r.Outside, r.Changed...), r.Ran...), b.takeIncidents()...)
		if len(found) > 0 {
			t.Errorf("%s: %q, scoped %q: %q", a.name, a.text, css, found)
			continue
		}
		agreed++
		if r.Inside > 0 {
			effective++
		}
	}
	return agreed, rejected, effective
}

// product builds the command line.
func product(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "cardrun")
	if out, err := exec.Command("go", "build", "-o", path, "example.com/cardrun/cmd/cardrun").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return path
}

// rendered is the page of cardrun render --format html.
func rendered(t *testing.T, program string, c *cardrun.Card) []byte {
	t.Helper()
	text, err := json.Marshal(map[string]string{"title": c.Title, "summary": c.Summary, "html": c.HTML, "css": c.CSS, "javascript": c.JavaScript})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "card.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, "render", "--format", "html", file).Output()
	if err != nil && len(out) == 0 {
		t.Fatalf("render: %v", err)
	}
	return out
}

// expectFramed renders cards whose style wants to cover the page as cardrun render --format html does, and expects that what
// the page says stands there as it does around a card without style: hit by a click at every point, and the same to the
// pixel above the card.
func expectFramed(t *testing.T, b *tab, list []attack) (agreed int) {
	t.Helper()
	program := product(t)
	look := func(html []byte) (hits []string, above []byte) {
		b.put("/framed", html)
		b.visit("/framed")
		var top struct {
			Height float64 `json:"height"`
		}
		b.ask(&top, "harness.top")
		above = b.picture(page.Viewport{Width: 900, Height: top.Height, Scale: 1})
		b.ask(&hits, "harness.hits")
		return hits, above
	}
	render := func(css string) []byte {
		card := &cardrun.Card{Title: "What the host says", Summary: "The summary of the card, which the host shows.",
			HTML: styledCard, CSS: css}
		return rendered(t, program, card)
	}
	hits, plain := look(render(""))
	if len(hits) > 0 || len(plain) < 1000 {
		t.Fatalf("a card without style: %q, a picture of %d bytes", hits, len(plain))
	}
	if _, other := look(render("p{color:red}")); !bytes.Equal(other, plain) {
		t.Fatal("pictures of the same differ")
	}
	// Without the frame's containment all of these cover the page, and that is seen.
	for _, css := range []string{":root{position:fixed;inset:0;background:red}", "#a{margin-top:-300px;height:900px;background:red}", ":root{box-shadow:0 0 0 999px red}"} {
		html := render(css)
		loose := html
		for _, part := range []string{"contain: layout paint; position: relative; overflow: auto; isolation: isolate;", `http-equiv="Content-Security-Policy"`} {
			if !bytes.Contains(loose, []byte(part)) {
				t.Fatalf("there is no %s in the page", part)
			}
			loose = bytes.ReplaceAll(loose, []byte(part), nil)
		}
		if hits, above := look(loose); len(hits) == 0 && bytes.Equal(above, plain) {
			t.Errorf("%s: that it covers the page goes unnoticed", css)
		}
	}
	for _, a := range list {
		if style, _ := sanitize.CSS(a.text); style.Scoped(".cardrun-card") == "" {
			agreed++
			continue
		}
		hits, above := look(render(a.text))
		switch {
		case len(hits) > 0:
			t.Errorf("%s: %q covers %q", a.name, a.text, hits)
		case !bytes.Equal(above, plain):
			t.Errorf("%s: %q changes how the page looks above the card", a.name, a.text)
		default:
			agreed++
		}
		if found := b.takeIncidents(); len(found) > 0 {
			t.Errorf("%s: %q brought about %q", a.name, a.text, found)
		}
	}
	return agreed
}

// picture is a part of the page as PNG.
func (b *tab) picture(clip page.Viewport) (png []byte) {
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		r, err := cdp.Call(ctx, t, page.CaptureScreenshot, page.CaptureScreenshotParams{Clip: &clip})
		png = r.Data
		return err
	}))
	return png
}
