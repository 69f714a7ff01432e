package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/cardrun/limits"
)

// halt stops a process, and waits until each of its threads has stopped.
func halt(t *testing.T, p *process) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for range 5000 {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.cmd.Process.Pid))
		if err != nil || len(tasks) == 0 {
			t.Fatalf("%d threads, %v", len(tasks), err)
		}
		if !slices.ContainsFunc(tasks, func(task string) bool {
			b, err := os.ReadFile(task)
			return err == nil && !strings.Contains(string(b), ") T ")
		}) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the process goes on")
}

// expectLives fails when a process that hangs has ended: then somebody has waited for that.
func expectLives(t *testing.T, what string, p *process) {
	t.Helper()
	select {
	case <-p.ended:
		t.Errorf("%s: after the process that hangs had been given up", what)
	default:
	}
}

// resting is a guest that rests in the only process of an engine, which hangs.
func resting(t *testing.T, e *Engine) (*Guest, *process) {
	t.Helper()
	g := newGuest(t, e, Activation{})
	if _, err := g.Run(context.Background(), Round{Input: []byte("0"), Script: "f = () => { out = 'here' }", MaxOutput: 99}); err != nil {
		t.Fatal(err)
	}
	p := g.away.p
	halt(t, p)
	return g, p
}

// TestProcessThatHangs has a worker not answer at all.
func TestProcessThatHangs(t *testing.T) {
	e := apart(t, Options{Workers: 1, Budget: 50 * time.Millisecond, WorkerCommand: self("sleep")})
	g := newGuest(t, e, Activation{})
	start := time.Now()
	_, err := g.Run(context.Background(), Round{Input: []byte("0"), MaxOutput: 99})
	if took := time.Since(start); limits.CodeOf(err) != limits.Engine || !errors.Is(err, os.ErrDeadlineExceeded) || took > 10*time.Second {
		t.Errorf("after %v: %v", took, errorTree(err))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	expectWhole(t, e)
	h := newGuest(t, e, Activation{})
	if _, err := h.Run(ctx, Round{Input: []byte("0"), MaxOutput: 99}); err == nil {
		t.Error("a round of a worker that hangs ended well")
	}
	expectWhole(t, e)
}

// TestProcessThatHangsAtRest stops a process whose guest rests: who needs a process meanwhile waits no longer than he likes, or
// gets another one.
func TestProcessThatHangsAtRest(t *testing.T) {
	e := apart(t, Options{Workers: 1})
	rests, p := resting(t, e)
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	g := newGuest(t, e, Activation{})
	if _, err := g.Run(ctx, Round{Input: []byte("0"), Script: "out = 2", MaxOutput: 99}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	expectLives(t, "a caller who would wait a millisecond", p)
	if res, err := g.Run(context.Background(), Round{Input: []byte("0"), Script: "out = 3", MaxOutput: 99}); err != nil || string(res.Output) == "" {
		t.Errorf("%q, %v", res.Output, err)
	}
	expectLives(t, "another guest's round", p)
	if _, err := rests.Run(context.Background(), Round{Input: []byte("0"), MaxOutput: 99}); limits.CodeOf(err) != limits.Engine {
		t.Errorf("the guest of a process that hangs: %v", err)
	}
	g.Close()
	rests.Close()
	expectWhole(t, e)
	t.Log("attacks: 3")
}

// TestProcessThatHangsIsNotWaitedFor stops a process at rest and then has its guest run, frozen, closed, and closed while it is moved
// out. Neither a caller whose context ends nor a close waits until the process is given up, and no other guest meets it.
func TestProcessThatHangsIsNotWaitedFor(t *testing.T) {
	e := apart(t, Options{Workers: 1, Budget: time.Minute})
	brief := func() context.Context {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	tried := 0
	for _, c := range []struct {
		name string
		do   func(*Guest) error
		want error
	}{
		{"a round", func(g *Guest) error {
			_, err := g.Run(brief(), Round{Input: []byte("1"), MaxOutput: 99})
			return err
		}, context.DeadlineExceeded},
		{"freezing", func(g *Guest) error { _, err := g.Freeze(brief(), 1<<20); return err }, context.DeadlineExceeded},
		{"closing", func(*Guest) error { return nil }, nil},
		{"closing while it is moved out", func(g *Guest) error {
			l, moved := e.pool, false
			l.mu.Lock()
			defer l.mu.Unlock()
			l.moveOut(g.away.p, &moved)
			return nil
		}, nil},
	} {
		tried++
		g, p := resting(t, e)
		if err := c.do(g); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		g.Close()
		expectLives(t, c.name, p)
		// Another guest loses no round by it.
		expect(t, e, "out = 'next'", "next")
		<-p.ended
		expectWhole(t, e)
	}
	t.Logf("attacks: %d", tried)
}

// TestFreezingThatNobodyWaitsFor gives up the freezing of a guest whose process comes back to itself: the guest lives on.
func TestFreezingThatNobodyWaitsFor(t *testing.T) {
	e := apart(t, Options{Workers: 1})
	g, p := resting(t, e)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := g.Freeze(ctx, 1<<20); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if res, err := g.Run(context.Background(), Round{Input: []byte("1"), MaxOutput: 99}); err != nil || string(res.Output) != ">here" {
		t.Errorf("%q, %v", res.Output, err)
	}
	if _, err := g.Freeze(context.Background(), 1<<20); err != nil {
		t.Error(err)
	}
	g.Close()
	expectWhole(t, e)
	if r := e.Replaced(); r.Processes != 0 {
		t.Errorf("replaced: %+v", r)
	}
}

// TestProcessThatDoesNotClear has workers that never close a guest: each is ended, and the next guest is in another one, with no
// round lost.
func TestProcessThatDoesNotClear(t *testing.T) {
	e := apart(t, Options{Workers: 1, WorkerCommand: self("tired")})
	var tired []*process
	for range 3 {
		g := newGuest(t, e, Activation{})
		if res, err := g.Run(context.Background(), Round{Input: []byte("0"), Script: "out = 'next'", MaxOutput: 99}); err != nil || string(res.Output) != ">next" {
			t.Errorf("%q, %v", res.Output, err)
		}
		p := g.away.p
		g.Close()
		expectLives(t, "closing", p)
		tired = append(tired, p)
	}
	for _, p := range tired { // the last one is given up though nobody asks for it
		<-p.ended
	}
	expectWhole(t, e)
	if r := e.Replaced(); r.Processes != 3 {
		t.Errorf("replaced: %+v", r)
	}
	t.Log("attacks: 3")
}

// TestProcessThatTakesNoQuestion stops a free process, and asks it more than the socket has room for.
func TestProcessThatTakesNoQuestion(t *testing.T) {
	e := apart(t, Options{Workers: 1, Budget: time.Minute})
	g := newGuest(t, e, Activation{})
	const large = "let w = new Uint32Array(1 << 18), x = 1; for (let i = 0; i < w.length; i++) w[i] = x = Math.imul(x, 48271) + i; f = () => 0"
	if _, err := g.Run(context.Background(), Round{Input: []byte("0"), Script: large, MaxOutput: 99}); err != nil {
		t.Fatal(err)
	}
	frozen, err := g.Freeze(context.Background(), 4<<20)
	if err != nil || len(frozen) < 1<<20 {
		t.Fatalf("%d bytes, %v", len(frozen), err)
	}
	g.Close()
	expectWhole(t, e)
	p := processes(e)[0]
	halt(t, p)
	if g, err = e.Thaw(frozen); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := g.Run(ctx, Round{Input: []byte("1"), MaxOutput: 99}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	g.Close()
	expectLives(t, "a caller who would wait 20 milliseconds", p)
	expect(t, e, "out = 'next'", "next")
	<-p.ended
	expectWhole(t, e)
}
