package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"
)

// results are what was measured: for each metric and peer, one value a run, in the same order of runs for all; 0 where there was
// none.
type results struct {
	Versions map[string]string               `json:"versions"`
	Values   map[string]map[string][]float64 `json:"values"`
	Budgets  []budgetRow                     `json:"budgets"`
	Machine  string                          `json:"machine"`
}

// budgetRow is what became of one trial with each peer.
type budgetRow struct {
	Budget   string            `json:"budget"`
	Name     string            `json:"name"`
	Verdicts map[string]string `json:"verdicts"`
}

// bench is one call of the command.
type bench struct {
	peers   []*peer
	cards   []subject
	runs    int
	ms      int // of sampling, for each figure
	workers int
	log     io.Writer
	res     *results
}

const patience = 30 * time.Second

// section is a part that can be run alone.
type section struct {
	name string
	run  func(*bench, *peer, func(metric string, value float64)) error
}

var sections = []section{
	{"latency", (*bench).latency},
	{"kernels", (*bench).kernels},
	{"cards", (*bench).throughput},
	{"memory", (*bench).memory},
}

// measure runs the sections that are wanted: each peer in turn, in a process that was just started, and all of that again for
// each run, so that what else the machine does meets all of them.
func (b *bench) measure(wanted func(string) bool) {
	for _, s := range sections {
		if !wanted(s.name) {
			continue
		}
		fresh := map[string]map[string][]float64{}
		for run := range b.runs {
			for _, p := range b.peers {
				start := time.Now()
				err := s.run(b, p, func(metric string, value float64) {
					if fresh[metric] == nil {
						fresh[metric] = map[string][]float64{}
					}
					v := fresh[metric][p.Name]
					for len(v) < run { // what gave nothing in an earlier run
						v = append(v, 0)
					}
					fresh[metric][p.Name] = append(v, value)
				})
				p.stop()
				if err != nil {
					fmt.Fprintf(b.log, "%s: %v\n", s.name, err)
				}
				fmt.Fprintf(b.log, "%s %d/%d %s %.1f s\n", s.name, run+1, b.runs, p.Name, time.Since(start).Seconds())
			}
		}
		maps.Copy(b.res.Values, fresh)
	}
	if wanted("budgets") {
		b.budgets()
	}
}

// latency is a first answer, an event round, and opening what was opened before: of the small card, and as the geometric mean over
// all cards.
func (b *bench) latency(p *peer, put func(string, float64)) error {
	var firsts, rounds []float64
	for i, c := range b.cards {
		n := 1
		if i == 0 {
			n = 4 // this one is shown by itself
		}
		first, err := b.median(p, c, "first", n)
		if err != nil {
			return err
		}
		round, err := b.median(p, c, "round", n)
		if err != nil {
			return err
		}
		firsts, rounds = append(firsts, first), append(rounds, round)
		if i > 0 {
			continue
		}
		seen, err := b.median(p, c, "seen", n)
		if err != nil {
			return err
		}
		put(mFirst, first)
		put(mRound, round)
		put(mSeen, seen)
	}
	put(mFirstAll, mean(firsts))
	put(mRoundAll, mean(rounds))
	return nil
}

// The metrics that are not kernels; those are named by themselves.
const (
	mFirst    = "first answer, small card"
	mFirstAll = "first answer, all cards"
	mSeen     = "small card, seen before"
	mRound    = "event round, small card"
	mRoundAll = "event round, all cards"
	mKernels  = "compute, all kernels"
	mCards    = "cards"
	mIdle     = "a card at rest"
)

// median is a metric's value in one run, in milliseconds.
func (b *bench) median(p *peer, s subject, op string, n int) (float64, error) {
	r := s.request(op)
	r.MS, r.WarmMS = b.ms*n, b.ms*n/2
	res, err := p.ask(r, patience)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", s.Name, err)
	}
	slices.Sort(res.Samples)
	return float64(res.Samples[len(res.Samples)/2]) / 1e6, nil
}

func (b *bench) kernels(p *peer, put func(string, float64)) error {
	if p.Name == ownWhole {
		return nil // it computes as the engine alone does
	}
	var all []float64
	for _, k := range kernels {
		s, err := k.subject()
		if err != nil {
			return err
		}
		r := s.request("round")
		r.MS, r.WarmMS = b.ms*3, b.ms*8 // V8 compiles what is hot in the background, and takes its time
		res, err := p.ask(r, patience)
		if err != nil {
			fmt.Fprintf(b.log, "kernel %s: %v\n", k.name, err)
			p.stop()
			continue
		}
		slices.Sort(res.Samples)
		ms := float64(res.Samples[len(res.Samples)/2]) / 1e6
		put(k.name, ms)
		all = append(all, ms)
	}
	if len(all) == len(kernels) {
		put(mKernels, mean(all))
	}
	return nil
}

func (b *bench) throughput(p *peer, put func(string, float64)) error {
	r := b.cards[0].request("cards")
	r.MS, r.WarmMS, r.Workers = b.ms*15, b.ms*8, b.workers
	res, err := p.ask(r, patience)
	if err == nil {
		put(mCards, float64(res.Count)/(float64(res.NS)/1e9))
	}
	return err
}

func (b *bench) memory(p *peer, put func(string, float64)) error {
	r := b.cards[0].request("idle")
	r.N = p.Idle
	res, err := p.ask(r, patience)
	if err == nil {
		put(mIdle, float64(res.Bytes)/1000)
	}
	return err
}

func (b *bench) budgets() {
	b.res.Budgets = nil
	for _, t := range trials {
		row := budgetRow{t.budget, t.name, map[string]string{}}
		for _, p := range b.peers {
			if p.Name == ownWhole {
				continue
			}
			row.Verdicts[p.Name] = t.verdict(p)
			p.stop() // no trial meets what another one did
			fmt.Fprintf(b.log, "budgets: %s: %s: %s\n", t.name, p.Name, row.Verdicts[p.Name])
		}
		b.res.Budgets = append(b.res.Budgets, row)
	}
}

// mean is the geometric mean.
func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(values)))
}

// middle is the median of the values that there are, with the least and the greatest; zeros where there is none.
func middle(values []float64) (median, low, high float64) {
	v := slices.DeleteFunc(slices.Sorted(slices.Values(values)), func(one float64) bool { return one == 0 })
	if len(v) == 0 {
		return 0, 0, 0
	}
	return v[len(v)/2], v[0], v[len(v)-1]
}
