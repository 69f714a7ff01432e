package sandbox

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/metrics"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tetratelabs/wazero/api"

	"example.com/cardrun/limits"
)

// expectEnding accepts what a round may end with when the guest's memory is not its own any more: anything but a code that
// blames the host's caller, and never with output beyond its bound or figures that cannot be.
func expectEnding(t *testing.T, what string, res Result, err error, max int) {
	t.Helper()
	switch code := limits.CodeOf(err); {
	case err == nil || isThrown(err):
	case code == limits.Engine, code == limits.Timeout, code == limits.Memory, code == limits.TooManyMicrotasks, code == limits.Exception:
		if res.Output != nil {
			t.Errorf("%s: output with %v", what, err)
		}
	default:
		t.Errorf("%s: %v", what, err)
	}
	if len(res.Output) > 3*max || !utf8.Valid(res.Output) {
		t.Errorf("%s: %d bytes of output: %.100q", what, len(res.Output), res.Output)
	}
	if u := res.Usage; u.HeapBytes < 0 || u.HeapBytes > maximumPages*pageSize || u.Microtasks > limits.Microtasks || u.Fuel < 0 {
		t.Errorf("%s: %+v", what, u)
	}
}

// faults writes over a guest's memory what an attacker would. Everything it does follows from its seed.
type faults struct {
	rng *rand.Rand
	e   *Engine
	i   *instance
	log []string
}

// places are where the host looks, and what the engine itself relies on most.
func (f *faults) places() []uint32 {
	m := f.e.image
	out := []uint32{m.buffer, m.buffer + 4, m.buffer - 4, m.buffer - 8}
	for at := uint32(0); at < 320; at += 4 { // JSRuntime: its lists, atoms, classes, stack limits, exception, jobs
		out = append(out, m.runtime+at, m.context+at)
	}
	for _, fn := range []uint64{m.enter, m.leave, m.describeFn, m.parts} { // a JSObject: reference count, class, shape, properties, bytecode
		for at := uint32(0); at < 48; at += 4 {
			out = append(out, uint32(fn)+at)
		}
	}
	for _, list := range []uint32{m.runtime + rtJobList, m.runtime + rtJobList + 4, m.runtime + rtException, uint32(m.parts) + arrayValues} { // what they point at
		if at, err := f.i.u32(list); err == nil {
			for k := uint32(0); k < 48; k += 4 {
				out = append(out, at+k)
			}
		}
	}
	return out
}

// value is one that was chosen for its size, a pointer to something else, or any.
func (f *faults) value() uint32 {
	m, size := f.e.image, uint32(f.i.mem.size)
	chosen := []uint32{0, 1, 0xffff_ffff, 0x7fff_ffff, 0x8000_0000, size, size - 1, size + 1, size - 4, size - 8, size - strData, stackTop, stackLow, stackHigh, 1024, 0xffff_fffc, 0xffff_ffec}
	pointers := []uint32{m.runtime, m.context, m.buffer, uint32(m.enter), uint32(m.leave), m.runtime + rtJobList, m.runtime + rtException, m.context + ctxModules}
	switch f.rng.IntN(5) {
	case 0, 1:
		return chosen[f.rng.IntN(len(chosen))]
	case 2:
		return pointers[f.rng.IntN(len(pointers))]
	case 3:
		return m.runtime + uint32(f.rng.IntN(1<<16))&^3
	}
	return f.rng.Uint32()
}

// jsValue is a value that a call into the guest may seem to have returned.
func (f *faults) jsValue() uint64 {
	tags := []uint64{tagString, tagObject, tagException, tagUndefined, 0, 1, 2, 0xffff_fffa, 0xffff_fff8, 0xffff_fff7, 7, uint64(f.rng.Uint32())}
	return tags[f.rng.IntN(len(tags))]<<32 | uint64(f.value())
}

