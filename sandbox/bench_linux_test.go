package sandbox

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkIsolation does the same with guests in this process and in worker processes, in turn, and reports the medians in
// microseconds: a round of a guest that is there; a fresh guest with its first round; a round of one of two guests that share
// one process, and are moved out for each other; the start of an engine with one worker; and what a worker process that has run
// guests keeps of memory for itself, in megabytes.
func BenchmarkIsolation(b *testing.B) {
	kinds := []Isolation{IsolationNone, IsolationProcess}
	engines := map[Isolation]*Engine{}
	for _, n := range kinds {
		engines[n] = newEngine(b, Options{Isolation: n, Workers: 1})
	}
	pool := engines[IsolationProcess].pool
	pool.mu.Lock()
	pool.most = 1
	pool.mu.Unlock()
	next := Round{Input: []byte("1"), MaxOutput: 100}
	compare := func(name string, once func(n Isolation)) {
		b.Run(name, func(b *testing.B) {
			took := map[Isolation][]time.Duration{}
			for b.Loop() {
				for _, n := range kinds {
					start := time.Now()
					once(n)
					took[n] = append(took[n], time.Since(start))
				}
			}
			for _, n := range kinds {
				slices.Sort(took[n])
				b.ReportMetric(float64(took[n][len(took[n])/2].Nanoseconds())/1000, string(n)+"-µs")
			}
			b.ReportMetric(0, "ns/op") // of both together, which tells nothing
		})
	}
	step := func(g *Guest, r Round) {
		if _, err := g.Run(context.Background(), r); err != nil {
			b.Fatal(err)
		}
	}
	subjects := func() map[Isolation]*Guest {
		return map[Isolation]*Guest{IsolationNone: frozenSubject(b, engines[IsolationNone]), IsolationProcess: frozenSubject(b, engines[IsolationProcess])}
	}
	one := subjects()
	compare("round", func(n Isolation) { step(one[n], next) })
	other := subjects()
	turn := map[Isolation]int{}
	compare("turns", func(n Isolation) {
		turn[n]++
		step([]*Guest{one[n], other[n]}[turn[n]%2], next)
	})
	for _, n := range kinds {
		one[n].Close()
		other[n].Close()
	}
	compare("guest", func(n Isolation) {
		g, err := engines[n].Guest(Activation{})
		if err != nil {
			b.Fatal(err)
		}
		step(g, Round{Input: []byte("0"), Script: "out = 1", MaxOutput: 9})
		g.Close()
	})
	b.Run("memory", func(b *testing.B) {
		for b.Loop() {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", processes(engines[IsolationProcess])[0].cmd.Process.Pid))
			if err != nil {
				b.Fatal(err)
			}
			kB := 0
			for line := range strings.Lines(string(text)) {
				var name string
				var n int
				if _, err := fmt.Sscan(line, &name, &n); err == nil && strings.HasPrefix(name, "Private_") {
					kB += n
				}
			}
			b.ReportMetric(float64(kB)/1000, "MB")
		}
		b.ReportMetric(0, "ns/op")
	})
	compare("start", func(n Isolation) {
		e, err := New(context.Background(), Options{Prelude: plainPrelude, Isolation: n, Workers: 1})
		if err != nil {
			b.Fatal(err)
		}
		_ = e.Close()
	})
}
