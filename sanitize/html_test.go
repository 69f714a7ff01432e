package sanitize

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"example.com/cardrun/limits"
)

// expectFragment checks what Fragment shows, that it is safe, and that it stays as it is.
func expectFragment(t *testing.T, in, out string) {
	t.Helper()
	h, err := Fragment(in)
	if err != nil {
		t.Fatalf("Fragment(%q): %v", in, err)
	}
	if h.String() != out {
		t.Fatalf("Fragment(%q)\n got %q\nwant %q", in, h, out)
	}
	expectSafe(t, in, out)
	if again, err := Fragment(out); err != nil || again.String() != out {
		t.Fatalf("Fragment(%q) = %q, and of that %q, %v", in, out, again, err)
	}
}

// expectInvalid checks that Fragment fails, with a message that holds part.
func expectInvalid(t *testing.T, in, part string) {
	t.Helper()
	h, err := Fragment(in)
	var e *limits.Error
	if !errors.As(err, &e) || e.Code != limits.InvalidPatch || !strings.Contains(e.Message, part) || len(h.nodes) > 0 {
		t.Errorf("Fragment(%q) = %q, %v; want an error with %q", limits.Cut(in, 200), h, err, part)
	}
}

// expectCard checks what Card shows and finds; each finding is line:column code.
func expectCard(t *testing.T, in, out string, found ...string) {
	t.Helper()
	h, got := Card(in)
	expectFindings(t, in, got, found)
	if h.String() != out {
		t.Errorf("Card(%q)\n got %q\nwant %q", in, h, out)
	}
	if !hasError(got) {
		expectSafe(t, in, out)
	}
}

func expectFindings(t *testing.T, in string, got []limits.Diagnostic, want []string) {
	t.Helper()
	var lines []string
	for _, d := range got {
		mark := ""
		if d.Severity == limits.SeverityError {
			mark = "!"
		}
		lines = append(lines, fmt.Sprintf("%d:%d %s%s", d.Line, d.Column, d.Code, mark))
		if d.Message == "" || strings.Contains(d.Message, "%!") {
			t.Errorf("on %q: bad message %q", in, d.Message)
		}
	}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("on %q\n got %q\nwant %q\n%v", limits.Cut(in, 200), lines, want, got)
	}
}

// Every element of D4 stays, with its end tag or without.
func TestElementsD4(t *testing.T) {
	for name := range htmlElements {
		in := "<" + name + "></" + name + ">"
		switch name {
		case "br", "hr", "wbr", "input":
			in = "<" + name + ">"
		case "col":
			in = "<table><colgroup><col></colgroup></table>"
		case "caption", "colgroup", "thead", "tbody", "tfoot":
			in = "<table>" + in + "</table>"
		case "tr":
			in = "<table><tbody>" + in + "</tbody></table>"
		case "td", "th":
			in = "<table><tbody><tr>" + in + "</tr></tbody></table>"
		case "button":
			in = `<button type="button"></button>`
		}
		expectCard(t, in, in)
		expectFragment(t, in, in)
	}
	if len(htmlElements) != 73 {
		t.Errorf("%d elements", len(htmlElements))
	}
}

// Every element of D7 stays inside an svg and loses its tags outside.
func TestElementsD7(t *testing.T) {
	for name := range svgElements {
		in := "<svg><" + name + "></" + name + "></svg>"
		expectCard(t, in, in)
		expectFragment(t, in, in)
		if name != "svg" && name != "title" {
			expectFragment(t, "<"+name+">x</"+name+">", "x")
		}
	}
	if len(svgElements) != 13 {
		t.Errorf("%d elements", len(svgElements))
	}
	expectFragment(t, `<svg viewbox="0 0 1 1" preserveaspectratio="none"><path PATHLENGTH=1 /><text textlength=2 lengthadjust=spacing>t</text></svg>`,
		`<svg viewBox="0 0 1 1" preserveAspectRatio="none"><path pathLength="1"></path><text textLength="2" lengthAdjust="spacing">t</text></svg>`)
}

