package main

import (
	"errors"
	"strings"
	"time"

	"example.com/cardrun/limits"
)

// trial is a card that tries to pass one budget or to reach what it must not, and the failures that mean it was held. An answer
// whose first text patch says "held" is held as well: the card saw for itself.
type trial struct {
	budget string
	name   string
	script string
	held   []string
	// within is how long the whole may take.
	within time.Duration
}

// late is how long a round of 250 ms may take until its answer is there, start of the activation and a busy machine included.
const late = 700 * time.Millisecond

// Where memory that is touched first is slow to come, the time of a round ends before its heap is full: the heap held all the same.
var trials = []trial{
	{"time", "an empty loop", "for (;;);", []string{"timeout"}, late},
	{"time", "an empty loop, caught", "for (;;) { try { for (;;); } catch {} }", []string{"timeout"}, late},
	{"time", "a regular expression that backtracks for ever", "/^(a+)+$/.test('a'.repeat(40) + 'b'); ui.text('out', 'held')", []string{"timeout"}, late},
	{"time", "one built-in over 2⁵³ elements", "Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 1)", []string{"timeout"}, late},
	{"time", "slices of a long string", "const s = 'x'.repeat(4e6); for (;;) s.slice(1)", []string{"timeout"}, late},
	{"heap", "strings that stay, 200 MB", "const k = []; for (let i = 0; i < 50000; i++) k.push('x'.repeat(4096) + i); ui.text('out', String(k.length))", []string{"memory", "exception", "timeout"}, 2 * time.Second},
	{"heap", "a string doubled to 256 MiB", "let s = 'x'; for (let i = 0; i < 28; i++) s += s; ui.text('out', String(s.length) + s[5e6])", []string{"memory", "exception", "timeout"}, 2 * time.Second},
	{"heap", "buffers of 128 MiB", "const k = []; for (let i = 0; i < 128; i++) k.push(new Uint8Array(1 << 20).fill(1)); ui.text('out', String(k.length))", []string{"memory", "exception", "timeout"}, 2 * time.Second},
	{"heap", "the same, caught", "const k = []; try { for (let i = 0; i < 128; i++) k.push(new Uint8Array(1 << 20).fill(1)); } catch {} k.length = 0; ui.text('out', 'went on')", []string{"memory", "timeout"}, 2 * time.Second},
	{"stack", "recursion without end", "(function f() { return 1 + f(); })()", []string{"exception"}, late},
	{"stack", "recursion through a built-in", "(function f() { return [1].map(f); })()", []string{"exception"}, late},
	{"stack", "a chain of bound functions", "let f = () => 1; for (let i = 0; i < 50000; i++) f = f.bind(null); f(); ui.text('out', 'held')", []string{"exception", "memory", "timeout"}, late},
	{"stack", "JSON as deep as it gets", "let o = []; for (let i = 0; i < 100000; i++) o = [o]; JSON.stringify(o); ui.text('out', 'held')", []string{"exception", "memory", "timeout"}, late},
	{"jobs", "a job that starts the next, for ever", "(function f() { Promise.resolve().then(f); })()", []string{"microtasks"}, late},
	{"jobs", "300 jobs", "for (let i = 0; i < 300; i++) Promise.resolve().then(() => 0)", []string{"microtasks"}, late},
	{"patches", "65 patches, caught", "for (let i = 0; i < 65; i++) try { ui.text('out', 'x') } catch {}", []string{"patches"}, late},
	{"batch", "a batch of 20,000 characters, caught", "try { ui.text('out', 'x'.repeat(20000)) } catch {}", []string{"input_limit"}, late},
	{"isolation", "what an earlier card left", "const seen = globalThis.left; globalThis.left = 1; Object.prototype.left2 = 1; ui.text('out', seen === undefined ? 'held' : 'seen')", nil, late},
	{"reach", "files, timers, the process, the host's functions", "const names = ['require', 'process', 'std', 'os', 'bjson', 'fetch', 'setTimeout', 'setInterval', 'document', 'window', 'WebAssembly', 'print', 'console', 'performance', 'scriptArgs', 'gc', 'Deno', 'Bun']; const there = names.filter((n) => typeof globalThis[n] !== 'undefined'); ui.text('out', there.length === 0 ? 'held' : there.join(' '))", nil, late},
	{"reach", "the host, through the constructor of what it gives", "let out = 'held'; try { const p = ui.text.constructor('return typeof process !== \"undefined\" && process.pid')(); if (p) out = 'the process: ' + typeof p } catch {} ui.text('out', out)", nil, late},
	{"reach", "a module of the engine", "import('qjs:os').then(() => ui.text('out', 'loaded'), () => ui.text('out', 'held'))", []string{"exception", "script_syntax"}, late},
	{"text", "a NUL in a text", "ui.text('out', ('a\\0b').length === 3 ? 'a\\0b' : '')", nil, late},
}

// verdict is what became of a trial: "yes", or what happened.
func (t trial) verdict(p *peer) string {
	s, err := kernel{name: "trial", body: ""}.subject()
	if err != nil {
		return err.Error()
	}
	s = s.with(t.script)
	if _, err := p.ask(s.with("").request("play"), 10*time.Second); err != nil { // so that a start is not counted
		return err.Error()
	}
	if t.budget == "isolation" {
		if _, err := p.ask(s.request("play"), 10*time.Second); err != nil {
			return err.Error()
		}
	}
	start := time.Now()
	r, err := p.ask(s.request("play"), 5*time.Second)
	took := time.Since(start)
	switch {
	case errors.Is(err, errSilent):
		return "hung: killed after 5 s"
	case errors.Is(err, errEnded):
		return "the whole process ended"
	case err != nil:
		return "error: " + cut(strings.TrimPrefix(err.Error(), p.Name+": "))
	case len(r.Answers) == 0:
		return "no answer"
	}
	a := r.Answers[0]
	value := ""
	if len(a.Patches) > 0 {
		value = a.Patches[0].Value
	}
	if t.budget == "text" {
		if value == "a\x00b" {
			return held
		}
		return "cut to " + cut(value)
	}
	ok := a.Failure == "" && value == "held"
	for _, f := range t.held {
		ok = ok || a.Failure == f
	}
	switch {
	case ok && a.Failure == string(limits.Timeout) && t.budget != "time":
		return byTime
	case ok && took > t.within:
		return "held, after " + took.Round(10*time.Millisecond).String()
	case ok:
		return held
	case strings.HasPrefix(a.Failure, "broken"):
		return cut(a.Failure)
	case a.Failure != "":
		return "ended by another: " + cut(a.Failure)
	case value != "":
		return "not held: " + cut(value)
	}
	return "not held"
}

const (
	held   = "yes"
	byTime = "ended by time" // before the budget in question was used up, or because there is none
)

func cut(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}

// with is the subject with another script.
func (s subject) with(script string) subject {
	s.Card = withScript(s.Card, script)
	return s
}
