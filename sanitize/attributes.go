package sanitize

import (
	"strings"

	"example.com/cardrun/limits"
)

// A form is what the value of a listed attribute must look like.
type form uint8

const (
	formNone      form = iota // not listed
	formText                  // anything
	formID                    // an id (R24)
	formName                  // the name of a control: the form of an id (D29)
	formRefs                  // one or more ids, which may dangle (D29)
	formFlag                  // present or absent
	formCount                 // a non-negative integer
	formTabindex              // 0 or -1
	formDir                   // ltr, rtl or auto
	formInputType             // one of inputTypes
	formButton                // always "button"
	formSVG                   // anything without a function that loads (R29, D7)
)

// globalAttributes may stand on every element, SVG ones too (D5).
var globalAttributes = attributes(
	is(formID, "id"),
	is(formText, "class title lang role hidden"),
	is(formDir, "dir"),
	is(formTabindex, "tabindex"),
	// ARIA 1.2, section 6.6, without the two deprecated drag attributes.
	is(formRefs, `aria-activedescendant aria-controls aria-describedby aria-details aria-errormessage aria-flowto
		aria-labelledby aria-owns`),
	is(formText, `aria-atomic aria-autocomplete aria-braillelabel aria-brailleroledescription aria-busy aria-checked
		aria-colcount aria-colindex aria-colindextext aria-colspan aria-current aria-description aria-disabled aria-expanded
		aria-haspopup aria-hidden aria-invalid aria-keyshortcuts aria-label aria-level aria-live aria-modal aria-multiline
		aria-multiselectable aria-orientation aria-placeholder aria-posinset aria-pressed aria-readonly aria-relevant
		aria-required aria-roledescription aria-rowcount aria-rowindex aria-rowindextext aria-rowspan aria-selected
		aria-setsize aria-sort aria-valuemax aria-valuemin aria-valuenow aria-valuetext`),
)

// elementAttributes are the attributes that only some HTML elements may have (D5).
var elementAttributes = map[string]map[string]form{
	"label": attributes(is(formRefs, "for")),
	"input": attributes(is(formInputType, "type"), is(formName, "name"), is(formText, "value min max step placeholder inputmode"),
		is(formFlag, "checked disabled readonly required"), is(formCount, "maxlength minlength size")),
	"textarea": attributes(is(formName, "name"), is(formText, "placeholder inputmode"), is(formFlag, "disabled readonly required"),
		is(formCount, "rows cols maxlength minlength")),
	"select":   attributes(is(formName, "name"), is(formFlag, "disabled required"), is(formCount, "size")),
	"optgroup": attributes(is(formText, "label"), is(formFlag, "disabled")),
	"option":   attributes(is(formText, "value label"), is(formFlag, "selected disabled")),
	"button":   attributes(is(formButton, "type"), is(formText, "value"), is(formFlag, "disabled")),
	"fieldset": attributes(is(formFlag, "disabled")),
	"output":   attributes(is(formRefs, "for")),
	"ol":       attributes(is(formText, "start type"), is(formFlag, "reversed")),
	"li":       attributes(is(formText, "value")),
	"td":       attributes(is(formText, "colspan rowspan scope"), is(formRefs, "headers")),
	"th":       attributes(is(formText, "colspan rowspan scope"), is(formRefs, "headers")),
	"col":      attributes(is(formText, "span")),
	"colgroup": attributes(is(formText, "span")),
	"progress": attributes(is(formText, "value max")),
	"meter":    attributes(is(formText, "value min max low high optimum")),
	"details":  attributes(is(formFlag, "open")),
	"time":     attributes(is(formText, "datetime")),
	"del":      attributes(is(formText, "datetime")),
	"ins":      attributes(is(formText, "datetime")),
}

