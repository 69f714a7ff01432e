package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"example.com/cardrun/limits"
)

// ending is how a round came to its end. It is all that a worker process says of it beside what the guest threw: the words are
// the program's own.
type ending byte

const (
	endGood ending = iota
	endThrown
	endTime
	endFuel
	endMemory
	endStack
	endJobs
	endContext // the caller's context ended
	endFrozen  // the guest could not be thawed
	endMissing // no guest could be made
	endDepth   // the stack of the engine below the guest is full, which only the interpreter's gets
	endFault
	endings
)

// endingOf tells what err, as a round's work gave it, means.
func endingOf(ctx context.Context, err error) ending {
	switch {
	case err == nil:
		return endGood
	case isThrown(err):
		return endThrown
	case errors.Is(err, errJobs):
		return endJobs
	case errors.Is(err, errTime):
		return endTime
	case errors.Is(err, errFuel):
		return endFuel
	case errors.Is(err, errMemory):
		return endMemory
	case errors.Is(err, errStack):
		return endStack
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return endContext
	case strings.Contains(err.Error(), "wasm error: stack overflow"): // the error value is internal to wazero
		return endDepth
	}
	return endFault
}

// errJobs says that one job more than may run was waiting.
var errJobs = errors.New("too many jobs")

// explain is the error that the caller gets for an ending; err is what is known below it, or nil.
func (n ending) explain(ctx context.Context, budget time.Duration, fuel int64, err error) error {
	switch n {
	case endJobs:
		return &limits.Error{Code: limits.TooManyMicrotasks, Message: fmt.Sprintf(
			"more than %d microtasks wanted to run in one round; use fewer promises, or compute synchronously", limits.Microtasks)}
	case endTime:
		return &limits.Error{Code: limits.Timeout, Message: fmt.Sprintf("the round took more than %d ms and was stopped", budget.Milliseconds())}
	case endFuel:
		return &limits.Error{Code: limits.Timeout, Message: fmt.Sprintf("the round used more than its fuel of %d and was stopped", fuel)}
	case endMemory:
		return &limits.Error{Code: limits.Memory, Message: fmt.Sprintf("the heap needs more than its %d MiB", limits.Heap>>20)}
	case endStack:
		return &limits.Error{Code: limits.Exception, Message: "stack overflow: a chain of calls inside built-in functions is too deep"}
	case endContext:
		if ctx.Err() != nil {
			return fmt.Errorf("run round: %w", ctx.Err())
		}
	case endFrozen:
		return &limits.Error{Code: limits.Engine, Message: "the guest's frozen state cannot be used", Cause: ErrFrozen}
	case endMissing:
		return &limits.Error{Code: limits.Engine, Message: "no guest could be made: the worker process has no memory for it"}
	case endDepth:
		return &limits.Error{Code: limits.Engine, Message: "a chain of calls is too deep for the engine's own stack", Cause: err}
	}
	return &limits.Error{Code: limits.Engine, Message: "the script drove the engine into a fault, and the guest was replaced; avoid very deep nesting and very long array-like objects", Cause: err}
}
