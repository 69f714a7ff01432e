package script

import (
	"reflect"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
)

// assign notes what an assignment does to a name, or to what a name holds.
func (r *reader) assign(n *ast.AssignExpression) {
	id, ok := n.Left.(*ast.Identifier)
	if !ok {
		if root := rootOf(n.Left); root != nil {
			r.spoil(root)
		}
		if isPattern(n.Left) {
			r.spoilPattern(n.Left)
		}
		return
	}
	name := id.Name.String()
	r.written[name] = true
	b := r.scope.find(name)
	switch {
	case b == nil:
	case n.Operator == token.ASSIGN:
		right := n.Right
		b.exprs = append(b.exprs, right)
		b.origins = append(b.origins, func(r *reader) set { return r.eval(right) })
	case n.Operator == token.PLUS:
		b.adds = append(b.adds, n.Right)
		b.unknown = true
	default:
		b.unknown = true
	}
}

// unary notes typeof, which asks whether a name is there, and ++ and --, which change it.
func (r *reader) unary(n *ast.UnaryExpression) {
	id, ok := n.Operand.(*ast.Identifier)
	switch {
	case n.Operator == token.TYPEOF && ok:
		r.typed[id.Name.String()] = true
	case n.Operator == token.INCREMENT || n.Operator == token.DECREMENT:
		if ok {
			r.written[id.Name.String()] = true
			if b := r.scope.find(id.Name.String()); b != nil && !r.counter(n, b) {
				b.unknown = true
			}
		} else if root := rootOf(n.Operand); root != nil {
			r.spoil(root)
		}
	case n.Operator == token.DELETE:
		if root := rootOf(n.Operand); root != nil {
			r.spoil(root)
		}
	}
}

// counter tells that a ++ is the update of a loop whose values are known.
func (r *reader) counter(n *ast.UnaryExpression, b *binding) bool {
	loop, ok := r.parents[n].(*ast.ForStatement)
	return ok && loop.Update == ast.Expression(n) && len(b.origins) > 0
}

// changes notes calls that change an array in place.
func (r *reader) changes(n *ast.CallExpression) {
	dot, ok := n.Callee.(*ast.DotExpression)
	if !ok {
		return
	}
	switch dot.Identifier.Name.String() {
	case "push", "unshift", "pop", "shift", "splice", "fill", "set", "add", "copyWithin", "assign":
		if root := rootOf(dot); root != nil {
			r.spoil(root)
		}
	}
	for i, a := range n.ArgumentList {
		if root, ok := a.(*ast.Identifier); ok && i == 0 && dot.Identifier.Name.String() == "assign" {
			r.spoil(root)
		}
	}
}

func (r *reader) spoil(id *ast.Identifier) {
	if b := r.scope.find(id.Name.String()); b != nil {
		b.mutated = true
	}
}

func (r *reader) spoilPattern(p ast.Expression) {
	for _, id := range identifiers(p) {
		r.written[id.Name.String()] = true
		if b := r.scope.find(id.Name.String()); b != nil {
			b.unknown = true
		}
	}
}

// rootOf is the name at the bottom of a chain of members.
func rootOf(e ast.Expression) *ast.Identifier {
	for {
		switch x := e.(type) {
		case *ast.DotExpression:
			e = x.Left
		case *ast.BracketExpression:
			e = x.Left
		case *ast.OptionalChain:
			e = x.Expression
		case *ast.Optional:
			e = x.Expression
		case *ast.Identifier:
			return x
		default:
			return nil
		}
	}
}

func isPattern(e ast.Expression) bool {
	switch e.(type) {
	case *ast.ArrayPattern, *ast.ObjectPattern:
		return true
	}
	return false
}

// identifiers are the names in a pattern that is assigned to.
func identifiers(e ast.Expression) []*ast.Identifier {
	var ids []*ast.Identifier
	var visit func(n ast.Node)
	visit = func(n ast.Node) {
		if id, ok := n.(*ast.Identifier); ok {
			ids = append(ids, id)
		}
		if p, ok := n.(*ast.PropertyShort); ok {
			ids = append(ids, &p.Name)
		}
		eachChild(reflect.ValueOf(n), visit)
	}
	visit(e)
	return ids
}

func isFunction(e ast.Expression) bool {
	switch e.(type) {
	case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral:
		return true
	}
	return false
}
