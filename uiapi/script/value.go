package script

import (
	"math"
	"slices"
	"strconv"
)

type kind int

const (
	kindString kind = iota
	kindNumber
	kindArray
	kindObject
	kindFunction
	kindRange // an object known by its length alone, for Array.from
)

// value is one value that an expression may have.
type value struct {
	kind    kind
	text    string
	number  float64
	list    []set          // of an array
	names   []string       // of an object's members, in order
	members map[string]set // of an object
	fn      any            // of a function: its node
}

// set is the values that an expression may have.
type set struct {
	values  []value
	unknown bool // there may be others
	inexact bool // not each of them need occur
	pattern []string
}

// maxValues bounds a set, and what products of two may grow to.
const maxValues = 256

var anything = set{unknown: true}

func nothing(*reader) set { return anything }

func one(v value) set           { return set{values: []value{v}} }
func text(s string) set         { return one(value{kind: kindString, text: s}) }
func number(x float64) set      { return one(value{kind: kindNumber, number: x}) }
func array(list []set) set      { return one(value{kind: kindArray, list: list}) }
func (s set) known() bool       { return !s.unknown && len(s.values) > 0 }
func (s set) single() bool      { return s.known() && len(s.values) == 1 }
func (s set) possible() set     { s.inexact = true; return s }
func (s set) certain(o set) set { s.inexact = s.inexact || o.inexact; return s }

// union is either of two sets, both of which occur.
func (s set) union(o set) set {
	u := set{unknown: s.unknown || o.unknown, inexact: s.inexact || o.inexact}
	u.values = append(slices.Clip(s.values), o.values...)
	if len(u.values) > maxValues {
		return anything
	}
	return u
}

// each gives the union of what a value of the set turns into.
func (s set) each(turn func(value) []set) set {
	if !s.known() {
		return anything
	}
	var u set
	for _, v := range s.values {
		parts := turn(v)
		if parts == nil {
			return anything
		}
		for _, p := range parts {
			u = u.union(p)
		}
	}
	return u.certain(s)
}

// at is the value of an array's element.
func (v value) at(i int) set {
	if v.kind == kindArray && i < len(v.list) {
		return v.list[i]
	}
	return anything
}

// member is the value of an object's member.
func (v value) member(name string) set {
	if m, ok := v.members[name]; ok {
		return m
	}
	if v.kind == kindArray {
		if name == "length" {
			return number(float64(len(v.list)))
		}
		if i, err := strconv.Atoi(name); err == nil && i >= 0 {
			return v.at(i)
		}
	}
	return anything
}

// items are what for of goes through. nil is unknown, an empty list is nothing.
func (v value) items() []set {
	switch v.kind {
	case kindArray:
		return append([]set{}, v.list...)
	case kindString:
		list := []set{}
		for _, r := range v.text {
			list = append(list, text(string(r)))
		}
		return list
	}
	return nil
}

// keys are what for in goes through.
func (v value) keys() []set {
	list := []set{}
	switch v.kind {
	case kindObject:
		for _, n := range v.names {
			list = append(list, text(n))
		}
	case kindArray:
		for i := range v.list {
			list = append(list, text(strconv.Itoa(i)))
		}
	default:
		return nil
	}
	return list
}

// string is the value as + appends it to a text.
func (v value) string() (string, bool) {
	switch v.kind {
	case kindString:
		return v.text, true
	case kindNumber:
		if v.number == math.Trunc(v.number) && math.Abs(v.number) < 1e15 {
			return strconv.FormatFloat(v.number, 'f', -1, 64), true
		}
	}
	return "", false
}

// texts are the values of a set as texts.
func (s set) texts() (list []string, ok bool) {
	if !s.known() {
		return nil, false
	}
	for _, v := range s.values {
		t, ok := v.string()
		if !ok {
			return nil, false
		}
		list = append(list, t)
	}
	return list, true
}

// join is the texts of s followed by those of o.
func join(s, o set) set {
	a, okA := s.texts()
	b, okB := o.texts()
	if !okA || !okB {
		// What is known of it is where its parts stand.
		return set{unknown: true, pattern: joinPatterns(patternOf(s, a, okA), patternOf(o, b, okB))}
	}
	if len(a)*len(b) > maxValues {
		return anything
	}
	u := set{inexact: s.inexact || o.inexact || len(a) > 1 && len(b) > 1}
	for _, x := range a {
		for _, y := range b {
			u.values = append(u.values, value{kind: kindString, text: x + y})
		}
	}
	return u
}

// patternOf is what is known of a text: parts, between which anything may stand. nil is anything.
func patternOf(s set, texts []string, known bool) []string {
	switch {
	case known && len(texts) == 1:
		return texts
	case s.pattern != nil:
		return s.pattern
	}
	return []string{"", ""}
}

func joinPatterns(a, b []string) []string {
	p := slices.Clone(a[:len(a)-1])
	p = append(p, a[len(a)-1]+b[0])
	return append(p, b[1:]...)
}

// orElse is o, or else the value of a default.
func orElse(o origin, fallback expression) origin {
	if o == nil {
		return nil
	}
	return func(r *reader) set {
		s := o(r)
		if s.unknown {
			return s
		}
		return s.union(r.eval(fallback)).possible()
	}
}

// part is a part of what o gives.
func part(o origin, of func(value) set) origin {
	if o == nil {
		return nil
	}
	return func(r *reader) set { return o(r).each(func(v value) []set { return []set{of(v)} }) }
}
