package patches_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.com/cardrun/limits"
	"example.com/cardrun/patches"
	"example.com/cardrun/sanitize"
)

var ids = []string{"a", "b", "c", "d", "e", "f"}

// tags are the start tags that drawn html is made of; # stands for attributes.
var tags = []string{"p#", "div#", "span#", "b#", "ul#", "li#", "dl#", "dt#", "dd#", "h2#", "h3#", "table#", "tbody#", "tr#", "td#", "caption#",
	"colgroup#", "col#", "button#", "label#", "fieldset disabled#", "legend#", "details#", "summary#", "pre#", "svg#", "g#", "text#", "title#",
	"select#", "select size=2#", "optgroup#", "optgroup disabled#", "option#", "option value=x#", "option selected#", "option disabled#",
	"textarea#", "input#", "input value=x#", "input type=number value=3#", "input type=number value=x#", "input type=range#",
	"input type=range step=7 value=3#", "input type=range min=-1 max=1 step=.3 value=.5#", "input type=checkbox#", "input type=checkbox checked#",
	"input type=radio name=g#", "input type=radio name=g checked#", "input type=radio checked#", "hr#", "br#", "ol reversed#", "progress value=.3#", "output#"}

var words = []string{"", "x", "3", "1e3", "-0", " two  words ", "<b>&amp;\"", "\n", "\nx\n", "\r\n", "\x00", "é\U0001F600", "0.35", "-7", "many", "\xff"}

// drawHTML draws a piece of html: mostly well nested, ids mostly fresh.
func drawHTML(t *rapid.T, depth int, prefix string) string {
	var b strings.Builder
	for i := range rapid.IntRange(0, 3).Draw(t, "children") {
		if depth == 0 || rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
			b.WriteString(rapid.SampledFrom([]string{"x", " ", "a b", "&lt;", "\n", "<", "</p>", "\x00"}).Draw(t, "text"))
			continue
		}
		tag := rapid.SampledFrom(tags).Draw(t, "tag")
		attributes := ""
		if rapid.Bool().Draw(t, "has id") {
			attributes = fmt.Sprintf(" id=%s", rapid.SampledFrom(ids).Draw(t, "id"))
			if prefix != "" {
				attributes = fmt.Sprintf(" id=%s%d%d", prefix, depth, i)
			}
		}
		name, _, _ := strings.Cut(strings.TrimSuffix(tag, "#"), " ")
		b.WriteString("<" + strings.TrimSuffix(tag, "#") + attributes + ">" + drawHTML(t, depth-1, prefix))
		switch name {
		case "input", "br", "hr", "col":
		default:
			b.WriteString("</" + name + ">")
		}
	}
	return b.String()
}

// start draws a document with every id of ids on some element.
func start(t *rapid.T) *patches.Document {
	var b strings.Builder
	for _, id := range ids {
		tag := strings.TrimSuffix(rapid.SampledFrom(tags).Draw(t, "tag"), "#")
		name, _, _ := strings.Cut(tag, " ")
		switch name {
		case "tbody", "tr", "td", "caption", "colgroup", "col":
			fmt.Fprintf(&b, "<table><%s id=%s></table>", tag, id)
		case "option", "optgroup":
			fmt.Fprintf(&b, "<select><option>z</option><%s id=%s>x</select>", tag, id)
		case "g", "text", "title":
			fmt.Fprintf(&b, "<svg><%s id=%s></%s></svg>", tag, id, name)
		default:
			fmt.Fprintf(&b, "<%s id=%s>", tag, id)
			if rapid.Bool().Draw(t, "close") && name != "input" && name != "br" && name != "hr" {
				fmt.Fprintf(&b, "</%s>", name)
			}
		}
		b.WriteString(drawHTML(t, 1, "s"+id))
	}
	h, _ := sanitize.Card(b.String())
	d, err := patches.New(h)
	if err != nil {
		t.Skip("no document:", err)
	}
	return d
}

func drawPatch(t *rapid.T, d *patches.Document) patches.Patch {
	p := patches.Patch{ID: rapid.SampledFrom(ids).Draw(t, "target")}
	if all := d.Controls(); len(all) > 0 && rapid.Bool().Draw(t, "a control") {
		p.ID = rapid.SampledFrom(all).Draw(t, "control").ID
	}
	switch rapid.IntRange(0, 2).Draw(t, "op") {
	case 0:
		p.Op, p.Value = patches.OpText, rapid.SampledFrom(words).Draw(t, "text")
	case 1:
		p.Op, p.Value = patches.OpHTML, drawHTML(t, 3, rapid.SampledFrom([]string{"", "m", "n"}).Draw(t, "prefix"))
	default:
		p.Op, p.Value = patches.OpValue, rapid.SampledFrom(words).Draw(t, "value")
	}
	return p
}

