package patches

import "strings"

// optionValue is an option's value (WHATWG HTML section 4.10.10): its value attribute, or else its text.
func (d *Document) optionValue(n ref) string {
	if v, ok := d.nodes[n].attribute("value"); ok {
		return v
	}
	return stripAndCollapse(d.textContent(n))
}

// optionLabel is what a browser shows for an option: its label attribute unless that is empty, or else its text.
func (d *Document) optionLabel(n ref) string {
	if v, ok := d.nodes[n].attribute("label"); ok && v != "" {
		return v
	}
	return stripAndCollapse(d.textContent(n))
}

// stripAndCollapse strips and collapses ASCII white space (WHATWG Infra section 4.7), which no-break spaces are not.
func stripAndCollapse(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < 0x80 && isSpace(byte(r)) }), " ")
}

// isSpace tells ASCII white space (WHATWG Infra section 4.6).
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r' }

// optionDisabled: by its own attribute, or by that of the optgroup around it (section 4.10.10, "disabled").
func (d *Document) optionDisabled(n ref) bool {
	if d.nodes[n].hasAttribute("disabled") {
		return true
	}
	p := d.nodes[n].parent
	return d.nodes[p].kind == kindOptgroup && d.nodes[p].hasAttribute("disabled")
}

// nextOption is the option after n in the list of options of the select sel, 0 at the end; start with n = sel.
func (d *Document) nextOption(n, sel ref) ref {
	for n = d.after(n, sel); n != 0; n = d.after(n, sel) {
		if d.nodes[n].kind == kindOption {
			return n
		}
	}
	return 0
}

// selected is the option that gives a select its value, or 0.
func (d *Document) selected(sel ref) ref {
	for o := d.nextOption(sel, sel); o != 0; o = d.nextOption(o, sel) {
		if d.nodes[o].has(flagSelected) {
			return o
		}
	}
	return 0
}

// settle is the selectedness setting algorithm (section 4.10.7): of several selected options the last stays; if none is
// selected, the first that is not disabled becomes so, unless the select shows several rows.
func (d *Document) settle(sel ref) {
	last, enabled := ref(0), ref(0)
	for o := d.nextOption(sel, sel); o != 0; o = d.nextOption(o, sel) {
		n := &d.nodes[o]
		if n.has(flagSelected) {
			if last != 0 {
				d.nodes[last].set(flagSelected, false)
			}
			last = o
		}
		if enabled == 0 && !d.optionDisabled(o) {
			enabled = o
		}
	}
	if last == 0 && enabled != 0 && displaySize(&d.nodes[sel]) == 1 {
		d.nodes[enabled].set(flagSelected, true)
	}
}

// displaySize is how many rows a select shows (section 4.10.7, "display size"): its size attribute, or 1.
func displaySize(n *node) int {
	s, _ := n.attribute("size")
	s = strings.TrimLeft(s, " \t\n\f\r")
	s = strings.TrimPrefix(s, "+")
	size := 0
	for i := 0; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		size = min(size*10+int(s[i]-'0'), 1000)
	}
	return max(size, 1)
}

// choose selects option o alone, or none if o is 0.
func (d *Document) choose(sel, o ref) {
	for at := d.nextOption(sel, sel); at != 0; at = d.nextOption(at, sel) {
		d.nodes[at].set(flagSelected, at == o)
	}
}

// match is the first option of a select with that value, or 0.
func (d *Document) match(sel ref, value string, enabled bool) ref {
	for o := d.nextOption(sel, sel); o != 0; o = d.nextOption(o, sel) {
		if d.optionValue(o) == value && !(enabled && d.optionDisabled(o)) {
			return o
		}
	}
	return 0
}

// check sets the checkedness of a checkbox or radio. A radio that becomes checked unchecks the others of its group
// (section 4.10.5.1.17): those with the same name in the whole document, since there are no forms.
func (d *Document) check(n ref, on bool) {
	d.nodes[n].set(flagChecked, on)
	if !on || d.nodes[n].kind != kindRadio {
		return
	}
	name, _ := d.nodes[n].attribute("name")
	if name == "" {
		return
	}
	for at := d.after(0, 0); at != 0; at = d.after(at, 0) {
		if at != n && d.nodes[at].kind == kindRadio && d.nodes[at].has(flagChecked) {
			if other, _ := d.nodes[at].attribute("name"); other == name {
				d.nodes[at].set(flagChecked, false)
			}
		}
	}
}
