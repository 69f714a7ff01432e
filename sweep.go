package cardrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/cardrun/sanitize"
)

// SweepOptions say over which values of a control a sweep goes.
type SweepOptions struct {
	RenderOptions
	// ID is the control: a number or range, a select, a checkbox or a radio.
	ID string
	// From, To and Step bound a number or range. Default: its min, max and step; where a step would give more than 101
	// values, a hundredth of the way, in whole steps.
	From, To, Step *float64
	// Time is how long the values may take together, since each may take a round's 250 ms. What comes behind is left out, and
	// Sweep.Ended says so. Default: a minute.
	Time time.Duration
}

// DefaultSweep is how long a sweep may take where nothing is said.
const DefaultSweep = time.Minute

// ErrSweep is the error of a sweep that cannot be made. It is wrapped with why.
var ErrSweep = errors.New("sweep")

// ErrNotReady is the error of a sweep over a card that is rejected, or fails at the start. It is wrapped with why.
var ErrNotReady = errors.New("the card is not ready")

// mostRows bounds a sweep.
const mostRows = 10_000

// Sweep is what a card displays over the values of one control.
type Sweep struct {
	ID      string   `json:"id"`
	Columns []string `json:"columns"`
	Rows    []Row    `json:"rows"`
	// Ended tells why it ended: all values are there (done), or the time was used up (time).
	Ended string `json:"ended"`
	// Values is how many there were to be.
	Values int `json:"values"`
}

// Row is one value with the numbers displayed for it, a column each; nil where there is none. Failure is why there is
// nothing, or empty.
type Row struct {
	Value   string     `json:"value"`
	Numbers []*float64 `json:"numbers"`
	Failure string     `json:"failure,omitzero"`
}

