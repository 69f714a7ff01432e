package main

import (
	"fmt"
	"time"

	"modernc.org/quickjs"
)

// moderncCard is a VM of modernc.org/quickjs for each card: QuickJS translated to Go, with its limits on memory and stack and a
// timeout. It drains all jobs that wait, without a bound.
type moderncCard struct {
	rules
	script   string
	bytecode []byte
	vm       *quickjs.VM
}

func openModernc(script string) (activation, error) { return newModernc(script, nil) }

func newModernc(script string, bytecode []byte) (*moderncCard, error) {
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, err
	}
	m := &moderncCard{script: script, bytecode: bytecode, vm: vm}
	vm.SetMemoryLimit(heapLimit)
	vm.SetMaxStackSize(stackLimit)
	if err := vm.SetEvalTimeout(roundTime); err != nil {
		return nil, err
	}
	str := func(args []any, i int) string {
		if i < len(args) {
			if s, ok := args[i].(string); ok {
				return s
			}
		}
		return ""
	}
	if err := vm.RegisterHostFunc("__host", func(a []any) (any, error) { return m.call(str(a, 0), str(a, 1), str(a, 2)), nil }); err != nil {
		return nil, err
	}
	if err := vm.RegisterHostFunc("__input", func(a []any) (any, error) { return packed(m.input(str(a, 0))), nil }); err != nil {
		return nil, err
	}
	if _, err := vm.Eval(glue, quickjs.EvalGlobal); err != nil {
		return nil, err
	}
	return m, nil
}

// moderncCodes holds what modernc.org/quickjs compiled, by script.
var moderncCodes = cache[[]byte]{}

func againModernc(script string) (activation, error) {
	code, err := moderncCodes.get(script, func() ([]byte, error) {
		vm, err := quickjs.NewVM()
		if err != nil {
			return nil, err
		}
		defer vm.Close()
		return vm.Compile(script, quickjs.EvalGlobal)
	})
	if err != nil {
		return nil, err
	}
	return newModernc(script, code)
}

func (m *moderncCard) run(in inputs, do func() error) *answer {
	m.begin(in)
	start := time.Now()
	err := do()
	if err == nil {
		_, err = m.vm.ExecutePendingJobs()
	}
	if err != nil {
		if code := codeOf(fmt.Sprint(err)); code != "exception" || time.Since(start) < roundTime {
			return m.end(code)
		}
		return m.end("timeout")
	}
	return m.end("")
}

func (m *moderncCard) init(in inputs) *answer {
	return m.run(in, func() (err error) {
		var v quickjs.Value
		if m.bytecode != nil {
			v, err = m.vm.EvalBytecodeValue(m.bytecode)
		} else {
			v, err = m.vm.EvalValue(m.script, quickjs.EvalGlobal)
		}
		if err == nil {
			v.Free()
		}
		return err
	})
}

func (m *moderncCard) event(e event, in inputs) *answer {
	return m.run(in, func() error {
		v := in[e.ID]
		_, err := m.vm.Call("__event", e.ID, e.Type, v.Value, v.Checked)
		return err
	})
}

func (m *moderncCard) close() { m.vm.Close() }