// Every attribute of D5 and D7 stays where it belongs and nowhere else.
func TestAttributesD5D7(t *testing.T) {
	value := map[form]string{formText: "x", formID: "x", formName: "x", formRefs: "x", formFlag: "", formCount: "3", formTabindex: "-1",
		formDir: "rtl", formInputType: "range", formButton: "button", formSVG: "1"}
	wrap := func(tag, attrs string) string {
		switch tag {
		case "td", "th":
			return "<table><tbody><tr><" + tag + attrs + "></" + tag + "></tr></tbody></table>"
		case "col":
			return "<table><colgroup><col" + attrs + "></colgroup></table>"
		case "colgroup":
			return "<table><colgroup" + attrs + "></colgroup></table>"
		case "input":
			return "<input" + attrs + ">"
		case "button":
			if !strings.Contains(attrs, "type=") {
				attrs += ` type="button"`
			}
		}
		return "<" + tag + attrs + "></" + tag + ">"
	}
	for name, f := range globalAttributes {
		in := wrap("p", fmt.Sprintf(" %s=%q", name, value[f]))
		expectFragment(t, in, in)
		in = "<svg><g" + fmt.Sprintf(" %s=%q", name, value[f]) + "></g></svg>"
		expectFragment(t, in, in)
	}
	for tag, attrs := range elementAttributes {
		for name, f := range attrs {
			in := wrap(tag, fmt.Sprintf(" %s=%q", name, value[f]))
			expectFragment(t, in, in)
			if _, global := globalAttributes[name]; !global {
				expectFragment(t, "<em "+name+"=1>a</em>", "<em>a</em>")
			}
		}
	}
	for name, f := range svgAttributes {
		in := fmt.Sprintf("<svg><g %s=%q></g></svg>", name, value[f])
		expectFragment(t, in, in)
		expectFragment(t, fmt.Sprintf("<b %s=1></b>", name), "<b></b>")
	}
}

func TestAttributeValuesD5(t *testing.T) {
	for _, c := range []struct{ in, out string }{
		{`<p tabindex=0>a</p>`, `<p tabindex="0">a</p>`},
		{`<p tabindex=5>a</p>`, `<p>a</p>`},
		{`<p tabindex=-2>a</p>`, `<p>a</p>`},
		{`<p dir=RTL>a</p>`, `<p dir="rtl">a</p>`},
		{`<p dir=up>a</p>`, `<p>a</p>`},
		{`<p hidden>a</p>`, `<p hidden="">a</p>`},
		{`<input type=NUMBER>`, `<input type="number">`},
		{`<input type="">`, `<input>`},
		{`<input maxlength=10>`, `<input maxlength="10">`},
		{`<input maxlength=-1><input maxlength=1e3><input maxlength="">`, `<input><input><input>`},
		{`<button type=submit>a</button>`, `<button type="button">a</button>`},
		{`<button>a</button>`, `<button type="button">a</button>`},
		{`<button value=1 disabled type=reset>a</button>`, `<button value="1" disabled="" type="button">a</button>`},
		{`<input type=checkbox checked CHECKED=no>`, `<input type="checkbox" checked="">`},
		{`<p style="color:red" data-x=1 itemid=2 contenteditable is=x slot=y nonce=z>a</p>`, `<p>a</p>`},
	} {
		expectFragment(t, c.in, c.out)
	}
}

