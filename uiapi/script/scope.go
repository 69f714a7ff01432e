package script

import (
	"reflect"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
)

// scope is where names are declared: a function, a block, or the whole script.
type scope struct {
	outer    *scope
	bindings map[string]*binding
	function bool
}

// binding is one declared name with all that gives it a value.
type binding struct {
	origins []origin
	// exprs are the expressions assigned, adds those of +=; a text built in a loop has both.
	exprs, adds []ast.Expression
	unknown     bool // it is also given values that cannot be told
	mutated     bool // what it holds is changed in place
	function    ast.Expression
	uses        []*ast.Identifier
	busy        bool // being evaluated
}

// origin gives the values of one way in which a binding gets them.
type origin func(*reader) set

func (s *scope) declare(name string) *binding {
	b := s.bindings[name]
	if b == nil {
		b = new(binding)
		s.bindings[name] = b
	}
	return b
}

func (s *scope) find(name string) *binding {
	for ; s != nil; s = s.outer {
		if b := s.bindings[name]; b != nil {
			return b
		}
	}
	return nil
}

// closest is the function around, where var declares.
func (s *scope) closest() *scope {
	for !s.function {
		s = s.outer
	}
	return s
}

func (r *reader) inside(function bool, do func()) {
	r.scope = &scope{outer: r.scope, bindings: map[string]*binding{}, function: function}
	do()
	r.scope = r.scope.outer
}

// hoist declares the var names of a function.
func (r *reader) hoist(list []*ast.VariableDeclaration) {
	for _, d := range list {
		for _, b := range d.List {
			r.bind(b.Target, r.scope, nil)
		}
	}
}

// bind declares the names in a target, which get their values from o; nil adds no value.
func (r *reader) bind(target ast.Expression, s *scope, o origin) {
	switch t := target.(type) {
	case *ast.Identifier:
		b := s.declare(t.Name.String())
		if o != nil {
			b.origins = append(b.origins, o)
		}
	case *ast.AssignExpression: // a default in a pattern
		r.bind(t.Left, s, orElse(o, t.Right))
	case *ast.Binding:
		if t.Initializer != nil {
			o = orElse(o, t.Initializer)
		}
		r.bind(t.Target, s, o)
	case *ast.ArrayPattern:
		for i, e := range t.Elements {
			if e != nil {
				r.bind(e, s, part(o, func(v value) set { return v.at(i) }))
			}
		}
		if t.Rest != nil {
			r.bind(t.Rest, s, nothing)
		}
	case *ast.ObjectPattern:
		for _, p := range t.Properties {
			switch p := p.(type) {
			case *ast.PropertyShort:
				name := p.Name.Name.String()
				from := part(o, func(v value) set { return v.member(name) })
				if p.Initializer != nil {
					from = orElse(from, p.Initializer)
				}
				r.bind(&p.Name, s, from)
			case *ast.PropertyKeyed:
				from := nothing
				if key, ok := p.Key.(*ast.StringLiteral); ok && !p.Computed {
					from = part(o, func(v value) set { return v.member(key.Value.String()) })
				}
				r.bind(p.Value, s, from)
			}
		}
		if t.Rest != nil {
			r.bind(t.Rest, s, nothing)
		}
	}
}

// statements goes through a list in the present scope, whose lexical names are declared first.
func (r *reader) statements(list []ast.Statement) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.LexicalDeclaration:
			for _, b := range s.List {
				r.bind(b.Target, r.scope, nil)
			}
		case *ast.ClassDeclaration:
			if s.Class.Name != nil {
				r.scope.declare(s.Class.Name.Name.String()).unknown = true
			}
		case *ast.FunctionDeclaration:
			name := s.Function.Name.Name.String()
			for _, sc := range []*scope{r.scope, r.scope.closest()} { // in sloppy code a block's functions are the function's too
				b := sc.declare(name)
				if b.function != nil && b.function != ast.Expression(s.Function) {
					b.unknown = true
				}
				b.function = s.Function
				if sc == r.scope {
					r.named[s.Function] = b
				}
				if r.scope != r.scope.closest() {
					b.unknown = true // calls of either name are its calls
				}
				b.origins = append(b.origins, func(*reader) set { return one(value{kind: kindFunction, fn: s.Function}) })
			}
		}
	}
	for _, s := range list {
		r.walk(s, nil)
	}
}

