package sandbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"example.com/cardrun/limits"
)

const (
	kernelPage = 4096 // the grain of the image; a multiple of it everywhere

	// gcThreshold is the heap size of the first garbage collection: a quarter of the heap, so that short cards never
	// collect and long ones have room for what they drop between two collections.
	gcThreshold = 8 << 20
	// spareHeap is allocated and freed before the image is taken, so that a card of ordinary appetite never grows its
	// memory and its instance can be used again. Untouched, it costs nothing.
	spareHeap = 3 << 20
	// bufferSize is for what the host hands in: a script of limits.JavaScriptLength units at three bytes each, or an
	// input snapshot with its event.
	bufferSize = 64 << 10

	// The parts of a zero range that ordinary cards use are cleared by hand at a restore, since their pages are in use
	// again in the next round. What lies beyond goes back to the kernel, which costs a page fault when it is wanted again.
	warmHeap   = 64 << 10
	warmStack  = 32 << 10
	warmBuffer = 8 << 10
)

// image is linear memory as it is after boot, and the addresses in it that the host keeps. It is the whole state of a
// guest: between calls the stack pointer is back at its start, fuel is set anew, and the table never changes.
type image struct {
	size int      // of the memory
	runs []extent // what is not zero
	warm []span   // zero, and likely to have been used
	cold []span   // zero, and likely untouched

	runtime, context         uint32 // JSRuntime, JSContext
	buffer                   uint32 // bufferSize bytes
	enter, leave, describeFn uint64 // the prelude's functions; they live as long as the image
	parts                    uint64 // its array, or 0
}

type extent struct {
	at   int
	data []byte
}

type span struct{ low, high int }

// strictStack marks JSRuntime.stack_size, so that boot sees whether it looks at the right place.
const strictStack = limits.Stack + 16

// boot starts the engine inside a fresh instance, takes away all that a guest must not have, runs the prelude, and takes
// the image.
func boot(i *instance, prelude string) (*image, error) {
	m := &image{}
	i.round.now = func() time.Time { return time.Unix(0, 0) } // the same image in every process
	q, err := i.call(i.mod.ExportedFunction("new"), 0, strictStack, 0, gcThreshold)
	if err == nil && uint32(q) == 0 {
		err = errors.New("no runtime was made")
	}
	if err != nil {
		return nil, fmt.Errorf("boot: %w", err)
	}
	if m.runtime, err = i.u32(uint32(q)); err != nil {
		return nil, fmt.Errorf("boot: %w", err)
	}
	if m.context, err = i.u32(uint32(q) + 4); err != nil {
		return nil, fmt.Errorf("boot: %w", err)
	}
	if err := m.harden(i); err != nil {
		return nil, fmt.Errorf("boot: harden engine: %w", err)
	}
	if err := m.allocate(i); err != nil {
		return nil, fmt.Errorf("boot: allocate: %w", err)
	}
	if _, err := m.run(i, "boot.js", bootScript); err != nil {
		return nil, fmt.Errorf("boot: remove globals: %w", err)
	}
	if err := m.bind(i, prelude); err != nil {
		return nil, fmt.Errorf("boot: run prelude: %w", err)
	}
	m.capture(i)
	return m, nil
}

// harden gives the stack check its limit and makes every module unknown: none is registered, and there is no loader.
func (m *image) harden(i *instance) error {
	size, err := i.u32(m.runtime + rtStackSize)
	if err != nil || size != strictStack {
		return fmt.Errorf("stack_size is %d, not %d: %w", size, strictStack, errors.Join(err, errCorrupt))
	}
	top, err := i.u32(m.runtime + rtStackTop)
	if err != nil || top <= stackHigh-4*kernelPage || top > stackTop {
		return fmt.Errorf("stack_top is %#x: %w", top, errors.Join(err, errCorrupt))
	}
	if rt, err := i.u32(m.context + ctxRuntime); err != nil || rt != m.runtime {
		return fmt.Errorf("the context's runtime is %#x, not %#x: %w", rt, m.runtime, errors.Join(err, errCorrupt))
	}
	head := m.context + ctxModules
	modules := 0
	for at := head; ; modules++ {
		if at, err = i.u32(at + 4); err != nil || modules > bootModules {
			return fmt.Errorf("walk modules: %w", errors.Join(err, errCorrupt))
		}
		if at == head {
			break
		}
	}
	if modules != bootModules {
		return fmt.Errorf("%d modules are registered, not %d: %w", modules, bootModules, errCorrupt)
	}
	return errors.Join(
		i.setU32(m.runtime+rtStackLimit, top-limits.Stack),
		i.setU32(head, head), i.setU32(head+4, head), // an empty list points at itself
		i.setU32(m.runtime+rtModuleLoader, 0),
	)
}

