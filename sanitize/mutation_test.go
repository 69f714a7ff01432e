package sanitize

import "testing"

// mutations are inputs of the known classes of sanitizer bypass, each written for this test: text that means one thing to
// the sanitizer's parser and another to the browser's, or that hides a name, a scheme or a handler. out is what Fragment
// shows; every one goes through the whole of expectSafe too.
var mutations = []struct{ class, in, out string }{
	// Script and handlers, plainly and in odd spelling.
	{"script", `<script>x()</script>a`, `a`},
	{"script", `<SCRIPT/x>x()</SCRIPT >a`, `a`},
	{"script", `<script><!--<script>x</script>--></script>a`, `a`},
	{"script", `<scr<script>x</script>ipt>y()</script>`, `xipt&gt;y()`},
	{"script", `<script>x`, ``},
	{"handler", `<p onclick=x()>a</p>`, `<p>a</p>`},
	{"handler", `<p/onclick=x()/onfocus="y()">a</p>`, `<p>a</p>`},
	{"handler", `<p ONCLICK=x()>a</p>`, `<p>a</p>`},
	{"handler", "<p \x0conclick=x()>a</p>", `<p>a</p>`},
	{"handler", `<p title="a"onclick=x()>a</p>`, `<p title="a">a</p>`},
	{"handler", "<p title=`a` onclick=x()>a</p>", "<p title=\"`a`\">a</p>"},
	{"handler", `<svg onload=x()><g onclick=x()></g></svg>`, `<svg><g></g></svg>`},
	{"handler", `<details open ontoggle=x()><summary>s</summary></details>`, `<details open=""><summary>s</summary></details>`},
	{"handler", `<input autofocus onfocus=x()>`, `<input>`},
	// Schemes, encoded.
	{"scheme", `<a href="javascript:x()">a</a>`, `a`},
	{"scheme", `<a href="jav&#x09;ascript:x()">a</a>`, `a`},
	{"scheme", `<a href="&#106;avascript:x()">a</a>`, `a`},
	{"scheme", "<a href=\"\x01javascript:x()\">a</a>", `a`},
	{"scheme", `<svg><a xlink:href="javascript:x()"><text>a</text></a></svg>`, `<svg></svg>`},
	{"scheme", `<button formaction="javascript:x()">b</button>`, `<button type="button">b</button>`},
	{"scheme", `<form action=javascript:x()><button>b</button></form>`, `<button type="button">b</button>`},
	{"scheme", `<blockquote cite="javascript:x()">q</blockquote>`, `<blockquote>q</blockquote>`},
	{"scheme", `<svg><set attributeName=href to=javascript:x()></set><animate attributeName=href values=javascript:x() /></svg>`, `<svg></svg>`},
	// SVG and what stands inside it.
	{"svg", `<svg><script>x()</script></svg>`, `<svg></svg>`},
	{"svg", `<svg><script href="//e.example/x"/></svg>a`, `<svg></svg>a`},
	{"svg", `<svg><style><img src=q onerror=x()></style></svg>`, `<svg></svg>`},
	{"svg", `<svg><style><g title="</style><img src=q onerror=w()>"></g></style></svg>`, `<svg></svg>`},
	{"svg", `<svg></p><style><g title="</style><img src=q onerror=w()>">`, `<svg></svg><p></p>"&gt;`},
	{"svg", `<svg><title><img src=q onerror=x()></title></svg>`, `<svg><title></title></svg>`},
	{"svg", `<svg><title><style><p title="</style><img src=q onerror=x()>"></title></svg>`, `<svg><title>"&gt;</title></svg>`},
	{"svg", `<svg><desc><table><style><p></desc></svg>b`, `<svg><desc></desc></svg>`},
	{"svg", `<svg><foreignObject><p onclick=x()>a</p></foreignObject></svg>`, `<svg></svg>`},
	{"svg", `<svg><foreignObject><math><mi><style><img src=q onerror=x()></style>`, `<svg></svg>`},
	{"svg", `<svg><use href="data:image/svg+xml,x"></use><image href=x /></svg>`, `<svg></svg>`},
	{"svg", `<svg><g fill="url(//e.example/x)"></g><g fill="u\72 l(x)"></g><g fill="u/**/rl(x)" stroke="red"></g></svg>`,
		`<svg><g></g><g></g><g stroke="red"></g></svg>`},
	{"svg", `<svg><![CDATA[<img src=q onerror=x()>]]></svg>`, `<svg>&lt;img src=q onerror=x()&gt;</svg>`},
	{"svg", `<svg><p>a</p><g>b</g></svg>`, `<svg></svg><p>a</p>b`},
	{"svg", `<svg><b><style><g title="</style><img src=q onerror=x()>">`, `<svg></svg><b>"&gt;</b>`},
	{"svg", `<path d="M0 0"></path><g>t</g>`, `t`},
	{"svg", `<svg><textarea><g title="</textarea><img src=q onerror=x()>"></svg>`, `<svg></svg>`},
	// MathML and the way back from it.
	{"math", `<math><mi><img src=q onerror=x()></mi></math>a`, `a`},
	{"math", `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=q onerror=x()&gt;">`, ``},
	{"math", `<math><mtext><mglyph><svg><mtext><style><path id="</style><img src=q onerror=x()>">`, ``},
	{"math", `<math><annotation-xml encoding="text/html"><style><img src=q onerror=x()></style></annotation-xml></math>a`, `a`},
	{"math", `<form><math><mtext></form><form><mglyph><style></math><img src=q onerror=x()>`, ``},
	{"math", `<math><a xlink:href=javascript:x()>a</a></math>`, ``},
	// Raw text in HTML, and elements that change how a text is read.
	{"raw", `<noscript><p title="</noscript><img src=q onerror=x()>"></noscript>`, `"&gt;`},
	{"raw", `<noembed><p title="</noembed><img src=q onerror=x()>">`, `"&gt;`},
	{"raw", `<xmp><p title="</xmp><img src=q onerror=x()>">`, `"&gt;`},
	{"raw", `<iframe><p title="</iframe><img src=q onerror=x()>">`, `"&gt;`},
	{"raw", `<title><p title="</title><img src=q onerror=x()>">`, `"&gt;`},
	{"raw", `<style><!--</style><img src=q onerror=x()>--></style>`, `--&gt;`},
	{"raw", `<textarea></textarea><img src=q onerror=x()>`, `<textarea></textarea>`},
	{"raw", `<textarea><img src=q onerror=x()></textarea>`, `<textarea>&lt;img src=q onerror=x()&gt;</textarea>`},
	{"raw", `<textarea><script>x</textarea></script>`, `<textarea>&lt;script&gt;x</textarea>`},
	{"raw", `a<plaintext>b</plaintext><p>c`, `a`},
	{"raw", `<noframes><style></noframes><img src=q onerror=x()>`, ``},
	{"raw", `<listing>&lt;img src=q onerror=x()&gt;</listing>`, `&lt;img src=q onerror=x()&gt;`},
	// Comments and declarations.
	{"comment", `<!--><img src=q onerror=x()>-->a`, `--&gt;a`},
	{"comment", `<!--a--!><img src=q onerror=x()>-->b`, `--&gt;b`},
	{"comment", `<!-->-->a<![CDATA[<img src=q>]]>b`, `--&gt;a]]&gt;b`},
	{"comment", `<?xml version="1.0"?><!DOCTYPE html>a</ script>b`, `ab`},
	// Templates, selects, and tags that parsers pass over.
	{"template", `<template><script>x()</script><p>a</p></template>b`, `b`},
	{"template", `<template><select><template></select><img src=q onerror=x()></template>`, ``},
	{"template", `<svg><template><style><g title="</style><img src=q onerror=x()>">`, `<svg></svg>`},
	{"select", `<select><script>x()</script><option>a</select>`, `<select><option>a</option></select>`},
	{"select", `<select><option><style></option></select><img src=q onerror=x()></style>`, `<select><option></option></select>`},
	{"select", `<select><div><option>a<p onclick=x()>b</select>`, `<select><option>ab</option></select>`},
	{"select", `<select><svg><style><img src=q onerror=x()></select>c`, `<select></select>c`},
	{"select", `<select><optgroup label=g>x<option>a</optgroup>y</select>`, `<select><optgroup label="g"><option>a</option></optgroup></select>`},
	{"select", `<option><table><option>a`, `<option>a</option>`},
	{"page", `<body onload=x()>a</body><html onclick=x()>b`, `ab`},
	{"page", `<frameset onload=x()><frame src=x>a</frameset>`, `a`},
	{"page", `<head><base href=//e.example/><meta http-equiv=refresh content="0;url=//e.example/"></head>a`, `a`},
	// Tables and foster parents.
	{"table", `<table><img src=q onerror=x()><tr><td>a</table>`, `<table><tbody><tr><td>a</td></tr></tbody></table>`},
	{"table", `<table>a<tr><b>b</b><td>c</table>`, `a<b>b</b><table><tbody><tr><td>c</td></tr></tbody></table>`},
	{"table", `<table><caption><svg><style></caption><img src=q onerror=x()>`, `<table><caption><svg></svg></caption></table>`},
	{"table", `<p><a><table><a>b</table></a></p>`, `<p></p>b<table></table><p></p>`},
	{"table", `<table><colgroup><style><img></style><col><tr><td>a`, `<table><colgroup></colgroup><colgroup><col></colgroup><tbody><tr><td>a</td></tr></tbody></table>`},
	// What taking a tag away does to those around it.
	{"unwrap", `<p>a<center><p>b</center></p>c`, `<p>a</p><p>b</p><p></p>c`},
	{"unwrap", `<button>a<x-y><button>b</button></x-y></button>`, `<button type="button">a</button><button type="button">b</button>`},
	{"unwrap", `<h1>a<font><h2>b</h2></font></h1>`, `<h1>a</h1><h2>b</h2>`},
	{"unwrap", `<ul><li>a<marquee><li>b</marquee></ul>`, `<ul><li>a</li><li>b</li></ul>`},
	{"unwrap", `<form><p>a</form><form>b`, `<p>a</p>b`},
	{"unwrap", `<object><p>a</object><p>b`, `<p>b</p>`},
	{"unwrap", `<dialog><dt>a</dialog><dd>b`, `<dt>a</dt><dd>b</dd>`},
	{"unwrap", `<b><nobr>a<nobr>b</b>c`, `<b>ab</b>c`},
	// Names that only Unicode folding makes dangerous, and duplicates.
	{"name", "<\u017fcript>x()</\u017fcript>", "&lt;\u017fcript&gt;x()"},
	{"name", "<lin\u212a rel=stylesheet href=//e.example/x>a", `a`},
	{"name", "<svg><\u017ftyle>a</\u017ftyle></svg>", "<svg>&lt;\u017ftyle&gt;a</svg>"},
	{"name", "<p \u017ftyle=x on\u212aeyup=x()>a</p>", `<p>a</p>`},
	{"name", `<p title=a title=b onclick=x onclick=y>c</p>`, `<p title="a">c</p>`},
	{"name", `<svg viewBox=a viewbox=b></svg>`, `<svg viewBox="a"></svg>`},
	{"name", `<p =x ==y "=z '=w <=v>a</p>`, `<p>a</p>`},
	{"name", `<p class="a&quot; onclick=&quot;x()">b</p>`, `<p class="a&quot; onclick=&quot;x()">b</p>`},
	{"name", `<p title="</p><img src=q onerror=x()>">b</p>`, `<p title="&lt;/p&gt;&lt;img src=q onerror=x()&gt;">b</p>`},
	{"name", `<image src=q onerror=x()><isindex prompt=x>a`, `a`},
	// Clobbering.
	{"clobber", `<p name=body id=cookie>a</p>`, `<p id="cookie">a</p>`},
	{"clobber", `<form id=x><input name=y></form>`, `<input name="y">`},
	{"clobber", `<input name="a b"><input name=attributes>`, `<input><input name="attributes">`},
	// Characters.
	{"char", "a\x00b&#0;c\rd\r\ne&#13;f", "ab\ufffdc\nd\ne\nf"},
	{"char", "<p title='a\x00b\rc'>d</p>", "<p title=\"a\ufffdb\nc\">d</p>"},
	{"char", "a\xffb&#xD800;\u00a0&nbsp;", "a\ufffdb\ufffd&nbsp;&nbsp;"},
	{"char", `&lt;script&gt;x()&lt;/script&gt;&amp;lt;`, `&lt;script&gt;x()&lt;/script&gt;&amp;lt;`},
	{"char", `&lt<b>&notit;</b>&LT;`, `&lt;<b>¬it;</b>&lt;`},
	{"char", "<pre>\n\n\na</pre><textarea>\n\nb</textarea>", "<pre>\n\n\na</pre><textarea>\n\nb</textarea>"},
}

func TestMutationsR31(t *testing.T) {
	if len(mutations) < 60 {
		t.Fatalf("only %d", len(mutations))
	}
	for _, c := range mutations {
		t.Run(c.class, func(t *testing.T) { expectFragment(t, c.in, c.out) })
	}
}
