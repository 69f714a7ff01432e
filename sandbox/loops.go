package sandbox

import "fmt"

// payLoops rewrites every loop of a function so that each of its turns pays fuel, and so that the way to the tick leaves
// the loop and comes back to its head:
//
//	loop T                  block T
//	  BODY          →         loop T
//	end                         block
//	                              check the fuel, br_if 0
//	                              BODY
//	                              br 2
//	                            end
//	                            tick, br 0
//	                          end
//	                        end
//
// With the call in the middle of the loop, behind an if, all that is known of memory's bounds, and all that is in registers, would
// have to be found again behind it, on every turn.
func payLoops(code []byte) ([]byte, error) {
	r := reader{b: code}
	if err := r.locals(); err != nil {
		return nil, err
	}
	w := loopWriter{out: append(make([]byte, 0, len(code)*3/2), code[:r.p]...), open: []construct{{}}, depth: 1}
	for r.p < len(code) {
		start := r.p
		op, _, err := r.instruction()
		if err == nil {
			err = w.write(op, code[start:r.p])
		}
		if err != nil {
			return nil, err
		}
	}
	return w.out, nil
}

// loopWriter writes instructions whose branches still go where they went.
type loopWriter struct {
	out   []byte
	open  []construct // from the function itself on, as they were read
	depth int         // how many are open in what is written
}

// construct is a function, block, loop or if.
type construct struct {
	label int  // how many constructs are around the one, in what is written, that a branch to it goes to
	loop  bool // it is a loop, and so three constructs are open for it
}

func (w *loopWriter) write(op byte, instruction []byte) error {
	switch op {
	case opBlock, opIf:
		w.open = append(w.open, construct{label: w.depth})
		w.depth++
	case opLoop:
		if len(instruction) != 2 || instruction[1] < typeEmpty {
			return fmt.Errorf("a loop with operands: %w", errWasm) // a type by its index: this binary has none
		}
		w.out = append(append(w.out, opBlock), instruction[1:]...)
		w.out = append(append(w.out, instruction...), opBlock, typeEmpty)
		w.out = append(append(w.out, fuelCheck...), opBrIf, 0)
		w.open = append(w.open, construct{label: w.depth + 1, loop: true})
		w.depth += 3
		return nil
	case opEnd:
		if len(w.open) == 0 {
			return fmt.Errorf("an end too many: %w", errWasm)
		}
		last := w.open[len(w.open)-1]
		w.open = w.open[:len(w.open)-1]
		w.depth--
		if last.loop {
			w.out = append(append(w.out, opBr, 2, opEnd), fuelTick...)
			w.out = append(w.out, opBr, 0, opEnd)
			w.depth -= 2
		}
	case opBr, opBrIf, opBrTable:
		return w.branch(op, instruction[1:])
	}
	w.out = append(w.out, instruction...)
	return nil
}

// branch writes a branch, whose targets count from the innermost construct outwards.
func (w *loopWriter) branch(op byte, immediates []byte) error {
	w.out = append(w.out, op)
	r := reader{b: immediates}
	if op == opBrTable {
		w.out = appendU32(w.out, r.u32()) // how many more there are than the last
	}
	for r.p < len(immediates) {
		n := r.u32()
		if r.bad || uint64(n) >= uint64(len(w.open)) {
			return fmt.Errorf("a branch out of %d constructs: %w", len(w.open), errWasm)
		}
		w.out = appendU32(w.out, uint32(w.depth-1-w.open[len(w.open)-1-int(n)].label))
	}
	return nil
}