// walk visits a node and all below it.
func (r *reader) walk(n, parent ast.Node) {
	if n == nil || reflect.ValueOf(n).IsNil() {
		return
	}
	r.parents[n] = parent
	switch n := n.(type) {
	case *ast.Identifier:
		r.scopes[n] = r.scope
		r.names = append(r.names, n)
		return
	case *ast.BlockStatement:
		r.inside(false, func() { r.statements(n.List) })
		return
	case *ast.FunctionLiteral:
		r.function(n, n.Name, n.ParameterList, n.Body, n.DeclarationList)
		return
	case *ast.ArrowFunctionLiteral:
		r.function(n, nil, n.ParameterList, n.Body, n.DeclarationList)
		return
	case *ast.ClassLiteral:
		r.inside(false, func() {
			if n.Name != nil {
				r.scope.declare(n.Name.Name.String()).unknown = true
			}
			r.walk(n.SuperClass, n)
			for _, e := range n.Body {
				r.walk(e, n)
			}
		})
		return
	case *ast.ClassStaticBlock:
		r.inside(true, func() {
			r.hoist(n.DeclarationList)
			r.walk(n.Block, n)
		})
		return
	case *ast.CatchStatement:
		r.inside(false, func() {
			if n.Parameter != nil {
				r.bind(n.Parameter, r.scope, nothing)
				r.target(n.Parameter, n)
			}
			r.walk(n.Body, n)
		})
		return
	case *ast.ForStatement, *ast.ForOfStatement, *ast.ForInStatement:
		r.inside(false, func() { r.loop(n) })
		return
	case *ast.SwitchStatement:
		r.walk(n.Discriminant, n)
		r.inside(false, func() {
			var all []ast.Statement
			for _, c := range n.Body {
				r.walk(c.Test, n)
				all = append(all, c.Consequent...)
			}
			r.statements(all)
		})
		return
	case *ast.Binding: // of var, let and const
		if n.Initializer != nil {
			init, s := n.Initializer, r.scope
			r.bind(n.Target, s.holding(n.Target), func(r *reader) set { return r.eval(init) })
			if id, ok := n.Target.(*ast.Identifier); ok {
				if b := s.find(id.Name.String()); b != nil {
					b.exprs = append(b.exprs, init)
					if isFunction(init) {
						b.function, r.named[init] = init, b
					}
				}
			}
		}
		r.target(n.Target, n)
		r.walk(n.Initializer, n)
		return
	case *ast.LabelledStatement:
		r.walk(n.Statement, n)
		return
	case *ast.BranchStatement, *ast.MetaProperty:
		return
	case *ast.PropertyShort:
		r.walk(&n.Name, n)
		r.walk(n.Initializer, n)
		return
	case *ast.WithStatement:
		r.with = true
	case *ast.AssignExpression:
		r.assign(n)
	case *ast.UnaryExpression:
		r.unary(n)
	case *ast.CallExpression:
		r.calls = append(r.calls, n)
		r.changes(n)
	case *ast.StringLiteral:
		r.out.Strings = append(r.out.Strings, n.Value.String())
	case *ast.TemplateLiteral:
		for _, e := range n.Elements {
			r.out.Strings = append(r.out.Strings, e.Parsed.String())
		}
	case *ast.BinaryExpression:
		switch n.Operator {
		case token.LESS, token.GREATER, token.LESS_OR_EQUAL, token.GREATER_OR_EQUAL:
			r.out.Bounds = true
		}
	case *ast.DotExpression:
		switch n.Identifier.Name.String() {
		case "min", "max", "isFinite", "isNaN", "isInteger", "isSafeInteger", "clamp":
			r.out.Bounds = true
		}
	}
	r.children(n)
}

// holding is the scope in which a target's name was declared before.
func (s *scope) holding(target ast.Expression) *scope {
	if id, ok := target.(*ast.Identifier); ok {
		for at := s; at != nil; at = at.outer {
			if at.bindings[id.Name.String()] != nil {
				return at
			}
		}
	}
	return s
}

// target visits the expressions inside a pattern: its defaults and computed keys.
func (r *reader) target(t, parent ast.Node) {
	if _, simple := t.(*ast.Identifier); !simple {
		r.parents[t] = parent
		r.children(t)
	}
}

