package cardrun

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"example.com/cardrun/limits"
	"example.com/cardrun/sanitize"
)

func TestMain(m *testing.M) {
	ServeWorker()
	goleak.VerifyTestMain(m)
}

func value(s string) *string { return &s }
func checked(b bool) *bool   { return &b }

func input(id, v string) Event  { return Event{ID: id, Type: "input", Value: &v} }
func change(id, v string) Event { return Event{ID: id, Type: "change", Value: &v} }
func click(id string) Event     { return Event{ID: id, Type: "click"} }

// open opens a session on a card of html and javascript.
func open(t testing.TB, r *Runtime, html, javascript string, o SessionOptions) *Session {
	t.Helper()
	c := Card{Title: "Card", Summary: "A card.", HTML: html, JavaScript: javascript}
	s, snap, err := r.Open(context.Background(), &c, o)
	if err != nil || s == nil {
		t.Fatalf("%v %+v", err, snap)
	}
	t.Cleanup(s.Close)
	return s
}

func send(t testing.TB, s *Session, events ...Event) Report {
	t.Helper()
	r, err := s.Send(context.Background(), events...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// shows is the text of an element of a session's display.
func shows(s *Session, id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, _ := s.act.document.ElementText(id)
	return text
}

func expectShows(t *testing.T, s *Session, id, want string) {
	t.Helper()
	if got := shows(s, id); got != want {
		t.Errorf("%s shows %q, want %q", id, got, want)
	}
}

// steps lets a test decide when a round runs: work waits until it is told to go on.
type steps struct{ work []func() }

func (q *steps) schedule(work func()) { q.work = append(q.work, work) }

// run runs what was scheduled, in turn, until nothing is left.
func (q *steps) run() {
	for len(q.work) > 0 {
		w := q.work[0]
		q.work = q.work[1:]
		w()
	}
}

func TestExamplesLiveR14(t *testing.T) {
	r := newRuntime(t, Options{budget: patience})
	for _, c := range []struct {
		file  string
		event Event
		want  map[string]string
	}{
		{"capacity.json", input("workers", "5"), map[string]string{"answer": "5 workers × 25 requests/s = 125 requests/s"}},
		{"weighted.json", input("weight", "100"), map[string]string{"ranking": "Plan A ranks higher under these assumptions.", "scores": "Plan A: 9.00; Plan B: 6.00"}},
	} {
		card := Decode(shared(t, "cards/"+c.file))
		s, _, err := r.Open(context.Background(), &card, SessionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		rep := send(t, s, c.event)
		for id, want := range c.want {
			expectShows(t, s, id, want)
		}
		if len(rep.Rounds) != 1 || rep.Rounds[0].Phase != PhaseEvent || *rep.Rounds[0].Event.Value != *c.event.Value || rep.Combined+rep.Ignored != 0 {
			t.Errorf("%+v", rep)
		}
		s.Close()
	}
}

const counter = `let n = 0; const log = (e) => { n++; ui.text('out', n + ' ' + e.id + ' ' + e.type + ' ' + e.value + ' ' + e.checked) };
for (const id of ['x', 'box', 'ra', 'rb', 'go', 'sel', 'off']) for (const t of ['input', 'change', 'click']) ui.on(id, t, log);`

const controls = `<input id="x" value="1"><input id="box" type="checkbox"><input id="ra" type="radio" name="g" checked><input id="rb" type="radio" name="g">
<button id="go" value="v">Go</button><select id="sel"><option>a</option><option>b</option></select><input id="off" disabled><p id="out">none</p><p id="para"></p>`

// rounds names the events of a report's rounds.
func rounds(r Report) (got []string) {
	for _, x := range r.Rounds {
		s := x.Event.Type + " " + x.Event.ID
		if x.Event.Value != nil {
			s += "=" + *x.Event.Value
		}
		if x.Event.Checked != nil {
			s += fmt.Sprintf(" %t", *x.Event.Checked)
		}
		got = append(got, s)
	}
	return got
}

func TestEventsD11D13(t *testing.T) {
	r := newRuntime(t, Options{budget: patience})
	s := open(t, r, controls, counter, SessionOptions{})
	for _, c := range []struct {
		event   Event
		want    []string
		ignored int
	}{
		{input("x", "2"), []string{"input x=2"}, 0},
		{change("x", "2"), []string{"change x=2"}, 0},
		{click("x"), []string{"click x=2"}, 0},
		{Event{ID: "x", Type: "input"}, []string{"input x=2"}, 0},
		{click("box"), []string{"click box=on true", "input box=on true", "change box=on true"}, 0},
		{click("box"), []string{"click box=on false", "input box=on false", "change box=on false"}, 0},
		{Event{ID: "box", Type: "click", Checked: checked(true)}, []string{"click box=on true", "input box=on true", "change box=on true"}, 0},
		{Event{ID: "box", Type: "click", Checked: checked(true)}, []string{"click box=on true"}, 0},
		{Event{ID: "box", Type: "change", Checked: checked(false)}, []string{"change box=on false"}, 0},
		{click("ra"), []string{"click ra=on true"}, 0}, // it was checked already
		{click("rb"), []string{"click rb=on true", "input rb=on true", "change rb=on true"}, 0},
		{Event{ID: "rb", Type: "input", Checked: checked(true)}, nil, 0},  // the rest of the click as a page sends it
		{Event{ID: "rb", Type: "change", Checked: checked(true)}, nil, 0}, // likewise
		{Event{ID: "rb", Type: "change", Checked: checked(true)}, []string{"change rb=on true"}, 0},
		{Event{ID: "ra", Type: "change", Checked: checked(true)}, []string{"change ra=on true"}, 0},
		{click("box"), []string{"click box=on true", "input box=on true", "change box=on true"}, 0},
		{Event{ID: "box", Type: "change", Checked: checked(true)}, nil, 0},
		{Event{ID: "box", Type: "change", Checked: checked(false)}, []string{"change box=on false"}, 0},
		{click("box"), []string{"click box=on true", "input box=on true", "change box=on true"}, 0},
		{click("go"), []string{"click go"}, 0},
		{Event{ID: "box", Type: "input", Checked: checked(true)}, []string{"input box=on true"}, 0},
		{click("go"), []string{"click go"}, 0},
		{change("sel", "b"), []string{"change sel=b"}, 0},
		{change("sel", "zzz"), []string{"change sel="}, 0},
		{input("off", "1"), nil, 1},
		{click("off"), nil, 1},
		{click("para"), nil, 0}, // may be clicked, but nobody listens
		{input("para", "1"), nil, 1},
		{input("go", "1"), nil, 1},
		{click("gone"), nil, 1},
	} {
		rep := send(t, s, c.event)
		if d := cmp.Diff(c.want, rounds(rep)); d != "" || rep.Ignored != c.ignored {
			t.Errorf("%+v: %d ignored %s", c.event, rep.Ignored, d)
		}
	}
	if got := s.Snapshot().Controls[2:4]; !got[0].Checked || got[1].Checked {
		t.Errorf("the radio group: %+v", got)
	}
}

func TestEventsAreRefusedD34(t *testing.T) {
	r := newRuntime(t, Options{budget: patience})
	s := open(t, r, controls, counter, SessionOptions{})
	for _, e := range []Event{
		{ID: "x", Type: "keyup"}, {ID: "x", Type: ""}, {ID: "9", Type: "input"}, {ID: "", Type: "click"}, input("x", strings.Repeat("é", 2049)),
	} {
		if _, err := s.Send(context.Background(), input("x", "taken?"), e); !errors.Is(err, ErrEvent) {
			t.Errorf("%.40v: %v", e, err)
		}
	}
	send(t, s, input("x", strings.Repeat("é", 2048)))
	if got := s.Snapshot().Controls[0].Value; got != strings.Repeat("é", 2048) {
		t.Errorf("%.20q", got)
	}
}

// TestQueueR74D14D15 fills the queue while a round is in flight.
func TestQueueR74D14D15(t *testing.T) {
	r := newRuntime(t, Options{budget: patience})
	var q steps
	s := open(t, r, controls, counter, SessionOptions{schedule: q.schedule})
	post := func(combined, ignored int, events ...Event) {
		t.Helper()
		c, i, err := s.Post(events...)
		if err != nil || c != combined || i != ignored {
			t.Errorf("%v: %d combined, %d ignored, %v", events, c, i, err)
		}
	}
	post(0, 0, click("go"))                       // in flight, not counted
	post(0, 0, input("x", "a"))                   // 1 waits
	post(2, 0, input("x", "b"), input("x", "c"))  // merged into it
	post(0, 0, change("x", "c"), input("x", "d")) // 3: not merged past the change
	for n := 3; n < limits.Queue; n++ {
		post(0, 0, click("go"))
	}
	post(0, 1, input("x", "e")) // full; but what was entered shows
	post(0, 1, click("go"))
	post(0, 1, click("box"))
	if got := s.Snapshot().Controls; got[0].Value != "e" || !got[1].Checked {
		t.Errorf("%+v", got[:2])
	}
	if len(s.queue.waiting) != limits.Queue || len(s.Snapshot().Rounds) != 1 {
		t.Errorf("%d wait", len(s.queue.waiting))
	}
	q.run()
	got := rounds(Report{Rounds: s.Snapshot().Rounds[1:]})
	want := []string{"click go", "input x=e", "change x=e", "input x=e"} // R72: as displayed at dispatch
	for len(want) < 1+limits.Queue {
		want = append(want, "click go")
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	// The last waiting event is what an input may be merged into, with the queue full or not.
	post(0, 0, click("go"))
	for n := 0; n < limits.Queue-1; n++ {
		post(0, 0, click("go"))
	}
	post(0, 0, input("x", "1"))
	post(1, 0, input("x", "2"))
	q.run()
	expectShows(t, s, "out", fmt.Sprintf("%d x input 2 false", 1+limits.Queue+1+limits.Queue))
}

// TestConflictsR82D16 lets edits arrive while a round is in flight.
func TestConflictsR82D16(t *testing.T) {
	const html = `<input id="x" value="1"><input id="y" value="1"><input id="ra" type="radio" name="g" checked><input id="rb" type="radio" name="g">
		<select id="sel"><option id="oa">a</option><option>b</option></select><div id="box"><input id="in" value="1"></div><textarea id="ta">t</textarea>
		<button id="go">Go</button><p id="log">none</p>`
	for _, c := range []struct {
		name, patch string
		edit        []Event
		heard       string // the ids that have a handler
		discarded   bool
	}{
		{"its value is set", `ui.value('y', '0')`, []Event{input("y", "7")}, "y", true},
		{"another value is set", `ui.value('x', '0')`, []Event{input("y", "7")}, "y", false},
		{"no value is set", ``, []Event{input("y", "7")}, "y", false},
		{"nobody listens to the edit", `ui.value('y', '0')`, []Event{input("y", "7")}, "", true},
		{"nobody listens, and another is set", `ui.value('x', '0')`, []Event{input("y", "7")}, "", false},
		{"nothing was changed", `ui.value('y', '0')`, []Event{input("y", "1")}, "y", false},
		{"a click is no edit", `ui.value('y', '0')`, []Event{click("y")}, "y", false},
		{"the parent is rebuilt", `ui.html('box', '<input id="in" value="2">')`, []Event{input("in", "7")}, "in", true},
		{"the parent's text is set", `ui.text('box', '')`, []Event{input("in", "7")}, "in", true},
		{"options are rebuilt", `ui.html('sel', '<option>a</option><option>c</option>')`, []Event{change("sel", "b")}, "sel", true},
		{"an option's text is set", `ui.text('oa', 'A')`, []Event{change("sel", "b")}, "sel", true},
		{"a textarea's text is set", `ui.text('ta', 'n')`, []Event{input("ta", "7")}, "ta", true},
		{"a radio of the group is rebuilt", `ui.html('box', '<input type="radio" name="g" id="rc" checked>')`, []Event{click("rb")}, "rb", true},
		{"a box elsewhere is rebuilt", `ui.html('box', '')`, []Event{input("y", "7")}, "y", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRuntime(t, Options{Workers: 1, budget: patience})
			var q steps
			js := `let rounds = 0; ui.on('go', 'click', () => { rounds++; ui.text('log', 'shown'); ` + c.patch + ` });`
			for _, id := range strings.Fields(c.heard) {
				js += fmt.Sprintf(`for (const k of ['input', 'change', 'click']) ui.on('%s', k, () => { rounds++; });`, id)
			}
			s := open(t, r, html, js, SessionOptions{schedule: q.schedule})
			for _, events := range [][]Event{{click("go")}, c.edit} {
				if _, _, err := s.Post(events...); err != nil {
					t.Fatal(err)
				}
			}
			q.run()
			snap := s.Snapshot()
			if snap.Outcome != Ready || snap.Rounds[1].Discarded != c.discarded {
				t.Errorf("%+v, want discarded %t", snap.Rounds[1], c.discarded)
			}
			want := "shown"
			if c.discarded {
				want = "none" // R82: unrelated text goes too
				for _, x := range snap.Controls {
					if x.ID == c.edit[0].ID && c.edit[0].Value != nil && x.Value != *c.edit[0].Value {
						t.Errorf("the edit was lost: %+v", x)
					}
				}
			}
			expectShows(t, s, "log", want)
		})
	}
}

// TestDiscardKeepsGuestStateR84R85R87 shows what a discard does not do.
func TestDiscardKeepsGuestStateR84R85R87(t *testing.T) {
	r := newRuntime(t, Options{budget: patience})
	var q steps
	s := open(t, r, `<input id="y" value="1"><button id="go">Go</button><p id="out">0</p>`,
		`let n = 0; ui.on('go', 'click', () => { n++; ui.text('out', String(n)); ui.value('y', 'set') }); ui.on('y', 'change', () => {})`, SessionOptions{schedule: q.schedule})
	_, _, _ = s.Post(click("go"))
	_, _, _ = s.Post(change("y", "mine"))
	q.run()
	expectShows(t, s, "out", "0")
	if n := len(s.Snapshot().Rounds); n != 3 {
		t.Errorf("%d rounds", n)
	}
	_, _, _ = s.Post(click("go"))
	q.run()
	expectShows(t, s, "out", "2")
}

func TestVanishedElementD13(t *testing.T) {
	r := newRuntime(t, Options{budget: patience})
	var q steps
	s := open(t, r, `<button id="go">Go</button><div id="box"><button id="b">B</button></div><p id="out"></p>`,
		`ui.on('go', 'click', () => ui.html('box', '')); ui.on('b', 'click', () => ui.text('out', 'clicked'))`, SessionOptions{schedule: q.schedule})
	_, _, _ = s.Post(click("go"), click("b"), click("go"))
	q.run()
	if got := rounds(Report{Rounds: s.Snapshot().Rounds[1:]}); len(got) != 2 || s.vanished != 1 {
		t.Errorf("%v, %d vanished", got, s.vanished)
	}
	expectShows(t, s, "out", "")
}

// TestSnapshotTooLargeD35 keeps the edit and ends the activation.
func TestSnapshotTooLargeD35(t *testing.T) {
	r := newRuntime(t, Options{budget: patience})
	var html, js strings.Builder
	for i := range 10 {
		fmt.Fprintf(&html, `<textarea id="t%d"></textarea>`, i)
		fmt.Fprintf(&js, `ui.on('t%d', 'input', () => {});`, i)
	}
	s := open(t, r, html.String(), js.String(), SessionOptions{})
	for i := range 10 {
		_, err := s.Send(context.Background(), input(fmt.Sprintf("t%d", i), strings.Repeat("x", 2000)))
		if err != nil && !errors.Is(err, ErrEnded) {
			t.Fatal(err)
		}
	}
	snap := s.Snapshot()
	if snap.Outcome != Failed || snap.Failure.Code != limits.InputLimit || snap.Failure.Phase != PhaseEvent || len(snap.Controls[7].Value) != 2000 {
		t.Errorf("%s %+v", snap.Outcome, snap.Failure)
	}
}

// TestEventsAfterTheEnd are ignored, also within one call.
func TestEventsAfterTheEnd(t *testing.T) {
	r := newRuntime(t, Options{budget: patience})
	var html, js strings.Builder
	for i := range 9 {
		fmt.Fprintf(&html, `<textarea id="t%d"></textarea>`, i)
	}
	js.WriteString(`ui.on('t8', 'input', () => {})`)
	s := open(t, r, html.String(), js.String(), SessionOptions{})
	long := strings.Repeat("x", 2000)
	for i := range 8 {
		send(t, s, input(fmt.Sprintf("t%d", i), long))
	}
	rep := send(t, s, input("t8", long), input("t0", "late"))
	if rep.Ignored != 1 || s.Snapshot().Outcome != Failed || s.Snapshot().Controls[0].Value != long {
		t.Errorf("%+v", rep)
	}
}

// TestDroppedEditsStay fills the queue, so that the edit is dropped, and lets a round in flight set the control.
func TestDroppedEditsStay(t *testing.T) {
	r := newRuntime(t, Options{budget: patience})
	var q steps
	s := open(t, r, `<input id="x"><button id="go">Go</button>`, `ui.on('go', 'click', () => ui.value('x', 'card')); ui.on('x', 'change', () => {})`, SessionOptions{schedule: q.schedule})
	for range 1 + limits.Queue {
		_, _, _ = s.Post(click("go"))
	}
	if _, ignored, _ := s.Post(change("x", "user")); ignored != 1 {
		t.Fatal("the queue has room")
	}
	f := s.Snapshot().Controls[0].Value
	q.run()
	if rounds := s.Snapshot().Rounds; !rounds[1].Discarded || rounds[2].Discarded || f != "user" {
		t.Errorf("%q, %+v", f, rounds[1:3])
	}
}

// TestClosedRuntime lets open sessions go on, frozen or not.
func TestClosedRuntime(t *testing.T) {
	r := newRuntime(t, Options{budget: patience})
	frozen, live := open(t, r, controls, counter, SessionOptions{FreezeAfter: -1}), open(t, r, controls, counter, SessionOptions{FreezeAfter: -1})
	frozen.freeze()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Session{frozen, live} {
		send(t, s, click("go"))
		expectShows(t, s, "out", "1 go click v false")
	}
	c := probe("")
	if s, snap, err := r.Open(context.Background(), &c, SessionOptions{}); s != nil || snap != nil || err == nil {
		t.Errorf("a new session: %v %v %v", s, snap, err)
	}
}

// TestEventsWhileFreezing are dispatched when it is done.
func TestEventsWhileFreezing(t *testing.T) {
	r := newRuntime(t, Options{Workers: 1, budget: patience})
	s := open(t, r, controls, counter, SessionOptions{FreezeAfter: -1})
	for n := range 200 {
		done := make(chan struct{})
		go func() { s.freeze(); close(done) }()
		send(t, s, input("x", fmt.Sprint(n)))
		<-done
		if err := s.Wait(context.Background()); err != nil {
			t.Fatal(err)
		}
		expectShows(t, s, "out", fmt.Sprintf("%d x input %d false", n+1, n))
	}
}

func TestFailureAndRefreshR120R121D30(t *testing.T) {
	r := newRuntime(t, Options{budget: patience})
	s := open(t, r, `<input id="x" value="1"><button id="go">Go</button><p id="out">start</p>`,
		`let n = 0; ui.on('x', 'input', (e) => { n++; ui.text('out', e.value + ' ' + n); if (e.value === 'bad') throw new Error('told to') }); ui.on('go', 'click', () => { for (;;); })`, SessionOptions{})
	send(t, s, input("x", "good"))
	send(t, s, input("x", "bad"))
	snap := s.Snapshot()
	if snap.Outcome != Failed || snap.Failure.Code != limits.Exception || snap.Failure.Round != 2 || len(snap.Rounds) != 3 || snap.Rounds[2].Patches != nil {
		t.Errorf("%+v %+v", snap, snap.Failure)
	}
	expectShows(t, s, "out", "good 1")
	if _, err := s.Send(context.Background(), input("x", "more")); !errors.Is(err, ErrEnded) {
		t.Errorf("after the end: %v", err)
	}
	if err := s.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	if snap := s.Snapshot(); snap.Outcome != Ready || len(snap.Rounds) != 1 || snap.Controls[0].Value != "1" {
		t.Errorf("refreshed: %+v", snap)
	}
	expectShows(t, s, "out", "start")
	send(t, s, input("x", "again"))
	expectShows(t, s, "out", "again 1")
	// Refresh and Close stop a round in flight at once.
	for _, end := range []func(){func() { _ = s.Refresh(context.Background()) }, s.Close} {
		if _, _, err := s.Post(click("go")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
		start := time.Now()
		end()
		if took := time.Since(start); took > 200*time.Millisecond {
			t.Errorf("took %v", took)
		}
	}
	if _, err := s.Send(context.Background(), click("go")); !errors.Is(err, ErrEnded) {
		t.Errorf("after Close: %v", err)
	}
	if err := s.Refresh(context.Background()); !errors.Is(err, ErrEnded) {
		t.Errorf("Refresh after Close: %v", err)
	}
	if len(s.Snapshot().Rounds) != 1 {
		t.Error("a round that was stopped from outside is to be seen")
	}
}

// TestRefreshThatCannotStart leaves the old activation alive, and Close ends a Refresh under way.
func TestRefreshThatCannotStart(t *testing.T) {
	r := newRuntime(t, Options{budget: patience})
	s := open(t, r, controls, counter, SessionOptions{})
	send(t, s, click("go"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Refresh(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Refresh: %v", err)
	}
	send(t, s, click("go"))
	expectShows(t, s, "out", "2 go click v false")

	slow := open(t, r, controls, `const end = Date.now() + 150; while (Date.now() < end); ui.text('out', 'started')`, SessionOptions{})
	refreshed := make(chan error)
	go func() { refreshed <- slow.Refresh(context.Background()) }()
	time.Sleep(30 * time.Millisecond)
	slow.Close()
	select {
	case err := <-refreshed:
		if !errors.Is(err, ErrEnded) {
			t.Errorf("Refresh: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("Refresh goes on after Close")
	}
	slow.Close()
	if _, _, err := slow.Post(click("go")); !errors.Is(err, ErrEnded) {
		t.Errorf("Post: %v", err)
	}
}

func TestRejectedAndFailedInitializationD31(t *testing.T) {
	r := newRuntime(t, Options{budget: patience})
	c := probe("let x =")
	if s, snap, err := r.Open(context.Background(), &c, SessionOptions{}); s != nil || err != nil || snap.Outcome != Rejected {
		t.Errorf("%v %+v %v", s, snap, err)
	}
	c = probe("throw 1")
	s, snap, err := r.Open(context.Background(), &c, SessionOptions{})
	if err != nil || snap.Outcome != Failed || !strings.Contains(snap.Display.HTML, "start") {
		t.Errorf("%+v %v", snap, err)
	}
	if _, err := s.Send(context.Background(), click("go")); !errors.Is(err, ErrEnded) {
		t.Error(err)
	}
	s.Close()
}

func TestFollow(t *testing.T) {
	r := newRuntime(t, Options{budget: patience})
	s := open(t, r, controls, counter, SessionOptions{})
	told := func(p Progress) bool {
		select {
		case <-p.News:
			return true
		default:
			return false
		}
	}
	at := s.Follow(1, 1)
	if at.Activation != 1 || len(at.Rounds) != 0 || at.Failure != nil || at.Closed || told(at) {
		t.Fatalf("%+v", at)
	}
	send(t, s, click("go"), input("x", "2"))
	if next := s.Follow(1, 1); !told(at) || len(next.Rounds) != 2 {
		t.Errorf("%+v", next)
	}
	if p := s.Follow(1, 99); len(p.Rounds) != 0 {
		t.Errorf("%d rounds from number 99", len(p.Rounds))
	}
	at = s.Follow(1, 3)
	if err := s.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	send(t, s, click("go"))
	if next := s.Follow(1, 3); !told(at) || next.Activation != 2 || len(next.Rounds) != 2 {
		t.Errorf("after a refresh: %+v", next)
	}
	at = s.Follow(2, 2)
	s.Close()
	if next := s.Follow(2, 2); !told(at) || !next.Closed {
		t.Errorf("after Close: %+v", next)
	}
}

// render is what a card that takes the source's advice does: all of its display from the inputs, in every handler.
const sums = `const ids = ['a', 'b', 'c']; const num = (id) => Number(ui.input(id).value) || 0;
function render() { ui.text('sum', String(num('a') + num('b'))); ui.text('copy', ui.input('c').value); ui.html('list', ids.map((id) => '<li>' + num(id) + '</li>').join('')); }
for (const id of ids) ui.on(id, 'input', render);
ui.on('reset', 'click', () => { ui.value('a', '0'); ui.value('b', '0'); render(); });
render();`

const sumsHTML = `<input id="a" type="number" value="1"><input id="b" type="number" value="2"><input id="c"><button id="reset">Reset</button><p id="sum"></p><p id="copy"></p><ul id="list"></ul>`

// TestEveryInterleaving runs a small script of edits with every placement of "a round ends" between them: afterwards the
// display is that of a fresh activation on the same values.
func TestEveryInterleaving(t *testing.T) {
	r := newRuntime(t, Options{Workers: 1, budget: patience})
	script := []Event{input("a", "5"), click("reset"), input("b", "7"), input("a", "9"), input("c", "x"), click("reset"), input("b", "4")}
	display := func(s *Session) string {
		d := s.Snapshot().Display
		return d.HTML
	}
	for placement := range 1 << len(script) {
		var q steps
		s := open(t, r, sumsHTML, sums, SessionOptions{schedule: q.schedule})
		for n, e := range script {
			if _, _, err := s.Post(e); err != nil {
				t.Fatal(err)
			}
			if placement>>n&1 == 1 {
				q.run()
			}
		}
		q.run()
		// The last event is an input, so the card rendered from the values that are displayed now.
		fresh := open(t, r, sumsHTML, sums, SessionOptions{})
		for _, c := range s.Snapshot().Controls {
			if c.Type != "button" {
				send(t, fresh, input(c.ID, c.Value))
			}
		}
		if d := cmp.Diff(display(fresh), display(s)); d != "" {
			t.Errorf("placement %b: %s", placement, d)
		}
		s.Close()
		fresh.Close()
	}
}

// TestAnySequence sends what is valid and what is hostile, in any order, and looks at what must always hold.
func TestAnySequence(t *testing.T) {
	r := newRuntime(t, Options{budget: patience})
	js := counter + `ui.on('x', 'change', (e) => { ui.html('para', '<b>' + e.value + '</b><input id="new" value="' + e.value + '">'); });
		ui.on('sel', 'change', () => { ui.html('sel', '<option>' + Math.random() + '<option>b'); }); ui.on('new', 'input', (e) => ui.value('x', e.value + e.value));`
	rapid.Check(t, func(rt *rapid.T) {
		var q steps
		s := open(t, r, controls, js, SessionOptions{schedule: q.schedule})
		defer s.Close()
		ids := rapid.SampledFrom([]string{"x", "box", "ra", "rb", "go", "sel", "off", "para", "new", "gone", "", "<b>"})
		values := rapid.SampledFrom([]string{"", "1", "<script>alert(1)</script>", "\x00", "\"><img src=x onerror=y>", strings.Repeat("é", 2048), strings.Repeat("x", 2049), "b", "a\r\nb"})
		for range rapid.IntRange(1, 40).Draw(rt, "length") {
			e := Event{ID: ids.Draw(rt, "id"), Type: rapid.SampledFrom([]string{"input", "change", "click", "keyup"}).Draw(rt, "type")}
			if rapid.Bool().Draw(rt, "with value") {
				e.Value = value(values.Draw(rt, "value"))
			}
			if rapid.Bool().Draw(rt, "with checked") {
				e.Checked = checked(rapid.Bool().Draw(rt, "checked"))
			}
			if _, _, err := s.Post(e); err != nil && !errors.Is(err, ErrEvent) && !errors.Is(err, ErrEnded) {
				rt.Fatal(err)
			}
			if n := len(s.queue.waiting); n > limits.Queue {
				rt.Fatalf("%d wait", n)
			}
			if rapid.Bool().Draw(rt, "run") {
				q.run()
			}
			snap := s.Snapshot()
			for _, c := range snap.Controls {
				if limits.Length(c.Value) > limits.Value {
					rt.Fatalf("%s holds %d characters", c.ID, limits.Length(c.Value))
				}
			}
			clean, found := sanitize.Card(snap.Display.HTML)
			if len(found) > 0 || clean.String() != snap.Display.HTML {
				rt.Fatalf("the display is not what sanitize gives back: %v\n%s\n%s", found, snap.Display.HTML, clean.String())
			}
		}
		q.run()
		if s.busy {
			rt.Fatal("busy with nothing to do")
		}
	})
}

// TestFrozenSessions gives the same bytes whether the guest is frozen after every round or never.
func TestFrozenSessions(t *testing.T) {
	r := newRuntime(t, Options{budget: patience})
	seed := uint64(9)
	o := SessionOptions{RenderOptions: RenderOptions{Seed: &seed, Now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}, FreezeAfter: -1}
	js := sums + `let seen = []; ui.on('c', 'change', (e) => { seen.push(e.value + Math.random() + Date.now()); ui.text('copy', seen.join()) });`
	run := func(freeze bool) string {
		s := open(t, r, sumsHTML, js, o)
		defer s.Close()
		for i := range 12 {
			send(t, s, input("a", fmt.Sprint(i)), change("c", strings.Repeat("v", i)), click("reset"))
			if freeze {
				s.freeze()
				if s.act.frozen == nil || s.act.guest != nil {
					t.Fatal("not frozen")
				}
			}
		}
		snap := s.Snapshot()
		for i := range snap.Rounds {
			snap.Rounds[i].Usage.ElapsedUS = 0
		}
		b, err := snap.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	want := run(false)
	var wg sync.WaitGroup
	turns := make(chan struct{}, 4) // more would starve one another of the 250 ms that a round has
	for i := range 100 {
		wg.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			if got := run(i%2 == 0); got != want {
				t.Errorf("run %d differs: %s", i, cmp.Diff(want, got))
			}
		})
	}
	wg.Wait()
}

// TestLookedAtWhileItThaws looks at a session from outside while its guest is thawed; the race detector tells of it.
func TestLookedAtWhileItThaws(t *testing.T) {
	r := newRuntime(t, Options{budget: patience})
	s := open(t, r, controls, counter, SessionOptions{FreezeAfter: -1})
	defer s.Close()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if s.Size() <= 0 {
					t.Error("a session of no size")
				}
				s.Frozen()
			}
		}
	})
	for range 30 {
		s.freeze()
		send(t, s, click("go"))
	}
	close(stop)
	wg.Wait()
}

func TestIdleSessionsFreezeAndDamagedOnesFail(t *testing.T) {
	r := newRuntime(t, Options{budget: patience})
	s := open(t, r, controls, counter, SessionOptions{FreezeAfter: time.Millisecond})
	frozen := func() []byte {
		for range 2000 {
			s.mu.Lock()
			f := s.act.frozen
			s.mu.Unlock()
			if f != nil {
				return f
			}
			time.Sleep(time.Millisecond)
		}
		t.Fatal("never frozen")
		return nil
	}
	frozen()
	send(t, s, click("go"))
	expectShows(t, s, "out", "1 go click v false")
	f := frozen()
	f[len(f)-1] ^= 1
	send(t, s, click("go"))
	snap := s.Snapshot()
	if snap.Outcome != Failed || snap.Failure.Code != limits.Engine || !strings.Contains(snap.Failure.Message, "damaged") {
		t.Errorf("%+v", snap.Failure)
	}
	expectShows(t, s, "out", "1 go click v false")
	if err := s.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	send(t, s, click("go"))
	expectShows(t, s, "out", "1 go click v false")
}

// TestLargeGuestsAreNotFrozen keeps a guest whose memory is full of what does not compress away, and lets it live on.
func TestLargeGuestsAreNotFrozen(t *testing.T) {
	r := newRuntime(t, Options{budget: patience})
	s := open(t, r, controls, counter+fmt.Sprintf(`const big = new Uint32Array(%d); for (let i = 0, x = 1; i < big.length; i++) big[i] = x = x * 48271 %% 2147483647;
		ui.on('go', 'change', () => big.length);`, frozenLimit/4+1024), SessionOptions{FreezeAfter: -1})
	s.freeze()
	if s.act.frozen != nil || s.act.guest == nil || s.busy {
		t.Errorf("frozen to %d bytes, busy %t", len(s.act.frozen), s.busy)
	}
	send(t, s, click("go"))
	expectShows(t, s, "out", "1 go click v false")
}

// TestManySessions runs 64 sessions on 2 workers under random events, refreshes and closes.
func TestManySessions(t *testing.T) {
	r := newRuntime(t, Options{Workers: 2, budget: patience})
	var wg sync.WaitGroup
	for n := range 64 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(n), 1))
			s := open(t, r, sumsHTML, sums, SessionOptions{FreezeAfter: time.Millisecond})
			defer s.Close()
			for range 40 {
				switch rng.IntN(12) {
				case 0:
					if err := s.Refresh(context.Background()); err != nil {
						t.Error(err)
					}
				case 1:
					s.Snapshot()
				case 2:
					time.Sleep(time.Duration(rng.IntN(3)) * time.Millisecond)
				case 3:
					_, _, _ = s.Post(click("reset"), input("a", "3"))
				case 4:
					ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rng.IntN(300))*time.Microsecond)
					_, _ = s.Send(ctx, input("b", fmt.Sprint(rng.IntN(9))))
					cancel()
				default:
					v := fmt.Sprint(rng.IntN(100))
					if _, err := s.Send(context.Background(), input("a", v)); err != nil {
						t.Error(err)
					}
				}
			}
			if err := s.Wait(context.Background()); err != nil {
				t.Error(err)
			}
			if snap := s.Snapshot(); snap.Outcome != Ready {
				t.Errorf("%+v", snap.Failure)
			}
		})
	}
	wg.Wait()
}