// What a card is rejected for (D6), each with its place. The fragment beside it is stripped in silence.
func TestRejectedElementsR29(t *testing.T) {
	for _, c := range []struct{ in, found, fragment string }{
		{`a<script>x</script>`, "1:2 element_forbidden!", "a"},
		{`a<style>x</style>`, "1:2 element_forbidden!", "a"},
		{`a<link rel=x>`, "1:2 element_forbidden!", "a"},
		{`a<meta name=x>`, "1:2 element_forbidden!", "a"},
		{`a<base target=x>`, "1:2 element_forbidden!", "a"},
		{`a<title>x</title>`, "1:2 element_forbidden!", "a"},
		{`a<html>b`, "1:2 element_forbidden!", "ab"},
		{`a<head>b`, "1:2 element_forbidden!", "ab"},
		{`a<body>b`, "1:2 element_forbidden!", "ab"},
		{`a<frameset>b`, "1:2 element_forbidden!", "ab"},
		{`a<frame>b`, "1:2 element_forbidden!", "ab"},
		{`a<a href=x>b</a>`, "1:2 element_forbidden!", "ab"},
		{`a<area>b`, "1:2 element_forbidden!", "ab"},
		{`a<form>b</form>`, "1:2 element_forbidden!", "ab"},
		{`a<iframe>b</iframe>`, "1:2 element_forbidden!", "a"},
		{`a<object>b</object>`, "1:2 element_forbidden!", "a"},
		{`a<applet>b</applet>`, "1:2 element_forbidden!", "a"},
		{`a<embed>b`, "1:2 element_forbidden!", "ab"},
		{`a<img>b`, "1:2 element_forbidden!", "ab"},
		{`a<image>b`, "1:2 element_forbidden!", "ab"},
		{`a<picture><p>b</picture>`, "1:2 element_forbidden!", "a"},
		{`a<audio>b</audio>`, "1:2 element_forbidden!", "a"},
		{`a<video>b</video>`, "1:2 element_forbidden!", "a"},
		{`a<source>b`, "1:2 element_forbidden!", "ab"},
		{`a<track>b`, "1:2 element_forbidden!", "ab"},
		{`a<portal>b</portal>`, "1:2 element_forbidden!", "a"},
		{`<svg><script>x</script></svg>`, "1:6 element_forbidden!", "<svg></svg>"},
		{`<svg><style>x</style></svg>`, "1:6 element_forbidden!", "<svg></svg>"},
		{`<svg><a>x</a></svg>`, "1:6 element_forbidden!", "<svg></svg>"},
		{`<svg><image /></svg>`, "1:6 element_forbidden!", "<svg></svg>"},
		{`<svg><use /></svg>`, "1:6 element_forbidden!", "<svg></svg>"},
		{`<svg><foreignobject>x</foreignobject></svg>`, "1:6 element_forbidden!", "<svg></svg>"},
	} {
		expectCard(t, c.in, "", c.found)
		expectFragment(t, c.in, c.fragment)
	}
}

func TestRejectedAttributesR29(t *testing.T) {
	for _, attr := range []string{"onclick", "ONLOAD", "onx", "href", "src", "srcset", "action", "formaction", "ping", "background", "poster",
		"xlink:href", "cite", "longdesc", "srcdoc", "data", "usemap", "xml:base"} {
		in := "<p class=a\n " + attr + "=b>c</p>"
		expectCard(t, in, "", "2:2 attribute_forbidden!")
		expectFragment(t, in, `<p class="a">c</p>`)
		in = "<svg><g id=a " + attr + "=b></g></svg>"
		expectCard(t, in, "", "1:14 attribute_forbidden!")
		expectFragment(t, in, `<svg><g id="a"></g></svg>`)
	}
	for _, value := range []string{"url(#a)", "URL(x)", `u\72l(x)`, `\75 \72 \6c (x)`, "u/**/rl(x)", "url (x)", "red url(x)", "src(x)", "-webkit-image-set(x)",
		"cross-fade(x)", "element(#x)", "paint(x)", "expression(x)", "rgb(1,2,3) url(x)"} {
		expectCard(t, `<svg><g fill="`+value+`"/></svg>`, "", "1:9 attribute_forbidden!")
		expectFragment(t, `<svg><g fill="`+value+`"/></svg>`, "<svg><g></g></svg>")
		expectCard(t, `<svg><g filter="`+value+`"/></svg>`, "", "1:9 attribute_forbidden!")
	}
	expectCard(t, `<svg><g fill="rgb(1,2,3)" transform="rotate(3) scale(2)" stroke="var(--curl)"></g></svg>`,
		`<svg><g fill="rgb(1,2,3)" transform="rotate(3) scale(2)" stroke="var(--curl)"></g></svg>`)
	// On an element that only loses its tags too.
	expectCard(t, `<center onclick=x>a</center>`, "", "1:1 element_dropped", "1:9 attribute_forbidden!")
}

