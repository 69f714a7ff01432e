package cardrun

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// An exploration tries what users can do, from states it has frozen. It goes in generations: a list of jobs, each from a
// state and with moves of its own, done by as many goroutines as there are workers, and merged in the order of the list.
// So what it finds depends on seed and rounds alone, not on which goroutine was faster.
//
// It is guided by coverage: a round counts as new when what it shows, with digits alike, or how much fuel it takes, by
// powers of two, or the event, has not been there together. A job that met something new leaves its state behind, and
// later jobs go on from there.
type exploration struct {
	p       *prober
	o       ReviewOptions
	began   time.Time
	words   []string // of the script, tried in texts
	seen    map[uint64]bool
	corpus  []*state
	rounds  int
	found   map[string]sighting
	keys    []string    // of found, in order
	ranks   map[int]int // how many of found are of each rank
	most    map[string]peak
	written map[string]bool // ids that were written, and stand in the card's html
	// keep is how many bytes of states the corpus may have, held how many it has. Each job of a generation may leave an equal part
	// of keep behind, so that it does not matter which of them was first.
	keep, held int
	last       int // rounds when something new was met last
	// deadline ends what follows the trying of inputs: races, then shortening. Only cards whose rounds are slow come near it.
	deadline time.Time
}

// sighting is how something was first met.
type sighting struct {
	what sign
	path []move
}

// peak is the most that was used of a budget.
type peak struct {
	budget Budget
	path   []move
}

// job is what one goroutine does: from a state it makes moves, then some at random.
type job struct {
	from   *state
	moves  []move
	extra  int
	seed   uint64
	stale  bool // compare the end with a fresh activation
	single bool // the only move from the start
}

// done is what came of a job.
type done struct {
	rounds   int
	features []uint64
	fresh    []*state // states that met features, one for each of features, some nil
	signs    []sighting
	peaks    []peak
	written  []string
	room     int // for more bytes in fresh, and in what signs show
	err      error
}

// tell adds a sign, unless it is there already or too much is held.
func (d *done) tell(s sign, path []move) {
	n := len(s.shown) + len(s.instead)
	if n > d.room || slices.ContainsFunc(d.signs, func(o sighting) bool { return o.what.key == s.key }) {
		return
	}
	d.room -= n
	d.signs = append(d.signs, sighting{s, slices.Clone(path)})
}

const (
	generation = 128      // jobs
	keptStates = 512      // in the corpus
	keptBytes  = 64 << 20 // of it
	jobSigns   = 64
	keptSigns  = 64     // of each rank
	idleRounds = 40_000 // without anything new, after which an exploration is done
	mostPairs  = 3_000
	longWalk   = 12
	mostSigns  = 24
)

// explore tries inputs and adds what it finds to the review.
func (p *prober) explore(ctx context.Context, first *run, o ReviewOptions, v *Review) error {
	start, err := first.save(ctx, nil)
	if err != nil {
		return err
	}
	if start == nil {
		return nil // it holds too much to be frozen; the budgets say so
	}
	x := newExploration(p, first, start, o)
	ended := "done"
	each := first.moves(x.words)
	phases := []func() []job{
		func() []job { return x.singles(each) },
		func() []job { return x.pairs(each) },
	}
	for _, phase := range phases {
		if ended, err = x.work(ctx, phase()); err != nil {
			return err
		}
		if ended != "" {
			break
		}
	}
	for n, before := uint64(0), -1; ended == "" && len(each) > 0; n++ {
		if x.rounds-x.last > idleRounds || x.rounds == before { // nothing new, or nothing that causes a round
			break
		}
		before = x.rounds
		if ended, err = x.work(ctx, x.walks(n)); err != nil {
			return err
		}
	}
	if ended == "" {
		ended = "done"
	}
	elapsed := time.Since(x.began)
	x.deadline = time.Now().Add(aftermath(o.Fuzz))
	races, err := x.races(ctx, start, each)
	if err != nil {
		return err
	}
	x.deadline = time.Now().Add(aftermath(o.Fuzz))
	v.Explored = &Explored{Seed: o.Seed, Rounds: x.rounds, States: len(x.seen), Ended: ended, ElapsedMS: elapsed.Milliseconds()}
	return x.report(ctx, v, races)
}

