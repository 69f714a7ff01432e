package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/elastic/go-seccomp-bpf"

	"example.com/cardrun/limits"
)

func reseal(frozen []byte) {
	sum := sha256.Sum256(frozen[frozenNow:])
	copy(frozen[frozenChecksum:], sum[:])
}

// self is the command of a worker process that plays a role of workerRoles.
func self(role string) []string { return []string{"/proc/self/exe", "role:" + role} }

// workerRole is what this process is to be when a test has started it as a worker of its own kind.
func workerRole() func() int {
	if os.Getenv(workerVariable) == "" || len(os.Args) < 2 {
		return nil
	}
	role, ok := strings.CutPrefix(os.Args[1], "role:")
	if !ok {
		return nil
	}
	name, argument, _ := strings.Cut(role, " ")
	return func() int { return workerRoles[name](argument) }
}

var workerRoles = map[string]func(string) int{
	// attack makes the forbidden call that a script names.
	"attack": func(string) int {
		return serveWorker(workerHooks{asked: func(q question) bool {
			for _, c := range forbidden {
				if q.Script == "// attack: "+c.name {
					c.do()
				}
			}
			return false
		}})
	},
	"sleep": func(string) int {
		return serveWorker(workerHooks{asked: func(question) bool { time.Sleep(time.Hour); return true }})
	},
	"tired": func(string) int { // it sleeps when it is to close a guest
		return serveWorker(workerHooks{closing: func() { time.Sleep(time.Hour) }})
	},
	"brief": func(string) int { // it serves, and ends soon
		return serveWorker(workerHooks{locked: func() { time.AfterFunc(20*time.Millisecond, func() { os.Exit(3) }) }})
	},
	"open":   func(how string) int { return serveWorker(workerHooks{lock: badLocks[how]}) },
	"liar":   liar,
	"silent": func(string) int { time.Sleep(time.Minute); return 0 },
	"lazy":   func(string) int { say(frameBanner, workerBanner); time.Sleep(time.Minute); return 0 },
	"says": func(text string) int {
		_, _ = syscall.Write(workerDescriptor, []byte(text))
		return 0
	},
	"failed": func(how string) int {
		if how == "unread" { // as one that has ended before the setup comes
			_ = syscall.Shutdown(workerDescriptor, syscall.SHUT_RD)
		}
		say(frameBanner, workerBanner)
		say(frameFailed, "\x1b[31mno\u202e\nline\xff")
		return 0
	},
	"other": func(string) int { // an engine of another identity each time
		say(frameBanner, workerBanner)
		if err := descriptor(workerDescriptor).lockDown(); err != nil {
			return 1
		}
		say(frameReady, string(appendField(binary.LittleEndian.AppendUint64(make([]byte, 24), uint64(os.Getpid())), "")))
		_, _ = io.Copy(io.Discard, descriptor(workerDescriptor))
		return 0
	},
	"program": func(string) int { // it has workers, one of which runs a guest, and says which they are
		_ = os.Unsetenv(workerVariable)
		e, err := New(context.Background(), Options{Prelude: plainPrelude, Isolation: IsolationProcess, Workers: 2, Budget: time.Hour})
		if err != nil {
			fmt.Println(err)
			return 1
		}
		g, err := e.Guest(Activation{})
		if err != nil {
			fmt.Println(err)
			return 1
		}
		go func() { _, _ = g.Run(context.Background(), Round{Input: []byte("0"), Script: "for (;;);"}) }()
		for ; ; time.Sleep(time.Millisecond) {
			e.pool.mu.Lock()
			ready := len(e.pool.all) == 2*2 && g.away.p != nil
			e.pool.mu.Unlock()
			if ready {
				break
			}
		}
		for _, p := range processes(e) {
			fmt.Print(p.cmd.Process.Pid, " ")
		}
		fmt.Println()
		time.Sleep(time.Hour)
		return 0
	},
	"user": func(string) int { // a program that knows nothing of workers
		_, err := New(context.Background(), Options{Prelude: plainPrelude, Isolation: IsolationAuto})
		fmt.Fprintln(os.Stderr, err)
		if err == nil {
			time.Sleep(time.Minute)
		}
		return 0
	},
}

func say(kind byte, body string) {
	_, _ = descriptor(workerDescriptor).Write(seal(append(appendFrame(nil, kind), body...)))
}