// BenchmarkRound is one event round of the capacity card in a live session.
func BenchmarkRound(b *testing.B) {
	r := newRuntime(b, Options{})
	card := Decode(shared(b, "cards/capacity.json"))
	s, _, err := r.Open(context.Background(), &card, SessionOptions{FreezeAfter: -1})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	values := []string{"5", "6"}
	n := 0
	for b.Loop() {
		if n++; n%1000 == 0 {
			s.act.rounds.rounds = s.act.rounds.rounds[:1]
		}
		if _, err := s.Send(context.Background(), input("workers", values[n%2])); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFrozenSession freezes and thaws the capacity card; bytes are those of its frozen guest.
func BenchmarkFrozenSession(b *testing.B) {
	r := newRuntime(b, Options{})
	card := Decode(shared(b, "cards/capacity.json"))
	s, _, err := r.Open(context.Background(), &card, SessionOptions{FreezeAfter: -1})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for _, event := range []bool{false, true} {
		b.Run(fmt.Sprintf("event=%t", event), func(b *testing.B) {
			for b.Loop() {
				s.freeze()
				if event {
					if _, err := s.Send(context.Background(), input("workers", "5")); err != nil {
						b.Fatal(err)
					}
					s.act.rounds.rounds = s.act.rounds.rounds[:1]
				} else if _, err := s.act.wake(r, &s.mu); err != nil {
					b.Fatal(err)
				}
			}
			s.freeze()
			b.ReportMetric(float64(len(s.act.frozen)), "bytes")
		})
	}
}

// BenchmarkFrozenMemory opens sessions of the capacity card until 10,000 are frozen, and reports what they keep.
func BenchmarkFrozenMemory(b *testing.B) {
	const sessions = 10_000
	r := newRuntime(b, Options{})
	data := shared(b, "cards/capacity.json")
	for b.Loop() {
		before := heap()
		all := make([]*Session, sessions)
		for i := range all {
			card := Decode(data)
			s, _, err := r.Open(context.Background(), &card, SessionOptions{FreezeAfter: -1})
			if err != nil {
				b.Fatal(err)
			}
			s.freeze()
			all[i] = s
		}
		b.ReportMetric(float64(heap()-before)/sessions, "bytes/session")
		for _, s := range all {
			s.Close()
		}
	}
}

// heap is what is reachable after a collection.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestSessionsKeepNothingOfGoneRounds has rounds that each leave something small in the session beside a patch as large as may be, which
// the next round replaces: a session takes little more memory than it says.
func TestSessionsKeepNothingOfGoneRounds(t *testing.T) {
	const rounds, sessions = 120, 4
	r := newRuntime(t, Options{})
	var html strings.Builder
	html.WriteString(`<button id="go">Go</button><p id="out"></p>`)
	for i := range rounds {
		fmt.Fprintf(&html, `<p id="p%d"></p>`, i)
	}
	for i := range 40 {
		fmt.Fprintf(&html, `<input id="c%d">`, i)
	}
	for _, small := range []string{"ui.text('p' + k, 'x')", "ui.html('p' + k, '<b>x</b>')", "ui.value('c' + k % 40, 'x')", "ui.on('p' + k, 'click', () => 0)"} {
		before := heap()
		c := &Card{Title: "T", Summary: "S", HTML: html.String(),
			JavaScript: "let k = 0; const large = 'x'.repeat(15800); ui.on('go', 'click', () => { ui.text('out', large); " + small + "; k++ })"}
		size := 0
		var open []*Session
		for range sessions {
			s, _, err := r.Open(t.Context(), c, SessionOptions{KeepRounds: 1, FreezeAfter: -1})
			if err != nil || s == nil {
				t.Fatal(s, err)
			}
			for range rounds {
				if _, err := s.Send(t.Context(), click("go")); err != nil {
					t.Fatal(small, err)
				}
			}
			size += s.Size() / sessions
			open = append(open, s)
		}
		// All outputs together are 1.9 MB a session.
		if held := (int64(heap()) - int64(before)) / sessions; held > int64(size)+500_000 {
			t.Errorf("%s: a session holds %d bytes, and says %d", small, held, size)
		}
		for _, s := range open {
			s.Close()
		}
	}
}