func (r *reader) function(fn ast.Expression, name *ast.Identifier, params *ast.ParameterList, body ast.Node, vars []*ast.VariableDeclaration) {
	r.inside(true, func() {
		r.bodies[fn] = r.scope
		if _, declared := r.parents[fn].(*ast.FunctionDeclaration); name != nil && !declared {
			b := r.scope.declare(name.Name.String())
			b.function = fn
			b.origins = append(b.origins, func(*reader) set { return one(value{kind: kindFunction, fn: fn}) })
		}
		if _, ok := fn.(*ast.FunctionLiteral); ok {
			r.scope.declare("arguments").unknown = true
		}
		r.hoist(vars)
		for i, p := range params.List {
			r.bind(p, r.scope, func(r *reader) set { return r.argument(fn, i) })
			r.target(p.Target, p)
			r.walk(p.Initializer, p)
		}
		if params.Rest != nil {
			r.bind(params.Rest, r.scope, nothing)
		}
		if block, ok := body.(*ast.BlockStatement); ok {
			r.parents[block] = fn
			r.statements(block.List)
		} else {
			r.walk(body, fn)
		}
	})
}

func (r *reader) loop(n ast.Node) {
	into := func(f ast.ForInto, source ast.Expression, each func(value) []set) {
		o := func(r *reader) set { return r.eval(source).each(each) }
		switch f := f.(type) {
		case *ast.ForDeclaration:
			r.bind(f.Target, r.scope, o)
			r.target(f.Target, n)
		case *ast.ForIntoVar:
			r.bind(f.Binding.Target, r.scope.closest(), o)
			r.target(f.Binding.Target, n)
		case *ast.ForIntoExpression:
			if id, ok := f.Expression.(*ast.Identifier); ok {
				r.written[id.Name.String()] = true
				if b := r.scope.find(id.Name.String()); b != nil {
					b.origins = append(b.origins, o)
				}
			}
			r.walk(f.Expression, n)
		}
	}
	switch n := n.(type) {
	case *ast.ForOfStatement:
		into(n.Into, n.Source, value.items)
		r.walk(n.Source, n)
		r.walk(n.Body, n)
	case *ast.ForInStatement:
		into(n.Into, n.Source, value.keys)
		r.walk(n.Source, n)
		r.walk(n.Body, n)
	case *ast.ForStatement:
		var list []*ast.Binding
		switch i := n.Initializer.(type) {
		case *ast.ForLoopInitializerLexicalDecl:
			list = i.LexicalDeclaration.List
			for _, b := range list {
				r.bind(b.Target, r.scope, nil)
			}
		case *ast.ForLoopInitializerVarDeclList:
			list = i.List
		case *ast.ForLoopInitializerExpression:
			r.walk(i.Expression, n)
		}
		for _, b := range list {
			if o, ok := counted(n, b); ok {
				r.bind(b.Target, r.scope.holding(b.Target), o)
				r.walk(b.Initializer, n)
			} else {
				r.walk(b, n)
			}
		}
		r.walk(n.Test, n)
		r.walk(n.Update, n)
		r.walk(n.Body, n)
	}
}

// children visits all nodes right below one, in the order of its fields.
func (r *reader) children(n ast.Node) {
	eachChild(reflect.ValueOf(n), func(c ast.Node) { r.walk(c, n) })
}

var nodeType = reflect.TypeFor[ast.Node]()

// eachChild finds the nodes below a value that is a node. Lists of declarations repeat what stands elsewhere, and names
// that are no expressions are kept as structs, not pointers: both are passed over.
func eachChild(v reflect.Value, do func(ast.Node)) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return
	}
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; name == "DeclarationList" || name == "File" {
			continue
		}
		eachNode(v.Field(i), do)
	}
}

func eachNode(v reflect.Value, do func(ast.Node)) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			eachNode(v.Index(i), do)
		}
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() || !v.Type().Implements(nodeType) {
			return
		}
		if n, ok := v.Interface().(ast.Node); ok {
			do(n)
		}
	}
}

// resolve ties each name to its binding.
func (r *reader) resolve() {
	for _, id := range r.names {
		if b := r.scopes[id].find(id.Name.String()); b != nil {
			b.uses = append(b.uses, id)
		}
	}
}
