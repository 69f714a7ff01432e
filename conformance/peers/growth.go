package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/cardrun"
	"example.com/cardrun/limits"
)

// scale is how far the growth is followed: whole, or short for a test.
type scale struct {
	sessions []int
	elements []int
	patches  []int
	queue    []int
	rate     time.Duration // for each rate of cards
	events   int           // for each latency
}

var whole = scale{
	sessions: []int{10, 100, 1_000, 10_000, 100_000},
	elements: []int{8, 16, 32, 64, 128, 256, 400, 500},
	patches:  []int{0, 1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64},
	queue:    []int{1, 2, 4, 6, 8, 10, 12, 14, 16},
	rate:     2 * time.Second,
	events:   1000,
}

// growth measures how cost grows with workers, sessions, document, patches and queue, as is wanted, and draws a plot of each into the
// folder.
func growth(folder string, wanted func(string) bool, log io.Writer) error {
	return whole.draw(folder, wanted, log)
}

func (s scale) draw(folder string, wanted func(string) bool, log io.Writer) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	one := func(of func(context.Context) (plot, error)) func(context.Context) ([]plot, error) {
		return func(ctx context.Context) ([]plot, error) {
			p, err := of(ctx)
			return []plot{p}, err
		}
	}
	for _, f := range []struct {
		names []string
		of    func(context.Context) ([]plot, error)
	}{
		{[]string{"workers"}, one(s.byWorkers)}, {[]string{"document"}, one(s.byDocument)}, {[]string{"patches"}, one(s.byPatches)},
		{[]string{"queue"}, one(s.byQueue)}, {[]string{"sessions-memory", "sessions-time"}, s.bySessions},
	} {
		if !slices.ContainsFunc(f.names, wanted) {
			continue
		}
		start := time.Now()
		plots, err := f.of(context.Background())
		if err != nil {
			return fmt.Errorf("%s: %w", f.names[0], err)
		}
		for i, p := range plots {
			if err := os.WriteFile(filepath.Join(folder, f.names[i]+".svg"), []byte(p.svg()), 0o644); err != nil {
				return err
			}
			fmt.Fprintf(log, "%s, %.1f s\n%s", f.names[i], time.Since(start).Seconds(), p.table())
		}
	}
	return nil
}

// cardOf is a card of our own making.
func cardOf(html, script string) cardrun.Card {
	text, err := json.Marshal(map[string]string{"title": "Growth", "summary": "A card of a given size.", "html": html, "css": "", "javascript": script})
	if err != nil {
		panic(err) // strings only
	}
	return cardrun.Decode(text)
}

const ordinary = `ui.on('go', 'click', () => { const n = Number(ui.input('n').value); ui.text('out', n + ' × 25 = ' + n * 25); });`

func ordinaryCard() cardrun.Card {
	return cardOf(`<label for="n">Number</label> <input id="n" type="number" value="4"> <button id="go">Go</button><p id="out"></p>`, ordinary)
}

var click = cardrun.Event{ID: "go", Type: "click"}

// byWorkers is cards a second, rendered by as many callers as there are workers.
func (s scale) byWorkers(ctx context.Context) (plot, error) {
	p := plot{title: "Cards a second", x: "workers", y: "renders a second", fromZero: true}
	heavy := cardOf(`<p id="out"></p>`, "let s = 0; for (let i = 0; i < 20000; i++) s += i & 7; ui.text('out', String(s));")
	for _, c := range []struct {
		name string
		card cardrun.Card
	}{{"a small card", ordinaryCard()}, {"a card that computes for some milliseconds", heavy}} {
		line := series{name: c.name}
		for n := 1; n <= max(2, runtime.NumCPU()); n++ {
			r, err := cardrun.New(ctx, cardrun.Options{Workers: n})
			if err != nil {
				return p, err
			}
			count, err := rate(n, s.rate, func() error {
				shown, err := r.Render(ctx, &c.card, cardrun.RenderOptions{})
				if err == nil && shown.Failure != nil && shown.Failure.Code == limits.Timeout {
					return nil // the machine was away for a moment
				}
				return ready(shown, err)
			})
			r.Close()
			if err != nil {
				return p, err
			}
			line.add(float64(n), count)
		}
		p.lines = append(p.lines, line)
	}
	return p, nil
}

