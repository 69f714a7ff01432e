package sanitize

import (
	"strings"
	"unicode/utf8"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/css"

	"example.com/cardrun/limits"
)

// A kind is what a CSS token is, as far as this package tells them apart.
type kind uint8

const (
	kindIdent     kind = iota // text is the name, escapes resolved; custom property names too
	kindFunction              // text is the name before the (
	kindAt                    // text is the name behind the @
	kindHash                  // text is the name behind the #
	kindString                // text is the content, escapes resolved
	kindNumber                // text is the number as written; percentages too
	kindDimension             // text is the number as written, unit is the unit, escapes resolved
	kindDelim                 // text is one character, a match operator or ||
	kindSpace                 // any run of white space
	kindComment               // stands for nothing, but keeps its neighbours apart
	kindColon                 // :
	kindSemicolon             // ;
	kindComma                 // ,
	kindOpen                  // ( [ or {, in text; a function opens too
	kindClose                 // ) ] or }, in text
)

// A cssToken is one token of a stylesheet.
type cssToken struct {
	kind   kind
	text   string
	unit   string
	offset int
	// match is the index of the token that closes or opens this one, where it is a bracket or a function.
	match int
	// id tells of a hash that it has the form of an identifier, so that it may select an id.
	id bool
}

// is reports whether a token is the delimiter or bracket s.
func (t *cssToken) is(s string) bool {
	return (t.kind == kindDelim || t.kind == kindOpen || t.kind == kindClose) && t.text == s
}

// blank reports whether a token is white space or a comment.
func (t *cssToken) blank() bool { return t.kind == kindSpace || t.kind == kindComment }

// tokenize turns the source into tokens, reports what must not be there whatever it is part of (D28), and pairs the
// brackets. It reports whether the tokens may be parsed: not when a string, comment or bracket is open. What is
// forbidden is looked for here and nowhere else, so that a bracket amiss hides none of it (R125).
func (c *cssChecker) tokenize() bool {
	source := append(make([]byte, 0, len(c.source)+1), c.source...) // with room for the NUL that the tokenizer puts behind it
	lexer := css.NewLexer(parse.NewInputBytes(source))
	whole := true
	var open []int
	offset := 0
	// start tells that a declaration may start here, name is the identifier that stands where one did.
	start, name := true, cssToken{offset: -1}
	for {
		tt, raw := lexer.Next()
		if tt == css.ErrorToken {
			break
		}
		t := cssToken{offset: offset, match: -1}
		s := string(raw)
		offset += len(raw)
		starts, before := start, name
		if tt != css.CommentToken && tt != css.WhitespaceToken {
			start, name = false, cssToken{offset: -1}
		}
		switch tt {
		case css.CommentToken:
			t.kind = kindComment
			if len(s) < 4 || !strings.HasSuffix(s, "*/") {
				c.invalid(t.offset, "the comment is not closed; end it with */")
				whole = false
				lexer, offset = c.resume(lexer, t.offset, offset)
				start, name = true, cssToken{offset: -1}
			}
		case css.IdentToken, css.CustomPropertyNameToken:
			t.kind, t.text = kindIdent, unescape(s)
			if n := len(open); n > 0 && asciiLower(c.tokens[open[n-1]].text) == "attr" && asciiLower(t.text) == "url" {
				c.forbidden(t.offset, "attr() as a url is not allowed; use it as text")
			}
			if starts {
				name = t
			}
		case css.FunctionToken:
			t.kind, t.text = kindFunction, unescape(s[:len(s)-1])
			c.checkFunction(t)
		case css.AtKeywordToken:
			t.kind, t.text = kindAt, unescape(s[1:])
			c.checkAtRule(t)
		case css.HashToken:
			t.kind, t.text = kindHash, unescape(s[1:])
			t.id = startsIdent(s[1:])
		case css.StringToken:
			var closed bool
			t.kind = kindString
			if t.text, closed = unquote(s); !closed {
				c.invalid(t.offset, "the string is not closed; end it with its quote")
				whole = false
			}
			c.checkText(t, s)
		case css.BadStringToken:
			t.kind, t.text = kindString, unescape(s[1:])
			c.checkText(t, s)
			c.invalid(t.offset, "the string is not closed before the end of the line; end it with its quote")
			whole = false
		case css.URLToken, css.BadURLToken:
			c.forbidden(t.offset, "url() is not allowed; draw with plain colors, gradients and borders")
			t.kind = kindString // so that nothing more is said about what holds it
			if !strings.HasSuffix(s, ")") {
				lexer, offset = c.resume(lexer, t.offset, offset)
			}
		case css.CDOToken: // checkBreakouts has reported it
			start = starts
			continue
		case css.CDCToken:
			c.forbidden(t.offset, breakoutText, s)
			start = starts
			continue
		case css.NumberToken, css.PercentageToken:
			t.kind, t.text = kindNumber, s
		case css.DimensionToken:
			n := numberLength(s)
			t.kind, t.text, t.unit = kindDimension, s[:n], unescape(s[n:])
		case css.UnicodeRangeToken: // browsers know it no more but in @font-face: it is an identifier, and what the rest is may go on behind it
			t.kind, t.text = kindIdent, s[:1]
			if starts {
				name = t
			}
			offset = t.offset + 1
			lexer = css.NewLexer(parse.NewInputBytes(source[offset:]))
		case css.WhitespaceToken:
			t.kind = kindSpace
		case css.ColonToken:
			t.kind = kindColon
			if before.offset >= 0 {
				c.checkProperty(before)
			}
		case css.SemicolonToken:
			t.kind = kindSemicolon
			start = true
		case css.CommaToken:
			t.kind = kindComma
		case css.LeftParenthesisToken, css.LeftBracketToken, css.LeftBraceToken:
			t.kind, t.text = kindOpen, s
			start = s == "{"
			if n := len(c.tokens); s == "(" && n > 0 && c.tokens[n-1].kind == kindIdent { // --f(, whose ( the tokenizer takes apart
				t, c.tokens = c.tokens[n-1], c.tokens[:n-1]
				t.kind = kindFunction
				c.checkFunction(t)
			} else if s == "(" {
				c.checkParenthesis()
			}
		case css.RightParenthesisToken, css.RightBracketToken, css.RightBraceToken:
			t.kind, t.text = kindClose, s
			start = s == "}"
		default:
			t.kind, t.text = kindDelim, s
		}
		here := len(c.tokens)
		switch {
		case t.kind == kindOpen, t.kind == kindFunction:
			open = append(open, here)
			if len(open) == maxCSSDepth+1 {
				c.invalid(t.offset, "brackets and blocks are nested more than %d deep; flatten them", maxCSSDepth)
				whole = false
			}
		case t.kind == kindClose:
			if len(open) == 0 || closing(&c.tokens[open[len(open)-1]]) != t.text {
				c.invalid(t.offset, "%s closes nothing that is open here; remove it, or open it before", t.text)
				whole = false
				continue
			}
			t.match = open[len(open)-1]
			c.tokens[t.match].match = here
			open = open[:len(open)-1]
		}
		c.tokens = append(c.tokens, t)
	}
	for _, i := range open {
		if c.resumed > 0 && c.tokens[i].offset >= c.resumed {
			break
		}
		c.report(limits.SeverityError, limits.CSSInvalid, c.tokens[i].offset, "%s is not closed; end it with %s", opening(&c.tokens[i]), closing(&c.tokens[i]))
		whole = false
	}
	return whole
}

