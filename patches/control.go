package patches

import (
	"fmt"
	"strconv"
	"strings"

	"example.com/cardrun/limits"
)

// Control is the state of one control, in the shape of the wire format.
type Control struct {
	ID string `json:"id"`
	// Type is text, number, range, checkbox or radio for an input, else select, textarea or button.
	Type string `json:"type"`
	// Value is what the DOM's value would be. A checkbox or radio without a value attribute has "on", a button without
	// one has "" (D13), a select without a selected option has "".
	Value string `json:"value"`
	// Checked is false for all but checkboxes and radios.
	Checked bool `json:"checked"`
	// Disabled is true for a control that is disabled itself or by a fieldset around it.
	Disabled bool `json:"disabled"`
}

func (k kind) String() string {
	return [...]string{"root", "string", "element", "text", "number", "range", "checkbox", "radio", "select", "textarea",
		"button", "option", "optgroup"}[k]
}

// Controls gives every control that has an id, buttons included, in document order.
func (d *Document) Controls() []Control {
	out := make([]Control, 0, len(d.index.controls))
	for _, c := range d.index.controls {
		out = append(out, d.control(c))
	}
	return out
}

// Control gives the control with that id, and whether there is one.
func (d *Document) Control(id string) (Control, bool) {
	n := d.find(id)
	if n == 0 || !d.nodes[n].kind.control() {
		return Control{}, false
	}
	return d.control(n), true
}

func (d *Document) control(n ref) Control {
	c := &d.nodes[n]
	id, _ := c.attribute("id")
	return Control{ID: id, Type: c.kind.String(), Value: d.value(n), Checked: c.has(flagChecked), Disabled: d.disabled(n)}
}

// value is a control's value as a script would read it.
func (d *Document) value(n ref) string {
	c := &d.nodes[n]
	switch c.kind {
	case kindText, kindNumber, kindRange:
		return c.data
	case kindTextarea:
		return normalizeNewlines(c.data)
	case kindCheckbox, kindRadio:
		if v, ok := c.attribute("value"); ok {
			return v
		}
		return "on"
	case kindButton:
		v, _ := c.attribute("value")
		return v
	case kindSelect:
		if o := d.selected(n); o != 0 {
			return d.optionValue(o)
		}
	}
	return ""
}

// sanitizeValue is the value sanitization algorithm of the control's type (WHATWG HTML section 4.10.5.1, D21).
func sanitizeValue(c *node, s string) string {
	switch c.kind {
	case kindText:
		if strings.ContainsAny(s, "\r\n") {
			return strings.NewReplacer("\r", "", "\n", "").Replace(s)
		}
	case kindNumber:
		if _, ok := validNumber(s); !ok {
			return ""
		}
	case kindRange:
		return trackOf(c).sanitize(s)
	}
	return s
}

// normalizeNewlines makes every CRLF and CR an LF (WHATWG Infra section 4.7): the API value of a textarea.
func normalizeNewlines(s string) string {
	if strings.IndexByte(s, '\r') < 0 {
		return s
	}
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
}

// initialize gives a control or option that has just been parsed the state that its markup asks for. Selects are
// settled and radios of a group unchecked by the caller, once all of the fragment is there.
func (d *Document) initialize(n ref) {
	c := &d.nodes[n]
	switch c.kind {
	case kindText, kindNumber, kindRange:
		v, _ := c.attribute("value")
		c.data = sanitizeValue(c, v)
	case kindCheckbox, kindRadio:
		c.set(flagChecked, c.hasAttribute("checked"))
	case kindOption:
		c.set(flagSelected, c.hasAttribute("selected"))
	case kindTextarea:
		c.data = d.childText(n)
	}
}

// setValue is what a script's assignment to value does (D22): it gives text, number, range and textarea a new value,
// selects the first option that matches, and sets the value attribute of a checkbox, radio or button.
func (d *Document) setValue(n ref, s string) {
	c := &d.nodes[n]
	switch c.kind {
	case kindText, kindNumber, kindRange:
		c.data = sanitizeValue(c, s)
	case kindTextarea:
		c.data = s
		c.set(flagDirty, true)
	case kindCheckbox, kindRadio, kindButton:
		// Line ends are those of a parsed attribute, so that the markup can say it.
		c.setAttribute("value", normalizeNewlines(s))
	case kindSelect:
		d.choose(n, d.match(n, s, false))
	}
}

// Disabled reports whether the control, option, optgroup or fieldset with that id is disabled: by its own attribute, by
// a disabled fieldset around it unless it is within that fieldset's first legend, an option also by its optgroup
// (WHATWG HTML sections 4.10.18.5, 4.10.10). It is false for any other element and for an unknown id.
func (d *Document) Disabled(id string) bool {
	n := d.find(id)
	return n != 0 && d.disabled(n)
}

