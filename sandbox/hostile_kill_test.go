package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/cardrun/limits"
)

// strictTime is set for a run that has the machine for itself: then wall time is held to the promise, 25 ms past a budget and
// 50 ms for a garbage collection. Otherwise the processor time of the guest's thread is, and wall time to seconds.
var strictTime = os.Getenv("CARDRUN_STRICT_TIME") != ""

// overrun is how long a guest may go on after its budget.
const overrun = 25 * time.Millisecond

// attacks reads a file of attacks: sections named by lines "# name", one script a line, comments after "//" at the start.
func attacks(t testing.TB, file string) map[string][]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "hostile", file))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	section := ""
	for line := range strings.Lines(string(b)) {
		switch line = strings.TrimSuffix(line, "\n"); {
		case line == "" || strings.HasPrefix(line, "//"):
		case strings.HasPrefix(line, "# "):
			section = line[2:]
		default:
			out[section] = append(out[section], line)
		}
	}
	return out
}

// collector forces garbage collections, one after another, and keeps the longest.
type collector struct {
	stop chan struct{}
	wg   sync.WaitGroup
	max  time.Duration
	n    int
}

func collect() *collector {
	c := &collector{stop: make(chan struct{})}
	c.wg.Go(func() {
		for {
			select {
			case <-c.stop:
				return
			case <-time.After(3 * time.Millisecond):
			}
			start := time.Now()
			runtime.GC()
			c.max, c.n = max(c.max, time.Since(start)), c.n+1
		}
	})
	return c
}

// end stops the collections and judges the longest.
func (c *collector) end(t *testing.T) {
	t.Helper()
	close(c.stop)
	c.wg.Wait()
	t.Logf("%d collections meanwhile, the longest took %v", c.n, c.max.Round(time.Microsecond))
	if c.n == 0 || c.max > 5*time.Second || strictTime && c.max > 50*time.Millisecond {
		t.Errorf("%d collections, the longest took %v", c.n, c.max)
	}
}

// ends tells whether an error is among those that a kind of attack may end with.
func ends(kind string, inJob bool, err error) bool {
	code := limits.CodeOf(err)
	switch kind {
	case "endless":
		return code == limits.Timeout
	case "hungry": // on a slow machine the time may be over first; some are refused by a RangeError, which in a job is nobody's
		return code == limits.Memory || code == limits.Timeout || isThrown(err) || err == nil && inJob
	}
	// An error in a promise that nobody looks at is none, and neither is one that is caught.
	return err == nil || isThrown(err) || slices.Contains([]limits.Code{limits.Exception, limits.Timeout, limits.Memory, limits.TooManyMicrotasks}, code)
}

// TestHostileKillMatrix spends time or memory in every way that comes to mind, each in the script, in the function that enter
// calls, and in a job: it ends in time with its code, the pool is whole, the next guest is right, and the memory of the
// process is what it was.
func TestHostileKillMatrix(t *testing.T) {
	const budget = 15 * time.Millisecond
	e := newEngine(t, Options{Budget: budget, Workers: 2})
	expect(t, e, "out = 6 * 7", "42")
	debug.FreeOSMemory()
	pool, mappings, memory := instances(e), guestMappings(), resident()
	runtime.LockOSThread() // so that the thread's time is the guest's
	defer runtime.UnlockOSThread()
	gc := collect()

	n, again := 0, 0
	var worstWall, worstCPU time.Duration
	var worstAt string
	// once runs a script, and tells what its round took of the clock and of the processor.
	once := func(kind, shape, script string) (wall, cpu time.Duration) {
		g, err := e.Guest(Activation{})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		cpu = threadCPU()
		res, err := g.Run(context.Background(), Round{Input: []byte("0"), Script: script, MaxOutput: 1000})
		if shape[0] == 'f' && err == nil {
			cpu = threadCPU()
			res, err = g.Run(context.Background(), Round{Input: []byte("1"), MaxOutput: 1000})
		}
		cpu = threadCPU() - cpu
		var thrown *Thrown
		if !ends(kind, shape[0] == 'P', err) || errors.As(err, &thrown) && thrown.Kind == Syntax {
			t.Errorf("%s: %s\nended with %q: %v", kind, script, res.Output, errors.Join(err, errors.Unwrap(err)))
		}
		return res.Usage.Elapsed, cpu
	}
	try := func(kind, shape, body string) {
		n++
		script := fmt.Sprintf(shape, body)
		for k := range 4 { // memory that the system must first find costs anybody time; a guest that goes on does so each time
			wall, cpu := once(kind, shape, script)
			if k == 0 && wall-budget > worstWall {
				worstWall, worstCPU, worstAt = wall-budget, cpu-budget, script
			}
			late := wall > 5*time.Second || strictTime && wall > budget+overrun || !raceEnabled && cpu > budget+overrun
			if !late {
				break
			}
			if again++; k == 3 {
				t.Errorf("%s: %s\ntook %v, and %v of the processor, four times", kind, script, wall, cpu)
			}
		}
		if n%25 == 0 {
			expect(t, e, "out = 6 * 7", "42")
		}
	}
	for kind, bodies := range attacks(t, "kill.txt") {
		for k, body := range bodies {
			for s, shape := range []string{"%s", "f = () => { %s }", "Promise.resolve().then(() => { %s })"} {
				if !testing.Short() || k%3 == s { // each in one of its places
					try(kind, shape, body)
				}
			}
		}
	}
	t.Logf("attacks: %d", n)
	t.Logf("the worst went on for %v after its budget, %v of them its own: %.100s", worstWall.Round(time.Microsecond), worstCPU.Round(time.Microsecond), worstAt)
	t.Logf("%d runs went on for more than %v", again, overrun)
	gc.end(t)
	if n < 100 {
		t.Errorf("%d attacks", n)
	}
	expect(t, e, "out = 6 * 7", "42")
	if got := instances(e); got > 2*e.Workers() || got < pool {
		t.Errorf("%d instances are kept, %d before", got, pool)
	}
	debug.FreeOSMemory()
	if got := guestMappings(); got-mappings > 2*e.Workers()-pool {
		t.Errorf("%d guests are mapped, %d before", got, mappings)
	}
	t.Logf("resident memory: %d MiB before, %d after", memory>>20, resident()>>20)
	if got := resident(); got > memory+32<<20 && !raceEnabled {
		t.Errorf("%d MiB are resident, %d before", got>>20, memory>>20)
	}
}

