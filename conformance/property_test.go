package conformance_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.com/cardrun"
	"example.com/cardrun/conformance"
	"example.com/cardrun/limits"
	"example.com/cardrun/patches"
	"example.com/cardrun/sanitize"
)

// The cards of the property test do with every event what its value tells them: the value is run as a list of calls, so
// that random events make random rounds. Each has every kind of control.
const (
	propertyHTML = `<div id="box"><p id="p">p</p></div><input id="t" maxlength="9"><input id="n" type="number"><input id="r" type="range" step="7">` +
		`<input id="c" type="checkbox"><input id="ra" type="radio" name="g"><input id="rb" type="radio" name="g" checked>` +
		`<select id="s"><option id="o1">a</option><optgroup label="g"><option id="o2" value="v">b</option></optgroup></select>` +
		`<textarea id="a"></textarea><button id="b">B</button><table><tbody id="tb"><tr><td id="td">d</td></tr></tbody></table>` +
		`<svg id="v"><text id="x">x</text></svg><fieldset id="f" disabled><input id="d"></fieldset>`
	propertyScript = `let calls = 0;
for (const id of ['p', 't', 'n', 'r', 'c', 'ra', 'rb', 's', 'a', 'b', 'td', 'x', 'd', 'new']) for (const type of ['input', 'change', 'click'])
	ui.on(id, type, (e) => {
		calls++;
		const orders = ui.input('a').value;
		for (const line of orders.split('\n')) {
			const [op, target, ...rest] = line.split(' '), value = rest.join(' ');
			if (op === 'text' || op === 'html' || op === 'value') ui[op](target, value);
			else if (op === 'twice') ui.html(target, value + value);
			else if (op === 'throw') throw new Error(value);
		}
	});`
)

var (
	propertyIDs   = []string{"box", "p", "t", "n", "r", "c", "ra", "rb", "s", "o1", "o2", "a", "b", "tb", "td", "v", "x", "f", "d", "new", "gone"}
	propertyTexts = []string{"", "x", "5", "-1e3", "1e999", "a\nb", "<b>&amp;", "\x00\u2028\ufffd", "v", "a", "\U0001F600é", strings.Repeat("w", 2048), strings.Repeat("€", 700)}
	propertyHTMLs = []string{
		"", "plain", `<input id="new" type="range" value="3">`, `<option id="new" selected>n</option>`, `<b id="gone">g</b>`, `<p id="p">again</p>`,
		`<table><tr><td>1<td>2</table>`, `<tr><td>bare</td></tr>`, `<li>1<li>2`, `<select><option>a<option selected>b</select>`, `<textarea>` + "\n\n" + `t</textarea>`,
		`<svg><g><text>t</text><foreignObject><p>x`, `<script>x()</script><img src=x onerror=y()>`, `<p><div>mis<p>nested`, `<button>a<button>b`, `<h1><h2>h`,
		`<b><i><u>x</b></i></u>y`, `<a href=x>l</a>`, `<pre>` + "\n\n" + `p`, `<details open><summary>s</summary>d`, `<fieldset disabled><legend><input id="new"></legend><input></fieldset>`,
		`<input type="radio" name="g" checked>`, `<math><mi>m`, `<template><p>t`, `<!--c-->x`, `<ruby>r<rt>t`, `<input type="file">`, `<p id="1">`, `&lt;&amp;lt;`, `<table><caption>c<table><tr><td>n`,
	}
)

// TestSessionProperty plays random events, hostile ones too, on a card whose script does random things, and checks after
// each what must hold whatever happened: the controls are within their limits, what is displayed comes back from the
// sanitizer unchanged (R30), an activation that ended stays as it is (R120).
func TestSessionProperty(t *testing.T) {
	r := engine(t)
	rapid.Check(t, func(t *rapid.T) {
		card := &cardrun.Card{Title: "T", Summary: "S", HTML: propertyHTML, JavaScript: propertyScript}
		s, snapshot, err := r.Open(t.Context(), card, cardrun.SessionOptions{})
		if err != nil || s == nil {
			t.Fatalf("open: %v %+v", err, snapshot)
		}
		defer s.Close()
		for step := range rapid.IntRange(1, 6).Draw(t, "steps") {
			before := s.Snapshot()
			var events []cardrun.Event
			if rapid.IntRange(0, 3).Draw(t, "program?") > 0 {
				todo := strings.Join(rapid.SliceOfN(rapid.Custom(call), 1, 5).Draw(t, "calls"), "\n")
				events = append(events, input("a", todo))
			}
			events = append(events, rapid.SliceOfN(rapid.Custom(event), 1, 20).Draw(t, "events")...)
			switch _, err := s.Send(t.Context(), events...); {
			case err == nil, errors.Is(err, cardrun.ErrEvent):
			case errors.Is(err, cardrun.ErrEnded) && before.Outcome == cardrun.Failed:
			default:
				t.Fatalf("step %d: %v", step, err)
			}
			after := s.Snapshot()
			expectSound(t, after)
			if before.Outcome == cardrun.Failed && (after.Display.HTML != before.Display.HTML || len(after.Rounds) != len(before.Rounds)) {
				t.Fatalf("step %d: an ended activation changed", step)
			}
		}
	})
}