// svgAttributes are the geometry and presentation attributes of the SVG set (D7), in the case that SVG gives them.
var svgAttributes = attributes(
	is(formSVG, "viewBox preserveAspectRatio transform d points pathLength"),
	is(formSVG, "x y x1 y1 x2 y2 cx cy r rx ry dx dy width height rotate textLength lengthAdjust"),
	is(formSVG, "fill fill-opacity fill-rule color"),
	is(formSVG, `stroke stroke-width stroke-opacity stroke-linecap stroke-linejoin stroke-miterlimit stroke-dasharray
		stroke-dashoffset vector-effect paint-order`),
	is(formSVG, "opacity visibility display shape-rendering text-rendering"),
	is(formSVG, `font-family font-size font-style font-weight font-variant font-stretch letter-spacing word-spacing
		text-anchor text-decoration dominant-baseline alignment-baseline baseline-shift`),
)

// inputTypes are the supported controls that are inputs (R26).
var inputTypes = set("text number range checkbox radio")

// urlAttributes bear a URL, wherever they stand: a card with one is rejected (D5, D6).
var urlAttributes = set(`href src srcset imagesrcset srcdoc action formaction ping background poster data cite longdesc lowsrc
	dynsrc usemap classid codebase archive code manifest profile icon xml:base xlink:href xlink:role xlink:arcrole attributionsrc`)

// adviceFor says what to write instead of an attribute that was left out, where there is more to say than nothing.
func adviceFor(name string) string {
	switch {
	case name == "style":
		return "; put styling in css"
	case strings.HasPrefix(name, "data-"):
		return "; keep data in javascript, or use class or id"
	case name == "xmlns":
		return "; inline svg needs none"
	case name == "pattern" || name == "list":
		return "; check values in javascript"
	case name == "autofocus":
		return "; a card does not take the focus"
	}
	return ""
}

func attributes(rows ...map[string]form) map[string]form {
	m := make(map[string]form)
	for _, r := range rows {
		for name, f := range r {
			m[name] = f
		}
	}
	return m
}

func is(f form, names string) map[string]form {
	m := make(map[string]form)
	for _, name := range words(names) {
		m[name] = f
	}
	return m
}

// formOf gives the form of an attribute on an element of the whitelist, formNone where it is not listed.
func formOf(tag string, svg bool, name string) form {
	if f := globalAttributes[name]; f != formNone {
		return f
	}
	if svg {
		return svgAttributes[name]
	}
	return elementAttributes[tag][name]
}

// fits checks a value against a form, and gives the value to keep. ok is false when the attribute must go; wrong then
// says what its value should be.
func (f form) fits(value string) (keep string, ok bool, wrong string) {
	switch f {
	case formID, formName:
		return value, limits.ValidID(value), "an id"
	case formCount:
		return value, isCount(value), "a non-negative integer"
	case formTabindex:
		v := strings.TrimSpace(value)
		return v, v == "0" || v == "-1", "0 or -1"
	case formDir:
		v := asciiLower(strings.TrimSpace(value))
		return v, v == "ltr" || v == "rtl" || v == "auto", "ltr, rtl or auto"
	case formSVG:
		return value, loadsNothing(value), "free of url() and its kin"
	}
	return value, true, ""
}

// isCount tells a valid non-negative integer (WHATWG HTML section 2.3.4.2), of at most nine digits.
func isCount(s string) bool {
	if s == "" || len(s) > 9 {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// isEventHandler tells the attributes that run script, on any element (R29, D6).
func isEventHandler(name string) bool {
	return len(name) > 2 && (name[0] == 'o' || name[0] == 'O') && (name[1] == 'n' || name[1] == 'N')
}

// asciiLower lowers ASCII letters only: U+212A KELVIN SIGN stays what it is.
func asciiLower(s string) string {
	for i := range len(s) {
		if c := s[i]; c >= 'A' && c <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if c := b[i]; c >= 'A' && c <= 'Z' {
					b[i] = c | 0x20
				}
			}
			return string(b)
		}
	}
	return s
}
