package conformance_test

import (
	"fmt"
	"strings"
)

// choices are the bytes that a card is generated from: each decision takes one. Where they run out, every decision is the
// first one, which is the shortest, so that any bytes give a card, and bytes that are near give cards that are near.
type choices struct{ rest []byte }

func (c *choices) byte() int {
	if len(c.rest) == 0 {
		return 0
	}
	b := c.rest[0]
	c.rest = c.rest[1:]
	return int(b)
}

// below decides for a number from 0 to n-1; n is at most 256.
func (c *choices) below(n int) int { return c.byte() % n }

// oneIn tells true for every nth byte, and not for 0.
func (c *choices) oneIn(n int) bool { return c.below(n) == n-1 }

// pick decides for one of a list.
func pick[T any](c *choices, list []T) T { return list[c.below(len(list))] }

// grammar writes scripts: statements over the five calls, and over all of the language that a card may come to. Names are
// v0 to v9 for variables and f0 to f3 for functions, all of them declared at the top, so that most scripts run.
type grammar struct {
	*choices
	ids      []string
	controls []string // those of ids that ui.input knows
	depth    int
	loops    int
}

var (
	scriptNumbers = []string{"0", "1", "7", "2.5", "-1", "-0", "1e21", "1e-7", "0.1", "NaN", "Infinity", "2**53", "0xff", "1_000", "-2147483648", "4294967295", "5e-324", "1.7976931348623157e308"}
	scriptStrings = []string{`''`, `'x'`, `'7'`, `'a\nb'`, `'<b>&amp;"'`, `'\0'`, `'\ud800'`, `'é€'`, `'\u{1f600}'`, "`t${v0}`", `'v'.repeat(2048)`, `'w'.repeat(2049)`, `'€'.repeat(700)`, `'on'`, `'50'`,
		`'__proto__'`, `'constructor'`, `'1e5'`, `'\u202eevil\u2028'`, `'z'.repeat(15900)`, `'a,b,,c'`, `'\r\n'`, `'  pad  '`}
	scriptOperators = []string{"+", "-", "*", "/", "%", "**", "<", "<=", "===", "!=", "&&", "||", "??", "|", "^", "&", "<<", ">>>", "in", "instanceof", ","}
	scriptMath      = []string{"Math.floor", "Math.sqrt", "Math.round", "Math.abs", "Math.sin", "Math.exp", "Math.log", "Math.fround", "Math.clz32", "Math.cbrt", "Math.tanh", "Math.sign"}
	scriptMembers   = []string{"length", "0", "value", "checked", "constructor", "prototype", "__proto__", "name", "then", "stack", "size", "message"}
	scriptMethods   = []string{"toString", "slice", "map", "filter", "join", "concat", "split", "padStart", "trim", "toFixed", "indexOf", "replace", "sort", "reverse", "push", "pop", "flat", "fill",
		"toUpperCase", "normalize", "codePointAt", "at", "reduce", "find", "includes", "toLocaleString", "localeCompare", "with", "toSorted", "valueOf", "matchAll", "entries", "call", "bind"}
	scriptConstructors = []string{"Map", "Set", "Date", "Array", "Uint8Array", "Float64Array", "Error", "WeakMap", "RegExp", "Object", "String", "Proxy", "ArrayBuffer", "Promise", "BigInt64Array", "WeakRef"}
	scriptPatterns     = []string{"/x/", "/(\\d+)/g", "/^.*$/m", "/[a-z]+/gi", "/(?<n>.)\\k<n>/u", "/\\p{L}/u", "/(a|b)*c/", "/(?<=x)y/", "/./gs", "/[^\\x00-\\x7f]/"}
	// scriptExcess are statements that pass, or come near to, a budget.
	scriptExcess = []string{"for (;;);", "(function r() { r() })();", "while (true) v0 = [v0];", "for (let s = 'x'; ; ) s += s;", "new ArrayBuffer(40 << 20);",
		"for (let i = 0; i < 65; i++) ui.text('p', '');", "for (let i = 0; i < 64; i++) ui.text('p', 'i' + i);", "for (let i = 0; i < 257; i++) queueMicrotask(() => 0);",
		"for (let i = 0; i < 256; i++) queueMicrotask(() => { v1 = i });", "(function q() { queueMicrotask(q) })();", "for (let i = 0; i < 193; i++) ui.on('e' + i, 'click', f0);",
		"ui.text('p', 'x'.repeat(16e3));", "/(a+)+$/.test('a'.repeat(40) + 'b');", "'x'.repeat(2 ** 29);", "Array(1e6).fill().sort();", "for (let i = 0; i < 9; i++) ui.html('box', '<p>'.repeat(60));",
		"try { (function r() { r() })() } catch (e) { ui.text('p', e.message) }", "[].concat(...Array(1e4).fill([1, 2, 3]));", "JSON.stringify(Array(1e5).fill('\\u0001'));", "ui.html('box', '<i>'.repeat(513));",
		"for (let b = 3n; ; ) b *= b;", "ui.html('p', '<input>'.repeat(65));", "for (const x of (function* () { for (;;) yield 1 })()) v0 = x;"}
	// scriptPoison are statements that break what others might rely on.
	scriptPoison = []string{"Array.prototype.push = null;", "JSON.stringify = () => '[]';", "Object.prototype.toJSON = () => 1;", "Promise.prototype.then = f0;", "delete globalThis.String;",
		"Object.defineProperty(Object.prototype, 'value', {get() { return 'evil' }, configurable: true});", "Error.prepareStackTrace = f0;", "Array.prototype[Symbol.iterator] = f1;", "ui = {text() {}};",
		"String.prototype.slice = Number.prototype.toString = () => { throw 1 };", "Object.setPrototypeOf(Array.prototype, new Proxy({}, {}));", "Object.freeze(Object.prototype);",
		"Function.prototype.call = undefined;", "Symbol.prototype.description = 1;", "globalThis.undefined = 1;", "Object.defineProperty(Array.prototype, 0, {set() { throw 2 }, configurable: true});"}
	scriptTypes = []string{"input", "change", "click"}
)