// newExploration begins where initialization ended.
func newExploration(p *prober, first *run, start *state, o ReviewOptions) *exploration {
	x := &exploration{
		p: p, o: o, began: time.Now(), seen: map[uint64]bool{}, corpus: []*state{start}, found: map[string]sighting{}, ranks: map[int]int{},
		most: map[string]peak{}, written: map[string]bool{}, words: words(p.lint), keep: keptBytes,
	}
	for _, patch := range first.s.act.rounds.rounds[0].Patches {
		x.write(patch.ID)
	}
	for _, s := range p.look(first.s.act.rounds.rounds[0].Patches) {
		x.add(sighting{what: s})
	}
	return x
}

// aftermath is the time for races, and again for shortening what was found.
func aftermath(fuzz time.Duration) time.Duration {
	return min(max(fuzz/2, 2*time.Second), 20*time.Second)
}

// words are short texts of the script, such as commands that it knows.
func words(l *lint) []string {
	if l.script == nil {
		return nil
	}
	var list []string
	for _, s := range l.script.Strings {
		if s != "" && len(s) <= 16 && !slices.Contains(list, s) && len(list) < 16 {
			list = append(list, s)
		}
	}
	return list
}

func (x *exploration) singles(each [][]move) []job {
	var jobs []job
	for _, moves := range each {
		for _, m := range moves {
			jobs = append(jobs, job{from: x.corpus[0], moves: []move{m}, stale: true, single: true})
		}
	}
	return jobs
}

// pairs are moves of two elements, in both orders, and of one twice: first the telling values.
func (x *exploration) pairs(each [][]move) []job {
	var jobs []job
	for rank := range 3 {
		for i, first := range each {
			for j, second := range each {
				for k := range min(len(second), 4) {
					if rank < len(first) && (i != j || rank != k || len(first) == 1) && len(jobs) < mostPairs {
						jobs = append(jobs, job{from: x.corpus[0], moves: []move{first[rank], second[k]}, stale: rank == 0 && k < 2})
					}
				}
			}
		}
	}
	return jobs
}

// walks go on from states that were new, later ones more often.
func (x *exploration) walks(n uint64) []job {
	rnd := rand.New(rand.NewPCG(x.o.Seed, n))
	jobs := make([]job, generation)
	for i := range jobs {
		at := rnd.IntN(len(x.corpus))
		if rnd.IntN(2) == 0 {
			at = max(at, rnd.IntN(len(x.corpus)))
		}
		jobs[i] = job{from: x.corpus[at], extra: 1 + rnd.IntN(longWalk), seed: rnd.Uint64(), stale: i%8 == 0}
	}
	return jobs
}

// work does jobs, generation by generation, and tells why it ended before all were done.
func (x *exploration) work(ctx context.Context, jobs []job) (ended string, err error) {
	for part := range slices.Chunk(jobs, generation) {
		if x.o.Rounds > 0 && x.rounds >= x.o.Rounds {
			return "rounds", nil
		}
		if time.Since(x.began) > x.o.Fuzz {
			return "time", nil
		}
		out := make([]done, len(part))
		var next sync.Mutex
		at := 0
		var all sync.WaitGroup
		for range x.p.rt.parallel() {
			all.Go(func() {
				for {
					next.Lock()
					i := at
					at++
					next.Unlock()
					if i >= len(part) || time.Since(x.began) > x.o.Fuzz {
						return
					}
					out[i] = x.do(ctx, part[i])
				}
			})
		}
		all.Wait()
		for i := range out {
			if out[i].err != nil {
				return "", out[i].err
			}
			x.merge(&out[i])
		}
		if x.o.Progress != nil {
			x.o.Progress(x.rounds, time.Since(x.began))
		}
	}
	return "", nil
}

