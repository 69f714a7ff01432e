package sandbox

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// errCorrupt says that guest memory does not hold what the engine would have put there.
var errCorrupt = errors.New("guest memory is corrupted")

// instance is one instantiation of the adapted module with its memory: the raw machine under a Guest. Everything read
// from its memory counts as written by an attacker.
type instance struct {
	mod   api.Module
	mem   *reservation
	fuel  api.MutableGlobal
	round *round // what the tick and the clock look at; also the context of every call
	stack [8]uint64

	eval, evalFunction, callFunction, executeJob, parseJSON, freeValue api.Function
	stacks                                                             [roundCalls]reflect.Value // the native stacks of those
}

// instantiate makes an instance whose memory is as the binary says, with nothing run.
func (e *Engine) instantiate() (*instance, error) {
	mem, err := e.reserve(maximumPages * pageSize)
	if err != nil {
		return nil, err
	}
	ctx := experimental.WithMemoryAllocator(context.Background(), experimental.MemoryAllocatorFunc(
		func(_, _ uint64) experimental.LinearMemory { return mem }))
	mod, err := e.wasm.InstantiateModule(ctx, e.compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		mem.Free()
		return nil, fmt.Errorf("instantiate guest: %w", err)
	}
	i := &instance{mod: mod, mem: mem, round: newRound(mod), fuel: mod.ExportedGlobal("fuel").(api.MutableGlobal)}
	for n := range i.functions() {
		i.bind(n)
	}
	i.round.native = &i.stacks
	return i, nil
}

// functions are the exported functions that a guest's rounds call, by name.
func (i *instance) functions() [roundCalls]export {
	return [...]export{
		{&i.eval, "eval"}, {&i.evalFunction, "evalFunction"}, {&i.callFunction, "call"}, {&i.executeJob, "executeJob"},
		{&i.parseJSON, "parseJSON"}, {&i.freeValue, "freeValue"},
	}
}

// roundCalls is how many functions a round calls.
const roundCalls = 6

type export struct {
	to   *api.Function
	name string
}

// bind looks function n up, which gives it a new, small native stack.
func (i *instance) bind(n int) {
	f := i.functions()[n]
	*f.to = i.mod.ExportedFunction(f.name)
	i.stacks[n] = nativeStack(*f.to)
}

// nativeStackKept is how large a native stack may stay between rounds, for each function that the host calls: a hundred calls
// deep. Its frames are large: 256 KiB of the guest's own stack may be 8 MiB of it.
const nativeStackKept = 1 << 20

// nativeStackMost is more than any chain of calls needs that the guest's own stack allows. What passes it are calls that take
// no frame there, and there are such only where memory is not what the engine made of it.
const nativeStackMost = 24 << 20

// shrink lets go of native stacks that a deep recursion has made large: they are outside the guest's memory and would stay
// as long as the instance.
func (i *instance) shrink() {
	for n, stack := range i.stacks {
		if stackSize(stack) > nativeStackKept {
			i.bind(n)
		}
	}
}

// nativeStack is the stack, a slice, that machine code called through f runs on. The runtime does not tell, so its own field is
// looked at; the zero Value where it is not to be found.
func nativeStack(f api.Function) reflect.Value {
	v := reflect.ValueOf(f)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return reflect.Value{}
	}
	if v = v.Elem().FieldByName("stack"); v.Kind() != reflect.Slice {
		return reflect.Value{}
	}
	return v
}

// stackSize is the size in bytes of what nativeStack gave, now; one that was not found counts as large.
func stackSize(stack reflect.Value) int {
	if !stack.IsValid() {
		return math.MaxInt
	}
	return stack.Len() * int(stack.Type().Elem().Size())
}

// close gives everything back. The instance must not be used again.
func (i *instance) close() {
	_ = i.mod.Close(context.Background()) // wazero frees the memory through the allocator; there is nothing to fail
	i.mem.Free()
}

// call runs an exported function under the current round. The upper half of an i32 result is garbage.
func (i *instance) call(f api.Function, args ...uint64) (uint64, error) {
	copy(i.stack[:], args)
	if err := f.CallWithStack(i.round, i.stack[:]); err != nil {
		return 0, err
	}
	return i.stack[0], nil
}

func (i *instance) u32(at uint32) (uint32, error) {
	if uint64(at)+4 > uint64(i.mem.size) {
		return 0, fmt.Errorf("read 4 bytes at %#x: %w", at, errCorrupt)
	}
	return binary.LittleEndian.Uint32(i.mem.buf[at:]), nil
}