// call is one line of the program in the textarea.
func call(t *rapid.T) string {
	id := rapid.SampledFrom(propertyIDs).Draw(t, "target")
	switch op := rapid.SampledFrom([]string{"text", "html", "html", "html", "value", "twice", "throw", "nothing"}).Draw(t, "op"); op {
	case "html", "twice":
		return op + " " + id + " " + strings.ReplaceAll(rapid.SampledFrom(propertyHTMLs).Draw(t, "html"), "\n", "&#10;")
	default:
		return op + " " + id + " " + rapid.SampledFrom([]string{"", "x", "v", "50", "<b>"}).Draw(t, "text")
	}
}

// event is one that a page sends, or one that only somebody else would.
func event(t *rapid.T) cardrun.Event {
	e := cardrun.Event{ID: rapid.SampledFrom(propertyIDs).Draw(t, "id"), Type: rapid.SampledFrom([]string{"input", "change", "click"}).Draw(t, "type")}
	if rapid.IntRange(0, 60).Draw(t, "malformed") == 0 {
		e.Type = "keydown"
	}
	if rapid.Bool().Draw(t, "has value") && e.ID != "a" { // a's value is the program
		v := rapid.SampledFrom(propertyTexts).Draw(t, "value")
		e.Value = &v
	}
	if rapid.IntRange(0, 2).Draw(t, "has checked") == 0 {
		c := rapid.Bool().Draw(t, "checked")
		e.Checked = &c
	}
	return e
}

// expectSound checks what must hold for every card at any time.
func expectSound(t *rapid.T, s *cardrun.Snapshot) {
	if (s.Outcome == cardrun.Failed) != (s.Failure != nil) || s.Outcome == cardrun.Rejected {
		t.Fatalf("outcome %s with failure %+v", s.Outcome, s.Failure)
	}
	if s.Failure != nil && s.Failure.Code == limits.Engine {
		t.Fatalf("the engine failed: %+v", s.Failure)
	}
	h, err := sanitize.Fragment(s.Display.HTML)
	if err != nil {
		t.Fatalf("%v in %q", err, s.Display.HTML)
	}
	if got := h.String(); got != s.Display.HTML {
		t.Fatalf("the sanitizer makes\n%q of\n%q", got, s.Display.HTML)
	}
	if found := (&conformance.Expect{Stable: true, DisplayLacks: []string{"<script", "<img", "<a "}}).Check(s); len(found) > 0 {
		t.Fatalf("%+v", found)
	}
	if err := controlsFault(s.Controls); err != nil {
		t.Fatal(err)
	}
	for i, round := range s.Rounds {
		if len(round.Patches) > limits.Patches || round.Usage.Microtasks > limits.Microtasks || round.Usage.BatchBytes > limits.Batch {
			t.Fatalf("round %d: %+v", i, round.Usage)
		}
	}
}

// controlsFault finds a control that holds what none may: R23, R25, R105, D21.
func controlsFault(cs []patches.Control) error {
	ids, group := map[string]bool{}, 0
	if len(cs) > limits.Controls {
		return fmt.Errorf("%d controls", len(cs))
	}
	for _, c := range cs {
		if ids[c.ID] || !limits.ValidID(c.ID) {
			return fmt.Errorf("the id %q is bad, or there twice", c.ID)
		}
		ids[c.ID] = true
		if limits.Length(c.Value) > limits.Value {
			return fmt.Errorf("%s holds %d characters", c.ID, limits.Length(c.Value))
		}
		switch {
		case c.Type == "text" && strings.ContainsAny(c.Value, "\r\n"):
			return fmt.Errorf("%s holds a line break", c.ID)
		case c.Type == "textarea" && strings.Contains(c.Value, "\r"):
			return fmt.Errorf("%s holds a carriage return", c.ID)
		case c.Type == "range" && c.Value == "":
			return fmt.Errorf("%s, a range, is empty", c.ID)
		case c.Checked && c.Type != "checkbox" && c.Type != "radio":
			return fmt.Errorf("%s, a %s, is checked", c.ID, c.Type)
		case c.Checked && (c.ID == "ra" || c.ID == "rb"):
			group++
		}
	}
	if group > 1 {
		return errors.New("two radios of a group are checked")
	}
	return nil
}
