package main

import (
	"errors"
	"time"

	"github.com/dop251/goja"
)

// gojaCard is a goja runtime for each card. It has an interrupt and a bound on the depth of calls; none on memory or jobs.
type gojaCard struct {
	rules
	program  *goja.Program
	script   string
	vm       *goja.Runtime
	handlers map[string]goja.Callable
}

// gojaDepth is how many calls may be open: what QuickJS has room for in 256 KiB.
const gojaDepth = 1000

func openGoja(script string) (activation, error) { return newGoja(script, nil), nil }

// programs holds what goja compiled, by script.
var programs = cache[*goja.Program]{}

func againGoja(script string) (activation, error) {
	p, err := programs.get(script, func() (*goja.Program, error) { return goja.Compile("card.js", script, false) })
	if err != nil {
		return nil, err
	}
	return newGoja(script, p), nil
}

func newGoja(script string, p *goja.Program) *gojaCard {
	g := &gojaCard{script: script, program: p, vm: goja.New(), handlers: map[string]goja.Callable{}}
	g.vm.SetMaxCallStackSize(gojaDepth)
	ui := g.vm.NewObject()
	str := func(v goja.Value) (string, bool) {
		if s, ok := v.(goja.String); ok {
			return s.String(), true
		}
		return "", false
	}
	check := func(wrong string) {
		if wrong != "" {
			panic(g.vm.NewTypeError(wrong))
		}
	}
	ui.Set("on", func(c goja.FunctionCall) goja.Value {
		id, ok1 := str(c.Argument(0))
		kind, ok2 := str(c.Argument(1))
		fn, ok3 := goja.AssertFunction(c.Argument(2))
		if !ok1 || !ok2 || !ok3 {
			check(g.call("refused", "on", ""))
		}
		check(g.call("on", id, kind))
		g.handlers[id+" "+kind] = fn
		return goja.Undefined()
	})
	for _, op := range []string{"text", "html", "value"} {
		ui.Set(op, func(c goja.FunctionCall) goja.Value {
			id, ok1 := str(c.Argument(0))
			value, ok2 := str(c.Argument(1))
			if !ok1 || !ok2 {
				check(g.call("refused", op, ""))
			}
			check(g.call(op, id, value))
			return goja.Undefined()
		})
	}
	ui.Set("input", func(c goja.FunctionCall) goja.Value {
		id, _ := str(c.Argument(0))
		v, ok := g.input(id)
		if !ok {
			check("ui.input: no such control")
		}
		return g.control(v)
	})
	g.vm.Set("ui", ui)
	return g
}

func (g *gojaCard) control(c control) *goja.Object {
	o := g.vm.NewObject()
	o.Set("value", c.Value)
	o.Set("checked", c.Checked)
	return o
}

func (g *gojaCard) run(in inputs, do func() (goja.Value, error)) *answer {
	g.begin(in)
	timer := time.AfterFunc(roundTime, func() { g.vm.Interrupt("interrupted") })
	v, err := do()
	timer.Stop()
	var stopped *goja.InterruptedError
	if errors.As(err, &stopped) {
		return g.end("timeout")
	}
	if err != nil {
		return g.end(codeOf(err.Error()))
	}
	if v != nil {
		if p, ok := v.Export().(*goja.Promise); ok && p.State() == goja.PromiseStateRejected {
			return g.end("rejection")
		}
	}
	return g.end("")
}

func (g *gojaCard) init(in inputs) *answer {
	return g.run(in, func() (goja.Value, error) {
		p := g.program
		if p == nil {
			var err error
			if p, err = goja.Compile("card.js", g.script, false); err != nil {
				return nil, err
			}
		}
		_, err := g.vm.RunProgram(p)
		return nil, err
	})
}

func (g *gojaCard) event(e event, in inputs) *answer {
	return g.run(in, func() (goja.Value, error) {
		fn := g.handlers[e.ID+" "+e.Type]
		if fn == nil {
			return nil, nil
		}
		o := g.control(in[e.ID])
		o.Set("id", e.ID)
		o.Set("type", e.Type)
		return fn(goja.Undefined(), o)
	})
}

func (g *gojaCard) close() {}
