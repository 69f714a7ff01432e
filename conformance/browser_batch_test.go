//go:build browser

package conformance_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/cardrun"
	"example.com/cardrun/conformance"
	"example.com/cardrun/patches"
	"example.com/cardrun/sanitize"
)

// A mirror is a document of ours beside the same card in the browser, each changed by the same batches and edits.
type mirror struct {
	b    *tab
	name string
	doc  *patches.Document
	// log is what was done to it, for the message of a difference.
	log []string
	// used are the meant differences that mattered.
	used map[string]bool
	bad  bool
}

// openMirror opens a card on both sides.
func openMirror(t *testing.T, b *tab, name string, h sanitize.HTML) *mirror {
	t.Helper()
	d, err := patches.New(h)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	m := &mirror{b: b, name: name, doc: d, used: map[string]bool{}}
	var s state
	b.ask(&s, "harness.open", h.String())
	m.log = append(m.log, "html "+h.String())
	m.compare(t, &s)
	return m
}

// apply applies a batch to both, after our side has accepted it. It tells whether the batch was accepted.
func (m *mirror) apply(t *testing.T, batch patches.Batch) bool {
	t.Helper()
	applied, err := m.doc.Apply(batch)
	if err != nil {
		return false
	}
	for _, p := range applied {
		m.log = append(m.log, fmt.Sprintf("ui.%s(%q, %q)", p.Op, p.ID, p.Value))
	}
	var s state
	m.b.ask(&s, "harness.apply", applied)
	m.compare(t, &s)
	return true
}

// edit does to both what a user does: ours as a session does it, the browser's by rules written apart from them.
func (m *mirror) edit(t *testing.T, e cardrun.Event) {
	t.Helper()
	value, checked := e.Value, e.Checked
	c, ok := m.doc.Control(e.ID)
	if toggle := c.Type == "checkbox" || c.Type == "radio"; ok && toggle && e.Type == "click" && checked == nil {
		on := c.Type == "radio" || !c.Checked
		checked = &on
	}
	if ok && (e.Type == "click" || c.Type != "button") {
		if _, err := m.doc.Edit(e.ID, value, checked); err != nil && !errors.Is(err, patches.ErrInert) {
			return // over a limit; nothing changes, and a page would not have let it happen
		}
	}
	m.log = append(m.log, fmt.Sprintf("%s on %s, value %s, checked %s", e.Type, e.ID, show(value), show(checked)))
	var s state
	m.b.ask(&s, "harness.edit", []cardrun.Event{e})
	m.compare(t, &s)
}

func show[V any](v *V) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%q", fmt.Sprint(*v))
}

// compare holds the browser's state against ours: the tree as a DOM has it, all controls, all texts.
func (m *mirror) compare(t *testing.T, s *state) {
	t.Helper()
	if m.bad {
		return // said already
	}
	differs := func(what, ours, browsers string) {
		t.Helper()
		m.bad = true
		t.Errorf("%s: %s\n-ours +browser's:\n%s\nafter %q", m.name, what, cmp.Diff(ours, browsers), m.log)
	}
	for _, u := range s.Used {
		m.used[u] = true
	}
	if ours := treeOf(m.doc.Nodes()); ours != s.Tree {
		differs("tree", ours, s.Tree)
	}
	if ours := m.doc.Controls(); !sameControls(ours, s.Controls, m.used) {
		differs("controls", fmt.Sprintf("%+v", ours), fmt.Sprintf("%+v", s.Controls))
	}
	for id, theirs := range s.Texts {
		ours, ok := m.doc.ElementText(id)
		if !ok || ours != theirs {
			differs("text of "+id, ours, theirs)
		}
	}
}

// sameControls tells whether two lists of controls are the same, but for how a range's number is spelled.
func sameControls(ours, browsers []patches.Control, used map[string]bool) bool {
	return slices.EqualFunc(ours, browsers, func(a, b patches.Control) bool {
		if a.Type == "range" && a.Value != b.Value {
			x, errX := strconv.ParseFloat(a.Value, 64)
			y, errY := strconv.ParseFloat(b.Value, 64)
			if errX == nil && errY == nil && x == y {
				used["spelling"] = true
				b.Value = a.Value
			}
		}
		return a == b
	})
}

