package sandbox

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLEB128(t *testing.T) {
	for _, v := range []uint32{0, 1, 63, 64, 127, 128, 16383, 16384, 1<<31 - 1, 1 << 31, math.MaxUint32} {
		r := reader{b: appendU32(nil, v)}
		if got := r.u32(); got != v || r.bad || r.p != len(r.b) {
			t.Errorf("%d came back as %d from %x", v, got, r.b)
		}
	}
	for v, want := range map[int32]string{
		0: "\x00", 1: "\x01", -1: "\x7f", 63: "\x3f", 64: "\xc0\x00", -64: "\x40", -65: "\xbf\x7f", 165408: "\xa0\x8c\x0a",
		math.MaxInt32: "\xff\xff\xff\xff\x07", math.MinInt32: "\x80\x80\x80\x80\x78",
	} {
		if got := appendS32(nil, v); string(got) != want {
			t.Errorf("%d is %x, want %x", v, got, want)
		}
	}
	for _, bad := range []string{"", "\x80", "\xff\xff\xff\xff\x1f", "\x80\x80\x80\x80\x80\x00"} {
		r := reader{b: []byte(bad)}
		if v := r.u32(); v != 0 || !r.bad {
			t.Errorf("%x read as %d", bad, v)
		}
	}
}

func TestModuleRoundTrip(t *testing.T) {
	wasm, err := original()
	if err != nil {
		t.Fatal(err)
	}
	sections, err := readModule(wasm)
	if err != nil {
		t.Fatal(err)
	}
	// The binary writes sizes in five bytes, we in as few as it takes: read back, it is the same.
	again, err := readModule(writeModule(sections))
	if err != nil || len(again) != len(sections) {
		t.Fatal(err, len(again), len(sections))
	}
	for i := range again {
		if again[i].id != sections[i].id || !bytes.Equal(again[i].body, sections[i].body) {
			t.Errorf("section %d differs", i)
		}
	}
}

// TestCutShort reads the module cut at many places: an error each time, never a panic.
func TestCutShort(t *testing.T) {
	wasm, err := original()
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(wasm); n += 1 + n/3 {
		if _, err := adapt(wasm[:n], true); err == nil {
			t.Errorf("the first %d bytes were accepted", n)
		}
	}
}

func TestInstructions(t *testing.T) {
	for _, c := range []struct {
		name, code string
		sub        uint32
	}{
		{"unreachable", "\x00", 0}, {"nop", "\x01", 0}, {"block", "\x02\x40", 0}, {"loop with a type index", "\x03\x80\x01", 0}, {"if", "\x04\x7f", 0},
		{"else", "\x05", 0}, {"end", "\x0b", 0}, {"br", "\x0c\x05", 0}, {"br_if", "\x0d\x81\x01", 0}, {"br_table", "\x0e\x02\x00\x81\x00\x05", 0},
		{"return", "\x0f", 0}, {"call", "\x10\xff\x07", 0}, {"call_indirect", "\x11\x03\x00", 0}, {"drop", "\x1a", 0}, {"select", "\x1b", 0},
		{"select t", "\x1c\x01\x7f", 0}, {"local.get", "\x20\x00", 0}, {"global.set", "\x24\x01", 0}, {"table.get", "\x25\x00", 0},
		{"i32.load", "\x28\x02\x90\x01", 0}, {"i64.store32", "\x3e\x02\x00", 0}, {"memory.size", "\x3f\x00", 0}, {"memory.grow", "\x40\x00", 0},
		{"i32.const", "\x41\x80\x80\x80\x80\x78", 0}, {"i64.const", "\x42\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", 0}, {"f32.const", "\x43\x02\x03\x0b\x10", 0},
		{"f64.const", "\x44\x03\x03\x03\x03\x03\x03\x03\x03", 0}, {"i32.eqz", "\x45", 0}, {"i64.extend32_s", "\xc4", 0}, {"ref.null", "\xd0\x70", 0},
		{"ref.is_null", "\xd1", 0}, {"ref.func", "\xd2\x85\x01", 0}, {"trunc_sat", "\xfc\x07", 7}, {"memory.init", "\xfc\x08\x01\x00", 8}, {"data.drop", "\xfc\x09\x01", 9},
		{"memory.copy", "\xfc\x0a\x00\x00", 10}, {"memory.fill", "\xfc\x0b\x00", 11}, {"table.init", "\xfc\x0c\x00\x00", 12}, {"table.copy", "\xfc\x0e\x00\x00", 14},
		{"table.grow", "\xfc\x0f\x00", 15}, {"table.fill", "\xfc\x11\x00", 17},
	} {
		r := reader{b: []byte(c.code + "\x0b")}
		op, sub, err := r.instruction()
		if err != nil || op != c.code[0] || sub != c.sub || r.p != len(c.code) {
			t.Errorf("%s: op %#x %d, %d of %d bytes, %v", c.name, op, sub, r.p, len(c.code), err)
		}
		for n := range len(c.code) {
			r := reader{b: []byte(c.code[:n])}
			if _, _, err := r.instruction(); !errors.Is(err, errWasm) {
				t.Errorf("%s cut to %d bytes: %v", c.name, n, err)
			}
		}
	}
	for _, unknown := range []string{"\x06", "\x12", "\x1d", "\x27", "\xc5", "\xd3", "\xfb", "\xfd", "\xff", "\xfc\x12", "\xfc\xff\x01"} {
		r := reader{b: []byte(unknown + "\x00\x00\x00")}
		if _, _, err := r.instruction(); !errors.Is(err, errWasm) {
			t.Errorf("opcode %x: %v", unknown, err)
		}
	}
	r := reader{b: []byte("\x0e\xff\xff\xff\xff\x0f\x00")} // a br_table of four billion labels
	if _, _, err := r.instruction(); !errors.Is(err, errWasm) {
		t.Error(err)
	}
}