func ready(s *cardrun.Snapshot, err error) error {
	if err == nil && s.Outcome != cardrun.Ready {
		err = fmt.Errorf("the card is %s: %v", s.Outcome, s.Failure)
	}
	return err
}

// rate is how often a second do can be done by n goroutines.
func rate(n int, span time.Duration, do func() error) (float64, error) {
	var mu sync.Mutex
	var wait sync.WaitGroup
	var total int
	var failed error
	start := time.Now()
	for range n {
		wait.Go(func() {
			count := 0
			var err error
			for err == nil && time.Since(start) < span {
				err = do()
				count++
			}
			mu.Lock()
			defer mu.Unlock()
			total += count
			if err != nil {
				failed = err
			}
		})
	}
	wait.Wait()
	return float64(total) / time.Since(start).Seconds(), failed
}

// herd is many sessions at rest, opened by all workers.
type herd struct {
	runtime  *cardrun.Runtime
	sessions []*cardrun.Session
}

func (h *herd) grow(ctx context.Context, n int) error {
	first := len(h.sessions)
	h.sessions = append(h.sessions, make([]*cardrun.Session, n-first)...)
	var wait sync.WaitGroup
	errs := make([]error, h.runtime.Workers())
	for w := range errs {
		wait.Go(func() {
			for i := first + w; i < n; i += len(errs) {
				card := ordinaryCard()
				s, shown, err := h.runtime.Open(ctx, &card, cardrun.SessionOptions{FreezeAfter: 5 * time.Millisecond, KeepRounds: 4})
				if err = ready(shown, err); err != nil {
					errs[w] = err
					return
				}
				h.sessions[i] = s
			}
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return h.rest(time.Minute)
}

// rest waits until all sessions are frozen.
func (h *herd) rest(patience time.Duration) error {
	end := time.Now().Add(patience)
	for _, s := range h.sessions {
		for ; s != nil && !s.Frozen(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				return fmt.Errorf("a session at rest was not frozen in %s", patience)
			}
		}
	}
	return nil
}

func (h *herd) close() {
	for _, s := range h.sessions {
		if s != nil {
			s.Close()
		}
	}
	h.runtime.Close()
}

// bySessions is the resident memory that each session at rest takes, all of the process counted, and the time of an event in one of
// them, drawn at random, which is thawed for it.
func (s scale) bySessions(ctx context.Context) ([]plot, error) {
	memory := plot{title: "Memory for each session at rest", x: "sessions", y: "kB a session", logX: true, fromZero: true}
	times := plot{title: "An event in one of many sessions", x: "sessions", y: "ms", logX: true, fromZero: true}
	r, err := cardrun.New(ctx, cardrun.Options{})
	if err != nil {
		return nil, err
	}
	h := &herd{runtime: r}
	defer h.close()
	if err := h.grow(ctx, min(100, s.sessions[0])); err != nil { // what the first ones build is not theirs
		return nil, err
	}
	line, middle, high := series{name: "frozen, document and all"}, series{name: "median, thawed for it"}, series{name: "the 99th of 100"}
	before, base := resident(), len(h.sessions)
	for _, n := range s.sessions {
		if err := h.grow(ctx, base+n); err != nil {
			return nil, err
		}
		now := resident()
		if n >= 1000 || n == s.sessions[len(s.sessions)-1] { // fewer take less than what the collector gives or takes
			line.add(float64(n), max(0, float64(now-before)/float64(n)/1000))
		}
		var took []time.Duration
		for i := range s.events {
			one := h.sessions[rand.IntN(base+n)]
			for end := time.Now().Add(time.Second); !one.Frozen() && time.Now().Before(end); {
				time.Sleep(time.Millisecond) // it was drawn a moment ago
			}
			start := time.Now()
			if _, err := one.Send(ctx, click); err != nil {
				return nil, fmt.Errorf("event %d of %d sessions: %w", i, n, err)
			}
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		middle.add(float64(n), milliseconds(took[len(took)/2]))
		high.add(float64(n), milliseconds(took[len(took)*99/100]))
	}
	memory.lines, times.lines = []series{line}, []series{middle, high}
	return []plot{memory, times}, nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// median is the median time of do.
func (s scale) median(do func() error) (float64, error) {
	times := make([]time.Duration, 0, s.events)
	for i := range s.events + s.events/10 {
		start := time.Now()
		if err := do(); err != nil {
			return 0, err
		}
		if i >= s.events/10 {
			times = append(times, time.Since(start))
		}
	}
	slices.Sort(times)
	return milliseconds(times[len(times)/2]), nil
}

// rounds is the median time of sending events to a session of a card.
func (s scale) rounds(ctx context.Context, r *cardrun.Runtime, card cardrun.Card, events ...cardrun.Event) (float64, error) {
	session, shown, err := r.Open(ctx, &card, cardrun.SessionOptions{FreezeAfter: -1, KeepRounds: 4})
	if err = ready(shown, err); err != nil {
		return 0, err
	}
	defer session.Close()
	return s.median(func() error {
		report, err := session.Send(ctx, events...)
		if err == nil && (len(report.Rounds) == 0 || report.Ignored > 0) {
			err = fmt.Errorf("%d rounds, %d events ignored", len(report.Rounds), report.Ignored)
		}
		return err
	})
}

// byDocument is how time grows with the number of elements, of which one changes.
func (s scale) byDocument(ctx context.Context) (plot, error) {
	p := plot{title: "Time by size of the document", x: "elements", y: "ms", fromZero: true}
	r, err := cardrun.New(ctx, cardrun.Options{})
	if err != nil {
		return p, err
	}
	defer r.Close()
	first, round := series{name: "first Snapshot, check included"}, series{name: "an event round that changes one text"}
	for _, n := range s.elements {
		html := `<input id="n" type="number" value="4"><button id="go">Go</button><p id="out"></p>` + strings.Repeat("<p>row</p>", n-3)
		card := cardOf(html, ordinary)
		t, err := s.median(func() error { return ready(r.Render(ctx, &card, cardrun.RenderOptions{})) })
		if err != nil {
			return p, err
		}
		first.add(float64(n), t)
		if t, err = s.rounds(ctx, r, card, click); err != nil {
			return p, err
		}
		round.add(float64(n), t)
	}
	p.lines = []series{first, round}
	return p, nil
}

// byPatches is how a round's time grows with what it asks for.
func (s scale) byPatches(ctx context.Context) (plot, error) {
	p := plot{title: "An event round by number of patches", x: "patches", y: "ms", fromZero: true}
	r, err := cardrun.New(ctx, cardrun.Options{})
	if err != nil {
		return p, err
	}
	defer r.Close()
	for _, op := range []string{"text", "html"} {
		line := series{name: "ui." + op}
		for _, n := range s.patches {
			html := `<button id="go">Go</button>`
			for i := range 64 {
				html += fmt.Sprintf(`<p id="p%d"></p>`, i)
			}
			card := cardOf(html, fmt.Sprintf(`ui.on('go', 'click', () => { for (let i = 0; i < %d; i++) ui.%s('p' + i, 'row <b>' + i + '</b>'); });`, n, op))
			t, err := s.rounds(ctx, r, card, click)
			if err != nil {
				return p, err
			}
			line.add(float64(n), t)
		}
		p.lines = append(p.lines, line)
	}
	return p, nil
}

// byQueue is the time until a session is at rest again after so many clicks at once.
func (s scale) byQueue(ctx context.Context) (plot, error) {
	p := plot{title: "Events sent at once, until all rounds have ended", x: "events", y: "ms", fromZero: true}
	r, err := cardrun.New(ctx, cardrun.Options{})
	if err != nil {
		return p, err
	}
	defer r.Close()
	line := series{name: "clicks, each a round"}
	for _, n := range s.queue {
		t, err := s.rounds(ctx, r, ordinaryCard(), slices.Repeat([]cardrun.Event{click}, n)...)
		if err != nil {
			return p, err
		}
		line.add(float64(n), t)
	}
	p.lines = []series{line}
	return p, nil
}
