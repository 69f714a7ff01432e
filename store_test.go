package cardrun

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func seed(n uint64) *uint64 { return &n }

var (
	noon    = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	evening = time.Date(2026, 6, 1, 20, 0, 0, 0, time.UTC)
)

// remembers is what of the runs of a card, one after the other, is answered from memory.
var remembers = []struct {
	name, script string
	runs         []RenderOptions
	cached       string // for each run, c or -
}{
	{"plain", `ui.text('out', '1')`, []RenderOptions{{}, {}, {Seed: seed(1)}, {Now: noon}, {Seed: seed(2), Now: evening}}, "-cccc"},
	{"random", `ui.text('out', String(Math.random()))`,
		[]RenderOptions{{}, {}, {Seed: seed(1)}, {Seed: seed(1)}, {Seed: seed(1), Now: noon}, {Seed: seed(2)}, {}, {Seed: seed(2)}}, "---cc--c"},
	{"clock", `ui.text('out', String(Date.now()))`,
		[]RenderOptions{{}, {}, {Now: noon}, {Now: noon}, {Now: noon, Seed: seed(1)}, {Now: evening}, {}, {Now: evening}}, "---cc--c"},
	{"both", `ui.text('out', Math.random() + ' ' + new Date())`,
		[]RenderOptions{{}, {Seed: seed(1)}, {Seed: seed(1)}, {Now: noon}, {Now: noon}, {Seed: seed(1), Now: noon}, {Seed: seed(1), Now: noon}}, "------c"},
	{"random in the evening", `ui.text('out', new Date().getUTCHours() > 18 ? Math.random() : 'day')`,
		[]RenderOptions{{Now: noon}, {Now: noon, Seed: seed(1)}, {Now: evening}, {Now: evening}, {Now: evening, Seed: seed(1)},
			{Now: evening, Seed: seed(1)}, {Now: evening, Seed: seed(2)}}, "-c" + "---c-"},
	{"random in a job", `Promise.resolve().then(() => ui.text('out', String(Math.random())))`, []RenderOptions{{}, {}}, "--"},
	{"random not shown", `Math.random(); ui.text('out', '1')`, []RenderOptions{{}, {}}, "--"},
	{"exception", `throw new Error('no')`, []RenderOptions{{}, {}}, "-c"},
	{"exception with the time", `throw new Error(Date.now())`, []RenderOptions{{}, {}}, "--"},
	{"heap", `let a = []; for (;;) a.push(new Uint8Array(1e6))`, []RenderOptions{{}, {}}, "-c"},
	{"ui failure", `ui.text('out', 1)`, []RenderOptions{{}, {}}, "-c"},
	{"invalid batch", `ui.text('gone', '1')`, []RenderOptions{{}, {}}, "-c"},
	{"too many jobs", `(function again() { Promise.resolve().then(again) })()`, []RenderOptions{{}, {}}, "-c"},
}

// expectRemembered runs a card with some options one after another, and compares what comes with what a Runtime without a
// cache gives, where that is the same each time.
func expectRemembered(t *testing.T, run func(*Card, RenderOptions) *Snapshot, fresh *Runtime) {
	t.Helper()
	for _, c := range remembers {
		card := probe(c.script)
		got := ""
		for _, o := range c.runs {
			s := run(&card, o)
			if s.Rounds[0].Usage.Cached {
				got += "c"
			} else {
				got += "-"
			}
			if o.Seed == nil || o.Now.IsZero() {
				continue
			}
			want, err := fresh.Render(t.Context(), &card, o)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range []*Snapshot{s, want} {
				s.Rounds[0].Usage.ElapsedUS, s.Rounds[0].Usage.Cached = 0, false
			}
			if diff := cmp.Diff(want, s); diff != "" {
				t.Errorf("%s with %+v differs from a new run (-new +got):\n%s", c.name, o, diff)
			}
		}
		if got != c.cached {
			t.Errorf("%s: %s came from memory; want %s", c.name, got, c.cached)
		}
	}
}