// strike writes a few values, or a few random bytes.
func (f *faults) strike(where string) {
	places := f.places()
	for range 1 + f.rng.IntN(3) {
		at := places[f.rng.IntN(len(places))]
		if f.rng.IntN(4) == 0 {
			at = uint32(f.rng.IntN(f.i.mem.size))
		}
		if uint64(at)+4 > uint64(f.i.mem.size) {
			continue
		}
		if f.rng.IntN(8) == 0 {
			n := min(1+f.rng.IntN(256), f.i.mem.size-int(at))
			for k := range n {
				f.i.mem.buf[int(at)+k] = byte(f.rng.Uint32())
			}
			f.log = append(f.log, fmt.Sprintf("%s: %d random bytes at %#x", where, n, at))
			continue
		}
		v := f.value()
		binary.LittleEndian.PutUint32(f.i.mem.buf[at:], v)
		f.log = append(f.log, fmt.Sprintf("%s: [%#x] = %#x", where, at, v))
	}
}

// lying is an exported function after whose call number n, counted over all of them, memory is not what it was, nor
// perhaps what the call returned. It strikes exactly between the guest's end and the host's reading.
type lying struct {
	api.Function
	f    *faults
	name string
	left *int
}

func (l lying) CallWithStack(ctx context.Context, stack []uint64) error {
	err := l.Function.CallWithStack(ctx, stack)
	if *l.left--; *l.left != -1 || err != nil {
		return err
	}
	if l.f.rng.IntN(3) == 0 {
		stack[0] = l.f.jsValue()
		l.f.log = append(l.f.log, fmt.Sprintf("%s returns %#x", l.name, stack[0]))
		if at := uint32(stack[0]); l.f.rng.IntN(2) == 0 && uint64(at)+strData < uint64(l.f.i.mem.size) { // with a length to go with it
			_ = l.f.i.setU64(at+strLength, uint64(l.f.value())|uint64(l.f.rng.IntN(2))<<31)
		}
	}
	if tag(stack[0]) == tagString && l.f.rng.IntN(2) == 0 { // the string that the host will read
		v := l.f.value()
		_ = l.f.i.setU32(uint32(stack[0])+strLength, v)
		l.f.log = append(l.f.log, fmt.Sprintf("%s: the string has a length of %#x", l.name, v))
	}
	l.f.strike("after " + l.name)
	return nil
}

// hostAllocation is what the host has allocated since the process began.
func hostAllocation() int {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return int(s[0].Value.Uint64())
}

