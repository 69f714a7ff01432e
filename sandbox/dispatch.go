package sandbox

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// bytecodes is how many bytecodes the interpreter can tell apart: they are bytes.
const bytecodes = 256

// dispatch rewrites how the interpreter finds the code for a bytecode. Who compiled the binary made numbers of the labels, and a
// table of them in memory: the interpreter reads the number for a bytecode there and branches by it. The table is known,
// so it is folded into the branch: one access to memory and its check less for every bytecode that runs, and nothing that a guest may
// write over says any more where the interpreter goes on.
func dispatch(code []byte, memory segments) ([]byte, error) {
	const least = 2 // the number of the branch's first target
	lookup := appendS32([]byte{opI32Const, 2, opI32Shl, opI32Const}, labels)
	lookup = append(lookup, opI32Add, opI32Load, 2, 0, opI32Const, least, opI32Sub, opBrTable)
	if n := bytes.Count(code, lookup); n != 1 {
		return nil, fmt.Errorf("%d branches by a label, not one: %w", n, errWasm)
	}
	at := bytes.Index(code, lookup)
	r := reader{b: code, p: at + len(lookup)}
	var targets []uint32
	for n := uint64(r.u32()) + 1; n > 0 && !r.bad; n-- {
		targets = append(targets, r.u32())
	}
	numbers := memory.read(labels, 4*bytecodes)
	if r.bad || numbers == nil {
		return nil, fmt.Errorf("a branch by a label, without its table: %w", errWasm)
	}
	other := targets[len(targets)-1]
	out := appendU32(append(bytes.Clone(code[:at]), opBrTable), bytecodes)
	for b := range bytecodes {
		target := other
		if n := binary.LittleEndian.Uint32(numbers[4*b:]) - least; uint64(n) < uint64(len(targets)) {
			target = targets[n]
		}
		out = appendU32(out, target)
	}
	return append(appendU32(out, other), code[r.p:]...), nil
}