func TestAdaptFunction(t *testing.T) {
	const frame = "\x23\x00\x41\x80\x82\x0c\x6b\x41\xc0\xfd\x3f\x4b\x04\x40\x41\x7d\x10\x06\x1a\x00\x0b"
	const fuel, tick = "\x23\x01\x41\x01\x6b\x24\x01\x23\x01\x41\x00\x48", "\x41\x7f\x10\x06\x1a"
	const check = fuel + "\x04\x40" + tick + "\x0b"
	const turn, done = "\x02\x40" + fuel + "\x0d\x00", "\x0c\x02\x0b" + tick + "\x0c\x00\x0b\x0b"
	for _, c := range []struct {
		name, in, out string
		grows         int
	}{
		{"nothing", "\x00\x0b", "\x00\x0b", 0},
		{"locals stay", "\x01\x03\x7f\x20\x03\x1a\x0b", "\x01\x03\x7f\x20\x03\x1a\x0b", 0},
		{"loop", "\x00\x03\x40\x0c\x00\x0b\x0b", "\x00\x02\x40\x03\x40" + turn + "\x0c\x01" + done + "\x0b", 0},
		{"loop in loop", "\x00\x03\x40\x03\x7f\x0b\x1a\x0b\x0b",
			"\x00\x02\x40\x03\x40" + turn + "\x02\x7f\x03\x7f" + turn + done + "\x1a" + done + "\x0b", 0},
		{"branches out of loops",
			"\x00\x02\x40\x03\x40\x04\x40\x0c\x00\x05\x0d\x01\x0b\x03\x40\x0c\x00\x0c\x01\x0c\x02\x0e\x02\x00\x02\x03\x0b\x0b\x0c\x00\x0b\x0c\x00\x0b",
			"\x00\x02\x40\x02\x40\x03\x40" + turn + "\x04\x40\x0c\x00\x05\x0d\x02\x0b\x02\x40\x03\x40" + turn +
				"\x0c\x01\x0c\x04\x0c\x06\x0e\x02\x01\x06\x07" + done + done + "\x0c\x00\x0b\x0c\x00\x0b", 0},
		{"a constant that looks like a loop", "\x00\x41\x03\x1a\x0b", "\x00\x41\x03\x1a\x0b", 0},
		{"copy", "\x00\x20\x00\xfc\x0a\x00\x00\x0b", "\x00\x20\x00\x10\xff\x07\xfc\x0a\x00\x00\x0b", 0},
		{"fill behind a loop", "\x00\x03\x40\xfc\x0b\x00\x0b\x0b", "\x00\x02\x40\x03\x40" + turn + "\x10\xff\x07\xfc\x0b\x00" + done + "\x0b", 0},
		{"frame", "\x00\x23\x00\x41\x10\x6b\x24\x00\x0b", "\x00\x23\x00\x41\x10\x6b\x24\x00" + frame + check + "\x0b", 0},
		{"frame given back", "\x00\x23\x00\x41\x10\x6a\x24\x00\x0b", "\x00\x23\x00\x41\x10\x6a\x24\x00\x0b", 0},
		{"another global", "\x00\x41\x10\x24\x02\x0b", "\x00\x41\x10\x24\x02\x0b", 0},
		{"grow", "\x00\x40\x00\x40\x00\x0b", "\x00\x40\x00\x40\x00\x0b", 2},
	} {
		grows, out, err := adaptFunction([]byte(c.in), 1023, true, false, true)
		if err != nil || string(out) != c.out || grows != c.grows {
			t.Errorf("%s: %x, want %x; %d grows, %v", c.name, out, c.out, grows, err)
		}
		if _, out, err := adaptFunction([]byte(c.in), 1023, true, true, false); err != nil || string(out) != c.in {
			t.Errorf("%s without fuel: %x, %v", c.name, out, err)
		}
	}
	if _, out, err := adaptFunction([]byte("\x01\x01\x7f\x20\x00\x0b"), 1023, false, true, true); err != nil || string(out) != "\x01\x01\x7f"+check+"\x20\x00\x0b" {
		t.Errorf("one that pays where it begins: %x, %v", out, err)
	}
}

