package cardrun

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"example.com/cardrun/limits"
	"example.com/cardrun/uiapi/script"
)

// Lint is [Runtime.Check] with what can be told of a card's html and script by reading them: no code of the card runs. What
// it adds are warnings and notes. It says nothing where it is not sure: an id that is put together as the script runs, or
// a script that passes ui on, is left alone. The error is as for Render.
func (r *Runtime) Lint(ctx context.Context, c *Card) ([]Finding, error) {
	checked, found := r.checked(c)
	found, err := r.withSyntax(ctx, c, found)
	if err != nil {
		return nil, err
	}
	fs := asFindings(found)
	if checked != nil && !rejects(found) {
		fs = append(fs, newLint(checked).findings()...)
		sortFindings(fs)
	}
	return fs, nil
}

// lint reads one card.
type lint struct {
	card   *Checked
	page   *outline
	script *script.Script // nil when it could not be read
	out    []Finding

	suggested int             // ids for which a similar one was looked for
	used      map[string]bool // ids that the script names for sure or perhaps
	patterns  [][]string      // of ids that it puts together
	anyID     bool            // it may name any id
	dynamic   []string        // ids in html that it writes
	prefixes  []string        // of such ids, where the rest is not known
}

func newLint(k *Checked) *lint {
	l := &lint{card: k, page: newOutline(k), used: map[string]bool{}}
	s, err := script.Read(k.Card.JavaScript)
	if err != nil {
		l.add(limits.SeverityNote, limits.ScriptUnread, "javascript", 0,
			"the script could not be read, so that ids and names in it were not checked: "+err.Error(),
			"nothing need be done; simpler syntax would be checked")
		l.anyID = true
		return l
	}
	l.script = s
	l.collect()
	return l
}

// add reports something at an offset in a field; an offset below 0 is no place.
func (l *lint) add(severity limits.Severity, code limits.Code, field string, offset int, message, fix string) {
	f := Finding{Diagnostic: Diagnostic{Severity: severity, Code: code, Field: field, Message: message}, Fix: fix}
	if offset >= 0 {
		text := l.card.Card.JavaScript
		if field == "html" {
			text = l.card.Card.HTML
		}
		f.Line, f.Column = limits.Position(text, offset)
	}
	l.out = append(l.out, f)
}

// findings gives all, once.
func (l *lint) findings() []Finding {
	if l.script != nil {
		l.calls()
		l.names()
		l.controls()
		l.outputs()
	}
	l.labels()
	l.headroom()
	return l.out
}

// idInHTML finds ids in pieces of html that a script writes. What follows the name tells whether all of it is there.
var idInHTML = regexp.MustCompile(`(?i)\bid\s*=\s*["']?([A-Za-z0-9_-]*)(.?)`)

// collect gathers which ids the script names, and which it makes.
func (l *lint) collect() {
	l.anyID = l.script.Opaque
	for _, c := range l.script.Calls {
		switch {
		case c.ID.Known:
			for _, id := range c.ID.Names {
				l.used[id] = true
			}
		case len(c.ID.Pattern) > 0 && strings.Join(c.ID.Pattern, "") != "":
			l.patterns = append(l.patterns, c.ID.Pattern)
		default:
			l.anyID = true
		}
	}
	for _, s := range l.script.Strings {
		for _, m := range idInHTML.FindAllStringSubmatch(s, -1) {
			if m[2] == "" {
				l.prefixes = append(l.prefixes, m[1])
			} else {
				l.dynamic = append(l.dynamic, m[1])
			}
		}
	}
}

// exists tells that an element with the id is there, or may come to be.
func (l *lint) exists(id string) bool {
	return l.page.document.Has(id) || slices.Contains(l.dynamic, id) ||
		slices.ContainsFunc(l.prefixes, func(p string) bool { return strings.HasPrefix(id, p) })
}

// touched tells that the script names the id, or may.
func (l *lint) touched(id string) bool {
	return l.anyID || l.used[id] || slices.ContainsFunc(l.patterns, func(p []string) bool { return fits(id, p) })
}

// fits tells that a text is made of parts in this order, with anything between them.
func fits(s string, parts []string) bool {
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return s == first
	}
	if len(s) < len(first)+len(last) || !strings.HasPrefix(s, first) || !strings.HasSuffix(s, last) {
		return false
	}
	s = s[len(first) : len(s)-len(last)]
	for _, p := range parts[1 : len(parts)-1] {
		_, after, ok := strings.Cut(s, p)
		if !ok {
			return false
		}
		s = after
	}
	return true
}

