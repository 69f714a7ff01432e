package cardrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/cardrun/limits"
)

// hostileScripts reads the attacks of package sandbox: sections named by lines "# name", one script a line.
func hostileScripts(t *testing.T) map[string][]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("sandbox", "testdata", "hostile", "kill.txt"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	section := ""
	for line := range strings.Lines(string(b)) {
		switch line = strings.TrimSuffix(line, "\n"); {
		case line == "" || strings.HasPrefix(line, "//"):
		case strings.HasPrefix(line, "# "):
			section = line[2:]
		default:
			out[section] = append(out[section], line)
		}
	}
	return out
}

// hostileCodes are what each kind of attack may end with; none is a card that goes on, where an exception is caught or its
// promise is looked at by nobody.
var hostileCodes = map[string][]limits.Code{
	"endless": {limits.Timeout},
	"hungry":  {limits.Memory, limits.Timeout, limits.Exception, limits.Rejection},
	"deep":    {limits.Exception, limits.Rejection, limits.Timeout, limits.Memory, limits.TooManyMicrotasks},
}

// TestHostileCards runs the attacks as cards: in the script, in a handler, and in jobs of both. What was shown last stays, the
// card ends with its code, and a good card follows.
func TestHostileCards(t *testing.T) {
	r := newRuntime(t, Options{Workers: 1, budget: 15 * time.Millisecond})
	shapes := []struct{ script, event string }{
		{"ui.text('out', 'lost');\n%s", ""},
		{"ui.text('out', 'kept'); ui.on('go', 'click', () => { ui.text('out', 'lost');\n%s\n})", "go"},
		{"ui.text('out', 'lost'); Promise.resolve().then(() => {\n%s\n})", ""},
		{"ui.text('out', 'kept'); ui.on('go', 'click', () => { ui.text('out', 'lost'); return Promise.resolve().then(() => {\n%s\n}) })", "go"},
	}
	n := 0
	for kind, bodies := range hostileScripts(t) {
		for k, body := range bodies {
			for s, shape := range shapes {
				if s != k%len(shapes) && (testing.Short() || s != (k+2)%len(shapes)) { // each in two of its places, by turns
					continue
				}
				n++
				card := probe(fmt.Sprintf(shape.script, body))
				session, snapshot, err := r.Open(context.Background(), &card, SessionOptions{FreezeAfter: -1})
				if err != nil {
					t.Fatal(err)
				}
				if session == nil {
					if shape.script[0] == 'u' && !strings.Contains(body, "'use strict'") {
						t.Errorf("%s: %s\nis rejected: %v", kind, body, snapshot.Diagnostics)
					}
					continue
				}
				kept := "start"
				if shape.event != "" {
					kept = "kept"
					if snapshot.Outcome == Ready {
						_, err = session.Send(context.Background(), Event{ID: "go", Type: "click"})
						if err != nil {
							t.Errorf("%s: %s\n%v", kind, body, err)
						}
					} else {
						kept = "start" // a busy machine
					}
					snapshot = session.Snapshot()
				}
				session.Close()
				switch {
				case snapshot.Failure == nil:
					if kind == "endless" {
						t.Errorf("%s: %s\nwent on", kind, body)
					}
				case !slices.Contains(hostileCodes[kind], snapshot.Failure.Code):
					t.Errorf("%s: %s\nends with %+v", kind, body, *snapshot.Failure)
				case !strings.Contains(snapshot.Display.HTML, ">"+kept+"</p>"):
					t.Errorf("%s: %s\nshows %s", kind, body, snapshot.Display.HTML)
				}
				for _, round := range snapshot.Rounds {
					if round.Usage.ElapsedUS > 5e6 {
						t.Errorf("%s: %s\ntook %d µs", kind, body, round.Usage.ElapsedUS)
					}
				}
				if n%25 == 0 {
					expectGood(t, r, body)
				}
			}
		}
	}
	expectGood(t, r, "all")
	t.Logf("attacks: %d", n)
}

