package sanitize

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A cssPrinter writes rules as text that every tokenizer reads the same way: names with no more escapes than they need,
// strings in double quotes, no comments but where two tokens would grow together, and never a < before a letter, a slash or
// an exclamation mark.
type cssPrinter struct {
	b     strings.Builder
	scope string // empty: selectors stay as they are
}

// rules writes a list of rules. nested tells that selectors are relative to a rule that is scoped already.
func (p *cssPrinter) rules(list []cssRule, depth int, nested bool) {
	for i := range list {
		p.rule(&list[i], depth, nested)
	}
}

func (p *cssPrinter) rule(r *cssRule, depth int, nested bool) {
	indent := strings.Repeat("  ", depth)
	switch {
	case r.decl:
		p.b.WriteString(indent)
		p.name(r.name, true)
		p.b.WriteString(": ")
		p.tokens(r.prelude)
		p.b.WriteString(";\n")
		return
	case r.name != "":
		p.b.WriteString(indent + "@" + r.name)
		if len(r.prelude) > 0 {
			p.b.WriteByte(' ')
			p.tokens(r.prelude)
		}
		if !r.block {
			p.b.WriteString(";\n")
			return
		}
		nested = nested || allowedAtRules[r.name] == atKeyframes
	default:
		scoped := p.scope != "" && !nested
		if scoped && !slices.ContainsFunc(r.selectors, func(s cssSelector) bool { return !s.outside }) {
			return // nothing that it selects is inside the scope
		}
		p.b.WriteString(indent)
		p.selectors(r.selectors, scoped)
		nested = true
	}
	p.b.WriteString(" {\n")
	p.rules(r.items, depth+1, nested)
	p.b.WriteString(indent + "}\n")
}

// selectors writes a selector list.
func (p *cssPrinter) selectors(list []cssSelector, scoped bool) {
	comma := ""
	for i := range list {
		s := &list[i]
		if scoped && s.outside {
			continue
		}
		p.b.WriteString(comma)
		comma = ", "
		switch {
		case !scoped:
			p.tokens(s.tokens)
		case s.page:
			p.b.WriteString(p.scope)
			p.tokens(s.onPage)
			p.tokens(s.rest)
		default:
			p.b.WriteString(p.scope + " ")
			p.tokens(s.tokens)
		}
	}
}

func (p *cssPrinter) tokens(list []cssToken) {
	for i := range list {
		p.token(list, i)
	}
}

func (p *cssPrinter) token(list []cssToken, i int) {
	t := &list[i]
	switch t.kind {
	case kindIdent:
		p.name(t.text, true)
	case kindFunction:
		p.name(t.text, true)
		p.b.WriteByte('(')
	case kindAt:
		p.b.WriteByte('@')
		p.name(t.text, true)
	case kindHash:
		p.b.WriteByte('#')
		p.name(t.text, t.id)
	case kindString:
		p.quoted(t.text)
	case kindDimension:
		p.b.WriteString(t.text)
		p.unit(t.unit)
	case kindSpace, kindComment:
		p.blank(list, i)
	case kindColon:
		p.b.WriteByte(':')
	case kindSemicolon:
		p.b.WriteByte(';')
	case kindComma:
		p.b.WriteByte(',')
	case kindDelim:
		if t.text == ">" && strings.HasSuffix(p.b.String(), "-") {
			p.b.WriteByte(' ') // no -->
		}
		p.b.WriteString(t.text)
		if t.text == "<" && !(i+1 < len(list) && (list[i+1].is("=") || list[i+1].blank())) {
			p.b.WriteByte(' ')
		}
	default:
		p.b.WriteString(t.text)
	}
}

// blank writes a run of white space and comments, of which the token is the first, as what it stands for: white space where there is any in
// it, which may be a combinator, and a comment where there are comments alone. Nothing of it may be left out, or what was checked
// as two tokens would be read as one.
func (p *cssPrinter) blank(list []cssToken, i int) {
	if i > 0 && list[i-1].blank() {
		return
	}
	space := i > 0 && list[i-1].is("<")
	for ; i < len(list) && list[i].blank(); i++ {
		space = space || list[i].kind == kindSpace
	}
	if space {
		p.b.WriteByte(' ')
	} else {
		p.b.WriteString("/**/")
	}
}

// name writes an identifier (CSSOM, "serialize an identifier"), or a name of which the first character may be a digit.
func (p *cssPrinter) name(s string, ident bool) {
	if ident && s == "-" {
		p.b.WriteString(`\2d `)
		return
	}
	for i, r := range s {
		switch {
		case r == utf8.RuneError:
			p.b.WriteString("\ufffd")
		case r >= '0' && r <= '9':
			if ident && (i == 0 || i == 1 && s[0] == '-') {
				p.escape(r)
			} else {
				p.b.WriteRune(r)
			}
		case r >= utf8.RuneSelf, r == '-', r == '_', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
			p.b.WriteRune(r)
		default:
			p.escape(r)
		}
	}
}

// unit writes a dimension's unit, which must not read as an exponent.
func (p *cssPrinter) unit(s string) {
	if len(s) > 1 && s[0]|0x20 == 'e' {
		if d := strings.TrimPrefix(s[1:], "-"); d != "" && d[0] >= '0' && d[0] <= '9' {
			p.escape(rune(s[0]))
			p.name(s[1:], false)
			return
		}
	}
	p.name(s, true)
}

func (p *cssPrinter) escape(r rune) {
	p.b.WriteString(`\` + strconv.FormatInt(int64(r), 16) + " ")
}

// quoted writes a string. What could mean something to an HTML parser is escaped too.
func (p *cssPrinter) quoted(s string) {
	p.b.WriteByte('"')
	for _, r := range s {
		switch {
		case r < ' ' || r == '"' || r == '\\' || r == '<' || r == '>' || r == 0x7f:
			p.escape(r)
		default:
			p.b.WriteRune(r)
		}
	}
	p.b.WriteByte('"')
}