// calls looks at each call of ui.
func (l *lint) calls() {
	for _, c := range l.script.Calls {
		l.missing(c)
		v := c.Value
		if c.Name == "on" {
			continue
		}
		if v.Kind != "" {
			l.add(limits.SeverityWarning, limits.UIValueType, "javascript", v.Offset,
				fmt.Sprintf("ui.%s is given %s; it takes strings alone, and anything else ends the card", c.Name, article(v.Kind)),
				"write String(…), or put a text around it")
		}
		if v.Object {
			l.add(limits.SeverityWarning, limits.InputObject, "javascript", c.Offset,
				"ui.input gives an object {value, checked}; as a number it is NaN",
				"write ui.input(…).value")
		}
		if v.TableParts != "" {
			l.add(limits.SeverityWarning, limits.TablePartBare, "javascript", v.Offset,
				fmt.Sprintf("ui.html is given <%s> without a table around it; such tags are lost, and their text runs together (R62)", v.TableParts),
				"write the whole <table>…</table> into a container, or change cells with ui.text")
		}
		for _, id := range v.Inputs {
			if kind := l.page.types[id]; kind == "text" || kind == "textarea" {
				l.add(limits.SeverityWarning, limits.HTMLUserText, "javascript", v.Offset,
					fmt.Sprintf("what a user types into %s goes into ui.html as markup: a < in it swallows text", id),
					"show typed text with ui.text, or replace & and < by &amp; and &lt; first")
				break
			}
		}
	}
}

// missing reports ids that are not there. A call in a loop or a helper names several.
func (l *lint) missing(c script.Call) {
	if !c.ID.Exact {
		return
	}
	var gone []string
	for _, id := range c.ID.Names {
		if !l.exists(id) {
			gone = append(gone, id)
		}
	}
	if len(gone) == 0 {
		return
	}
	fix := "use an id of the html"
	if l.suggested++; l.suggested > 20 {
		// As many suggestions as anybody reads: each compares with all ids.
	} else if near := l.page.nearest(gone[0]); near != "" {
		fix = fmt.Sprintf("write %s for %s, or add the element", near, gone[0])
	}
	if c.Name == "on" {
		l.add(limits.SeverityWarning, limits.HandlerIDMissing, "javascript", c.IDOffset,
			fmt.Sprintf("ui.on for %s: no element with this id is ever there, so the handler never runs", some(gone)), fix)
		return
	}
	l.add(limits.SeverityWarning, limits.UIIDMissing, "javascript", c.IDOffset,
		fmt.Sprintf("ui.%s for %s: no element with this id is there; the call ends the card", c.Name, some(gone)), fix)
}

func article(kind string) string {
	switch kind {
	case "array", "object":
		return "an " + kind
	case "null", "undefined":
		return kind
	}
	return "a " + kind
}

// names looks at names that are not there, and at what is there and used in vain.
func (l *lint) names() {
	for _, u := range l.script.Foreign {
		instead := advice[u.Name]
		message := fmt.Sprintf("%s does not exist here", u.Name)
		switch {
		case instead != "":
		case u.Called:
			message = fmt.Sprintf("%s is called and declared nowhere", u.Name)
			instead = "declare it, or correct the name"
		default:
			message = fmt.Sprintf("%s is used and declared nowhere", u.Name)
			instead = "declare it, or correct the name"
		}
		l.add(limits.SeverityWarning, limits.NameUndefined, "javascript", u.Offset, message, instead)
	}
	for _, m := range l.script.Misused {
		switch m.Kind {
		case script.UIMember:
			l.add(limits.SeverityWarning, limits.UIMemberUnknown, "javascript", m.Offset,
				fmt.Sprintf("ui.%s does not exist", m.Name), "use ui.on, ui.input, ui.text, ui.html or ui.value")
		case script.EventMember:
			l.add(limits.SeverityWarning, limits.EventMember, "javascript", m.Offset,
				fmt.Sprintf("a handler's event has no %s: it has id, type, value and checked alone (R51)", m.Name), eventAdvice(m.Name))
		case script.LocaleArgument:
			l.add(limits.SeverityWarning, limits.LocaleIgnored, "javascript", m.Offset,
				fmt.Sprintf("%s passes over its locales and options here: there is no Intl", m.Name), localeAdvice(m.Name))
		}
	}
}