// TestHostileMemory is a guest that rules its memory: values are written over it between its rounds, while it runs, and between
// the end of a call into it and the host's reading of what came of it. The host answers with an honest result or an error
// within its bounds, and the next guest is the boot image, byte for byte.
func TestHostileMemory(t *testing.T) {
	const budget = 10 * time.Millisecond
	e := newEngine(t, Options{Prelude: partsPrelude, Budget: budget, Workers: 1})
	seed, zero := uint64(3), uint64(0x5eed)
	fresh := newGuest(t, e, Activation{Seed: &seed})
	want := bytes.Clone(fresh.i.mem.buf[:fresh.i.mem.size])
	fresh.Close()
	scripts := []string{
		"f = (x) => { Promise.resolve().then(() => { out = 'o' + x + Date.now() }); return Promise.reject(x) }",
		"f = (x) => { out = JSON.stringify({x, t: Date.now(), s: 'x\\u20ac'.repeat(50)}) }",
		"f = (x) => { Date.now(); throw new Error('e' + x) }",
		"f = (x) => { const a = []; for (let i = 0; i < 200; i++) a.push({i, t: i % 50 || Date.now()}); out = a.length }",
		"f = async (x) => { for (let i = 0; i < 9; i++) await Date.now(); out = 'x' + x }",
		"const s = 'x'.repeat(90); f = (x) => { Date.now(); out = [s, 'o' + x + Date.now(), s + '\\u20ac', '>'] }",
	}
	runs := 6000
	if testing.Short() {
		runs = 600
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	endings := map[string]int{}
	var mostMemory int
	var mostCPU time.Duration
	for n := range runs {
		f := &faults{rng: rand.New(rand.NewPCG(zero, uint64(n))), e: e}
		g, err := e.Guest(Activation{Seed: &seed})
		if err != nil {
			t.Fatal(err)
		}
		f.i = g.i
		if !bytes.Equal(g.i.mem.buf[:g.i.mem.size], want) {
			t.Fatalf("run %d: the guest before has left something", n)
		}
		g.budget = patience
		if _, err := g.Run(context.Background(), Round{Input: []byte("0"), Script: scripts[n%len(scripts)], MaxOutput: 1000}); err != nil {
			t.Fatal(err)
		}
		g.budget = budget
		calls := map[bool]int{true: f.rng.IntN(12), false: 1 << 30}[n%3 == 0]
		for _, fn := range g.i.functions() {
			*fn.to = lying{*fn.to, f, fn.name, &calls}
		}
		switch n % 3 {
		case 1:
			f.strike("between rounds")
		case 2:
			asked := f.rng.IntN(4)
			g.i.round.now = func() time.Time {
				if asked--; asked == -1 {
					f.strike("in a host call")
				}
				return time.Now()
			}
		}
		memory, cpu := hostAllocation(), threadCPU()
		res, err := g.Run(context.Background(), Round{Input: []byte("1"), MaxOutput: 1000})
		memory, cpu = hostAllocation()-memory, threadCPU()-cpu
		what := fmt.Sprintf("seed %#x run %d, %q", zero, n, f.log)
		expectEnding(t, what, res, err, 1000)
		if mostMemory = max(mostMemory, memory); memory > 24<<20 {
			t.Errorf("%s: the host allocates %d MiB, %v", what, memory>>20, err)
		}
		if mostCPU = max(mostCPU, cpu); cpu > budget+100*time.Millisecond && !raceEnabled || res.Usage.Elapsed > 5*time.Second {
			t.Errorf("%s: took %v, %v of the processor, %v", what, res.Usage.Elapsed, cpu, err)
		}
		switch {
		case err == nil:
			endings["result"]++
		case isThrown(err):
			endings["thrown"]++
		default:
			endings[string(limits.CodeOf(err))]++
		}
		if frozen, err := g.Freeze(context.Background(), frozenPages+maximumPages*pageSize); err == nil {
			if again, err := e.Thaw(frozen); err == nil {
				again.Close()
			} else {
				t.Errorf("%s: thaw: %v", what, err)
			}
		} else if !errors.Is(err, errEnded) {
			t.Errorf("%s: freeze: %v", what, err)
		}
		for k := range g.i.functions() { // what lies goes no further
			g.i.bind(k)
		}
		g.Close()
		if t.Failed() && n > 20 {
			break
		}
	}
	expect(t, e, "out = 6 * 7", "42")
	t.Logf("attacks: %d", runs)
	t.Logf("seed %#x; endings %v; a round took at most %v of the processor past its budget, and %d KiB of the host", zero, endings, (mostCPU - budget).Round(time.Microsecond), mostMemory>>10)
	if endings["result"] == 0 || endings["engine"] == 0 {
		t.Errorf("the faults do nothing, or too much: %v", endings)
	}
}

// TestHostileMemoryRaces writes over a guest's memory from another thread while it runs and while the host reads it.
func TestHostileMemoryRaces(t *testing.T) {
	if raceEnabled {
		t.Skip("NOT RUN: the fault is a race on purpose")
	}
	e := newEngine(t, Options{Budget: 20 * time.Millisecond, Workers: 1})
	n := 0
	for k := range 60 {
		g := newGuest(t, e, Activation{})
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(k), 3))
			buf, heap := g.i.mem.buf, int(e.image.runtime)
			for {
				select {
				case <-stop:
					return
				default:
				}
				at := rng.IntN(e.image.size - 8)
				if rng.IntN(2) == 0 {
					at = heap + rng.IntN(64<<10)
				}
				buf[at] = byte(rng.Uint32())
				runtime.Gosched()
			}
		})
		for x := range 20 {
			n++
			r := Round{Input: fmt.Append(nil, x), MaxOutput: 1000}
			if x == 0 {
				r.Script = "f = (x) => { out = JSON.stringify({x, s: 'x'.repeat(50)}); return Promise.resolve(x).then(() => 1) }"
			}
			res, err := g.Run(context.Background(), r)
			expectEnding(t, fmt.Sprint("guest ", k), res, err, 1000)
			if err != nil {
				break
			}
		}
		close(stop)
		wg.Wait()
		g.Close()
		expect(t, e, "out = 6 * 7", "42")
	}
	t.Logf("attacks: %d", n)
}
