package sanitize

import "example.com/cardrun/limits"

// Fragment sanitizes a string given to ui.html at run time (R30, D6). It is parsed as body content whatever its target
// is (R62), and everything outside the whitelist is stripped in silence.
//
// An error is a *[limits.Error] with code invalid_patch: a surviving input of an unsupported type or select multiple
// (R26, R27), a bad id (R24) or radio name (D29), an id twice in the fragment, a fragment that by itself passes the limits of a
// document (R22, R23), or nesting that no parser stands. The names of other controls are stripped when they are bad.
func Fragment(html string) (HTML, error) {
	source := clean(html)
	fail := func(field, message string) (HTML, error) {
		return HTML{}, &limits.Error{Code: limits.InvalidPatch, Field: field, Message: message}
	}
	if len(source) > maxSource {
		return fail("", "the html is too long; the limit of a whole batch is 16,000")
	}
	if grows(source) {
		return fail("", tooTangledText)
	}
	parsed, err := parseBody(source)
	if err != nil {
		return fail("", tooDeepText)
	}
	var b builder
	nodes := b.build(parsed)
	if len(b.faults) > 0 {
		f := b.faults[0]
		id := ""
		for _, a := range f.at.Attr {
			if a.Key == "id" {
				id = a.Val
			}
		}
		return fail(limits.Cut(id, limits.IDLength), f.message)
	}
	if b.full {
		return fail("", tooManyElementsText(maxBuilt))
	}
	nodes, _, ok := settle(source, nodes, b.changed)
	if !ok {
		return fail("", unsettledText)
	}
	if err := Check(nodes); err != nil {
		return HTML{}, err
	}
	return HTML{nodes}, nil
}

const (
	tooTangledText = "too many formatting elements such as b or i are open at once around others, or never closed: a browser opens them again in every block, and so they could multiply far past the limit of 512 elements; close each one in the block where it starts"
	unsettledText  = "the elements are nested in a way that HTML text cannot express; close them in the order they were opened"
)
