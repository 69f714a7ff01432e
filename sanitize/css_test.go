package sanitize

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/cardrun/limits"
)

// styles are stylesheets that are shown: what String gives, with line ends and indents taken out, what Scoped(".card")
// gives where that differs by more than the scope before each selector, and the findings.
var styles = []struct {
	in, out, scoped string
	found           []string
}{
	{in: ``},
	{in: ` /* nothing */ `},
	{in: `section { padding: 16px; font-family: sans-serif; }`, out: `section {padding: 16px;font-family: sans-serif;}`},
	{in: `section,p{color:#234}`, out: `section, p {color: #234;}`, scoped: `.card section, .card p {color: #234;}`},
	{in: `p{COLOR:Red!important}`, out: `p {color: Red!important;}`},
	{in: `p{color:red;;;}`, out: `p {color: red;}`},
	{in: `p{}`, out: `p {}`},
	{in: `p{--x: {a:b}; --Y:1}`, out: `p {--x: {a:b};--Y: 1;}`},
	{in: `p { width: calc( 100% - ( 2 * 3px ) ) }`, out: `p {width: calc( 100% - ( 2 * 3px ) );}`},
	{in: `p{margin:-1px -.5em +3e-2px 1E3px}`, out: `p {margin: -1px -.5em +3e-2px 1E3px;}`},
	{in: `p{background:linear-gradient(45deg,#fff 0%,rgba(0,0,0,.5))}`, out: `p {background: linear-gradient(45deg,#fff 0%,rgba(0,0,0,.5));}`},
	{in: `p::before{content:"a\"b" counter(x) attr(title)}`, out: `p::before {content: "a\22 b" counter(x) attr(title);}`},
	{in: `p{filter:blur(2px) drop-shadow(0 0 1px red)}`, out: `p {filter: blur(2px) drop-shadow(0 0 1px red);}`},
	{in: `p{font:12px/1.5 "A B",serif}`, out: `p {font: 12px/1.5 "A B",serif;}`},
	// Escapes are resolved and written no more than needed.
	{in: `\70{c\6flor:r\65 d}`, out: `p {color: red;}`},
	{in: `#\31 a .\.b{color:#123}`, out: `#\31 a .\2e b {color: #123;}`},
	{in: `p{width:1\65 3}`, out: `p {width: 1\65 3;}`},
	{in: `p{content:'\3c b\3e \a '}`, out: `p {content: "\3c b\3e \a ";}`},
	{in: "p{content:\"a\\\nb\"}", out: `p {content: "ab";}`},
	{in: "p{color:\x00a}", out: "p {color: \ufffda;}"},
	{in: "é.\u212a{color:red}", out: "é.\u212a {color: red;}"},
	// Comments keep apart what they kept apart.
	{in: `p{color:re/**/d;margin:1/**/px}`, out: `p {color: re/**/d;margin: 1/**/px;}`},
	{in: `a/*}*/b{color:/*;*/red}`, out: `a/**/b {color: red;}`},
	{in: `a /**/ b{color:red}`, out: `a b {color: red;}`},
	{in: `a/**/ b/* *//* */ /**/c{color:red}`, out: `a b c {color: red;}`},
	{in: `p{margin:0/* top */ 1px/**//**/2px;color:u/**/ rl(1);--x:/ /**/ */**/ -/**/ ->}`, out: `p {margin: 0 1px/**/2px;color: u rl(1);--x: / * - - >;}`},
	{in: `p{--a:-/**/ -/**/>;--b:/ *}`, out: `p {--a: - -/**/>;--b: / *;}`},
	{in: `@media (width</**/2px) and (1px</**/ width){p{color:red}}`, out: `@media (width< 2px) and (1px< width) {p {color: red;}}`,
		scoped: `@media (width< 2px) and (1px< width) {.card p {color: red;}}`},
	{in: `html/**/-x,:root/**/.y/**/ p{color:red}`, out: `html/**/-x, :root/**/.y p {color: red;}`, scoped: `.card/**/-x, .card/**/.y p {color: red;}`},
	// Selectors.
	{in: `a>b+c~d *{color:red}`, out: `a>b+c~d * {color: red;}`},
	{in: `a[title~="x"],b[lang|=en],c[class^='y']{color:red}`, out: `a[title~="x"], b[lang|=en], c[class^="y"] {color: red;}`,
		scoped: `.card a[title~="x"], .card b[lang|=en], .card c[class^="y"] {color: red;}`},
	{in: `li:nth-child(2n+1 of .a,.b):not(:is(p,q)){color:red}`, out: `li:nth-child(2n+1 of .a,.b):not(:is(p,q)) {color: red;}`},
	{in: `u+a{color:red}`, out: `u+a {color: red;}`},
	{in: `u+a\62 ody,\U+a,U+a\2d 1\65 3{--x:u+1-2f u+a-f U+f(1)u+}`, out: `u+abody, U+a, U+a-1e3 {--x: u+1-2f u+a-f U+f(1)u+;}`,
		scoped: `.card u+abody, .card U+a, .card U+a-1e3 {--x: u+1-2f u+a-f U+f(1)u+;}`},
	{in: `p:-\2d x(y)::--z(1){color:-\2d f(1) --g( 2) --h (3)}`, out: `p:--x(y)::--z(1) {color: --f(1) --g( 2) --h (3);}`},
	{in: `u+0{color:red}u+?{color:red}p{top:u+0??}`, out: `p {}`, found: []string{"1:1 css_dropped", "1:15 css_dropped", "1:31 css_dropped"}},
	{in: `a-->b{color:red}`, out: `a-- >b {color: red;}`},
	// The page is the scope (R41).
	{in: `:root{--a:1}`, out: `:root {--a: 1;}`, scoped: `.card {--a: 1;}`},
	{in: `html,BODY{margin:0}`, out: `html, BODY {margin: 0;}`, scoped: `.card, .card {margin: 0;}`},
	{in: `html body p{color:red}`, out: `html body p {color: red;}`, scoped: `.card p {color: red;}`},
	{in: `html>body.dark>p{color:red}`, out: `html>body.dark>p {color: red;}`, scoped: `.card.dark>p {color: red;}`},
	{in: `:root:has(input:checked) p,body::before{color:red}`, out: `:root:has(input:checked) p, body::before {color: red;}`,
		scoped: `.card:has(input:checked) p, .card::before {color: red;}`},
	{in: `body ~ p,q{color:red}`, out: `body ~ p, q {color: red;}`, scoped: `.card q {color: red;}`},
	{in: `html body + p{color:red}b{color:red}`, out: `html body + p {color: red;}b {color: red;}`, scoped: `.card b {color: red;}`},
	{in: `b\6f dy p{color:red}`, out: `body p {color: red;}`, scoped: `.card p {color: red;}`},
	{in: `*{margin:0}`, out: `* {margin: 0;}`},
	{in: `bodyx .html{margin:0}`, out: `bodyx .html {margin: 0;}`},
	// Conditions and frames.
	{in: `@media (min-width:400px) and (width<900px){p{color:red}}`, out: `@media (min-width:400px) and (width< 900px) {p {color: red;}}`,
		scoped: `@media (min-width:400px) and (width< 900px) {.card p {color: red;}}`},
	{in: `@media (400px<=width){p{color:red}}`, out: `@media (400px<=width) {p {color: red;}}`, scoped: `@media (400px<=width) {.card p {color: red;}}`},
	{in: `@SUPPORTS (display:grid) and (not (a:b)){p{color:red}}`, out: `@supports (display:grid) and (not (a:b)) {p {color: red;}}`,
		scoped: `@supports (display:grid) and (not (a:b)) {.card p {color: red;}}`},
	{in: `@container side (width>3px){p{color:red}}`, out: `@container side (width>3px) {p {color: red;}}`,
		scoped: `@container side (width>3px) {.card p {color: red;}}`},
	{in: `@layer a,b.c;@layer a{p{color:red}}@layer{q{color:red}}`, out: `@layer a,b.c;@layer a {p {color: red;}}@layer {q {color: red;}}`,
		scoped: `@layer a,b.c;@layer a {.card p {color: red;}}@layer {.card q {color: red;}}`},
	{in: `@keyframes k{from,50.5%{left:0}to{left:1px}}`, out: `@keyframes k {from, 50.5% {left: 0;}to {left: 1px;}}`,
		scoped: `@keyframes k {from, 50.5% {left: 0;}to {left: 1px;}}`},
	{in: `@media print{@media screen{@layer x{p{color:red}}}}`, out: `@media print {@media screen {@layer x {p {color: red;}}}}`,
		scoped: `@media print {@media screen {@layer x {.card p {color: red;}}}}`},
	// Nesting.
	{in: `p{color:red;&:hover{color:blue}b{margin:0}>i{margin:1px}@media print{color:green;u{margin:0}}}`,
		out: `p {color: red;&:hover {color: blue;}b {margin: 0;}>i {margin: 1px;}@media print {color: green;u {margin: 0;}}}`},
	{in: `a:hover{b:hover{color:red}}`, out: `a:hover {b:hover {color: red;}}`},
	{in: `p{& + p{color:red}~q{color:red}}`, out: `p {& + p {color: red;}~q {color: red;}}`},
	{in: `p{.a &{color:red}:not(&){color:red}color:red}`, out: `p {color: red;}`, found: []string{"1:3 css_dropped", "1:18 css_dropped"}},
	{in: `:root{& ~ p{color:red}&.x+p{color:red}+p{color:red}b ~ i{color:red}}`, out: `:root {b ~ i {color: red;}}`, scoped: `.card {b ~ i {color: red;}}`,
		found: []string{"1:7 css_dropped", "1:23 css_dropped", "1:39 css_dropped"}},
	{in: `body{&{& ~ p{color:red}}}`, out: `body {& {}}`, scoped: `.card {& {}}`, found: []string{"1:8 css_dropped"}},
	// What is not understood is left out, and the rest stays.
	{in: `p{color;margin:0}`, out: `p {margin: 0;}`, found: []string{"1:3 css_dropped"}},
	{in: "p{\n *zoom:1;\n margin:0}", out: `p {margin: 0;}`, found: []string{"2:2 css_dropped"}},
	{in: `p{color:;margin:0;1:2}`, out: `p {margin: 0;}`, found: []string{"1:3 css_dropped", "1:19 css_dropped"}},
	{in: `p{color:red!x;top:!important;left:0 !important}`, out: `p {left: 0 !important;}`, found: []string{"1:3 css_dropped", "1:15 css_dropped"}},
	{in: `p{top:a?b;left:<b;right:@x}`, out: `p {}`, found: []string{"1:3 css_dropped", "1:11 css_dropped", "1:19 css_dropped"}},
	{in: `p{gr id:x;co\6c or\;:red}`, out: `p {}`, found: []string{"1:3 css_dropped", "1:11 css_dropped"}},
	{in: `p,{color:red}>q{color:red}r>{color:red}s{color:red}`, out: `s {color: red;}`,
		found: []string{"1:1 css_dropped", "1:14 css_dropped", "1:27 css_dropped"}},
	{in: `+00{}1{}a 1b{}"c"{}f(x){}a f(x){}a:nth-child(+1){}`, out: `a:nth-child(+1) {}`, found: []string{"1:1 css_dropped", "1:6 css_dropped",
		"1:9 css_dropped", "1:15 css_dropped", "1:20 css_dropped", "1:26 css_dropped"}},
	{in: `&{color:red}a&b{color:red}a:is(&){color:red}`, found: []string{"1:1 css_dropped", "1:13 css_dropped", "1:27 css_dropped"}},
	{in: `a;b{color:red}c!{color:red}(d){color:red}@x;e{color:red}`, out: `e {color: red;}`,
		found: []string{"1:1 css_dropped", "1:15 css_dropped", "1:28 css_dropped", "1:42 css_dropped"}},
	{in: `@page{margin:0}@property --x{syntax:"*"}@scope (a){p{color:red}}p{top:0}`, out: `p {top: 0;}`,
		found: []string{"1:1 css_dropped", "1:16 css_dropped", "1:41 css_dropped"}},
	{in: `@media{p{top:0}}@media print;@layer;@keyframes{}@keyframes a b{}@keyframes k{x{top:0}5{top:0}to{top:0;p{top:0}}}`,
		out:    `@keyframes k {to {top: 0;}}`,
		scoped: `@keyframes k {to {top: 0;}}`,
		found: []string{"1:1 css_dropped", "1:17 css_dropped", "1:30 css_dropped", "1:37 css_dropped", "1:49 css_dropped", "1:78 css_dropped",
			"1:86 css_dropped", "1:103 css_dropped"}},
	{in: `p{@keyframes k{to{top:0}}top:0}`, out: `p {top: 0;}`, found: []string{"1:3 css_dropped"}},
	{in: `p{top:0}trailing`, out: `p {top: 0;}`, found: []string{"1:9 css_dropped"}},
	{in: `p{top:0;}` + "\x01{top:0}", out: `p {top: 0;}`, found: []string{"1:10 css_dropped"}},
}