// TestProcessMayNothing makes calls inside a worker that only code which has broken out of WebAssembly could make: each ends that
// process, costs its round, and nothing else.
func TestProcessMayNothing(t *testing.T) {
	e := apart(t, Options{Workers: 1, WorkerCommand: self("attack")})
	calls := forbidden
	if testing.Short() {
		calls = calls[:8]
	}
	for _, c := range calls {
		g := newGuest(t, e, Activation{})
		_, err := g.Run(context.Background(), Round{Input: []byte("0"), Script: "// attack: " + c.name, MaxOutput: 100})
		if limits.CodeOf(err) != limits.Engine || !strings.Contains(errorTree(err), "bad system call") {
			t.Errorf("%s: %v", c.name, errorTree(err))
		}
		g.Close()
		expectWhole(t, e)
		expect(t, e, "out = 'next'", "next")
	}
	if r := e.Replaced(); r.Processes != int64(len(calls)) {
		t.Errorf("%d attacks, replaced: %+v", len(calls), r)
	}
	t.Logf("attacks: %d", len(calls))
}

// errorTree is what an error says, with what lies below.
func errorTree(err error) string {
	var out []string
	for ; err != nil; err = errors.Unwrap(err) {
		out = append(out, err.Error())
	}
	return strings.Join(out, " < ")
}

