package sandbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"
)

// TestFreezeAtEveryRound gives the same outputs and the same fuel whether a guest is frozen between its rounds or not.
func TestFreezeAtEveryRound(t *testing.T) {
	e, other := newEngine(t, Options{}), newEngine(t, Options{})
	seed := uint64(5)
	a := Activation{Seed: &seed, Now: time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)}
	scripts := []string{
		"let n = 0, log = [], big = new Map; f = (x) => { n += x; log.push(Math.random()); big.set(n, 'v'.repeat(n)); out = [n, log.join(), Date.now(), big.size, new Error('e').stack] + '' }",
		"let w = new Uint8Array(6 << 20); w[5 << 20] = 7; f = (x) => { w[x]++; out = [w[5 << 20], w[1], w[2], Math.random()] + '' }",
		"let ps = []; f = (x) => { ps.push(Promise.resolve(x).then((v) => { out = 'settled ' + v + ps.length })); return ps[0] }",
	}
	for _, script := range scripts {
		run := func(freeze func(*Guest) *Guest) (log string) {
			g := newGuest(t, e, a)
			for x := range 6 {
				r := Round{Input: fmt.Append(nil, x), MaxOutput: 10000}
				if x == 0 {
					r.Script = script
				}
				res, err := g.Run(context.Background(), r)
				if err != nil {
					t.Fatal(err)
				}
				log += fmt.Sprintf("%s %d %d\n", res.Output, res.Usage.Fuel, res.Usage.HeapBytes)
				g = freeze(g)
			}
			return log
		}
		want := run(func(g *Guest) *Guest { return g })
		for _, to := range []*Engine{e, other} {
			got := run(func(g *Guest) *Guest {
				frozen, err := g.Freeze(context.Background(), maximumPages*pageSize)
				if err != nil {
					t.Fatal(err)
				}
				before := bytes.Clone(g.i.mem.buf[:g.i.mem.size])
				g.Close()
				if g, err = to.Thaw(frozen); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(g.Close)
				for at := 0; at < len(before); at += kernelPage {
					if !e.image.scratch(at) && !bytes.Equal(before[at:at+kernelPage], g.i.mem.buf[at:at+kernelPage]) {
						t.Fatalf("page at %#x differs", at)
					}
				}
				return g
			})
			if got != want {
				t.Errorf("%s\nfrozen between rounds:\n%s\nnot frozen:\n%s", script, got, want)
			}
		}
	}
}

func TestThawRefuses(t *testing.T) {
	e := newEngine(t, Options{})
	g := newGuest(t, e, Activation{})
	if _, err := g.Run(context.Background(), Round{Input: []byte("0"), Script: "f = (x) => { out = x }", MaxOutput: 99}); err != nil {
		t.Fatal(err)
	}
	frozen, err := g.Freeze(context.Background(), maximumPages*pageSize)
	if err != nil {
		t.Fatal(err)
	}
	refuse := func(what string, b []byte) {
		t.Helper()
		if g, err := e.Thaw(b); !errors.Is(err, ErrFrozen) {
			if g != nil {
				g.Close()
			}
			t.Errorf("%s: %v", what, err)
		}
	}
	for n := 0; n < len(frozen); n += 1 + n/7 {
		refuse(fmt.Sprintf("cut to %d bytes", n), frozen[:n])
		damaged := bytes.Clone(frozen)
		damaged[n] ^= 0x40
		refuse(fmt.Sprintf("byte %d flipped", n), damaged)
	}
	refuse("bytes behind", append(bytes.Clone(frozen), 0))
	// Whoever can make a right checksum still gets no more than a guest whose memory is his own.
	sealed := func(edit func(b []byte) []byte) []byte {
		b := edit(bytes.Clone(frozen))
		sum := sha256.Sum256(b[frozenNow:])
		copy(b[frozenChecksum:], sum[:])
		return b
	}
	for _, size := range []uint32{0, 1, uint32(e.image.size) - pageSize, uint32(e.image.size) + 1, maximumPages*pageSize + pageSize, 0xffff_0000} {
		refuse(fmt.Sprintf("size %d", size), sealed(func(b []byte) []byte { binary.LittleEndian.PutUint32(b[frozenSize:], size); return b }))
	}
	refuse("no S2 block", sealed(func(b []byte) []byte { return append(b[:frozenPages], 0xff, 0xff, 0xff) }))
	refuse("S2 of four gigabytes", sealed(func(b []byte) []byte { return append(b[:frozenPages], 0xff, 0xff, 0xff, 0xff, 0x0f, 0) }))
	if g, err := newEngine(t, Options{Prelude: plainPrelude + "\n"}).Thaw(frozen); err == nil {
		g.Close() // the same image but for its source text, which no function of it keeps: then it is the same engine
	} else if !errors.Is(err, ErrFrozen) {
		t.Error(err)
	}
	if g, err := newEngine(t, Options{Prelude: "globalThis.more = 1; " + plainPrelude}).Thaw(frozen); !errors.Is(err, ErrFrozen) {
		g.Close()
		t.Errorf("another engine: %v", err)
	}
	g.Close()
	if _, err := g.Freeze(context.Background(), maximumPages*pageSize); !errors.Is(err, errEnded) {
		t.Errorf("freezing a closed guest: %v", err)
	}
	if g, err = e.Thaw(frozen); err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if res, err := g.Run(context.Background(), Round{Input: []byte("7"), MaxOutput: 9}); err != nil || string(res.Output) != ">7" {
		t.Errorf("after all that: %q, %v", res.Output, err)
	}
}