// shown is what our document shows now.
func (m *mirror) shown() shown {
	s := shown{Name: m.name, HTML: m.doc.HTML(), Controls: m.doc.Controls()}
	h, _ := sanitize.Card(s.HTML)
	if treeOf(plainOf(h.Nodes())) != treeOf(plainOf(m.doc.Nodes())) {
		s.Moved = true
		return s
	}
	s.Texts = map[string]string{}
	eachID(h.Nodes(), func(id string, n *sanitize.Node) {
		// The text of a textarea is its default value in the document, and in what is shown the value that it holds.
		if !holdsTextarea(n) {
			if text, ok := m.doc.ElementText(id); ok {
				s.Texts[id] = text
			}
		}
	})
	return s
}

// plainOf takes out of a tree what tells only the state of controls.
func plainOf(nodes []*sanitize.Node) []*sanitize.Node {
	for _, n := range nodes {
		kept := n.Attr[:0]
		for _, a := range n.Attr {
			switch a.Name {
			case "value", "checked", "selected", "maxlength":
			default:
				kept = append(kept, a)
			}
		}
		n.Attr = kept
		if n.Tag == "textarea" {
			n.Children = nil
		}
		plainOf(n.Children)
	}
	return nodes
}

func holdsTextarea(n *sanitize.Node) bool {
	return n.Tag == "textarea" || slices.ContainsFunc(n.Children, holdsTextarea)
}

func eachID(nodes []*sanitize.Node, visit func(id string, n *sanitize.Node)) {
	for _, n := range nodes {
		if id, ok := n.AttrValue("id"); ok {
			visit(id, n)
		}
		eachID(n.Children, visit)
	}
}

// cards gives everything there is to play: the examples, the cases here and beside the repository, and the cards there.
func cardCases(t *testing.T) []conformance.Case {
	t.Helper()
	cases := load(t, "cases")
	for _, dir := range []string{filepath.Join("..", "examples"), filepath.Join("..", "..", "shared", "cards")} {
		files, err := filepath.Glob(filepath.Join(dir, "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		if len(files) == 0 {
			t.Logf("NOTHING IS PROVED of the cards in %s: there are none", dir)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			cases = append(cases, conformance.Case{File: file, Name: filepath.Base(file), Body: data})
		}
	}
	if dir := filepath.Join("..", "..", "shared", "cases"); exists(dir) {
		cases = append(cases, load(t, dir)...)
	} else {
		t.Logf("NOTHING IS PROVED of the cases in %s: it is not beside the repository", dir)
	}
	return cases
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// playBeside plays a case in a session, one event at a time, and does to a document and to the browser what the session's
// rounds say. It gives how many batches both applied alike, and what was shown.
func playBeside(t *testing.T, b *tab, r *cardrun.Runtime, c *conformance.Case) (batches int, list []shown) {
	t.Helper()
	card := cardrun.Decode(c.Body)
	checked, _ := card.Check()
	if checked == nil {
		return 0, nil
	}
	session, snapshot, err := r.Open(t.Context(), &card, cardrun.SessionOptions{RenderOptions: cardrun.RenderOptions{Seed: c.Seed, Now: c.Now}})
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	if session == nil {
		return 0, nil // its script does not parse
	}
	defer session.Close()
	m := openMirror(t, b, c.Name, checked.HTML)
	css := checked.Stylesheet.Scoped(".cardrun-card")
	seen := 0
	follow := func() {
		t.Helper()
		for ; seen < len(snapshot.Rounds); seen++ {
			round := &snapshot.Rounds[seen]
			if round.Discarded || len(round.Patches) == 0 {
				continue
			}
			if !m.apply(t, round.Patches) {
				t.Errorf("%s: round %d was applied by the session, and not here", c.Name, seen)
			} else if !m.bad {
				batches++
			}
		}
		if html := m.doc.HTML(); html != snapshot.Display.HTML {
			t.Errorf("%s: round %d: not what the session shows\n-ours +session's:\n%s", c.Name, seen, cmp.Diff(html, snapshot.Display.HTML))
			m.bad = true
		}
		s := m.shown()
		s.CSS, s.Controls = css, snapshot.Controls
		if len(list) == 0 || list[len(list)-1].HTML != s.HTML {
			list = append(list, s)
		}
	}
	follow()
	for i := range c.Steps {
		for _, e := range c.Steps[i].Events {
			event := cardrun.Event{ID: e.ID, Type: e.Type, Value: e.Value, Checked: e.Checked}
			_, err := session.Send(t.Context(), event)
			switch {
			case errors.Is(err, cardrun.ErrEnded), errors.Is(err, cardrun.ErrEvent):
				continue
			case err != nil:
				t.Fatalf("%s: %v", c.Name, err)
			}
			m.edit(t, event)
			snapshot = session.Snapshot()
			follow()
		}
	}
	if len(list) > 0 && m.bad {
		return 0, nil
	}
	return batches, list
}
