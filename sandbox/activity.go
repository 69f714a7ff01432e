package sandbox

import (
	"errors"
	"fmt"

	"example.com/cardrun/limits"
)

// activity is one round while it runs.
type activity struct {
	m    *image
	i    *instance
	jobs int
}

// round is the life of a round; see the package doc.
func (a *activity) round(r Round) ([]byte, error) {
	given, err := a.enter(r.Input)
	if err == nil && r.Script != "" {
		err = a.script(r.Script)
	}
	if err == nil {
		err = a.drain()
	}
	if err == nil {
		err = a.settled(given)
	}
	if err == nil {
		err = a.drain() // what the promise's end may have queued: finalizers
	}
	if err != nil && !isThrown(err) {
		return nil, err
	}
	out, leaveErr := a.leave(r.MaxOutput)
	if leaveErr != nil {
		return nil, leaveErr
	}
	return out, err
}

// enter parses the input and calls the prelude's enter with it. It returns what enter returned.
func (a *activity) enter(input []byte) (uint64, error) {
	at, err := a.m.stage(a.i, "input", input)
	if err != nil {
		return 0, err
	}
	ctx := uint64(a.m.context)
	v, err := a.i.call(a.i.parseJSON, ctx, at.data, at.size, at.name)
	if err != nil {
		return 0, err
	}
	if tag(v) == tagException {
		return 0, fmt.Errorf("parse input in the guest: %w", errCorrupt)
	}
	given, err := a.call(a.m.enter, v)
	if err != nil {
		return 0, err
	}
	_, err = a.i.call(a.i.freeValue, ctx, v)
	return given, err
}

// compile parses a script without running it, and gives its bytecode.
func (a *activity) compile(script string) (uint64, error) {
	at, err := a.m.stage(a.i, ScriptName, []byte(script))
	if err != nil {
		return 0, err
	}
	v, err := a.i.call(a.i.eval, uint64(a.m.context), at.data, at.size, at.name, evalGlobal|evalCompileOnly)
	if err != nil {
		return 0, err
	}
	if tag(v) == tagException {
		return 0, a.thrown(Syntax)
	}
	return v, nil
}

// parse is compile for those who want no more than to know whether it parses.
func (a *activity) parse(script string) ([]byte, error) {
	v, err := a.compile(script)
	if err == nil {
		_, err = a.i.call(a.i.freeValue, uint64(a.m.context), v)
	}
	return nil, err
}

// script compiles and runs the round's script. That it is compiled apart is what tells a syntax error in it from one
// that it throws.
func (a *activity) script(script string) error {
	v, err := a.compile(script)
	if err != nil {
		return err
	}
	ctx := uint64(a.m.context)
	v, err = a.i.call(a.i.evalFunction, ctx, v) // which frees the bytecode
	if err != nil {
		return err
	}
	if tag(v) == tagException {
		return a.thrown(Uncaught)
	}
	_, err = a.i.call(a.i.freeValue, ctx, v)
	return err
}

// drain runs jobs one by one until none waits (D24): the last one that may run is number limits.Microtasks.
func (a *activity) drain() error {
	for {
		waiting, err := a.m.jobs(a.i)
		if err != nil || !waiting {
			return err
		}
		if a.jobs == limits.Microtasks {
			return errJobs
		}
		status, err := a.i.call(a.i.executeJob, uint64(a.m.runtime), uint64(a.m.buffer+bufferArgument))
		if err != nil {
			return err
		}
		a.jobs++
		if int32(uint32(status)) < 0 {
			return a.thrown(Uncaught)
		}
	}
}

// settled looks at what enter returned now that every job has run: a rejected promise ends the round (R111), a pending
// one can no longer settle and does not (D24).
func (a *activity) settled(given uint64) error {
	is, state, result, err := a.i.promise(given)
	if err != nil {
		return err
	}
	if is && state == 2 {
		return a.describe(result, Rejected)
	}
	_, err = a.i.call(a.i.freeValue, uint64(a.m.context), given)
	return err
}

// leave fetches the round's output: the string that the prelude's leave returns, or as many of its parts as it says.
func (a *activity) leave(max int) ([]byte, error) {
	v, err := a.i.call(a.i.callFunction, uint64(a.m.context), a.m.leave, undefined, 0, 0)
	if err != nil {
		return nil, err
	}
	var out []byte
	if tag(v) == tagInt {
		out, err = a.parts(uint32(v), max)
	} else {
		out, err = a.i.text(v, max)
	}
	if err != nil {
		return nil, fmt.Errorf("fetch output: %w", err)
	}
	_, err = a.i.call(a.i.freeValue, uint64(a.m.context), v)
	return out, err
}

// parts are the first n elements of the prelude's array, each behind its length; see PartHead. Together they have at most max
// units.
func (a *activity) parts(n uint32, max int) ([]byte, error) {
	i, array := a.i, uint32(a.m.parts)
	count, err := i.u32(array + arrayCount)
	if err != nil || array == 0 || n > count {
		return nil, fmt.Errorf("read %d parts of %d: %w", n, count, errors.Join(err, errCorrupt))
	}
	at, err := i.u32(array + arrayValues)
	if err != nil || uint64(at)+8*uint64(n) > uint64(i.mem.size) {
		return nil, fmt.Errorf("read %d parts at %#x: %w", n, at, errors.Join(err, errCorrupt))
	}
	out := make([]byte, 0, min(40*int(n), max))
	for k := range n {
		v, err := i.u64(at + 8*k)
		if err != nil {
			return nil, err
		}
		head := len(out)
		out = append(out, "000000"...)
		var units int
		if out, units, err = i.appendText(out, v, max-PartHead); err != nil {
			return nil, err
		}
		max -= PartHead + units
		size := len(out) - head - PartHead
		if size >= 1<<(4*PartHead) {
			return nil, fmt.Errorf("a part of %d bytes, which %d digits cannot tell: %w", size, PartHead, errCorrupt)
		}
		for p := head + PartHead - 1; size > 0; p, size = p-1, size/16 {
			out[p] = "0123456789abcdef"[size%16]
		}
	}
	return out, nil
}

// call calls a function with one argument.
func (a *activity) call(fn, arg uint64) (uint64, error) {
	v, err := a.i.call(a.i.callFunction, uint64(a.m.context), fn, undefined, 1, a.m.argument(a.i, arg))
	if err == nil && tag(v) == tagException {
		err = a.thrown(Uncaught)
	}
	return v, err
}

// thrown takes the pending exception and has it described.
func (a *activity) thrown(kind ThrownKind) error {
	v, err := a.i.exception(a.m.runtime)
	if err != nil {
		return err
	}
	return a.describe(v, kind)
}

// describe asks the prelude what a thrown value is. Code of the guest may run for it (a getter), within the round.
func (a *activity) describe(thrown uint64, kind ThrownKind) error {
	v, err := a.i.call(a.i.callFunction, uint64(a.m.context), a.m.describeFn, undefined, 1, a.m.argument(a.i, thrown))
	if err != nil {
		return err
	}
	detail, err := a.i.text(v, maxDetail)
	if err != nil {
		return fmt.Errorf("fetch description: %w", err)
	}
	return &Thrown{Detail: detail, Kind: kind}
}