func squeeze(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		if strings.HasSuffix(line, " {") {
			line = strings.TrimSuffix(line, " {") + " {"
		}
		b.WriteString(line)
	}
	return b.String()
}

func TestStylesD28R41(t *testing.T) {
	t.Logf("attacks: %d", len(styles))
	for _, c := range styles {
		s, found := CSS(c.in)
		expectFindings(t, c.in, found, c.found)
		if got := squeeze(s.String()); got != c.out {
			t.Errorf("CSS(%q)\n got %q\nwant %q", c.in, got, c.out)
		}
		want := c.scoped
		if want == "" && c.out != "" {
			want = ".card " + c.out
		}
		if got := squeeze(s.Scoped(".card")); got != want {
			t.Errorf("CSS(%q).Scoped\n got %q\nwant %q", c.in, got, want)
		}
		if again, found := CSS(s.String()); len(found) > 0 || again.String() != s.String() {
			t.Errorf("CSS(%q) = %q, and of that %q %v", c.in, s, again, found)
		}
		expectTame(t, c.in, s.String())
		expectRead(t, c.in, s.String())
		expectTame(t, c.in, s.Scoped(".card"))
		expectConfined(t, c.in, s.Scoped(".card"))
	}
}

// expectRead holds what is read in the text that was printed against what was understood, and checked, in the source: the same rules with
// the same tokens, and white space or a comment between the same two.
func expectRead(t *testing.T, in, out string) {
	t.Helper()
	source, text := cssChecker{source: cleanCSS(in)}, cssChecker{source: out}
	understood, read := meaning(nil, source.read()), meaning(nil, text.read())
	if d := cmp.Diff(understood, read); d != "" {
		t.Fatalf("CSS(%q) = %q is read as something else: %s", in, out, d)
	}
}