func (x *exploration) merge(d *done) {
	x.rounds += d.rounds
	for i, f := range d.features {
		if x.seen[f] {
			continue
		}
		x.seen[f] = true
		x.last = x.rounds
		if s := d.fresh[i]; s != nil && len(x.corpus) < keptStates && x.held+s.size() <= x.keep {
			x.corpus = append(x.corpus, s)
			x.held += s.size()
		}
	}
	for _, s := range d.signs {
		x.add(s)
	}
	for _, id := range d.written {
		x.write(id)
	}
	for _, p := range d.peaks {
		if old, ok := x.most[p.budget.Name]; !ok || p.budget.Used > old.budget.Used {
			x.most[p.budget.Name] = p
		}
	}
}

// write notes that an element was written. A card may make up more ids than memory has room for.
func (x *exploration) write(id string) {
	if x.p.lint.page.place(id) >= 0 {
		x.written[id] = true
	}
}

// add keeps the shortest way to something.
func (x *exploration) add(s sighting) {
	old, ok := x.found[s.what.key]
	if !ok {
		rank := signRank(s.what.key)
		if x.ranks[rank] == keptSigns {
			return
		}
		x.ranks[rank]++
		x.keys = append(x.keys, s.what.key)
	}
	if !ok || len(s.path) < len(old.path) {
		x.found[s.what.key] = s
	}
}

// do does one job.
func (x *exploration) do(ctx context.Context, j job) (d done) {
	r := x.p.resume(j.from)
	defer r.close()
	d.room = x.keep / generation
	path := slices.Clone(j.from.path)
	isNew := false
	most := map[string]Budget{}
	r.watch = func(r *run) {
		f := r.feature()
		if !x.seen[f] && !slices.Contains(d.features, f) {
			d.features = append(d.features, f)
			d.fresh = append(d.fresh, nil)
			isNew = true
		}
		for _, s := range x.p.look(r.last.Batch) {
			if len(d.signs) < jobSigns {
				d.tell(s, path)
			}
		}
		if isNew {
			for _, patch := range r.last.Batch {
				d.written = append(d.written, patch.ID)
			}
		}
		if r.failure() != nil {
			return // how much it had used by then says nothing more
		}
		for _, b := range r.cheapBudgets() {
			if old, ok := most[b.Name]; !ok || b.Used > old.Used {
				most[b.Name] = b
				if b.Near() || isNew {
					d.peaks = append(d.peaks, peak{b, slices.Clone(path)})
				}
			}
		}
	}
	rnd := rand.New(rand.NewPCG(j.seed, 1))
	for n := 0; n < len(j.moves)+j.extra && r.failure() == nil; n++ {
		var m move
		if n < len(j.moves) {
			m = j.moves[n]
		} else {
			var ok bool
			if m, ok = r.any(rnd, x.words); !ok {
				break
			}
		}
		before := r.rounds
		path = append(path, m)
		isNew = false
		can, err := r.play(ctx, m)
		if err != nil {
			d.err = err
			return d
		}
		if !can && r.failure() == nil {
			path = path[:len(path)-1]
			continue
		}
		if f := r.failure(); f != nil {
			d.signs = append(d.signs, sighting{failed(f), slices.Clone(path)})
			break
		}
		if isNew && len(path) < 24 && len(x.corpus) < keptStates {
			st, err := r.save(ctx, path)
			if err != nil {
				d.err = err
				return d
			}
			if st != nil && st.size() <= d.room {
				d.fresh[len(d.fresh)-1] = st
				d.room -= st.size()
			}
		}
		last := n == len(j.moves)+j.extra-1
		if last && j.stale || isNew && len(x.corpus) < keptStates {
			s, ran, err := x.p.stale(ctx, r, m, r.rounds > before, j.single)
			d.rounds += ran
			if err != nil {
				d.err = err
				return d
			}
			if s.key != "" {
				d.tell(s, path)
			}
		}
	}
	d.rounds += r.rounds
	return d
}
