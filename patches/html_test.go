package patches_test

import (
	"strings"
	"testing"

	"example.com/cardrun/patches"
)

func expectShown(t *testing.T, card, want string, b ...patches.Patch) {
	t.Helper()
	d := document(t, card)
	if len(b) > 0 {
		apply(t, d, b...)
	}
	expectSound(t, d)
	expectHTML(t, d, want)
}

func TestHTMLReflectsControls(t *testing.T) {
	expectShown(t, `<input id="a" type="number" value="4">`, `<input id="a" type="number" value="7">`, value("a", "7"))
	expectShown(t, `<input id="a" type="number" value="x">`, `<input id="a" type="number" value="">`)
	expectShown(t, `<input id="a">`, `<input id="a">`)
	expectShown(t, `<input id="a">`, `<input id="a" value="x&quot;&lt;">`, value("a", `x"<`))
	expectShown(t, `<input id="a" type="range">`, `<input id="a" type="range" value="50">`)
	expectShown(t, `<input id="a" type="checkbox" checked="" value="x">`, `<input id="a" type="checkbox" checked="" value="y">`, value("a", "y"))
	expectShown(t, `<input type="radio" name="g" checked=""><input type="radio" name="g" checked="">`,
		`<input type="radio" name="g"><input type="radio" name="g" checked="">`)
	expectShown(t, `<select id="s"><option>a</option><option>b</option></select>`,
		`<select id="s"><option selected="">a</option><option>b</option></select>`)
	expectShown(t, `<select id="s"><option selected="">a</option><option>b</option></select>`,
		`<select id="s"><option>a</option><option selected="">b</option></select>`, value("s", "b"))
	expectShown(t, `<select id="s"><option>a</option></select>`,
		`<select id="s"><option value="" hidden="" selected=""></option><option>a</option></select>`, value("s", "?"))
	expectShown(t, `<select id="s" size="2"><option>a</option></select>`, `<select id="s" size="2"><option>a</option></select>`)
	expectShown(t, `<select id="s"><option disabled="">a</option></select>`, `<select id="s"><option disabled="">a</option></select>`)
	expectShown(t, `<select id="s"><option>a</option></select>`, `<select id="s"></select>`, text("s", "words"))
	expectShown(t, `<textarea id="a">x</textarea>`, "<textarea id=\"a\">\n\ny &lt;\n</textarea>", value("a", "\ny <\n"))
	expectShown(t, `<textarea id="a">x</textarea>`, `<textarea id="a"></textarea>`, value("a", ""))
	expectShown(t, `<p id="p"></p>`, "<p id=\"p\">a\nb\nc &lt;i&gt;</p>", text("p", "a\r\nb\rc <i>"))
}

func TestHTMLUnselectedAtTheCapR22(t *testing.T) {
	card := `<select id="s"><option>a</option></select>` + strings.Repeat("<i></i>", 510)
	d := document(t, card)
	if _, err := d.Apply(patches.Batch{value("s", "?")}); err != nil {
		t.Fatal(err)
	}
	if d.HTML() != card {
		t.Errorf("HTML of a full document has another element: %.200s", d.HTML())
	}
	expectValue(t, d, "s", "")
}

