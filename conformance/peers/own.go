package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"example.com/cardrun"
	"example.com/cardrun/limits"
	"example.com/cardrun/sandbox"
	"example.com/cardrun/uiapi"
)

// own answers requests with cardrun itself: as the whole, with documents, or the engine with the five calls alone, which is the
// same work as the peers do.
type own struct {
	engine  *sandbox.Engine
	runtime *cardrun.Runtime // nil for the engine alone
	seen    *cardrun.Runtime // with an image cache
}

// serve is a peer process of ours, until in ends.
func serve(kind string, in io.Reader, out io.Writer) error {
	ctx := context.Background()
	var o own
	var err error
	switch kind {
	case ownWhole:
		if o.runtime, err = cardrun.New(ctx, cardrun.Options{}); err != nil {
			return err
		}
		defer o.runtime.Close()
		if o.seen, err = cardrun.New(ctx, cardrun.Options{ImageCache: 64 << 20}); err != nil {
			return err
		}
		defer o.seen.Close()
	case ownScript:
		if o.engine, err = sandbox.New(ctx, sandbox.Options{Prelude: uiapi.Prelude()}); err != nil {
			return err
		}
		defer o.engine.Close()
	default:
		return fmt.Errorf("-serve %s: there are %s and %s", kind, ownWhole, ownScript)
	}
	lines, enc := bufio.NewReaderSize(in, 1<<20), json.NewEncoder(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil // whoever asks has gone
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("read request: %w", err)
		}
		res, err := o.answer(ctx, &r)
		if err != nil {
			res = &reply{Error: err.Error()}
		}
		if err := enc.Encode(res); err != nil {
			return err
		}
	}
}

func (o *own) answer(ctx context.Context, r *request) (*reply, error) {
	switch r.Op {
	case "hello":
		return &reply{Version: runtime.Version()}, nil
	case "cards":
		return r.cards(func() error { return o.card(ctx, r) })
	case "idle":
		return o.idle(ctx, r)
	case "first":
		return r.sample(func() (func(), error) { return o.first(ctx, r) })
	case "play":
		if o.engine != nil {
			return o.play(ctx, r)
		}
	case "seen":
		if o.engine != nil {
			return o.thaw(ctx, r)
		}
		return r.sample(func() (func(), error) { return o.open(ctx, o.seen, r) })
	case "round":
		if o.engine != nil {
			return o.round(ctx, r)
		}
		return o.send(ctx, r)
	}
	return nil, fmt.Errorf("%s is not asked of this peer", r.Op)
}

// source is the script of the request's card.
func (r *request) source() (string, error) {
	var c struct {
		JavaScript string `json:"javascript"`
	}
	err := json.Unmarshal(r.Card, &c)
	return c.JavaScript, err
}

// begin is an activation after its initialization, and its answer as text.
func (o *own) begin(ctx context.Context, r *request) (*sandbox.Guest, string, error) {
	script, err := r.source()
	if err != nil {
		return nil, "", err
	}
	g, err := o.engine.Guest(sandbox.Activation{})
	if err != nil {
		return nil, "", err
	}
	out, err := uiapi.Start(ctx, g, script, r.Inputs)
	if err != nil {
		g.Close()
		return nil, "", err
	}
	out.Batch.AppendJSON(nil)
	return g, script, nil
}

func (o *own) first(ctx context.Context, r *request) (func(), error) {
	if o.engine != nil {
		g, _, err := o.begin(ctx, r)
		if err != nil {
			return nil, err
		}
		return g.Close, nil
	}
	card := cardrun.Decode(r.Card)
	s, err := o.runtime.Render(ctx, &card, cardrun.RenderOptions{})
	if err != nil {
		return nil, err
	}
	if s.Outcome != cardrun.Ready {
		return nil, fmt.Errorf("the card is %s", s.Outcome)
	}
	_, err = s.AppendJSON(nil)
	return func() {}, err
}

