package sandbox

import "os"

// reservation is a guest's linear memory: its whole address range is taken at once, so that growth never copies and the
// bytes never move. It is wazero's experimental.LinearMemory.
type reservation struct {
	buf  []byte // maximumPages long; pages that nobody touched cost nothing where mmap is to be had
	size int    // what the guest has
	// grant, where it is not zero, is what the guest may have at most: for tests of a host that has no more.
	grant int

	pages *os.File // open on the kernel's table of this process's pages, in a worker, which can open nothing; else nil
}

// Reallocate gives the guest its memory at the new size, or nil past the cap.
func (m *reservation) Reallocate(size uint64) []byte {
	if size > uint64(len(m.buf)) || m.grant > 0 && size > uint64(m.grant) {
		return nil
	}
	m.size = int(size)
	return m.buf[:size:size]
}
