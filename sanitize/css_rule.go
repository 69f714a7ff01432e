package sanitize

import (
	"strings"

	"example.com/cardrun/limits"
)

// A cssRule is one rule, or one declaration among the items of a rule's block.
type cssRule struct {
	// name is an at-rule's (lower case) or a declaration's; empty for a rule with selectors.
	name string
	decl bool
	// prelude is an at-rule's condition or a declaration's value.
	prelude []cssToken
	// selectors are a style rule's complex selectors, or a keyframe's frames.
	selectors []cssSelector
	// block tells that an at-rule has one: @layer may have none.
	block bool
	items []cssRule
}

// rules parses the tokens from lo to hi as a list of rules, at the top level or in a condition.
func (c *cssChecker) rules(lo, hi int) []cssRule {
	var out []cssRule
	for i := lo; i < hi; {
		t := &c.tokens[i]
		switch {
		case t.blank() || t.kind == kindSemicolon:
			i++
		case t.kind == kindAt:
			i = c.atRule(&out, i, hi, nil)
		default:
			end := c.find(i, hi, "{")
			if end == hi {
				c.dropped(t.offset, "this is no rule and was left out; write selector { property: value; }")
				return out
			}
			c.styleRule(&out, i, end, nil)
			i = c.tokens[end].match + 1
		}
	}
	return out
}

// find gives the index of the first of the delimiters at the level of lo, or hi. stop is made of "{" and ";".
func (c *cssChecker) find(lo, hi int, stop string) int {
	for i := lo; i < hi; i++ {
		t := &c.tokens[i]
		if t.kind == kindSemicolon && strings.Contains(stop, ";") || t.is("{") && strings.Contains(stop, "{") {
			return i
		}
		if t.match > i {
			i = t.match
		}
	}
	return hi
}

// atRule parses the at-rule at lo and gives the index behind it. parent is the style rule it is in, if any.
func (c *cssChecker) atRule(out *[]cssRule, lo, hi int, parent *cssParent) int {
	t := &c.tokens[lo]
	name := asciiLower(t.text)
	end := c.find(lo+1, hi, "{;")
	next := end
	hasBlock := end < hi && c.tokens[end].is("{")
	if hasBlock {
		next = c.tokens[end].match
	}
	next = min(next+1, hi)
	if forbiddenAtRules[bare(name)] {
		return next // tokenize has reported it
	}
	holds := allowedAtRules[name]
	if holds == atUnknown {
		c.dropped(t.offset, "@%s is not supported and was left out; @media, @supports, @container, @keyframes and @layer are", limits.Cut(name, 40))
		return next
	}
	rule := cssRule{name: name, prelude: c.trim(lo+1, end), block: hasBlock}
	if !hasBlock && holds != atLayer || !preludeFits(rule.prelude, holds, hasBlock) || holds == atKeyframes && parent != nil {
		c.dropped(t.offset, "@%s is not understood here and was left out", name)
		return next
	}
	if hasBlock {
		body, stop := end+1, c.tokens[end].match
		switch {
		case holds == atKeyframes:
			rule.items = c.frames(body, stop)
		case parent != nil:
			rule.items = c.items(body, stop, parent)
		default:
			rule.items = c.rules(body, stop)
		}
	}
	*out = append(*out, rule)
	return next
}

// preludeFits checks what stands between an at-rule's name and its block.
func preludeFits(prelude []cssToken, holds atBlock, hasBlock bool) bool {
	words := 0
	for i := range prelude {
		t := &prelude[i]
		switch {
		case t.blank():
		case t.kind == kindIdent, t.kind == kindString && holds == atKeyframes:
			words++
		case holds == atKeyframes:
			return false
		case holds == atLayer:
			if !t.is(".") && t.kind != kindComma {
				return false
			}
		case t.kind == kindAt, t.kind == kindDelim && !strings.Contains("<>=.+-*/:~|&", t.text), t.is("{"):
			return false
		default:
			words++
		}
	}
	switch holds {
	case atKeyframes:
		return words == 1
	case atLayer:
		return words > 0 || hasBlock && len(prelude) == 0
	}
	return words > 0
}

// frames parses the block of @keyframes.
func (c *cssChecker) frames(lo, hi int) []cssRule {
	var out []cssRule
	for i := lo; i < hi; {
		t := &c.tokens[i]
		if t.blank() || t.kind == kindSemicolon {
			i++
			continue
		}
		end := c.find(i, hi, "{")
		if end == hi {
			c.dropped(t.offset, "this is no frame and was left out; write from, to or a percentage, and a block")
			return out
		}
		rule := cssRule{}
		ok := true
		for _, part := range splitCommas(c.trim(i, end)) {
			ok = ok && isFrame(part)
			rule.selectors = append(rule.selectors, cssSelector{tokens: part})
		}
		stop := c.tokens[end].match
		if ok {
			rule.items = c.items(end+1, stop, &cssParent{frame: true})
			out = append(out, rule)
		} else {
			c.dropped(t.offset, "this is no frame and was left out; write from, to or a percentage, and a block")
		}
		i = stop + 1
	}
	return out
}

func isFrame(tokens []cssToken) bool {
	if len(tokens) != 1 {
		return false
	}
	t := &tokens[0]
	name := asciiLower(t.text)
	return t.kind == kindNumber && strings.HasSuffix(t.text, "%") || t.kind == kindIdent && (name == "from" || name == "to")
}

