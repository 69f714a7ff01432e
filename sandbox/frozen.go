package sandbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
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
//	count       4 bytes, of pages
//	pages       S2 block: for each page that differs from the image its number in 4 bytes and a map in 8, then their chunks
//
// A page is cut into 64 chunks of 64 bytes; the map has a bit for each that differs, the lowest for the first, and those
// alone are there, combined with the image's by exclusive or.
//
// The stack and the buffer hold nothing between rounds, and are left out.
const (
	frozenMagic    = "cardrun guest 1\n"
	frozenEngine   = len(frozenMagic)
	frozenChecksum = frozenEngine + sha256.Size
	frozenNow      = frozenChecksum + sha256.Size
	frozenSize     = frozenNow + 8
	frozenCount    = frozenSize + 4
	frozenPages    = frozenCount + 4

	realClock = -1

	chunk     = kernelPage / 64
	pageEntry = 4 + 8 // number and map
)

// ErrTooLarge is the error of a guest whose frozen state would pass the limit that was set.
var ErrTooLarge = errors.New("the guest has too much in its memory to be frozen")

// Freeze gives the guest's whole state as bytes: what its memory holds beyond the boot image. It waits for a worker. What
// differs may take at most limit bytes before it is compressed, or the error is [ErrTooLarge]. The guest lives on; close it when
// the bytes take its place. A guest that has ended cannot be frozen.
func (g *Guest) Freeze(ctx context.Context, limit int) ([]byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return nil, errEnded
	}
	if g.away != nil {
		frozen, err := g.freezeAway(ctx, limit)
		if g.ended {
			g.unsaid = err
		}
		return frozen, err
	}
	vacate, err := g.engine.occupy(ctx)
	if err != nil {
		return nil, err
	}
	defer vacate()
	m, i := g.engine.image, g.i
	plain, pages, err := m.difference(i, limit)
	if err != nil {
		return nil, err
	}
	out := make([]byte, frozenPages+s2.MaxEncodedLen(len(plain)))
	copy(out, frozenMagic)
	copy(out[frozenEngine:], g.engine.identity[:])
	now := int64(realClock)
	if !g.now.IsZero() {
		now = g.now.UnixNano()
	}
	binary.LittleEndian.PutUint64(out[frozenNow:], uint64(now))
	binary.LittleEndian.PutUint32(out[frozenSize:], uint32(i.mem.size))
	binary.LittleEndian.PutUint32(out[frozenCount:], uint32(pages))
	out = out[:frozenPages+len(s2.Encode(out[frozenPages:], plain))]
	sum := sha256.Sum256(out[frozenNow:])
	copy(out[frozenChecksum:], sum[:])
	return bytes.Clone(out), nil // of its own length
}

// Thaw makes a guest of frozen state, on any engine with the same boot image: it goes on where the frozen one stood, and
// nothing that it can see differs. The error is [ErrFrozen], wrapped, for state that is damaged or foreign; then nothing of
// it is used.
func (e *Engine) Thaw(frozen []byte) (*Guest, error) { return e.thaw(frozen, nil, false) }

// ThawAs is Thaw for another activation than the frozen one: the guest's clock is that of a. With reseed, its random numbers
// are those that follow from a's seed as in a guest that has not drawn any yet, which is right where the frozen one
// had not either ([Usage.ReadRandom]); without, its generator goes on.
func (e *Engine) ThawAs(frozen []byte, a Activation, reseed bool) (*Guest, error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	return e.thaw(frozen, &a, reseed)
}

func (e *Engine) thaw(frozen []byte, a *Activation, reseed bool) (*Guest, error) {
	if e.pool != nil {
		return e.lodgeFrozen(frozen, a, reseed)
	}
	now, size, plain, err := e.unpack(frozen)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFrozen, err)
	}
	i, err := e.take(true)
	if err != nil {
		return nil, err
	}
	if err := e.image.apply(i, size, binary.LittleEndian.Uint32(frozen[frozenCount:]), plain); err != nil {
		e.put(i, false)
		return nil, fmt.Errorf("%w: %w", ErrFrozen, err)
	}
	if a != nil {
		now = a.Now
	}
	g := e.newGuest(i, now)
	g.once = a != nil && a.Once
	if reseed {
		g.random, err = e.image.seed(i, a.seed())
	} else {
		g.random, err = i.u64(e.image.context + ctxRandom)
	}
	if err != nil {
		e.put(i, false)
		return nil, fmt.Errorf("%w: %w", ErrFrozen, err)
	}
	return g, nil
}

// unpack checks frozen state and takes it apart.
func (e *Engine) unpack(frozen []byte) (now time.Time, size int, plain []byte, err error) {
	if now, size, err = e.unseal(frozen); err != nil {
		return now, 0, nil, err
	}
	n, err := s2.DecodedLen(frozen[frozenPages:])
	if err != nil || n > size/kernelPage*(pageEntry+kernelPage) {
		return now, 0, nil, fmt.Errorf("its pages take %d bytes: %w", n, errors.Join(err, errCorrupt))
	}
	if plain, err = s2.Decode(nil, frozen[frozenPages:]); err != nil {
		return now, 0, nil, fmt.Errorf("its pages take %d bytes: %w", len(plain), errors.Join(err, errCorrupt))
	}
	return now, size, plain, nil
}

