package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// unitTime is how long the tests of one folder may take.
const unitTime = 9 * time.Minute

// event is one line of go test -json.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// outcome is what became of one test or subtest.
type outcome struct {
	action   string // run, pass, fail or skip
	output   []string
	children bool
}

// unitResult is what a call of go test gave.
type unitResult struct {
	tests map[string]*outcome
	// general is output that belongs to no test: of the compiler, say.
	general []string
	// err is why the call itself failed.
	err error
}

// beside are the folders whose tests spend their time in a browser, or in code that has no time limit. Their tests run beside the
// others.
var beside = map[string]bool{"conformance": true, "patches": true, "sanitize": true, "viewer": true}

// run runs the tests in two rows of folders, which is what two cores take. In each it is one folder after another: rounds have
// 250 ms of wall time, which tests side by side would take from one another.
func (p *plan) run(ctx context.Context, progress io.Writer) map[*unit]*unitResult {
	var mu sync.Mutex // guards what follows, and progress
	ran := map[*unit]*unitResult{}
	var rows sync.WaitGroup
	for _, second := range []bool{false, true} {
		rows.Go(func() {
			for _, u := range p.units {
				if beside[u.folder] != second {
					continue
				}
				start := time.Now()
				r := p.runUnit(ctx, u)
				mu.Lock()
				ran[u] = r
				fmt.Fprintf(progress, "%d of %d: %s, %d tests, %.1f s\n", len(ran), len(p.units), u.path(), len(u.tests), time.Since(start).Seconds())
				mu.Unlock()
			}
		})
	}
	rows.Wait()
	return ran
}

func (p *plan) runUnit(ctx context.Context, u *unit) *unitResult {
	// Tests for a browser are under a build tag, which changes nothing for other packages.
	cmd := exec.CommandContext(ctx, "go", "test", "-json", "-count", "1", "-timeout", unitTime.String(), "-tags", "browser", "-run", u.expression(), u.path())
	cmd.Dir = p.top
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return &unitResult{err: err}
	}
	r := readEvents(stdout)
	if err := cmd.Wait(); err != nil {
		r.err = err
	}
	if s := strings.TrimSpace(stderr.String()); s != "" {
		r.general = append(r.general, s+"\n")
	}
	return r
}

// readEvents reads what go test -json prints.
func readEvents(in io.Reader) *unitResult {
	r := &unitResult{tests: map[string]*outcome{}}
	b := bufio.NewReader(in)
	for {
		line, err := b.ReadBytes('\n')
		var e event
		switch {
		case len(bytes.TrimSpace(line)) == 0:
		case json.Unmarshal(line, &e) != nil:
			r.general = append(r.general, string(line))
		case e.Test == "":
			if e.Output != "" {
				r.general = append(r.general, e.Output)
			}
		default:
			r.take(e)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				r.err = err
			}
			return r
		}
	}
}

func (r *unitResult) take(e event) {
	o := r.tests[e.Test]
	if o == nil {
		o = &outcome{action: "run"}
		r.tests[e.Test] = o
		for name := e.Test; strings.Contains(name, "/"); {
			name = name[:strings.LastIndexByte(name, '/')]
			if up := r.tests[name]; up != nil {
				up.children = true
			}
		}
	}
	switch e.Action {
	case "pass", "fail", "skip":
		o.action = e.Action
	case "output":
		o.output = append(o.output, e.Output)
	}
}

// verdict is what became of one test with all its subtests.
type verdict struct {
	attacks int
	faults  []string // why it counts as failed
	excused []string // names of what was skipped for a reason that the row says
	ran     bool     // whether anything in it passed or failed
}

// attacksLine is how a test says what it tried; rapid says it in words of its own.
var attacksLine = regexp.MustCompile(`(?:\battacks: |\[rapid\] OK, passed )([0-9]{1,9})\b`)

// verdict judges a test by name; excuses are the row's.
func (r *unitResult) verdict(u *unit, name string, excuses []string) (v verdict) {
	top := r.tests[name]
	switch {
	case top == nil:
		v.faults = append(v.faults, name+" did not run: it is not in this build, or a test before it ended the process")
		return v
	case u.subtest != "" && !top.children && top.action == "pass":
		v.faults = append(v.faults, name+" has no subtest "+u.subtest)
		return v
	}
	logged, leaves := -1, 0
	for n, o := range r.tests {
		if n != name && !strings.HasPrefix(n, name+"/") {
			continue
		}
		for _, line := range o.output {
			if m := attacksLine.FindStringSubmatch(line); m != nil {
				count, _ := strconv.Atoi(m[1])
				logged = max(logged, 0) + count
			}
		}
		switch {
		case o.action == "pass" && !o.children:
			v.ran = true
			leaves++
		case o.action == "pass":
		case o.action == "skip" && excused(o.output, excuses):
			v.excused = append(v.excused, n)
		case o.action == "skip":
			v.faults = append(v.faults, n+" was skipped for a reason that the row does not say")
		case o.action == "fail":
			v.ran = true
			if !o.children || n == name {
				v.faults = append(v.faults, n+" failed")
			}
		default:
			v.faults = append(v.faults, n+" did not end")
		}
	}
	v.attacks = leaves
	if logged >= 0 {
		v.attacks = logged
	}
	return v
}

func excused(output, excuses []string) bool {
	for _, e := range excuses {
		if strings.Contains(strings.Join(output, ""), e) {
			return true
		}
	}
	return false
}