// meaning is what rules say, token by token.
func meaning(out []string, list []cssRule) []string {
	tokens := func(all []cssToken) {
		for i, t := range all {
			switch {
			case t.blank() && i > 0 && (all[i-1].blank() || all[i-1].is("<")): // behind a <, and before a >, there may be a space more
			case t.blank():
				run := all[i:]
				for n := range run {
					if !run[n].blank() {
						run = run[:n]
						break
					}
				}
				if i+len(run) < len(all) && all[i+len(run)].is(">") {
					continue
				}
				out = append(out, fmt.Sprint("space ", slices.ContainsFunc(run, func(t cssToken) bool { return t.kind == kindSpace })))
			default:
				out = append(out, fmt.Sprintf("%d %q %q %t", t.kind, t.text, t.unit, t.id))
			}
		}
	}
	for _, r := range list {
		out = append(out, fmt.Sprintf("%s %t %t", r.name, r.decl, r.block))
		tokens(r.prelude)
		for _, s := range r.selectors {
			out = append(out, fmt.Sprintf("selector, %t %t", s.page, s.outside))
			tokens(s.tokens)
		}
		out = append(meaning(out, r.items), "end")
	}
	return out
}

// badStyles reject a card, each for what is found there.
var badStyles = []struct {
	in   string
	code limits.Code
	at   string
}{
	{`@import "x";`, limits.CSSForbidden, "1:1"},
	{`@import url(x);`, limits.CSSForbidden, "1:1"},
	{`@IMPORT 'x'`, limits.CSSForbidden, "1:1"},
	{`p{--x:u+cross-fade(a)}`, limits.CSSForbidden, "1:9"},
	{`p{--x:U+e\78pression(1)}`, limits.CSSForbidden, "1:9"},
	{"@\\69 mport \"https://e.example/a.css\";", limits.CSSForbidden, "1:1"},
	{"p{}\n@im\\70ort 'x';", limits.CSSForbidden, "2:1"},
	{`@imp\6frt 'x';`, limits.CSSForbidden, "1:1"},
	{`p{@import 'x';}`, limits.CSSForbidden, "1:3"},
	{`@media print{@import 'x';}`, limits.CSSForbidden, "1:14"},
	{`/**/@import/**/"x"`, limits.CSSForbidden, "1:5"},
	{`@font-face{font-family:x}`, limits.CSSForbidden, "1:1"},
	{`@f\6fnt-face{}`, limits.CSSForbidden, "1:1"},
	{`@charset "x";`, limits.CSSForbidden, "1:1"},
	{`@namespace x "y";`, limits.CSSForbidden, "1:1"},
	{`@document domain(x){p{}}`, limits.CSSForbidden, "1:11"},
	{`@-moz-document regexp("x"){p{}}`, limits.CSSForbidden, "1:16"},
	{`p{background:url(x)}`, limits.CSSForbidden, "1:14"},
	{`p{background:URL( "x" )}`, limits.CSSForbidden, "1:14"},
	{`p{background:url(`, limits.CSSForbidden, "1:14"},
	{`p{background:u\72l(x)}`, limits.CSSForbidden, "1:14"},
	{`p{background:\75rl(x)}`, limits.CSSForbidden, "1:14"},
	{`p{background:\000075\000072\00006C(x)}`, limits.CSSForbidden, "1:14"},
	{"p{background:\\75\nrl(x)}", limits.CSSForbidden, "1:14"},
	{"p{background:\\75\r\nrl(x)}", limits.CSSForbidden, "1:14"},
	{`p{background:u\rl(x)}`, limits.CSSForbidden, "1:14"},
	{`p{background:url (x)}`, limits.CSSForbidden, "1:14"},
	{`p{background:url/**/(x)}`, limits.CSSForbidden, "1:14"},
	{`p{background:0url(x)}`, limits.CSSForbidden, "1:14"},
	{`p{background:#image-set(x)}`, limits.CSSForbidden, "1:14"},
	{`p{background:url(a b)}`, limits.CSSForbidden, "1:14"},
	{`p{--x:url(x)}`, limits.CSSForbidden, "1:7"},
	{`p{--x:{a:url(x)}}`, limits.CSSForbidden, "1:10"},
	{`p[title=url(x)]{}`, limits.CSSForbidden, "1:9"},
	{`@supports (background:url(x)){p{}}`, limits.CSSForbidden, "1:23"},
	{`@layer url(x);`, limits.CSSForbidden, "1:8"},
	{`p{background:src("x")}`, limits.CSSForbidden, "1:14"},
	{`p{background:image("x")}`, limits.CSSForbidden, "1:14"},
	{`p{background:image-set("x" 1x)}`, limits.CSSForbidden, "1:14"},
	{`p{background:-webkit-image-set("x" 1x)}`, limits.CSSForbidden, "1:14"},
	{`p{background:-webkit-cross-fade(x)}`, limits.CSSForbidden, "1:14"},
	{`p{background:cross-fade("x",red)}`, limits.CSSForbidden, "1:14"},
	{`p{background:-moz-element(#x)}`, limits.CSSForbidden, "1:14"},
	{`p{background:paint(x)}`, limits.CSSForbidden, "1:14"},
	{`p{background:-webkit-filter("x",blur(1px))}`, limits.CSSForbidden, "1:14"},
	{`p{background:-moz-image-rect("x",0,0,0,0)}`, limits.CSSForbidden, "1:14"},
	{`p{width:expression(x)}`, limits.CSSForbidden, "1:9"},
	{`p{width:e\78 pression(x)}`, limits.CSSForbidden, "1:9"},
	{`p{width:attr(title url)}`, limits.CSSForbidden, "1:20"},
	{`p{filter:progid:DXImageTransform.Microsoft.AlphaImageLoader(src='x')}`, limits.CSSForbidden, "1:44"},
	{`p{behavior:x}`, limits.CSSForbidden, "1:3"},
	{`p{b\65havior:x}`, limits.CSSForbidden, "1:3"},
	{`p{-ms-behavior:x}`, limits.CSSForbidden, "1:3"},
	{`p{-moz-binding:x}`, limits.CSSForbidden, "1:3"},
	{`p{-MOZ-B\49nding:x}`, limits.CSSForbidden, "1:3"},
	{`@keyframes k{to{behavior:x}}`, limits.CSSForbidden, "1:17"},
	{`</style><script>x()</script>`, limits.CSSForbidden, "1:1"},
	{`p{content:"</STYLE>"}`, limits.CSSForbidden, "1:12"},
	{`p{content:"\3c/style>"}`, limits.CSSForbidden, "1:11"},
	{`/* </style> */`, limits.CSSForbidden, "1:4"},
	{`p{content:"\3c !--"}`, limits.CSSForbidden, "1:11"},
	{`<!-- p{} -->`, limits.CSSForbidden, "1:1"},
	{`p{} --> q{}`, limits.CSSForbidden, "1:5"},
	{`p{content:"x}`, limits.CSSInvalid, "1:2"},
	{"p{content:\"x\ny\"}", limits.CSSInvalid, "1:2"},
	{`p{content:"x\"}`, limits.CSSInvalid, "1:2"},
	{`p{content:'x`, limits.CSSInvalid, "1:2"},
	{`p{} /* x`, limits.CSSInvalid, "1:5"},
	{`p{} /*/`, limits.CSSInvalid, "1:5"},
	{`p{color:red`, limits.CSSInvalid, "1:2"},
	{`@media print{p{}`, limits.CSSInvalid, "1:13"},
	{`p{}}q{}`, limits.CSSInvalid, "1:4"},
	{`} * {color:red}`, limits.CSSInvalid, "1:1"},
	{`p{color:rgb(1}`, limits.CSSInvalid, "1:2"},
	{`p{color:[1)]}`, limits.CSSInvalid, "1:11"},
	{`p:not(q{}`, limits.CSSInvalid, "1:3"},
	{strings.Repeat("@media a{", 33) + strings.Repeat("}", 33), limits.CSSInvalid, "1:297"},
	{strings.Repeat("(", 100_000), limits.CSSInvalid, "1:1"},
}

