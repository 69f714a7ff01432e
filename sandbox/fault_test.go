package sandbox

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"example.com/cardrun/limits"
)

// expectEnding accepts what a round may end with when the guest's memory is not its own any more: anything but a code that
// blames the host's caller, and never with output beyond its bound.
func expectEnding(t *testing.T, what string, res Result, err error, max int) {
	t.Helper()
	switch code := limits.CodeOf(err); {
	case err == nil || isThrown(err):
	case code == limits.Engine, code == limits.Timeout, code == limits.Memory, code == limits.TooManyMicrotasks, code == limits.Exception:
	default:
		t.Errorf("%s: %v", what, err)
	}
	if len(res.Output) > 3*max {
		t.Errorf("%s: %d bytes of output", what, len(res.Output))
	}
}

// TestFaultsBetweenRounds writes chosen and random values over a guest's memory between its rounds.
func TestFaultsBetweenRounds(t *testing.T) {
	e := newEngine(t, Options{Budget: 20 * time.Millisecond})
	rng := rand.New(rand.NewPCG(1, 2))
	m := e.image
	fields := []uint32{
		m.runtime + rtHeapBytes, m.runtime + rtStackSize, m.runtime + rtStackTop, m.runtime + rtStackLimit, m.runtime + rtException, m.runtime + rtException + 4,
		m.runtime + rtJobList, m.runtime + rtJobList + 4, m.runtime + rtModuleLoader, m.runtime + 152, m.runtime, m.runtime + 4, m.runtime + 16,
		m.context + ctxRuntime, m.context + ctxRandom, m.context + ctxModules, m.context + 240, m.context + 272, m.context + 288,
		uint32(m.enter), uint32(m.enter) + objClass - 2, uint32(m.enter) + objOpaque, uint32(m.leave), uint32(m.leave) + objOpaque, uint32(m.describeFn) + 4, m.buffer, m.buffer - 8,
	}
	values := func() uint32 {
		switch rng.IntN(4) {
		case 0:
			return []uint32{0, 1, 0xffff_ffff, 0x7fff_ffff, 0x8000_0000, uint32(m.size), uint32(m.size) - 4, stackTop, stackLow, 1024}[rng.IntN(10)]
		case 1:
			return fields[rng.IntN(len(fields))]
		case 2:
			return m.runtime + uint32(rng.IntN(1<<16))
		}
		return rng.Uint32()
	}
	scripts := []string{
		"f = (x) => { Promise.resolve().then(() => { out = 'o' + x }); return Promise.reject(x) }",
		"f = (x) => { out = JSON.stringify({x, s: 'x'.repeat(50)}) }",
		"f = (x) => { throw new Error('e' + x) }",
		"f = (x) => { const a = []; for (let i = 0; i < 200; i++) a.push({i}); out = a.length }",
	}
	for n := range 1500 {
		g := newGuest(t, e, Activation{})
		if _, err := g.Run(context.Background(), Round{Input: []byte("0"), Script: scripts[n%len(scripts)], MaxOutput: 1000}); err != nil {
			if isThrown(err) || limits.CodeOf(err) == limits.Timeout { // a busy machine
				g.Close()
				continue
			}
			t.Fatal(err)
		}
		var what string
		for range 1 + rng.IntN(3) {
			at := fields[rng.IntN(len(fields))]
			if rng.IntN(2) == 0 {
				at = uint32(rng.IntN(g.i.mem.size - 4))
			}
			v := values()
			what += fmt.Sprintf(" [%#x]=%#x", at, v)
			binary.LittleEndian.PutUint32(g.i.mem.buf[at:], v)
		}
		start := time.Now()
		res, err := g.Run(context.Background(), Round{Input: []byte("1"), MaxOutput: 1000})
		expectEnding(t, what, res, err, 1000)
		if frozen, err := g.Freeze(context.Background(), frozenPages+maximumPages*pageSize); err == nil {
			if again, err := e.Thaw(frozen); err == nil {
				again.Close()
			} else {
				t.Errorf("%s: thaw: %v", what, err)
			}
		} else if !errors.Is(err, errEnded) {
			t.Errorf("%s: freeze: %v", what, err)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: took %v", what, took)
		}
		g.Close()
	}
	expect(t, e, "out = 6 * 7", "42")
}

// TestFaultsDuringRounds writes over a guest's memory from outside while it runs and while the host reads it.
func TestFaultsDuringRounds(t *testing.T) {
	if raceEnabled {
		t.Skip("NOT RUN: the fault is a race on purpose")
	}
	e := newEngine(t, Options{Budget: 20 * time.Millisecond})
	for n := range 60 {
		g := newGuest(t, e, Activation{})
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(n), 3))
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
			r := Round{Input: fmt.Append(nil, x), MaxOutput: 1000}
			if x == 0 {
				r.Script = "f = (x) => { out = JSON.stringify({x, s: 'x'.repeat(50)}); return Promise.resolve(x).then(() => 1) }"
			}
			res, err := g.Run(context.Background(), r)
			expectEnding(t, fmt.Sprint("guest ", n), res, err, 1000)
			if err != nil {
				break
			}
		}
		close(stop)
		wg.Wait()
		g.Close()
		expect(t, e, "out = 6 * 7", "42")
	}
}