// script writes a script of n statements or so.
func (g *grammar) script() string {
	var b strings.Builder
	b.WriteString("var v0 = 0, v1 = 'one', v2 = [3, 1, 2], v3 = {a: 1, b: [2]}, v4 = null, v5, v6 = 1n, v7 = true, v8 = '', v9 = () => 5;\n")
	for i := range 4 {
		fmt.Fprintf(&b, "%s f%d(e, k) { %s%s }\n", pick(g.choices, []string{"function", "async function", "function*"}), i, g.block(2), g.oneOf("", "return e;", "return k ? "+g.expression()+" : v0;"))
	}
	for range 1 + g.below(12) {
		b.WriteString(g.statement())
		b.WriteByte('\n')
	}
	for range g.below(6) {
		fmt.Fprintf(&b, "ui.on('%s', '%s', %s);\n", g.id(), pick(g.choices, scriptTypes), g.function())
	}
	return b.String()
}

func (g *grammar) oneOf(list ...string) string { return pick(g.choices, list) }

// target is the id of an element that is mostly there.
func (g *grammar) target() string {
	if g.oneIn(24) {
		return g.id()
	}
	return pick(g.choices, g.ids[:max(1, len(g.ids)-2)])
}

func (g *grammar) id() string { return pick(g.choices, g.ids) }

// control is mostly the id of a control.
func (g *grammar) control() string {
	if len(g.controls) == 0 || g.oneIn(24) {
		return g.id()
	}
	return pick(g.choices, g.controls)
}

func (g *grammar) variable() string { return fmt.Sprintf("v%d", g.below(10)) }

// deeper runs f one level down, or gives what stands at the bottom.
func (g *grammar) deeper(bottom string, f func() string) string {
	if g.depth >= 5 {
		return bottom
	}
	g.depth++
	s := f()
	g.depth--
	return s
}

// block writes at most n statements.
func (g *grammar) block(n int) string {
	return g.deeper(";", func() string {
		var b strings.Builder
		for range g.below(n + 1) {
			b.WriteString(g.statement() + " ")
		}
		return b.String()
	})
}