// TestProcessHasNothing looks at a worker process from outside.
func TestProcessHasNothing(t *testing.T) {
	t.Setenv("CARDRUN_SECRET", "not for workers")
	leak, err := syscall.Open("/proc/self/status", syscall.O_RDONLY, 0) // without close-on-exec, as a careless program opens it
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(leak)
	e := apart(t, Options{Workers: 1})
	g := newGuest(t, e, Activation{})
	if _, err := g.Run(context.Background(), Round{Input: []byte("0"), Script: "f = () => 0", MaxOutput: 99}); err != nil {
		t.Fatal(err)
	}
	dir := fmt.Sprintf("/proc/%d/", processes(e)[0].cmd.Process.Pid)
	read := func(name string) string {
		b, err := os.ReadFile(dir + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if env := read("environ"); env != workerVariable+"="+workerVersion+"\x00" {
		t.Errorf("environment: %q", env)
	}
	if cwd, err := os.Readlink(dir + "cwd"); cwd != "/" {
		t.Errorf("working directory: %q, %v", cwd, err)
	}
	tasks, err := os.ReadDir(dir + "task")
	if err != nil || len(tasks) == 0 {
		t.Fatal(err)
	}
	for _, task := range tasks {
		status := read("task/" + task.Name() + "/status")
		if !strings.Contains(status, "NoNewPrivs:\t1\n") || !strings.Contains(status, "Seccomp:\t2\n") {
			t.Errorf("thread %s:\n%s", task.Name(), status)
		}
	}
	fds, err := os.ReadDir(dir + "fd")
	if err != nil {
		t.Fatal(err)
	}
	var open []string
	for _, fd := range fds {
		what, err := os.Readlink(dir + "fd/" + fd.Name())
		if err != nil {
			t.Fatal(err)
		}
		kind, _, _ := strings.Cut(what, ":[")
		if kind == "anon_inode" {
			kind = what
		}
		open = append(open, kind)
	}
	slices.Sort(open)
	own := fmt.Sprintf("/proc/%d/pagemap", processes(e)[0].cmd.Process.Pid)
	if want := []string{own, "anon_inode:[eventfd]", "anon_inode:[eventpoll]", "socket"}; !slices.Equal(open, want) {
		t.Errorf("open: %q, want %q", open, want)
	}
	for _, limit := range []string{"core file size", "file size", "locked memory", "msgqueue size"} {
		found := false
		for line := range strings.Lines(read("limits")) {
			if f := strings.Fields(line); strings.HasPrefix(line, "Max "+limit+"  ") {
				found = true
				if at := len(strings.Fields("Max " + limit)); f[at] != "0" || f[at+1] != "0" {
					t.Error(line)
				}
			}
		}
		if !found {
			t.Errorf("no limit on %s", limit)
		}
	}
	for line := range strings.Lines(read("maps")) { // memory is code, or it may be written, and cannot become the other
		if f := strings.Fields(line); len(f) > 1 && strings.Contains(f[1], "w") && strings.Contains(f[1], "x") {
			t.Error(line)
		}
	}
}

// TestProcessKilled kills worker processes while their guest runs, while it rests, and while they are free: the round or the guest
// is lost, others live on, and the pool is whole again.
func TestProcessKilled(t *testing.T) {
	e := apart(t, Options{Workers: 2})
	ctx := context.Background()
	begin := Round{Input: []byte("0"), Script: "let n = 0; f = (x) => { n += x; out = n }", MaxOutput: 99}
	next := Round{Input: []byte("1"), MaxOutput: 99}
	kills := 0
	for range 4 {
		other := newGuest(t, e, Activation{})
		if _, err := other.Run(ctx, begin); err != nil {
			t.Fatal(err)
		}
		victim := newGuest(t, e, Activation{})
		if _, err := victim.Run(ctx, begin); err != nil {
			t.Fatal(err)
		}
		kill := func() { kills++; _ = victim.away.p.cmd.Process.Kill() }

		kill() // at rest
		if _, err := victim.Run(ctx, next); limits.CodeOf(err) != limits.Engine {
			t.Errorf("after its process was killed: %v", err)
		}
		if _, err := victim.Run(ctx, next); !errors.Is(err, errEnded) {
			t.Errorf("after that: %v", err)
		}
		victim.Close()

		victim = newGuest(t, e, Activation{})
		time.AfterFunc(20*time.Millisecond, func() { // in its round
			e.pool.mu.Lock()
			defer e.pool.mu.Unlock()
			kill()
		})
		start := time.Now()
		if _, err := victim.Run(ctx, Round{Input: []byte("0"), Script: "for (;;);", MaxOutput: 9}); limits.CodeOf(err) != limits.Engine || time.Since(start) > 5*time.Second {
			t.Errorf("killed in its round: %v after %v", err, time.Since(start))
		}
		victim.Close()
		if res, err := other.Run(ctx, next); err != nil || string(res.Output) != ">1" {
			t.Errorf("another guest: %q, %v", res.Output, err)
		}
		expectWhole(t, e)

		e.pool.mu.Lock() // those that are free; whoever asks one at that very moment may have it end under his round
		free := slices.Clone(e.pool.free)
		e.pool.mu.Unlock()
		for _, p := range free {
			kills++
			_ = p.cmd.Process.Kill()
		}
		if _, _, err := run(t, e, Activation{}, "out = 1"); err != nil && limits.CodeOf(err) != limits.Engine {
			t.Errorf("while processes were killed: %v", err)
		}
		for _, p := range free {
			<-p.ended
		}
		expect(t, e, "out = 'next'", "next")
		other.Close()
		expectWhole(t, e)
	}
	if r := e.Replaced(); r.Processes != int64(kills) {
		t.Errorf("%d kills, replaced: %+v", kills, r)
	}
	t.Logf("attacks: %d", kills)
}

// TestProcessesThatEndUnasked has worker processes that end soon after they began: they are not replaced as fast as they can be
// started. Those that end when they were asked something are.
func TestProcessesThatEndUnasked(t *testing.T) {
	e := apart(t, Options{Workers: 1, WorkerCommand: self("brief")})
	time.Sleep(2 * time.Second)
	// With pauses of 0.1, 0.2, 0.4 and 0.8 s there have been five; without, as many as 0.15 s of a core and 20 ms make, ten or more.
	if r := e.Replaced(); r.Processes < 1 || r.Processes > 5 {
		t.Errorf("in two seconds, replaced: %+v", r)
	}
	// Whoever waits gets the next one, and what it does then is his affair.
	if _, _, err := run(t, e, Activation{}, "for (;;);"); limits.CodeOf(err) != limits.Engine || !strings.Contains(errorTree(err), "exit status 3") {
		t.Error(errorTree(err))
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		e.pool.mu.Lock()
		pause := e.pool.pause
		e.pool.mu.Unlock()
		if pause <= retry { // or one more has ended already
			break
		}
		if time.Now().After(end) {
			t.Fatalf("after one that was asked, the next starts after %v", pause)
		}
	}
}

// TestProcessesEndWithTheirProgram kills a program that can do nothing more about it: its worker processes end, be they busy, free or
// stopped.
func TestProcessesEndWithTheirProgram(t *testing.T) {
	program := exec.Command("/proc/self/exe", "role:program")
	program.Env = append(os.Environ(), workerVariable+"="+workerVersion)
	out, err := program.StdoutPipe()
	if err == nil {
		err = program.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	workers := strings.Fields(line)
	if err != nil || len(workers) != 4 {
		t.Errorf("%q, %v", line, err)
	} else if pid, err := strconv.Atoi(workers[0]); err != nil || syscall.Kill(pid, syscall.SIGSTOP) != nil {
		t.Errorf("stop %s: %v", workers[0], err)
	}
	if err := program.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = program.Wait() // it says that it was killed
	for end := time.Now().Add(time.Minute); len(workers) > 0; {
		stat, err := os.ReadFile("/proc/" + workers[0] + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") { // ended, and waited for or not by whoever has it now
			workers = workers[1:]
			continue
		}
		if time.Now().After(end) {
			t.Fatalf("it lives on: %s", stat)
		}
		time.Sleep(time.Millisecond)
	}
	t.Log("attacks: 4")
}

// TestStartThatFailedBefore kills all processes, and the next one while it starts: a guest that comes then waits for the one after that, and
// one that was frozen meanwhile goes on. One whose process ended when it was to be frozen says so in its next round.
func TestStartThatFailedBefore(t *testing.T) {
	e := apart(t, Options{Workers: 1})
	g := newGuest(t, e, Activation{})
	r := Round{Input: []byte("1"), MaxOutput: 99}
	begin := Round{Input: []byte("0"), Script: "let n = 0; f = (x) => { n += x; out = n }", MaxOutput: 99}
	if _, err := g.Run(context.Background(), begin); err != nil {
		t.Fatal(err)
	}
	frozen, err := g.Freeze(context.Background(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	g.Close()
	if g, err = e.Thaw(frozen); err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for _, p := range processes(e) {
		p.kill()
		<-p.ended
	}
	e.pool.mu.Lock() // as a start that was killed leaves it
	e.pool.failure = fmt.Errorf("%w: it was killed", errProcess)
	e.pool.failures++
	e.pool.mu.Unlock()
	if res, err := g.Run(context.Background(), r); err != nil || string(res.Output) != ">1" {
		t.Errorf("%q, %s", res.Output, errorTree(err))
	}
	p := g.away.p
	p.kill()
	<-p.ended
	if _, err := g.Freeze(context.Background(), 1<<20); limits.CodeOf(err) != limits.Engine {
		t.Error(err)
	}
	if _, err := g.Run(context.Background(), r); limits.CodeOf(err) != limits.Engine || !strings.Contains(errorTree(err), "the worker process that ran the card failed") {
		t.Errorf("a round after that: %s", errorTree(err))
	}
	if _, err := g.Run(context.Background(), r); !errors.Is(err, errEnded) {
		t.Errorf("and one more: %s", errorTree(err))
	}
	expectWhole(t, e)
}

// badLocks are ways to lock a worker down that leave it open.
var badLocks = map[string]func(descriptor) error{
	"not at all": func(descriptor) error { return nil },
	// What the kernel would do if the flag that spreads the filter were lost.
	"one thread": func(descriptor) error {
		return seccomp.LoadFilter(seccomp.Filter{NoNewPrivs: true, Policy: policy(os.Getpid())})
	},
	// A thread with a filter of its own keeps the kernel from putting another one on any; the library takes its number for success.
	"a thread that resists": func(d descriptor) error {
		done := make(chan error)
		go func() {
			runtime.LockOSThread()
			done <- seccomp.LoadFilter(seccomp.Filter{NoNewPrivs: true, Policy: seccomp.Policy{
				DefaultAction: seccomp.ActionAllow, Syscalls: []seccomp.SyscallGroup{{Action: seccomp.ActionErrno, Names: []string{"reboot"}}}}})
			select {}
		}()
		return errors.Join(<-done, d.lockDown())
	},
	// Root may put a filter on without giving privileges up.
	"privileges": func(descriptor) error {
		return seccomp.LoadFilter(seccomp.Filter{Flag: seccomp.FilterFlagTSync, Policy: policy(os.Getpid())})
	},
}

// TestProcessStarts starts what is no worker, or a bad one.
func TestProcessStarts(t *testing.T) {
	before, open := children(t), descriptors()
	for _, c := range []struct {
		command []string
		want    string
	}{
		{[]string{"/nonexistent/program"}, "no such file"},
		{[]string{"/bin/true"}, "main of the program must call ServeWorker"},
		{[]string{"/bin/false"}, "exit status 1"},
		{self("user"), "main of the program must call ServeWorker"},
		{self("says hello, here is a program that says something else altogether"), "main of the program must call ServeWorker"},
		{self("says \xff\xff\xff\xffB"), "main of the program must call ServeWorker"},
		{self("says "), "main of the program must call ServeWorker"},
		{self("failed"), "?[31mno"},
		{self("failed unread"), "?[31mno"},
		{self("open not at all"), "has no seccomp filter"},
		{self("open one thread"), "has no seccomp filter"},
		{self("open a thread that resists"), "has no seccomp filter"},
		{self("open privileges"), "may get new privileges"},
		{self("other"), ""},
	} {
		e, err := New(context.Background(), Options{Prelude: plainPrelude, Isolation: IsolationProcess, WorkerCommand: c.command, Workers: 1})
		if c.want == "" {
			if err != nil {
				t.Errorf("%q: %v", c.command, err)
				continue
			}
			// A second process has another engine, and is not taken; there being no other, a guest gets an error once that was tried.
			p := processes(e)[0]
			_ = p.cmd.Process.Kill()
			<-p.ended
			g := newGuest(t, e, Activation{})
			if _, err := g.Run(context.Background(), Round{Input: []byte("0"), MaxOutput: 9}); limits.CodeOf(err) != limits.Engine || !strings.Contains(errorTree(err), "no worker process can be started < worker process: it has another engine") {
				t.Errorf("%q: %v", c.command, errorTree(err))
			}
			g.Close()
			_ = e.Close()
			continue
		}
		if err != nil && strings.Contains(err.Error(), "permission denied") {
			t.Logf("%q: only root may do this: %v", c.command, err)
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("%q: %v, want %q", c.command, err, c.want)
		}
		e, err = New(context.Background(), Options{Prelude: plainPrelude, Isolation: IsolationAuto, WorkerCommand: c.command, Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		if n, why := e.Isolation(); n != IsolationNone || why == nil {
			t.Errorf("%q: %s, %v", c.command, n, why)
		}
		_ = e.Close()
	}
	for _, role := range []string{"silent", "lazy"} {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		if _, err := New(ctx, Options{Prelude: plainPrelude, Isolation: IsolationProcess, WorkerCommand: self(role)}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", role, err)
		}
		cancel()
	}
	if _, err := New(context.Background(), Options{Prelude: plainPrelude, Isolation: "firmly"}); err == nil {
		t.Error("an isolation that is none")
	}
	if _, err := New(context.Background(), Options{Prelude: "(", Isolation: IsolationProcess}); err == nil || !strings.Contains(err.Error(), "run prelude") {
		t.Errorf("a prelude that does not parse: %v", err)
	}
	if n, fd := children(t), descriptors(); n != before || fd != open {
		t.Errorf("%d processes and %d descriptors are left", n-before, fd-open)
	}
}

// TestProcessKillMatrix ends every way to spend time or memory in a worker process.
func TestProcessKillMatrix(t *testing.T) {
	e := apart(t, Options{Workers: 1, Budget: 30 * time.Millisecond})
	tried := 0
	for kind, scripts := range attacks(t, "kill.txt") {
		for k, script := range scripts {
			if testing.Short() && k%8 != 0 {
				continue
			}
			tried++
			start := time.Now()
			_, u, err := run(t, e, Activation{}, script)
			if took := time.Since(start); took > 10*time.Second || u.Elapsed > 5*time.Second {
				t.Errorf("%s: %s\nended after %v with %v", kind, script, took, err)
			}
			if !ends(kind, false, err) {
				t.Errorf("%s: %s\nended with %v", kind, script, err)
			}
		}
	}
	expectWhole(t, e)
	e.budget = patience
	expect(t, e, "out = 6 * 7", "42")
	r := e.Replaced()
	if tried < 30 || r.Stopped == 0 {
		t.Errorf("%d attacks, %+v", tried, r)
	}
	t.Logf("attacks: %d; %d instances and %d processes were replaced", tried, r.Stopped, r.Processes)
}

// FuzzAnswer reads what a worker may say.
func FuzzAnswer(f *testing.F) {
	f.Add(seal(answer{usage: Usage{Fuel: 7, HeapBytes: 9}, output: []byte("o")}.append(appendFrame(nil, frameDone))))
	f.Add(seal(answer{ending: endThrown, kind: Syntax, detail: []byte("é")}.append(appendFrame(nil, frameDone))))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 'D'})
	f.Fuzz(func(t *testing.T, b []byte) {
		kind, body, err := readFrame(bufio.NewReader(bytes.NewReader(b)), nil, answerLength(20))
		if err != nil || kind != frameDone {
			return
		}
		a, err := parseAnswer(body, question{Round: Round{MaxOutput: 20}}, time.Second)
		if err == nil && (limits.Length(string(a.output)) > 20 || a.usage.Elapsed > time.Second || a.usage.Elapsed < 0 || a.usage.Fuel < 0) {
			t.Errorf("%q: %+v", b, a)
		}
	})
}
