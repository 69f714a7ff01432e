package sandbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/cardrun/limits"
)

// apart starts an engine whose guests are in worker processes.
func apart(t testing.TB, o Options) *Engine {
	t.Helper()
	o.Isolation = IsolationProcess
	return newEngine(t, o)
}

// processes gives the processes of an engine, in no order.
func processes(e *Engine) (out []*process) {
	e.pool.mu.Lock()
	defer e.pool.mu.Unlock()
	for p := range e.pool.all {
		out = append(out, p)
	}
	return out
}

// expectWhole waits until the pool has as many processes as it wants, all of them free but for those of guests at rest.
func expectWhole(t *testing.T, e *Engine) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		l := e.pool
		l.mu.Lock()
		whole := len(l.all) == l.want && l.starting == 0 && len(l.free)+len(l.closing)+len(l.resting) == l.want
		state := fmt.Sprintf("%d processes of %d, %d starting, %d free, %d at rest, %v", len(l.all), l.want, l.starting, len(l.free), len(l.resting), l.failure)
		l.mu.Unlock()
		if whole {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the pool is not whole: %s", state)
		}
	}
}

// children counts the processes that this one has started and not waited for.
func children(t *testing.T) int {
	t.Helper()
	n := 0
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		b, err := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
		n += len(strings.Fields(string(b)))
	}
	return n
}

// history is all that a caller sees of a guest's rounds.
type history struct {
	Output string
	Usage  Usage
	Err    string
}

// lives are scripts and how many rounds follow each.
var lives = []struct {
	script string
	rounds int
}{
	{"let n = 0; f = (x) => { n += x; out = [n, Math.random(), Date.now(), new Error('e').stack] + '' }", 4},
	{"f = (x) => { out = 'é\\u0000\\ud83d\\ude00\\ud800' + x; Promise.resolve().then(() => { out += '!' }) }", 3},
	{"f = (x) => x > 1 ? Promise.reject('no' + x) : 0", 3},
	{"let w = new Uint8Array(6 << 20); f = (x) => { w[x << 10]++; out = w[1 << 10] + ' ' + w.length }", 3},
	{"throw {toString() { return 'thrown' }}", 0},
	{"let x = ", 0},
	{"function r() { r() } r()", 0},
	{"let it = [1].values(); for (let i = 0; i < 9500; i++) it = it.take(9); it.next()", 0},
	{"new ArrayBuffer(2**31 - 1)", 0},
	{"for (let i = 0; i < 257; i++) queueMicrotask(() => 0)", 0},
	{"out = 'x'.repeat(2000)", 0},
	{"f = (x) => { out = 'y'.repeat(x * 600) }", 4},
	{"f = (x) => { for (let i = 0; i < x * 1e6; i++); }", 4},
}

// live plays one of lives; between says what happens to the guest after each round.
func live(t *testing.T, e *Engine, script string, rounds int, between func(*Guest) *Guest) (log []history) {
	t.Helper()
	seed := uint64(7)
	g := newGuest(t, e, Activation{Seed: &seed, Now: time.Date(2031, 1, 1, 0, 0, 0, 5, time.UTC)})
	for x := range rounds + 1 {
		r := Round{Input: fmt.Append(nil, x), MaxOutput: 1500}
		if x == 0 {
			r.Script = script
		}
		res, err := g.Run(context.Background(), r)
		h := history{Output: string(res.Output), Usage: res.Usage}
		if err != nil {
			h.Err = fmt.Sprintf("%s %v", limits.CodeOf(err), err)
			var thrown *Thrown
			if errors.As(err, &thrown) {
				h.Err += fmt.Sprint(" kind ", thrown.Kind)
			}
			if res.Output == nil {
				h.Err += ", no output"
			}
		}
		log = append(log, h)
		if err != nil {
			break
		}
		g = between(g)
	}
	g.Close()
	return log
}

