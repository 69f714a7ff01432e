package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/cardrun/limits"
)

// liar serves as a worker does, and then changes what it says: what the argument, a seed, determines.
func liar(seed string) int {
	n, _ := strconv.ParseUint(seed, 10, 64)
	rng := rand.New(rand.NewPCG(n, 9))
	conn := descriptor(workerDescriptor)
	honest := worker{conn: conn, in: bufio.NewReader(conn)}
	if err := honest.start(workerHooks{}); err != nil {
		return 1
	}
	for {
		kind, body, err := readFrame(honest.in, nil, maxQuestion)
		if err != nil {
			return 0
		}
		var out []byte
		switch kind {
		case frameRound:
			q, err := parseQuestion(body)
			if err != nil {
				return 1
			}
			out = seal(honest.answer(q).append(appendFrame(nil, frameDone)))
		case frameFreeze:
			if out, err = honest.freeze(body); err != nil {
				return 1
			}
			seal(out)
		case frameClose:
			honest.leave()
			out = seal(appendFrame(nil, frameClosed))
		default:
			continue
		}
		switch rng.IntN(10) {
		case 0: // a length
			binary.LittleEndian.PutUint32(out, []uint32{0, 1, uint32(len(out)), 1 << 20, 1 << 28, 1<<32 - 1}[rng.IntN(6)])
		case 1: // a kind
			out[4] = byte(rng.IntN(256))
		case 2: // cut
			out = out[:rng.IntN(len(out))]
			binary.LittleEndian.PutUint32(append(out, 0, 0, 0, 0, 0), uint32(max(len(out)-frameHead, 0)))
		case 3: // more
			out = append(out, bytes.Repeat([]byte{byte(rng.IntN(256))}, rng.IntN(1<<16))...)
		case 4: // a stream without end
			_, _ = conn.Write(out[:min(len(out), 4)])
			for {
				if _, err := conn.Write(bytes.Repeat([]byte{0xff}, 1<<16)); err != nil {
					return 1
				}
			}
		case 5: // nothing, and the end
			return 3
		case 6: // fields of eight bytes
			if at := frameHead + 2 + 8*rng.IntN(8); at+8 <= len(out) {
				binary.LittleEndian.PutUint64(out[at:], []uint64{0, 1, 257, 1 << 31, 1 << 40, 1 << 62, 1 << 63, 1<<64 - 1}[rng.IntN(8)])
			}
		default: // bytes anywhere
			for range 1 + rng.IntN(4) {
				out[frameHead+rng.IntN(max(len(out)-frameHead, 1))%len(out)] = byte(rng.IntN(256))
			}
		}
		if _, err := conn.Write(out); err != nil {
			return 1
		}
	}
}

// TestProcessThatLies plays against workers that somebody else has taken over. Whatever they say, the program gets a result within
// bounds, what the guest threw, or an error; it does not panic, wait for long, or take much memory.
func TestProcessThatLies(t *testing.T) {
	seeds := 24
	if testing.Short() {
		seeds = 6
	}
	var answers atomic.Int64
	var wg sync.WaitGroup
	for k := range 6 { // most of the time goes by waiting for what does not come
		wg.Go(func() {
			for seed := k; seed < seeds; seed += 6 {
				hearLies(t, seed, &answers)
			}
		})
	}
	wg.Wait()
	if n := children(t); n != 0 {
		t.Errorf("%d processes are left", n)
	}
	t.Logf("attacks: %d", answers.Load())
}

// hearLies plays a few guests on a worker that lies.
func hearLies(t *testing.T, seed int, answers *atomic.Int64) {
	e, err := New(context.Background(), Options{
		Prelude: plainPrelude, Isolation: IsolationProcess, Workers: 1, Budget: 100 * time.Millisecond, WorkerCommand: self("liar " + strconv.Itoa(seed)),
	})
	if err != nil {
		t.Error(err)
		return
	}
	defer e.Close()
	for range 4 {
		g, err := e.Guest(Activation{})
		if err != nil {
			t.Error(err)
			return
		}
		r := Round{Input: []byte("0"), Script: "f = (x) => { out = 'o' + x }; out = 'ready'", MaxOutput: 50}
		for x := range 3 {
			start := time.Now()
			res, err := g.Run(context.Background(), r)
			answers.Add(1)
			expectEnding(t, fmt.Sprintf("seed %d", seed), res, err, r.MaxOutput)
			if took := time.Since(start); took > 20*time.Second || res.Usage.Elapsed > took || res.Usage.Elapsed < 0 ||
				res.Usage.Fuel < 0 || res.Usage.HeapBytes < 0 || res.Usage.HeapBytes > maximumPages*pageSize || res.Usage.Microtasks > limits.Microtasks {
				t.Errorf("seed %d: after %v %+v", seed, took, res.Usage)
			}
			if err != nil {
				break
			}
			r = Round{Input: []byte(strconv.Itoa(x)), MaxOutput: 50}
			if x == 1 {
				answers.Add(1)
				frozen, err := g.Freeze(context.Background(), 1<<20)
				if err == nil && len(frozen) > maxFrozen {
					t.Errorf("seed %d: %d bytes of frozen state", seed, len(frozen))
				}
			}
		}
		g.Close()
	}
}
