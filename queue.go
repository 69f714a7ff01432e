package cardrun

import (
	"errors"
	"slices"

	"example.com/cardrun/limits"
	"example.com/cardrun/patches"
)

// queue holds the events that wait for a session's worker, and the clock of the user's edits.
type queue struct {
	waiting []Event
	clock   uint64            // counts edits
	edits   map[string]uint64 // control → clock of its newest edit
	echo    echo
}

// echo is what a page may still send of a click on a checkbox or radio whose events were made here already: its own input
// and change, which then change nothing.
type echo struct {
	id    string
	kinds []string
}

// heard tells whether an event that changed nothing is the rest of such a click, and strikes it off. Any other event ends
// the echo.
func (q *queue) heard(e Event, changed bool) bool {
	if e.ID == q.echo.id && !changed {
		if n := slices.Index(q.echo.kinds, e.Type); n >= 0 {
			q.echo.kinds = q.echo.kinds[n+1:]
			return true
		}
	}
	q.echo = echo{}
	return false
}

// pop takes the oldest event (R71).
func (q *queue) pop() (Event, bool) {
	if len(q.waiting) == 0 {
		return Event{}, false
	}
	e := q.waiting[0]
	q.waiting = q.waiting[1:]
	return e, true
}

// push adds an event, or merges it into the last one where both are input events of one control (R73, D14). When
// limits.Queue events wait it is ignored (R74).
func (q *queue) push(id, kind string) (combined, ignored bool) {
	if n := len(q.waiting); n > 0 && kind == "input" && q.waiting[n-1].ID == id && q.waiting[n-1].Type == "input" {
		return true, false
	} else if n == limits.Queue {
		return false, true
	}
	q.waiting = append(q.waiting, Event{ID: id, Type: kind})
	return false, false
}

// edited notes that the user changed a control, whatever becomes of the event (D16).
func (q *queue) edited(id string) {
	q.clock++
	if q.edits == nil {
		q.edits = make(map[string]uint64)
	}
	q.edits[id] = q.clock
}

// conflicts tells whether a batch would change a control that the user has edited since the round was dispatched (R82,
// R83, D16). The edit counts also where no event of it waits: when the queue was full, 16 rounds follow that see it, and
// where the card does not listen to it, a view that only a button computes stays stale until the next click (R87). In no
// case is what the user entered overwritten by a round that did not know of it.
func (q *queue) conflicts(s *patches.Stage, dispatched uint64) bool {
	for id, clock := range q.edits {
		if clock > dispatched && s.Changes(id) {
			return true
		}
	}
	return false
}

// take shows what the user entered, and queues the events that a browser would give for it (D11). It tells whether one of
// them was combined with one that waits, and whether one was ignored. The caller holds mu.
func (s *Session) take(e Event) (combined, ignored bool) {
	a := s.act
	d := a.document
	c, control := d.Control(e.ID)
	if !d.Has(e.ID) || d.Disabled(e.ID) {
		return false, true
	}
	toggle := c.Type == "checkbox" || c.Type == "radio"
	if e.Type != "click" && (!control || c.Type == "button") {
		return false, true // has no value that could be entered
	}
	changed := false
	if control {
		value, checked := e.Value, e.Checked
		if toggle && e.Type == "click" && checked == nil {
			on := c.Type == "radio" || !c.Checked
			checked = &on
		}
		var err error
		if changed, err = d.Edit(e.ID, value, checked); err != nil && (e.Type != "click" || !errors.Is(err, patches.ErrInert)) {
			return false, true
		}
	}
	if s.queue.heard(e, changed) {
		return true, false
	}
	if changed {
		s.queue.edited(e.ID)
	}
	kinds := []string{e.Type}
	click := toggle && e.Type == "click" && changed
	if click {
		kinds = []string{"click", "input", "change"}
		s.queue.echo.id = e.ID
	}
	for _, kind := range kinds {
		merged, full := false, false
		if a.handles(e.ID, kind) {
			merged, full = s.queue.push(e.ID, kind)
			combined, ignored = combined || merged, ignored || full
		}
		if click && kind != "click" && !full {
			s.queue.echo.kinds = append(s.queue.echo.kinds, kind)
		}
	}
	return combined, ignored
}