func (i *instance) u64(at uint32) (uint64, error) {
	if uint64(at)+8 > uint64(i.mem.size) {
		return 0, fmt.Errorf("read 8 bytes at %#x: %w", at, errCorrupt)
	}
	return binary.LittleEndian.Uint64(i.mem.buf[at:]), nil
}

func (i *instance) setU32(at, v uint32) error {
	if uint64(at)+4 > uint64(i.mem.size) {
		return fmt.Errorf("write 4 bytes at %#x: %w", at, errCorrupt)
	}
	binary.LittleEndian.PutUint32(i.mem.buf[at:], v)
	return nil
}

func (i *instance) setU64(at uint32, v uint64) error {
	if uint64(at)+8 > uint64(i.mem.size) {
		return fmt.Errorf("write 8 bytes at %#x: %w", at, errCorrupt)
	}
	binary.LittleEndian.PutUint64(i.mem.buf[at:], v)
	return nil
}

func tag(v uint64) uint32 { return uint32(v >> 32) }

// text copies a JavaScript string out of guest memory as UTF-8; lone surrogates become U+FFFD (D2). A string longer than
// max units is an error: nothing is allocated for it.
func (i *instance) text(v uint64, max int) ([]byte, error) {
	out, _, err := i.appendText(nil, v, max)
	return out, err
}

// appendText is text, appended to dst, and how many units it has.
func (i *instance) appendText(dst []byte, v uint64, max int) (out []byte, units int, err error) {
	if tag(v) != tagString {
		return nil, 0, fmt.Errorf("read string: the value has tag %d: %w", int32(tag(v)), errCorrupt)
	}
	at := uint32(v)
	head, err := i.u64(at + strLength)
	if err != nil {
		return nil, 0, err
	}
	n, wide := int(head&0x7fff_ffff), head&(1<<31) != 0
	if n > max {
		return nil, 0, fmt.Errorf("read string: %d units, more than %d: %w", n, max, errCorrupt)
	}
	size := n
	if wide {
		size = 2 * n
	}
	start := uint64(at) + strData
	if head&strSlice != 0 { // a window on another: where that is, and at which of its bytes it begins
		window, err := i.u64(at + strData)
		if err != nil {
			return nil, 0, err
		}
		start = window&0xffff_ffff + strData + window>>32
	}
	if start+uint64(size) > uint64(i.mem.size) {
		return nil, 0, fmt.Errorf("read string: %d bytes at %#x: %w", size, start, errCorrupt)
	}
	data := i.mem.buf[start : start+uint64(size)]
	if wide {
		return appendUTF16(dst, data), n, nil
	}
	return appendLatin1(dst, data), n, nil
}

func appendLatin1(out, data []byte) []byte {
	high := 0
	for _, c := range data {
		high += int(c >> 7)
	}
	if high == 0 {
		return append(out, data...)
	}
	out = slices.Grow(out, len(data)+high)
	for _, c := range data {
		out = utf8.AppendRune(out, rune(c))
	}
	return out
}

func appendUTF16(out, data []byte) []byte {
	out = slices.Grow(out, len(data)/2+len(data)/4)
	for k := 0; k < len(data); k += 2 {
		r := rune(binary.LittleEndian.Uint16(data[k:]))
		if r < utf8.RuneSelf {
			out = append(out, byte(r))
			continue
		}
		if utf16.IsSurrogate(r) {
			second := rune(utf8.RuneError)
			if k+3 < len(data) {
				second = rune(binary.LittleEndian.Uint16(data[k+2:]))
			}
			if r = utf16.DecodeRune(r, second); r != utf8.RuneError {
				k += 2
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

// promise tells whether v is a promise, its state, and what it settled with.
func (i *instance) promise(v uint64) (is bool, state uint32, result uint64, err error) {
	if tag(v) != tagObject {
		return false, 0, 0, nil
	}
	at := uint32(v)
	class, err := i.u32(at + objClass - 2) // the class is the upper half of an aligned word
	if err != nil || class>>16 != classPromise {
		return false, 0, 0, err
	}
	data, err := i.u32(at + objOpaque)
	if err != nil {
		return false, 0, 0, err
	}
	if state, err = i.u32(data + promiseState); err != nil {
		return false, 0, 0, err
	}
	result, err = i.u64(data + promiseResult)
	return true, state, result, err
}

// exception takes the pending exception, as JS_GetException does.
func (i *instance) exception(rt uint32) (uint64, error) {
	v, err := i.u64(rt + rtException)
	if err != nil {
		return 0, err
	}
	return v, i.setU64(rt+rtException, uninitialized)
}