func (d *Document) disabled(n ref) bool {
	e := &d.nodes[n]
	switch {
	case e.kind == kindOption:
		return d.optionDisabled(n)
	case e.kind == kindOptgroup:
		return e.hasAttribute("disabled")
	case !e.kind.control() && (e.tag != "fieldset" || e.has(flagSVG)):
		return false
	}
	if e.hasAttribute("disabled") {
		return true
	}
	for at := n; at != 0; at = d.nodes[at].parent {
		p := d.nodes[at].parent
		if f := &d.nodes[p]; f.tag == "fieldset" && f.hasAttribute("disabled") && at != d.firstLegend(p) {
			return true
		}
	}
	return false
}

// firstLegend is the first child of a fieldset that is a legend, or 0.
func (d *Document) firstLegend(fieldset ref) ref {
	for c := d.nodes[fieldset].first; c != 0; c = d.nodes[c].next {
		if d.nodes[c].tag == "legend" {
			return c
		}
	}
	return 0
}

// MaxLength is how many UTF-16 code units a user may type into the text input or textarea with that id: its maxlength
// attribute where that is smaller than 2,048, else 2,048 (R32). It is false for anything else; a number input's value
// is bounded by 2,048 too, but takes no maxlength.
func (d *Document) MaxLength(id string) (int, bool) {
	n := d.find(id)
	if n == 0 || d.nodes[n].kind != kindText && d.nodes[n].kind != kindTextarea {
		return 0, false
	}
	return maxLength(&d.nodes[n]), true
}

func maxLength(c *node) int {
	s, ok := c.attribute("maxlength")
	s = strings.TrimPrefix(strings.TrimLeft(s, " \t\n\f\r"), "+")
	s = s[:digits(s, 0)]
	if !ok || s == "" {
		return limits.Value
	}
	v, err := strconv.Atoi(s)
	if err != nil {
		return limits.Value
	}
	return min(v, limits.Value)
}

// Snapshot is the JSON text of the values of all controls with an id, in document order, as a round is given them (D19):
// {"id":{"value":"…","checked":false},…}. A snapshot over 16,000 UTF-16 code units or bytes is an error with code
// input_limit (R106, D35).
func (d *Document) Snapshot() ([]byte, error) {
	b := append(make([]byte, 0, 64+64*len(d.index.controls)), '{')
	for i, n := range d.index.controls {
		if i > 0 {
			b = append(b, ',')
		}
		id, _ := d.nodes[n].attribute("id")
		b = appendQuoted(b, id)
		b = append(b, `:{"value":`...)
		b = appendQuoted(b, d.value(n))
		b = append(b, `,"checked":`...)
		b = strconv.AppendBool(b, d.nodes[n].has(flagChecked))
		b = append(b, '}')
	}
	b = append(b, '}')
	// Bytes are never fewer than units, so the byte count decides (D1).
	if len(b) > limits.Snapshot {
		return nil, &limits.Error{Code: limits.InputLimit, Message: fmt.Sprintf(
			"the values of all controls take %d bytes as JSON, the limit is %d; use fewer or shorter text inputs",
			len(b), limits.Snapshot)}
	}
	return b, nil
}

// checkValues checks every control's and every option's value against R105, R86 and the snapshot's size.
func (d *Document) checkValues() error {
	for at := d.after(0, 0); at != 0; at = d.after(at, 0) {
		value := ""
		switch k := d.nodes[at].kind; {
		case k == kindOption:
			value = d.optionValue(at)
		case k.control():
			value = d.value(at)
		}
		if len(value) <= limits.Value {
			continue
		}
		if units := limits.Length(value); units > limits.Value {
			id, _ := d.nodes[at].attribute("id")
			return &limits.Error{Code: limits.InputLimit, Field: id, Message: fmt.Sprintf(
				"the value of %s has %d characters (UTF-16 code units), the limit is %d; use a shorter one",
				d.describe(at), units, limits.Value)}
		}
	}
	_, err := d.Snapshot()
	return err
}

// describe names an element for an error message.
func (d *Document) describe(n ref) string {
	e := &d.nodes[n]
	s := "<" + e.tag
	if e.kind >= kindText && e.kind <= kindRadio {
		s += " type=" + e.kind.String()
	}
	s += ">"
	if id, ok := e.attribute("id"); ok {
		s += " " + strconv.Quote(limits.Cut(id, limits.IDLength))
	}
	return s
}
