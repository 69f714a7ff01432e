package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

// request is what a peer is asked, one JSON text a line.
//
//	hello   gives Version
//	play    initializes the card, then does Rounds in turn until one fails: Answers
//	first   from the card's text to its first answer's, again and again: Samples in nanoseconds, closing left out
//	seen    likewise, with whatever the peer keeps of a document that it has seen
//	round   the first of Rounds, again and again, in one activation: Samples
//	cards   initialization, all Rounds, end, on Workers threads: Count in NS nanoseconds
//	idle    what each of N cards at rest takes of the process's resident memory: Bytes
//
// first, seen, round and cards run for WarmMS unmeasured, then for MS; no more than N samples are given.
type request struct {
	Op      string          `json:"op"`
	Card    json.RawMessage `json:"card,omitempty"`
	Inputs  json.RawMessage `json:"inputs,omitempty"` // id → {value, checked}
	Rounds  []roundRequest  `json:"rounds"`
	MS      int             `json:"ms,omitempty"`
	WarmMS  int             `json:"warm_ms,omitempty"`
	N       int             `json:"n,omitempty"`
	Workers int             `json:"workers,omitempty"`
}

// roundRequest is an event with the inputs that its handler is to see.
type roundRequest struct {
	ID     string          `json:"id"`
	Type   string          `json:"type"`
	Inputs json.RawMessage `json:"inputs"`
}

// reply is what a peer answers; Error is for a request that could not be done.
type reply struct {
	Error   string   `json:"error,omitempty"`
	Version string   `json:"version,omitempty"`
	Answers []answer `json:"answers,omitempty"`
	Samples []int64  `json:"samples,omitempty"`
	Count   int      `json:"count,omitempty"`
	NS      int64    `json:"ns,omitempty"`
	Bytes   int64    `json:"bytes,omitempty"`
}

// answer is what a round gave: its patches, the handlers that are new, and why it failed, if it did.
type answer struct {
	Patches  []patch     `json:"patches"`
	Handlers [][2]string `json:"handlers"`
	Failure  string      `json:"failure"`
	Random   bool        `json:"random,omitempty"` // of ours: it drew random numbers or looked at the clock
}

type patch struct {
	Op    string `json:"op"`
	ID    string `json:"id"`
	Value string `json:"value"`
}

// peer is one way to run cards, as a process that is started when it is asked something.
type peer struct {
	Name    string
	Command []string
	Dir     string
	// Idle is how many cards at rest are opened to tell what one takes: more where one takes little.
	Idle int

	mu      sync.Mutex
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// errSilent and errEnded are the errors of a peer that gave no answer in time, or none any more.
var (
	errSilent = errors.New("no answer in time")
	errEnded  = errors.New("the process ended")
)

// ask sends a request and waits for the reply. A peer that gives none in that time is killed, and started anew for the next one.
func (p *peer) ask(r request, patience time.Duration) (reply, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.start(); err != nil {
		return reply{}, err
	}
	if r.Rounds == nil {
		r.Rounds = []roundRequest{}
	}
	line, err := json.Marshal(r)
	if err != nil {
		return reply{}, err
	}
	var silent atomic.Bool
	process := p.process.Process
	timer := time.AfterFunc(patience, func() {
		silent.Store(true)
		process.Kill()
	})
	_, err = p.in.Write(append(line, '\n'))
	var text []byte
	if err == nil {
		text, err = p.out.ReadBytes('\n')
	}
	timer.Stop()
	if err != nil {
		p.end()
		if silent.Load() {
			return reply{}, fmt.Errorf("%s: %w", p.Name, errSilent)
		}
		return reply{}, fmt.Errorf("%s: %w", p.Name, errEnded)
	}
	var res reply
	if err := json.Unmarshal(text, &res); err != nil {
		return reply{}, fmt.Errorf("%s: read reply: %w", p.Name, err)
	}
	if res.Error != "" {
		return res, fmt.Errorf("%s: %s", p.Name, res.Error)
	}
	return res, nil
}

func (p *peer) start() error {
	if p.process != nil {
		return nil
	}
	c := exec.Command(p.Command[0], p.Command[1:]...)
	c.Dir = p.Dir
	in, err := c.StdinPipe()
	if err != nil {
		return err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	p.process, p.in, p.out = c, in, bufio.NewReaderSize(out, 1<<20)
	return nil
}

// stop ends the process, if there is one.
func (p *peer) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
}

func (p *peer) end() {
	if p.process == nil {
		return
	}
	p.in.Close()
	p.process.Process.Kill()
	p.process.Wait()
	p.process = nil
}
