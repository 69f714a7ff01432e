package cardrun

import (
	"fmt"
	"slices"
	"strings"

	"example.com/cardrun/limits"
	"example.com/cardrun/sanitize"
)

// heard are the ids that the script listens to, by type of event. sure is false when it may listen to others as well.
func (l *lint) heard() (ids map[string][]string, sure bool) {
	ids, sure = map[string][]string{}, !l.script.Opaque
	for _, c := range l.script.Calls {
		if c.Name != "on" {
			continue
		}
		if !c.ID.Known || c.Type == "" {
			sure = false
			continue
		}
		for _, id := range c.ID.Names {
			ids[id] = append(ids[id], c.Type)
		}
	}
	return ids, sure
}

// reads tells that the script asks for a control's value, or may.
func (l *lint) reads(id string) bool {
	if l.script.Opaque {
		return true
	}
	for _, c := range l.script.Calls {
		switch {
		case c.Name != "input":
		case !c.ID.Known:
			if len(c.ID.Pattern) == 0 || fits(id, c.ID.Pattern) {
				return true
			}
		case slices.Contains(c.ID.Names, id):
			return true
		}
	}
	return false
}

// controls looks at which controls are read and listened to.
func (l *lint) controls() {
	heard, sure := l.heard()
	if !sure || l.card.Card.JavaScript == "" {
		return
	}
	live, clicks := false, false // the card answers to edits; to clicks
	for id, types := range heard {
		edits := slices.ContainsFunc(types, func(t string) bool { return t != "click" })
		toggle := l.page.types[id] == "checkbox" || l.page.types[id] == "radio"
		live = live || edits || toggle
		clicks = clicks || slices.Contains(types, "click") && !toggle
	}
	var unheard []part
	for _, p := range l.page.parts {
		switch {
		case p.kind == "button":
			l.button(p, heard)
		case inert(p.node) || l.around(p, heard):
		case p.id == "" && p.kind != "radio" && p.kind != "checkbox":
			l.add(limits.SeverityWarning, limits.ControlUnread, "html", p.offset,
				fmt.Sprintf("this %s has no id, so that the script never sees it", control(p)), "give it an id and read it, or remove it")
		case p.id == "" || len(heard[p.id]) > 0:
		case !l.reads(p.id):
			if l.alone(p) {
				l.add(limits.SeverityWarning, limits.ControlUnread, "html", p.offset,
					fmt.Sprintf("the %s %s does nothing: the script neither reads it nor listens to it", control(p), p.id),
					fmt.Sprintf("add ui.on('%s', 'input', …) and read it with ui.input('%s').value, or remove it", p.id, p.id))
			}
		default:
			unheard = append(unheard, p)
		}
	}
	switch {
	case len(unheard) == 0:
	case live && !clicks:
		for _, p := range unheard {
			l.add(limits.SeverityWarning, limits.ControlUnheard, "html", p.offset,
				fmt.Sprintf("the %s %s is read, but nothing happens when it is moved: it has no handler", control(p), p.id),
				fmt.Sprintf("add ui.on('%s', '%s', …)", p.id, usual(p.kind)))
		}
	case !live && clicks:
		p := unheard[0]
		var ids []string
		for _, p := range unheard {
			ids = append(ids, p.id)
		}
		l.add(limits.SeverityNote, limits.ClickOnly, "html", p.offset,
			fmt.Sprintf("the card calculates at clicks alone: what it shows does not follow %s, and a click whose round is dropped for a newer edit shows nothing (R87)", some(ids)),
			fmt.Sprintf("also call the handler on '%s' of the controls", usual(p.kind)))
	}
	l.unbounded(heard)
}

// button reports one that does nothing.
func (l *lint) button(p part, heard map[string][]string) {
	switch {
	case inert(p.node) || l.around(p, heard) || len(heard[p.id]) > 0:
	case p.id == "":
		l.add(limits.SeverityWarning, limits.ControlUnheard, "html", p.offset,
			"this button has no id, so that nothing can listen to it", "give it an id and add ui.on(id, 'click', …), or remove it")
	default:
		l.add(limits.SeverityWarning, limits.ControlUnheard, "html", p.offset,
			fmt.Sprintf("the button %s does nothing: it has no handler", p.id), fmt.Sprintf("add ui.on('%s', 'click', …), or remove it", p.id))
	}
}

