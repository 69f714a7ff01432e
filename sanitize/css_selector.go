package sanitize

import "strings"

// A cssSelector is one complex selector of a list.
type cssSelector struct {
	tokens []cssToken
	// page is true where it starts at the page itself (:root, html, body, :scope); then onPage holds what else the page must
	// be (".dark" of body.dark) and rest what follows, combinator included.
	page   bool
	onPage []cssToken
	rest   []cssToken
	// alone tells that nothing follows: the page itself is what it selects.
	alone bool
	// outside tells that it selects a sibling of the page: nothing, and in a scope something else's.
	outside bool
}

// parseSelector checks one complex selector, and says why the rule must go where it is none or could reach beyond its
// scope. parent is the rule that it is nested in, or nil.
func parseSelector(tokens []cssToken, parent *cssParent) (s cssSelector, why string) {
	s.tokens = tokens
	if len(tokens) == 0 {
		return s, "a selector is empty"
	}
	depth := 0
	for i := range tokens {
		t := &tokens[i]
		switch t.kind {
		case kindOpen, kindFunction:
			if t.text == "{" && t.kind == kindOpen || t.is("(") {
				return s, "a selector holds a bracket that means nothing there"
			}
			if t.kind == kindFunction && depth == 0 && (i == 0 || tokens[i-1].kind != kindColon) {
				return s, "a selector holds a function that is no pseudo-class"
			}
			depth++
		case kindClose:
			depth--
		case kindNumber, kindDimension, kindString:
			// Only arguments are numbers: +0 would hide a combinator.
			if depth == 0 {
				return s, "a selector holds a number or string outside of brackets"
			}
		case kindAt, kindSemicolon:
			return s, "a selector is not understood"
		case kindDelim:
			if !strings.Contains(". > + ~ * | & = - ~= |= ^= $= *= ||", t.text) {
				return s, "a selector holds " + quoteDelim(t.text) + ", which means nothing there"
			}
			if t.text == "&" && parent == nil {
				return s, "& is only for rules inside a rule"
			}
			if t.text == "&" && i > 0 {
				return s, "& may only stand at the start of a selector"
			}
		}
	}
	if isCombinator(&tokens[len(tokens)-1]) {
		return s, "a selector ends with a combinator"
	}
	if parent != nil {
		if parent.page && firstCombinatorIsSibling(tokens) {
			return s, "it selects beside the card"
		}
		return s, ""
	}
	if isCombinator(&tokens[0]) {
		return s, "a selector starts with a combinator"
	}
	s.splitPage()
	return s, ""
}

func quoteDelim(text string) string {
	if text < " " || text == "\\" {
		return "a stray character"
	}
	return text
}

func isCombinator(t *cssToken) bool { return t.is(">") || t.is("+") || t.is("~") || t.is("||") }

// firstCombinatorIsSibling reports whether the first combinator of a nested selector is + or ~.
func firstCombinatorIsSibling(tokens []cssToken) bool {
	depth, space := 0, false
	for i := range tokens {
		t := &tokens[i]
		switch t.kind {
		case kindOpen, kindFunction:
			depth++
		case kindClose:
			depth--
			continue
		}
		if depth > 0 && t.kind != kindOpen && t.kind != kindFunction {
			continue
		}
		switch {
		case isCombinator(t):
			return !t.is(">")
		case t.kind == kindSpace:
			space = true
		case t.kind == kindComment:
		case i == 0 && !t.is("&"):
			return false // a descendant of the parent
		case space:
			return false
		}
	}
	return false
}

// splitPage finds whether the selector starts at the page itself, and takes that part off. html and body, one in the other,
// are one page.
func (s *cssSelector) splitPage() {
	rest := s.tokens
	for {
		n := pageLength(rest)
		if n == 0 {
			return
		}
		s.page = true
		end := compoundLength(rest[n:]) + n
		s.onPage = append(s.onPage, rest[n:end]...)
		s.rest = rest[end:]
		next := trimTokens(s.rest)
		if len(next) == 0 {
			s.alone = true
			return
		}
		if next[0].is("+") || next[0].is("~") || next[0].is("||") {
			s.outside = true
			return
		}
		if next[0].is(">") {
			next = trimTokens(next[1:])
		}
		rest = next
	}
}

// pageLength is how many tokens at the start select the page: 1 for html or body, 2 for :root or :scope, else 0.
func pageLength(s []cssToken) int {
	if len(s) == 0 {
		return 0
	}
	switch name := asciiLower(s[0].text); {
	case s[0].kind == kindIdent && (name == "html" || name == "body"):
		return 1
	case s[0].kind == kindColon && len(s) > 1 && s[1].kind == kindIdent:
		if name := asciiLower(s[1].text); name == "root" || name == "scope" {
			return 2
		}
	}
	return 0
}

// compoundLength is how many tokens follow without white space or combinator: the rest of a compound selector.
func compoundLength(s []cssToken) int {
	depth := 0
	for i := range s {
		t := &s[i]
		switch t.kind {
		case kindOpen, kindFunction:
			depth++
		case kindClose:
			depth--
		default:
			if depth == 0 && (t.kind == kindSpace || isCombinator(t)) {
				return i
			}
		}
	}
	return len(s)
}