func TestBadStylesD28R40(t *testing.T) {
	if len(styles)+len(badStyles) < 50 {
		t.Fatal("too few")
	}
	t.Logf("attacks: %d", len(badStyles))
	for _, c := range badStyles {
		s, found := CSS(c.in)
		if !hasError(found) || s.String() != "" || s.Scoped(".card") != "" {
			t.Errorf("CSS(%q) = %q %v", limits.Cut(c.in, 80), s, found)
			continue
		}
		if !slices.ContainsFunc(found, func(d limits.Diagnostic) bool {
			return d.Code == c.code && d.Severity == limits.SeverityError && strings.HasPrefix(d.String(), "css:"+c.at+":")
		}) {
			t.Errorf("CSS(%q) finds %v, want %s at %s", limits.Cut(c.in, 80), found, c.code, c.at)
		}
	}
}

// All findings come at once, each once, in the order of the source, whatever else is amiss (R125): a bracket, a string or
// a comment that is open or closes nothing, a rule that would be left out, or one that is refused itself.
func TestAllStyleFindingsR125(t *testing.T) {
	const forbidden, invalid, dropped = " css_forbidden!", " css_invalid!", " css_dropped"
	for _, c := range []struct {
		in   string
		want []string
	}{
		{`@import "x"; p{behavior:x} b{`, []string{"1:1" + forbidden, "1:16" + forbidden, "1:29" + invalid}},
		{`p{behavior:x`, []string{"1:2" + invalid, "1:3" + forbidden}},
		{"p{behavior:x\nb{color:red}", []string{"1:2" + invalid, "1:3" + forbidden}},
		{`p{color:red;-ms-behavior/**/ :x}}`, []string{"1:13" + forbidden, "1:33" + invalid}},
		{`p{}} behavior:x; @font-face{}`, []string{"1:4" + invalid, "1:6" + forbidden, "1:18" + forbidden}},
		{`p{width:calc(1px;-moz-binding:x} @import`, []string{"1:2" + invalid, "1:9" + invalid, "1:18" + forbidden, "1:32" + invalid, "1:34" + forbidden}},
		{`p{width:calc(1px}behavior:x`, []string{"1:2" + invalid, "1:9" + invalid, "1:17" + invalid, "1:18" + forbidden}},
		{`p{top:src(x)} [a{@charset "x"`, []string{"1:7" + forbidden, "1:15" + invalid, "1:17" + invalid, "1:18" + forbidden}},
		{`@\69mport "x;`, []string{"1:1" + forbidden, "1:11" + invalid}},
		{"p{content:\"x\n;b\\65havior:x}@namespace y;", []string{"1:11" + invalid, "2:2" + forbidden, "2:15" + forbidden}},
		{"@import 'x'; /* never closed", []string{"1:1" + forbidden, "1:14" + invalid}},
		// What is never closed takes the rest with it, and yet its next lines are looked at for what is forbidden.
		{"/* note\np{behavior:x}\n@import 'y'; don't }", []string{"1:1" + invalid, "2:3" + forbidden, "3:1" + forbidden}},
		{"p{top:0; /* note\nleft:0}\nq{behavior:x}", []string{"1:10" + invalid, "3:3" + forbidden}},
		{"p{ /* note\n@import 'x'; /* more\n@import 'y'", []string{"1:2" + invalid, "1:4" + invalid, "2:1" + forbidden}},
		{"p{background:url(x;}\n@import 'y';", []string{"1:2" + invalid, "1:14" + forbidden, "2:1" + forbidden}},
		{strings.Repeat("@media a{", 33) + "p{behavior:x}" + strings.Repeat("}", 33), []string{"1:297" + invalid, "1:300" + forbidden}},
		// Nothing is hidden in what is left out or refused.
		{`@import "x"{p{behavior:x}}`, []string{"1:1" + forbidden, "1:15" + forbidden}},
		{`1{behavior:x}@page{@font-face{}}q{top:@import}`, []string{"1:1" + dropped, "1:3" + forbidden, "1:14" + dropped, "1:20" + forbidden,
			"1:35" + dropped, "1:39" + forbidden}},
		{`p{--x:{behavior:x}}`, []string{"1:8" + forbidden}},
		// Each is told once.
		{`p{content:"</style>"}`, []string{"1:12" + forbidden}},
		{`p{content:"\3c/style>"}`, []string{"1:11" + forbidden}},
		{`<!-- p{} -->`, []string{"1:1" + forbidden, "1:10" + forbidden}},
		{`p{behavior:x}`, []string{"1:3" + forbidden}},
		{`@media print{@import 'x';}`, []string{"1:14" + forbidden}},
		// These are other things of that name.
		{`.behavior:hover{--behavior:1}#binding:hover,p behavior:hover{color:red}`, nil},
		{`@supports (behavior:x){p{content:"behavior:x;@import"}}`, nil},
		{`p{animation:binding 1s;color:red} /* ;behavior:x @import */`, nil},
	} {
		_, found := CSS(c.in)
		expectFindings(t, c.in, found, c.want)
	}
	// No flood of one kind hides another.
	for _, flood := range []string{"}", "p{color}", "<!--", "@x;"} {
		_, found := CSS(strings.Repeat(flood, 3000) + "}b{@import 'x'; 1{} b{}")
		for _, code := range []limits.Code{limits.CSSForbidden, limits.CSSInvalid} {
			if !slices.ContainsFunc(found, func(d limits.Diagnostic) bool { return d.Code == code }) {
				t.Errorf("3000 times %s hides %s", flood, code)
			}
		}
	}
}

