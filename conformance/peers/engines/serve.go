package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"time"
)

// request and reply have the form of ../protocol.go.
type request struct {
	Op      string          `json:"op"`
	Card    json.RawMessage `json:"card"`
	Inputs  inputs          `json:"inputs"`
	Rounds  []event         `json:"rounds"`
	MS      int             `json:"ms"`
	WarmMS  int             `json:"warm_ms"`
	N       int             `json:"n"`
	Workers int             `json:"workers"`
}

type card struct {
	JavaScript string `json:"javascript"`
}

type event struct {
	ID     string `json:"id"`
	Type   string `json:"type"`
	Inputs inputs `json:"inputs"`
}

type reply struct {
	Error   string    `json:"error,omitempty"`
	Version string    `json:"version,omitempty"`
	Answers []*answer `json:"answers,omitempty"`
	Samples []int64   `json:"samples,omitempty"`
	Count   int       `json:"count,omitempty"`
	NS      int64     `json:"ns,omitempty"`
	Bytes   int64     `json:"bytes,omitempty"`
}

func versionOf(module string) string {
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, m := range info.Deps {
			if m.Path == module {
				return m.Version
			}
		}
	}
	return "?"
}

func (e engine) answer(r *request) (res *reply) {
	defer func() {
		if p := recover(); p != nil {
			res = &reply{Error: fmt.Sprintf("panic: %.300v", p)}
		}
	}()
	var err error
	switch r.Op {
	case "hello":
		res = &reply{Version: e.version + ", " + runtime.Version()}
	case "play":
		res, err = e.play(r)
	case "first":
		res, err = e.first(r, e.open)
	case "seen":
		open := e.again
		if open == nil {
			open = e.open
		}
		res, err = e.first(r, open)
	case "round":
		res, err = e.round(r)
	case "cards":
		res, err = e.cards(r)
	case "idle":
		res, err = e.idle(r)
	default:
		err = fmt.Errorf("no such op: %s", r.Op)
	}
	if err != nil {
		return &reply{Error: err.Error()}
	}
	return res
}

// begin is what a caller waits for: from the card's text to an answer's.
func (r *request) begin(open func(string) (activation, error)) (activation, error) {
	var c card
	if err := json.Unmarshal(r.Card, &c); err != nil {
		return nil, err
	}
	a, err := open(c.JavaScript)
	if err != nil {
		return nil, err
	}
	w := a.init(r.Inputs)
	if w.Failure != "" {
		a.close()
		return nil, fmt.Errorf("initialization failed: %s", w.Failure)
	}
	_, err = json.Marshal(w)
	return a, err
}

func (e engine) play(r *request) (*reply, error) {
	var c card
	if err := json.Unmarshal(r.Card, &c); err != nil {
		return nil, err
	}
	a, err := e.open(c.JavaScript)
	if err != nil {
		return nil, err
	}
	answers := []*answer{a.init(r.Inputs)}
	for _, v := range r.Rounds {
		if answers[len(answers)-1].Failure != "" {
			break
		}
		answers = append(answers, a.event(v, v.Inputs))
	}
	func() {
		defer func() { recover() }() // what failed may not close
		a.close()
	}()
	return &reply{Answers: answers}, nil
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

func (e engine) first(r *request, open func(string) (activation, error)) (*reply, error) {
	return r.sample(func() (func(), error) {
		a, err := r.begin(open)
		if err != nil {
			return nil, err
		}
		return a.close, nil
	})
}

func (e engine) round(r *request) (*reply, error) {
	a, err := r.begin(e.open)
	if err != nil {
		return nil, err
	}
	res, err := r.sample(func() (func(), error) {
		w := a.event(r.Rounds[0], r.Rounds[0].Inputs)
		if w.Failure != "" {
			return nil, fmt.Errorf("the round failed: %s", w.Failure)
		}
		_, err := json.Marshal(w)
		return func() {}, err
	})
	if err == nil {
		a.close()
	}
	return res, err
}

func (e engine) cards(r *request) (*reply, error) {
	run := func(ms int) (n int, err error) {
		var mu sync.Mutex
		var wait sync.WaitGroup
		end := time.Now().Add(time.Duration(ms) * time.Millisecond)
		for range r.Workers {
			wait.Go(func() {
				count := 0
				var failed error
				for failed == nil && (count == 0 || time.Now().Before(end)) {
					var a activation
					if a, failed = r.begin(e.open); failed != nil {
						break
					}
					for _, v := range r.Rounds {
						if w := a.event(v, v.Inputs); w.Failure != "" {
							failed = fmt.Errorf("the round failed: %s", w.Failure)
						} else {
							_, failed = json.Marshal(w)
						}
					}
					a.close()
					count++
				}
				mu.Lock()
				defer mu.Unlock()
				n += count
				if failed != nil {
					err = failed
				}
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

func (e engine) idle(r *request) (*reply, error) {
	var all []activation
	open := func(n int) error {
		for range n {
			a, err := r.begin(e.open)
			if err != nil {
				return err
			}
			all = append(all, a)
		}
		return nil
	}
	if err := open(8); err != nil {
		return nil, err
	}
	before := resident()
	if err := open(r.N); err != nil {
		return nil, err
	}
	after := resident()
	for _, a := range all {
		a.close()
	}
	return &reply{Bytes: (after - before) / int64(r.N)}, nil
}

// resident is the memory that the process has after a collection, in bytes.
func resident() int64 {
	runtime.GC()
	debug.FreeOSMemory()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(data)
	pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize())
}
