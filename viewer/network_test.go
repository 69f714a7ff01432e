//go:build browser

package viewer_test

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"example.com/cardrun"
)

// slow holds a round for some time: it spins, so that what comes meanwhile waits or conflicts.
const slow = `const hold = ms => { const end = Date.now() + ms; while (Date.now() < end); };`

func TestConflict(t *testing.T) {
	s := newService(t)
	b := openTab(t, s)
	// The click's round runs while the user types into n. Its batch would write n, so all of it is dropped.
	id := openHost(t, b, s, `<button id="k">k</button> <label for="n">n</label> <input id="n"><p id="p">before</p>`, "",
		slow+`ui.on('k', 'click', () => { hold(200); ui.text('p', 'clicked'); ui.value('n', 'script') }); ui.on('n', 'change', e => ui.text('p', 'changed to ' + e.value))`)
	x := s.sessions[id]
	b.click("k")
	// The page sends one request at a time, so the edit that conflicts is that of another page of the same session.
	for range 400 {
		if snapshot := x.Snapshot(); len(s.asked("POST /v1/sessions/"+id)) == 1 && len(snapshot.Rounds) == 1 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	time.Sleep(60 * time.Millisecond) // into the round
	value := "other"
	if _, _, err := x.Post(cardrun.Event{ID: "n", Type: "input", Value: &value}); err != nil {
		t.Fatal(err)
	}
	b.await(t, "host.seen.rounds.length === 1 && host.seen.rounds[0].discarded")
	b.expect(t, "p", "before")
	b.await(t, "host.view.settled && host.el('n').value === 'other'")

	// What the user types while an older request is on its way is never written over: it comes after.
	b.click("k")
	b.click("n")
	b.keys("mine")
	b.await(t, "host.view.settled && host.seen.rounds.length >= 2")
	if got := b.text("host.el('n').value"); !strings.Contains(got, "mine") {
		t.Errorf("n holds %q; what was typed is lost", got)
	}
	b.click("k") // leaves n
	b.await(t, "host.view.settled && host.el('n').value === 'script' && host.el('p').textContent === 'clicked'")
	server, _ := control(x, "n")
	if got := b.text("host.el('n').value"); got != server.Value {
		t.Errorf("the page shows %q, the server has %q", got, server.Value)
	}
	b.expectQuiet(t, "conflict")
}

func control(x *cardrun.Session, id string) (c struct {
	Value   string
	Checked bool
}, ok bool) {
	for _, k := range x.Snapshot().Controls {
		if k.ID == id {
			c.Value, c.Checked = k.Value, k.Checked
			return c, true
		}
	}
	return c, false
}

const counter = `<button id="k">k</button> <label for="n">n</label> <input id="n"><p id="p">0</p>`
const counterScript = `let n = 0; ui.on('k', 'click', () => ui.text('p', String(++n))); ui.on('n', 'input', e => ui.text('p', e.value))`

func TestLostConnection(t *testing.T) {
	s := newService(t)
	b := openTab(t, s)

	t.Run("stream", func(t *testing.T) {
		defer b.expectQuiet(t, "stream")
		id := openHost(t, b, s, counter, "", counterScript)
		x := s.sessions[id]
		for range 3 {
			s.cut()
			if _, _, err := x.Post(cardrun.Event{ID: "k", Type: "click"}); err != nil {
				t.Fatal(err)
			}
		}
		b.expect(t, "p", "3")
		if n := len(s.asked("GET /v1/sessions/" + id + "/stream")); n < 2 {
			t.Errorf("the stream was asked for %d times", n)
		}
		var numbers []int
		b.eval(&numbers, "host.seen.rounds.map(r => r.place.number)")
		if !slices.Equal(numbers, []int{1, 2, 3}) {
			t.Errorf("the rounds came as %v", numbers)
		}
		b.await(t, "host.view.state === 'live'")
	})

	t.Run("an answer that is lost", func(t *testing.T) {
		// The events are taken, the answer never comes: they are not sent again.
		defer b.expectQuiet(t, "answer")
		id := openHost(t, b, s, counter, "", counterScript)
		var lost atomic.Int32
		s.set(nil, func(http.ResponseWriter, *http.Request) bool {
			if lost.Add(1) == 1 {
				panic(http.ErrAbortHandler)
			}
			return false
		})
		defer s.set(nil, nil)
		b.click("k")
		b.await(t, "host.view.settled && host.view.state === 'live'")
		b.click("k")
		b.expect(t, "p", "2")
		if got := len(s.sessions[id].Snapshot().Rounds); got != 3 {
			t.Errorf("%d rounds, want start and two clicks", got)
		}
	})

	t.Run("a request that is lost", func(t *testing.T) {
		defer b.expectQuiet(t, "request")
		id := openHost(t, b, s, counter, "", counterScript)
		var down atomic.Bool
		s.set(func(_ http.ResponseWriter, r *http.Request) bool {
			if down.Load() {
				panic(http.ErrAbortHandler)
			}
			return false
		}, nil)
		defer s.set(nil, nil)
		down.Store(true)
		s.cut()
		b.click("k")
		b.click("n")
		b.keys("abc")
		b.await(t, "host.view.state === 'offline'")
		status := "host.view.frame.iframe.getRootNode().querySelector('[role=status]')"
		b.await(t, status+".textContent.includes('connection is lost')")
		down.Store(false)
		b.eval(nil, status+".querySelector('button').click()")
		b.await(t, "host.view.state === 'live' && host.view.settled")
		b.expect(t, "p", "abc")
		if got, _ := control(s.sessions[id], "n"); got.Value != "abc" {
			t.Errorf("the server has %q", got.Value)
		}
		clicks := 0
		for _, r := range s.sessions[id].Snapshot().Rounds {
			if r.Event != nil && r.Event.Type == "click" && r.Event.ID == "k" {
				clicks++
			}
		}
		if clicks != 1 {
			t.Errorf("the click came %d times", clicks)
		}
	})

	t.Run("a service that is busy", func(t *testing.T) {
		defer b.expectQuiet(t, "busy")
		openHost(t, b, s, counter, "", counterScript)
		var n atomic.Int32
		s.set(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == "POST" && n.Add(1) <= 2 {
				w.Header().Set("Retry-After", "1")
				problem(w, 503, "busy")
				return true
			}
			return false
		}, nil)
		defer s.set(nil, nil)
		b.click("k")
		b.await(t, "host.seen.states.includes('busy')")
		b.expect(t, "p", "1")
	})

	t.Run("a session that is gone", func(t *testing.T) {
		defer b.expectQuiet(t, "gone")
		id, _ := s.open(counter, "", counterScript)
		b.visit("/host")
		b.await(t, "window.host")
		card := cardJSON(counter, counterScript)
		b.eval(nil, "host.open({session: "+quote(id)+", url: location.origin, reopen: "+quote(card)+"})")
		b.await(t, "host.view.state === 'live' && host.seen.snapshots > 0")
		b.click("k")
		b.expect(t, "p", "1")
		s.forget(id)
		s.cut()
		b.await(t, "host.view.state === 'gone'")
		b.expect(t, "p", "1") // the last good display
		alert := "host.view.frame.iframe.getRootNode().querySelector('[role=alert]')"
		b.await(t, alert+".textContent.includes('session is over')")
		b.eval(nil, alert+".querySelector('button').click()")
		b.expect(t, "p", "0")
		b.await(t, "host.view.state === 'live'")
		b.click("k")
		b.expect(t, "p", "1")
	})

	t.Run("a refresh by somebody else", func(t *testing.T) {
		defer b.expectQuiet(t, "refresh")
		id := openHost(t, b, s, counter, "", counterScript)
		b.click("k")
		b.expect(t, "p", "1")
		if err := s.sessions[id].Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.expect(t, "p", "0")
		b.click("k")
		b.expect(t, "p", "1")
		b.await(t, "host.view.place.activation === 2")
	})
	b.do(chromedp.Navigate("about:blank"))
}

func cardJSON(html, script string) string {
	return `{"title":"A card","summary":"s","html":` + quote(html) + `,"css":"","javascript":` + quote(script) + `}`
}
