package cardrun

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// dice is a card whose init draws only where told to, and whose button shows a number and the time.
func dice(draw string) Card {
	c := probe(draw + `; let n = 0; ui.on('go', 'click', () => ui.text('out', [++n, Math.random(), Math.random(), Date.now()].join(' ')))`)
	return c
}

// TestSessionsFromAnImage compares sessions that start from a remembered initialization with ones that ran it, at every
// stage of a session's life: random numbers, clock, fuel and heap are the same.
func TestSessionsFromAnImage(t *testing.T) {
	plain, caching := newRuntime(t, Options{budget: patience}), newRuntime(t, Options{ImageCache: 4 << 20, budget: patience})
	for _, draw := range []string{"", "Math.random()", "Date.now()", "Math.random(); Date.now()", "let big = new Uint8Array(1e6).fill(7)"} {
		card := dice(draw)
		for _, o := range []RenderOptions{{Seed: seed(1), Now: noon}, {Seed: seed(2), Now: evening}, {Seed: seed(1), Now: evening}} {
			var want *Snapshot
			for n, r := range []*Runtime{plain, caching, caching, caching} {
				for _, freeze := range []time.Duration{-1, time.Nanosecond} {
					s, _, err := r.Open(t.Context(), &card, SessionOptions{RenderOptions: o, FreezeAfter: freeze})
					if err != nil {
						t.Fatal(err)
					}
					defer s.Close()
					for range 3 {
						if freeze > 0 {
							expectFrozen(t, s)
						}
						send(t, s, click("go"))
					}
					got := s.Snapshot()
					for i := range got.Rounds {
						got.Rounds[i].Usage.ElapsedUS, got.Rounds[i].Usage.Cached = 0, false
					}
					if want == nil {
						want = got
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("%q, %+v, runtime %d, frozen after %v (-plain +got):\n%s", draw, o, n, freeze, diff)
					}
				}
			}
		}
	}
}

// expectFrozen waits until the session has no guest.
func expectFrozen(t *testing.T, s *Session) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Microsecond) {
		s.mu.Lock()
		frozen := !s.busy && s.act.guest == nil && s.act.frozen != nil
		s.mu.Unlock()
		if frozen {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the session was not frozen")
		}
	}
}

// TestImagesKeepNoRandomness opens sessions of one card without a seed: each draws numbers of its own, though all start
// from one image.
func TestImagesKeepNoRandomness(t *testing.T) {
	r := newRuntime(t, Options{ImageCache: 4 << 20, budget: patience})
	card := dice("")
	seen := map[string]bool{}
	for n := range 20 {
		s, first, err := r.Open(t.Context(), &card, SessionOptions{FreezeAfter: time.Nanosecond})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if first.Rounds[0].Usage.Cached != (n > 0) {
			t.Errorf("session %d: cached is %v", n, first.Rounds[0].Usage.Cached)
		}
		expectFrozen(t, s)
		before := time.Now().UnixMilli()
		send(t, s, click("go"))
		said := strings.Fields(shows(s, "out"))
		if len(said) != 4 || seen[said[1]] || seen[said[2]] {
			t.Errorf("session %d drew what another did: %v", n, said)
			continue
		}
		seen[said[1]], seen[said[2]] = true, true
		var at int64
		for _, c := range said[3] {
			at = 10*at + int64(c-'0')
		}
		if after := time.Now().UnixMilli(); at < before-1000 || at > after+1000 {
			t.Errorf("session %d: its clock says %d, between %d and %d", n, at, before, after)
		}
	}
}

// TestImagesAreNotShared lets sessions of one image do different things (R11, R92).
func TestImagesAreNotShared(t *testing.T) {
	r := newRuntime(t, Options{ImageCache: 4 << 20, budget: patience})
	card := capacity
	var sessions []*Session
	for range 5 {
		s, _, err := r.Open(t.Context(), &card, SessionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		sessions = append(sessions, s)
	}
	for n, s := range sessions {
		send(t, s, input("w", []string{"5", "6", "7", "8", "9"}[n]))
	}
	for n, s := range sessions {
		expectShows(t, s, "answer", []string{"125", "150", "175", "200", "225"}[n]+" requests/s")
	}
	if err := sessions[0].Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	expectShows(t, sessions[0], "answer", "100 requests/s")
	if s := sessions[0].Snapshot(); !s.Rounds[0].Usage.Cached || s.Controls[0].Value != "4" {
		t.Errorf("after Refresh: %+v", s)
	}
	send(t, sessions[0], input("w", "2"))
	expectShows(t, sessions[0], "answer", "50 requests/s")
	expectShows(t, sessions[1], "answer", "150 requests/s")
}

// TestFailedImages gives sessions of a card whose initialization fails: they have ended, from memory too.
func TestFailedImages(t *testing.T) {
	r := newRuntime(t, Options{ImageCache: 4 << 20, budget: patience})
	card := probe(`ui.on('go', 'click', () => 0); throw new Error('no')`)
	for n := range 3 {
		s, first, err := r.Open(t.Context(), &card, SessionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if _, err := s.Send(t.Context(), click("go")); err != ErrEnded || first.Outcome != Failed || first.Failure.Line != 1 || first.Rounds[0].Usage.Cached != (n > 0) {
			t.Errorf("session %d: %v, %+v", n, err, first)
		}
	}
}

// TestLargeImagesAreNotKept runs a card anew that is too large to freeze.
func TestLargeImagesAreNotKept(t *testing.T) {
	r := newRuntime(t, Options{ImageCache: 4 << 20, budget: patience})
	card := probe(`let big = new Uint8Array(6e6); let x = 1; for (let i = 0; i < big.length; i += 64) big[i] = x = x * 16807 % 2147483647; ui.on('go', 'click', () => ui.text('out', String(big.length)))`)
	for range 2 {
		s, first, err := r.Open(t.Context(), &card, SessionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if first.Outcome != Ready || first.Rounds[0].Usage.Cached {
			t.Errorf("%+v", first)
		}
		send(t, s, click("go"))
		expectShows(t, s, "out", "6000000")
	}
}

// BenchmarkOpen opens and closes a session of the specification's first card: new each time, and seen before.
func BenchmarkOpen(b *testing.B) {
	for _, c := range []struct {
		name  string
		cache int
	}{{"new", 0}, {"seen", 4 << 20}} {
		b.Run(c.name, func(b *testing.B) {
			r := newRuntime(b, Options{ImageCache: c.cache})
			body := shared(b, "cards/capacity.json")
			for b.Loop() {
				card := Decode(body)
				s, snapshot, err := r.Open(context.Background(), &card, SessionOptions{})
				if err != nil || snapshot.Outcome != Ready {
					b.Fatal(snapshot, err)
				}
				s.Close()
			}
		})
	}
}

// BenchmarkFirstEvent is the first event of a session that was opened from an image.
func BenchmarkFirstEvent(b *testing.B) {
	r := newRuntime(b, Options{ImageCache: 4 << 20})
	card := Decode(shared(b, "cards/capacity.json"))
	for b.Loop() {
		s, _, err := r.Open(context.Background(), &card, SessionOptions{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Send(context.Background(), input("workers", "5")); err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}

// BenchmarkRenderSeen is a render that is answered from memory, from the card's text to the Snapshot's.
func BenchmarkRenderSeen(b *testing.B) {
	r := newRuntime(b, Options{RenderCache: 4 << 20})
	body := shared(b, "cards/capacity.json")
	var out []byte
	for b.Loop() {
		card := Decode(body)
		s, err := r.Render(context.Background(), &card, RenderOptions{})
		if err == nil {
			out, err = s.AppendJSON(out[:0])
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
