//go:build browser

package conformance_test

import (
	"testing"

	"example.com/cardrun/patches"
	"example.com/cardrun/sanitize"
)

// differences are all that is known between a DOM to which a card's batches are applied as they are and what we show. Each
// is meant, and has its reason in RATIONALE.md under its name. browser is what innerHTML gives then, ours the display.
var differences = []struct {
	name, card    string
	batch         patches.Batch
	browser, ours string
	// value and text are those of the element c, the browser's and ours, where they tell the difference.
	value, text [2]string
}{
	{name: "void", card: `<input id="c"><br id="b">`, batch: patches.Batch{{Op: patches.OpText, ID: "c", Value: "x"}, {Op: patches.OpHTML, ID: "b", Value: "<i>y</i>"}},
		browser: `<input id="c"><br id="b">`, ours: `<input id="c"><br id="b">`, text: [2]string{"x", ""}},
	{name: "select", card: `<select id="c"><option id="o">o</option></select>`, batch: patches.Batch{{Op: patches.OpHTML, ID: "o", Value: "<b>x</b>"}},
		browser: `<select id="c"><option id="o"><b>x</b></option></select>`, ours: `<select id="c"><option id="o" selected="">x</option></select>`, value: [2]string{"x", "x"}},
	{name: "select", card: `<select id="c"></select>`, batch: patches.Batch{{Op: patches.OpHTML, ID: "c", Value: "<p>t<option>x</option></p><input>"}},
		browser: `<select id="c"><p>t<option>x</option></p><input></select>`, ours: `<select id="c"><option selected="">x</option></select>`, value: [2]string{"x", "x"}},
	{name: "textarea", card: `<textarea id="c"></textarea>`, batch: patches.Batch{{Op: patches.OpHTML, ID: "c", Value: "x<b>y</b>"}},
		browser: `<textarea id="c">x<b>y</b></textarea>`, ours: `<textarea id="c">x</textarea>`, value: [2]string{"x", "x"}},
	{name: "svg", card: `<svg><g id="g"></g></svg>`, batch: patches.Batch{{Op: patches.OpHTML, ID: "g", Value: "<b>x</b><input>"}},
		browser: `<svg><g id="g"><b>x</b><input></g></svg>`, ours: `<svg><g id="g">x</g></svg>`},
	{name: "nul", card: `<p id="c"></p>`, batch: patches.Batch{{Op: patches.OpText, ID: "c", Value: "a\x00b"}},
		browser: "<p id=\"c\">a\x00b</p>", ours: "<p id=\"c\">a\ufffdb</p>", text: [2]string{"a\x00b", "a\ufffdb"}},
	{name: "carriage return", card: `<input id="c" type="checkbox">`, batch: patches.Batch{{Op: patches.OpValue, ID: "c", Value: "a\r\nb"}},
		browser: "<input id=\"c\" type=\"checkbox\" value=\"a\r\nb\">", ours: "<input id=\"c\" type=\"checkbox\" value=\"a\nb\">", value: [2]string{"a\r\nb", "a\nb"}},
	{name: "carriage return", card: `<p id="c"></p>`, batch: patches.Batch{{Op: patches.OpText, ID: "c", Value: "a\rb"}},
		browser: "<p id=\"c\">a\rb</p>", ours: "<p id=\"c\">a\nb</p>", text: [2]string{"a\rb", "a\rb"}},
	{name: "carriage return", card: `<p id="c" title="a&#13;b">d</p>`, browser: "<p id=\"c\" title=\"a\nb\">d</p>", ours: "<p id=\"c\" title=\"a\nb\">d</p>"},
	{name: "spelling", card: `<input id="c" type="range" max="1" step="any" value=".25">`,
		browser: `<input id="c" type="range" max="1" step="any" value=".25">`, ours: `<input id="c" type="range" max="1" step="any" value=".25">`, value: [2]string{"0.25", ".25"}},
	{name: "spelling", card: `<input id="c" type="range">`, batch: patches.Batch{{Op: patches.OpValue, ID: "c", Value: "1e1"}},
		browser: `<input id="c" type="range">`, ours: `<input id="c" type="range" value="1e1">`, value: [2]string{"10", "1e1"}},
	{name: "newline", card: `<pre id="c"></pre><textarea id="t"></textarea>`, batch: patches.Batch{{Op: patches.OpText, ID: "c", Value: "\nx"}, {Op: patches.OpText, ID: "t", Value: "\nx"}},
		browser: "<pre id=\"c\">\nx</pre><textarea id=\"t\">\nx</textarea>", ours: "<pre id=\"c\">\n\nx</pre><textarea id=\"t\">\n\nx</textarea>"},
	{name: "state", card: `<input id="c"><input id="k" type="radio" name="g" checked=""><textarea id="t">x</textarea>`, batch: patches.Batch{
		{Op: patches.OpValue, ID: "c", Value: "v"}, {Op: patches.OpValue, ID: "t", Value: "y"}},
		browser: `<input id="c"><input id="k" type="radio" name="g" checked=""><textarea id="t">x</textarea>`,
		ours:    `<input id="c" value="v"><input id="k" type="radio" name="g" checked=""><textarea id="t">y</textarea>`, value: [2]string{"v", "v"}},
	{name: "nothing selected", card: `<select id="c"><option>x</option></select>`, batch: patches.Batch{{Op: patches.OpValue, ID: "c", Value: "none"}},
		browser: `<select id="c"><option>x</option></select>`, ours: `<select id="c"><option value="" hidden="" selected=""></option><option>x</option></select>`},
	{name: "div", card: `<p id="c"></p>`, batch: patches.Batch{{Op: patches.OpHTML, ID: "c", Value: "<ul><li>x</li></ul>"}},
		browser: `<p id="c"><ul><li>x</li></ul></p>`, ours: `<div id="c"><ul><li>x</li></ul></div>`, text: [2]string{"x", "x"}},
	{name: "div", card: `<table><tbody id="c"><tr><td>1</td></tr></tbody></table>`, batch: patches.Batch{{Op: patches.OpText, ID: "c", Value: "x"}},
		browser: `<table><tbody id="c">x</tbody></table>`, ours: `<div id="c">x</div><table></table>`, text: [2]string{"x", "x"}},
	{name: "button", card: `<button id="c" type="button"></button>`, batch: patches.Batch{{Op: patches.OpHTML, ID: "c", Value: "a<button id=d>x</button>"}},
		browser: `<button id="c" type="button">a<button id="d" type="button">x</button></button>`, ours: `<button id="c" type="button">a</button><button id="d" type="button">x</button>`,
		text: [2]string{"ax", "ax"}},
	{name: "text in a select", card: `<select id="c"><option>x</option></select>`, batch: patches.Batch{{Op: patches.OpText, ID: "c", Value: "none"}},
		browser: `<select id="c">none</select>`, ours: `<select id="c"></select>`, text: [2]string{"none", "none"}},
}

