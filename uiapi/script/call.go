package script

import (
	"regexp"
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
)

// call looks at one call: of ui, or of what is known to be used in vain.
func (r *reader) call(c *ast.CallExpression) {
	dot, ok := plain(c.Callee).(*ast.DotExpression)
	if !ok {
		return
	}
	name := dot.Identifier.Name.String()
	if _, locale := localeMethods[name]; locale && len(c.ArgumentList) >= localeMethods[name] {
		r.out.Misused = append(r.out.Misused, Misuse{LocaleArgument, name, offset(dot.Identifier.Idx)})
	}
	if !r.isUI(dot.Left) {
		return
	}
	at := offset(dot.Left.Idx0())
	if !slices.Contains([]string{"on", "input", "text", "html", "value"}, name) {
		r.out.Misused = append(r.out.Misused, Misuse{UIMember, name, at})
		return
	}
	call := Call{Name: name, Offset: at, IDOffset: at}
	if len(c.ArgumentList) > 0 {
		call.IDOffset = offset(c.ArgumentList[0].Idx0())
		call.ID = ids(r.eval(c.ArgumentList[0]))
	}
	if spreads(c.ArgumentList) {
		call.ID = IDs{}
		r.out.Calls = append(r.out.Calls, call)
		return
	}
	switch {
	case name == "input":
		call.Value.Object = r.usedAsValue(c)
	case name == "on" && len(c.ArgumentList) > 1:
		if t, ok := r.eval(c.ArgumentList[1]).texts(); ok && len(t) == 1 {
			call.Type = t[0]
		}
		if len(c.ArgumentList) > 2 {
			r.handler(c.ArgumentList[2])
		}
	case len(c.ArgumentList) > 1:
		v := c.ArgumentList[1]
		call.Value = Value{Offset: offset(v.Idx0()), Kind: r.kind(v)}
		if name == "html" {
			call.Value.TableParts = r.tableParts(v)
			call.Value.Inputs = r.entered(v, 0)
		}
	}
	r.out.Calls = append(r.out.Calls, call)
}

func spreads(list []ast.Expression) bool {
	return slices.ContainsFunc(list, func(e ast.Expression) bool { _, ok := e.(*ast.SpreadElement); return ok })
}

// plain takes optional chaining away: ui?.text is ui.text.
func plain(e ast.Expression) ast.Expression {
	for {
		switch x := e.(type) {
		case *ast.OptionalChain:
			e = x.Expression
		case *ast.Optional:
			e = x.Expression
		default:
			return e
		}
	}
}

func ids(s set) IDs {
	names, ok := s.texts()
	if !ok {
		return IDs{Pattern: s.pattern}
	}
	slices.Sort(names)
	return IDs{Names: slices.Compact(names), Known: true, Exact: !s.inexact}
}

// isUI tells that an expression is the ui of the card, not a variable of that name.
func (r *reader) isUI(e ast.Expression) bool {
	id, ok := plain(e).(*ast.Identifier)
	return ok && id.Name == "ui" && r.unbound(id)
}

// kind tells what an expression certainly is, when that is no string.
func (r *reader) kind(e ast.Expression) string {
	if r.steps--; r.steps < 0 {
		return ""
	}
	switch e := e.(type) {
	case *ast.NumberLiteral:
		return "number"
	case *ast.BooleanLiteral:
		return "boolean"
	case *ast.NullLiteral:
		return "null"
	case *ast.ArrayLiteral:
		return "array"
	case *ast.ObjectLiteral:
		return "object"
	case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral:
		return "function"
	case *ast.Identifier:
		if e.Name == "undefined" && r.unbound(e) {
			return "undefined"
		}
	case *ast.ConditionalExpression:
		if a, b := r.kind(e.Consequent), r.kind(e.Alternate); a == b {
			return a
		}
	case *ast.BinaryExpression:
		switch e.Operator {
		case token.MINUS, token.MULTIPLY, token.SLASH, token.REMAINDER, token.EXPONENT:
			return "number"
		case token.LESS, token.GREATER, token.LESS_OR_EQUAL, token.GREATER_OR_EQUAL, token.EQUAL, token.STRICT_EQUAL, token.NOT_EQUAL, token.STRICT_NOT_EQUAL:
			return "boolean"
		case token.PLUS:
			if a, b := r.kind(e.Left), r.kind(e.Right); a == "number" && b == "number" {
				return "number"
			}
		}
	case *ast.UnaryExpression:
		switch e.Operator {
		case token.NOT:
			return "boolean"
		case token.PLUS, token.MINUS, token.INCREMENT, token.DECREMENT:
			return "number"
		}
	case *ast.DotExpression:
		if e.Identifier.Name == "checked" && r.isInput(e.Left) {
			return "boolean"
		}
	case *ast.CallExpression:
		if r.isInput(e) {
			return "object"
		}
		switch f := e.Callee.(type) {
		case *ast.Identifier:
			if (f.Name == "Number" || f.Name == "parseFloat" || f.Name == "parseInt") && r.unbound(f) {
				return "number"
			}
		case *ast.DotExpression:
			if id, ok := f.Left.(*ast.Identifier); ok && id.Name == "Math" && r.unbound(id) {
				return "number"
			}
		}
	}
	return ""
}

