package cardrun

import "slices"

// history is the rounds of an activation, numbered from 0, which is initialization. Where it is bounded, rounds between
// initialization and the last ones are forgotten.
type history struct {
	rounds    []Round // never changed in place: parts of it are given away
	forgotten int     // rounds after the first that are gone
	keep      int     // how many rounds after the first are kept; below 1, all
	bytes     int     // that rounds take, about
}

// count is how many rounds there were.
func (h *history) count() int { return len(h.rounds) + h.forgotten }

// add records a round. Twice as many as are to be kept are held before half of them go, so that adding takes the same
// time for any bound.
func (h *history) add(r Round) {
	if h.keep > 0 && len(h.rounds) > 2*h.keep {
		h.forgotten += len(h.rounds) - 1 - h.keep
		h.rounds = h.kept()
		h.bytes = 0
		for i := range h.rounds {
			h.bytes += h.rounds[i].size()
		}
	}
	h.rounds = append(h.rounds, r)
	h.bytes += r.size()
}

// size is about how many bytes the history takes.
func (h *history) size() int { return h.bytes }

// held is how many rounds after initialization are given.
func (h *history) held() int {
	n := max(len(h.rounds)-1, 0)
	if h.keep > 0 {
		n = min(n, h.keep)
	}
	return n
}

// kept is what a Snapshot has: initialization, and the last rounds.
func (h *history) kept() []Round {
	held := h.held()
	if held >= len(h.rounds)-1 {
		return slices.Clip(h.rounds)
	}
	return slices.Concat(h.rounds[:1], h.rounds[len(h.rounds)-held:])
}

// from gives the rounds from number n on, without a gap, and the number of the first of them: later than n where n is
// forgotten.
func (h *history) from(n int) (rounds []Round, first int) {
	oldest := h.count() - h.held()
	if oldest <= 1 {
		oldest = 0 // nothing is missing behind initialization
	}
	first = min(max(n, oldest), h.count())
	return slices.Clip(h.rounds[first-h.forgotten:]), first
}