func (m *image) allocate(i *instance) error {
	malloc, free := i.mod.ExportedFunction("malloc"), i.mod.ExportedFunction("free")
	buffer, err := i.call(malloc, bufferSize)
	if err != nil || uint32(buffer) == 0 || uint64(uint32(buffer))+bufferSize > uint64(i.mem.size) {
		return fmt.Errorf("buffer at %#x: %w", uint32(buffer), errors.Join(err, errCorrupt))
	}
	m.buffer = uint32(buffer)
	spare, err := i.call(malloc, spareHeap)
	if err != nil || uint32(spare) == 0 {
		return fmt.Errorf("spare heap at %#x: %w", uint32(spare), errors.Join(err, errCorrupt))
	}
	_, err = i.call(free, uint64(uint32(spare)))
	return err
}

// run evaluates a script of the host's own at boot and returns its completion value.
func (m *image) run(i *instance, name, script string) (uint64, error) {
	args, err := m.stage(i, name, []byte(script))
	if err != nil {
		return 0, err
	}
	v, err := i.call(i.eval, uint64(m.context), args.data, args.size, args.name, evalGlobal)
	if err != nil {
		return 0, err
	}
	if tag(v) == tagException {
		return 0, errors.New("the script threw")
	}
	return v, nil
}

// bind runs the prelude and keeps its three functions, and its array where it has one.
func (m *image) bind(i *instance, prelude string) error {
	v, err := m.run(i, "prelude.js", prelude)
	if err != nil {
		return err
	}
	if tag(v) != tagObject {
		return errors.New("its completion value is no object")
	}
	for _, f := range []struct {
		name string
		to   *uint64
	}{{"enter", &m.enter}, {"leave", &m.leave}, {"describe", &m.describeFn}, {"parts", &m.parts}} {
		args, err := m.stage(i, f.name, nil)
		if err != nil {
			return err
		}
		if *f.to, err = i.call(i.mod.ExportedFunction("getProperty"), uint64(m.context), v, args.name); err != nil {
			return err
		}
		if f.to == &m.parts && tag(m.parts) == tagUndefined {
			m.parts = 0
		} else if tag(*f.to) != tagObject {
			return fmt.Errorf("%s is no function or array", f.name)
		}
	}
	if m.parts != 0 {
		if err := m.checkParts(i); err != nil {
			return err
		}
	}
	_, err = i.call(i.freeValue, uint64(m.context), v)
	return err
}

// checkParts sees that the prelude's array is where the host will read it, and has strings.
func (m *image) checkParts(i *instance) error {
	args, err := m.stage(i, "length", nil)
	if err != nil {
		return err
	}
	length, err := i.call(i.mod.ExportedFunction("getProperty"), uint64(m.context), m.parts, args.name)
	if err != nil {
		return err
	}
	count, err := i.u32(uint32(m.parts) + arrayCount)
	if err != nil || tag(length) != tagInt || uint32(length) != count || count == 0 {
		return fmt.Errorf("parts has %d elements, and a length of %d: %w", count, uint32(length), errors.Join(err, errCorrupt))
	}
	at, err := i.u32(uint32(m.parts) + arrayValues)
	if err != nil {
		return err
	}
	if last, err := i.u64(at + 8*(count-1)); err != nil || tag(last) != tagString {
		return fmt.Errorf("the last of %d parts has tag %d: %w", count, int32(tag(last)), errors.Join(err, errCorrupt))
	}
	return nil
}

// The buffer's layout: an argument or result, a name, then the data and a NUL that the engine wants behind it.
const (
	bufferArgument = 0
	bufferName     = 16
	bufferData     = 64
	bufferRoom     = bufferSize - bufferData - 1
)

// staged are addresses of what stage wrote.
type staged struct{ name, data, size uint64 }

// stage writes a name and data into the guest's buffer.
func (m *image) stage(i *instance, name string, data []byte) (staged, error) {
	if len(data) > bufferRoom || len(name) >= bufferData-bufferName {
		return staged{}, errRoom(len(data))
	}
	b := i.mem.buf[m.buffer : m.buffer+bufferSize]
	n := copy(b[bufferName:], name)
	b[bufferName+n] = 0
	copy(b[bufferData:], data)
	b[bufferData+len(data)] = 0
	at := uint64(m.buffer)
	return staged{name: at + bufferName, data: at + bufferData, size: uint64(len(data))}, nil
}