// isInput tells that an expression is a call of ui.input.
func (r *reader) isInput(e ast.Expression) bool {
	c, ok := plain(e).(*ast.CallExpression)
	if !ok {
		return false
	}
	dot, ok := plain(c.Callee).(*ast.DotExpression)
	return ok && dot.Identifier.Name == "input" && r.isUI(dot.Left)
}

// usedAsValue tells that the object of ui.input is used where only its value makes sense.
func (r *reader) usedAsValue(c *ast.CallExpression) bool {
	switch p := r.parents[c].(type) {
	case *ast.CallExpression:
		id, ok := p.Callee.(*ast.Identifier)
		return ok && p.Callee != ast.Expression(c) && slices.Contains([]string{"Number", "parseInt", "parseFloat", "BigInt", "String"}, id.Name.String()) && r.unbound(id)
	case *ast.BinaryExpression:
		switch p.Operator {
		case token.PLUS, token.MINUS, token.MULTIPLY, token.SLASH, token.REMAINDER, token.EXPONENT, token.LESS, token.GREATER, token.LESS_OR_EQUAL, token.GREATER_OR_EQUAL:
			return true
		}
	case *ast.UnaryExpression:
		return p.Operator == token.PLUS || p.Operator == token.MINUS
	}
	return false
}

// eventMembers are what a handler's event has (R51), with what every object has.
var eventMembers = []string{"id", "type", "value", "checked", "constructor", "hasOwnProperty", "toString", "valueOf", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString"}

// handler looks for members that the event of a handler does not have. A function that is also called by the card itself
// may get something else.
func (r *reader) handler(e ast.Expression) {
	fn := e
	if id, ok := e.(*ast.Identifier); ok {
		b := r.scopes[id].find(id.Name.String())
		if b == nil || b.function == nil || b.unknown {
			return
		}
		for _, use := range b.uses {
			if c, ok := r.parents[use].(*ast.CallExpression); !ok || c.Callee == ast.Expression(use) && len(c.ArgumentList) > 0 {
				return
			}
		}
		fn = b.function
	}
	if r.handlers[fn] {
		return
	}
	r.handlers[fn] = true
	var params *ast.ParameterList
	switch f := fn.(type) {
	case *ast.FunctionLiteral:
		params = f.ParameterList
	case *ast.ArrowFunctionLiteral:
		params = f.ParameterList
	default:
		return
	}
	if len(params.List) == 0 {
		return
	}
	switch t := params.List[0].Target.(type) {
	case *ast.Identifier:
		for _, use := range r.usesOf(fn, t.Name.String()) {
			if dot, ok := r.parents[use].(*ast.DotExpression); ok {
				r.eventMember(dot.Identifier.Name.String(), offset(dot.Identifier.Idx))
			}
		}
	case *ast.ObjectPattern:
		for _, p := range t.Properties {
			switch p := p.(type) {
			case *ast.PropertyShort:
				if p.Initializer == nil {
					r.eventMember(p.Name.Name.String(), offset(p.Name.Idx))
				}
			case *ast.PropertyKeyed:
				if key, ok := p.Key.(*ast.StringLiteral); ok && !p.Computed {
					r.eventMember(key.Value.String(), offset(key.Idx))
				}
			}
		}
	}
}

// usesOf are the uses of a function's parameter.
func (r *reader) usesOf(fn ast.Expression, name string) []*ast.Identifier {
	if s := r.bodies[fn]; s != nil {
		if b := s.bindings[name]; b != nil && len(b.exprs) == 0 {
			return b.uses
		}
	}
	return nil
}

func (r *reader) eventMember(name string, at int) {
	if !slices.Contains(eventMembers, name) {
		r.out.Misused = append(r.out.Misused, Misuse{EventMember, name, at})
	}
}

var tablePart = regexp.MustCompile(`(?i)^\s*<(tr|td|th|tbody|thead|tfoot|caption|colgroup|col)\b`)

// TablePart is the name of the part of a table that html begins with, outside any table; or empty (R62).
func TablePart(html string) string {
	if m := tablePart.FindStringSubmatch(html); m != nil {
		return strings.ToLower(m[1])
	}
	return ""
}

// tableParts tells how a text begins, when all ways in which it can begin are known and each is a part of a table.
func (r *reader) tableParts(e ast.Expression) string {
	var starts []string
	if !r.starts(e, 0, &starts) {
		return ""
	}
	found := ""
	for _, s := range starts {
		if strings.TrimSpace(s) == "" {
			continue
		}
		if found = TablePart(s); found == "" {
			return ""
		}
	}
	return found
}

// starts collects what a text may begin with. It is false when that is not known.
func (r *reader) starts(e ast.Expression, depth int, list *[]string) bool {
	if r.steps--; r.steps < 0 || depth > 12 || len(*list) > 64 {
		return false
	}
	depth++
	switch e := e.(type) {
	case *ast.StringLiteral:
		*list = append(*list, e.Value.String())
		return true
	case *ast.TemplateLiteral:
		if first := e.Elements[0].Parsed.String(); strings.TrimSpace(first) != "" {
			*list = append(*list, first)
			return e.Tag == nil
		}
		return e.Tag == nil && len(e.Expressions) > 0 && r.starts(e.Expressions[0], depth, list)
	case *ast.BinaryExpression:
		if e.Operator != token.PLUS {
			return false
		}
		var left []string
		if !r.starts(e.Left, depth, &left) {
			return false
		}
		*list = append(*list, left...)
		if slices.ContainsFunc(left, func(s string) bool { return strings.TrimSpace(s) == "" }) {
			return r.starts(e.Right, depth, list)
		}
		return true
	case *ast.ConditionalExpression:
		return r.starts(e.Consequent, depth, list) && r.starts(e.Alternate, depth, list)
	case *ast.Identifier:
		b := r.scopes[e].find(e.Name.String())
		if b == nil || len(b.exprs) == 0 {
			return false
		}
		for _, x := range slices.Concat(b.exprs, b.adds) {
			if !r.starts(x, depth, list) {
				return false
			}
		}
		return true
	case *ast.CallExpression:
		dot, ok := e.Callee.(*ast.DotExpression)
		if !ok {
			return false
		}
		switch dot.Identifier.Name.String() {
		case "join", "trim", "filter", "slice", "sort", "reverse", "concat":
			return r.starts(dot.Left, depth, list)
		case "map", "flatMap":
			return len(e.ArgumentList) > 0 && r.returns(e.ArgumentList[0], depth, list)
		}
	}
	return false
}

// returns collects what a function's result may begin with.
func (r *reader) returns(fn ast.Expression, depth int, list *[]string) bool {
	switch f := fn.(type) {
	case *ast.ArrowFunctionLiteral:
		if x, ok := f.Body.(*ast.ExpressionBody); ok {
			return r.starts(x.Expression, depth, list)
		}
		if b, ok := f.Body.(*ast.BlockStatement); ok {
			return r.lastReturn(b, depth, list)
		}
	case *ast.FunctionLiteral:
		return r.lastReturn(f.Body, depth, list)
	}
	return false
}

func (r *reader) lastReturn(b *ast.BlockStatement, depth int, list *[]string) bool {
	if len(b.List) == 0 {
		return false
	}
	ret, ok := b.List[len(b.List)-1].(*ast.ReturnStatement)
	return ok && ret.Argument != nil && r.starts(ret.Argument, depth, list)
}

// entered are the ids of controls whose value goes into a text unchanged, through +, templates and names.
func (r *reader) entered(e ast.Expression, depth int) []string {
	if r.steps--; r.steps < 0 || depth > 12 {
		return nil
	}
	depth++
	switch e := e.(type) {
	case *ast.DotExpression:
		if e.Identifier.Name == "value" && r.isInput(e.Left) {
			if c := plain(e.Left).(*ast.CallExpression); len(c.ArgumentList) > 0 {
				if s := ids(r.eval(c.ArgumentList[0])); s.Known {
					return s.Names
				}
			}
		}
	case *ast.BinaryExpression:
		if e.Operator == token.PLUS {
			return append(r.entered(e.Left, depth), r.entered(e.Right, depth)...)
		}
	case *ast.TemplateLiteral:
		var list []string
		for _, x := range e.Expressions {
			list = append(list, r.entered(x, depth)...)
		}
		if e.Tag == nil {
			return list
		}
	case *ast.ConditionalExpression:
		return append(r.entered(e.Consequent, depth), r.entered(e.Alternate, depth)...)
	case *ast.Identifier:
		if b := r.scopes[e].find(e.Name.String()); b != nil && !b.unknown && len(b.exprs) == 1 && len(b.adds) == 0 {
			return r.entered(b.exprs[0], depth)
		}
	case *ast.CallExpression:
		if dot, ok := e.Callee.(*ast.DotExpression); ok {
			switch dot.Identifier.Name.String() {
			case "trim", "toUpperCase", "toLowerCase", "toString", "slice":
				return r.entered(dot.Left, depth)
			}
		}
	}
	return nil
}
