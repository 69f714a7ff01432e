package sandbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/klauspost/compress/s2"

	"example.com/cardrun/limits"
)

// ErrFrozen is the error of frozen state that is damaged, or that another engine made. It is wrapped with what is wrong.
var ErrFrozen = errors.New("the frozen guest cannot be thawed")

// Frozen state, little-endian:
//
//	magic      16 bytes
//	engine     32 bytes, Engine.identity
//	checksum   32 bytes, SHA-256 of all that follows
//	now         8 bytes, the guest's clock in nanoseconds since 1970, or -1 for the real one
//	size        4 bytes, of the memory
//	pages       S2 block: for each page that differs from the image its number in 4 bytes, then, for all of them, the pages,
//	            combined with the image's by exclusive or
//
// The stack and the buffer hold nothing between rounds, and are left out.
const (
	frozenMagic    = "cardrun guest 1\n"
	frozenEngine   = len(frozenMagic)
	frozenChecksum = frozenEngine + sha256.Size
	frozenNow      = frozenChecksum + sha256.Size
	frozenSize     = frozenNow + 8
	frozenPages    = frozenSize + 4

	realClock = -1
)

// Freeze gives the guest's whole state as bytes: what its memory holds beyond the boot image. The guest lives on; close
// it when the bytes take its place. A guest that has ended cannot be frozen.
func (g *Guest) Freeze() ([]byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return nil, errEnded
	}
	m, i := g.engine.image, g.i
	numbers, pages := m.difference(i)
	plain := make([]byte, 0, len(numbers)*(4+kernelPage))
	for _, n := range numbers {
		plain = binary.LittleEndian.AppendUint32(plain, n)
	}
	plain = append(plain, pages...)

	out := make([]byte, frozenPages, frozenPages+s2.MaxEncodedLen(len(plain)))
	copy(out, frozenMagic)
	copy(out[frozenEngine:], g.engine.identity[:])
	now := int64(realClock)
	if !g.now.IsZero() {
		now = g.now.UnixNano()
	}
	binary.LittleEndian.PutUint64(out[frozenNow:], uint64(now))
	binary.LittleEndian.PutUint32(out[frozenSize:], uint32(i.mem.size))
	out = append(out, s2.Encode(nil, plain)...)
	sum := sha256.Sum256(out[frozenNow:])
	copy(out[frozenChecksum:], sum[:])
	return bytes.Clone(out), nil // of its own length
}

// Thaw makes a guest of frozen state, on any engine with the same boot image: it goes on where the frozen one stood, and
// nothing that it can see differs. The error is [ErrFrozen], wrapped, for state that is damaged or foreign; then nothing of
// it is used.
func (e *Engine) Thaw(frozen []byte) (*Guest, error) {
	now, size, plain, err := e.unpack(frozen)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFrozen, err)
	}
	i, err := e.take()
	if err != nil {
		return nil, err
	}
	if err := e.image.apply(i, size, plain); err != nil {
		e.put(i, false)
		return nil, fmt.Errorf("%w: %w", ErrFrozen, err)
	}
	g := e.newGuest(i, now)
	if g.random, err = i.u64(e.image.context + ctxRandom); err != nil {
		e.put(i, false)
		return nil, fmt.Errorf("%w: %w", ErrFrozen, err)
	}
	return g, nil
}