func TestRenderCache(t *testing.T) {
	r := newRuntime(t, Options{RenderCache: 1 << 20, budget: patience})
	expectRemembered(t, func(c *Card, o RenderOptions) *Snapshot {
		s, err := r.Render(t.Context(), c, o)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}, newRuntime(t, Options{budget: patience}))
}

func TestImageCache(t *testing.T) {
	r := newRuntime(t, Options{ImageCache: 4 << 20, budget: patience})
	expectRemembered(t, func(c *Card, o RenderOptions) *Snapshot {
		session, s, err := r.Open(t.Context(), c, SessionOptions{RenderOptions: o})
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		if diff := cmp.Diff(s, session.Snapshot()); diff != "" {
			t.Errorf("the session shows something else than Open gave (-open +session):\n%s", diff)
		}
		return s
	}, newRuntime(t, Options{budget: patience}))
}

// TestCachesAreOff tells that each cache answers for its own calls, and none by default.
func TestCachesAreOff(t *testing.T) {
	for _, c := range []struct {
		o               Options
		renders, images bool
	}{{Options{}, false, false}, {Options{RenderCache: 1 << 20}, true, false}, {Options{ImageCache: 1 << 20}, false, true}} {
		c.o.budget = patience
		r := newRuntime(t, c.o)
		for n := range 2 {
			if s := render(t, r, capacity); s.Rounds[0].Usage.Cached != (c.renders && n > 0) {
				t.Errorf("%+v: render %d: cached is %v", c.o, n, s.Rounds[0].Usage.Cached)
			}
			session, s, err := r.Open(t.Context(), &capacity, SessionOptions{})
			if err != nil {
				t.Fatal(err)
			}
			session.Close()
			if s.Rounds[0].Usage.Cached != (c.images && n > 0) {
				t.Errorf("%+v: session %d: cached is %v", c.o, n, s.Rounds[0].Usage.Cached)
			}
		}
	}
}

// TestRejectionsAreRemembered runs none of them twice, and takes no card for another.
func TestRejectionsAreRemembered(t *testing.T) {
	r := newRuntime(t, Options{RenderCache: 1 << 20, ImageCache: 1 << 20, budget: patience})
	good := `{"title":"T","summary":"S","html":"<p id=out></p>","css":"","javascript":"ui.text('out', '1')"`
	for _, c := range []struct {
		body string
		want Outcome
		hits int64
	}{
		{good + `}`, Ready, 0}, {good + `}`, Ready, 1},
		{good + `,"extra":1}`, Rejected, 1}, {good + `,"extra":1}`, Rejected, 1}, // the same five members
		{good + `,"css":""}`, Rejected, 1},
		{strings.Replace(good, "ui.text(", "let x = ui.text((", 1) + `}`, Rejected, 1}, {strings.Replace(good, "ui.text(", "let x = ui.text((", 1) + `}`, Rejected, 2},
		{strings.Replace(good, "<p", "<script", 1) + `}`, Rejected, 2}, {strings.Replace(good, "<p", "<script", 1) + `}`, Rejected, 3},
		{`{"title":"T"}`, Rejected, 3}, {`{"title":"T"}`, Rejected, 3}, {`nothing`, Rejected, 3},
		{good + `}`, Ready, 4},
	} {
		card := Decode([]byte(c.body))
		s, err := r.Render(t.Context(), &card, RenderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		session, opened, err := r.Open(t.Context(), &card, SessionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if session != nil {
			session.Close()
		}
		renders, images := r.CacheStats()
		if s.Outcome != c.want || opened.Outcome != c.want || (session == nil) != (c.want == Rejected) || renders.Hits != c.hits || images.Hits != c.hits {
			t.Errorf("%s: %s, %s, hits %d and %d; want %s and %d", c.body, s.Outcome, opened.Outcome, renders.Hits, images.Hits, c.want, c.hits)
		}
		if s.Outcome == Rejected {
			if diff := cmp.Diff(s, opened); diff != "" || len(s.Diagnostics) == 0 {
				t.Errorf("%s (-render +open):\n%s", c.body, diff)
			}
		}
	}
}

// TestTimeoutsAreNotRemembered runs what the machine may have stopped anew each time, also for those who waited, and side
// by side.
func TestTimeoutsAreNotRemembered(t *testing.T) {
	r := newRuntime(t, Options{RenderCache: 1 << 20, ImageCache: 1 << 20, Workers: 3, budget: 50 * time.Millisecond})
	card := probe("for (;;);")
	var wait sync.WaitGroup
	for range 6 {
		wait.Go(func() {
			if s, err := r.Render(t.Context(), &card, RenderOptions{}); err != nil || s.Outcome != Failed || s.Rounds[0].Usage.Cached {
				t.Errorf("%+v, %v", s, err)
			}
			failed, s, err := r.Open(t.Context(), &card, SessionOptions{})
			if err != nil || s.Outcome != Failed || s.Rounds[0].Usage.Cached {
				t.Errorf("%+v, %v", s, err)
				return
			}
			failed.Close()
		})
	}
	wait.Wait()
	renders, images := r.CacheStats()
	if want := (CacheStats{Misses: 6}); renders != want || images != want {
		t.Errorf("%+v, %+v", renders, images)
	}
}

// TestOneRunServesAll has many ask for what is being run.
func TestOneRunServesAll(t *testing.T) {
	s := newStore[int](1 << 20)
	k := key{seed: 1, seeded: true}
	running, finish := make(chan struct{}), make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		_, _, _ = s.do(t.Context(), k, func(begun func()) (result[int], error) {
			begun()
			close(running)
			<-finish
			return result[int]{value: 7, size: 500, lasting: true}, nil
		})
	})
	<-running
	for range 15 {
		wait.Go(func() {
			if v, hit, err := s.do(t.Context(), k, nil); v != 7 || !hit || err != nil { // nil would panic if it were run
				t.Errorf("%d, %v, %v", v, hit, err)
			}
		})
	}
	time.Sleep(2 * flightPatience) // some of them wait by now, longer than for one that has no worker
	close(finish)
	wait.Wait()
	if got, want := s.state(), (CacheStats{Misses: 1, Hits: 15, Entries: 1, Bytes: 500 + entrySize}); got != want {
		t.Errorf("%+v", got)
	}
}