func TestPayLoopsRefuses(t *testing.T) {
	for name, code := range map[string]string{
		"a loop by its type's index": "\x00\x03\x05\x0b\x0b", "a branch too far": "\x00\x03\x40\x0c\x02\x0b\x0b",
		"a table too far": "\x00\x03\x40\x0e\x01\x00\x7f\x0b\x0b", "a branch behind the end": "\x00\x0b\x0c\x00", "an end too many": "\x00\x0b\x0b",
	} {
		if out, err := payLoops([]byte(code)); !errors.Is(err, errWasm) {
			t.Errorf("%s: %x, %v", name, out, err)
		}
	}
}

// TestEveryLoopPays walks the binary. In what runs, each loop checks the fuel where a turn begins; and there, as in the original,
// each branch goes to the construct that it went to.
func TestEveryLoopPays(t *testing.T) {
	wasm, err := original()
	if err != nil {
		t.Fatal(err)
	}
	adapted, err := adapt(wasm, true)
	if err != nil {
		t.Fatal(err)
	}
	head := string(append(slices.Concat([]byte{opBlock, typeEmpty}, fuelCheck), opBrIf, 0))
	loops := func(code []byte, behind string) (n int) {
		r := reader{b: code}
		if err := r.locals(); err != nil {
			t.Fatal(err)
		}
		for r.p < len(code) {
			op, _, err := r.instruction()
			if err != nil {
				t.Fatal(err)
			}
			if op == opLoop {
				n++
				if !bytes.HasPrefix(code[r.p:], []byte(behind)) {
					t.Errorf("a loop begins with %x", code[r.p:min(r.p+20, len(code))])
				}
			}
		}
		return n
	}
	before, after := functions(t, wasm), functions(t, adapted)
	all := 0
	for i, code := range before {
		n := loops(code, "")
		if got := loops(after[i], head); got != n {
			t.Errorf("function %d: %d loops of %d", importedFunctions+i, got, n)
		}
		all += n
		paid, err := payLoops(code)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(branches(t, code, false), branches(t, paid, true)); d != "" {
			t.Errorf("function %d: %s", importedFunctions+i, d)
		}
	}
	t.Logf("attacks: %d", all)
	if all < 1000 || len(after) != len(before)+1 || loops(after[len(before)], head) != 0 {
		t.Errorf("the walk sees nothing: %d loops in %d functions, then %d", all, len(before), len(after))
	}
}

// functions are the bodies of a module's own functions.
func functions(t *testing.T, wasm []byte) (out [][]byte) {
	sections, err := readModule(wasm)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sections {
		if s.id == secCode {
			r := reader{b: s.body}
			for n := r.u32(); n > 0; n-- {
				out = append(out, r.bytes(r.u32()))
			}
		}
	}
	return out
}

// branches lists for each target of each branch the construct that it goes to, by the order in which constructs begin, and 0 for the
// function. paid says that two blocks of each loop, and a branch at its head and two at its end, are what payLoops adds.
func branches(t *testing.T, code []byte, paid bool) (out []int) {
	type open struct {
		number int // or added
		loop   bool
		turn   bool // it is the block that holds a paying loop's body
	}
	const added = -1
	r := reader{b: code}
	if err := r.locals(); err != nil {
		t.Fatal(err)
	}
	stack, count := []open{{}}, 0
	for r.p < len(code) {
		start := r.p
		op, _, err := r.instruction()
		if err != nil {
			t.Fatal(err)
		}
		switch op {
		case opBlock, opIf, opLoop:
			o := open{number: added, loop: op == opLoop}
			outer := op == opBlock && paid && code[r.p] == opLoop
			o.turn = paid && stack[len(stack)-1].loop
			if !outer && !o.turn {
				count++
				o.number = count
			}
			stack = append(stack, o)
		case opEnd:
			stack = stack[:len(stack)-1]
		case opBr, opBrIf, opBrTable:
			a := reader{b: code[:r.p], p: start + 1}
			if op == opBrTable {
				a.u32()
			}
			if paid && stack[len(stack)-1].loop {
				continue // behind the tick
			}
			for a.p < r.p {
				to := stack[len(stack)-1-int(a.u32())]
				if to.number != added {
					out = append(out, to.number)
				}
			}
		}
	}
	if len(stack) > 0 {
		t.Fatalf("%d constructs are open at the end", len(stack))
	}
	return out
}

