package sandbox

import (
	"encoding/binary"
	"fmt"
	"os"
	"unsafe"

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

// touched tells for each kernel page whether it was ever written or read, in memory or swapped out; one that was not is
// zero. It is nil where the kernel does not say.
func (m *reservation) touched() []bool {
	if os.Getpagesize() != kernelPage || m.size == 0 {
		return nil
	}
	f := m.pages
	if f == nil {
		var err error
		if f, err = os.Open("/proc/self/pagemap"); err != nil {
			return nil
		}
		defer f.Close()
	}
	const entry = 8 // bytes for each page of the address space
	raw := make([]byte, m.size/kernelPage*entry)
	if _, err := f.ReadAt(raw, int64(uintptr(unsafe.Pointer(&m.buf[0]))/kernelPage*entry)); err != nil {
		return nil
	}
	const inMemory, swapped = 1 << 63, 1 << 62
	out := make([]bool, m.size/kernelPage)
	for k := range out {
		out[k] = binary.LittleEndian.Uint64(raw[k*entry:])&(inMemory|swapped) != 0
	}
	return out
}
