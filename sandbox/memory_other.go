//go:build !linux

package sandbox

// reserve takes plain memory: the Go runtime gets it from the system untouched, so it, too, costs little until it is used.
func reserve(size int) (*reservation, error) {
	return &reservation{buf: make([]byte, size)}, nil
}

// Free drops the memory.
func (m *reservation) Free() { m.buf, m.size = nil, 0 }

// discard makes a range zero.
func (m *reservation) discard(low, high int) { clear(m.buf[low:high]) }

// touched tells which pages were ever written or read; nil: not known.
func (m *reservation) touched() []bool { return nil }