// TestProcessesChangeNothing gives the same outputs, errors and usage whether guests are in this process or in others, moved
// out between rounds, or frozen in one kind of engine and thawed in the other.
func TestProcessesChangeNothing(t *testing.T) {
	const fuel = 3e6
	here, there := newEngine(t, Options{Fuel: fuel}), apart(t, Options{Fuel: fuel, Workers: 2})
	if here.identity != there.identity {
		t.Error("the engines differ")
	}
	freeze := func(to *Engine) func(*Guest) *Guest {
		return func(g *Guest) *Guest {
			frozen, err := g.Freeze(context.Background(), maximumPages*pageSize)
			if err != nil {
				t.Fatal(err)
			}
			again, err := g.Freeze(context.Background(), maximumPages*pageSize)
			if err != nil || !slices.Equal(frozen, again) {
				t.Errorf("frozen twice: %d and %d bytes, %v", len(frozen), len(again), err)
			}
			g.Close()
			if g, err = to.Thaw(frozen); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(g.Close)
			return g
		}
	}
	moveOut := func(g *Guest) *Guest {
		l, moved := there.pool, false
		l.mu.Lock()
		defer l.mu.Unlock()
		for l.moveOut(g.away.p, &moved); !moved; {
			_ = l.wait(context.Background(), time.Time{})
		}
		return g
	}
	stay := func(g *Guest) *Guest { return g }
	runs := 0
	for _, c := range lives {
		want := live(t, here, c.script, c.rounds, stay)
		for _, how := range []struct {
			name    string
			e       *Engine
			between func(*Guest) *Guest
		}{
			{"apart", there, stay}, {"apart, moved out", there, moveOut}, {"apart, frozen", there, freeze(there)},
			{"begun apart, thawed here", there, freeze(here)}, {"begun here, thawed apart", here, freeze(there)},
		} {
			runs++
			got := live(t, how.e, c.script, c.rounds, how.between)
			if d := cmp.Diff(want, got, cmpopts.IgnoreFields(Usage{}, "Elapsed")); d != "" {
				t.Errorf("%s\n%s: -here +%s\n%s", c.script, how.name, how.name, d)
			}
		}
	}
	expectWhole(t, there)
	t.Logf("attacks: %d", runs)
}

// TestProcessThawAs is ThawAs in both kinds of engine.
func TestProcessThawAs(t *testing.T) {
	here, there := newEngine(t, Options{}), apart(t, Options{Workers: 1})
	g := newGuest(t, there, Activation{})
	if _, err := g.Run(context.Background(), Round{Input: []byte("0"), Script: "f = (x) => { out = [Date.now(), Math.random()] + '' }", MaxOutput: 99}); err != nil {
		t.Fatal(err)
	}
	frozen, err := g.Freeze(context.Background(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(3)
	for _, reseed := range []bool{true, false} {
		var outs []string
		for _, e := range []*Engine{here, there, here} {
			g, err := e.ThawAs(frozen, Activation{Seed: &seed, Now: time.Unix(2, 0)}, reseed)
			if err != nil {
				t.Fatal(err)
			}
			res, err := g.Run(context.Background(), Round{Input: []byte("1"), MaxOutput: 99})
			if err != nil {
				t.Fatal(err)
			}
			g.Close()
			outs = append(outs, string(res.Output))
		}
		if outs[0] != outs[1] || outs[1] != outs[2] || !strings.HasPrefix(outs[0], ">2000,0.") {
			t.Errorf("reseed %t: %q", reseed, outs)
		}
	}
	for _, limit := range []int{0, 100} {
		if _, err := g.Freeze(context.Background(), limit); !errors.Is(err, ErrTooLarge) {
			t.Errorf("frozen within %d bytes: %v", limit, err)
		}
	}
	fresh := newGuest(t, there, Activation{Seed: &seed})
	if frozen, err = fresh.Freeze(context.Background(), 1<<20); err != nil {
		t.Fatal(err)
	}
	for _, e := range []*Engine{here, there} {
		g, err := e.Thaw(frozen)
		if err != nil {
			t.Fatal(err)
		}
		if res, err := g.Run(context.Background(), Round{Input: []byte("0"), Script: "out = 'begun'", MaxOutput: 99}); err != nil || string(res.Output) != ">begun" {
			t.Errorf("a guest frozen before its first round: %q, %v", res.Output, err)
		}
		g.Close()
	}
	// What the pages hold is looked at in the worker, by the first round.
	bad := append(slices.Clone(frozen[:frozenPages]), 0xff, 0xff, 0xff)
	reseal(bad)
	g, err = there.Thaw(bad)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if _, err := g.Run(context.Background(), Round{Input: []byte("0"), MaxOutput: 9}); !errors.Is(err, ErrFrozen) || limits.CodeOf(err) != limits.Engine {
		t.Errorf("state that is no state: %v", err)
	}
	if _, err := there.Thaw(frozen[:frozenPages-1]); !errors.Is(err, ErrFrozen) {
		t.Errorf("cut state: %v", err)
	}
}

// TestProcessesShared has a thousand guests take turns in four processes, from several goroutines, and keeps count for each.
func TestProcessesShared(t *testing.T) {
	e := apart(t, Options{Workers: 2})
	guests, rounds := 1000, 4
	if testing.Short() {
		guests = 100
	}
	type player struct {
		g     *Guest
		count int
	}
	players := make([]player, guests)
	var wg sync.WaitGroup
	var failed atomic.Int64
	for w := range 4 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 1))
			for n := range guests / 4 * rounds {
				p := &players[rng.IntN(guests/4)*4+w]
				r := Round{Input: []byte("1"), MaxOutput: 100}
				if p.g == nil {
					p.g = newGuest(t, e, Activation{})
					r.Script = fmt.Sprintf("const me = %d; let n = 0; f = (x) => { n += x; out = me + ' ' + n }", n*4+w)
					p.count = -(n*4 + w) - 1000
					r.Input = []byte("0")
				}
				res, err := p.g.Run(context.Background(), r)
				if err != nil {
					t.Errorf("player %p: %v", p, err)
					failed.Add(1)
					return
				}
				if p.count <= -1000 { // its first round, in which f is not there yet
					p.count = 0
					continue
				}
				p.count++
				if !strings.HasSuffix(string(res.Output), fmt.Sprint(" ", p.count)) {
					t.Errorf("player %p: %q after %d rounds", p, res.Output, p.count)
				}
			}
		})
	}
	wg.Wait()
	if n := len(processes(e)); n > 4 {
		t.Errorf("%d processes", n)
	}
	for _, p := range players {
		if p.g != nil {
			p.g.Close()
		}
	}
	expectWhole(t, e)
	if r := e.Replaced(); r.Processes != 0 {
		t.Errorf("replaced: %+v", r)
	}
	t.Logf("attacks: %d", guests*rounds)
}

