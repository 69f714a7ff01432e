//go:build browser

package conformance_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"example.com/cardrun"
	"example.com/cardrun/patches"
	"example.com/cardrun/sanitize"
)

// randomCards are what random batches start from: every element whose content has rules, with an id.
var randomCards = []string{
	`<p id="a">text</p><div id="b"><span id="c">x</span></div><section id="d"></section>`,
	`<select id="a"><option id="b" value="1">one</option><option id="c">two</option><optgroup id="d" label="g"><option id="e" selected>three</option></optgroup></select><div id="f"></div>`,
	`<select id="a" size="3"><option id="b">x</option><option id="c" disabled>y</option></select><select id="d"></select><div id="e"></div>`,
	`<textarea id="a">first</textarea><textarea id="b" maxlength="4"></textarea><div id="c"></div>`,
	`<input id="a" type="radio" name="g" checked><input id="b" type="radio" name="g"><input id="c" type="radio" name="h"><div id="d"></div><fieldset id="e"><input id="f" type="checkbox"></fieldset>`,
	`<input id="a" type="range" min="0" max="10" step="3"><input id="b" type="number" value="5"><input id="c" value="t" maxlength="3"><div id="d"></div>`,
	`<table id="a"><caption id="b">c</caption><tbody id="c"><tr id="d"><td id="e">1</td><td id="f">2</td></tr></tbody></table><div id="g"></div>`,
	`<ul id="a"><li id="b">one</li><li id="c">two</li></ul><dl id="d"><dt id="e">t</dt><dd id="f">d</dd></dl>`,
	`<svg id="a" viewBox="0 0 9 9"><g id="b"><rect id="c" width="1"></rect><text id="d">t</text></g><title id="e">n</title></svg><div id="f"></div>`,
	`<button id="a" value="v">go <b id="b">on</b></button><fieldset id="c" disabled><legend id="d">l</legend><div id="e"></div></fieldset><details id="f"><summary id="g">s</summary></details>`,
	`<h2 id="a">h</h2><pre id="b">p</pre><label id="c">l</label><output id="d"></output><p id="e">p</p><br id="f"><hr id="g"><div id="h"></div>`,
}

// randomFragments are given to ui.html, and some of them to the others too.
var randomFragments = []string{
	``, ` `, `plain`, `a &lt; b`, `<b>x</b>`, `<p>one</p><p>two</p>`, `<ul><li>a</li><li>b</li></ul>`, `<li>bare</li>`, `<div><p>x<div>y</div></p></div>`,
	`<table><tr><td>c</td></tr></table>`, `<tr><td>bare</td></tr>`, `<caption>c</caption>`, `<table><caption>x</caption><colgroup><col></colgroup></table>`,
	`<option>o1</option><option selected>o2</option>`, `<option disabled>no</option><option>yes</option>`, `<option value="1">same</option><option value="1">again</option>`,
	`<optgroup label="g" disabled><option>in</option></optgroup><option>out</option>`, `<select id="n1"><option>a</option><option selected>b</option></select>`,
	`<select id="n1" size="2"><option>a</option></select>`, `<select id="n1"><option disabled>a</option></select>`, `<hr><option>x</option>`,
	`<select id="n1"><optgroup label="x"><option disabled>a</option><option selected>b</option><option selected>c</option></optgroup></select>`,
	`<textarea id="n2">t</textarea>`, "<textarea id=\"n2\">\n\nt\r\n</textarea>", `<textarea id="n2" maxlength="2">long</textarea>`,
	`<input id="n3" type="radio" name="g" checked>`, `<input id="n3" type="radio" name="g" checked><input id="n4" type="radio" name="g" checked>`,
	`<input id="n3" type="radio" name="h"><input id="n4" type="checkbox" checked value="v">`, `<input id="n5" type="range" min="5" max="1" value="3">`,
	`<input id="n5" type="range" min="0.5" step="0.3">`, `<input id="n5" type="number" value="1e3"><input id="n6" type="number" value="+1">`,
	`<input id="n5" type="range" max="1" step="any" value=".25">`, `<input id="n5" type="range" min="-3" step="2" value="-0">`,
	`<input id="n5" value="a&#10;b"><input id="n6" disabled value="d">`, `<button id="n7">b</button>`, `<button id="n7">b<b>c</b></button><button id="n8" disabled>d</button>`,
	`<fieldset disabled><legend><input id="n9"></legend><legend><input id="n10"></legend><button id="n7">x</button></fieldset>`,
	`<svg><g><circle r="1"></circle><text>t</text></g></svg>`, `<svg viewBox="0 0 1 1"><title>t</title><rect></rect></svg>after`, `<rect></rect>bare`,
	`<h1>h</h1>`, `<h1>h<h2>i</h2></h1>`, `<dt>a</dt><dd>b</dd>`, `<pre>` + "\n\nx" + `</pre>`, `<p>a<br>b<wbr>c</p>`, `<details open><summary>s</summary>d</details>`,
	`<progress value="1" max="3"></progress><meter value="0.5"></meter>`, `<label>l <input id="n3" type="checkbox"></label>`, `<b><i>x</b>y</i>`, `<div id="n11"></div>`,
	`a&#13;b`, `<span title="a&#13;b">c</span>`, `<p id="n12">x<span id="n13">y</span></p>`, `<button id="n7"><ul><li>x</li></ul></button>`,
	`<label><button id="n7">x</button></label>`, `<blockquote><p>q</p></blockquote>`, `<legend>l</legend><input id="n9">`, `&nbsp;`, `<table><tbody></tbody></table>`,
	`<td>x</td>`, `<summary>s</summary>`, `<output id="n11">o</output>`, `<optgroup label="a"></optgroup>`, `<option label="L">t</option>`, `<option value="">empty</option>`,
}

