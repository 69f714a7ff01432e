package script

import (
	"slices"
	"sort"
	"strings"

	"github.com/dop251/goja/ast"
)

// engineNames are the names that the engine gives every card: what Object.getOwnPropertyNames(globalThis) lists, which a
// test compares.
var engineNames = strings.Fields(`
	Object Function Error EvalError RangeError ReferenceError SyntaxError TypeError URIError
	InternalError AggregateError Iterator Array parseInt parseFloat isNaN isFinite queueMicrotask
	decodeURI decodeURIComponent encodeURI encodeURIComponent escape unescape Infinity NaN undefined
	Number Boolean String Math Reflect Symbol eval globalThis Date RegExp JSON Proxy Map Set WeakMap
	WeakSet ArrayBuffer SharedArrayBuffer Uint8ClampedArray Int8Array Uint8Array Int16Array Uint16Array
	Int32Array Uint32Array BigInt64Array BigUint64Array Float16Array Float32Array Float64Array DataView
	Promise BigInt WeakRef FinalizationRegistry DOMException ui`)

// localeMethods are the methods whose locales and options the engine passes over, since it has no Intl, with the number of
// arguments from which on one of these is among them.
var localeMethods = map[string]int{
	"toLocaleString": 1, "toLocaleDateString": 1, "toLocaleTimeString": 1, "localeCompare": 3,
}

// foreign finds names that nobody declares. A name that the card asks for with typeof, or assigns to, is left alone, and
// so is everything in a script with a with statement.
func (r *reader) foreign() {
	if r.with {
		return
	}
	seen := map[string]bool{}
	for _, id := range r.names {
		name := id.Name.String()
		if name == "ui" {
			r.lookAtUI(id)
			continue
		}
		if seen[name] || slices.Contains(engineNames, name) || r.typed[name] || !r.unbound(id) || name == "arguments" {
			continue
		}
		if u, ok := r.parents[id].(*ast.UnaryExpression); ok && u.Operator.String() == "typeof" {
			continue
		}
		seen[name] = true
		use := Use{Name: name, Offset: offset(id.Idx)}
		switch p := r.parents[id].(type) {
		case *ast.CallExpression:
			use.Called = p.Callee == ast.Expression(id)
		case *ast.NewExpression:
			use.Called = p.Callee == ast.Expression(id)
		}
		r.out.Foreign = append(r.out.Foreign, use)
	}
	sort.SliceStable(r.out.Calls, func(i, j int) bool { return r.out.Calls[i].Offset < r.out.Calls[j].Offset })
}

// lookAtUI notes a use of ui that hides calls: anything but ui.name(…).
func (r *reader) lookAtUI(id *ast.Identifier) {
	if !r.unbound(id) {
		return
	}
	var at ast.Expression = id
	for {
		switch p := r.parents[at].(type) {
		case *ast.Optional:
			at = p
			continue
		case *ast.DotExpression:
			c := r.parents[p]
			if o, ok := c.(*ast.Optional); ok {
				c = r.parents[o]
			}
			if call, ok := c.(*ast.CallExpression); ok && plain(call.Callee) == ast.Expression(p) {
				return
			}
		}
		r.out.Opaque = true
		return
	}
}
