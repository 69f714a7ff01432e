package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cardrun"
	"example.com/cardrun/limits"
	"example.com/cardrun/patches"
	"example.com/cardrun/sanitize"
)

const (
	// cardFuel bounds a round of a generated card: some 15 ms compiled, half a second interpreted.
	cardFuel = 300_000
	// cardPatience is a round's time that no machine, however busy, should need.
	cardPatience = 20 * time.Second
)

// cardLab runs generated cards on two engines, beside a canary: a live session on the same runtime, which nothing that
// the cards do may touch.
type cardLab struct {
	compiled, interpreted *cardrun.Runtime
	remembering           *cardrun.Runtime // compiled, with sessions that start where an earlier initialization ended
	examples              []cardrun.Card
	canary                *cardrun.Session
	pumps                 int
	now                   time.Time

	mu       sync.Mutex
	outcomes map[string]int // how the cards ended
}

func newCardLab(t testing.TB) *cardLab {
	t.Helper()
	l := &cardLab{examples: exampleCards(t), outcomes: map[string]int{}, now: time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC), pumps: 3}
	var err error
	if l.compiled, err = cardrun.New(context.Background(), cardrun.Options{Fuel: cardFuel}); err != nil {
		t.Fatal(err)
	}
	if l.interpreted, err = cardrun.New(context.Background(), cardrun.Options{Fuel: cardFuel, Interpreter: true}); err != nil {
		t.Fatal(err)
	}
	if l.remembering, err = cardrun.New(context.Background(), cardrun.Options{Fuel: cardFuel, ImageCache: 16 << 20}); err != nil {
		t.Fatal(err)
	}
	card := &cardrun.Card{Title: "Canary", Summary: "Three pumps at 14 move 42.", HTML: `<input id="pumps" type="range" min="1" max="9" value="3"><p id="answer"></p>`,
		JavaScript: `let moves = 0; const show = () => ui.text('answer', moves++ + ': ' + ui.input('pumps').value * 14); ui.on('pumps', 'input', show); show();`}
	l.canary, _, err = l.compiled.Open(context.Background(), card, cardrun.SessionOptions{FreezeAfter: 20 * time.Millisecond})
	if err != nil || l.canary == nil {
		t.Fatal("open the canary", err)
	}
	t.Cleanup(func() {
		l.canary.Close()
		if err := errors.Join(l.compiled.Close(), l.interpreted.Close(), l.remembering.Close()); err != nil {
			t.Error(err)
		}
	})
	return l
}

// chirp looks at the canary, moves it, and looks again.
func (l *cardLab) chirp() error {
	s := l.canary.Snapshot()
	moves := len(s.Rounds) - 1
	want := func(moves int) string {
		return fmt.Sprintf(`<input id="pumps" type="range" min="1" max="9" value="%d"><p id="answer">%d: %d</p>`, l.pumps, moves, l.pumps*14)
	}
	if s.Outcome != cardrun.Ready || s.Display.HTML != want(moves) {
		return fmt.Errorf("the canary shows %q, not %q (%+v)", s.Display.HTML, want(moves), s.Failure)
	}
	if moves >= 60 { // a session keeps its rounds
		l.pumps = 3
		return l.canary.Refresh(context.Background())
	}
	l.pumps = 1 + (l.pumps+3)%9
	if _, err := l.canary.Send(context.Background(), input("pumps", fmt.Sprint(l.pumps))); err != nil {
		return fmt.Errorf("move the canary: %w", err)
	}
	if s := l.canary.Snapshot(); s.Outcome != cardrun.Ready || s.Display.HTML != want(moves+1) {
		return fmt.Errorf("the canary, once moved, shows %q, not %q (%+v)", s.Display.HTML, want(moves+1), s.Failure)
	}
	return nil
}