// expectGood renders a good card, on a machine that may be too busy for its few milliseconds at times.
func expectGood(t *testing.T, r *Runtime, after string) {
	t.Helper()
	for range 5 {
		s := render(t, r, capacity)
		if s.Failure != nil && s.Failure.Code == limits.Timeout {
			continue
		}
		if s.Outcome != Ready || !strings.Contains(s.Display.HTML, `<p id="answer">100 requests/s</p>`) {
			t.Errorf("after %s a good card gives %+v", after, s)
		}
		return
	}
	t.Errorf("after %s a good card takes too long, five times", after)
}

// askedOften is a context that ends when it has been asked so many times.
type askedOften struct {
	context.Context
	left chan struct{}
	done chan struct{}
}

func newAskedOften(n int) *askedOften {
	c := &askedOften{Context: context.Background(), left: make(chan struct{}, n+1), done: make(chan struct{})}
	for range n {
		c.left <- struct{}{}
	}
	if n == 0 {
		close(c.done)
	}
	return c
}

func (c *askedOften) Done() <-chan struct{} { return c.done }

func (c *askedOften) Err() error {
	select {
	case <-c.left:
		if len(c.left) == 0 {
			select {
			case <-c.done:
			default:
				close(c.done)
			}
		}
		return nil
	default:
		return context.Canceled
	}
}

// TestHostileSessions ends sessions everywhere: by deadlines from a microsecond on, by callers that go away at every step,
// by closing the session or the runtime under them. All that comes of it is an error.
func TestHostileSessions(t *testing.T) {
	leaks := goleak.IgnoreCurrent()
	r := newRuntime(t, Options{Workers: 2, budget: patience})
	n := 0
	life := func(ctx context.Context, r *Runtime, closing time.Duration) error {
		n++
		session, _, err := r.Open(ctx, &capacity, SessionOptions{FreezeAfter: time.Microsecond})
		if err != nil {
			return err
		}
		defer session.Close()
		if closing > 0 {
			defer time.AfterFunc(closing, session.Close).Stop()
		}
		for x := range 3 {
			v := fmt.Sprint(5 + x)
			if _, err := session.Send(ctx, Event{ID: "w", Type: "input", Value: &v}); err != nil {
				return err
			}
			if s := session.Snapshot(); closing == 0 && (s.Failure != nil || !strings.Contains(s.Display.HTML, fmt.Sprintf(">%d requests/s</p>", 25*(5+x)))) {
				return fmt.Errorf("round %d: %+v, %s", x, s.Failure, s.Display.HTML)
			}
			if err := session.Refresh(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	honest := func(what string, err error) {
		t.Helper()
		if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrEnded) && !strings.Contains(err.Error(), "closed") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for d, succeeded := time.Microsecond, 0; d < time.Minute && succeeded < 2; d += d / 2 {
		d++
		ctx, cancel := context.WithTimeout(context.Background(), d)
		err := life(ctx, r, 0)
		cancel()
		honest(fmt.Sprint("a deadline of ", d), err)
		if err == nil {
			succeeded++
		}
		honest(fmt.Sprint("closed after ", d), life(context.Background(), r, d))
	}
	for steps := 0; ; steps++ {
		err := life(newAskedOften(steps), r, 0)
		honest(fmt.Sprintf("a caller that goes away at step %d", steps), err)
		if err == nil {
			break
		}
	}
	expectWhole(t, r, "sessions that were ended")
	for k := range 8 {
		dying, err := New(context.Background(), Options{Workers: 1, budget: patience})
		if err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(k)*300*time.Microsecond, func() { _ = dying.Close() })
		for range 10 {
			honest("a runtime that closes", life(context.Background(), dying, 0))
		}
		timer.Stop()
		_ = dying.Close()
	}
	_ = r.Close()
	if err := goleak.Find(leaks); err != nil {
		t.Error(err)
	}
	t.Logf("attacks: %d", n)
}
