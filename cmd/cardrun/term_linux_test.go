package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/cardrun/conformance"
	"example.com/cardrun/conformance/load"
)

// TestTermUnderLoad ends the service while callers are at it: whoever was let in gets his answer.
func TestTermUnderLoad(t *testing.T) {
	soakFor(t, "CARDRUN_SOAK")
	cases, err := conformance.Load(filepath.Join("testdata", "capacity.json"), filepath.Join("testdata", "busy.json"))
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, "--drain", "20s")
	ended := make(chan int)
	go func() {
		time.Sleep(2 * time.Second)
		ended <- s.stop()
	}()
	r, err := load.Run(t.Context(), cases, load.Options{URL: s.url, Mode: load.Mix, Plan: []load.Phase{{Rate: 100, Duration: 3 * time.Second}}})
	if err != nil {
		t.Fatal(err)
	}
	if exit := <-ended; exit != 0 {
		t.Errorf("exit status %d: %q", exit, s.log)
	}
	// Afterwards nobody is there to connect to. Before, every request that was taken is answered.
	for _, e := range r.Errors {
		if !strings.Contains(e, "connect:") && !strings.Contains(e, "closed without an answer") {
			t.Error(e)
		}
	}
	if r.Mismatches > 0 || r.Answered < 150 {
		var text strings.Builder
		_ = r.Print(&text)
		t.Error("\n" + text.String())
	}
}

// TestTermLosesNothing ends the service while callers render, each over a connection that it keeps: of every request that the
// service says it has handled, its caller has the whole answer. A request on its way to a connection that closes may be
// turned away, but then nothing was done for it. What became of each that has no answer is told apart: not sent, since nobody
// listens; sent over a connection that had answered before, or over a new one, and turned away; an answer that broke off,
// which is a loss.
func TestTermLosesNothing(t *testing.T) {
	card, err := os.ReadFile(filepath.Join("..", "..", "examples", "tip.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{nil, {"--grace", "300ms"}} {
		s := serve(t, append(args, "--render-cache", "0")...)
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
		var mu sync.Mutex
		answered, failed, fates := make(map[string]int), make(map[string]error), make(map[fate]int)
		var callers sync.WaitGroup
		for n := range 8 {
			callers.Go(func() {
				for i := 0; ; i++ {
					id := fmt.Sprintf("term-%d-%d", n, i)
					status, became, err := renderOnce(client, s.url, id, card)
					mu.Lock()
					fates[became]++
					if err == nil {
						answered[id] = status
					} else {
						failed[id] = err
					}
					mu.Unlock()
					if err != nil && strings.Contains(err.Error(), "connect:") {
						return // nobody listens any more
					}
				}
			})
		}
		time.Sleep(time.Second)
		if exit := s.stop(); exit != 0 {
			t.Errorf("exit status %d: %q", exit, s.log)
		}
		callers.Wait()
		client.CloseIdleConnections()
		for id, status := range s.handled {
			if answered[id] != status || status != 200 {
				t.Errorf("%v: %s was handled with status %d; its caller got %d, %v", args, id, status, answered[id], failed[id])
			}
		}
		if len(s.handled) != len(answered) || len(answered) < 100 {
			t.Errorf("%v: %d were handled, %d answered", args, len(s.handled), len(answered))
		}
		if n := fates[brokenOff]; n > 0 {
			t.Errorf("%v: %d answers broke off", args, n)
		}
		t.Logf("%v: %d handled and answered; %d were not sent whole, %d turned away on connections kept, %d on new ones", args,
			len(answered), fates[notSent], fates[turnedAway], fates[turnedAwayNew])
	}
}

// fate is what became of a request.
type fate int

const (
	heard         fate = iota // it has its whole answer
	notSent                   // not all of it was written
	turnedAway                // it was, to a connection that had answered before; no answer began
	turnedAwayNew             // it was, to a new one; no answer began
	brokenOff                 // an answer began
)

func renderOnce(client *http.Client, url, id string, card []byte) (status int, became fate, err error) {
	var wrote, kept, began atomic.Bool
	ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
		GotConn:              func(c httptrace.GotConnInfo) { kept.Store(c.Reused); wrote.Store(false) },
		WroteRequest:         func(w httptrace.WroteRequestInfo) { wrote.Store(w.Err == nil) },
		GotFirstResponseByte: func() { began.Store(true) },
	})
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/render", bytes.NewReader(card))
	if err != nil {
		return 0, notSent, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Request-Id", id)
	res, err := client.Do(r)
	if err == nil {
		defer res.Body.Close()
		if _, err = io.Copy(io.Discard, res.Body); err == nil {
			return res.StatusCode, heard, nil
		}
		status = res.StatusCode
	}
	switch {
	case began.Load():
		became = brokenOff
	case !wrote.Load():
		became = notSent
	case kept.Load():
		became = turnedAway
	default:
		became = turnedAwayNew
	}
	return status, became, err
}
