package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	_ "unsafe" // for go:linkname

	_ "github.com/fastschema/qjs" // holds the module's bytes
)

// wasmBytes is qjs.wasm as github.com/fastschema/qjs embeds it. Its own Go API is not used: see RATIONALE.md.
//
//go:linkname wasmBytes github.com/fastschema/qjs.wasmBytes
var wasmBytes []byte

// wasmSHA256 names the one binary that the layout below describes.
const wasmSHA256 = "88fcbeead33cca3ec8394feb0fb3eec8047ec9ac5062aba7a63799cee11989b7"

// original returns the module's bytes, or an error when they are not the ones that the layout describes.
func original() ([]byte, error) {
	sum := sha256.Sum256(wasmBytes)
	if got := hex.EncodeToString(sum[:]); got != wasmSHA256 {
		return nil, fmt.Errorf("check qjs.wasm: sha256 is %s, want %s: this is not the QuickJS build that cardrun knows", got, wasmSHA256)
	}
	return wasmBytes, nil
}

// Everything below is a constant of that one binary. The start-up self-test proves it anew in every process.

// importedFunctions come before the defined ones in the index space.
const importedFunctions = 24

// Functions, by index (imports first).
const (
	fnMalloc      = 101 // malloc(bytes)
	fnFree        = 103 // free(ptr)
	fnNew         = 90  // New_QJS(memory limit, max stack size, unused, gc threshold) → *{JSRuntime, JSContext}
	fnFreeValue   = 280 // JS_FreeValue(ctx, value)
	fnGetProperty = 412 // JS_GetPropertyStr(ctx, object, name)

	fnTick         = 6   // fd_close, an import: with an argument that no real call has, it is the host's tick
	fnSbrk         = 130 // sbrk(bytes): the only memory.grow of the module
	fnInterpret    = 266 // JS_CallInternal: the interpreter
	fnExecuteJob   = 279 // JS_ExecutePendingJob(rt, *ctx) → <0 exception, 0 none, 1 ran
	fnCall         = 451 // JS_Call(ctx, func, this, argc, argv)
	fnEvalFunction = 488 // JS_EvalFunction(ctx, bytecode)
	fnEval         = 493 // JS_Eval(ctx, input, length, filename, flags)
	fnParseJSON    = 519 // JS_ParseJSON(ctx, input, length, filename)
	fnUsableSize   = 611 // js_malloc_usable_size(ptr), a constant 0 in this build
)

// Memory.
const (
	pageSize     = 65536                          // of WebAssembly
	linkedPages  = 3                              // initial memory of the binary; the allocator knows of no more
	oldStackTop  = 165408                         // where the binary puts its stack pointer, and where its heap starts
	stackPages   = 16                             // added by us above the linked pages
	stackLow     = linkedPages * pageSize         // the lowest address of the stack
	stackHigh    = stackLow + stackPages*pageSize // one past its highest
	stackTop     = stackHigh - 64                 // where the stack pointer starts
	stackFloor   = stackLow + 256                 // no frame may start below it; 128 bytes under a frame may be used without one
	initialPages = linkedPages + stackPages       // of the adapted module
	heapPages    = 511                            // that the allocator may add: with the rest of its linked pages just under limits.Heap
	labels       = 84480                          // the interpreter's table: for each bytecode, the number of its label
	maximumPages = initialPages + heapPages       // past these, memory.grow fails
)

// Fields of the engine's own structures, as offsets.
const (
	rtHeapBytes    = 24      // JSRuntime.malloc_state.malloc_size
	rtStackSize    = 120     // JSRuntime.stack_size
	rtStackTop     = 124     // JSRuntime.stack_top
	rtStackLimit   = 128     // JSRuntime.stack_limit
	rtException    = 136     // JSRuntime.current_exception
	rtModuleLoader = 192     // JSRuntime.module_loader_func
	rtJobList      = 180     // JSRuntime.job_list: prev, next
	ctxRuntime     = 16      // JSContext.rt
	ctxModules     = 276     // JSContext.loaded_modules: prev, next
	ctxRandom      = 264     // JSContext.random_state
	objClass       = 6       // JSObject.class_id, 16 bits
	objOpaque      = 32      // JSObject.u
	arrayValues    = 36      // JSObject.u.array.u.values, of an array that has its elements in one piece
	arrayCount     = 40      // JSObject.u.array.count
	promiseState   = 0       // JSPromiseData.promise_state: 0 pending, 1 fulfilled, 2 rejected
	promiseResult  = 24      // JSPromiseData.promise_result
	classPromise   = 50      // JS_CLASS_PROMISE
	strLength      = 4       // JSString: length in 31 bits, then one bit that tells 16-bit units
	strSlice       = 1 << 61 // in the 64 bits at strLength: the string is a window on another
	strData        = 20      // JSString: its units; of a window the other string, and the byte of its units where it begins
)

// bootModules are registered at boot: qjs:std, qjs:os, qjs:bjson, and the script that makes globals of them.
const bootModules = 4

// JSValue: the tag is in the upper half.
const (
	tagInt        = 0
	tagUndefined  = 3
	tagException  = 6
	tagString     = 0xffff_fff9 // -7
	tagObject     = 0xffff_ffff // -1
	undefined     = tagUndefined << 32
	uninitialized = 4 << 32
)

// JS_Eval's flags.
const (
	evalGlobal      = 0
	evalCompileOnly = 1 << 5
)