// open is a session, and its first Snapshot as text.
func (o *own) open(ctx context.Context, rt *cardrun.Runtime, r *request) (func(), error) {
	s, err := begun(ctx, rt, r, -1)
	if err != nil {
		return nil, err
	}
	return s.Close, nil
}

func begun(ctx context.Context, rt *cardrun.Runtime, r *request, freeze time.Duration) (*cardrun.Session, error) {
	card := cardrun.Decode(r.Card)
	s, shown, err := rt.Open(ctx, &card, cardrun.SessionOptions{FreezeAfter: freeze, KeepRounds: 4})
	if err != nil {
		return nil, err
	}
	if shown.Outcome != cardrun.Ready {
		return nil, fmt.Errorf("the card is %s", shown.Outcome)
	}
	_, err = shown.AppendJSON(nil)
	return s, err
}

// thaw opens a document seen before without running it.
func (o *own) thaw(ctx context.Context, r *request) (*reply, error) {
	g, _, err := o.begin(ctx, r)
	if err != nil {
		return nil, err
	}
	frozen, err := g.Freeze(ctx, limits.Heap)
	g.Close()
	if err != nil {
		return nil, err
	}
	return r.sample(func() (func(), error) {
		g, err := o.engine.ThawAs(frozen, sandbox.Activation{}, true)
		if err != nil {
			return nil, err
		}
		return g.Close, nil
	})
}

// round is the engine's round.
func (o *own) round(ctx context.Context, r *request) (*reply, error) {
	g, script, err := o.begin(ctx, r)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	e := r.Rounds[0]
	return r.sample(func() (func(), error) {
		out, err := uiapi.Dispatch(ctx, g, script, uiapi.Event{ID: e.ID, Type: e.Type}, e.Inputs)
		out.Batch.AppendJSON(nil)
		return func() {}, err
	})
}

// send is a session's round: the queue, the inputs, the guest, the document, and its report as text.
func (o *own) send(ctx context.Context, r *request) (*reply, error) {
	s, err := begun(ctx, o.runtime, r, -1)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	e := r.Rounds[0]
	return r.sample(func() (func(), error) {
		report, err := s.Send(ctx, cardrun.Event{ID: e.ID, Type: e.Type})
		if err != nil {
			return nil, err
		}
		if len(report.Rounds) != 1 {
			return nil, fmt.Errorf("an event gave %d rounds", len(report.Rounds))
		}
		_, err = json.Marshal(report)
		return func() {}, err
	})
}

// play tells every answer.
func (o *own) play(ctx context.Context, r *request) (*reply, error) {
	script, err := r.source()
	if err != nil {
		return nil, err
	}
	g, err := o.engine.Guest(sandbox.Activation{})
	if err != nil {
		return nil, err
	}
	defer g.Close()
	out, err := uiapi.Start(ctx, g, script, r.Inputs)
	res := &reply{Answers: []answer{answerOf(out, err)}}
	for _, e := range r.Rounds {
		if err != nil {
			break
		}
		out, err = uiapi.Dispatch(ctx, g, script, uiapi.Event{ID: e.ID, Type: e.Type}, e.Inputs)
		res.Answers = append(res.Answers, answerOf(out, err))
	}
	return res, nil
}

func answerOf(out uiapi.Outcome, err error) answer {
	a := answer{Patches: []patch{}, Handlers: [][2]string{}, Random: out.Usage.ReadClock || out.Usage.ReadRandom}
	for _, p := range out.Batch {
		a.Patches = append(a.Patches, patch{string(p.Op), p.ID, p.Value})
	}
	for _, h := range out.Handlers {
		a.Handlers = append(a.Handlers, [2]string{h.ID, h.Type})
	}
	if err != nil {
		a.Failure = string(limits.CodeOf(err))
	}
	return a
}

