package load

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"example.com/cardrun/conformance"
)

// hostile are cards that take what they can get, each with the ends that it may come to: time, memory, jobs and patches at
// the start and in handlers, documents as large as may be, and bodies that are no card.
func hostile() []conformance.Case {
	const (
		html   = `<p id="out">start</p><button id="go">Go</button>`
		failed = `"outcome":"failed"`
	)
	handler := func(body string) string { return "ui.on('go', 'click', () => { " + body + " })" }
	var cases []conformance.Case
	add := func(name, body, expect, steps string) {
		text := fmt.Sprintf(`{"name":%q,"why":"load","raw":%s,"expect":{%s}%s}`, name, quoted(body), expect, steps)
		c, err := conformance.Parse("hostile/"+name, []byte(text))
		if err != nil {
			panic(err) // the table below is wrong; TestHostile shows it
		}
		cases = append(cases, c)
	}
	card := func(html, css, script string) string {
		return fmt.Sprintf(`{"title":"Hostile","summary":"Takes what it can get.","html":%s,"css":%s,"javascript":%s}`,
			quoted(html), quoted(css), quoted(script))
	}
	click := func(expect string) string {
		return `,"steps":[{"events":[{"id":"go","type":"click"}],"expect":{` + expect + `}}]`
	}
	add("loop", card(html, "", "for (;;);"), failed+`,"failure":"timeout"`, "")
	add("regexp", card(html, "", "/(a+)+$/.test('a'.repeat(40) + 'b')"), failed+`,"failure":"timeout"`, "")
	add("native", card(html, "", "Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 1)"), failed+`,"failure":"timeout"`, "")
	add("memory", card(html, "", "let a = []; for (;;) a.push(new Uint8Array(1e6).fill(1))"), failed+`,"failure":["memory","timeout"]`, "")
	add("recursion", card(html, "", "function f() { f() } f()"), failed+`,"failure":"exception"`, "")
	add("jobs", card(html, "", "(function again() { Promise.resolve().then(again) })()"), failed+`,"failure":"microtasks"`, "")
	add("patches", card(html, "", "for (;;) ui.text('out', 'x')"), failed+`,"failure":["patches","timeout"]`, "")
	add("large patch", card(html, "", "ui.text('out', 'x'.repeat(1e6))"), failed+`,"failure":"input_limit"`, "")
	add("tangle", card(strings.Repeat("<b><i>", 1500)+"x", "", ""), `"outcome":["ready","rejected"]`, "")
	add("selectors", card(html, strings.Repeat("a,", 2900)+"a{color:red}", ""), `"outcome":["ready","rejected"]`, "")
	add("deep json", strings.Repeat("[", 20_000), `"outcome":"rejected"`, "")
	add("half a card", `{"title":"x","summary":"`+strings.Repeat("y", 30_000), `"outcome":"rejected"`, "")
	add("loop in a handler", card(html, "", handler("for (;;);")), `"outcome":"ready"`, click(failed+`,"failure":"timeout"`))
	add("memory in a handler", card(html, "", handler("let a = []; for (;;) a.push('x'.repeat(1e5) + a.length)")), `"outcome":"ready"`, click(failed+`,"failure":["memory","timeout"]`))
	add("large guest", card(html, "", "let a = new Uint8Array(25e6); for (let i = 0; i < a.length; i += 4096) a[i] = i; "+handler("ui.text('out', String(a.length))")),
		`"outcome":["ready","failed"]`, click(`"outcome":["ready","failed"]`))
	return cases
}

// quoted is a text as JSON.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // the texts above are UTF-8
	}
	return string(b)
}
