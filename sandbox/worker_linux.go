package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/elastic/go-seccomp-bpf"
	"golang.org/x/sys/unix"
)

// workerRoom is how much address space a worker may take beyond what it has when it is locked down: a second instance while
// one is replaced, frozen state on its way, and Go's heap, which it takes in steps of 64 MiB.
const workerRoom = 384 << 20

// separable tells why there can be no worker processes, or nil.
func separable() error { return nil }

// confine has the kernel end the process when the thread that starts it ends, and keeps the terminal's signals, Ctrl-C for one,
// from it: they are for the program, which may have something to finish.
func confine(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// lateness is how much later than asked for a worker may wake from a sleep. Nothing in it needs a timer: a round's time is read from the
// clock at each tick. But a thread of Go's runtime sleeps for 20 µs over and over while there is work, and in the end that was most
// of a worker's switches between threads.
const lateness = 10 * time.Millisecond

// lateTimers has the processes that are started from this thread, which is the caller's own, be late by that much.
func lateTimers() (restore func()) {
	before, _, failed := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_GET_TIMERSLACK, 0, 0)
	if failed != 0 || unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(lateness), 0, 0, 0) != nil {
		return func() {} // it costs time, nothing else
	}
	return func() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, before, 0, 0, 0) }
}

// lockedDown tells whether a worker is, from outside, where nothing that it says counts: every one of its threads has a seccomp
// filter and no new privileges. That the worker had the filter put on is not enough. The kernel leaves it off all threads but
// answers with a number and no error where it cannot be put on one of them, and the library does not look at that.
func lockedDown(pid int) error {
	const passes = 100 // a thread that ends meanwhile may have started one that was not on the list
	for range passes {
		again, err := threadsLocked(pid)
		if err != nil || !again {
			return err
		}
	}
	return errors.New("its threads come and go, so that they cannot be looked at")
}

// threadsLocked looks at each thread once; again says that one ended meanwhile.
func threadsLocked(pid int) (again bool, err error) {
	dir := fmt.Sprintf("/proc/%d/task/", pid)
	threads, err := os.ReadDir(dir)
	if err != nil {
		return false, err
	}
	if len(threads) == 0 {
		return false, errors.New("it has no thread")
	}
	for _, thread := range threads {
		status, err := os.ReadFile(dir + thread.Name() + "/status")
		switch {
		case errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH):
			again = true
		case err != nil:
			return false, err
		case !strings.Contains(string(status), "\nSeccomp:\t2\n"):
			return false, fmt.Errorf("thread %s has no seccomp filter", thread.Name())
		case !strings.Contains(string(status), "\nNoNewPrivs:\t1\n"):
			return false, fmt.Errorf("thread %s may get new privileges", thread.Name())
		}
	}
	return again, nil
}

// connection makes the two ends of a connection with a worker. The second is for a process that does nothing else while it
// waits.
func connection() (mine, its *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		return nil, nil, errors.Join(err, unix.Close(fds[0]), unix.Close(fds[1]))
	}
	return os.NewFile(uintptr(fds[0]), "worker"), os.NewFile(uintptr(fds[1]), "program"), nil
}

// writeNow writes what there is room for, and tells how much that was.
func writeNow(c syscall.RawConn, b []byte) (n int) {
	_ = c.Write(func(fd uintptr) bool {
		n, _ = unix.Write(int(fd), b)
		return true
	})
	return max(n, 0)
}

// descriptor is a worker's end of its connection, used without Go's poller.
type descriptor int

