package sandbox

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// call is one thing that a worker may not ask of the kernel.
type call struct {
	name string
	do   func()
}

func raw(number uintptr, args ...uintptr) func() {
	var a [6]uintptr
	copy(a[:], args)
	return func() { _, _, _ = unix.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]) }
}

var path = []byte("/etc/passwd\x00")

func at(b []byte) uintptr { return uintptr(unsafe.Pointer(&b[0])) }

const here = ^uintptr(99) // AT_FDCWD

// forbidden holds calls of every kind: files, network, processes, other processes, rights, code, and those with arguments that
// the filter looks at.
var forbidden = []call{
	{"openat", raw(unix.SYS_OPENAT, here, at(path), unix.O_RDONLY)}, {"openat2", raw(unix.SYS_OPENAT2, here, at(path))},
	{"create", raw(unix.SYS_OPENAT, here, at(path), unix.O_CREAT|unix.O_WRONLY, 0o600)},
	{"newfstatat", func() { var st unix.Stat_t; _ = unix.Stat("/", &st) }}, {"statx", raw(unix.SYS_STATX, here, at(path))},
	{"getdents64", raw(unix.SYS_GETDENTS64, workerDescriptor)}, {"readlinkat", raw(unix.SYS_READLINKAT, here, at(path))},
	{"unlinkat", raw(unix.SYS_UNLINKAT, here, at(path))}, {"renameat2", raw(unix.SYS_RENAMEAT2, here, at(path), here, at(path))},
	{"mkdirat", raw(unix.SYS_MKDIRAT, here, at(path))}, {"linkat", raw(unix.SYS_LINKAT)}, {"symlinkat", raw(unix.SYS_SYMLINKAT)},
	{"faccessat2", raw(unix.SYS_FACCESSAT2, here, at(path))}, {"fchmodat", raw(unix.SYS_FCHMODAT)}, {"fchownat", raw(unix.SYS_FCHOWNAT)},
	{"truncate", raw(unix.SYS_TRUNCATE, at(path))}, {"chdir", raw(unix.SYS_CHDIR, at(path))}, {"chroot", raw(unix.SYS_CHROOT, at(path))},
	{"mount", raw(unix.SYS_MOUNT)}, {"umount2", raw(unix.SYS_UMOUNT2)}, {"pivot_root", raw(unix.SYS_PIVOT_ROOT)},
	{"memfd_create", raw(unix.SYS_MEMFD_CREATE, at(path))}, {"inotify_init1", raw(unix.SYS_INOTIFY_INIT1)}, {"fanotify_init", raw(unix.SYS_FANOTIFY_INIT)},
	{"open_by_handle_at", raw(unix.SYS_OPEN_BY_HANDLE_AT)}, {"dup", raw(unix.SYS_DUP, workerDescriptor)}, {"dup3", raw(unix.SYS_DUP3, workerDescriptor, 9)},
	{"fcntl", raw(unix.SYS_FCNTL, workerDescriptor, unix.F_DUPFD)}, {"ioctl", raw(unix.SYS_IOCTL, workerDescriptor)}, {"pwrite64", raw(unix.SYS_PWRITE64, workerDescriptor)},
	{"sendfile", raw(unix.SYS_SENDFILE)}, {"splice", raw(unix.SYS_SPLICE)}, {"io_uring_setup", raw(unix.SYS_IO_URING_SETUP, 1)}, {"io_setup", raw(unix.SYS_IO_SETUP, 1)},

	{"socket", raw(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM)}, {"socket unix", raw(unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM)},
	{"socketpair", raw(unix.SYS_SOCKETPAIR)}, {"connect", raw(unix.SYS_CONNECT, workerDescriptor)}, {"bind", raw(unix.SYS_BIND, workerDescriptor)},
	{"listen", raw(unix.SYS_LISTEN, workerDescriptor)}, {"accept4", raw(unix.SYS_ACCEPT4, workerDescriptor)}, {"sendto", raw(unix.SYS_SENDTO, workerDescriptor)},
	{"sendmsg", raw(unix.SYS_SENDMSG, workerDescriptor)}, {"recvmsg", raw(unix.SYS_RECVMSG, workerDescriptor)}, {"setsockopt", raw(unix.SYS_SETSOCKOPT, workerDescriptor)},

	{"execve", raw(unix.SYS_EXECVE, at(path))}, {"execveat", raw(unix.SYS_EXECVEAT, here, at(path))}, {"clone a process", raw(unix.SYS_CLONE, uintptr(unix.SIGCHLD))},
	{"wait4", raw(unix.SYS_WAIT4)}, {"kill", raw(unix.SYS_KILL, uintptr(os.Getpid()), 0)}, {"tkill", raw(unix.SYS_TKILL, 1, 0)},
	{"tgkill the parent", func() { raw(unix.SYS_TGKILL, 1, 1, 0)() }}, {"pidfd_open", raw(unix.SYS_PIDFD_OPEN, 1)}, {"pidfd_send_signal", raw(unix.SYS_PIDFD_SEND_SIGNAL)},
	{"ptrace", raw(unix.SYS_PTRACE)}, {"process_vm_readv", raw(unix.SYS_PROCESS_VM_READV, 1)}, {"process_vm_writev", raw(unix.SYS_PROCESS_VM_WRITEV, 1)},
	{"kcmp", raw(unix.SYS_KCMP)}, {"shmget", raw(unix.SYS_SHMGET)}, {"mq_open", raw(unix.SYS_MQ_OPEN, at(path))}, {"msgget", raw(unix.SYS_MSGGET)}, {"semget", raw(unix.SYS_SEMGET)},

	{"setuid", raw(unix.SYS_SETUID, 0)}, {"setresuid", raw(unix.SYS_SETRESUID)}, {"setgroups", raw(unix.SYS_SETGROUPS)}, {"capset", raw(unix.SYS_CAPSET)},
	{"prlimit64", raw(unix.SYS_PRLIMIT64)}, {"unshare", raw(unix.SYS_UNSHARE, unix.CLONE_NEWUSER)}, {"setns", raw(unix.SYS_SETNS)}, {"seccomp", raw(unix.SYS_SECCOMP)},
	{"prctl dumpable", raw(unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 1)}, {"prctl death signal", raw(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, 0)}, {"bpf", raw(unix.SYS_BPF)},
	{"keyctl", raw(unix.SYS_KEYCTL)}, {"add_key", raw(unix.SYS_ADD_KEY)}, {"perf_event_open", raw(unix.SYS_PERF_EVENT_OPEN)}, {"userfaultfd", raw(unix.SYS_USERFAULTFD)},
	{"init_module", raw(unix.SYS_INIT_MODULE)}, {"reboot", raw(unix.SYS_REBOOT)}, {"sethostname", raw(unix.SYS_SETHOSTNAME)}, {"settimeofday", raw(unix.SYS_SETTIMEOFDAY)},
	{"sched_setaffinity", raw(unix.SYS_SCHED_SETAFFINITY)}, {"setpriority", raw(unix.SYS_SETPRIORITY)}, {"uname", raw(unix.SYS_UNAME, at(make([]byte, 512)))}, {"no such call", raw(9999)},

	{"mmap code", raw(unix.SYS_MMAP, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_ANONYMOUS|unix.MAP_PRIVATE)},
	{"mmap code to write", raw(unix.SYS_MMAP, 0, 4096, unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_ANONYMOUS|unix.MAP_PRIVATE)},
	{"mmap a file", raw(unix.SYS_MMAP, 0, 4096, unix.PROT_READ, unix.MAP_PRIVATE, workerDescriptor)},
	{"mprotect code", func() {
		b, _ := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANONYMOUS|unix.MAP_PRIVATE)
		raw(unix.SYS_MPROTECT, at(b), 4096, unix.PROT_READ|unix.PROT_EXEC)()
	}},
	{"pkey_mprotect", raw(unix.SYS_PKEY_MPROTECT)}, {"mremap", raw(unix.SYS_MREMAP)}, {"remap_file_pages", raw(unix.SYS_REMAP_FILE_PAGES)}, {"process_madvise", raw(unix.SYS_PROCESS_MADVISE)},
	{"mlockall", raw(unix.SYS_MLOCKALL)}, {"timer_create", raw(unix.SYS_TIMER_CREATE)}, {"personality", raw(unix.SYS_PERSONALITY)},
}