// unpack checks frozen state and takes it apart.
func (e *Engine) unpack(frozen []byte) (now time.Time, size int, plain []byte, err error) {
	switch {
	case len(frozen) < frozenPages || string(frozen[:frozenEngine]) != frozenMagic:
		return now, 0, nil, errors.New("it is not frozen state of this version")
	case !bytes.Equal(frozen[frozenEngine:frozenChecksum], e.identity[:]):
		return now, 0, nil, errors.New("another engine made it")
	}
	if sum := sha256.Sum256(frozen[frozenNow:]); !bytes.Equal(sum[:], frozen[frozenChecksum:frozenNow]) {
		return now, 0, nil, errors.New("it is damaged: the checksum differs")
	}
	if ns := int64(binary.LittleEndian.Uint64(frozen[frozenNow:])); ns != realClock {
		now = time.Unix(0, ns)
	}
	size = int(binary.LittleEndian.Uint32(frozen[frozenSize:]))
	if size < e.image.size || size > maximumPages*pageSize || size%pageSize != 0 {
		return now, 0, nil, fmt.Errorf("its memory has %d bytes", size)
	}
	n, err := s2.DecodedLen(frozen[frozenPages:])
	if err != nil || n > size/kernelPage*(4+kernelPage) {
		return now, 0, nil, fmt.Errorf("its pages take %d bytes: %w", n, errors.Join(err, errCorrupt))
	}
	if plain, err = s2.Decode(nil, frozen[frozenPages:]); err != nil || len(plain)%(4+kernelPage) != 0 {
		return now, 0, nil, fmt.Errorf("its pages take %d bytes: %w", len(plain), errors.Join(err, errCorrupt))
	}
	return now, size, plain, nil
}

// difference finds the pages that differ from the image, and gives their numbers, and their bytes combined with the
// image's by exclusive or.
func (m *image) difference(i *instance) (numbers []uint32, pages []byte) {
	pages = make([]byte, 0, 48*kernelPage) // what an ordinary card has, with room
	touched := i.mem.touched()
	next := 0 // the first run that does not end before the page
	for at := 0; at < i.mem.size; at += kernelPage {
		for next < len(m.runs) && m.runs[next].at+len(m.runs[next].data) <= at {
			next++
		}
		if m.scratch(at) || touched != nil && !touched[at/kernelPage] {
			continue
		}
		page, base := i.mem.buf[at:at+kernelPage], zeroPage[:]
		if next < len(m.runs) && m.runs[next].at <= at {
			base = m.runs[next].data[at-m.runs[next].at:][:kernelPage]
		}
		if bytes.Equal(page, base) {
			continue
		}
		numbers = append(numbers, uint32(at/kernelPage))
		pages = appendXor(pages, page, base)
	}
	return numbers, pages
}

var zeroPage [kernelPage]byte // never written

// scratch tells that a page holds nothing between rounds: the stack, or whole pages of the buffer.
func (m *image) scratch(at int) bool {
	return at >= stackLow && at < stackHigh || at >= int(m.buffer) && at+kernelPage <= int(m.buffer)+bufferSize
}

func appendXor(dst, a, b []byte) []byte {
	n := len(dst)
	dst = append(dst, a...)
	xor(dst[n:], b)
	return dst
}

// xor combines b into a, which are of one length, a multiple of 8.
func xor(a, b []byte) {
	for k := 0; k < len(a); k += 8 {
		binary.LittleEndian.PutUint64(a[k:], binary.LittleEndian.Uint64(a[k:])^binary.LittleEndian.Uint64(b[k:]))
	}
}

// apply puts the pages of frozen state over an instance that is as the image says.
func (m *image) apply(i *instance, size int, plain []byte) error {
	if grown := (size - i.mem.size) / pageSize; grown > 0 {
		if _, ok := i.mod.Memory().Grow(uint32(grown)); !ok {
			return &limits.Error{Code: limits.Memory, Message: fmt.Sprintf("the guest's memory of %d bytes was refused", size)}
		}
	}
	count := len(plain) / (4 + kernelPage)
	pages := plain[4*count:]
	for k := range count {
		at := uint64(binary.LittleEndian.Uint32(plain[4*k:])) * kernelPage
		if at+kernelPage > uint64(size) {
			return fmt.Errorf("page at %#x of %d bytes: %w", at, size, errCorrupt)
		}
		xor(i.mem.buf[at:at+kernelPage], pages[k*kernelPage:][:kernelPage])
	}
	return nil
}
