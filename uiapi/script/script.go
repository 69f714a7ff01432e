package script

import (
	"errors"
	"fmt"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/parser"
)

// Script is what was read of a script. Offsets are bytes from its start.
type Script struct {
	// Calls are the calls of ui, in the order of the text.
	Calls []Call
	// Foreign are names that are declared nowhere and that the engine does not have, once a name, in the order of the text.
	Foreign []Use
	// Misused are uses of what does exist in a way that cannot work: members of ui and of a handler's event that are not
	// there, and arguments of toLocaleString and its kin, which have no effect.
	Misused []Misuse
	// Strings are the texts of all string and template literals; html that the script writes is made of them.
	Strings []string
	// Opaque tells that ui is passed on, renamed or indexed, so that there may be calls that are not among Calls.
	Opaque bool
	// Bounds tells that the script compares numbers, or names what bounds or tests them (Math.min, isFinite and so on).
	Bounds bool
}

// Call is one call of ui in the text.
type Call struct {
	// Name is on, input, text, html or value.
	Name   string
	Offset int
	// ID is the first argument, IDOffset its place.
	ID       IDs
	IDOffset int
	// Type is the second argument of on, where it is one known text.
	Type string
	// Value tells of the second argument of text, html and value, or of how the result of input is used.
	Value Value
}

// IDs are the ids that an argument may be.
type IDs struct {
	Names []string
	// Known tells that Names are all there can be. Exact tells that each of them is really passed, if the call is reached
	// as often as its loops say.
	Known, Exact bool
	// Pattern is, for ids that are not known, what is: the parts of the text in order, between which anything may stand.
	// It is nil where nothing is known.
	Pattern []string
}

// Value tells what can be seen of an argument.
type Value struct {
	Offset int
	// Kind is what the value certainly is instead of a string (number, bigint, boolean, object, array, null, undefined,
	// function); empty when it may be a string.
	Kind string
	// Object tells that the {value, checked} of ui.input is taken for its value.
	Object bool
	// TableParts is the first tag of a value that begins with a part of a table outside any table, such as tr.
	TableParts string
	// Inputs are ids of controls whose value goes into the argument as it was entered.
	Inputs []string
}

// Use is a name in the text.
type Use struct {
	Name   string
	Offset int
	// Called tells that it is called or created (new).
	Called bool
}

// Misuse is something that exists and is used as it cannot work.
type Misuse struct {
	Kind   MisuseKind
	Name   string // of the member
	Offset int
}

// MisuseKind tells what was misused.
type MisuseKind int

// The kinds.
const (
	UIMember       MisuseKind = iota // a sixth call of ui
	EventMember                      // a member of a DOM event that a handler's event lacks (R51)
	LocaleArgument                   // an argument of toLocaleString, which has none here
)

// maxSource bounds what is read, in bytes: twice the longest script, counted in the widest characters.
const maxSource = 72_000

// Read reads a script. The error tells that it could not be read; it may run all the same.
func Read(source string) (s *Script, err error) {
	if len(source) > maxSource {
		return nil, fmt.Errorf("read script: it has %d bytes; the limit is %d", len(source), maxSource)
	}
	defer func() {
		// A parser's slip must not become more than no answer.
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("read script: the parser failed: %v", p)
		}
	}()
	program, err := parser.ParseFile(nil, "", source, parser.IgnoreRegExpErrors, parser.WithDisableSourceMaps)
	if err != nil {
		var list parser.ErrorList
		if errors.As(err, &list) && len(list) > 0 {
			err = list[0]
		}
		return nil, fmt.Errorf("read script: %w", err)
	}
	r := newReader(program)
	r.statements(program.Body)
	return r.script(), nil
}

// reader goes through a script once and keeps what the questions need.
type reader struct {
	parents  map[ast.Node]ast.Node
	scope    *scope
	global   *scope
	scopes   map[*ast.Identifier]*scope  // of each name that is looked up
	names    []*ast.Identifier           // the same, in order
	named    map[ast.Expression]*binding // functions under a name
	bodies   map[ast.Expression]*scope   // of functions
	handlers map[ast.Expression]bool     // functions that were looked at as handlers
	typed    map[string]bool             // names asked for by typeof
	written  map[string]bool             // names assigned to, which makes a global of them
	calls    []*ast.CallExpression
	with     bool
	out      Script

	steps int // of evaluation that are left
}

func newReader(p *ast.Program) *reader {
	r := &reader{
		parents: map[ast.Node]ast.Node{}, scopes: map[*ast.Identifier]*scope{}, named: map[ast.Expression]*binding{},
		bodies: map[ast.Expression]*scope{}, handlers: map[ast.Expression]bool{}, typed: map[string]bool{}, written: map[string]bool{},
		steps: 100_000,
	}
	r.global = &scope{bindings: map[string]*binding{}, function: true}
	r.scope = r.global
	r.hoist(p.DeclarationList)
	return r
}

// script answers, when all has been gone through.
func (r *reader) script() *Script {
	r.resolve()
	for _, c := range r.calls {
		r.call(c)
	}
	r.foreign()
	return &r.out
}

// offset turns the parser's place into an offset.
func offset(i file.Idx) int { return max(int(i)-1, 0) }
