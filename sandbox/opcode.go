package sandbox

import "fmt"

// The opcodes (core specification 5.4) that adaptation looks at or writes.
const (
	opUnreachable = 0x00
	opBlock       = 0x02
	opLoop        = 0x03
	opIf          = 0x04
	opElse        = 0x05
	opEnd         = 0x0b
	opBr          = 0x0c
	opBrIf        = 0x0d
	opBrTable     = 0x0e
	opReturn      = 0x0f
	opCall        = 0x10
	opIndirect    = 0x11
	opDrop        = 0x1a
	opSelectT     = 0x1c
	opLocalGet    = 0x20
	opLocalTee    = 0x22
	opGlobalGet   = 0x23
	opGlobalSet   = 0x24
	opTableSet    = 0x26
	opI32Load     = 0x28
	opI64Store32  = 0x3e
	opMemorySize  = 0x3f
	opMemoryGrow  = 0x40
	opI32Const    = 0x41
	opI64Const    = 0x42
	opF32Const    = 0x43
	opF64Const    = 0x44
	opI32Eqz      = 0x45
	opI32Eq       = 0x46
	opI32LtS      = 0x48
	opI32GtU      = 0x4b
	opI64GeS      = 0x59
	opI64Extend32 = 0xc4
	opI32Add      = 0x6a
	opI32Sub      = 0x6b
	opI32And      = 0x71
	opI32Shl      = 0x74
	opI32ShrU     = 0x76
	opRefNull     = 0xd0
	opRefIsNull   = 0xd1
	opRefFunc     = 0xd2
	opPrefix      = 0xfc

	bulkMemoryCopy = 10
	bulkMemoryFill = 11

	typeI32   = 0x7f
	typeEmpty = 0x40
)

// instruction reads one instruction and passes over its immediates. sub is the number behind the 0xfc prefix.
func (r *reader) instruction() (op byte, sub uint32, err error) {
	at := r.p
	op = r.byte()
	switch {
	case op == opBlock || op == opLoop || op == opIf:
		r.skip(5) // a value type, empty, or a type index as s33
	case op == opBr, op == opBrIf, op == opCall, op == opRefFunc, op == opRefNull, op >= opLocalGet && op <= opTableSet:
		r.skip(5)
	case op == opBrTable:
		n := r.u32()
		for i := uint64(0); i <= uint64(n) && !r.bad; i++ {
			r.skip(5)
		}
	case op == opIndirect:
		r.skip(5)
		r.skip(5)
	case op == opSelectT:
		r.bytes(r.u32())
	case op >= opI32Load && op <= opI64Store32:
		r.skip(5)
		r.skip(5)
	case op == opMemorySize || op == opMemoryGrow:
		r.byte()
	case op == opI32Const:
		r.skip(5)
	case op == opI64Const:
		r.skip(10)
	case op == opF32Const:
		r.bytes(4)
	case op == opF64Const:
		r.bytes(8)
	case op == opPrefix:
		sub = r.u32()
		switch sub {
		case 0, 1, 2, 3, 4, 5, 6, 7: // saturating truncations
		case 8: // memory.init
			r.skip(5)
			r.byte()
		case 9, 13, 15, 16, 17: // data.drop, elem.drop, table.grow, table.size, table.fill
			r.skip(5)
		case bulkMemoryCopy:
			r.bytes(2)
		case bulkMemoryFill:
			r.byte()
		case 12, 14: // table.init, table.copy
			r.skip(5)
			r.skip(5)
		default:
			return op, sub, fmt.Errorf("read instruction at %d: %w: unknown opcode 0xfc %d", at, errWasm, sub)
		}
	case op == opUnreachable || op == 0x01 || op == opElse || op == opEnd || op == opReturn || op == opDrop || op == 0x1b || op == opRefIsNull:
	case op >= opI32Eqz && op <= opI64Extend32:
	default:
		return op, 0, fmt.Errorf("read instruction at %d: %w: unknown opcode %#x", at, errWasm, op)
	}
	if r.bad {
		return op, sub, fmt.Errorf("read instruction at %d: %w: cut short", at, errWasm)
	}
	return op, sub, nil
}

// locals passes over the declarations of local variables at the start of a function body.
func (r *reader) locals() error {
	for n := r.u32(); n > 0 && !r.bad; n-- {
		r.u32()
		r.byte()
	}
	if r.bad {
		return fmt.Errorf("read locals: %w", errWasm)
	}
	return nil
}
