// Command engines knows how cards run on JavaScript engines for Go that are not ours: fastschema/qjs as it comes, goja, and
// modernc.org/quickjs, each with the budgets that it offers. It is a module of its own, so that each has the versions that it
// works with.
//
// It refuses to know what is measured: it answers requests, one JSON text a line, as ../protocol.go describes them.
//
// The rule of use: engines qjs|goja|modernc, started by the command above it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 2 || engines[os.Args[1]].open == nil {
		fmt.Fprintln(os.Stderr, "usage: engines qjs|goja|modernc")
		os.Exit(2)
	}
	if err := serve(engines[os.Args[1]]); err != nil {
		fmt.Fprintln(os.Stderr, "engines:", err)
		os.Exit(1)
	}
}

// engine is one way to run cards.
type engine struct {
	version string
	open    func(script string) (activation, error)
	again   func(script string) (activation, error) // for a script seen before; nil where nothing of it can be kept
}

// activation is one card at work.
type activation interface {
	init(inputs inputs) *answer
	event(e event, inputs inputs) *answer
	close()
}

var engines = map[string]engine{
	"qjs":     {version: "fastschema/qjs " + versionOf("github.com/fastschema/qjs") + ", wazero " + versionOf("github.com/tetratelabs/wazero"), open: openQJS, again: againQJS},
	"goja":    {version: "goja " + versionOf("github.com/dop251/goja"), open: openGoja, again: againGoja},
	"modernc": {version: "modernc.org/quickjs " + versionOf("modernc.org/quickjs"), open: openModernc, again: againModernc},
}

func serve(e engine) error {
	in, out := bufio.NewReaderSize(os.Stdin, 1<<20), json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return nil // whoever asks has gone
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("read request: %w", err)
		}
		if err := out.Encode(e.answer(&r)); err != nil {
			return fmt.Errorf("write reply: %w", err)
		}
	}
}
