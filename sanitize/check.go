package sanitize

import (
	"fmt"

	"example.com/cardrun/limits"
)

// maxDepth is the deepest that a tree may be nested. golang.org/x/net/html refuses more than 512 open elements, of which
// the fragment's root, a foster parent and implied ones take some; a tree that could be shown but not parsed again would
// be no stable display, so the rest is kept free.
const maxDepth = 500

// A census is what counting a tree gives.
type census struct {
	elements, controls int
	// The element that is one too many for its limit, or nil.
	extraElement, extraControl *Node
	// The first element below maxDepth, or nil.
	tooDeep *Node
	ids     map[string]*Node
	// Elements with an id outside R24, and elements with an id that an earlier one has, in document order.
	bad, duplicate []*Node
}

// count walks list and all below it. It goes no deeper than maxDepth, so it stands any tree.
func count(list []*Node) *census {
	c := &census{ids: make(map[string]*Node)}
	c.walk(list, 1)
	return c
}

func (c *census) walk(list []*Node, depth int) {
	for _, n := range list {
		if n.Tag == "" {
			continue
		}
		if depth > maxDepth {
			if c.tooDeep == nil {
				c.tooDeep = n
			}
			return
		}
		c.elements++
		if c.elements == limits.Elements+1 {
			c.extraElement = n
		}
		if IsControl(n) {
			c.controls++
			if c.controls == limits.Controls+1 {
				c.extraControl = n
			}
		}
		if id, ok := n.AttrValue("id"); ok {
			if !limits.ValidID(id) {
				c.bad = append(c.bad, n)
			} else if c.ids[id] != nil {
				c.duplicate = append(c.duplicate, n)
			} else {
				c.ids[id] = n
			}
		}
		c.walk(n.Children, depth+1)
	}
}

// Check counts a whole tree against the limits of a document: at most 512 elements (R22), implied and SVG ones included
// (D8); at most 64 controls (R23, D9); ids of the form of R24, each used once (R25); and nesting that a parser stands.
// The error is nil or a *[limits.Error] with code invalid_patch whose Field is the id in question, if any, and whose Message
// says which limit was passed.
func Check(nodes []*Node) error {
	c := count(nodes)
	fail := func(field, format string, args ...any) error {
		return &limits.Error{Code: limits.InvalidPatch, Field: field, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case c.tooDeep != nil:
		return fail("", "%s; nest fewer elements in one another", tooDeepText)
	case c.elements > limits.Elements:
		return fail("", "%s", tooManyElementsText(c.elements))
	case c.controls > limits.Controls:
		return fail("", "%s", tooManyControlsText(c.controls))
	case len(c.bad) > 0:
		id, _ := c.bad[0].AttrValue("id")
		return fail(id, "%s", badIDText("id", id))
	case len(c.duplicate) > 0:
		id, _ := c.duplicate[0].AttrValue("id")
		return fail(id, "the id %q is used twice; give every element its own id", id)
	}
	return nil
}

var tooDeepText = fmt.Sprintf("elements are nested more than %d deep", maxDepth)

func tooManyElementsText(n int) string {
	number := fmt.Sprint(n)
	if n >= maxBuilt {
		number = fmt.Sprintf("%d or more", maxBuilt)
	}
	return fmt.Sprintf("there are %s elements, the limit is %d; show fewer rows or shapes, or plain text", number, limits.Elements)
}

func tooManyControlsText(n int) string {
	return fmt.Sprintf("there are %d inputs, selects, textareas and buttons, the limit is %d; use fewer", n, limits.Controls)
}

func badIDText(attr, value string) string {
	return fmt.Sprintf("%s %q is not allowed; use a letter first, then letters, digits, _ or -, at most %d characters",
		attr, limits.Cut(value, 80), limits.IDLength)
}
