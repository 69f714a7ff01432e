package patches

// Attribute gives an attribute of the element with that id as it was written, and whether there is one.
func (d *Document) Attribute(id, name string) (string, bool) {
	n := d.find(id)
	if n == 0 {
		return "", false
	}
	return d.nodes[n].attribute(name)
}

// Options gives the values that a user can choose in the select with that id, in order. It is nil for anything else.
func (d *Document) Options(id string) []string {
	sel := d.find(id)
	if sel == 0 || d.nodes[sel].kind != kindSelect {
		return nil
	}
	var values []string
	for o := d.nextOption(sel, sel); o != 0; o = d.nextOption(o, sel) {
		if !d.optionDisabled(o) {
			values = append(values, d.optionValue(o))
		}
	}
	return values
}
