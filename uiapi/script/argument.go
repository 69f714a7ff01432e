package script

import (
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
)

// argument gives the values that calls pass for a function's parameter.
func (r *reader) argument(fn ast.Expression, i int) set {
	if r.steps--; r.steps < 0 {
		return anything
	}
	b := r.bindingOf(fn)
	if b == nil {
		call, ok := r.parents[fn].(*ast.CallExpression)
		if !ok {
			return anything
		}
		return r.passed(call, fn, i)
	}
	if b.unknown || len(b.uses) == 0 {
		return anything
	}
	var u set
	for _, use := range b.uses {
		call, ok := r.parents[use].(*ast.CallExpression)
		if !ok {
			return anything
		}
		if u = u.union(r.passed(call, use, i)); u.unknown {
			return anything
		}
	}
	return u
}

// passed gives what a call passes for parameter i of a function, which is its callee or one of its arguments.
func (r *reader) passed(call *ast.CallExpression, fn ast.Expression, i int) set {
	if call.Callee == fn {
		if i >= len(call.ArgumentList) {
			return anything
		}
		for _, a := range call.ArgumentList[:i+1] {
			if _, spread := a.(*ast.SpreadElement); spread {
				return anything
			}
		}
		return r.eval(call.ArgumentList[i])
	}
	dot, ok := call.Callee.(*ast.DotExpression)
	if !ok {
		return anything
	}
	position := i
	switch dot.Identifier.Name.String() {
	case "forEach", "map", "filter", "some", "every", "find", "findIndex", "flatMap", "findLast":
		if call.ArgumentList[0] != fn {
			return anything
		}
	case "reduce", "reduceRight":
		position = i - 1
		if call.ArgumentList[0] != fn {
			return anything
		}
	case "from": // Array.from(…, fn)
		if len(call.ArgumentList) != 2 || call.ArgumentList[1] != fn || i != 1 {
			return anything
		}
		n := r.eval(call.ArgumentList[0]).each(func(v value) []set { return []set{v.member("length")} })
		return n.each(func(v value) []set { return indices(int(v.number)) })
	default:
		return anything
	}
	return r.eval(dot.Left).each(func(v value) []set {
		switch {
		case v.kind != kindArray:
			return nil
		case position == 0:
			return v.items()
		case position == 1:
			return indices(len(v.list))
		}
		return nil
	})
}

func indices(n int) []set {
	list := []set{}
	for i := range min(max(n, 0), maxValues) {
		list = append(list, number(float64(i)))
	}
	return list
}

// bindingOf is the name under which a function is known, if it has one.
func (r *reader) bindingOf(fn ast.Expression) *binding {
	switch p := r.parents[fn].(type) {
	case *ast.FunctionDeclaration:
		return r.named[p.Function]
	case *ast.Binding:
		return r.named[fn]
	}
	return nil
}

// counted gives the values of the counter in for (let i = 1; i <= 4; i++).
func counted(n *ast.ForStatement, b *ast.Binding) (origin, bool) {
	id, ok := b.Target.(*ast.Identifier)
	if !ok || b.Initializer == nil {
		return nil, false
	}
	test, ok := n.Test.(*ast.BinaryExpression)
	if !ok || test.Operator != token.LESS && test.Operator != token.LESS_OR_EQUAL {
		return nil, false
	}
	left, ok := test.Left.(*ast.Identifier)
	update, isUnary := n.Update.(*ast.UnaryExpression)
	if !ok || !isUnary || left.Name != id.Name || update.Operator != token.INCREMENT {
		return nil, false
	}
	if u, ok := update.Operand.(*ast.Identifier); !ok || u.Name != id.Name {
		return nil, false
	}
	return func(r *reader) set {
		from, to := r.eval(b.Initializer), r.eval(test.Right)
		if !from.single() || !to.single() || from.values[0].kind != kindNumber || to.values[0].kind != kindNumber {
			return anything
		}
		low, high := from.values[0].number, to.values[0].number
		if test.Operator == token.LESS_OR_EQUAL {
			high++
		}
		if high-low > maxValues || high <= low {
			return anything
		}
		var u set
		for x := low; x < high; x++ {
			u.values = append(u.values, value{kind: kindNumber, number: x})
		}
		return u
	}, true
}

// unbound tells that a name is the engine's own.
func (r *reader) unbound(id *ast.Identifier) bool {
	s := r.scopes[id]
	return s != nil && s.find(id.Name.String()) == nil && !r.written[id.Name.String()]
}
