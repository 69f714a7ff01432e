package sandbox

import (
	"context"
	"errors"
	"fmt"
)

// Isolation says what stands between a guest and the program, beside the sandbox itself.
type Isolation string

// The kinds of isolation. The empty string is IsolationNone.
const (
	// IsolationNone runs guests in this process: WebAssembly is all that holds them.
	IsolationNone Isolation = "none"
	// IsolationProcess runs guests in worker processes, one guest at a time in each, which may do nothing but compute and answer
	// (seccomp, resource limits, no new privileges, no descriptor but the one they answer on). This process loads no
	// WebAssembly then. It needs Linux and a program whose main calls [ServeWorker]; where either is missing, New fails.
	IsolationProcess Isolation = "process"
	// IsolationAuto is IsolationProcess where worker processes can be started, and IsolationNone elsewhere;
	// [Engine.Isolation] tells which.
	IsolationAuto Isolation = "auto"
)

// check refuses what is none of the kinds.
func (n Isolation) check() error {
	switch n {
	case "", IsolationNone, IsolationProcess, IsolationAuto:
		return nil
	}
	return fmt.Errorf("isolation %q: give none, process or auto", string(n))
}

// Isolation tells which isolation is in force, IsolationNone or IsolationProcess. With IsolationNone where IsolationAuto was asked
// for, the error says why there are no worker processes.
func (e *Engine) Isolation() (Isolation, error) {
	if e.pool != nil {
		return IsolationProcess, nil
	}
	return IsolationNone, e.together
}

// separate starts worker processes where they are asked for and to be had. With IsolationAuto it leaves the engine as it is
// where they are not.
func (e *Engine) separate(ctx context.Context, o Options) error {
	if o.Isolation != IsolationProcess && o.Isolation != IsolationAuto {
		return nil
	}
	if o.Interpreter && o.Isolation == IsolationProcess {
		return errors.New("start engine: the option Interpreter is for guests in this process; use isolation none")
	} else if o.Interpreter {
		return nil
	}
	pool, err := newPool(ctx, o)
	switch {
	case err == nil:
		e.pool, e.identity = pool, pool.identity
		if pool.cacheErr != "" {
			e.cacheErr = fmt.Errorf("worker process: %s", pool.cacheErr)
		}
		return nil
	case o.Isolation == IsolationAuto && ctx.Err() == nil:
		e.together = err
		return nil
	}
	return fmt.Errorf("start engine: %w", err)
}
