package patches

import "strings"

// labelable tells the elements that a label can be for (WHATWG HTML section 4.10.2).
func labelable(e *node) bool {
	switch e.tag {
	case "input", "select", "textarea", "button", "output", "progress", "meter":
		return !e.has(flagSVG)
	}
	return false
}

// findLabels finds out which label goes with which element: by its for attribute, or as the first that it is around.
func (l *layout) findLabels() {
	d := l.d
	l.labels, l.wraps = map[ref][]ref{}, map[ref]ref{}
	for n := d.after(0, 0); n != 0; n = d.after(n, 0) {
		e := &d.nodes[n]
		if e.tag != "label" || e.has(flagSVG) {
			continue
		}
		target := ref(0)
		if id, ok := e.attribute("for"); ok {
			if target = d.find(id); target == 0 || !labelable(&d.nodes[target]) {
				continue
			}
		} else {
			for at := d.after(n, n); at != 0 && target == 0; at = d.after(at, n) {
				if labelable(&d.nodes[at]) {
					target = at
				}
			}
			if target == 0 {
				continue
			}
		}
		if d.nodes[target].kind == kindButton || !d.visible(target) {
			continue
		}
		if d.contains(n, target) {
			if _, taken := l.labels[target]; !taken {
				l.wraps[n] = target
			}
			continue
		}
		if d.visible(n) {
			l.labels[target] = append(l.labels[target], n)
		}
	}
}

func (d *Document) contains(outer, n ref) bool {
	for ; n != 0; n = d.nodes[n].parent {
		if n == outer {
			return true
		}
	}
	return false
}

// visible reports whether no hidden attribute and no closed details hides n.
func (d *Document) visible(n ref) bool {
	for at := n; at != 0; at = d.nodes[at].parent {
		if d.nodes[at].hasAttribute("hidden") && !d.nodes[at].has(flagSVG) {
			return false
		}
		p := d.nodes[at].parent
		if e := &d.nodes[p]; e.tag == "details" && !e.hasAttribute("open") && at != d.summary(p) {
			return false
		}
	}
	return true
}

// label lays out a label: as a whole with the control that it is around, not at all if a control elsewhere takes it
// along, and else as the text it is.
func (l *layout) label(n ref) {
	if target, ok := l.wraps[n]; ok {
		before, after := l.around(n, target)
		e := &l.d.nodes[target]
		if e.kind == kindCheckbox || e.kind == kindRadio {
			before, after = "", join(before, after)
		} else if before == "" {
			before, after = after, ""
		}
		l.breakLine()
		l.labelled(target, before, after)
		return
	}
	if l.wraps != nil {
		if target := l.d.target(n); target != 0 {
			for _, label := range l.labels[target] {
				if label == n {
					l.moved = true
					return
				}
			}
		}
	}
	l.children(n)
}

// target is the element that a label's for attribute names, or 0.
func (d *Document) target(label ref) ref {
	id, ok := d.nodes[label].attribute("for")
	if !ok {
		return 0
	}
	return d.find(id)
}

// around is the text of a label before and after the control in it.
func (l *layout) around(label, control ref) (before, after string) {
	in := layout{d: l.d, inline: 1, skip: control}
	in.children(label)
	before, after, _ = strings.Cut(string(in.line), "\x00")
	return strings.TrimSpace(before), strings.TrimSpace(after)
}

// name is what the labels that are not around n call it; failing them, and if told so, what its attributes do.
func (l *layout) name(n ref, attributes bool) string {
	var names []string
	for _, label := range l.labels[n] {
		in := layout{d: l.d, inline: 1}
		in.children(label)
		if s := strings.TrimSpace(string(in.line)); s != "" {
			names = append(names, s)
		}
	}
	if len(names) == 0 && attributes && l.labels != nil {
		for _, a := range [...]string{"aria-label", "title"} {
			if v, _ := l.d.nodes[n].attribute(a); stripAndCollapse(v) != "" {
				return stripAndCollapse(v)
			}
		}
	}
	return trimColon(strings.Join(names, " "))
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " " + b
}

func trimColon(s string) string { return strings.TrimRight(s, ": ") }

// value lays out a control, progress or meter that no label is around.
func (l *layout) value(n ref) {
	name := l.name(n, true)
	if name != "" {
		l.breakLine()
	}
	if e := &l.d.nodes[n]; e.kind == kindCheckbox || e.kind == kindRadio {
		l.labelled(n, "", name)
		return
	}
	l.labelled(n, name, "")
}

// labelled lays out a control with its name and what follows it in its label.
func (l *layout) labelled(n ref, name, after string) {
	d := l.d
	e := &d.nodes[n]
	value := ""
	switch e.kind {
	case kindCheckbox, kindRadio:
		value = [...]string{"[ ]", "[x]", "( )", "(x)"}[2*b2i(e.kind == kindRadio)+b2i(e.has(flagChecked))]
	case kindSelect:
		if o := d.selected(n); o != 0 {
			value = d.optionLabel(o)
		}
	case kindText, kindNumber, kindRange, kindTextarea:
		value = d.value(n)
	default:
		value = gauge(e)
	}
	if name = trimColon(name); name != "" {
		l.raw(name + ":")
		l.space = true
	}
	lines := strings.Split(strings.TrimRight(value, "\n"), "\n")
	if l.inline > 0 {
		lines = []string{strings.Join(lines, " ")}
	}
	l.control(lines[0])
	for _, line := range lines[1:] {
		// The further lines of a textarea stand under its first.
		l.flush()
		l.first = deeper(l.indent, 2)
		l.line = append(l.line, line...)
		l.box = true
	}
	if after != "" {
		l.space = true
		l.raw(after)
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// button is "[text]", by its content or else its other names.
func (l *layout) button(n ref) {
	d := l.d
	if stripAndCollapse(d.textContent(n)) != "" {
		l.setOff()
		l.enclose("[", n, "]")
		l.box = true
		return
	}
	e := &d.nodes[n]
	for _, a := range [...]string{"aria-label", "title", "value"} {
		if v, _ := e.attribute(a); stripAndCollapse(v) != "" {
			l.control("[" + stripAndCollapse(v) + "]")
			return
		}
	}
	l.control("[button]")
}
