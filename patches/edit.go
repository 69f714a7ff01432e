package patches

import (
	"errors"
	"fmt"
	"strconv"

	"example.com/cardrun/limits"
)

// ErrInert is the error of an edit that no user could have made: there is no such control now, or it is disabled or
// read-only, or the chosen option is disabled. It is no fault of the card; the event is to be dropped (D11).
var ErrInert = errors.New("the control cannot be edited")

// Edit is what a user did to the control with that id: value is what a text, number, range, select or textarea now
// holds, checked what a checkbox or radio now is; nil leaves it alone. The value is normalized as by a browser (D21), and
// a text or textarea is cut at its maxlength, as typing is (D34), unless it was longer before and has not grown: a
// script's value may be. A value that the kind of control does not take from its user is passed over: the value of a
// checkbox or radio, anything of a button. A radio that becomes checked unchecks its group; a user cannot uncheck one,
// so false changes nothing for it.
//
// It reports whether the control now has another state than before. The error is [ErrInert], wrapped with the reason, or
// a *[limits.Error] with code input_limit for a value over 2,048 UTF-16 code units (R105). In both cases nothing changes. Whether
// all values together still fit a snapshot is found by [Document.Snapshot]; the edit is kept all the same (D35).
func (d *Document) Edit(id string, value *string, checked *bool) (changed bool, err error) {
	n := d.find(id)
	switch {
	case n == 0:
		return false, inert(id, "no element has this id")
	case !d.nodes[n].kind.control():
		return false, inert(id, "it is no control")
	case d.disabled(n):
		return false, inert(id, "it is disabled")
	}
	if value != nil {
		if units := limits.Length(*value); units > limits.Value {
			return false, &limits.Error{Code: limits.InputLimit, Field: id, Message: fmt.Sprintf(
				"the value has %d characters (UTF-16 code units), the limit is %d; enter a shorter one", units, limits.Value)}
		}
	}
	c := &d.nodes[n]
	switch c.kind {
	case kindCheckbox, kindRadio:
		if checked == nil || *checked == c.has(flagChecked) || c.kind == kindRadio && !*checked {
			return false, nil
		}
		d.check(n, *checked)
	case kindSelect:
		if value == nil {
			return false, nil
		}
		v, now := toText(*value), d.selected(n)
		if now != 0 && d.optionValue(now) == v {
			return false, nil
		}
		o := d.match(n, v, true)
		switch {
		case o == 0 && d.match(n, v, false) != 0:
			return false, inert(id, "that option is disabled")
		case o == now: // both 0: nothing matches, and nothing was selected
			return false, nil
		}
		d.choose(n, o)
	case kindButton:
		return false, nil
	default:
		if value == nil {
			return false, nil
		}
		if c.kind != kindRange && c.hasAttribute("readonly") {
			return false, inert(id, "it is read-only")
		}
		v := d.typed(n, *value)
		if v == d.value(n) {
			return false, nil
		}
		c.data = v
		c.set(flagDirty, c.kind == kindTextarea)
	}
	d.version++
	return true, nil
}

// typed is what a control holds when its user made it s.
func (d *Document) typed(n ref, s string) string {
	c := &d.nodes[n]
	s = toText(s)
	switch c.kind {
	case kindNumber, kindRange:
		return sanitizeValue(c, s)
	case kindTextarea:
		s = normalizeNewlines(s)
	default:
		s = sanitizeValue(c, s)
	}
	most := maxLength(c)
	if units := limits.Length(s); units > most && units > limits.Length(d.value(n)) {
		return limits.Cut(s, most)
	}
	return s
}

func inert(id, why string) error {
	return fmt.Errorf("edit control %s: %w: %s", strconv.Quote(limits.Cut(id, limits.IDLength)), ErrInert, why)
}