// alone tells that no other control speaks for this one: a radio may be there for its group to have another choice.
func (l *lint) alone(p part) bool {
	name, _ := p.node.AttrValue("name")
	if p.kind != "radio" || name == "" {
		return true
	}
	for _, q := range l.page.parts {
		if other, _ := q.node.AttrValue("name"); q.kind == "radio" && other == name && q.id != "" && q.id != p.id && l.reads(q.id) {
			return false
		}
	}
	return true
}

// around tells that something around a control listens to clicks.
func (l *lint) around(p part, heard map[string][]string) bool {
	for n := p.node.Parent; n != nil; n = n.Parent {
		if id, ok := n.AttrValue("id"); ok && slices.Contains(heard[id], "click") {
			return true
		}
	}
	return false
}

// inert tells that a user cannot change a control, at first.
func inert(n *sanitize.Node) bool {
	for _, a := range []string{"disabled", "readonly"} {
		if _, ok := n.AttrValue(a); ok {
			return true
		}
	}
	for n = n.Parent; n != nil; n = n.Parent {
		if _, ok := n.AttrValue("disabled"); ok && n.Tag == "fieldset" {
			return true
		}
	}
	return false
}

func control(p part) string {
	switch p.kind {
	case "select", "textarea", "button", "checkbox", "radio", "range":
		return p.kind
	}
	return p.kind + " input"
}

// usual is the event that suits a kind of control.
func usual(kind string) string {
	switch kind {
	case "select", "checkbox", "radio":
		return "change"
	}
	return "input"
}

// unbounded reports number inputs in a script that never compares anything: min and max do not bind what is typed.
func (l *lint) unbounded(heard map[string][]string) {
	if l.script.Bounds {
		return
	}
	var ids []string
	at := -1
	for _, p := range l.page.parts {
		if p.kind == "number" && p.id != "" && !inert(p.node) && (len(heard[p.id]) > 0 || l.reads(p.id)) {
			if len(ids) == 0 {
				at = p.offset
			}
			ids = append(ids, p.id)
		}
	}
	if len(ids) > 0 {
		l.add(limits.SeverityNote, limits.NumberUnbounded, "html", at,
			fmt.Sprintf("the script never bounds %s: min and max do not bind what is typed, and an emptied field has the value \"\"", some(ids)),
			"bound it: Math.min(high, Math.max(low, n)), with a fallback where Number.isFinite(n) is false or the text is empty")
	}
}

// outputs reports elements that are there to be filled, and never are.
func (l *lint) outputs() {
	for _, n := range l.page.outputs {
		id, _ := n.AttrValue("id")
		if !l.touched(id) && !l.page.named[id] && !l.page.labels[id] && !strings.Contains(l.card.Card.CSS, "#"+id) && !l.within(n) {
			l.add(limits.SeverityWarning, limits.OutputDead, "html", l.page.place(id),
				fmt.Sprintf("<%s id=\"%s\"> is empty, and the script never fills it", n.Tag, id),
				fmt.Sprintf("add ui.text('%s', …), or remove the element", id))
		}
	}
}

// within tells that something around the element is written as a whole.
func (l *lint) within(n *sanitize.Node) bool {
	for n = n.Parent; n != nil; n = n.Parent {
		if id, ok := n.AttrValue("id"); ok && l.touched(id) {
			return true
		}
	}
	return false
}

// labels reports controls that no label names.
func (l *lint) labels() {
	for _, p := range l.page.parts {
		if p.labelled {
			continue
		}
		if p.kind == "button" {
			l.add(limits.SeverityWarning, limits.ControlUnlabelled, "html", p.offset, "a button without text or aria-label: nobody can tell what it does", "write its text between <button> and </button>")
			continue
		}
		what := "this " + control(p)
		fix := "put it into a <label> with its name"
		if p.id != "" {
			what = "the " + control(p) + " " + p.id
			fix = fmt.Sprintf("add <label for=\"%s\">…</label>", p.id)
		}
		l.add(limits.SeverityWarning, limits.ControlUnlabelled, "html", p.offset, what+" has no label: a person cannot tell what to enter", fix)
	}
}
