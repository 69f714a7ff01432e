//go:build browser

package conformance_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/cardrun/conformance/chromium"
	"example.com/cardrun/sanitize"
)

// An attack is one input of a corpus.
type attack struct{ name, text string }

// corpus reads a file of testdata/attacks.
func corpus(t *testing.T, file string) (list []attack) {
	t.Helper()
	for _, a := range chromium.Attacks(t, filepath.Join("testdata", "attacks", file)) {
		list = append(list, attack{a.Name, a.Text})
	}
	return list
}

// longAttacks are attacks made by a rule: those whose point is their size or depth.
func longAttacks() (list []attack) {
	add := func(name, text string) { list = append(list, attack{"long: " + name, text}) }
	const payload = `<img src=q onerror=canary()>`
	for _, n := range []int{8, 30, 255, 256, 257, 300, 505, 509, 512, 600} {
		for _, open := range []string{"<div>", "<b>", "<svg>", "<span>", "<ul><li>", "<p><b>", "<table><tr><td>", "<svg><desc>", "<math><mi>", "<form><div>", "<x-y>"} {
			add(fmt.Sprintf("%d of %s", n, open), strings.Repeat(open, n)+`<style><a title="</style>`+payload+`">`)
		}
	}
	for _, n := range []int{100, 511, 512, 513} {
		add(fmt.Sprintf("%d spans", n), strings.Repeat("<span></span>", n)+payload)
		add(fmt.Sprintf("%d attributes", n), "<p"+strings.Repeat(" a=b", n)+" onclick=canary()>x</p>"+payload)
	}
	add("a long comment", "<!--"+strings.Repeat("-", 12000)+">"+payload)
	add("a long tag", "<"+strings.Repeat("a", 12000)+" onclick=canary()>"+payload)
	add("many end tags", strings.Repeat("</p>", 200)+payload)
	add("many foster parents", strings.Repeat("<table><b>", 30)+payload)
	return list
}

// expectAttacks sanitizes each attack as a card's html and as a fragment, and shows in the browser what comes out. It gives
// how many attacks the browser agreed on, how many others are refused whole, so that there is nothing to show, and how many
// pages were shown, since many attacks leave the same.
func expectAttacks(t *testing.T, b *tab, list []attack) (agreed, refused, shows int) {
	t.Helper()
	var pages []shown
	of := map[string][]string{} // html → the attacks that it came of
	bad := map[string]bool{}
	for _, a := range list {
		outputs := map[string]bool{}
		if h, err := sanitize.Fragment(a.text); err == nil {
			outputs[h.String()] = true
		}
		// What rejects a card leaves nothing to show.
		if h, _ := sanitize.Card(a.text); h.String() != "" {
			outputs[h.String()] = true
		}
		if len(outputs) == 0 {
			refused++
		}
		for html := range outputs {
			if of[html] == nil {
				pages = append(pages, shown{Name: a.name, HTML: html})
			}
			of[html] = append(of[html], a.name)
		}
	}
	for _, i := range expectPagesEach(t, b, pages) {
		for _, name := range of[pages[i].HTML] {
			bad[name] = true
		}
	}
	return len(list) - len(bad) - refused, refused, len(pages)
}

// expectWatched shows html that no sanitizer has seen, and expects that everything it does is noticed: a watch that sees
// nothing would find nothing.
func expectWatched(t *testing.T, b *tab) {
	t.Helper()
	b.visit("/")
	for _, c := range []struct {
		html, open, strict string // what is noticed without a policy and with one
	}{
		{`<script>canary()</script>`, "canary", "script-src"},
		{`<script>1</script>`, "script of ", "script-src"},
		{`<p id=p onclick=canary()>x</p><svg onload=canary()>`, "canary", "script-src"},
		{`<img src=q onerror=canary()>`, "canary", "img-src"},
		{`<img src=/leak>`, "request for http", "img-src"},
		{`<img src=//other.example/leak>`, "request for http", "img-src"},
		{`<style>p{background:url(/leak)}</style><p>x</p>`, "request for http", "style-src"},
		{`<link rel=stylesheet href=/leak.css>`, "request for http", "style-src"},
		{`<script>alert(1)</script>`, "dialog", "script-src"},
		{`<script>console.error(1)</script>`, "console call", "script-src"},
		{`<script>null.x</script>`, "exception", "script-src"},
		{`<script>new WebSocket("ws://127.0.0.1:1/leak")</script>`, "web socket", "script-src"},
		{`<iframe srcdoc="<script>parent.canary()</script>"></iframe>`, "canary", "Content Security Policy"},
		{`<meta http-equiv=refresh content="0;url=/leak">`, "/leak", "/leak"},
		{`<p style="color:red">x</p>`, "", "style-src"},
		{`<base href=/x/>`, "", "base-uri"},
	} {
		for _, strict := range []bool{false, true} {
			for way, show := range map[string]func([]*shown, bool) []report{"load": b.load, "write": b.write} {
				reports := show([]*shown{{HTML: c.html}}, strict)
				noticed := append(append(b.takeIncidents(), reports[0].Ran...), reports[0].Violations...)
				want := c.open
				if strict {
					want = c.strict
				}
				if want != "" && !strings.Contains(strings.Join(noticed, "\n"), want) {
					t.Errorf("%s, %s, strict %v: noticed %q, want %q among them", c.html, way, strict, noticed, want)
				}
			}
			b.visit("/") // with frames that no policy has been in
		}
		b.takeIncidents()
	}
}

// dangerous counts the attacks that, when nobody sanitizes them, run in a page without a policy, leave it, or are kept from
// something by the policy of a page that has one.
func dangerous(b *tab, list []attack) (n int) {
	does := make([]bool, len(list))
	for _, strict := range []bool{false, true} {
		for from := 0; from < len(list); from += abreast {
			var pages []*shown
			for _, a := range list[from:min(from+abreast, len(list))] {
				pages = append(pages, &shown{HTML: a.text})
			}
			for i, r := range b.load(pages, strict) {
				does[from+i] = does[from+i] || len(r.Ran)+len(r.Violations) > 0
			}
		}
	}
	b.visit("/")
	b.takeIncidents()
	for _, d := range does {
		if d {
			n++
		}
	}
	return n
}

// treeConstruction gives the inputs of html5lib's tests, which golang.org/x/net carries, from where that module lies.
func treeConstruction(t *testing.T) (list []attack) {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/net").Output()
	if err != nil {
		t.Fatalf("find golang.org/x/net: %v", err)
	}
	root := filepath.Join(strings.TrimSpace(string(out)), "html", "testdata")
	err = filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".dat" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i, part := range strings.Split("\n"+string(data), "\n#data\n")[1:] {
			text, _, ok := strings.Cut("\n"+part, "\n#errors")
			if !ok {
				return fmt.Errorf("%s: test %d has no errors section", path, i+1)
			}
			list = append(list, attack{fmt.Sprintf("html5lib: %s %d", filepath.Base(path), i+1), strings.TrimPrefix(text, "\n")})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