// TestDispatch folds a table of three labels into a branch.
func TestDispatch(t *testing.T) {
	const lookup = "\x41\x02\x74\x41\x80\x94\x05\x6a\x28\x02\x00\x41\x02\x6b"
	table := make([]byte, 4*bytecodes)
	table[0], table[4], table[8], table[12] = 3, 2, 4, 200 // the others are 0: less than the least
	memory := segments{{labels - 1, append([]byte{9}, table...)}}
	want := "\x00\x20\x00\x0e\x80\x02\x06\x05\x07" + strings.Repeat("\x08", bytecodes-3) + "\x08\x0b"
	out, err := dispatch([]byte("\x00\x20\x00"+lookup+"\x0e\x03\x05\x06\x07\x08\x0b"), memory)
	if err != nil || string(out) != want {
		t.Errorf("%x, %v, want %x", out, err, want)
	}
	for name, code := range map[string]string{
		"none": "\x00\x0b", "two": "\x00" + lookup + "\x0e\x00\x00" + lookup + "\x0e\x00\x00\x0b", "cut": "\x00" + lookup + "\x0e\xff\xff\xff\xff\x0f\x00",
	} {
		if out, err := dispatch([]byte(code), memory); !errors.Is(err, errWasm) {
			t.Errorf("%s: %x, %v", name, out, err)
		}
	}
	if _, err := dispatch([]byte("\x00"+lookup+"\x0e\x00\x00\x0b"), segments{{labels, table[1:]}}); !errors.Is(err, errWasm) {
		t.Errorf("without its table: %v", err)
	}
}

// TestAdaptRefusesAnotherBinary changes what adaptation relies on, one thing at a time.
func TestAdaptRefusesAnotherBinary(t *testing.T) {
	wasm, err := original()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		id   byte
		edit func([]byte) []byte
	}{
		{"memory", secMemory, func([]byte) []byte { return []byte{1, 0, 4} }},
		{"stack pointer", secGlobal, func(b []byte) []byte { return append(bytes.Clone(b[:4]), 0x80, 0x80, 0x04, opEnd) }},
		{"initial memory", secData, func(b []byte) []byte { return append(bytes.Clone(b[:1]), 1) }},
		{"initial memory elsewhere", secData, func(b []byte) []byte { return []byte{1, 0, opI32Const, 0, opEnd, 0} }},
		{"code cut", secCode, func(b []byte) []byte { return b[:len(b)-1] }},
	} {
		sections, err := readModule(wasm)
		if err != nil {
			t.Fatal(err)
		}
		for i := range sections {
			if sections[i].id == c.id {
				sections[i].body = c.edit(sections[i].body)
			}
		}
		if _, err := adapt(writeModule(sections), true); err == nil {
			t.Errorf("%s: accepted", c.name)
		}
	}
}

// TestRecursions walks the binary's calls: without the functions that guard, no chain of calls comes back to where it
// was and takes stack.
func TestRecursions(t *testing.T) {
	g := callGraph(t)
	guarded := map[uint32]bool{}
	for _, f := range recursions {
		if !g.frame[f] {
			t.Errorf("function %d takes no frame, so its guard is nowhere", f)
		}
		guarded[f] = true
	}
	for _, cycle := range g.cycles(guarded) {
		for _, f := range cycle {
			if g.frame[f] {
				t.Errorf("function %d takes stack in an unguarded cycle of %d functions", f, len(cycle))
			}
		}
	}
	for _, f := range frameless {
		guarded[f] = true
	}
	for _, cycle := range g.cycles(guarded) {
		t.Errorf("a cycle in which no function pays: %d", cycle)
	}
	for _, f := range append(frameless, fnInterpret) {
		delete(guarded, f)
	}
	if len(g.cycles(guarded)) == 0 || len(g.calls) != 1138 {
		t.Errorf("the walk sees nothing: %d functions", len(g.calls))
	}
}

