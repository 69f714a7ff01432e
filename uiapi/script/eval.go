package script

import (
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
)

type expression = ast.Expression

// eval gives the values that an expression may have, as far as the text tells. It takes a bounded number of steps for the
// whole script; beyond them nothing is known.
func (r *reader) eval(e ast.Expression) set {
	if r.steps--; r.steps < 0 || e == nil {
		return anything
	}
	s := r.evaluate(e)
	r.steps -= len(s.values)
	return s
}

func (r *reader) evaluate(e ast.Expression) set {
	switch e := e.(type) {
	case *ast.StringLiteral:
		return text(e.Value.String())
	case *ast.NumberLiteral:
		switch n := e.Value.(type) {
		case int64:
			return number(float64(n))
		case float64:
			return number(n)
		}
	case *ast.TemplateLiteral:
		if e.Tag != nil {
			return anything
		}
		s := text(e.Elements[0].Parsed.String())
		for i, x := range e.Expressions {
			s = join(join(s, r.eval(x)), text(e.Elements[i+1].Parsed.String()))
		}
		return s
	case *ast.Identifier:
		return r.name(e)
	case *ast.BinaryExpression:
		return r.binary(e)
	case *ast.ConditionalExpression:
		return r.eval(e.Consequent).union(r.eval(e.Alternate)).possible()
	case *ast.SequenceExpression:
		return r.eval(e.Sequence[len(e.Sequence)-1])
	case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral:
		return one(value{kind: kindFunction, fn: e})
	case *ast.ArrayLiteral:
		return r.arrayLiteral(e)
	case *ast.ObjectLiteral:
		return r.objectLiteral(e)
	case *ast.DotExpression:
		name := e.Identifier.Name.String()
		return r.eval(e.Left).each(func(v value) []set { return []set{v.member(name)} })
	case *ast.BracketExpression:
		return r.element(e)
	case *ast.OptionalChain:
		return r.eval(e.Expression)
	case *ast.Optional:
		return r.eval(e.Expression)
	case *ast.CallExpression:
		return r.result(e)
	}
	return anything
}

// name gives the values of a variable. A name that changes, or whose content is changed in place, is not known.
func (r *reader) name(id *ast.Identifier) set {
	s := r.scopes[id]
	if s == nil {
		return anything
	}
	b := s.find(id.Name.String())
	if b == nil || b.unknown || b.mutated || b.busy || len(b.origins) == 0 {
		return anything
	}
	b.busy = true
	defer func() { b.busy = false }()
	var u set
	for _, o := range b.origins {
		if u = u.union(o(r)); u.unknown {
			if len(b.origins) > 1 {
				return anything
			}
			return u
		}
	}
	if len(b.origins) > 1 {
		u.inexact = true
	}
	return u
}

func (r *reader) binary(e *ast.BinaryExpression) set {
	switch e.Operator {
	case token.PLUS, token.MINUS, token.MULTIPLY:
	case token.LOGICAL_OR, token.COALESCE, token.LOGICAL_AND:
		return r.eval(e.Left).union(r.eval(e.Right)).possible()
	default:
		return anything
	}
	a, b := r.eval(e.Left), r.eval(e.Right)
	if a.known() && b.known() && len(a.values)*len(b.values) <= maxValues {
		u := set{inexact: a.inexact || b.inexact || len(a.values) > 1 && len(b.values) > 1}
		for _, x := range a.values {
			for _, y := range b.values {
				if x.kind != kindNumber || y.kind != kindNumber {
					u.unknown = true
					continue
				}
				n := x.number + y.number
				switch e.Operator {
				case token.MINUS:
					n = x.number - y.number
				case token.MULTIPLY:
					n = x.number * y.number
				}
				u.values = append(u.values, value{kind: kindNumber, number: n})
			}
		}
		if !u.unknown {
			return u
		}
	}
	if e.Operator == token.PLUS {
		return join(a, b)
	}
	return anything
}

func (r *reader) arrayLiteral(e *ast.ArrayLiteral) set {
	list := []set{}
	for _, x := range e.Value {
		if spread, ok := x.(*ast.SpreadElement); ok {
			s := r.eval(spread.Expression)
			if !s.single() || s.values[0].items() == nil {
				return anything
			}
			list = append(list, s.values[0].items()...)
		} else {
			list = append(list, r.eval(x))
		}
		if len(list) > maxValues {
			return anything
		}
	}
	return array(list)
}

func (r *reader) objectLiteral(e *ast.ObjectLiteral) set {
	v := value{kind: kindObject, members: map[string]set{}}
	add := func(name string, s set) {
		if _, twice := v.members[name]; !twice {
			v.names = append(v.names, name)
		}
		v.members[name] = s
	}
	for _, p := range e.Value {
		switch p := p.(type) {
		case *ast.PropertyShort:
			add(p.Name.Name.String(), r.name(&p.Name))
		case *ast.PropertyKeyed:
			s := anything
			if p.Kind == ast.PropertyKindValue {
				s = r.eval(p.Value)
			}
			switch key := p.Key.(type) {
			case *ast.StringLiteral:
				add(key.Value.String(), s)
			case *ast.NumberLiteral:
				add(key.Literal, s)
			default:
				return anything
			}
		default:
			return anything
		}
	}
	return one(v)
}

