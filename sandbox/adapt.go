package sandbox

import (
	"bytes"
	"fmt"
	"slices"
)

// What the tick import is called with.
const (
	tickFuel   = -1 // the fuel ran out
	tickMemory = -2 // memory.grow was refused
	tickStack  = -3 // the stack is used up
)

// refill is the fuel that a guest gets between two looks at the clock: loop iterations of the engine's own code, more or
// less. 5,000 take some tens of microseconds, and the look costs nothing that can be measured. They are not more because
// 5,000 calls, each a few kilobytes deep on the native stack, may touch tens of megabytes that the system must first provide.
const refill = 5_000

// exports are all that the adapted module shows to the host.
var exports = []struct {
	name  string
	kind  byte // 0 function, 2 memory, 3 global
	index uint32
}{
	{"memory", 2, 0}, {"fuel", 3, 1},
	{"new", 0, fnNew}, {"malloc", 0, fnMalloc}, {"free", 0, fnFree},
	{"eval", 0, fnEval}, {"evalFunction", 0, fnEvalFunction}, {"call", 0, fnCall}, {"executeJob", 0, fnExecuteJob},
	{"parseJSON", 0, fnParseJSON}, {"getProperty", 0, fnGetProperty}, {"freeValue", 0, fnFreeValue},
}

// adapt rewrites the binary that the layout describes:
//
//   - the stack moves to pages of its own, so that it has a size;
//   - memory is bounded, and a refused growth ends the guest through the tick;
//   - QuickJS learns the real size of what it allocates;
//   - every loop, bulk operation and recursion costs fuel, and the tick is called when there is none;
//   - the interpreter finds the code for a bytecode without a look into memory;
//   - recursion that leaves the stack ends the guest through the tick: QuickJS checks only some of its own;
//   - only what the host calls is exported, and debug sections go.
//
// Without fuel the result is only good for measuring what fuel costs.
func adapt(wasm []byte, fuel bool) ([]byte, error) {
	sections, err := readModule(wasm)
	if err != nil {
		return nil, err
	}
	memory, err := initialMemory(sections)
	if err != nil {
		return nil, fmt.Errorf("adapt qjs.wasm: %w", err)
	}
	var charge uint32 // index of the function that we add
	var chargeType uint32
	kept := sections[:0]
	for _, s := range sections {
		switch s.id {
		case secCustom:
			continue
		case secType:
			chargeType, err = s.grow(1, []byte{0x60, 1, typeI32, 1, typeI32})
		case secFunction:
			var defined uint32
			defined, err = s.grow(1, appendU32(nil, chargeType))
			charge = importedFunctions + defined
		case secMemory:
			if !bytes.Equal(s.body, []byte{1, 0, linkedPages}) {
				err = fmt.Errorf("memory section is %x", s.body)
			}
			s.body = appendU32(appendU32([]byte{1, 1}, initialPages), maximumPages)
		case secGlobal:
			if want := append(appendS32([]byte{1, typeI32, 1, opI32Const}, oldStackTop), opEnd); !bytes.Equal(s.body, want) {
				err = fmt.Errorf("global section is %x, not %x", s.body, want)
			}
			s.body = append(appendS32([]byte{2, typeI32, 1, opI32Const}, stackTop), opEnd)
			s.body = append(append(s.body, typeI32, 1, opI32Const), append(appendS32(nil, refill), opEnd)...)
		case secExport:
			s.body = exportSection()
		case secCode:
			s.body, err = adaptCode(s.body, charge, fuel, memory)
		}
		if err != nil {
			return nil, fmt.Errorf("adapt qjs.wasm: section %d: %w", s.id, err)
		}
		kept = append(kept, s)
	}
	return writeModule(kept), nil
}

func exportSection() []byte {
	b := appendU32(nil, uint32(len(exports)))
	for _, e := range exports {
		b = appendVec(b, []byte(e.name))
		b = appendU32(append(b, e.kind), e.index)
	}
	return b
}

