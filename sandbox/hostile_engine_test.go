package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"example.com/cardrun/limits"
)

// TestHostileEngine runs scripts in the manner of the engine's known bugs: a use after free, a buffer that shrinks under the one
// who writes to it. Where such a bug works it rules the guest's memory and no more: the round ends honestly or as a
// failure of the engine, and the next guest is the boot image, byte for byte.
func TestHostileEngine(t *testing.T) {
	e := newEngine(t, Options{Budget: 50 * time.Millisecond, Workers: 1})
	seed := uint64(3)
	fresh := newGuest(t, e, Activation{Seed: &seed})
	want := bytes.Clone(fresh.i.mem.buf[:fresh.i.mem.size])
	fresh.Close()
	n := 0
	for kind, bodies := range attacks(t, "engine.txt") {
		for _, body := range bodies {
			for _, shape := range []string{"%s", "f = () => { %s }", "Promise.resolve().then(() => { %s })", "for (let i = 0; i < 30; i++) { %s }"} {
				n++
				script := fmt.Sprintf(shape, body)
				g, err := e.Guest(Activation{Seed: &seed})
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(g.i.mem.buf[:g.i.mem.size], want) {
					t.Fatalf("the guest before has left something; next was %s: %s", kind, script)
				}
				for x := range 3 { // what was broken may show later
					r := Round{Input: fmt.Append(nil, x), MaxOutput: 4000}
					if x == 0 {
						r.Script = script
					}
					res, err := g.Run(context.Background(), r)
					expectEnding(t, kind+": "+script, res, err, 4000)
					var thrown *Thrown
					if shape == "%s" && errors.As(err, &thrown) && thrown.Kind == Syntax {
						t.Errorf("%s: %s\ndoes not parse: %v", kind, script, err)
					}
					if !isThrown(err) && limits.CodeOf(err) == limits.Engine {
						t.Logf("%s: %s\nends as a failure of the engine: %v", kind, script, errors.Unwrap(err))
					}
					if err != nil {
						break
					}
				}
				g.Close()
			}
		}
	}
	expect(t, e, "out = 6 * 7", "42")
	// In this build it wrote past the end of what was allocated.
	expect(t, e, "for (let i = 0; i < 300; i++) { const b = new SharedArrayBuffer(8, {maxByteLength: 64}); b.grow?.(64); new Uint8Array(b).fill(255) } out = typeof SharedArrayBuffer.prototype.grow", "undefined")
	t.Logf("attacks: %d", n)
	if n < 200 {
		t.Errorf("%d attacks", n)
	}
}
