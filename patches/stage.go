package patches

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"example.com/cardrun/limits"
	"example.com/cardrun/sanitize"
)

// Stage is a batch applied to a working copy: what the document will be if [Stage.Commit] is called. To drop the batch
// (R82), drop the Stage.
type Stage struct {
	base    *Document
	version uint64 // of base, when the copy was taken
	work    *Document
	batch   Batch

	stale    bool     // elements with ids came or went since the index was made
	garbage  bool     // nodes went: the list is to be compacted
	elements bool     // elements came: the limits of R22–R25 are to be checked
	values   bool     // a control or option may have another value than before
	controls []string // ids of the controls that the batch would change
	groups   []string // names of the radio groups that it would change
}

// Stage applies b to a working copy of d; d itself does not change (R80). Each target is looked up as the patches before
// it have left the document; ids, counts and values are checked once, at the end (D18).
//
// The error is a *[limits.Error] whose Field is the id of the patch's target and whose Message tells the number of the patch.
// Its code is invalid_patch for an unknown operation, a target that is not there, ui.value on what is no control,
// unsupported controls or bad ids in html, and a document over R22, R23 or R25 (R81); input_limit for a batch over
// 16,000 UTF-16 code units or bytes (R107), a control's or option's value over 2,048, and a snapshot over 16,000 where
// the batch may have changed values (R86); patches for more than 64 patches (R104).
func (d *Document) Stage(b Batch) (*Stage, error) {
	if len(b) > limits.Patches {
		return nil, &limits.Error{Code: limits.TooManyPatches, Message: fmt.Sprintf(
			"the batch has %d patches, the limit is %d; update larger parts with one ui.html", len(b), limits.Patches)}
	}
	// Bytes are never fewer than units, so the byte count decides (D1).
	if _, bytes := b.Size(); bytes > limits.Batch {
		return nil, &limits.Error{Code: limits.InputLimit, Message: fmt.Sprintf(
			"the batch takes %d bytes as JSON, the limit is %d; show less at a time", bytes, limits.Batch)}
	}
	s := &Stage{base: d, version: d.version, work: d.Clone(), batch: slices.Clone(b)}
	for i := range s.batch {
		if err := s.apply(&s.batch[i]); err != nil {
			return nil, fault(i, b[i], err)
		}
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	return s, nil
}

// fault says which patch an error is about.
func fault(i int, p Patch, err error) error {
	e := &limits.Error{Code: limits.InvalidPatch, Field: p.ID, Message: err.Error(), Cause: err}
	var below *limits.Error
	if errors.As(err, &below) {
		e.Code, e.Message = below.Code, below.Message
	}
	call := "ui." + string(p.Op)
	switch p.Op {
	case OpText, OpHTML, OpValue:
	default:
		call = "an unknown operation"
	}
	e.Message = fmt.Sprintf("patch %d (%s on %s): %s", i+1, call, strconv.Quote(limits.Cut(p.ID, limits.IDLength)), e.Message)
	return e
}

// apply does one patch and puts the sanitized html into it.
func (s *Stage) apply(p *Patch) error {
	d := s.work
	switch p.Op {
	case OpText, OpHTML, OpValue:
	default:
		return fmt.Errorf("%s is no operation; use text, html or value", strconv.Quote(limits.Cut(string(p.Op), 20)))
	}
	if !limits.ValidID(p.ID) {
		return errors.New("this is no id; an id is a letter, then letters, digits, _ or -, at most 64 characters")
	}
	if s.stale {
		d.index, s.stale = d.makeIndex(), false
	}
	target := d.find(p.ID)
	if target == 0 {
		return errors.New("no element has this id now; create it in html first, and look for a ui.html before that removed it")
	}
	switch p.Op {
	case OpValue:
		return s.value(target, p.Value)
	case OpText:
		s.text(target, toText(p.Value))
	case OpHTML:
		h, err := sanitize.Fragment(p.Value)
		if err != nil {
			return err
		}
		p.Value = h.String()
		s.html(target, h.Nodes())
	}
	return nil
}

func (s *Stage) value(target ref, v string) error {
	d := s.work
	n := &d.nodes[target]
	if !n.kind.control() {
		return fmt.Errorf("<%s> is no control and has no value; use ui.text or ui.html", n.tag)
	}
	if units := limits.Length(v); units > limits.Value {
		return &limits.Error{Code: limits.InputLimit, Message: fmt.Sprintf(
			"the value has %d characters (UTF-16 code units), the limit is %d; use a shorter one", units, limits.Value)}
	}
	s.changes(target)
	d.setValue(target, toText(v))
	return nil
}

// text replaces the children of an element by one text node.
func (s *Stage) text(target ref, text string) {
	d := s.work
	s.affects(target)
	n := &d.nodes[target]
	if isVoid(n) {
		return
	}
	if only := n.first; only != 0 && only == n.last && d.nodes[only].kind == kindString {
		// An empty text node is as good as none, and its place can be used again.
		d.nodes[only].data = text
	} else {
		s.clear(target)
		if text != "" {
			d.add(target, node{kind: kindString, data: text})
		}
	}
	s.childrenChanged(target)
}

// html replaces the children of an element by a fragment.
func (s *Stage) html(target ref, nodes []*sanitize.Node) {
	if len(nodes) == 1 && nodes[0].Tag == "" {
		s.text(target, toText(nodes[0].Text))
		return
	}
	d := s.work
	s.affects(target)
	if isVoid(&d.nodes[target]) {
		return
	}
	s.clear(target)
	d.insert(target, nodes)
	for c := d.nodes[target].first; c != 0; c = d.nodes[c].next {
		if d.nodes[c].kind != kindString {
			s.elements, s.stale = true, true
			s.affects(target) // what came is changed like what went
			break
		}
	}
	s.childrenChanged(target)
}

// clear takes all children away from target.
func (s *Stage) clear(target ref) {
	d := s.work
	options := d.nextOption(target, target) != 0
	for c := d.nodes[target].first; c != 0; c = d.nodes[c].next {
		s.garbage = true
		if d.nodes[c].kind != kindString {
			s.stale = true
			break
		}
	}
	d.clear(target)
	// A DOM takes the old children away before the new ones come, and a select settles in between: with its selected
	// option gone, another is selected by then. Texts that go from an optgroup settle nothing.
	if options {
		if sel := d.ancestor(target, kindSelect); sel != 0 {
			d.settle(sel)
		}
	}
}

// childrenChanged runs what HTML prescribes once the children of an element are others.
func (s *Stage) childrenChanged(target ref) {
	d := s.work
	if n := &d.nodes[target]; n.kind == kindTextarea && !n.has(flagDirty) {
		n.data = d.childText(target)
	}
	d.connect(target)
}

// affects notes what a patch that replaces the children of target changes (D16, R83): target itself if it is a control,
// the select around it, every control below it, and the groups of radios among these.
func (s *Stage) affects(target ref) {
	d := s.work
	n := &d.nodes[target]
	if n.kind.control() {
		s.changes(target)
		s.changesGroup(target)
	}
	if sel := d.ancestor(target, kindSelect); sel != 0 && sel != target {
		s.changes(sel)
	}
	if n.kind == kindOption {
		s.values = true
	}
	for at := d.after(target, target); at != 0; at = d.after(at, target) {
		switch k := d.nodes[at].kind; {
		case k.control():
			s.changes(at)
			s.changesGroup(at)
		case k == kindOption:
			s.values = true
		}
	}
}

// changes notes one control.
func (s *Stage) changes(n ref) {
	s.values = true
	if id, ok := s.work.nodes[n].attribute("id"); ok && !slices.Contains(s.controls, id) {
		s.controls = append(s.controls, id)
	}
}

// changesGroup notes the group of a radio.
func (s *Stage) changesGroup(n ref) {
	c := &s.work.nodes[n]
	if name, _ := c.attribute("name"); c.kind == kindRadio && name != "" && !slices.Contains(s.groups, name) {
		s.groups = append(s.groups, name)
	}
}

// check looks at the whole working copy once all patches are done.
func (s *Stage) check() error {
	d := s.work
	if s.elements {
		if err := sanitize.Check(d.export(0)); err != nil {
			return s.whole(err)
		}
	}
	if s.garbage {
		d.compact()
	}
	if s.garbage || s.stale {
		d.index = d.makeIndex()
	}
	if s.values {
		if err := d.checkValues(); err != nil {
			return s.whole(err)
		}
	}
	return nil
}

// whole says that an error is about the document as the batch would leave it.
func (s *Stage) whole(err error) error {
	var e *limits.Error
	if !errors.As(err, &e) {
		return err
	}
	when := "after the batch's only patch"
	if n := len(s.batch); n > 1 {
		when = fmt.Sprintf("after all %d patches of the batch", n)
	}
	return &limits.Error{Code: e.Code, Field: e.Field, Cause: err, Message: when + ", " + e.Message}
}

// Batch is the batch as applied: in an html patch, the sanitized html.
func (s *Stage) Batch() Batch { return slices.Clone(s.batch) }

// Changes reports whether the batch would change the control with that id (D16, R82, R83): a value patch on it; a text
// or html patch whose target is the control, is around it, or is an option or optgroup in it; one that removes, replaces
// or creates it; and for a radio, one that removes, replaces or creates a radio of its group.
func (s *Stage) Changes(id string) bool {
	if slices.Contains(s.controls, id) {
		return true
	}
	if len(s.groups) == 0 {
		return false
	}
	for _, d := range [...]*Document{s.base, s.work} {
		if n := d.find(id); n != 0 && d.nodes[n].kind == kindRadio {
			if name, _ := d.nodes[n].attribute("name"); name != "" && slices.Contains(s.groups, name) {
				return true
			}
		}
	}
	return false
}

// errStale is the error of [Stage.Commit].
var errStale = errors.New("commit batch: the document has changed since the batch was staged")

// Commit makes the working copy the document. It fails, and changes nothing, when the document has changed since
// [Document.Stage] made the copy, be it by an edit, by another batch, or by this very Stage.
func (s *Stage) Commit() error {
	if s.base.version != s.version {
		return errStale
	}
	s.base.nodes, s.base.index = s.work.nodes, s.work.index
	s.base.version++
	return nil
}

// Apply stages and commits b: all of it, or on an error nothing. It gives the batch as applied.
func (d *Document) Apply(b Batch) (Batch, error) {
	s, err := d.Stage(b)
	if err != nil {
		return nil, err
	}
	return s.batch, s.Commit()
}

// toText makes a guest's or user's string one that text can hold and a parser keeps: a NUL and each byte that is no
// valid UTF-8 become U+FFFD (D2).
func toText(s string) string {
	if strings.IndexByte(s, 0) < 0 && utf8.ValidString(s) {
		return s
	}
	r := []rune(s)
	for i := range r {
		if r[i] == 0 {
			r[i] = utf8.RuneError
		}
	}
	return string(r)
}
