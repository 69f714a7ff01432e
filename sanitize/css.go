package sanitize

import (
	"fmt"
	"strings"

	"example.com/cardrun/limits"
)

// maxCSSDepth is how deep brackets and blocks may be nested in a stylesheet. Written by hand, they rarely pass six.
const maxCSSDepth = 32

// maxFindings is how many findings of one code are collected. What is beyond is only more of the same.
const maxFindings = 1000

// Stylesheet is CSS that passed the check: it loads nothing, runs nothing, and cannot end the element or the scope that
// holds it. Only this package can make one that is not empty; the zero value is the empty stylesheet.
type Stylesheet struct{ text string } // what was understood is not kept: it is twenty times as large

// String is the stylesheet as printed again from what was understood, one rule a line, escapes resolved. Checking it
// again gives the same text.
func (s Stylesheet) String() string { return s.text }

// Scoped is the stylesheet with every selector confined to what is inside the elements that scope selects, such as
// ".card" (R41): "section, p" becomes ".card section, .card p". What selects the page itself (:root, html, body, :scope)
// selects the scope instead. Conditions (@media, @supports, @container, @layer) keep their rules inside; frames in @keyframes are no
// selectors and stay. The names of keyframes, layers and containers are not scoped: a page that shows two cards in one
// document must keep them apart by other means, such as a shadow root. scope is trusted: it is printed as given. It reads
// the stylesheet anew, which takes as long as its check.
func (s Stylesheet) Scoped(scope string) string {
	c := cssChecker{source: s.text}
	p := cssPrinter{scope: scope}
	p.rules(c.read(), 0, false)
	return p.b.String()
}

// CSS checks a stylesheet and prints it again (R40, R41, D28). What could load, run or break out rejects the card, as does
// a string, comment or bracket that is left open or closes nothing; rules and declarations that are not understood are left
// out with a warning. Escapes are resolved before anything is compared, and names compare as ASCII.
//
// Rules may be nested as CSS Nesting has it, where a selector keeps to its parent: & may only stand first, and a sibling of the
// page itself is none of the card. Diagnostics have field "css", line and column. The Stylesheet is empty when one has
// severity error.
func CSS(source string) (Stylesheet, []limits.Diagnostic) {
	c := cssChecker{source: cleanCSS(source)}
	if len(c.source) > maxSource {
		c.report(limits.SeverityError, limits.FieldLength, 0, "css is too long; the limit is %d characters", limits.CSSLength)
		return Stylesheet{}, c.found
	}
	c.checkBreakouts()
	rules := c.read()
	found := shorten(c.found)
	for _, d := range found {
		if d.Severity == limits.SeverityError {
			return Stylesheet{}, found
		}
	}
	var p cssPrinter
	p.rules(rules, 0, false)
	return Stylesheet{p.b.String()}, found
}

// read takes the source apart, as far as it is understood.
func (c *cssChecker) read() []cssRule {
	c.tokens = make([]cssToken, 0, min(len(c.source)/3, 4096))
	if !c.tokenize() {
		return nil
	}
	return c.rules(0, len(c.tokens))
}

// cleanCSS is the preprocessing of CSS Syntax 3, section 3.3, but for form feeds, which the tokenizer takes for line ends.
func cleanCSS(s string) string { return plain(clean(s)) }

// A cssChecker reads one stylesheet.
type cssChecker struct {
	source string
	tokens []cssToken
	found  []limits.Diagnostic
	counts map[limits.Code]int // of found
	places places
	// resumed is where the tokenizer went on behind something that is never closed, or 0.
	resumed int
}

func (c *cssChecker) report(severity limits.Severity, code limits.Code, offset int, format string, args ...any) {
	// Each code has its own bound, so that no flood of one hides another.
	if c.counts[code] == maxFindings {
		return
	}
	if c.counts == nil {
		c.counts = make(map[limits.Code]int)
	}
	c.counts[code]++
	line, column := c.places.at(c.source, offset)
	c.found = append(c.found, limits.Diagnostic{Severity: severity, Code: code, Field: "css", Line: line, Column: column,
		Message: fmt.Sprintf(format, args...)})
}

func (c *cssChecker) forbidden(offset int, format string, args ...any) {
	c.report(limits.SeverityError, limits.CSSForbidden, offset, format, args...)
}

func (c *cssChecker) invalid(offset int, format string, args ...any) {
	if c.resumed > 0 {
		return
	}
	c.report(limits.SeverityError, limits.CSSInvalid, offset, format, args...)
}

func (c *cssChecker) dropped(offset int, format string, args ...any) {
	c.report(limits.SeverityWarning, limits.CSSDropped, offset, format, args...)
}

const breakoutText = "%s is not allowed in css; leave it out"

// checkBreakouts looks for what could end a style element or open a comment in one, wherever it stands, comments and
// strings included (D28).
func (c *cssChecker) checkBreakouts() {
	lower := asciiLower(c.source)
	for i := 0; ; i++ {
		next := strings.IndexByte(lower[i:], '<')
		if next < 0 {
			return
		}
		i += next
		for _, b := range breakouts {
			if strings.HasPrefix(lower[i:], b) {
				c.forbidden(i, breakoutText, b)
			}
		}
	}
}

// checkText looks for the same in a string, where escapes have put it together: as written it has been found already.
func (c *cssChecker) checkText(t cssToken, written string) {
	lower := asciiLower(t.text)
	for _, b := range breakouts {
		if strings.Contains(lower, b) && !strings.Contains(asciiLower(written), b) {
			c.forbidden(t.offset, breakoutText, b)
		}
	}
}

func (c *cssChecker) checkAtRule(t cssToken) {
	if forbiddenAtRules[bare(t.text)] {
		c.forbidden(t.offset, "@%s is not allowed, since css loads nothing; use fonts and colors that are there", asciiLower(t.text))
	}
}

// checkProperty takes an identifier that stands where a declaration may, with a colon behind it. The start of a selector
// such as behavior:hover is taken for a declaration too: no element of that name is ever shown.
func (c *cssChecker) checkProperty(t cssToken) {
	if forbiddenProperties[bare(t.text)] {
		c.forbidden(t.offset, "the property %s is not allowed, since it runs code; leave it out", asciiLower(t.text))
	}
}

func (c *cssChecker) checkFunction(t cssToken) {
	if forbiddenFunction(t.text) {
		c.forbidden(t.offset, "%s() is not allowed, since it loads or refers to something outside; use plain colors and gradients",
			asciiLower(limits.Cut(t.text, 40)))
	}
}

// checkParenthesis refuses "url (x)" and "0url(x)" too: no browser reads them as references, but nobody means anything else
// by them, and what looks for references in text would find one.
func (c *cssChecker) checkParenthesis() {
	for i := len(c.tokens) - 1; i >= 0; i-- {
		p := &c.tokens[i]
		if p.blank() {
			continue
		}
		name := p.text
		switch p.kind {
		case kindDimension:
			name = p.unit
		case kindIdent, kindHash, kindAt:
		default:
			return
		}
		if i == len(c.tokens)-1 || bare(name) == "url" {
			c.checkFunction(cssToken{text: name, offset: p.offset})
		}
		return
	}
}
