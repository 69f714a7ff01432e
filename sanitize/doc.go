// Package sanitize knows HTML and CSS: text that a model wrote goes in, a safe tree and safe text come out, with findings
// for the author. It holds the whitelists of elements and attributes (D4, D5, D7), one readable table each.
//
// It refuses to know JavaScript, cards, sessions and HTTP: what is done with a finding, and how long a field may be, is for
// those above it to say.
//
// The rule of use: what is shown comes from [Card], [Fragment] or [CSS], and from nowhere else. Their results, [HTML] and
// [Stylesheet], have no other maker, so a function that takes one need not ask where it came from. A card's html goes
// through Card, which rejects; html that a running script gives goes through Fragment, which strips (D6); a tree changed
// since is counted again with [Check].
//
//	h, diagnostics := sanitize.Card(`<p id="answer" style="color:red">4 workers</p>`)
//	fmt.Println(h)              // <p id="answer">4 workers</p>
//	fmt.Println(diagnostics[0]) // html:1:16: warning: attribute_dropped: …
//
// # How the tree is made
//
// The text is parsed by golang.org/x/net/html as a browser would, and a new tree is built by one walk over the parsed
// one: only what a table lists is ever copied, so nothing has to be found and removed. Then the tree is written and parsed
// again until the text stays the same (at most four times), so that what the tree says and what a browser will make of its
// text are one thing; mutations that live on that difference have nowhere to live. A card that is written in the serializer's own
// form is its own proof and skips that step.
//
// Elements outside the tables that hold raw or foreign text (script, style, template, noscript, math and their kin) go
// with their content; other unknown ones lose their tags and leave their children. In SVG an unknown element goes with its
// content, and HTML never stands inside SVG: title and desc hold text only.
//
// Time and memory are linear in the text, whatever it is: formatting elements that would multiply are counted before they
// are parsed, nesting is bounded, and so are the findings of one call.
package sanitize