// function writes a function as an expression.
func (g *grammar) function() string {
	switch g.below(7) {
	case 0:
		return fmt.Sprintf("f%d", g.below(4))
	case 1:
		return "(e) => { " + g.block(3) + " }"
	case 2:
		return "async (e) => { " + g.block(2) + " await " + g.expression() + "; " + g.block(2) + " }"
	case 3:
		return "function (e) { " + g.block(2) + " return " + g.expression() + " }"
	case 4:
		return "(e) => " + g.call()
	case 5:
		return "new Proxy((e) => e, {apply(t, s, a) { " + g.block(2) + " return a[0] }})"
	default:
		return "(e) => ui.text('" + g.id() + "', '' + e.id + e.value + e.checked)"
	}
}

// call is one of the five calls, mostly one that is right.
func (g *grammar) call() string {
	switch id := g.target(); g.below(24) / 2 {
	case 0, 1, 2:
		return fmt.Sprintf("ui.text('%s', String(%s))", id, g.expression())
	case 3, 4:
		return fmt.Sprintf("ui.html('%s', %s)", id, g.html())
	case 5, 6:
		return fmt.Sprintf("ui.value('%s', '' + %s)", g.control(), g.text())
	case 7, 8:
		return fmt.Sprintf("ui.on('%s', '%s', %s)", id, pick(g.choices, scriptTypes), g.function())
	case 9, 10:
		return fmt.Sprintf("ui.input('%s').%s", g.control(), g.oneOf("value", "checked"))
	default:
		if !g.oneIn(2) {
			return fmt.Sprintf("ui.text('%s', v8)", id)
		}
		return fmt.Sprintf("ui.%s(%s, %s, %s)", g.oneOf("text", "html", "value", "on", "input"), g.expression(), g.expression(), g.expression())
	}
}

func (g *grammar) text() string {
	if g.oneIn(2) {
		return g.expression()
	}
	return pick(g.choices, scriptStrings)
}

// html is an expression for html: pieces of the property test's, joined.
func (g *grammar) html() string {
	s := quoteScript(pick(g.choices, propertyHTMLs))
	for g.oneIn(3) {
		s += " + " + g.oneOf(quoteScript(pick(g.choices, propertyHTMLs)), g.text(), "'<p id="+g.id()+">' + "+g.text()+" + '</p>'", "'<li>'.repeat(30)")
	}
	return s
}