// What a parser would not leave where a patch has put it.
func TestHTMLOfWhatHTMLCannotSay(t *testing.T) {
	table := func(rows string) string { return "<table><thead><tr><th>h</th></tr></thead>" + rows + "</table>" }
	body := table(`<tbody id="x" class="c"><tr><td>old</td></tr></tbody>`)
	for _, c := range []struct {
		name, card, want string
		b                []patches.Patch
	}{
		{"text in tbody", body, table("") + `<div id="x" class="c">new</div>`, []patches.Patch{text("x", "new")}},
		{"list in tbody", body, table("") + `<div id="x" class="c"><ul><li>a</li></ul></div>`, []patches.Patch{html("x", "<ul><li>a</ul>")}},
		{"white space in tbody", body, table(`<tbody id="x" class="c"> </tbody>`), []patches.Patch{text("x", " ")}},
		{"nothing in tbody", body, table(`<tbody id="x" class="c"></tbody>`), []patches.Patch{text("x", "")}},
		{"text in tr", table(`<tbody><tr id="x"><td>1</td></tr></tbody>`), table("<tbody></tbody>") + `<div id="x">new</div>`, []patches.Patch{text("x", "new")}},
		{"text in table", `<table id="x"><tbody><tr><td>1</td></tr></tbody></table>`, `<div id="x">new</div>`, []patches.Patch{text("x", "new")}},
		{"text in tbody before rows", `<table><tbody id="x"></tbody><tfoot><tr><td>f</td></tr></tfoot></table>`,
			`<div id="x">new</div><table><tfoot><tr><td>f</td></tr></tfoot></table>`, []patches.Patch{text("x", "new")}},
		{"text in colgroup", `<table><colgroup id="x"><col></colgroup></table>`, `<div id="x">a<b>b</b></div><table></table>`, []patches.Patch{html("x", "a<b>b</b>")}},
		{"text in colgroup with a span", `<table><colgroup id="x" span="2"></colgroup></table>`, `<div id="x">a</div><table></table>`, []patches.Patch{text("x", "a")}},
		{"list in p", `<p id="x">old</p>`, `<div id="x"><ul><li>a</li></ul></div>`, []patches.Patch{html("x", "<ul><li>a</ul>")}},
		{"p deep in p", `<p><b><i id="x"></i></b></p>`, `<div><b><i id="x"><p>a</p></i></b></div>`, []patches.Patch{html("x", "<p>a")}},
		{"table in p", `<p id="x"></p>`, `<div id="x"><table><tbody><tr><td>1</td></tr></tbody></table></div>`, []patches.Patch{html("x", "<table><tr><td>1</table>")}},
		{"hr in p", `<p id="x"></p>`, `<div id="x">a<hr>b</div>`, []patches.Patch{html("x", "a<hr>b")}},
		{"block in a button in p", `<p><button id="x" type="button"></button></p>`, `<p><button id="x" type="button"><div>a</div></button></p>`, []patches.Patch{html("x", "<div>a</div>")}},
		{"li in li", `<ul><li id="x" value="3">old</li></ul>`, `<ul><div id="x"><li>a</li></div></ul>`, []patches.Patch{html("x", "<li>a</li>")}},
		{"list in li", `<ul><li id="x">old</li></ul>`, `<ul><li id="x"><ul><li>a</li></ul></li></ul>`, []patches.Patch{html("x", "<ul><li>a</ul>")}},
		{"dt in dd", `<dl><dd id="x">old</dd></dl>`, `<dl><div id="x"><dt>a</dt></div></dl>`, []patches.Patch{html("x", "<dt>a</dt>")}},
		{"heading in heading", `<h2 id="x">old</h2>`, `<div id="x"><h3>a</h3></div>`, []patches.Patch{html("x", "<h3>a</h3>")}},
		{"heading in a span in a heading", `<h2><span id="x">old</span></h2>`, `<h2><span id="x"><h3>a</h3></span></h2>`, []patches.Patch{html("x", "<h3>a</h3>")}},
		{"button in button", `<button id="x" type="button">old</button>`, `<button id="x" type="button">a</button><button type="button" id="y">b</button>`,
			[]patches.Patch{html("x", `a<button type="button" id="y">b</button>`)}},
		{"disabled button in button", `<button id="x" type="button">old</button>`,
			`<button id="x" type="button"><fieldset disabled="">a<input disabled=""></fieldset>c</button><button type="button" id="y" disabled="">b</button>`,
			[]patches.Patch{html("x", `<fieldset disabled="">a<button type="button" id="y">b</button><input disabled=""></fieldset>c`)}},
		{"controls in a disabled button in button", `<button id="x" type="button">old</button>`,
			`<button id="x" type="button"><fieldset disabled=""></fieldset></button><button id="y" type="button" disabled=""><label><input id="k" disabled=""></label></button>`,
			[]patches.Patch{html("x", `<fieldset disabled=""><button id="y" type="button"></button></fieldset>`), html("y", `<label><input id="k"></label>`)}},
		{"buttons three deep", `<button id="x" type="button"></button>`,
			`<button id="x" type="button">a</button><button id="y" type="button">b</button><button type="button" id="z">c</button>`,
			[]patches.Patch{html("x", `a<button id="y" type="button"></button>`), html("y", `b<button type="button" id="z">c</button>`)}},
		{"button in a table in a button", `<button id="x" type="button"></button>`,
			`<button id="x" type="button"><table><tbody><tr><td><button type="button">b</button></td></tr></tbody></table></button>`,
			[]patches.Patch{html("x", `<table><tr><td><button type="button">b</button></table>`)}},
		{"html in svg", `<svg id="x"><circle r="1"></circle></svg>`, `<svg id="x">a<svg><path d="M0 0"></path></svg></svg>`, []patches.Patch{html("x", `<p>a<input></p><svg><path d="M0 0"/></svg>`)}},
		{"html in svg title", `<svg><title id="x"></title></svg>`, `<svg><title id="x">ab</title></svg>`, []patches.Patch{html("x", `<b>a</b><svg><text>b</text></svg>`)}},
		{"anything in an input", `<input id="x">`, `<input id="x">`, []patches.Patch{html("x", "<p>a</p>")}},
		{"text in a br", `<br id="x">`, `<br id="x">`, []patches.Patch{text("x", "a")}},
		{"formatting in formatting", `<b><b><b id="x"></b></b></b>`, `<b><b><b id="x"><b><p>a</p></b>c</b></b></b>`, []patches.Patch{html("x", "<b><p>a</p></b>c")}},
	} {
		t.Run(c.name, func(t *testing.T) { expectShown(t, c.card, c.want, c.b...) })
	}
}