// TestProcessContext stops rounds from outside, at once and without the process.
func TestProcessContext(t *testing.T) {
	e := apart(t, Options{Workers: 1, Budget: time.Minute})
	for n := range 20 {
		ctx, cancel := context.WithCancel(context.Background())
		g := newGuest(t, e, Activation{})
		time.AfterFunc(time.Duration(n)*time.Millisecond, cancel)
		start := time.Now()
		_, err := g.Run(ctx, Round{Input: []byte("0"), Script: "for (;;);", MaxOutput: 10})
		if !errors.Is(err, context.Canceled) || time.Since(start) > 5*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		g.Close()
		expect(t, e, "out = 'next'", "next")
	}
	if r := e.Replaced(); r.Processes != 0 {
		t.Errorf("replaced: %+v", r)
	}
}

// TestProcessesLeaveNothing opens and closes engines, with guests at every stage, and finds nothing left of them.
func TestProcessesLeaveNothing(t *testing.T) {
	before, open := children(t), descriptors()
	for n := range 6 {
		e := apart(t, Options{Workers: 2, Budget: 300 * time.Millisecond})
		var wg sync.WaitGroup
		guests := make([]*Guest, 5)
		for k := range guests {
			guests[k] = newGuest(t, e, Activation{})
			wg.Go(func() {
				script := "f = () => { out = 1 }"
				if k%2 == 1 {
					script = "for (;;);"
				}
				_, err := guests[k].Run(context.Background(), Round{Input: []byte("0"), Script: script, MaxOutput: 10})
				if k%2 == 0 && err != nil {
					t.Errorf("a round while the engine closes: %v", err)
				}
				guests[k].Close()
			})
		}
		time.Sleep(time.Duration(n*20) * time.Millisecond)
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if _, err := e.Guest(Activation{}); !errors.Is(err, ErrClosed) {
			t.Errorf("a guest of a closed engine: %v", err)
		}
		wg.Wait()
	}
	if n := children(t); n != before {
		t.Errorf("%d processes are left", n-before)
	}
	if n := descriptors(); n != open {
		t.Errorf("%d descriptors are left", n-open)
	}
}

// TestOnce has guests for one round, or one look at a script, in both kinds of engine: each gives what any guest gives, ends with it, and
// leaves its process free at once.
func TestOnce(t *testing.T) {
	here, there := newEngine(t, Options{}), apart(t, Options{Workers: 1})
	r := Round{Input: []byte("0"), Script: "out = 'once'; f = () => 0", MaxOutput: 99}
	for _, e := range []*Engine{here, there} {
		for n := range 20 {
			g := newGuest(t, e, Activation{Once: true})
			if n%2 == 0 {
				if _, err := g.Compile(context.Background(), r.Script); err != nil {
					t.Error(err)
				}
			} else if res, err := g.Run(context.Background(), r); err != nil || string(res.Output) != ">once" {
				t.Errorf("%q, %v", res.Output, err)
			}
			if e == there {
				e.pool.mu.Lock()
				if free := len(e.pool.free); free != 1 || g.away.p != nil {
					t.Errorf("%d processes are free", free)
				}
				e.pool.mu.Unlock()
			}
			if _, err := g.Run(context.Background(), r); !errors.Is(err, errEnded) {
				t.Errorf("a second round: %v", err)
			}
			g.Close()
		}
		expect(t, e, "out = typeof f", "undefined")
	}
	expectWhole(t, there)
	seed := uint64(7)
	g := newGuest(t, here, Activation{})
	frozen, err := g.Freeze(context.Background(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []*Engine{here, there} {
		g, err := e.ThawAs(frozen, Activation{Seed: &seed, Once: true}, true)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		if res, err := g.Run(context.Background(), r); err != nil || string(res.Output) != ">once" {
			t.Errorf("%q, %v", res.Output, err)
		}
		if _, err := g.Run(context.Background(), r); !errors.Is(err, errEnded) {
			t.Errorf("a second round: %v", err)
		}
	}
}