func TestControlsR26R27(t *testing.T) {
	for name := range inputTypes {
		expectCard(t, `<input type="`+name+`">`, `<input type="`+name+`">`)
	}
	for _, name := range []string{"file", "hidden", "submit", "image", "password", "email", "date", "color", "search", "button", "reset", "x", "radio ", "te\u212ast"} {
		in := `<p><input id=a type="` + name + `">`
		expectCard(t, in, "", "1:16 control_unsupported!")
		expectInvalid(t, in, "input type")
	}
	expectCard(t, "<p>\n<select multiple=no></select>", "", "2:9 control_unsupported!")
	expectInvalid(t, `<select MULTIPLE></select>`, "multiple")
	expectFragment(t, `<template><input type=file></template><object><select multiple></object>`, ``)
	expectFragment(t, `<input multiple>`, `<input>`)
}

func TestIDsR24R25(t *testing.T) {
	for _, id := range []string{"", "9a", "a b", "a.b", "é", "a\u212a", strings.Repeat("x", 65)} {
		expectCard(t, `<p id="`+id+`">`, "", "1:4 id_invalid!")
		expectInvalid(t, `<p id="`+id+`">`, "id ")
		expectCard(t, `<svg><g id="`+id+`"/></svg>`, "", "1:9 id_invalid!")
	}
	expectCard(t, `<p id=a><b id=b></b><i id=a></i><u id=a></u>`, "", "1:24 id_duplicate!", "1:36 id_duplicate!")
	expectInvalid(t, `<p id=a><svg><g id=a /></svg>`, `"a"`)
	expectCard(t, `<p id=a><b id=A></b></p>`, `<p id="a"><b id="A"></b></p>`)
	// A formatting element that the parser copies has its id twice, and the author wrote it once.
	expectCard(t, `<b id=x><p>a</b>b</p>`, "", "1:4 id_duplicate!")
}

func TestNamesD29(t *testing.T) {
	expectCard(t, `<input type=radio name="q 1">`, "", "1:19 id_invalid!")
	expectCard(t, `<input name="q[1]">`, "", "1:8 id_invalid!")
	expectInvalid(t, `<input type=radio name="q 1">`, `name "q 1"`)
	expectInvalid(t, `<input name="q 1" type=RADIO>`, `name "q 1"`)
	expectFragment(t, `<input name="q 1"><input type=radio name=q1>`, `<input><input type="radio" name="q1">`)
}

func TestReferencesD29(t *testing.T) {
	expectCard(t, `<label for=a>x</label><p id=a aria-labelledby="a b c">`, `<label for="a">x</label><p id="a" aria-labelledby="a b c"></p>`,
		"1:31 reference_missing", "1:31 reference_missing")
	expectCard(t, "<label\nfor=z>x</label>", `<label for="z">x</label>`, "2:1 reference_missing")
	expectCard(t, `<table><tr><th id=h><td headers="h i">x</table>`,
		`<table><tbody><tr><th id="h"></th><td headers="h i">x</td></tr></tbody></table>`, "1:25 reference_missing")
}

func TestCountsR22R23(t *testing.T) {
	full := strings.Repeat("<i></i>", limits.Elements)
	expectCard(t, full, full)
	expectFragment(t, full, full)
	expectCard(t, full+"\n<i></i>", "", "2:1 too_many_elements!")
	expectInvalid(t, full+"<i></i>", "513")
	// Implied elements and SVG ones count (D8); what is stripped does not.
	table := "<table>" + strings.Repeat("<tr>", limits.Elements-2)
	if h, found := Card(table); hasError(found) || len(h.nodes) != 1 {
		t.Errorf("%v", found)
	}
	expectInvalid(t, table+"<tr>", "513")
	expectInvalid(t, "<svg>"+strings.Repeat("<g/>", limits.Elements)+"</svg>", "513")
	expectFragment(t, strings.Repeat("<center></center>", 600), "")

	controls := strings.Repeat("<input>", limits.Controls-3) + "<select></select><textarea></textarea>" + `<button type="button"></button>`
	expectCard(t, controls, controls)
	expectCard(t, controls+"<p><input>", "", "1:500 too_many_controls!")
	expectInvalid(t, controls+"<input>", "65")
	options := "<select>" + strings.Repeat("<option></option>", 200) + "</select>"
	expectCard(t, options, options)
}