// expectDifferences expects each of the differences to be there, and exactly as it is told.
func expectDifferences(t *testing.T, b *tab) {
	t.Helper()
	b.visit("/live")
	for _, c := range differences {
		h, _ := sanitize.Card(c.card)
		d, err := patches.New(h)
		if err != nil {
			t.Fatalf("%s: %v", c.card, err)
		}
		applied, err := d.Apply(c.batch)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for i := range applied {
			if applied[i].Op != patches.OpHTML { // else it is the sanitized html
				applied[i].Value = c.batch[i].Value
			}
		}
		b.ask(nil, "harness.open", h.String())
		var r struct{ HTML, Value, Text string }
		b.ask(&r, "(list => { const r = harness.raw(list || []); return {HTML: r.html, Value: r.value, Text: r.text}; })", applied)
		if r.HTML != c.browser {
			t.Errorf("%s: the browser has %q, want %q", c.name, r.HTML, c.browser)
		}
		if got := d.HTML(); got != c.ours {
			t.Errorf("%s: we show %q, want %q", c.name, got, c.ours)
		}
		control, _ := d.Control("c")
		if c.value != [2]string{} && c.value != [2]string{r.Value, control.Value} {
			t.Errorf("%s: values %q and %q, want %q", c.name, r.Value, control.Value, c.value)
		}
		text, _ := d.ElementText("c")
		if c.text != [2]string{} && c.text != [2]string{r.Text, text} {
			t.Errorf("%s: texts %q and %q, want %q", c.name, r.Text, text, c.text)
		}
		if c.browser == c.ours && c.value[0] == c.value[1] && c.text[0] == c.text[1] && c.name != "carriage return" {
			t.Errorf("%s: no difference is told", c.name)
		}
	}
}
