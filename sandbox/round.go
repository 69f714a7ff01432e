package sandbox

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/tetratelabs/wazero/api"
)

// Why a guest was stopped from outside. They reach the caller as limits.Error, through ended.
var (
	errTime   = errors.New("the round's time is over")
	errFuel   = errors.New("the round's fuel is used up")
	errMemory = errors.New("the heap is full")
	errStack  = errors.New("the stack is full")
	errExit   = errors.New("the guest called exit")
	errBridge = errors.New("the guest called a host function that is not there")
)

// round is what the host functions know of the guest that calls them. It is the context of every call into a guest, so
// that no look-up stands between the tick and the deadline.
type round struct {
	context.Context
	fuel api.MutableGlobal

	start   time.Time
	budget  time.Duration // zero: not bounded, as at boot
	maxFuel int64         // zero: not bounded
	used    int64         // fuel of the portions before this one
	portion int64         // fuel given at the last refill

	// native are the machine stacks that code called under this round may run on.
	native *[roundCalls]reflect.Value

	now       func() time.Time // the guest's clock
	readClock bool             // whether the guest looked at it
}

func newRound(mod api.Module) *round {
	r := &round{fuel: mod.ExportedGlobal("fuel").(api.MutableGlobal), now: time.Now}
	r.begin(context.Background(), 0, 0)
	return r
}

// begin starts the clock and the count. A budget or a fuel of zero is no bound.
func (r *round) begin(ctx context.Context, budget time.Duration, fuel int64) {
	r.Context, r.start, r.budget, r.maxFuel, r.used, r.readClock = ctx, time.Now(), budget, fuel, 0, false
	r.refill()
}

// refill gives the guest its next portion, a smaller one where the bound is near.
func (r *round) refill() {
	r.portion = refill
	if r.maxFuel > 0 {
		r.portion = min(refill, r.maxFuel-r.used)
	}
	r.fuel.Set(api.EncodeI32(int32(r.portion)))
}

// spent is the fuel used since begin.
func (r *round) spent() int64 {
	return r.used + r.portion - int64(api.DecodeI32(r.fuel.Get()))
}

// tick is called by the guest when its portion is used up. It returns why the guest must stop, or nil after a refill.
func (r *round) tick() error {
	r.used = r.spent()
	r.portion = 0
	if r.maxFuel > 0 && r.used >= r.maxFuel {
		return errFuel
	}
	if r.budget > 0 && time.Since(r.start) > r.budget {
		return errTime
	}
	if err := r.Err(); err != nil {
		return err
	}
	if r.native != nil {
		for _, stack := range r.native {
			if stack.IsValid() && stackSize(stack) > nativeStackMost {
				return errStack
			}
		}
	}
	r.refill()
	return nil
}

// end lets go of the caller's context.
func (r *round) end() { r.Context = context.Background() }