// TestFirstCallerGoesAway lets the one whose run others wait for give up: they get what they asked for all the same.
func TestFirstCallerGoesAway(t *testing.T) {
	s := newStore[int](1 << 20)
	ctx, cancel := context.WithCancel(t.Context())
	running, others := make(chan struct{}), make(chan error)
	k := key{seed: 1, seeded: true}
	go func() {
		_, _, err := s.do(ctx, k, func(begun func()) (result[int], error) {
			begun()
			close(running)
			<-ctx.Done()
			return result[int]{value: 13, size: 1, lasting: true}, ctx.Err()
		})
		others <- err
	}()
	<-running
	for range 3 {
		go func() {
			v, _, err := s.do(t.Context(), k, func(func()) (result[int], error) { return result[int]{value: 7, size: 1, lasting: true}, nil })
			if err == nil && v != 7 {
				err = fmt.Errorf("got %d", v)
			}
			others <- err
		}()
	}
	gone, stop := context.WithCancel(t.Context())
	stop()
	if _, _, err := s.do(gone, k, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("who does not wait gets %v", err)
	}
	cancel()
	var errs []error
	for range 4 {
		if err := <-others; err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) != 1 || !errors.Is(errs[0], context.Canceled) {
		t.Errorf("errors %v; want the first caller's own", errs)
	}
	if v, hit, err := s.do(t.Context(), k, nil); v != 7 || !hit || err != nil {
		t.Errorf("remembered %d, %v, %v", v, hit, err)
	}
}

// TestNobodyStandsInAnothersLine lets a run wait for its worker: others do not wait with it, but run for themselves.
func TestNobodyStandsInAnothersLine(t *testing.T) {
	s := newStore[int](1 << 20)
	k := key{seed: 1, seeded: true}
	admit, over, waiting := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		_, _, _ = s.do(t.Context(), k, func(begun func()) (result[int], error) {
			close(waiting)
			<-admit
			begun()
			return result[int]{value: 1, size: 1, lasting: true}, nil
		})
	}()
	<-waiting
	if v, hit, err := s.do(t.Context(), k, func(func()) (result[int], error) { return result[int]{value: 2, size: 1, lasting: true}, nil }); v != 2 || hit || err != nil {
		t.Errorf("got %d, %v, %v", v, hit, err)
	}
	close(admit)
	<-over
	if v, hit, _ := s.do(t.Context(), k, nil); v != 2 || !hit {
		t.Errorf("remembered %d, %v", v, hit)
	}
}