// graph is who may call whom among the binary's own functions.
type graph struct {
	calls map[uint32][]uint32
	frame map[uint32]bool // takes stack
}

func callGraph(t *testing.T) graph {
	wasm, err := original()
	if err != nil {
		t.Fatal(err)
	}
	sections, err := readModule(wasm)
	if err != nil {
		t.Fatal(err)
	}
	body := map[byte][]byte{}
	for _, s := range sections {
		body[s.id] = s.body
	}
	types := reader{b: body[secFunction]}
	typeOf := make([]uint32, types.u32())
	for i := range typeOf {
		typeOf[i] = types.u32()
	}
	table := reader{b: body[9], p: 1} // one active segment of function indices
	if flags, op, at, end := table.u32(), table.byte(), table.u32(), table.byte(); flags != 0 || op != opI32Const || at != 1 || end != opEnd {
		t.Fatalf("element segment: %d %d %d %d", flags, op, at, end)
	}
	indirect := map[uint32][]uint32{} // type → functions in the table
	for n := table.u32(); n > 0; n-- {
		if f := table.u32(); f >= importedFunctions {
			indirect[typeOf[f-importedFunctions]] = append(indirect[typeOf[f-importedFunctions]], f)
		}
	}
	g := graph{map[uint32][]uint32{}, map[uint32]bool{}}
	code := reader{b: body[secCode]}
	for i := range code.u32() {
		f := importedFunctions + i
		g.calls[f] = []uint32{}
		r := reader{b: code.bytes(code.u32())}
		if err := r.locals(); err != nil {
			t.Fatal(err)
		}
		var before byte
		for r.p < len(r.b) {
			start := r.p
			op, _, err := r.instruction()
			if err != nil {
				t.Fatal(err)
			}
			argument := reader{b: r.b, p: start + 1}
			switch {
			case op == opCall:
				if callee := argument.u32(); callee >= importedFunctions {
					g.calls[f] = append(g.calls[f], callee)
				}
			case op == opIndirect:
				g.calls[f] = append(g.calls[f], indirect[argument.u32()]...)
			case takesFrame(op, before, r.b[start+1:]):
				g.frame[f] = true
			}
			before = op
		}
	}
	return g
}

// cycles are the strongly connected components with a cycle, found by Tarjan's algorithm, without some functions.
func (g graph) cycles(without map[uint32]bool) (out [][]uint32) {
	index, low, on := map[uint32]int{}, map[uint32]int{}, map[uint32]bool{}
	var stack []uint32
	var visit func(v uint32)
	visit = func(v uint32) {
		index[v] = len(index)
		low[v] = index[v]
		stack, on[v] = append(stack, v), true
		for _, w := range g.calls[v] {
			if without[w] {
				continue
			}
			if _, seen := index[w]; !seen {
				visit(w)
				low[v] = min(low[v], low[w])
			} else if on[w] {
				low[v] = min(low[v], index[w])
			}
		}
		if low[v] != index[v] {
			return
		}
		var c []uint32
		for {
			w := stack[len(stack)-1]
			stack, on[w] = stack[:len(stack)-1], false
			c = append(c, w)
			if w == v {
				break
			}
		}
		if len(c) > 1 || slices.Contains(g.calls[v], v) {
			out = append(out, c)
		}
	}
	for f := range uint32(len(g.calls)) {
		if _, seen := index[importedFunctions+f]; !seen && !without[importedFunctions+f] {
			visit(importedFunctions + f)
		}
	}
	return out
}

func TestShorten(t *testing.T) {
	const before, after = "\x42\x80\x80\x80\x80\x10\x59", "\x42\x80\x80\x80\x82\x00\x59"
	if got, err := shorten([]byte("ab" + before + "cd")); err != nil || string(got) != "ab"+after+"cd" {
		t.Errorf("%x, %v", got, err)
	}
	for _, bad := range []string{"", "abcd", before + before} {
		if got, err := shorten([]byte(bad)); err == nil {
			t.Errorf("%x became %x", bad, got)
		}
	}
}

func FuzzAdapt(f *testing.F) {
	f.Add([]byte("\x00\x03\x40\x0c\x00\x0b\x0b"))
	f.Add([]byte("\x01\x03\x7f\x20\x03\xfc\x0a\x00\x00\x0b"))
	f.Fuzz(func(t *testing.T, code []byte) {
		_, out, err := adaptFunction(code, 7, true, true, true)
		if err == nil && len(out) < len(code) {
			t.Errorf("%x became %x", code, out)
		}
		_, _ = readModule(append([]byte("\x00asm\x01\x00\x00\x00"), code...))
	})
}
