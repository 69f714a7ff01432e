package cardrun

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestHistory holds a bounded history against one that keeps everything.
func TestHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := history{keep: rapid.IntRange(0, 9).Draw(t, "keep")}
		var all []Round
		for n := range rapid.IntRange(0, 60).Draw(t, "rounds") {
			r := Round{Phase: PhaseEvent, Event: &Event{ID: strconv.Itoa(n)}}
			h.add(r)
			all = append(all, r)
		}
		bytes := 0
		for i := range h.rounds {
			bytes += h.rounds[i].size()
		}
		if h.size() != bytes {
			t.Fatalf("%d rounds take %d bytes, not %d", len(h.rounds), bytes, h.size())
		}
		want, gap := all, 0
		if h.keep > 0 && len(all) > 1+h.keep {
			gap = len(all) - 1 - h.keep
			want = append(all[:1:1], all[1+gap:]...)
		}
		if diff := cmp.Diff(want, h.kept()); diff != "" || h.count() != len(all) {
			t.Fatalf("%d rounds, %d kept (-want +got):\n%s", h.count(), h.keep, diff)
		}
		from := rapid.IntRange(-2, 65).Draw(t, "from")
		first := min(max(from, 0), len(all))
		if gap > 0 {
			first = min(max(from, 1+gap), len(all))
		}
		rounds, got := h.from(from)
		if diff := cmp.Diff(all[first:], rounds); got != first || len(all[first:]) > 0 && diff != "" {
			t.Fatalf("from %d: first is %d, not %d (-want +got):\n%s", from, got, first, diff)
		}
		if h.keep > 0 && len(h.rounds) > 2+2*h.keep {
			t.Fatalf("%d rounds are held where %d are kept", len(h.rounds), h.keep)
		}
	})
}

func TestKeepRounds(t *testing.T) {
	r := newRuntime(t, Options{budget: patience})
	const html, script = `<button id="go">Go</button><p id="out"></p>`,
		`let n = 0; ui.on('go', 'click', () => { if (++n === 9) throw new Error('nine'); ui.text('out', String(n)) }); ui.text('out', 'start')`
	s := open(t, r, html, script, SessionOptions{KeepRounds: 3})
	for range 8 {
		send(t, s, click("go"))
	}
	said := func(rounds []Round) (out []string) {
		for _, r := range rounds {
			out = append(out, r.Patches[0].Value)
		}
		return out
	}
	if diff := cmp.Diff([]string{"start", "6", "7", "8"}, said(s.Snapshot().Rounds)); diff != "" {
		t.Errorf("the Snapshot's rounds (-want +got):\n%s", diff)
	}
	p := s.Follow(1, 2)
	if diff := cmp.Diff([]string{"6", "7", "8"}, said(p.Rounds)); diff != "" || p.First != 6 {
		t.Errorf("followed from 2: first is %d (-want +got):\n%s", p.First, diff)
	}
	if p := s.Follow(1, 8); p.First != 8 || len(p.Rounds) != 1 || said(p.Rounds)[0] != "8" {
		t.Errorf("followed from 8: %+v", p)
	}
	if p := s.Follow(1, 9); p.First != 9 || len(p.Rounds) != 0 {
		t.Errorf("followed from the next: %+v", p)
	}
	report, err := s.Send(t.Context(), click("go"))
	if f := s.Snapshot().Failure; err != nil || len(report.Rounds) != 1 || f == nil || f.Round != 9 {
		t.Errorf("the ninth click: %+v, %v, failure %+v", report, err, f)
	}
	if n := s.Size(); n < 4096 || n > 100_000 {
		t.Errorf("the session takes %d bytes", n)
	}
	if err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := s.Size(); n < 300_000 || n > 1_000_000 {
		t.Errorf("the session with a guest takes %d bytes", n)
	}
	if rounds := s.Snapshot().Rounds; len(rounds) != 1 || s.Follow(2, 0).First != 0 {
		t.Errorf("after Refresh: %+v", rounds)
	}
}