// failer is what both a rapid.T and a testing.T are.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// mustBeSound checks what holds of every document, as a fatal error.
func mustBeSound(t failer, d *patches.Document) {
	t.Helper()
	text := d.HTML()
	h, diagnostics := sanitize.Card(text)
	for _, g := range diagnostics {
		if g.Severity == limits.SeverityError {
			t.Fatalf("HTML %q is refused: %v", text, g)
		}
	}
	if again := h.String(); again != text {
		t.Fatalf("HTML is not stable:\n%q\n%q", text, again)
	}
	again, err := patches.New(h)
	if err != nil {
		t.Fatalf("New of HTML %q: %v", text, err)
	}
	if diff := cmp.Diff(inOrder(text, d.Controls()), inOrder(text, again.Controls())); diff != "" {
		t.Fatalf("HTML %q says other controls (-now +again):\n%s", text, diff)
	}
	if third := again.HTML(); third != text {
		t.Fatalf("HTML of HTML differs:\n%q\n%q", text, third)
	}
	elements, controls := 0, 0
	for tag, n := range d.Elements() {
		elements += n
		switch tag {
		case "input", "select", "textarea", "button":
			controls += n
		}
	}
	if elements > limits.Elements || controls > limits.Controls {
		t.Fatalf("%d elements and %d controls in %q", elements, controls, text)
	}
	seen := map[string]bool{}
	for _, c := range d.Controls() {
		if seen[c.ID] {
			t.Fatalf("two controls %s in %q", c.ID, text)
		}
		seen[c.ID] = true
		if limits.Length(c.Value) > limits.Value {
			t.Fatalf("value of %s has %d characters", c.ID, limits.Length(c.Value))
		}
	}
	if name := checkedTwice(h.Nodes(), map[string]bool{}); name != "" {
		t.Fatalf("two radios of the group %s are checked in %q", name, text)
	}
	for line := range strings.Lines(d.Text()) {
		if trimmed := strings.TrimRight(strings.TrimSuffix(line, "\n"), " \t"); trimmed != strings.TrimSuffix(line, "\n") || strings.ContainsRune(line, 0) {
			t.Fatalf("Text has the line %q, of %q", line, text)
		}
	}
}

// checkedTwice is the name of a radio group of which two are checked, or empty.
func checkedTwice(nodes []*sanitize.Node, checked map[string]bool) string {
	for _, n := range nodes {
		kind, _ := n.AttrValue("type")
		name, _ := n.AttrValue("name")
		if _, on := n.AttrValue("checked"); n.Tag == "input" && kind == "radio" && on && name != "" {
			if checked[name] {
				return name
			}
			checked[name] = true
		}
		if name := checkedTwice(n.Children, checked); name != "" {
			return name
		}
	}
	return ""
}

// state is all that can be seen of a document.
func state(d *patches.Document) string {
	s, err := d.Snapshot()
	return fmt.Sprintf("%s\n%s\n%v\n%s\n%v\n%v", d.HTML(), s, err, d.Text(), d.Controls(), d.Elements())
}

// mustApply applies a batch and checks it against its other accounts: atomicity (R80), what Changes says (R83), and the
// patches applied one by one.
func mustApply(t failer, d *patches.Document, b patches.Batch) {
	t.Helper()
	before, old := state(d), d.Controls()
	single := d.Clone()
	var failed error
	for _, p := range b {
		if _, failed = single.Apply(patches.Batch{p}); failed != nil {
			break
		}
	}
	s, err := d.Stage(b)
	if now := state(d); now != before {
		t.Fatalf("staging %q changed the document:\n%s", b, cmp.Diff(before, now))
	}
	if err != nil {
		switch limits.CodeOf(err) {
		case limits.InvalidPatch, limits.InputLimit, limits.TooManyPatches:
		default:
			t.Fatalf("Stage(%q): %v", b, err)
		}
		if failed == nil && limits.CodeOf(err) == limits.InvalidPatch {
			t.Fatalf("Stage(%q): %v, but one by one the patches apply", b, err)
		}
		return
	}
	if err := s.Commit(); err != nil {
		t.Fatalf("Commit: %v", err)
	}
	if failed == nil && state(single) != state(d) {
		t.Fatalf("%q at once and one by one differ:\n%s", b, cmp.Diff(state(single), state(d)))
	}
	for _, c := range old {
		if now, ok := d.Control(c.ID); !s.Changes(c.ID) && (!ok || now.Value != c.Value || now.Checked != c.Checked || now.Type != c.Type) {
			t.Fatalf("%q changed %v to %v, %v, and does not say so", b, c, now, ok)
		}
	}
	mustBeSound(t, d)
}

func TestDocumentMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := start(t)
		mustBeSound(t, d)
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			if rapid.IntRange(0, 2).Draw(t, "edit") > 0 {
				var b patches.Batch
				for range rapid.IntRange(1, 4).Draw(t, "patches") {
					b = append(b, drawPatch(t, d))
				}
				mustApply(t, d, b)
				continue
			}
			all := d.Controls()
			if len(all) == 0 {
				continue
			}
			before := state(d)
			c := rapid.SampledFrom(all).Draw(t, "edited")
			v, on := rapid.SampledFrom(words).Draw(t, "typed"), rapid.Bool().Draw(t, "checked")
			changed, err := d.Edit(c.ID, &v, &on)
			if (!changed || err != nil) && state(d) != before {
				t.Fatalf("Edit(%s, %q, %v) = %v, %v, but:\n%s", c.ID, v, on, changed, err, cmp.Diff(before, state(d)))
			}
			if changed && state(d) == before {
				t.Fatalf("Edit(%s, %q, %v) says changed, but all is as it was", c.ID, v, on)
			}
			mustBeSound(t, d)
		}
	})
}

// FuzzPatches applies two batches of arbitrary html, text and values to an arbitrary card. Targets are picked by the
// bytes of picks among the ids in the card.
func FuzzPatches(f *testing.F) {
	f.Add(`<p id=a></p><table><tbody id=b></table>`, "<ul><li>x", "<tr><td>y", "v", []byte{0, 1, 2, 3})
	f.Add(`<select id=a><option id=b>x</select><input id=c type=range>`, "<option selected>y", "<div>z", "77", []byte{9, 1, 0, 7})
	f.Add(`<svg id=a><text id=b>x</text></svg><button id=c>x</button>`, "<svg><g id=d /></svg><p>y", "<button id=e>z", "\x00\r", []byte{3, 4, 5, 6})
	f.Add(`<h2 id=a></h2><ul><li id=b></ul><dl><dd id=c></dl><textarea id=d></textarea>`, "<h3>y", "<li>z<dt>w", "\n", []byte{0, 4, 8, 12})
	const everything = `<p id=a>x</p><div id=b><span id=c><b id=d>y</b></span></div><ul id=e><li id=f>z</ul><dl id=g><dt id=h>t<dd id=i>d</dl>` +
		`<h2 id=j>h</h2><table id=k><caption id=l>c</caption><colgroup id=m><col id=n></colgroup><thead id=o><tr id=q><td id=r>1</table>` +
		`<button id=s>go</button><label id=t>l</label><fieldset id=u disabled><legend id=v>g</legend><input id=w></fieldset>` +
		`<details id=x><summary id=y>s</summary>more</details><pre id=z>p</pre><svg id=A><g id=B><text id=C>t</text></g><title id=D>u</title></svg>` +
		`<select id=E><optgroup id=F><option id=G>o</optgroup><option id=H selected>q</select><textarea id=I>t</textarea>` +
		`<input id=J type=number><input id=K type=range><input id=L type=checkbox><input id=M type=radio name=g checked><input id=N type=radio name=g><br id=O>`
	for i := range byte(40) {
		f.Add(everything, "<p>a<ul><li>b</ul><button id=aa>c</button>", "<option selected>d</option><h3>e</h3><dt>f<table><tr><td>g</table>", "1.5",
			[]byte{i << 2, i<<2 + 5, i<<2 + 10, i<<2 + 3, i<<2 + 17, i<<2 + 8, i<<2 + 4, 0x50 + i})
	}
	f.Fuzz(func(t *testing.T, card, first, second, v string, picks []byte) {
		h, diagnostics := sanitize.Card(card)
		for _, g := range diagnostics {
			if g.Severity == limits.SeverityError {
				return
			}
		}
		d, err := patches.New(h)
		if err != nil {
			return
		}
		mustBeSound(t, d)
		var targets []string
		var walk func(nodes []*sanitize.Node)
		walk = func(nodes []*sanitize.Node) {
			for _, n := range nodes {
				if id, ok := n.AttrValue("id"); ok {
					targets = append(targets, id)
				}
				walk(n.Children)
			}
		}
		walk(h.Nodes())
		if len(targets) == 0 {
			return
		}
		var b patches.Batch
		for _, pick := range picks[:min(len(picks), 12)] {
			id := targets[int(pick>>2)%len(targets)]
			b = append(b, [...]patches.Patch{html(id, first), html(id, second), text(id, v), value(id, v)}[pick&3])
			if len(b) == 3 {
				mustApply(t, d, b)
				b = nil
			}
		}
		mustApply(t, d, b)
		for _, c := range d.Controls() {
			on := !c.Checked
			if _, err := d.Edit(c.ID, &v, &on); err == nil && len(picks) > 0 {
				mustBeSound(t, d)
			}
		}
	})
}