// TestOneAdmission opens sessions and renders where a service decides who runs: each is asked for once, also where the guest
// is frozen afterwards, and not at all where the answer is remembered.
func TestOneAdmission(t *testing.T) {
	var asked, over atomic.Int64
	r := newRuntime(t, Options{RenderCache: 1 << 20, ImageCache: 4 << 20, budget: patience, Admit: func(context.Context) (func(), error) {
		asked.Add(1)
		return func() { over.Add(1) }, nil
	}})
	before := asked.Load()
	for range 2 {
		render(t, r, capacity)
		s, _, err := r.Open(t.Context(), &capacity, SessionOptions{FreezeAfter: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
	}
	if n := asked.Load() - before; n != 2 || asked.Load() != over.Load() {
		t.Errorf("asked %d times, %d ended of %d", n, over.Load(), asked.Load())
	}
	refuse := errors.New("refused")
	r = newRuntime(t, Options{RenderCache: 1 << 20, ImageCache: 4 << 20, budget: patience, Admit: func(ctx context.Context) (func(), error) {
		if ctx.Value(refuse) != nil {
			return nil, refuse
		}
		return func() {}, nil
	}})
	ctx := context.WithValue(t.Context(), refuse, true)
	if _, err := r.Render(ctx, &capacity, RenderOptions{}); !errors.Is(err, refuse) {
		t.Errorf("refused: %v", err)
	}
	if _, _, err := r.Open(ctx, &capacity, SessionOptions{}); !errors.Is(err, refuse) {
		t.Errorf("refused: %v", err)
	}
	expectWhole(t, r, "a refusal")
}

// TestPanicFreesThoseWhoWait panics in a run.
func TestPanicFreesThoseWhoWait(t *testing.T) {
	s := newStore[int](1 << 20)
	func() {
		defer func() { _ = recover() }()
		_, _, _ = s.do(t.Context(), key{}, func(func()) (result[int], error) { panic("engine") })
	}()
	if v, hit, err := s.do(t.Context(), key{}, func(func()) (result[int], error) { return result[int]{value: 1}, nil }); v != 1 || hit || err != nil {
		t.Errorf("%d, %v, %v", v, hit, err)
	}
}

// TestAnswersAreNotShared changes what a caller got.
func TestAnswersAreNotShared(t *testing.T) {
	r := newRuntime(t, Options{RenderCache: 1 << 20, ImageCache: 1 << 20, budget: patience})
	card := probe(`ui.on('go', 'click', () => 0); ui.text('out', '1')`)
	card.HTML += `<p lang2="x">an attribute that costs a warning</p>`
	get := func() []*Snapshot {
		session, opened, err := r.Open(t.Context(), &card, SessionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		return []*Snapshot{render(t, r, card), opened}
	}
	get()
	want := get()
	for _, s := range get() {
		s.Outcome, s.Display.HTML, s.Controls[0].Value, s.Handlers[0].ID, s.Diagnostics[0].Message = Failed, "x", "x", "x", "x"
		s.Rounds[0].Patches[0].Value, s.Rounds[0].Usage.Fuel = "x", -1
		s.Rounds = nil
	}
	if diff := cmp.Diff(want, get()); diff != "" {
		t.Errorf("one caller's change reached the next (-before +after):\n%s", diff)
	}
}

// TestRemembered asks for renders without running anything.
func TestRemembered(t *testing.T) {
	r := newRuntime(t, Options{RenderCache: 1 << 20, budget: patience})
	card := probe(`ui.text('out', String(Math.random()))`)
	one, two := RenderOptions{Seed: seed(1)}, RenderOptions{Seed: seed(2)}
	if s := r.Remembered(&card, one); s != nil {
		t.Errorf("remembered before it was run: %+v", s)
	}
	want, err := r.Render(t.Context(), &card, one)
	if err != nil {
		t.Fatal(err)
	}
	got := r.Remembered(&card, one)
	if got == nil || !got.Rounds[0].Usage.Cached {
		t.Fatalf("got %+v", got)
	}
	want.Rounds[0].Usage.Cached = true
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-run +remembered):\n%s", diff)
	}
	if _, err := r.Render(t.Context(), &card, RenderOptions{}); err != nil {
		t.Fatal(err)
	}
	other := Decode([]byte(`{"title":"T"}`))
	for _, s := range []*Snapshot{r.Remembered(&card, two), r.Remembered(&card, RenderOptions{}), r.Remembered(&other, one)} {
		if s != nil {
			t.Errorf("remembered what was not run, or cannot last: %+v", s)
		}
	}
	if stats, _ := r.CacheStats(); stats.Hits != 1 || stats.Misses != 2 {
		t.Errorf("%+v", stats)
	}
	if s := newRuntime(t, Options{budget: patience}).Remembered(&card, one); s != nil {
		t.Errorf("without a cache: %+v", s)
	}
	_ = r.Close()
	if s := r.Remembered(&card, one); s != nil {
		t.Errorf("after Close: %+v", s)
	}
}

// TestClosedRuntimeForgets asks a closed Runtime for what it knows.
func TestClosedRuntimeForgets(t *testing.T) {
	r := newRuntime(t, Options{RenderCache: 1 << 20, ImageCache: 1 << 20, budget: patience})
	render(t, r, capacity)
	s := open(t, r, capacity.HTML, capacity.JavaScript, SessionOptions{})
	_ = r.Close()
	if s, err := r.Render(t.Context(), &capacity, RenderOptions{}); err == nil {
		t.Errorf("got %+v", s)
	}
	if _, _, err := r.Open(t.Context(), &capacity, SessionOptions{}); err == nil {
		t.Error("opened a session")
	}
	send(t, s, input("w", "5"))
	expectShows(t, s, "answer", "125 requests/s")
}

// TestStoreIsBounded drives a store with any series of requests, and holds its counts against the entries.
func TestStoreIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newStore[int](rapid.IntRange(1, 20_000).Draw(t, "max"))
		for range rapid.IntRange(0, 200).Draw(t, "requests") {
			k := key{seed: rapid.Uint64Range(1, 40).Draw(t, "key"), seeded: true}
			size := int(k.seed * k.seed)
			v, hit, err := s.do(context.Background(), k, func(func()) (result[int], error) {
				return result[int]{value: int(k.seed), size: size, lasting: rapid.Bool().Draw(t, "lasting"), random: true}, nil
			})
			if v != int(k.seed) || err != nil || hit && size+entrySize > s.max/8 {
				t.Fatalf("%d, hit %v, %v", v, hit, err)
			}
			size, safe := 0, 0
			for _, at := range s.entries {
				e := at.Value.(*entry[int])
				size += e.size
				if e.protected {
					safe += e.size
				}
			}
			if n := s.probation.Len() + s.protected.Len(); s.size > s.max || s.size != size || s.safe != safe || s.safe > max(s.max/5*4, 0) && s.protected.Len() > 1 || n != len(s.entries) {
				t.Fatalf("%d bytes of %d (%d counted), %d of them safe (%d), %d entries (%d listed)", s.size, s.max, size, s.safe, safe, len(s.entries), n)
			}
		}
	})
}

// TestFloodDoesNotEvict sends many cards once: those that were asked for twice stay.
func TestFloodDoesNotEvict(t *testing.T) {
	s := newStore[int](100_000)
	ask := func(n int) (hit bool) {
		_, hit, _ = s.do(t.Context(), key{seed: uint64(n), seeded: true}, func(func()) (result[int], error) {
			return result[int]{size: 1000 - entrySize, lasting: true, random: true}, nil
		})
		return hit
	}
	for n := range 60 {
		ask(n)
		ask(n)
	}
	for n := range 10_000 {
		ask(1000 + n)
	}
	for n := range 60 {
		if !ask(n) {
			t.Errorf("%d is forgotten", n)
		}
	}
}