func TestStyleFindings(t *testing.T) {
	s, found := CSS("p{color;}\n@import 'x';\nq{top:url(x)}\n\U0001F600{a:<b}")
	expectFindings(t, "", found, []string{"1:3 css_dropped", "2:1 css_forbidden!", "3:7 css_forbidden!", "4:4 css_dropped"})
	if s.String() != "" {
		t.Errorf("%q", s)
	}
	// A flood of warnings hides no error.
	if _, found := CSS(strings.Repeat("p{color}", 3000) + "@import 'x'"); !hasError(found) || len(found) != maxDiagnostics+1 {
		t.Errorf("%d findings", len(found))
	}
}

// expectTame checks the text of a stylesheet by other means than it was made: with strings taken out and all escapes
// resolved nothing in it loads or breaks out, and its braces are balanced.
func expectTame(t *testing.T, in, out string) {
	t.Helper()
	var b strings.Builder
	depth := 0
	for i := 0; i < len(out); i++ {
		switch out[i] {
		case '"':
			end := strings.IndexByte(out[i+1:], '"')
			if end < 0 || strings.ContainsAny(out[i+1:i+1+end], "\n<>") {
				t.Fatalf("CSS(%q) = %q: bad string", in, out)
			}
			b.WriteString("STRING")
			i += end + 1
			continue
		case '{':
			depth++
		case '}':
			depth--
		case '\'':
			t.Fatalf("CSS(%q) = %q: a single quote", in, out)
		case '<':
			if i+1 == len(out) || out[i+1] != ' ' && out[i+1] != '=' {
				t.Fatalf("CSS(%q) = %q: a bare <", in, out)
			}
		}
		if depth < 0 {
			t.Fatalf("CSS(%q) = %q: a block too many is closed", in, out)
		}
		b.WriteByte(out[i])
	}
	if depth != 0 {
		t.Fatalf("CSS(%q) = %q: a block is open", in, out)
	}
	plain := strings.ToLower(unescape(b.String()))
	for _, bad := range []string{"@import", "@font-face", "@charset", "@namespace", "@document", "url(", "src(", "image-set(", "-webkit-image-set(", "cross-fade(", "-moz-element(",
		"expression(", "-moz-binding:", "</style", "-->", "<!--"} {
		for i := strings.Index(plain, bad); i >= 0; {
			// Behind a letter it is the end of a longer name; and an escaped ( may put such a text together, which no tokenizer
			// reads so.
			if (i == 0 || !isNameByte(plain[i-1])) && strings.Contains(strings.ToLower(b.String()), bad) {
				t.Fatalf("CSS(%q) = %q holds %s", in, out, bad)
			}
			next := strings.Index(plain[i+1:], bad)
			if next < 0 {
				break
			}
			i += 1 + next
		}
	}
}

