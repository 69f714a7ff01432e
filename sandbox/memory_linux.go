package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// reserve takes address space for a guest; the kernel gives pages when they are touched.
func reserve(size int) (*reservation, error) {
	buf, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("reserve %d bytes: %w", size, err)
	}
	return &reservation{buf: buf}, nil
}

// Free returns the range to the kernel. The memory must not be touched again.
func (m *reservation) Free() {
	if m.buf != nil {
		_ = unix.Munmap(m.buf) // fails only for a range that is no mapping
		m.buf, m.size = nil, 0
	}
}

// discard makes a range of whole kernel pages zero and gives the pages back.
func (m *reservation) discard(low, high int) {
	if low >= high {
		return
	}
	if err := unix.Madvise(m.buf[low:high], unix.MADV_DONTNEED); err != nil {
		clear(m.buf[low:high])
	}
}