// replaced are functions that get another body: what stands there now, and what shall.
var replaced = map[uint32]struct{ old, new []byte }{
	// js_malloc_usable_size(p): the answer of dlmalloc's own header, 0 for a null pointer.
	fnUsableSize: {
		old: []byte{0, opI32Const, 0, opEnd},
		new: []byte{
			0, opLocalGet, 0, opI32Eqz, opIf, typeI32, opI32Const, 0, opElse,
			opLocalGet, 0, opI32Const, 4, opI32Sub, opI32Load, 2, 0, opI32Const, 0x78, opI32And, opI32Const, 4, opI32Sub,
			opEnd, opEnd,
		},
	},
	// sbrk(n): as it was, but a refused growth never comes back to the guest (D27), and a request of 2 GiB or more is
	// refused like any other instead of being a trap.
	fnSbrk: {
		new: []byte{
			1, 1, typeI32, // one more local, 1
			opLocalGet, 0, opI32Eqz, opIf, typeEmpty, opMemorySize, 0, opI32Const, 16, opI32Shl, opReturn, opEnd,
			opLocalGet, 0, opI32Const, 0xff, 0xff, 0x03, opI32And, opIf, typeEmpty, opUnreachable, opEnd,
			opLocalGet, 0, opI32Const, 16, opI32ShrU, opMemoryGrow, 0, opLocalTee, 1, opI32Const, 0x7f, opI32Eq,
			opIf, typeEmpty, opI32Const, 0x7e, opCall, fnTick, opDrop, opUnreachable, opEnd,
			opLocalGet, 1, opI32Const, 16, opI32Shl, opEnd,
		},
	},
}

// adaptCode rewrites every function body, and adds charge(n) = n at the end, which takes n/64 from the fuel.
func adaptCode(body []byte, charge uint32, fuel bool, memory segments) ([]byte, error) {
	r := reader{b: body}
	n := r.u32()
	out := appendU32(make([]byte, 0, len(body)*5/4), n+1)
	grows := 0
	for i := range n {
		code := r.bytes(r.u32())
		if r.bad {
			return nil, fmt.Errorf("function %d: %w", i, errWasm)
		}
		index := importedFunctions + i
		var err error
		switch {
		case slices.Contains(arrayLengths, index):
			code, err = shorten(code)
		case index == fnInterpret:
			code, err = dispatch(code, memory)
		}
		if err != nil {
			return nil, fmt.Errorf("function %d: %w", index, err)
		}
		count, adapted, err := adaptFunction(code, charge, slices.Contains(recursions, index), slices.Contains(frameless, index), fuel)
		if err != nil {
			return nil, fmt.Errorf("function %d: %w", index, err)
		}
		if with, ok := replaced[index]; ok {
			if with.old != nil && !bytes.Equal(code, with.old) {
				return nil, fmt.Errorf("function %d is %x, not %x", index, code, with.old)
			}
			adapted = with.new
		}
		if count > 0 && index != fnSbrk {
			return nil, fmt.Errorf("function %d has a memory.grow; only sbrk, %d, may have one", index, fnSbrk)
		}
		grows += count
		out = appendVec(out, adapted)
	}
	if grows != 1 {
		return nil, fmt.Errorf("%d memory.grow instructions, not the one of sbrk", grows)
	}
	return appendVec(out, []byte{
		0, opGlobalGet, 1, opLocalGet, 0, opI32Const, 6, opI32ShrU, opI32Sub, opGlobalSet, 1, opLocalGet, 0, opEnd,
	}), nil
}

// recursions are functions with a stack frame such that every chain of calls that comes back to where it was, and takes
// stack on its way, passes through one of them; calls through the table count as calls of every function of the type. A
// test proves it on the binary. The first is the interpreter itself.
var recursions = []uint32{
	fnInterpret,
	25, 42, 165, 214, 222, 232, 251, 257, 258, 260, 261, 262, 263, 269, 285, 290, 291, 292, 293, 309, 314, 318, 322, 348,
	359, 374, 381, 384, 385, 388, 401, 414, 424, 459, 479, 481, 484, 489, 491, 492, 498, 504, 506, 521, 529, 559, 565, 636,
	640, 648, 650, 656, 657, 694, 696, 698, 700, 767, 780, 781, 785, 788, 806, 814, 826, 827, 828, 914, 1049, 1094, 1096,
	1098, 1105,
}