// Read reads what there is, and waits when there is nothing.
func (d descriptor) Read(b []byte) (int, error) {
	for {
		n, err := unix.Read(int(d), b)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 0, err
		case n == 0 && len(b) > 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

// Write writes all of b.
func (d descriptor) Write(b []byte) (int, error) {
	for done := 0; done < len(b); {
		n, err := unix.Write(int(d), b[done:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return done, err
		}
		done += n
	}
	return len(b), nil
}

// pending tells whether there is something to read, the connection's end included.
func (d descriptor) pending() bool {
	var b [1]byte
	_, _, err := unix.Recvfrom(int(d), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return err != unix.EAGAIN && err != unix.EINTR
}

// only closes every descriptor but d and those that Go's runtime has for itself.
func (d descriptor) only() error {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, entry := range list {
		fd, err := strconv.Atoi(entry.Name())
		if err != nil || fd == int(d) {
			continue
		}
		// What cannot be looked at is what the list was read with, and closed already.
		if what, err := os.Readlink("/proc/self/fd/" + entry.Name()); err == nil && !strings.HasPrefix(what, "anon_inode:[event") {
			_ = unix.Close(fd)
		}
	}
	return nil
}

// lasting is reserve for a process that soon can open nothing any more: what it opens for each look at its pages is open
// from the start.
func lasting() (func(int) (*reservation, error), error) {
	pages, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return reserve, nil // then guests are frozen by comparing all of their memory
	}
	return func(size int) (*reservation, error) {
		m, err := reserve(size)
		if err == nil {
			m.pages = pages
		}
		return m, err
	}, nil
}

// lockDown takes from the process whatever it does not need to compute and to answer on d. It cannot be undone.
func (d descriptor) lockDown() error {
	time.Sleep(time.Nanosecond) // Go's poller, which timers need, opens what it needs now or never
	runtime.LockOSThread()      // the flag below is a thread's; the filter spreads it
	defer runtime.UnlockOSThread()
	size, err := addressSpace()
	if err != nil {
		return err
	}
	most, err := highest()
	if err != nil {
		return err
	}
	for _, r := range []struct {
		name     string
		resource int
		most     uint64
	}{
		{"address space", unix.RLIMIT_AS, size + workerRoom},
		{"descriptors", unix.RLIMIT_NOFILE, uint64(most + 1)},
		{"file size", unix.RLIMIT_FSIZE, 0},
		{"core", unix.RLIMIT_CORE, 0},
		{"locked memory", unix.RLIMIT_MEMLOCK, 0},
		{"message queues", unix.RLIMIT_MSGQUEUE, 0},
	} {
		if err := unix.Setrlimit(r.resource, &unix.Rlimit{Cur: r.most, Max: r.most}); err != nil {
			return fmt.Errorf("limit %s to %d: %w", r.name, r.most, err)
		}
	}
	return seccomp.LoadFilter(seccomp.Filter{NoNewPrivs: true, Flag: seccomp.FilterFlagTSync, Policy: policy(os.Getpid())})
}

// addressSpace is how many bytes of address space the process has.
func addressSpace() (uint64, error) {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(b), " ")
	pages, err := strconv.ParseUint(first, 10, 64)
	return pages * uint64(os.Getpagesize()), err
}

// highest is the highest descriptor that is open.
func highest() (int, error) {
	list, err := os.ReadDir("/proc/self/fd")
	most := 0
	for _, entry := range list {
		if fd, err := strconv.Atoi(entry.Name()); err == nil {
			most = max(most, fd)
		}
	}
	return most, err
}

// policy is what a worker may still ask of the kernel: memory that cannot be run as code, threads, waiting, the clock, signals to
// itself, and to read and write what is open. Any other call ends the process.
func policy(self int) seccomp.Policy {
	const nameMemory = 0x53564d41 // PR_SET_VMA, with which Go names its memory
	condition := func(argument uint32, op seccomp.Operation, value uint64) seccomp.Condition {
		return seccomp.Condition{Argument: argument, Operation: op, Value: value}
	}
	return seccomp.Policy{
		DefaultAction: seccomp.ActionKillProcess,
		Syscalls: []seccomp.SyscallGroup{
			{Action: seccomp.ActionAllow, Names: []string{
				"read", "write", "recvfrom", "pread64", // on what is open: the connection, and the table of its own pages
				"futex", "sched_yield", "nanosleep", "clock_nanosleep", "clock_gettime", "gettimeofday",
				"epoll_pwait", "epoll_ctl", "restart_syscall",
				"munmap", "madvise", "brk",
				"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "getpid", "gettid",
				"sched_getaffinity", "set_robust_list", "rseq", // what starts a thread
				"getrandom", "exit", "exit_group",
			}},
			{Action: seccomp.ActionAllow, NamesWithCondtions: []seccomp.NameWithConditions{
				{Name: "mmap", Conditions: seccomp.ArgumentConditions{
					condition(2, seccomp.BitsNotSet, unix.PROT_EXEC), condition(3, seccomp.BitsSet, unix.MAP_ANONYMOUS)}},
				{Name: "mprotect", Conditions: seccomp.ArgumentConditions{condition(2, seccomp.BitsNotSet, unix.PROT_EXEC)}},
				{Name: "clone", Conditions: seccomp.ArgumentConditions{condition(0, seccomp.BitsSet, unix.CLONE_THREAD)}},
				{Name: "tgkill", Conditions: seccomp.ArgumentConditions{condition(0, seccomp.Equal, uint64(self))}},
				{Name: "prctl", Conditions: seccomp.ArgumentConditions{condition(0, seccomp.Equal, nameMemory)}},
			}},
			// Its flags are in memory, where no filter can look; C's library does with clone then.
			{Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS), Names: []string{"clone3"}},
		},
	}
}