// expectConfined checks that every selector of a scoped stylesheet that is not nested in another rule begins with the
// scope, and goes into it.
func expectConfined(t *testing.T, in, scoped string) {
	t.Helper()
	var open []string
	for line := range strings.Lines(scoped) {
		line = strings.TrimSpace(line)
		switch {
		case line == "}":
			open = open[:len(open)-1]
		case strings.HasSuffix(line, " {"):
			kind := "rule"
			if strings.HasPrefix(line, "@") {
				kind = "condition"
				if strings.Contains(strings.Fields(line)[0], "keyframes") {
					kind = "rule"
				}
			}
			inRule := false
			for _, k := range open {
				inRule = inRule || k == "rule"
			}
			open = append(open, kind)
			if inRule || strings.HasPrefix(line, "@") {
				continue
			}
			depth, start := 0, true
			selector := strings.TrimSuffix(line, " {")
			for i := 0; i < len(selector); i++ {
				if start {
					rest, found := strings.CutPrefix(selector[i:], ".card")
					next := strings.TrimLeft(strings.ReplaceAll(rest, "/**/", ""), " ")
					if !found || strings.HasPrefix(next, "+") || strings.HasPrefix(next, "~") || rest != "" && isNameByte(rest[0]) {
						t.Fatalf("CSS(%q).Scoped = %q: %q is not confined", in, scoped, line)
					}
					start = false
				}
				switch selector[i] {
				case '"':
					i += 1 + strings.IndexByte(selector[i+1:], '"')
				case '(', '[':
					depth++
				case ')', ']':
					depth--
				case ',':
					if depth == 0 {
						start = true
						i++ // the space
					}
				}
			}
		}
	}
}