// frameless are functions such that every other chain of calls that comes back to where it was, and takes no frame on the
// guest's stack, passes through one of them. Machine code takes some of its own stack all the same, and a guest that
// rules its memory may make such a chain as long as it likes: so each call costs fuel, and the tick bounds the rest.
var frameless = []uint32{138, 152, 237, 250, 350, 485, 490, 495, 514, 566, 1093, 1095, 1103}

// fuelCheck takes one from the fuel, and leaves whether there is none left.
var fuelCheck = []byte{
	opGlobalGet, 1, opI32Const, 1, opI32Sub, opGlobalSet, 1,
	opGlobalGet, 1, opI32Const, 0, opI32LtS,
}

// fuelTick calls the tick, which sets the fuel anew.
var fuelTick = []byte{opI32Const, 0x7f, opCall, fnTick, opDrop}

// adaptFunction makes every turn of a loop pay and puts a charge before every bulk operation; and, into a
// function that guards a recursion, a check of the stack and one of the fuel behind every new stack frame; into one that pays, a
// check of the fuel where it begins. All leave operands as they are. It also counts the function's memory.grow
// instructions.
func adaptFunction(code []byte, charge uint32, guard, pays, fuel bool) (grows int, out []byte, err error) {
	check := slices.Concat(fuelCheck, []byte{opIf, typeEmpty}, fuelTick, []byte{opEnd})
	// stack pointer - floor > top - floor, unsigned: below the floor, or wrapped around.
	frame := append(appendS32([]byte{opGlobalGet, 0, opI32Const}, stackFloor), opI32Sub, opI32Const)
	frame = append(appendS32(frame, stackTop-stackFloor), opI32GtU, opIf, typeEmpty,
		opI32Const, 0x7d, opCall, fnTick, opDrop, opUnreachable, opEnd)
	frame = append(frame, check...)
	pay := appendU32([]byte{opCall}, charge)

	r := reader{b: code}
	if err := r.locals(); err != nil {
		return 0, nil, err
	}
	last := 0
	if pays && fuel {
		out, last = append(out, append(slices.Clip(code[:r.p]), check...)...), r.p
	}
	var before byte // the opcode before
	loops := false
	for r.p < len(code) {
		start := r.p
		op, sub, err := r.instruction()
		if err != nil {
			return 0, nil, err
		}
		switch {
		case op == opMemoryGrow:
			grows++
		case op == opLoop:
			loops = true
		case guard && fuel && takesFrame(op, before, code[start+1:]):
			out = append(append(out, code[last:r.p]...), frame...)
			last = r.p
		case op == opPrefix && (sub == bulkMemoryCopy || sub == bulkMemoryFill) && fuel:
			out = append(append(out, code[last:start]...), pay...) // the length is the operand on top
			last = start
		}
		before = op
	}
	out = append(out, code[last:]...)
	if loops && fuel {
		out, err = payLoops(out)
	}
	return grows, out, err
}

// takesFrame tells that an instruction sets the stack pointer and takes a frame: the sum before it would give one back.
func takesFrame(op, before byte, immediates []byte) bool {
	return op == opGlobalSet && immediates[0] == 0 && before != opI32Add
}

// arrayLengths are the functions behind Array.prototype.toReversed, with, toSorted and toSpliced. They accept lengths of
// up to 2^32-1 and multiply them by eight in 32 bits, which makes the array too small for what they then write.
var arrayLengths = []uint32{893, 906, 909, 911}

// shorten makes such a function refuse, with its own RangeError, what could not be in the heap anyway.
func shorten(code []byte) ([]byte, error) {
	old := []byte{opI64Const, 0x80, 0x80, 0x80, 0x80, 0x10, opI64GeS} // 2^32
	if n := bytes.Count(code, old); n != 1 {
		return nil, fmt.Errorf("%d comparisons with the longest array: %w", n, errWasm)
	}
	return bytes.Replace(code, old, []byte{opI64Const, 0x80, 0x80, 0x80, 0x82, 0x00, opI64GeS}, 1), nil // limits.Heap / 8
}