// resume goes on in the line after one in which something starts that is never closed and so takes all the rest with it, a
// comment or a url. Most likely its end is missing where it starts, and the author shall hear of what is forbidden behind it
// too; what else is amiss there is a guess, and not told. It does so once, so that the time stays linear.
func (c *cssChecker) resume(lexer *css.Lexer, start, end int) (*css.Lexer, int) {
	line := strings.IndexAny(c.source[start:end], "\n\r\f")
	if line < 0 || c.resumed > 0 {
		return lexer, end
	}
	c.resumed = start + line + 1
	return css.NewLexer(parse.NewInputString(c.source[c.resumed:])), c.resumed
}

func opening(t *cssToken) string {
	if t.kind == kindFunction {
		return t.text + "("
	}
	return t.text
}

func closing(t *cssToken) string {
	switch t.text {
	case "{":
		if t.kind == kindOpen {
			return "}"
		}
	case "[":
		if t.kind == kindOpen {
			return "]"
		}
	}
	return ")"
}

// unquote resolves a string token and reports whether its end quote is there.
func unquote(s string) (string, bool) {
	q := s[0]
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case q:
			return unescape(s[1:i]), i == len(s)-1
		}
	}
	return unescape(s[1:]), false
}

// startsIdent reports whether a name as written starts as an identifier does (CSS Syntax 3, section 4.3.9).
func startsIdent(s string) bool {
	if strings.HasPrefix(s, "--") {
		return true
	}
	s = strings.TrimPrefix(s, "-")
	return s != "" && (s[0] >= utf8.RuneSelf || s[0] == '_' || s[0] == '\\' || s[0]|0x20 >= 'a' && s[0]|0x20 <= 'z')
}

// numberLength is how much of a dimension token is its number (CSS Syntax 3, section 4.3.13).
func numberLength(s string) int {
	digits := func(i int) int {
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i
	}
	i := 0
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	i = digits(i)
	if i+1 < len(s) && s[i] == '.' && digits(i+1) > i+1 {
		i = digits(i + 1)
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		if end := digits(j); end > j {
			i = end
		}
	}
	return i
}
