package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// threadCPU is the processor time of the calling thread: unlike wall time it says nothing of what else runs on the machine.
func threadCPU() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resident is the memory of the process in bytes, 0 where the system does not say.
func resident() int {
	b, err := os.ReadFile("/proc/self/statm")
	var size, pages int
	if err == nil {
		_, err = fmt.Sscan(string(b), &size, &pages)
	}
	if err != nil {
		return 0
	}
	return pages * os.Getpagesize()
}

// guestMappings counts the guests' memories among the mappings of the process, -1 where the system does not say. They alone are
// writable and mapped without a reserve ("nr"); neighbours may be one mapping to the kernel, so bytes are counted.
func guestMappings() int {
	if raceEnabled { // the race detector's own are of the same kind
		return -1
	}
	b, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return -1
	}
	total, size := 0, 0
	for line := range bytes.Lines(b) {
		var low, high int
		if _, err := fmt.Sscanf(string(line), "%x-%x ", &low, &high); err == nil {
			size = high - low
		}
		if bytes.HasPrefix(line, []byte("VmFlags: rd wr ")) && bytes.Contains(line, []byte(" nr ")) {
			total += size
		}
	}
	return total / (maximumPages * pageSize)
}

// codeMappings counts the mappings that hold machine code of the engine: anonymous and executable.
func codeMappings() int {
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return -1
	}
	n := 0
	for line := range bytes.Lines(b) {
		if f := bytes.Fields(line); len(f) == 5 && bytes.ContainsRune(f[1], 'x') {
			n++
		}
	}
	return n
}

// descriptors counts what the process has open, -1 where the system does not say.
func descriptors() int {
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(d)
}

// withoutDescriptors runs f while the process cannot open anything.
func withoutDescriptors(f func()) error {
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		return err
	}
	none := old
	none.Cur = 0
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		return err
	}
	defer func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &old) }()
	f()
	return nil
}

// tinyDisk mounts a file system of a few pages, which is full at once; it fails where that is not allowed.
func tinyDisk(dir string, bytes int) (unmount func(), err error) {
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", bytes)); err != nil {
		return nil, err
	}
	return func() { _ = unix.Unmount(dir, unix.MNT_DETACH) }, nil
}

// readOnly makes a mounted file system one that cannot be written to.
func readOnly(dir string) error {
	return unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, "")
}

// pipe makes a file that cannot be read to its end.
func pipe(path string) error { return unix.Mkfifo(path, 0o600) }