// unseal checks all of frozen state but its pages.
func (e *Engine) unseal(frozen []byte) (now time.Time, size int, err error) {
	least := 0 // where there is no image here, the worker process looks
	if e.image != nil {
		least = e.image.size
	}
	switch {
	case len(frozen) < frozenPages || string(frozen[:frozenEngine]) != frozenMagic:
		return now, 0, errors.New("it is not frozen state of this version")
	case !bytes.Equal(frozen[frozenEngine:frozenChecksum], e.identity[:]):
		return now, 0, errors.New("another engine made it")
	}
	if sum := sha256.Sum256(frozen[frozenNow:]); !bytes.Equal(sum[:], frozen[frozenChecksum:frozenNow]) {
		return now, 0, errors.New("it is damaged: the checksum differs")
	}
	if ns := int64(binary.LittleEndian.Uint64(frozen[frozenNow:])); ns != realClock {
		now = time.Unix(0, ns)
	}
	size = int(binary.LittleEndian.Uint32(frozen[frozenSize:]))
	if size < least || size > maximumPages*pageSize || size%pageSize != 0 {
		return now, 0, fmt.Errorf("its memory has %d bytes", size)
	}
	return now, size, nil
}

// difference finds the chunks that differ from the image, as frozen state has them: entries, then chunks.
func (m *image) difference(i *instance, limit int) (plain []byte, pages int, err error) {
	touched := i.mem.touched()
	entries, chunks := make([]byte, 0, 64*pageEntry), make([]byte, 0, 64<<10) // what an ordinary card has, with room
	next := 0                                                                 // the first run that does not end before the page
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
		var differ uint64
		for k := range 64 {
			if a, b := page[k*chunk:][:chunk], base[k*chunk:][:chunk]; !bytes.Equal(a, b) {
				differ |= 1 << k
				chunks = append(chunks, a...)
				xor(chunks[len(chunks)-chunk:], b)
			}
		}
		entries = binary.LittleEndian.AppendUint32(entries, uint32(at/kernelPage))
		entries = binary.LittleEndian.AppendUint64(entries, differ)
		if len(entries)+len(chunks) > limit {
			return nil, 0, ErrTooLarge
		}
	}
	return append(entries, chunks...), len(entries) / pageEntry, nil
}

var zeroPage [kernelPage]byte // never written

// scratch tells that a page holds nothing between rounds: the stack, or whole pages of the buffer.
func (m *image) scratch(at int) bool {
	return at >= stackLow && at < stackHigh || at >= int(m.buffer) && at+kernelPage <= int(m.buffer)+bufferSize
}

// xor combines b into a, whose length is a multiple of 8; b may be longer.
func xor(a, b []byte) {
	for k := 0; k < len(a); k += 8 {
		binary.LittleEndian.PutUint64(a[k:], binary.LittleEndian.Uint64(a[k:])^binary.LittleEndian.Uint64(b[k:]))
	}
}

// apply puts the pages of frozen state over an instance that is as the image says.
func (m *image) apply(i *instance, size int, pages uint32, plain []byte) error {
	if grown := (size - i.mem.size) / pageSize; grown > 0 {
		if _, ok := i.mod.Memory().Grow(uint32(grown)); !ok {
			return &limits.Error{Code: limits.Memory, Message: fmt.Sprintf("the guest's memory of %d bytes was refused", size)}
		}
	}
	count := int(pages)
	if count > size/kernelPage || len(plain) < count*pageEntry {
		return fmt.Errorf("%d pages in %d bytes: %w", count, len(plain), errCorrupt)
	}
	entries, chunks := plain[:count*pageEntry], plain[count*pageEntry:]
	for ; len(entries) > 0; entries = entries[pageEntry:] {
		at := uint64(binary.LittleEndian.Uint32(entries)) * kernelPage
		if at+kernelPage > uint64(size) {
			return fmt.Errorf("page at %#x of %d bytes: %w", at, size, errCorrupt)
		}
		page := i.mem.buf[at : at+kernelPage]
		for differ := binary.LittleEndian.Uint64(entries[4:]); differ != 0; differ &= differ - 1 {
			if len(chunks) < chunk {
				return fmt.Errorf("page at %#x is cut short: %w", at, errCorrupt)
			}
			xor(page[bits.TrailingZeros64(differ)*chunk:][:chunk], chunks)
			chunks = chunks[chunk:]
		}
	}
	if len(chunks) > 0 {
		return fmt.Errorf("%d bytes too many: %w", len(chunks), errCorrupt)
	}
	return nil
}