func quoteScript(s string) string {
	return "'" + strings.NewReplacer("'", `\'`, `\`, `\\`, "\n", `\n`).Replace(s) + "'"
}

func (g *grammar) statement() string {
	if g.depth >= 5 {
		return g.call() + ";"
	}
	g.depth++
	defer func() { g.depth-- }()
	switch g.below(24) {
	case 0, 1, 2, 3:
		return g.call() + ";"
	case 4, 5:
		return g.variable() + " = " + g.expression() + ";"
	case 6:
		return "if (" + g.expression() + ") { " + g.block(2) + " } else { " + g.block(2) + " }"
	case 7:
		g.loops++
		i := fmt.Sprintf("i%d", g.loops)
		return fmt.Sprintf("for (let %[1]s = 0; %[1]s < %[2]d; %[1]s++) { v0 = %[1]s; %[3]s }", i, 1+g.below(20), g.block(2))
	case 8:
		return "try { " + g.block(3) + " } catch (e) { " + g.block(2) + " } finally { " + g.block(1) + " }"
	case 9:
		return "if (" + g.expression() + ") throw " + g.expression() + ";"
	case 10:
		return "Promise.resolve(" + g.expression() + ").then(" + g.function() + ").catch(" + g.function() + ");"
	case 11:
		return "queueMicrotask(" + g.function() + ");"
	case 12:
		return fmt.Sprintf("f%d(%s, 1);", g.below(4), g.expression())
	case 13:
		return "for (const x of " + g.oneOf("v2", "Object.entries(v3)", "f3(v0)", "new Set(v2)", "'a\\u{1f600}'") + ") { v5 = x; " + g.block(2) + " }"
	case 14:
		return "switch (" + g.expression() + ") { case 1: " + g.block(1) + " break; default: " + g.block(1) + " }"
	case 15:
		return "var {a: v0, ...v3} = " + g.oneOf("{a: 1, b: 2}", "v3 ?? {}", "ui.input('"+g.control()+"')") + ";"
	case 16:
		return "l: for (let k = 0; k < 3; k++) { " + g.block(1) + g.oneOf(" continue l;", " break l;", "") + " }"
	case 17:
		return "(async () => { " + g.block(2) + " for await (const x of v2) { v5 = x } " + g.block(1) + " })()" + g.oneOf(".catch(() => 0);", ";")
	case 18:
		return "v5 = class extends " + g.oneOf("Object", "Array", "Error", "Map") + " { #p = " + g.expression() + "; get q() { return this.#p } static { " + g.block(1) + " } };"
	case 19:
		return "Promise.all([" + g.expression() + ", Promise.reject(" + g.expression() + ")]).then(" + g.function() + ", " + g.function() + ");"
	case 20:
		return "v8 += " + g.text() + ";"
	case 21:
		return "{ " + g.block(3) + " }"
	case 22:
		if g.oneIn(2) {
			return pick(g.choices, scriptExcess)
		}
		return g.call() + ";"
	default:
		if g.oneIn(3) {
			return pick(g.choices, scriptPoison)
		}
		return "eval(" + quoteScript(g.deeper("1", g.expression)) + ");"
	}
}

func (g *grammar) expression() string {
	if g.depth >= 5 {
		return g.oneOf("v0", "1", "'x'", "v2")
	}
	g.depth++
	defer func() { g.depth-- }()
	switch g.below(24) {
	case 0:
		return g.variable()
	case 1:
		return pick(g.choices, scriptNumbers)
	case 2:
		return pick(g.choices, scriptStrings)
	case 3:
		return "ui.input('" + g.control() + "')." + g.oneOf("value", "checked")
	case 4:
		return "Number(ui.input('" + g.control() + "').value)"
	case 5, 6, 7:
		return "(" + g.expression() + " " + pick(g.choices, scriptOperators) + " " + g.expression() + ")"
	case 8:
		return pick(g.choices, scriptMath) + "(" + g.expression() + ")"
	case 9:
		return "[" + g.expression() + ", " + g.expression() + ", ..." + g.oneOf("v2", "[]", "'ab'") + "]"
	case 10:
		return "{a: " + g.expression() + ", [" + g.text() + "]: 2, get c() { return " + g.expression() + " }}.a"
	case 11:
		return "(" + g.expression() + " ? " + g.expression() + " : " + g.expression() + ")"
	case 12, 13:
		return "(" + g.expression() + ")?." + pick(g.choices, scriptMethods) + "?.(" + g.expression() + ")"
	case 14:
		return "(" + g.expression() + ")?.['" + pick(g.choices, scriptMembers) + "']"
	case 15:
		return "(" + g.expression() + ")?.map?.((x, i) => " + g.oneOf("x * 2", "i", "[x]", "String(x)", "ui.input('"+g.control()+"').value") + ")"
	case 16:
		return "JSON.stringify(" + g.expression() + ")"
	case 17:
		return "new " + pick(g.choices, scriptConstructors) + "(" + g.oneOf("", "8", g.expression()) + ")"
	case 18:
		return "'' + (" + g.text() + ").replace(" + pick(g.choices, scriptPatterns) + ", " + g.oneOf("'$&$1'", "(m) => m + m", "''") + ")"
	case 19:
		return g.oneOf("Math.random()", "Date.now()", "new Date().toISOString()", "new Date(2026, 1, 30).getTime()", "typeof v0", "void 0", "this === globalThis", "[...'\\u{1f600}a'].length", "v6 ** 9n", "parseInt('0x1f')",
			"structuredClone?.(v3)", "Object.keys(globalThis).length", "Symbol.for('x').description", "new Error('m').stack.length", "Reflect.ownKeys(ui).join()", "isNaN('x')", "escape('é')", "encodeURIComponent('€')")
	case 20:
		return "(" + g.function() + ")(" + g.expression() + ")"
	case 21:
		return "(1234.5678).toFixed(" + fmt.Sprint(g.below(5)) + ")"
	case 22:
		return "new Uint8Array(new Float64Array([" + g.expression() + "]).buffer).join()"
	default:
		return "(() => { try { " + g.block(1) + " return " + g.expression() + " } catch (e) { return String(e) } })()"
	}
}