func TestDepthR22(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("<div>", n) + strings.Repeat("</div>", n) }
	expectCard(t, deep(maxDepth), deep(maxDepth))
	expectFragment(t, deep(maxDepth), deep(maxDepth))
	expectCard(t, "\n"+deep(maxDepth+1), "", "2:2501 too_many_elements!")
	expectInvalid(t, deep(maxDepth+1), "deep")
	for _, n := range []int{511, 512, 513, 2000, 10_000} {
		expectInvalid(t, deep(n), "deep")
		expectInvalid(t, "<svg>"+strings.Repeat("<g>", n), "")
		if _, found := Card(deep(n)); len(found) != 1 || found[0].Code != limits.TooManyElements || found[0].Line != 1 {
			t.Errorf("%d: %v", n, found)
		}
	}
	bold := strings.Repeat("<b>", maxDepth) + "x" + strings.Repeat("</b>", maxDepth)
	expectCard(t, bold, bold)
	// Unknown elements take their depth with them.
	expectFragment(t, strings.Repeat("<center>", 500)+"a", "a")
}

func TestBodyContextR62(t *testing.T) {
	for _, c := range []struct{ in, out string }{
		{`<tr><td>one</td><td>two</td></tr>`, `onetwo`},
		{`<td>a</td>`, `a`},
		{`<th>a</th>`, `a`},
		{`<tbody><tr><td>a</td></tr></tbody>`, `a`},
		{`<caption>a</caption>`, `a`},
		{`<li>a<li>b`, `<li>a</li><li>b</li>`},
		{`<option value=1>a<option>b`, `<option value="1">a</option><option>b</option>`},
		{`<dt>a<dd>b`, `<dt>a</dt><dd>b</dd>`},
		{`<optgroup label=g><option>a</optgroup>`, `<optgroup label="g"><option>a</option></optgroup>`},
		{``, ``},
		{`plain & simple`, `plain &amp; simple`},
	} {
		expectFragment(t, c.in, c.out)
	}
	expectCard(t, `<tr><td>one</td></tr>`, `one`, "1:1 element_dropped", "1:5 element_dropped")
}

func TestFindings(t *testing.T) {
	// All in one go, in the order of the source, in UTF-16 columns.
	expectCard(t, "<p style=x>\U0001F600<img>\r\n<b onclick=x>\rc<blink data-x=1>d</blink><input type=file>", "",
		"1:4 attribute_dropped", "1:14 element_forbidden!", "2:4 attribute_forbidden!", "3:2 element_dropped", "3:34 control_unsupported!")
	// Names in the source's own spelling, quotes of every kind, and a name that is another attribute's value.
	expectCard(t, `<p title="style='x'" class='a"b' lang=STYLE=1 STYLE = 'x'>a`, `<p title="style='x'" class="a&quot;b" lang="STYLE=1">a</p>`,
		"1:47 attribute_dropped")
	expectCard(t, `<p/style="x"/data-a>b`, `<p>b</p>`, "1:4 attribute_dropped", "1:14 attribute_dropped")
	// Tags that the parser passes over.
	expectCard(t, `<form>a<form>b`, "", "1:1 element_forbidden!", "1:8 element_forbidden!")
	expectCard(t, `<p><body onload=x>b`, "", "1:4 element_forbidden!")
	// Text that only looks like a tag.
	expectCard(t, `<textarea><script></textarea><p title="<form>">`, `<textarea>&lt;script&gt;</textarea><p title="&lt;form&gt;"></p>`)
	expectCard(t, `<svg><title>a</title><text><![CDATA[<script>]]></text></svg>`, `<svg><title>a</title><text>&lt;script&gt;</text></svg>`)
	expectCard(t, `<section><svg><path d="M0 0"></section><textarea><a></textarea>`,
		`<section><svg><path d="M0 0"></path></svg></section><textarea>&lt;a&gt;</textarea>`)
	// An author's own attribute of the marker's name.
	expectCard(t, `<p data-source-tag=0>a</p><img>`, "", "1:27 element_forbidden!")

	h, found := Card(strings.Repeat("<p style=x>", 80) + "<img>")
	if len(found) != maxDiagnostics+1 || !hasError(found) || h.String() != "" {
		t.Errorf("%d findings", len(found))
	}
	if last := found[maxDiagnostics]; last.Severity != limits.SeverityWarning || !strings.Contains(last.Message, "and 31 more") {
		t.Errorf("%v", last)
	}
	_, found = Card(strings.Repeat("<img>", 80))
	if last := found[maxDiagnostics]; len(found) != maxDiagnostics+1 || last.Severity != limits.SeverityError || !strings.Contains(last.Message, "and 30 more findings") {
		t.Errorf("%v", last)
	}
	_, found = Card(strings.Repeat("<img>", maxDiagnostics+1))
	if last := found[maxDiagnostics]; !strings.Contains(last.Message, "and one more finding like") {
		t.Errorf("%v", last)
	}
}