// Sweep shows a card at each value of a control, the others as they are at first, and collects the numbers in what the
// script writes. A column is a number's place: the id of the element, with .2, .3 and so on for its second number and those
// behind. The error is an [ErrSweep], an [ErrNotReady], or as for Render.
func (r *Runtime) Sweep(ctx context.Context, c *Card, o SweepOptions) (*Sweep, error) {
	s, snapshot, err := r.Open(ctx, c, SessionOptions{RenderOptions: o.RenderOptions})
	if err != nil {
		return nil, err
	}
	if s != nil {
		defer s.Close()
	}
	switch {
	case snapshot.Outcome == Rejected:
		return nil, fmt.Errorf("%w: it is rejected: %s", ErrNotReady, snapshot.Diagnostics[0])
	case snapshot.Failure != nil:
		return nil, fmt.Errorf("%w: it failed: %s: %s", ErrNotReady, snapshot.Failure.Code, snapshot.Failure.Message)
	}
	checked, _ := c.Check()
	p := &prober{rt: r, card: checked, options: o.RenderOptions}
	first, err := p.start(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer first.close()
	start, err := first.save(ctx, nil)
	if err != nil {
		return nil, err
	}
	if start == nil {
		return nil, fmt.Errorf("%w: the card holds too much memory to be gone back to", ErrSweep)
	}
	moves, err := first.sweepMoves(o)
	if err != nil {
		return nil, err
	}
	out := &Sweep{ID: o.ID, Rows: []Row{}, Ended: "done", Values: len(moves)}
	t := table{places: map[string]int{}}
	end := time.Now().Add(cmp.Or(o.Time, DefaultSweep))
	for _, m := range moves {
		if len(out.Rows) > 0 && time.Now().After(end) {
			out.Ended = "time"
			break
		}
		at := p.resume(start)
		row := Row{Value: m.value}
		var written []string
		at.watch = func(r *run) {
			for _, patch := range r.last.Batch {
				written = append(written, patch.ID)
			}
		}
		if m.kind != "" {
			if _, err = at.play(ctx, m.move); err != nil {
				at.close()
				return nil, err
			}
		}
		if f := at.failure(); f != nil {
			row.Failure = string(f.Code) + ": " + f.Message
		} else {
			for _, patch := range first.s.act.rounds.rounds[0].Patches {
				written = append(written, patch.ID)
			}
			t.read(at, written, &row)
		}
		at.close()
		out.Rows = append(out.Rows, row)
	}
	out.Columns = t.names
	for i := range out.Rows {
		n := &out.Rows[i].Numbers
		*n = append(*n, make([]*float64, len(t.names)-len(*n))...)
	}
	return out, nil
}

// sweepMove is a move with the value that stands for it in the table. Without a kind the control is as it is at first.
type sweepMove struct {
	move
	value string
}

func (r *run) sweepMoves(o SweepOptions) ([]sweepMove, error) {
	d := r.document()
	c, ok := d.Control(o.ID)
	if !ok {
		var ids []string
		for _, c := range r.controls() {
			ids = append(ids, c.ID)
		}
		return nil, fmt.Errorf("%w: there is no control %.64q; there are: %s", ErrSweep, o.ID, some(ids))
	}
	set := func(v string) sweepMove { return sweepMove{move{kind: "set", id: o.ID, value: v}, v} }
	var moves []sweepMove
	bounded := o.From != nil || o.To != nil || o.Step != nil
	switch c.Type {
	case "number", "range":
		return r.numberMoves(o)
	case "select":
		for _, v := range d.Options(o.ID) {
			moves = append(moves, set(v))
		}
	case "checkbox":
		now, other := "off", "on"
		if c.Checked {
			now, other = other, now
		}
		moves = []sweepMove{{value: now}, {move{kind: "toggle", id: o.ID}, other}}
	case "radio":
		moves = []sweepMove{{value: "at first"}, {move{kind: "toggle", id: o.ID}, c.Value}}
	default:
		return nil, fmt.Errorf("%w: %s is a %s; give a number, range, select, checkbox or radio", ErrSweep, o.ID, c.Type)
	}
	if bounded {
		return nil, fmt.Errorf("%w: %s is a %s, which has no range; leave from, to and step out", ErrSweep, o.ID, c.Type)
	}
	return moves, nil
}

func (r *run) numberMoves(o SweepOptions) ([]sweepMove, error) {
	bound := func(given *float64, attribute string, otherwise float64) float64 {
		if given != nil {
			return *given
		}
		s, _ := r.document().Attribute(o.ID, attribute)
		if x, err := strconv.ParseFloat(s, 64); err == nil && !math.IsInf(x, 0) {
			return x
		}
		return otherwise
	}
	from, to, step := bound(o.From, "min", 0), bound(o.To, "max", 100), bound(o.Step, "step", 1)
	switch {
	case step <= 0 || math.IsNaN(from+to+step) || math.IsInf(from+to+step, 0):
		return nil, fmt.Errorf("%w: from %g to %g in steps of %g goes nowhere; give finite numbers and a step above 0", ErrSweep, from, to, step)
	case math.IsInf(to-from, 0):
		return nil, fmt.Errorf("%w: from %g to %g is further than numbers go; give a smaller range", ErrSweep, from, to)
	case to < from:
		return nil, fmt.Errorf("%w: from %g to %g goes down; give the smaller number first", ErrSweep, from, to)
	}
	if n := (to - from) / step; o.Step == nil && n > 100 {
		step *= math.Ceil(n / 100)
	}
	n := math.Floor((to-from)/step + 1e-9)
	if n >= mostRows {
		return nil, fmt.Errorf("%w: %.0f values; the most is %d: give a larger step", ErrSweep, n+1, mostRows)
	}
	var moves []sweepMove
	for i := range int(n) + 1 {
		v := strconv.FormatFloat(from+float64(i)*step, 'f', -1, 64)
		if short := strconv.FormatFloat(from+float64(i)*step, 'g', 12, 64); !strings.Contains(short, "e") {
			v = short // 0.3, not 0.30000000000000004
		}
		moves = append(moves, sweepMove{move{kind: "set", id: o.ID, value: v}, v})
	}
	return moves, nil
}

// table gives numbers their columns.
type table struct {
	names  []string
	places map[string]int
}

// read takes the numbers of what was written. Elements in others that were written count once, within the outer one.
func (t *table) read(r *run, ids []string, row *Row) {
	slices.Sort(ids)
	texts := map[string]string{}
	for _, n := range r.document().Nodes() {
		spaced(n, texts)
	}
	for _, id := range slices.Compact(ids) {
		text, ok := texts[id]
		if _, control := r.document().Control(id); !ok || control {
			continue
		}
		for i, f := range figuresIn(text) {
			if i == 16 {
				break // a long list is no result
			}
			name := id
			if i > 0 {
				name = fmt.Sprintf("%s.%d", id, i+1)
			}
			at, ok := t.places[name]
			if !ok {
				at = len(t.names)
				t.places[name] = at
				t.names = append(t.names, name)
			}
			for len(row.Numbers) <= at {
				row.Numbers = append(row.Numbers, nil)
			}
			n := f.number
			if !finite(n) { // by its unit, such as billion
				continue
			}
			if n != 0 && negative(text[:f.offset]) {
				n = -n
			}
			row.Numbers[at] = &n
		}
	}
}

// spaced gives an element's text with a line break around each part of it that stands by itself, such as a cell, and keeps
// those of elements with an id.
func spaced(n *sanitize.Node, texts map[string]string) string {
	if n.Tag == "" {
		return n.Text
	}
	var b strings.Builder
	for _, c := range n.Children {
		b.WriteString(spaced(c, texts))
	}
	s := b.String()
	if id, ok := n.AttrValue("id"); ok {
		texts[id] = s
	}
	switch n.Tag {
	case "strong", "em", "b", "i", "u", "s", "small", "sub", "sup", "mark", "code", "span", "tspan", "abbr", "var":
		return s
	}
	return "\n" + s + "\n"
}

// negative tells that a sign stands before a number: a minus behind a space, a currency or nothing.
func negative(before string) bool {
	before = strings.TrimRight(before, "$€£")
	for _, minus := range []string{"-", "−"} {
		if rest, ok := strings.CutSuffix(before, minus); ok {
			return rest == "" || strings.ContainsAny(rest[len(rest)-1:], " ($\n:")
		}
	}
	return false
}
