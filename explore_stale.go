package cardrun

import (
	"context"
	"slices"

	"example.com/cardrun/limits"
	"example.com/cardrun/patches"
)

// stale compares what a run shows with what a fresh activation shows for the same control values. m was the last move;
// answered tells that it caused rounds, single that it was the only one.
//
// A difference alone is no fault: a card may wait for a click, or calculate nothing until something is entered. So there
// are two comparisons more:
//
//   - A move that caused no round, as the first of all, is compared with the fresh activation alone: what was displayed
//     before belonged to the values before, so a difference means that the display does not follow that control.
//   - After a move that did, a fresh activation gets the values that its last round was dispatched with, and the last event.
//     The display now depends on nothing but these, unless variables remember more (R84). Both the whole display and what
//     the last round wrote must differ, so that a card with several outputs, each written by its own handler, is not taken
//     for one with a memory.
//
// After a click the second comparison alone decides: a switch that is turned twice shows what it showed at first.
//
// Where random numbers were drawn, the values cannot be given to a fresh activation, or the script fails on them, nothing
// is said. ran is how many rounds it took.
func (p *prober) stale(ctx context.Context, r *run, m move, answered, single bool) (s sign, ran int, err error) {
	if r.random() || !answered && (!single || m.kind == "click") {
		return s, ran, nil
	}
	values := r.controls()
	fresh, err := p.start(ctx, values)
	if err != nil {
		return s, ran, err
	}
	defer fresh.close()
	ran++
	if fresh.failure() != nil || fresh.random() {
		return s, ran, nil
	}
	shown, instead := r.text(), fresh.text()
	if shown == instead && (!answered || r.event.Type != "click") {
		return s, ran, nil
	}
	if !answered {
		if !slices.Equal(fresh.controls(), values) || fresh.empty() {
			return s, ran, nil
		}
		return sign{key: "unheard " + m.id, code: limits.ControlUnheard, id: m.id, shown: shown, instead: instead}, ran, nil
	}
	again, err := p.start(ctx, r.before)
	if err != nil {
		return s, ran, err
	}
	defer again.close()
	ran++
	if fresh = again; fresh.failure() != nil {
		return s, ran, nil
	}
	impose(fresh.document(), r.before)
	if !slices.Equal(fresh.controls(), r.before) || !fresh.s.act.handles(r.event.ID, r.event.Type) {
		return s, ran, nil
	}
	fresh.s.queue.push(r.event.ID, r.event.Type)
	if err := fresh.drain(ctx); err != nil {
		return s, ran, err
	}
	ran += fresh.rounds
	if fresh.failure() != nil || fresh.random() || fresh.rounds == 0 {
		return s, ran, nil
	}
	if instead = fresh.text(); shown == instead || slices.Equal(r.last.Batch, fresh.last.Batch) {
		return s, ran, nil
	}
	return sign{key: "memory " + r.event.ID, code: limits.StaleState, id: r.event.ID, shown: shown, instead: instead}, ran, nil
}

// empty tells that initialization wrote nothing, so that the display says nothing of the values yet.
func (r *run) empty() bool {
	h := r.s.act.rounds.rounds
	return len(h) == 0 || len(h[0].Patches) == 0 || !slices.ContainsFunc(h[0].Patches, func(p patches.Patch) bool { return p.Op != patches.OpValue })
}
