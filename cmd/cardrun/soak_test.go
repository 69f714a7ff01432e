//go:build linux

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"example.com/cardrun/conformance"
	"example.com/cardrun/conformance/load"
)

// served is cardrun serve in a process of its own.
type served struct {
	url, metrics string
	pid          int
	stop         func() (exit int) // SIGTERM, and its end

	mu      sync.Mutex
	log     []string
	handled map[string]int // request ids that begin with term-, and their status
}

// serve starts the service on free ports and waits until it is ready.
func serve(t *testing.T, args ...string) *served {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The test binary is the program when it is called by the program's name.
	c := exec.Command(self)
	c.Args = append([]string{"cardrun", "serve", "--addr", "127.0.0.1:0", "--metrics-addr", "127.0.0.1:0"}, args...)
	said, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	s := &served{pid: c.Process.Pid, handled: make(map[string]int)}
	read := make(chan struct{})
	s.stop = sync.OnceValue(func() int {
		_ = c.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(time.Minute, func() { _ = c.Process.Kill() })
		defer kill.Stop()
		<-read       // what Wait would cut off
		_ = c.Wait() // its exit status says more
		return c.ProcessState.ExitCode()
	})
	t.Cleanup(func() { s.stop() })
	ready := make(chan struct{})
	go func() {
		defer close(read)
		lines := bufio.NewScanner(said)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var l struct {
				Msg    string `json:"msg"`
				Addr   string `json:"addr"`
				ID     string `json:"request_id"`
				Status int    `json:"status"`
			}
			_ = json.Unmarshal(lines.Bytes(), &l)
			s.mu.Lock()
			switch l.Msg {
			case "listen":
				s.url = "http://" + l.Addr
			case "metrics":
				s.metrics = "http://" + l.Addr + "/metrics"
			case "ready":
				close(ready)
			case "request":
				if strings.HasPrefix(l.ID, "term-") {
					s.handled[l.ID] = l.Status
				}
			default:
				s.log = append(s.log, lines.Text())
			}
			s.mu.Unlock()
		}
	}()
	select {
	case <-ready:
	case <-time.After(time.Minute):
		t.Fatalf("the service did not become ready: %q", s.log)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.url == "" || s.metrics == "" {
		t.Fatalf("the service does not say where it listens: %q", s.log)
	}
	return s
}

// sample is what the service takes at one time.
type sample struct{ resident, goroutines, threads, files float64 }

func (s *served) sample(t *testing.T) (out sample) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		f := strings.Fields(line)
		switch n := 0.0; {
		case len(f) < 2:
		case f[0] == "VmRSS:":
			n, _ = strconv.ParseFloat(f[1], 64)
			out.resident = n / 1024
		case f[0] == "Threads:":
			out.threads, _ = strconv.ParseFloat(f[1], 64)
		}
	}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.pid))
	if err != nil {
		t.Fatal(err)
	}
	out.files = float64(len(files))
	res, err := http.Get(s.metrics)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(body)) {
		if n, ok := strings.CutPrefix(line, "go_goroutines "); ok {
			out.goroutines, _ = strconv.ParseFloat(strings.TrimSpace(n), 64)
		}
	}
	if out.resident == 0 || out.goroutines == 0 {
		t.Fatalf("no figures of the service: %+v", out)
	}
	return out
}