// run plays a card on a runtime and gives its last snapshot. What must hold after each event is checked on the way.
func (l *cardLab) run(r *cardrun.Runtime, p play, freeze time.Duration) (*cardrun.Snapshot, error) {
	ctx := context.Background()
	s, snapshot, err := r.Open(ctx, p.card, cardrun.SessionOptions{RenderOptions: cardrun.RenderOptions{Seed: &p.seed, Now: l.now}, FreezeAfter: freeze})
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	if s == nil {
		return snapshot, nil
	}
	defer s.Close()
	for i, e := range p.events {
		before := s.Snapshot()
		if err := snapshotFault(before); err != nil {
			return nil, fmt.Errorf("before event %d: %w", i, err)
		}
		_, err := s.Send(ctx, e)
		after := s.Snapshot()
		switch {
		case errors.Is(err, cardrun.ErrEnded) && before.Outcome == cardrun.Failed:
			if after.Display.HTML != before.Display.HTML || len(after.Rounds) != len(before.Rounds) {
				return nil, fmt.Errorf("event %d: an ended activation changed", i)
			}
		case err != nil && !errors.Is(err, cardrun.ErrEvent):
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
	}
	snapshot = s.Snapshot()
	return snapshot, snapshotFault(snapshot)
}

// snapshotFault finds what no snapshot of a card that was accepted may hold.
func snapshotFault(s *cardrun.Snapshot) error {
	if (s.Outcome == cardrun.Failed) != (s.Failure != nil) || s.Outcome == cardrun.Rejected {
		return fmt.Errorf("outcome %s with failure %+v", s.Outcome, s.Failure)
	}
	h, err := sanitize.Fragment(s.Display.HTML)
	if err != nil {
		return fmt.Errorf("the display does not pass the sanitizer: %w: %q", err, s.Display.HTML)
	}
	if got := h.String(); got != s.Display.HTML {
		return fmt.Errorf("the sanitizer makes\n%q of\n%q", got, s.Display.HTML)
	}
	if err := controlsFault(s.Controls); err != nil {
		return err
	}
	if len(s.Handlers) > limits.Handlers {
		return fmt.Errorf("%d handlers", len(s.Handlers))
	}
	for i, r := range s.Rounds {
		u := r.Usage
		if len(r.Patches) > limits.Patches || u.Microtasks > limits.Microtasks+1 || u.BatchBytes > limits.Batch && r.Patches != nil || u.HeapBytes > limits.Heap {
			return fmt.Errorf("round %d used %+v", i, u)
		}
		if took := time.Duration(u.ElapsedUS) * time.Microsecond; took > cardPatience {
			return fmt.Errorf("round %d took %v", i, took)
		}
	}
	return nil
}

// snapshotText is a snapshot's JSON text without the one figure that may differ between equal runs, and without the word
// that tells where it came from.
func snapshotText(s *cardrun.Snapshot) (string, error) {
	for i := range s.Rounds {
		s.Rounds[i].Usage.ElapsedUS, s.Rounds[i].Usage.Cached = 0, false
	}
	b, err := s.AppendIndent(nil, "\t")
	return string(b), err
}

// ranLate tells that a round was ended by the clock on the wall, which no two runs need to agree on.
func ranLate(s *cardrun.Snapshot) bool {
	return s.Failure != nil && s.Failure.Code == limits.Timeout && strings.Contains(s.Failure.Message, "ms and was stopped")
}

// prove plays one card: on compiled code, then there with freezing after each event, then where initialized cards are
// remembered, before there is something to remember and after, then on the interpreter; and the canary beside it. It returns what is wrong.
func (l *cardLab) prove(p play) error {
	first, err := l.run(l.compiled, p, -1)
	if err != nil {
		return err
	}
	if err := l.chirp(); err != nil {
		return err
	}
	l.count(first)
	if first.Outcome == cardrun.Rejected {
		if len(first.Diagnostics) == 0 || first.Display != nil {
			return fmt.Errorf("rejected with %+v", first)
		}
		return nil
	}
	if first.Failure != nil && first.Failure.Code == limits.Engine {
		return fmt.Errorf("the engine failed: %+v", first.Failure)
	}
	if ranLate(first) {
		return nil
	}
	one, err := snapshotText(first)
	if err != nil {
		return err
	}
	if err := l.same(one, "again", l.compiled, p, time.Nanosecond); err != nil {
		return err
	}
	for _, name := range []string{"remembered", "from memory"} {
		if err := l.same(one, name, l.remembering, p, -1); err != nil {
			return err
		}
	}
	return l.same(one, "on the interpreter", l.interpreted, p, -1)
}

// same plays a card once more and holds it against the text of the first time.
func (l *cardLab) same(one, name string, r *cardrun.Runtime, p play, freeze time.Duration) error {
	second, err := l.run(r, p, freeze)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if ranLate(second) {
		return nil
	}
	if r == l.interpreted && second.Failure != nil && second.Failure.Message == "a chain of calls is too deep for the engine's own stack" {
		return nil // the interpreter has 2,000 frames, the compiler as many as fit in the guest's stack
	}
	two, err := snapshotText(second)
	if err == nil && one != two {
		err = fmt.Errorf("%s, it is not the same:\n%s", name, cmp.Diff(strings.Split(one, "\n"), strings.Split(two, "\n")))
	}
	return err
}

func (l *cardLab) count(s *cardrun.Snapshot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := string(s.Outcome)
	switch {
	case s.Failure != nil:
		key = string(s.Failure.Code)
	case s.Outcome == cardrun.Rejected && len(s.Diagnostics) > 0:
		key += " " + string(s.Diagnostics[0].Code)
	}
	l.outcomes[key]++
}

// describe is a card with its events, as one reads it.
func (p play) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d\nhtml %q\ncss %q\njavascript\n%s\n", p.seed, p.card.HTML, p.card.CSS, p.card.JavaScript)
	for _, e := range p.events {
		fmt.Fprintf(&b, "event %s %s", e.ID, e.Type)
		if e.Value != nil {
			fmt.Fprintf(&b, " value %.100q", *e.Value)
		}
		if e.Checked != nil {
			fmt.Fprintf(&b, " checked %t", *e.Checked)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// cardBytes are the bytes of the nth generated card.
func cardBytes(n uint64) []byte {
	r := rand.New(rand.NewPCG(n, 6))
	b := make([]byte, 40+r.IntN(600))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// TestCardOraclesBite shows that what the generated cards are held against notices what it is there for.
func TestCardOraclesBite(t *testing.T) {
	l := newCardLab(t)
	p := play{card: &cardrun.Card{Title: "T", Summary: "S", HTML: `<p id="p"></p>`, JavaScript: "ui.text('p', '' + Math.random())"}, seed: 1}
	expectNoticed := func(what string, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s was not noticed", what)
		}
	}
	if err := l.prove(p); err != nil {
		t.Fatal(err)
	}
	s, err := l.run(l.compiled, p, -1)
	if err != nil {
		t.Fatal(err)
	}
	one, err := snapshotText(s)
	if err != nil {
		t.Fatal(err)
	}
	other := p
	other.seed++
	expectNoticed("another seed", l.same(one, "again", l.compiled, other, -1))
	expectNoticed("another seed on the interpreter", l.same(one, "again", l.interpreted, other, -1))
	for what, spoil := range map[string]func(*cardrun.Snapshot){
		"a script in the display": func(s *cardrun.Snapshot) { s.Display.HTML += "<script></script>" },
		"html out of form":        func(s *cardrun.Snapshot) { s.Display.HTML = "<p>open" },
		"a round of a minute":     func(s *cardrun.Snapshot) { s.Rounds[0].Usage.ElapsedUS = 60e6 },
		"a heap of a gibibyte":    func(s *cardrun.Snapshot) { s.Rounds[0].Usage.HeapBytes = 1 << 30 },
		"a failure that is none":  func(s *cardrun.Snapshot) { s.Failure = &cardrun.Failure{} },
		"a control with a long id": func(s *cardrun.Snapshot) {
			s.Controls = append(s.Controls, patches.Control{ID: strings.Repeat("a", 65)})
		},
		"a patch too many":         func(s *cardrun.Snapshot) { s.Rounds[0].Patches = make(patches.Batch, 65) },
		"a handler too many":       func(s *cardrun.Snapshot) { s.Handlers = make([]cardrun.Handler, 193) },
		"more jobs than may run":   func(s *cardrun.Snapshot) { s.Rounds[0].Usage.Microtasks = 300 },
		"a batch of a hundred KiB": func(s *cardrun.Snapshot) { s.Rounds[0].Usage.BatchBytes = 100 << 10 },
		"a value over its limit": func(s *cardrun.Snapshot) {
			s.Controls = append(s.Controls, patches.Control{ID: "a", Value: strings.Repeat("x", 2049)})
		},
		"a rejection while running": func(s *cardrun.Snapshot) { s.Outcome = cardrun.Rejected },
	} {
		s, err := l.run(l.compiled, p, -1)
		if err != nil {
			t.Fatal(err)
		}
		spoil(s)
		expectNoticed(what, snapshotFault(s))
	}
	if _, err := l.canary.Send(t.Context(), input("pumps", "9")); err != nil {
		t.Fatal(err)
	}
	expectNoticed("a canary that somebody else moved", l.chirp())
}

// FuzzCards plays cards that the bytes stand for. go test -fuzz steers the bytes by what the host's code does with them.
func FuzzCards(f *testing.F) {
	for n := range uint64(24) {
		f.Add(cardBytes(n))
	}
	l := newCardLab(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			t.Skip("longer than any card needs")
		}
		p := generate(data, l.examples)
		if err := l.prove(p); err != nil {
			t.Fatalf("%v\n%s", err, p.describe())
		}
	})
}

// TestGeneratedCards plays as many cards by number: the same on every machine. CARDRUN_CARDS is how many, from which one.
func TestGeneratedCards(t *testing.T) {
	from, n := uint64(0), uint64(400)
	if s := os.Getenv("CARDRUN_CARDS"); s != "" {
		if _, err := fmt.Sscanf(s, "%d,%d", &n, &from); err != nil {
			t.Fatalf("CARDRUN_CARDS is %q, not like 400,0: %v", s, err)
		}
	} else if testing.Short() {
		n = 40
	}
	l := newCardLab(t)
	for i := from; i < from+n; i++ {
		p := generate(cardBytes(i), l.examples)
		if err := l.prove(p); err != nil {
			t.Errorf("card %d: %v\n%s", i, err, p.describe())
		}
	}
	t.Logf("%v", l.outcomes)
	t.Logf("attacks: %d", n)
	// A generator whose cards all end at once tries nothing.
	if ready := l.outcomes["ready"]; n >= 400 && (uint64(ready) < n/8 || len(l.outcomes) < 10) {
		t.Errorf("%d of %d cards ran through; they ended as %v", ready, n, l.outcomes)
	}
}