func TestCheck(t *testing.T) {
	h, err := Fragment(`<p id=a>x<input id=b></p><svg><g id=c /></svg>`)
	if err != nil {
		t.Fatal(err)
	}
	nodes := h.Nodes()
	expectLinked(t, nodes, nil)
	if err := Check(nodes); err != nil {
		t.Error(err)
	}
	expect := func(what, field string) {
		t.Helper()
		var e *limits.Error
		if err := Check(nodes); !errors.As(err, &e) || e.Code != limits.InvalidPatch || !strings.Contains(e.Message, what) || e.Field != field {
			t.Errorf("got %v, want %q", err, what)
		}
	}
	nodes[1].Children[0].Attr[0].Value = "a"
	expect(`"a"`, "a")
	nodes[1].Children[0].Attr[0].Value = "9"
	expect(`"9"`, "9")
	if h.String() != `<p id="a">x<input id="b"></p><svg><g id="c"></g></svg>` {
		t.Errorf("a copy changed the fragment: %q", h)
	}
	// A chain that no parser made, deeper than any stack of elements.
	n := &Node{Tag: "div"}
	for range 100_000 {
		n = &Node{Tag: "div", Children: []*Node{n}}
	}
	nodes = []*Node{n}
	expect("deep", "")
}

func TestIsControlD9(t *testing.T) {
	for _, c := range []struct {
		n    Node
		want bool
	}{
		{Node{Tag: "input"}, true}, {Node{Tag: "select"}, true}, {Node{Tag: "textarea"}, true}, {Node{Tag: "button"}, true},
		{Node{Tag: "option"}, false}, {Node{Tag: "output"}, false}, {Node{Tag: "input", SVG: true}, false}, {Node{Text: "input"}, false},
	} {
		if got := IsControl(&c.n); got != c.want {
			t.Errorf("IsControl(%+v) = %v", c.n, got)
		}
	}
}

func TestAppendHTML(t *testing.T) {
	n := &Node{Tag: "p", Attr: []Attr{{"title", "a\"<>&\u00a0\r\n'"}}, Children: []*Node{
		{Text: "a\"<>&\u00a0\r\x00é\xc2x"}, {Tag: "br"}, {Tag: "pre", Children: []*Node{{Text: "\nx"}}},
		{Tag: "textarea", Children: []*Node{{Text: ""}, {Text: "\n"}}}, {Tag: "svg", SVG: true, Children: []*Node{{Tag: "path", SVG: true}}}}}
	want := "x<p title=\"a&quot;&lt;&gt;&amp;&nbsp;&#13;\n'\">a\"&lt;&gt;&amp;&nbsp;&#13;\ufffdé\xc2x<br><pre>\n\nx</pre><textarea>\n\n</textarea><svg><path></path></svg></p>"
	if got := string(AppendHTML([]byte("x"), n)); got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