// element is a[b]: any of the elements, where b is not known.
func (r *reader) element(e *ast.BracketExpression) set {
	index := r.eval(e.Member)
	return r.eval(e.Left).each(func(v value) []set {
		if names, ok := index.texts(); ok {
			var list []set
			for _, n := range names {
				list = append(list, v.member(n).certain(index))
			}
			return list
		}
		var list []set
		switch v.kind {
		case kindArray:
			list = v.list
		case kindObject:
			for _, n := range v.names {
				list = append(list, v.members[n])
			}
		}
		if len(list) == 0 {
			return nil
		}
		out := make([]set, len(list))
		for i, s := range list {
			out[i] = s.possible()
		}
		return out
	})
}

// result is what a call returns, for the few calls that lists of ids are made with.
func (r *reader) result(e *ast.CallExpression) set {
	if id, ok := e.Callee.(*ast.Identifier); ok {
		if id.Name == "String" && len(e.ArgumentList) == 1 && r.unbound(id) {
			return join(text(""), r.eval(e.ArgumentList[0]))
		}
		return anything
	}
	dot, ok := e.Callee.(*ast.DotExpression)
	if !ok {
		return anything
	}
	method := dot.Identifier.Name.String()
	if id, ok := dot.Left.(*ast.Identifier); ok && r.unbound(id) && len(e.ArgumentList) > 0 {
		switch {
		case id.Name == "Object" && (method == "keys" || method == "values" || method == "entries"):
			return r.eval(e.ArgumentList[0]).each(func(v value) []set { return members(v, method) })
		case id.Name == "Array" && method == "from" && len(e.ArgumentList) == 2:
			return r.from(e)
		}
	}
	left := r.eval(dot.Left)
	switch method {
	case "map":
		if len(e.ArgumentList) > 0 && left.single() && left.values[0].kind == kindArray {
			return r.mapped(left.values[0].list, e.ArgumentList[0])
		}
	case "slice", "filter", "reverse", "sort", "toSorted", "toReversed":
		if left.single() && left.values[0].kind == kindArray {
			some := make([]set, len(left.values[0].list))
			for i, s := range left.values[0].list {
				if some[i] = s; method == "slice" || method == "filter" {
					some[i] = s.possible()
				}
			}
			return array(some)
		}
	case "concat":
		if left.single() && left.values[0].kind == kindArray {
			list := append([]set{}, left.values[0].list...)
			for _, a := range e.ArgumentList {
				s := r.eval(a)
				if !s.single() {
					return anything
				}
				if s.values[0].kind == kindArray {
					list = append(list, s.values[0].list...)
				} else {
					list = append(list, s)
				}
			}
			return array(list)
		}
	case "split":
		if by, ok := r.argumentText(e); ok && left.single() && left.values[0].kind == kindString {
			var list []set
			for _, t := range strings.SplitN(left.values[0].text, by, maxValues) {
				list = append(list, text(t))
			}
			return array(list)
		}
	case "entries", "keys":
		if left.single() && left.values[0].kind == kindArray && len(e.ArgumentList) == 0 {
			list := []set{}
			for i, s := range left.values[0].list {
				if method == "keys" {
					s = number(float64(i))
				} else {
					s = array([]set{number(float64(i)), s})
				}
				list = append(list, s)
			}
			return array(list)
		}
	case "toString":
		if len(e.ArgumentList) == 0 {
			return join(text(""), left)
		}
	}
	return anything
}

func (r *reader) argumentText(e *ast.CallExpression) (string, bool) {
	if len(e.ArgumentList) != 1 {
		return "", false
	}
	list, ok := r.eval(e.ArgumentList[0]).texts()
	return strings.Join(list, ""), ok && len(list) == 1
}

func members(v value, which string) []set {
	list := []set{}
	for i, k := range v.keys() {
		switch which {
		case "values":
			k = v.item(i)
		case "entries":
			k = array([]set{k, v.item(i)})
		}
		list = append(list, k)
	}
	if v.keys() == nil {
		return nil
	}
	return []set{array(list)}
}

func (v value) item(i int) set {
	if v.kind == kindArray {
		return v.at(i)
	}
	return v.members[v.names[i]]
}

// from is Array.from({length: n}, (_, i) => …).
func (r *reader) from(e *ast.CallExpression) set {
	n, ok := r.eval(e.ArgumentList[0]).each(func(v value) []set { return []set{v.member("length")} }).texts()
	if !ok || len(n) != 1 {
		return anything
	}
	count := 0
	for _, d := range n[0] {
		if d < '0' || d > '9' || count > maxValues {
			return anything
		}
		count = count*10 + int(d-'0')
	}
	if count > maxValues {
		return anything
	}
	return r.mapped(make([]set, count), e.ArgumentList[1])
}

// mapped is the array of what an arrow function with one expression gives for each element. Its parameters have all
// elements as values, so the result is their union.
func (r *reader) mapped(list []set, fn ast.Expression) set {
	arrow, ok := fn.(*ast.ArrowFunctionLiteral)
	if !ok {
		return anything
	}
	body, ok := arrow.Body.(*ast.ExpressionBody)
	if !ok {
		return anything
	}
	s := r.eval(body.Expression)
	if !s.known() {
		return anything
	}
	out := []set{}
	for _, v := range s.values {
		out = append(out, one(v).certain(s))
	}
	return array(out)
}