// card is one whole card: opened, its events, closed.
func (o *own) card(ctx context.Context, r *request) error {
	if o.runtime != nil {
		s, err := begun(ctx, o.runtime, r, -1)
		if err != nil {
			return err
		}
		defer s.Close()
		for _, e := range r.Rounds {
			report, err := s.Send(ctx, cardrun.Event{ID: e.ID, Type: e.Type})
			if err != nil {
				return err
			}
			if _, err := json.Marshal(report); err != nil {
				return err
			}
		}
		return nil
	}
	g, script, err := o.begin(ctx, r)
	if err != nil {
		return err
	}
	defer g.Close()
	for _, e := range r.Rounds {
		out, err := uiapi.Dispatch(ctx, g, script, uiapi.Event{ID: e.ID, Type: e.Type}, e.Inputs)
		if err != nil {
			return err
		}
		out.Batch.AppendJSON(nil)
	}
	return nil
}

// idle is what a card at rest takes: a session that is frozen, as each is after a second, or the bytes of a frozen guest.
func (o *own) idle(ctx context.Context, r *request) (*reply, error) {
	var closers []func()
	var sessions []*cardrun.Session
	open := func(n int) error {
		for range n {
			if o.runtime == nil {
				g, _, err := o.begin(ctx, r)
				if err != nil {
					return err
				}
				frozen, err := g.Freeze(ctx, limits.Heap)
				g.Close()
				if err != nil {
					return err
				}
				closers = append(closers, func() { runtime.KeepAlive(frozen) })
				continue
			}
			s, err := begun(ctx, o.runtime, r, time.Millisecond)
			if err != nil {
				return err
			}
			sessions, closers = append(sessions, s), append(closers, s.Close)
		}
		end := time.Now().Add(20 * time.Second)
		for _, s := range sessions {
			for ; !s.Frozen(); time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					return errors.New("a session at rest was not frozen in 20 s")
				}
			}
		}
		return nil
	}
	if err := open(100); err != nil {
		return nil, err
	}
	before := resident()
	if err := open(r.N); err != nil {
		return nil, err
	}
	after := resident()
	for _, c := range closers {
		c()
	}
	return &reply{Bytes: (after - before) / int64(r.N)}, nil
}

// sample takes times of once for MS, after it has run for WarmMS unmeasured; what once gives to do is done in between.
func (r *request) sample(once func() (func(), error)) (*reply, error) {
	for end := time.Now().Add(time.Duration(r.WarmMS) * time.Millisecond); time.Now().Before(end); {
		after, err := once()
		if err != nil {
			return nil, err
		}
		after()
	}
	var res reply
	for end := time.Now().Add(time.Duration(r.MS) * time.Millisecond); len(res.Samples) == 0 || time.Now().Before(end) && len(res.Samples) < r.N; {
		start := time.Now()
		after, err := once()
		if err != nil {
			return nil, err
		}
		res.Samples = append(res.Samples, time.Since(start).Nanoseconds())
		after()
	}
	return &res, nil
}

// cards counts how often once can be done by all workers.
func (r *request) cards(once func() error) (*reply, error) {
	run := func(ms int) (n int, err error) {
		var mu sync.Mutex
		var wait sync.WaitGroup
		end := time.Now().Add(time.Duration(ms) * time.Millisecond)
		for range r.Workers {
			wait.Go(func() {
				count := 0
				var failed error
				for failed == nil && (count == 0 || time.Now().Before(end)) {
					failed = once()
					count++
				}
				mu.Lock()
				defer mu.Unlock()
				n += count
				err = errors.Join(err, failed)
			})
		}
		wait.Wait()
		return n, err
	}
	if _, err := run(r.WarmMS); err != nil {
		return nil, err
	}
	start := time.Now()
	n, err := run(r.MS)
	return &reply{Count: n, NS: time.Since(start).Nanoseconds()}, err
}

// ownWhole and ownScript are the names of our own two peers.
const (
	ownWhole  = "cardrun"
	ownScript = "cardrun, script alone"
)

// executable is this program.
func executable() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}