// advice tells what to use instead of what pages have and cards do not.
var advice = map[string]string{
	"document":              "read with ui.input(id), show with ui.text, ui.html and ui.value",
	"window":                "leave it out; functions and variables of the script need no window",
	"self":                  "leave it out; functions and variables of the script need no self",
	"addEventListener":      "use ui.on(id, type, handler)",
	"alert":                 "show the message with ui.text",
	"confirm":               "add a checkbox or a button to the html",
	"prompt":                "add an input to the html",
	"console":               "show what you need with ui.text while you write the card, and leave console out",
	"fetch":                 "put the data into the script; a card loads nothing",
	"XMLHttpRequest":        "put the data into the script; a card loads nothing",
	"WebSocket":             "put the data into the script; a card loads nothing",
	"require":               "write what you need into the script; a card loads nothing",
	"module":                "leave it out; a card is one script",
	"exports":               "leave it out; a card is one script",
	"process":               "leave it out; a card has no environment",
	"setTimeout":            "calculate at once, in the handler; a card has no timers",
	"setInterval":           "calculate at once, in the handler; a card has no timers",
	"clearTimeout":          "leave it out; a card has no timers",
	"clearInterval":         "leave it out; a card has no timers",
	"setImmediate":          "calculate at once, in the handler; a card has no timers",
	"requestAnimationFrame": "draw at once, in the handler; a card has no frames",
	"Intl":                  "format with toFixed and insert separators with replace(/\\B(?=(\\d{3})+(?!\\d))/g, ',')",
	"localStorage":          "keep state in controls; a card stores nothing",
	"sessionStorage":        "keep state in controls; a card stores nothing",
	"navigator":             "leave it out; a card knows nothing of the browser",
	"location":              "leave it out; a card has no address",
	"history":               "leave it out; a card has no history",
	"performance":           "use Date.now()",
	"crypto":                "use Math.random()",
	"structuredClone":       "copy with JSON.parse(JSON.stringify(x)) or spread",
	"URL":                   "handle the text yourself; a card has no addresses",
	"TextEncoder":           "use encodeURIComponent or charCodeAt",
	"TextDecoder":           "use decodeURIComponent",
	"btoa":                  "write the encoding into the script",
	"atob":                  "write the decoding into the script",
	"Event":                 "use ui.on(id, type, handler)",
	"Image":                 "draw with svg in ui.html",
	"Chart":                 "draw with svg in ui.html",
	"d3":                    "draw with svg in ui.html",
	"React":                 "use the html field and ui.html",
	"$":                     "read with ui.input(id), show with ui.text and ui.html",
	"jQuery":                "read with ui.input(id), show with ui.text and ui.html",
	"Worker":                "calculate in the handler; a round has 250 ms",
	"WebAssembly":           "calculate in JavaScript",
	"print":                 "show it with ui.text",
	"math":                  "write Math",
}

func eventAdvice(name string) string {
	switch name {
	case "target", "currentTarget", "srcElement":
		return "use e.value and e.checked of the event itself, or ui.input(e.id)"
	case "preventDefault", "stopPropagation", "stopImmediatePropagation":
		return "leave the call out; there is no default to prevent"
	}
	return "use e.id, e.type, e.value or e.checked"
}

func localeAdvice(name string) string {
	switch name {
	case "toLocaleString":
		return "write toFixed(2).replace(/\\B(?=(\\d{3})+(?!\\d))/g, ',') and put the currency or percent sign around it"
	case "localeCompare":
		return "compare with < after toLowerCase()"
	}
	return "put the date together from getUTCFullYear(), getUTCMonth() and getUTCDate()"
}

// headroom reports fields and the result that are close to their limits: a correction may not fit any more.
func (l *lint) headroom() {
	for _, b := range cardBudgets(&l.card.Card) {
		if b.Near() {
			field := b.Name
			if field == "result" {
				field = ""
			}
			l.add(limits.SeverityNote, limits.Headroom, field, -1,
				fmt.Sprintf("the %s has %s of %s; %s are left", b.Name, thousands(int(b.Used)), thousands(int(b.Limit)), thousands(int(b.Limit-b.Used))),
				"shorten it before you add to it: nothing is cut to fit")
		}
	}
}
