package cardrun

import (
	"context"
	"slices"
	"strconv"
	"time"

	"example.com/cardrun/limits"
)

// mostReplays bounds the work for one finding.
const mostReplays = 300

// shorten finds the shortest path that still shows something, with the simplest values. It replays each from the start, and
// tells whether the thing was there again.
func (x *exploration) shorten(ctx context.Context, s sighting) (sighting, bool, error) {
	tries := 0
	best := s
	try := func(path []move) (bool, error) {
		tries++
		got, err := x.p.shows(ctx, path, s.what.key)
		if err != nil || got == nil {
			return false, err
		}
		best = sighting{*got, path}
		return true, nil
	}
	ok, err := try(s.path)
	if err != nil || !ok {
		return s, false, err
	}
	if f := best.what.failure; f != nil && f.Code == limits.Timeout && !x.p.options.Now.IsZero() {
		// A card that waits for the clock to go on waits for ever where it stands.
		running := *x.p
		running.options.Now = time.Time{}
		if got, err := running.shows(ctx, s.path, s.what.key); err != nil || got == nil {
			return s, false, err
		}
	}
	over := func() bool { return tries >= mostReplays || time.Now().After(x.deadline) }
	for again := true; again && !over(); {
		again = false
		for i := 0; i < len(best.path) && !over(); i++ {
			if ok, err := try(slices.Delete(slices.Clone(best.path), i, i+1)); err != nil {
				return s, false, err
			} else if ok {
				again = true
				i--
			}
		}
		for i := 0; i < len(best.path) && !over(); i++ {
			m := best.path[i]
			if m.kind != "set" {
				continue
			}
			for _, v := range simpler(m.value) {
				path := slices.Clone(best.path)
				path[i].value = v
				if ok, err := try(path); err != nil {
					return s, false, err
				} else if ok {
					again = true
					break
				}
			}
		}
	}
	return best, true, nil
}

// simpler are values that are simpler than v.
func simpler(v string) []string {
	var list []string
	n := limits.Length(v)
	for _, s := range []string{"0", "1", "2", "-1", ""} {
		if s == v {
			return list
		}
		list = append(list, s)
	}
	if n > 1 {
		list = append(list, limits.Cut(v, n/2), limits.Cut(v, n-1))
		if half := limits.Cut(v, n/2); len(half) < len(v) {
			list = append(list, v[len(half):])
		}
	}
	if x, err := strconv.ParseFloat(v, 64); err == nil && x != float64(int64(x)) && x > -1e15 && x < 1e15 {
		list = append(list, strconv.FormatInt(int64(x), 10))
	}
	return slices.DeleteFunc(list, func(s string) bool { return len(s) > len(v) || s == v })
}

// shows replays a path and gives the sign with that key, or nil.
func (p *prober) shows(ctx context.Context, path []move, key string) (*sign, error) {
	var found *sign
	see := func(s sign) {
		if s.key == key && (s.code != limits.DisplayOdd || !typed(path, s.token)) {
			found = &s
		}
	}
	r, err := p.start(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer r.close()
	if len(path) == 0 && r.failure() == nil {
		for _, s := range p.look(r.s.act.rounds.rounds[0].Patches) {
			see(s)
		}
	}
	r.watch = func(r *run) {
		for _, s := range p.look(r.last.Batch) {
			see(s)
		}
		for _, b := range r.cheapBudgets() {
			if b.Near() && r.failure() == nil {
				see(sign{key: "budget " + b.Name, code: limits.BudgetNear, budget: b})
			}
		}
	}
	for i, m := range path {
		before := r.rounds
		can, err := r.play(ctx, m)
		if err != nil || !can && r.failure() == nil {
			return nil, err
		}
		if f := r.failure(); f != nil {
			if i == len(path)-1 {
				see(failed(f))
			}
			break
		}
		if i == len(path)-1 {
			s, _, err := p.stale(ctx, r, m, r.rounds > before, len(path) == 1)
			if err != nil {
				return nil, err
			}
			see(s)
		}
	}
	return found, nil
}