func errRoom(n int) error {
	return fmt.Errorf("%d bytes do not fit the guest's buffer of %d", n, bufferRoom)
}

// argument writes one JSValue where a call's arguments are read from, and returns that address.
func (m *image) argument(i *instance, v uint64) uint64 {
	binary.LittleEndian.PutUint64(i.mem.buf[m.buffer+bufferArgument:], v)
	return uint64(m.buffer + bufferArgument)
}

// capture copies what is not zero and lists what is.
func (m *image) capture(i *instance) {
	m.size = i.mem.size
	clear(i.mem.buf[m.buffer : m.buffer+bufferSize])
	clear(i.mem.buf[stackLow:stackHigh]) // only what finished calls left
	for at := 0; at < m.size; at += kernelPage {
		page := i.mem.buf[at : at+kernelPage]
		if bytes.Equal(page, zeroPage[:]) {
			continue
		}
		if n := len(m.runs); n > 0 && m.runs[n-1].at+len(m.runs[n-1].data) == at {
			m.runs[n-1].data = append(m.runs[n-1].data, page...)
		} else {
			m.runs = append(m.runs, extent{at, bytes.Clone(page)})
		}
	}
	at := 0
	for _, r := range append(m.runs, extent{at: m.size}) {
		if at < r.at {
			m.addZero(span{at, r.at})
		}
		at = r.at + len(r.data)
	}
}

// addZero lists a range between runs, in its warm and cold parts. The stack is used from its top, all else from the start.
func (m *image) addZero(s span) {
	warm := span{s.low, min(s.low+warmHeap, s.high)}
	switch buffer := int(m.buffer); {
	case s.low < stackHigh && s.high > stackLow:
		// The stack, and whatever zero pages lie around it.
		warm = span{stackHigh - warmStack, min(stackHigh, s.high)}
	case s.high <= stackLow:
		warm = span{s.low, s.low} // the binary's own stack, which nobody uses any more
	case s.low >= buffer && s.high <= buffer+bufferSize:
		warm.high = min(s.low+warmBuffer, s.high)
	}
	for _, cold := range []span{{s.low, warm.low}, {warm.high, s.high}} {
		if cold.low < cold.high {
			m.cold = append(m.cold, cold)
		}
	}
	if warm.low < warm.high {
		m.warm = append(m.warm, warm)
	}
}

// load makes the memory of a new instance, all zero but for the binary's data, that of the image.
func (m *image) load(i *instance) error {
	if grown := (m.size - i.mem.size) / pageSize; grown > 0 {
		if _, ok := i.mod.Memory().Grow(uint32(grown)); !ok {
			return fmt.Errorf("grow guest to %d bytes: refused", m.size)
		}
	}
	m.restore(i)
	return nil
}

// restore makes an instance's memory that of the image again, whatever a guest did to it.
func (m *image) restore(i *instance) {
	buf := i.mem.buf
	for _, r := range m.runs {
		copy(buf[r.at:], r.data)
	}
	for _, s := range m.warm {
		clear(buf[s.low:s.high])
	}
	for _, s := range m.cold {
		i.mem.discard(s.low, s.high)
	}
}

// seed sets Math.random's state (an xorshift64*, which must not be zero) from any 64 bits, spread by splitmix64 so that
// neighbouring seeds give unlike sequences. It returns the state.
func (m *image) seed(i *instance, seed uint64) (uint64, error) {
	z := seed + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	if z ^= z >> 31; z == 0 {
		z = 1
	}
	return z, i.setU64(m.context+ctxRandom, z)
}

// sum identifies an image and the code under it.
func (m *image) sum(code [sha256.Size]byte) (out [sha256.Size]byte) {
	h := sha256.New()
	h.Write(code[:])
	for _, r := range m.runs {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(r.at)))
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(r.data))))
		h.Write(r.data)
	}
	h.Sum(out[:0])
	return out
}

// jobs tells whether jobs wait.
func (m *image) jobs(i *instance) (bool, error) {
	next, err := i.u32(m.runtime + rtJobList + 4)
	return next != m.runtime+rtJobList, err
}

// used is the heap as QuickJS counts it, in bytes; a guest that rules its memory can make it lie, but not past the size
// of its memory.
func (m *image) used(i *instance) int64 {
	n, _ := i.u32(m.runtime + rtHeapBytes) // the address is the host's own
	return min(int64(n), int64(i.mem.size))
}
