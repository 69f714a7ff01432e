// Package sandbox knows the engine: QuickJS-ng in WebAssembly, adapted at load time so that its budgets really hold, the
// boot image that fresh guests are made from, guests, their rounds, and what a round used.
//
// It refuses to know what the guest's code is for: no ui calls, no HTML, no cards. Bytes go in and bytes come out, and
// no type of the WebAssembly runtime leaves the package.
//
// The rule of use: one [Engine] for a process; one [Guest] for an activation; [Guest.Run] for each round; [Guest.Close]
// always. A guest whose round failed never runs again. An Engine may be used from many goroutines, a Guest from one at a
// time.
//
// # Worker processes
//
// With [IsolationProcess] guests run in processes that this one starts, on Linux, one guest at a time in each. Nothing
// changes for who uses them, but that main must call [ServeWorker] first, and that a guest can be lost with its process: then its
// round fails with the code engine.
//
// # The prelude
//
// An engine is made with a prelude, a script that is run once, before the boot image is taken, and whose completion
// value is an object with three functions. They are the only way in and out:
//
//	enter(input)   is called at the start of a round with the round's input, parsed from JSON.
//	               If it returns a promise that is rejected when all jobs have run, the round fails.
//	leave()        is called at the end of a round; the string it returns is the round's output. Where it returns a
//	               number n, that is the first n elements of the array parts, a fourth member of the object: strings,
//	               each behind its length (see PartHead). Building one string of them in the guest takes longer.
//	describe(e)    turns anything that was thrown into a string.
//
// The guest has no host function at all: nothing it calls reaches Go but a clock.
package sandbox
