package sandbox

import (
	"errors"
	"fmt"
)

// The sections of a WebAssembly module (core specification 5.5), by id.
const (
	secCustom   = 0
	secType     = 1
	secFunction = 3
	secMemory   = 5
	secGlobal   = 6
	secExport   = 7
	secCode     = 10
	secData     = 11
)

var errWasm = errors.New("malformed WebAssembly")

// section is one section of a module: its id and its body, without the size.
type section struct {
	id   byte
	body []byte
}

// readModule splits a module into its sections.
func readModule(b []byte) ([]section, error) {
	if len(b) < 8 || string(b[:8]) != "\x00asm\x01\x00\x00\x00" {
		return nil, fmt.Errorf("read module: %w: no version 1 header", errWasm)
	}
	var out []section
	r := reader{b: b, p: 8}
	for r.p < len(b) {
		id := r.byte()
		body := r.bytes(r.u32())
		if r.bad {
			return nil, fmt.Errorf("read module: %w: section %d is cut short", errWasm, id)
		}
		out = append(out, section{id, body})
	}
	return out, nil
}

// writeModule is the inverse of readModule.
func writeModule(sections []section) []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range sections {
		out = append(out, s.id)
		out = appendVec(out, s.body)
	}
	return out
}

// reader reads the primitive encodings of a module. After a fault bad is set and everything reads as zero, so that a
// caller may check once for many reads.
type reader struct {
	b   []byte
	p   int
	bad bool
}

func (r *reader) fail() { r.bad, r.p = true, len(r.b) }

func (r *reader) byte() byte {
	if r.p >= len(r.b) {
		r.fail()
		return 0
	}
	r.p++
	return r.b[r.p-1]
}

func (r *reader) bytes(n uint32) []byte {
	if uint64(n) > uint64(len(r.b)-r.p) {
		r.fail()
		return nil
	}
	r.p += int(n)
	return r.b[r.p-int(n) : r.p]
}

// u32 reads an unsigned LEB128 number of at most 32 bits.
func (r *reader) u32() uint32 {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		c := r.byte()
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			if v > 0xffff_ffff {
				break
			}
			return uint32(v)
		}
	}
	r.fail()
	return 0
}

// skip passes over one LEB128 number, signed or not, of at most max bytes.
func (r *reader) skip(max int) {
	for range max {
		if r.byte() < 0x80 {
			return
		}
	}
	r.fail()
}

// appendU32 appends v as unsigned LEB128.
func appendU32(out []byte, v uint32) []byte {
	for v >= 0x80 {
		out = append(out, byte(v)|0x80)
		v >>= 7
	}
	return append(out, byte(v))
}

// appendS32 appends v as signed LEB128.
func appendS32(out []byte, v int32) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(out, c)
		}
		out = append(out, c|0x80)
	}
}

// appendVec appends a length and the bytes.
func appendVec(out, b []byte) []byte {
	return append(appendU32(out, uint32(len(b))), b...)
}

// grow rewrites a section that is a vector, adding n entries that are encoded in more.
func (s *section) grow(n uint32, more []byte) (before uint32, err error) {
	r := reader{b: s.body}
	before = r.u32()
	if r.bad {
		return 0, fmt.Errorf("grow section %d: %w", s.id, errWasm)
	}
	s.body = append(append(appendU32(nil, before+n), s.body[r.p:]...), more...)
	return before, nil
}

// segments are what a module puts into its memory at first.
type segments []struct {
	at    uint32
	bytes []byte
}

// initialMemory reads a module's data segments, all of which must be active, in memory 0, at a constant.
func initialMemory(sections []section) (segments, error) {
	var all segments
	for _, s := range sections {
		if s.id != secData {
			continue
		}
		r := reader{b: s.body}
		for n := r.u32(); n > 0 && !r.bad; n-- {
			kind, op := r.u32(), r.byte()
			at := r.u32() // signed, but that is the same for an address that is below 2 GiB and not cut short
			if end := r.byte(); kind != 0 || op != opI32Const || end != opEnd {
				r.fail()
			}
			all = append(all, struct {
				at    uint32
				bytes []byte
			}{at, r.bytes(r.u32())})
		}
		if r.bad {
			return nil, fmt.Errorf("read section %d: %w", s.id, errWasm)
		}
	}
	return all, nil
}

// read returns n bytes of memory from address on, or nil where no segment has them all.
func (all segments) read(address, n uint32) []byte {
	for _, s := range all {
		if address >= s.at && uint64(address-s.at)+uint64(n) <= uint64(len(s.bytes)) {
			return s.bytes[address-s.at:][:n]
		}
	}
	return nil
}