// The tree stays what a browser's is: with other content the element is again what it was.
func TestTreeOutlivesRewriting(t *testing.T) {
	d := document(t, `<table><tbody id="x"><tr><td>old</td></tr></tbody></table><p id="p"></p>`)
	apply(t, d, text("x", "new"), html("p", "<ul><li>a</ul>"))
	expectText(t, d, "x", "new")
	if got, _ := d.InnerHTML("p"); got != "<ul><li>a</li></ul>" {
		t.Errorf("InnerHTML = %q", got)
	}
	if d.Elements()["p"] != 1 || d.Elements()["div"] != 0 || d.Elements()["tbody"] != 1 {
		t.Errorf("Elements = %v", d.Elements())
	}
	apply(t, d, text("x", ""), text("p", "plain"))
	expectHTML(t, d, `<table><tbody id="x"></tbody></table><p id="p">plain</p>`)
}

func TestInnerHTML(t *testing.T) {
	d := document(t, `<div id=box><input id=a value=1> x &amp; y<svg viewBox="0 0 1 1"></svg></div>`)
	apply(t, d, value("a", "2"))
	if got, ok := d.InnerHTML("box"); !ok || got != `<input id="a" value="1"> x &amp; y<svg viewBox="0 0 1 1"></svg>` {
		t.Errorf("InnerHTML = %q, %v", got, ok)
	}
	if got, ok := d.InnerHTML("none"); ok || got != "" {
		t.Errorf("InnerHTML = %q, %v", got, ok)
	}
	if _, ok := d.ElementText("none"); ok {
		t.Error("there is no such element")
	}
}

// Nesting as deep as sanitize allows, reached by patches, is shown and read without trouble; deeper is refused.
func TestDepth(t *testing.T) {
	d := document(t, "<div id=x></div>")
	deep := strings.Repeat("<span>", 300) + "<span id=y>"
	if _, err := d.Apply(patches.Batch{html("x", deep+strings.Repeat("</span>", 301))}); err != nil {
		t.Fatal(err)
	}
	apply(t, d, html("y", strings.Repeat("<dfn>", 190)+"a"+strings.Repeat("</dfn>", 190)))
	if d.Text() != "a" {
		t.Errorf("Text = %q", d.Text())
	}
	expectRefused(t, d, "invalid_patch", html("y", strings.Repeat("<dfn>", 205)+"a"+strings.Repeat("</dfn>", 205)))
}