var randomValues = []string{
	"", "1", "2", "3", "a", "b", "c", "o1", "o2", "one", "two", "three", "same", "x", " ", "1e3", ".5", "5.", "+1", "-0", "-1", "1e400", "1e-400", "0x1", "Infinity", "NaN",
	"7.5", "99", "-99", "1 ", " 1", "a\nb", "a\r\nb", "a\rb", "\n", "long text", "\U0001f600", "\u00a0", "<b>", "&amp;", "a\x00b", "out", "in", "yes", "no", "v", "on", "0.1", "1E+2", "00012", "5e-324",
}

// randomHTML are a whole card's html made of the fragments, nested.
func randomHTML(r *rand.Rand) string {
	card := randomCards[r.IntN(len(randomCards))]
	if r.IntN(3) > 0 {
		return card
	}
	return `<div id="z">` + randomFragments[r.IntN(len(randomFragments))] + `</div>` + card
}

// expectRandom changes cards at random, by batches and edits, on both sides. It gives how many batches and edits both agreed
// on, what was shown, and which of the meant differences mattered.
func expectRandom(t *testing.T, b *tab, cards int) (batches, edits int, pages []shown, used map[string]bool) {
	t.Helper()
	used = map[string]bool{}
	for seed := range cards {
		r := rand.New(rand.NewPCG(uint64(seed), 22))
		source := randomHTML(r)
		h, diagnostics := sanitize.Card(source)
		if h.String() == "" {
			t.Fatalf("%q is no card: %v", source, diagnostics)
		}
		m := openMirror(t, b, fmt.Sprintf("random %d", seed), h)
		for range 6 {
			if r.IntN(3) == 0 {
				m.edit(t, randomEdit(r, m.doc))
				edits++
				continue
			}
			var batch patches.Batch
			for range 1 + r.IntN(3) {
				batch = append(batch, randomPatch(r, m.doc))
			}
			if m.apply(t, batch) {
				batches++
			}
		}
		if m.bad {
			continue
		}
		for u := range m.used {
			used[u] = true
		}
		pages = append(pages, m.shown())
	}
	return batches, edits, pages, used
}

func randomID(r *rand.Rand, d *patches.Document) string {
	var ids []string
	eachID(d.Nodes(), func(id string, _ *sanitize.Node) { ids = append(ids, id) })
	if len(ids) == 0 {
		return "a"
	}
	return ids[r.IntN(len(ids))]
}

func randomPatch(r *rand.Rand, d *patches.Document) patches.Patch {
	switch r.IntN(6) {
	case 0:
		return patches.Patch{Op: patches.OpText, ID: randomID(r, d), Value: randomValues[r.IntN(len(randomValues))]}
	case 1, 2:
		if list := d.Controls(); len(list) > 0 {
			return patches.Patch{Op: patches.OpValue, ID: list[r.IntN(len(list))].ID, Value: randomValues[r.IntN(len(randomValues))]}
		}
	}
	html := randomFragments[r.IntN(len(randomFragments))]
	if r.IntN(4) == 0 {
		html += randomFragments[r.IntN(len(randomFragments))]
	}
	if r.IntN(6) == 0 {
		html = "<div>" + html + "</div>"
	}
	return patches.Patch{Op: patches.OpHTML, ID: randomID(r, d), Value: html}
}

func randomEdit(r *rand.Rand, d *patches.Document) cardrun.Event {
	list := d.Controls()
	if len(list) == 0 {
		return cardrun.Event{ID: "a", Type: "click"}
	}
	e := cardrun.Event{ID: list[r.IntN(len(list))].ID, Type: "input"}
	value, checked := randomValues[r.IntN(len(randomValues))], r.IntN(2) == 0
	switch r.IntN(3) {
	case 0:
		e.Type = "click"
	case 1:
		e.Value = &value
	default:
		e.Value, e.Checked = &value, &checked
	}
	return e
}