// middle is the median of one figure of some samples.
func middle(s []sample, figure func(sample) float64) float64 {
	var all []float64
	for _, s := range s {
		all = append(all, figure(s))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// soakFor gives how long a test is to take, which the environment says, or skips it.
func soakFor(t *testing.T, variable string) time.Duration {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		t.Skipf("NOT RUN: set %s to how long it is to take, such as 30s, or use make soak", variable)
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 10*time.Second {
		t.Fatalf("%s=%s: give 10s or more", variable, text)
	}
	return d
}

// soakCases are the project's cases, or for a short soak every eighth, so that each is played more than once.
func soakCases(t *testing.T, short bool) []conformance.Case {
	t.Helper()
	paths := []string{filepath.Join("..", "..", "conformance", "cases")}
	if shared := filepath.Join("..", "..", "..", "shared", "cases"); !short {
		if _, err := os.Stat(shared); err == nil {
			paths = append(paths, shared)
		}
	}
	cases, err := conformance.Load(paths...)
	if err != nil {
		t.Fatal(err)
	}
	if !short {
		return cases
	}
	var some []conformance.Case
	for i := 0; i < len(cases); i += 8 {
		some = append(some, cases[i])
	}
	return some
}

// TestSoak keeps the service at work for as long as CARDRUN_SOAK says, with 5 % hostile cards: every answer is as its case
// expects, memory and goroutines stay what they were, and at the end nothing is cut off.
func TestSoak(t *testing.T) {
	long := soakFor(t, "CARDRUN_SOAK")
	cases := soakCases(t, long < 5*time.Minute)
	// Small caches are full soon, so that what grows afterwards is not they.
	s := serve(t, "--render-cache", "2", "--image-cache", "4")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var samples []sample
	var watch sync.WaitGroup
	watch.Go(func() {
		tick := time.NewTicker(max(long/200, 200*time.Millisecond))
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				samples = append(samples, s.sample(t))
			case <-ctx.Done():
				return
			}
		}
	})
	report, err := load.Run(t.Context(), cases, load.Options{URL: s.url, Mode: load.Mix, Hostile: 0.05, Clients: 16,
		Plan: []load.Phase{{Rate: 20, Duration: long}}})
	cancel()
	watch.Wait()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	_ = report.Print(&text)
	t.Log("\n" + text.String())
	if report.Failed > 0 || report.Answered < int64(long.Seconds()) || int(report.Mismatches) > max(1, int(report.Sent/5000)) {
		t.Error("an answer was wrong or missing")
	}
	expectLate(t, s, cases, report)
	n := len(samples)
	if n < 20 {
		t.Fatalf("%d samples", n)
	}
	early, late := samples[n/4:n/2], samples[3*n/4:]
	for _, f := range []struct {
		name    string
		of      func(sample) float64
		part, s float64 // what it may grow by: a part of itself, and some
	}{
		{"MiB resident", func(s sample) float64 { return s.resident }, 0.10, 8},
		{"goroutines", func(s sample) float64 { return s.goroutines }, 0.05, 16},
		{"threads", func(s sample) float64 { return s.threads }, 0.10, 4},
		{"open files", func(s sample) float64 { return s.files }, 0.10, 16},
	} {
		a, b := middle(early, f.of), middle(late, f.of)
		t.Logf("%s: median %.0f in the second quarter, %.0f in the last", f.name, a, b)
		if b > a*(1+f.part)+f.s {
			t.Errorf("%s grew from %.0f to %.0f", f.name, a, b)
		}
	}
	if exit := s.stop(); exit != 0 {
		t.Errorf("the service ended with exit status %d: %q", exit, s.log)
	}
}

// expectLate has mismatches explained by time: budgets are wall time (D26), and a machine that others use as well may stop
// for longer in the middle of a round. Those cases are played again, by themselves, and must be as they expect.
func expectLate(t *testing.T, s *served, cases []conformance.Case, report *load.Report) {
	t.Helper()
	var again []conformance.Case
	for _, d := range report.Details {
		if !strings.Contains(d.Got, "(timeout in round") && d.Key != "max_ms" {
			t.Errorf("%s: %s: want %s, got %s", d.Case, d.Key, d.Want, d.Got)
		}
		for _, c := range cases {
			if c.Name == d.Case {
				t.Logf("%s: the machine was busy; once more", c.Name)
				again = append(again, c)
			}
		}
	}
	if len(again) == 0 {
		return
	}
	r, err := load.Run(t.Context(), again, load.Options{URL: s.url, Plan: []load.Phase{{Rate: 2, Duration: 5 * time.Second}}})
	if err != nil || !r.Clean() {
		t.Errorf("once more: %+v, %v", r, err)
	}
}

// TestOverload finds out what the service can do, asks ten times as much of it for as long as CARDRUN_OVERLOAD says, and then
// half: it refuses at once, does its work meanwhile, and is itself again within five seconds. The card computes for some
// milliseconds: with one that takes as long as a refusal does, and the callers on the same cores, ten times as much could not
// even be asked.
func TestOverload(t *testing.T) {
	long := soakFor(t, "CARDRUN_OVERLOAD")
	cases, err := conformance.Load(filepath.Join("testdata", "busy.json"))
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, "--render-cache", "0", "--image-cache", "0")
	run := func(plan ...load.Phase) *load.Report {
		t.Helper()
		r, err := load.Run(t.Context(), cases, load.Options{URL: s.url, Mode: load.Renders, Plan: plan, Clients: 16})
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		_ = r.Print(&text)
		t.Log("\n" + text.String())
		if !r.Clean() {
			t.Error("an answer was wrong or missing")
		}
		return r
	}
	peak := run(load.Phase{Duration: 8 * time.Second}).Phases[0].Kinds[0].PerSecond // with the callers beside it
	r := run(load.Phase{Rate: 10 * peak, Duration: long}, load.Phase{Rate: peak / 2, Duration: 5 * time.Second},
		load.Phase{Rate: peak / 2, Duration: 5 * time.Second})
	over, after := r.Phases[0].Kinds[0], r.Phases[2].Kinds[0]
	t.Logf("peak %.0f/s; of ten times as much %.0f/s done, %d refused; five seconds later %d of %d refused", peak, over.PerSecond, over.Refused, after.Refused, after.Sent)
	if over.PerSecond < 0.9*peak {
		t.Errorf("%.0f/s were done, with a peak of %.0f/s", over.PerSecond, peak)
	}
	if over.Refusal == nil || over.Refusal.P99 > 20_000 {
		t.Errorf("refusals took %+v microseconds", over.Refusal)
	}
	if after.Refused > after.Sent/100 || after.Latency == nil || after.Latency.P50 > 100_000 {
		t.Errorf("five seconds later %d of %d are refused, latency %+v microseconds", after.Refused, after.Sent, after.Latency)
	}
}
