package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fastschema/qjs"
)

// qjsCard is a runtime of fastschema/qjs for each card, closed with it. Its time limit does nothing, so each round has a timer that
// ends the context which the runtime was made with; after that the runtime is over.
type qjsCard struct {
	rules
	script   string
	bytecode []byte
	stop     context.CancelFunc
	stopped  atomic.Bool
	runtime  *qjs.Runtime
	dispatch *qjs.Value
}

func openQJS(script string) (activation, error) { return newQJS(script, nil) }

func newQJS(script string, bytecode []byte) (*qjsCard, error) {
	ctx, stop := context.WithCancel(context.Background())
	q := &qjsCard{script: script, bytecode: bytecode, stop: stop}
	var err error
	if q.runtime, err = qjs.New(qjs.Option{
		Context: ctx, CloseOnContextDone: true, MemoryLimit: heapLimit, MaxStackSize: stackLimit, MaxExecutionTime: int(roundTime.Milliseconds()),
	}); err != nil {
		return nil, err
	}
	c := q.runtime.Context()
	c.SetFunc("__host", func(this *qjs.This) (*qjs.Value, error) {
		a := this.Args()
		return c.NewString(q.call(a[0].String(), a[1].String(), a[2].String())), nil
	})
	c.SetFunc("__input", func(this *qjs.This) (*qjs.Value, error) {
		v, ok := q.input(this.Args()[0].String())
		return c.NewString(packed(v, ok)), nil
	})
	if v, err := c.Eval("glue.js", qjs.Code(glue)); err != nil {
		return nil, err
	} else {
		v.Free()
	}
	q.dispatch = c.Global().GetPropertyStr("__event")
	return q, nil
}

// packed is a control as the glue reads it.
func packed(c control, ok bool) string {
	switch {
	case !ok:
		return ""
	case c.Checked:
		return "1" + c.Value
	}
	return "0" + c.Value
}

// codes holds what qjs compiled, by script.
var codes = cache[[]byte]{}

func againQJS(script string) (activation, error) {
	code, err := codes.get(script, func() ([]byte, error) {
		q, err := newQJS(script, nil)
		if err != nil {
			return nil, err
		}
		defer q.close()
		return q.runtime.Compile("card.js", qjs.Code(script))
	})
	if err != nil {
		return nil, err
	}
	return newQJS(script, code)
}

func (q *qjsCard) run(in inputs, do func() (*qjs.Value, error)) (w *answer) {
	q.begin(in)
	timer := time.AfterFunc(roundTime, func() { q.stopped.Store(true); q.stop() })
	defer timer.Stop()
	defer func() {
		if p := recover(); p != nil {
			if q.stopped.Load() {
				w = q.end("timeout")
				return
			}
			text := fmt.Sprint(p)
			if i := strings.IndexByte(text, '\n'); i > 0 {
				text = text[:i]
			}
			w = q.end("broken: " + text)
		}
	}()
	v, err := do()
	if err != nil {
		return q.end(codeOf(err.Error()))
	}
	if v != nil {
		v.Free()
	}
	return q.end("")
}

func (q *qjsCard) init(in inputs) *answer {
	return q.run(in, func() (*qjs.Value, error) {
		if q.bytecode != nil {
			return q.runtime.Eval("card.js", qjs.Bytecode(q.bytecode))
		}
		return q.runtime.Eval("card.js", qjs.Code(q.script))
	})
}

func (q *qjsCard) event(e event, in inputs) *answer {
	return q.run(in, func() (*qjs.Value, error) {
		c := q.runtime.Context()
		v := in[e.ID]
		args := []*qjs.Value{c.NewString(e.ID), c.NewString(e.Type), c.NewString(v.Value), c.NewBool(v.Checked)}
		res, err := c.Invoke(q.dispatch, c.Global(), args...)
		for _, a := range args {
			a.Free()
		}
		return res, err
	})
}

func (q *qjsCard) close() {
	defer q.stop()
	if q.stopped.Load() {
		return
	}
	q.dispatch.Free()
	q.runtime.Close()
}