// A cssParent is what a block's items are in: a style rule or a frame.
type cssParent struct {
	frame bool
	// page tells that the rule, or one around it, may select the page itself.
	page bool
}

// styleRule parses the selectors from lo to brace, and the block there.
func (c *cssChecker) styleRule(out *[]cssRule, lo, brace int, parent *cssParent) {
	rule := cssRule{}
	inside := &cssParent{page: parent != nil && parent.page}
	for _, part := range splitCommas(c.trim(lo, brace)) {
		s, why := parseSelector(part, parent)
		if why != "" {
			c.dropped(c.tokens[lo].offset, "the rule was left out: %s", why)
			return
		}
		inside.page = inside.page || s.page && s.alone
		rule.selectors = append(rule.selectors, s)
	}
	rule.items = c.items(brace+1, c.tokens[brace].match, inside)
	*out = append(*out, rule)
}

// items parses the block of a rule: declarations and, in a style rule, nested rules.
func (c *cssChecker) items(lo, hi int, parent *cssParent) []cssRule {
	var out []cssRule
	for i := lo; i < hi; {
		t := &c.tokens[i]
		if t.blank() || t.kind == kindSemicolon {
			i++
			continue
		}
		if t.kind == kindAt && !parent.frame {
			i = c.atRule(&out, i, hi, parent)
			continue
		}
		custom := c.isCustom(i, hi)
		end := c.find(i, hi, "{;")
		if custom || end == hi || !c.tokens[end].is("{") {
			if custom {
				end = c.find(i, hi, ";")
			}
			c.declaration(&out, i, end)
			i = end
			continue
		}
		if parent.frame {
			c.dropped(t.offset, "a rule inside a frame was left out; frames hold declarations only")
		} else {
			c.styleRule(&out, i, end, parent)
		}
		i = c.tokens[end].match + 1
	}
	return out
}

// isCustom reports whether a custom property starts at lo: its value may hold a block.
func (c *cssChecker) isCustom(lo, hi int) bool {
	if t := &c.tokens[lo]; t.kind != kindIdent || !strings.HasPrefix(t.text, "--") {
		return false
	}
	for i := lo + 1; i < hi; i++ {
		if !c.tokens[i].blank() {
			return c.tokens[i].kind == kindColon
		}
	}
	return false
}

// declaration parses the tokens from lo to hi as a property, a colon and a value.
func (c *cssChecker) declaration(out *[]cssRule, lo, hi int) {
	t := &c.tokens[lo]
	colon := lo + 1
	for colon < hi && c.tokens[colon].blank() {
		colon++
	}
	if t.kind != kindIdent || colon == hi || c.tokens[colon].kind != kindColon {
		c.dropped(t.offset, "this is no declaration and was left out; write property: value;")
		return
	}
	custom := strings.HasPrefix(t.text, "--")
	name := t.text
	if !custom {
		name = asciiLower(name)
	}
	if forbiddenProperties[bare(name)] {
		return // tokenize has reported it
	}
	value := c.trim(colon+1, hi)
	if !custom && !isPropertyName(name) || !valueFits(value, custom) {
		c.dropped(t.offset, "the declaration of %q is not understood and was left out", limits.Cut(name, 40))
		return
	}
	*out = append(*out, cssRule{name: name, decl: true, prelude: value})
}

func isPropertyName(s string) bool {
	for i := range len(s) {
		if c := s[i]; !(c >= 'a' && c <= 'z' || c == '-' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return s != "" && s != "-"
}

// valueFits checks a declaration's value: something must be there, an ! only before a final important, and nothing that is
// no part of any value. Whether the property takes it is the browser's to judge.
func valueFits(value []cssToken, custom bool) bool {
	if len(value) == 0 {
		return false
	}
	for i := range value {
		t := &value[i]
		switch {
		case t.is("{") && !custom, t.kind == kindAt:
			return false
		case t.is("!"):
			rest := trimTokens(value[i+1:])
			if len(rest) != 1 || rest[0].kind != kindIdent || asciiLower(rest[0].text) != "important" || i == 0 {
				return false
			}
		case t.kind == kindDelim && !strings.Contains("+-*/.%#", t.text) && !(custom && strings.Contains("=&~|^$>?_", t.text)):
			return false
		}
	}
	return true
}

// trim gives the tokens from lo to hi without blank ones at either end.
func (c *cssChecker) trim(lo, hi int) []cssToken { return trimTokens(c.tokens[lo:hi]) }

func trimTokens(s []cssToken) []cssToken {
	for len(s) > 0 && s[0].blank() {
		s = s[1:]
	}
	for len(s) > 0 && s[len(s)-1].blank() {
		s = s[:len(s)-1]
	}
	return s
}

// splitCommas splits at the commas outside all brackets; the parts are trimmed.
func splitCommas(s []cssToken) [][]cssToken {
	var parts [][]cssToken
	start, depth := 0, 0
	for i := range s {
		switch s[i].kind {
		case kindOpen, kindFunction:
			depth++
		case kindClose:
			depth--
		case kindComma:
			if depth == 0 {
				parts = append(parts, trimTokens(s[start:i]))
				start = i + 1
			}
		}
	}
	return append(parts, trimTokens(s[start:]))
}