// instances counts what the pool holds, all of it restored, and the guests that are open.
func instances(e *Engine) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.idle) + e.live
}

// TestHostileNativeStack recurses as deep as the guest's stack goes, in every function that the host calls. The frames of
// machine code lie in memory of the host's, outside the guest's 32 MiB, and must not outlive the round.
func TestHostileNativeStack(t *testing.T) {
	e := newEngine(t, Options{Workers: 1})
	const deep = "const d = () => d();"
	n := 0
	for _, script := range []string{
		deep + "try { d() } catch {} f = () => { try { d() } catch {} Promise.resolve().then(() => { try { d() } catch {} }) }",
		deep + "f = d", deep + "f = () => Promise.resolve().then(d)", deep + "f = async () => d()",
		"f = () => { try { eval('['.repeat(1e5)) } catch {} }; const e = {toString: () => d()}; function d() { return d() } f()",
		"let q = {}; for (let i = 0; i < 1e4; i++) q = new Proxy(q, {}); f = () => { try { q.x } catch {} }; f()",
	} {
		g := newGuest(t, e, Activation{})
		for x := range 2 {
			n++
			r := Round{Input: fmt.Append(nil, x), MaxOutput: 1000}
			if x == 0 {
				r.Script = script
			}
			if _, err := g.Run(context.Background(), r); err != nil && !isThrown(err) {
				t.Errorf("%s\n%v", script, err)
			}
			for _, f := range g.i.functions() {
				if got := stackSize(nativeStack(*f.to)); got > nativeStackKept || got < 1024 {
					t.Errorf("%s\nround %d leaves %s with a native stack of %d bytes", script, x, f.name, got)
				}
			}
		}
		g.Close()
	}
	// The field that tells must be the one that grows.
	g := newGuest(t, e, Activation{})
	g.i.bind(0)
	small := stackSize(nativeStack(g.i.eval))
	if _, err := g.i.call(g.i.eval, stagedScript(t, g, "try { (function d() { d() })() } catch {} 0")...); err != nil {
		t.Fatal(err)
	}
	if large := stackSize(nativeStack(g.i.eval)); large < 1<<20 || large > 32<<20 || small > 64<<10 {
		t.Errorf("the native stack has %d bytes before and %d after a deep recursion", small, large)
	}
	g.i.shrink()
	if got := stackSize(nativeStack(g.i.eval)); got != small {
		t.Errorf("%d bytes afterwards", got)
	}
	// One that is larger than the guest's own stack can make it ends the round at its next tick.
	n++
	g = newGuest(t, e, Activation{})
	stacks := g.i.stacks
	g.i.stacks[3] = reflect.ValueOf(make([]byte, nativeStackMost+1))
	if _, err := g.Run(context.Background(), Round{Input: []byte("0"), Script: "for (let i = 0; i < 1e5; i++);", MaxOutput: 9}); limits.CodeOf(err) != limits.Exception || isThrown(err) {
		t.Errorf("a native stack of %d bytes: %v", nativeStackMost+1, err)
	}
	g.i.stacks = stacks
	t.Logf("attacks: %d", n)
}

// stagedScript gives the arguments with which the engine evaluates a script.
func stagedScript(t *testing.T, g *Guest, script string) []uint64 {
	t.Helper()
	at, err := g.engine.image.stage(g.i, "test.js", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	return []uint64{uint64(g.engine.image.context), at.data, at.size, at.name, evalGlobal}
}
