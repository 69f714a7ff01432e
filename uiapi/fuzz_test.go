package uiapi

import (
	"strings"
	"testing"
	"time"

	"example.com/cardrun/limits"
)

// FuzzParseOutput reads any text as a guest's output, as a guest that rules its memory could return it.
func FuzzParseOutput(f *testing.F) {
	for _, s := range []string{
		"", parts("text", "a", "\ufffd\x00", "on", "a", "input"), parts("failure", `{"code":"ui_operation","message":"m","stack":"at card.js:1:2"}`, ""),
		parts("html", "\xff", "\xed\xa0\x80"), "ffffff", "000004text",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		o, err := parseOutput(text)
		if err != nil {
			if limits.CodeOf(err) != limits.Engine || o != nil {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if len(o.Patches) > limits.Patches || len(o.Handlers) > limits.Handlers {
			t.Fatalf("%d patches, %d handlers", len(o.Patches), len(o.Handlers))
		}
		for _, h := range o.Handlers {
			if !limits.ValidID(h.ID) {
				t.Fatalf("handler %+v", h)
			}
		}
		if o.Failure != nil && limits.CodeOf(o.Failure.err("one\ntwo")) != o.Failure.Code {
			t.Fatalf("failure %+v", o.Failure)
		}
	})
}

// FuzzPlace looks for places in scripts with stacks and messages that the card may have made up: each is in the script, or
// there is none.
func FuzzPlace(f *testing.F) {
	f.Add("at f (card.js:1:3)", "null.x", "TypeError: cannot read property 'x' of null", true)
	f.Add("card.js:2:1", "a\r\nb\u2028c", "ReferenceError: b is not defined", false)
	f.Add("card.js:1:99", "let é = '\U0001f600'; x x", "SyntaxError: expecting ';'", true)
	f.Add("", "`${`${(((a=>", "", true)
	f.Fuzz(func(t *testing.T, stack, script, message string, syntax bool) {
		if limits.Length(script) > limits.JavaScriptLength || len(stack)+len(message) > 4000 {
			t.Skip("longer than the bridge passes on")
		}
		line, column := place(stack, script, message)
		if syntax {
			line, column = syntaxPlace(stack, script, message)
		}
		lines := 1 + strings.Count(script, "\n") + strings.Count(script, "\r") + strings.Count(script, "\u2028") + strings.Count(script, "\u2029")
		if line < 0 || line > lines || column < 0 || column > limits.Length(script)+1 || (line == 0) != (column == 0) {
			t.Fatalf("%d:%d in a script of %d lines", line, column, lines)
		}
	})
}

// TestPlacesAreQuick looks for the places of faults in scripts that are hard to parse: the longest that a card may have
// takes milliseconds. The bound is wide, for slow machines.
func TestPlacesAreQuick(t *testing.T) {
	units := []string{"(", "[", "{", "((a,", "a=>(", "(a=>", "async(", "`${", "/", "/[", "(a", "({a:", "[a,", "x?", "x?.[", "!", "-", "new ", "await ", "yield ", "function f(){", "class A{", "class A{[",
		"if(1)", "for(;;", "for(", "a(", "a=", "a??", "a**", "...", "({...", "(({})=>", "(a=1,", "async a=>", "async (a)=>{", "switch(1){", "l:", "try{", "<!--", "/*", "'", "\"", "\\u{", "//", "\n", "\r", "\u2028", "import(", "let ", "var[", "do ",
		"(function(){", "a`", "({get a(){", "delete ", "typeof ", "x in ", "@", "#", "\x00", "é", "\U0001f600", "(async", "((", ")(", "}{", "=>", "0", ";"}
	for _, unit := range units {
		for _, end := range []string{"", " let let", ")"} {
			script := strings.Repeat(unit, limits.JavaScriptLength/len(unit)) + end
			start := time.Now()
			syntaxPlace("card.js:1:1", script, "SyntaxError: m")
			place("card.js:1:1", script, "ReferenceError: a is not defined")
			if took := time.Since(start); took > 3*time.Second {
				t.Errorf("%q again and again, then %q: %v", unit, end, took)
			} else if took > 100*time.Millisecond {
				t.Logf("%q again and again, then %q: %v", unit, end, took)
			}
		}
	}
	t.Logf("attacks: %d", 3*len(units))
}
