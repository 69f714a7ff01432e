package sandbox

import "time"

// Usage is what one round used.
type Usage struct {
	// Elapsed is the time from when the round had its place among the workers until its result was out.
	Elapsed time.Duration
	// Fuel counts loop iterations inside the engine, and one for every 64 bytes of a bulk operation: the same on every
	// machine for the same round.
	Fuel int64
	// Microtasks counts the jobs that ran.
	Microtasks int
	// HeapBytes is the guest's heap at the end of the round.
	HeapBytes int64
	// ReadClock and ReadRandom tell whether the round looked at the clock or drew a random number, so that its result
	// may differ at another time.
	ReadClock, ReadRandom bool
}
