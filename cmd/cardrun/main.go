// Command cardrun runs cards, small interactive calculators that a language model wrote, from files.
//
// It knows flags, files, the terminal and exit codes. It refuses to know what makes a card good or what running one
// means: that is package cardrun.
//
// The rule of use: exit status 0 is yes, 1 is no (a card was rejected or failed), 2 is a call that could not be carried
// out, with the reason on standard error.
//
//	cardrun render --format text card.json
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"syscall"

	"github.com/alecthomas/kong"

	"example.com/cardrun"
)

// The exit codes. An interrupted run ends as shells expect it of SIGINT.
const (
	exitYes         = 0
	exitNo          = 1
	exitMisuse      = 2
	exitInterrupted = 128 + int(syscall.SIGINT)
)

func main() {
	cardrun.ServeWorker() // which is all that a worker process does
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// cli is the command line. The flags before the commands hold for all of them.
type cli struct {
	CacheDir string `placeholder:"DIR" help:"Keep the compiled engine in DIR, so that the next start is fast. Only you may have access to DIR (default: cardrun in the user's cache folder)."`
	NoCache  bool   `help:"Neither read nor write a compiled engine on disk; every start compiles it."`
	Isolate  string `enum:"auto,process,none" default:"auto" placeholder:"HOW" help:"Where cards run: process (each in a worker process that can do nothing but compute; Linux), none (in this process), or auto (process where it can be had)."`

	Render renderCmd `cmd:"" help:"Run a card once and print what it shows."`
	Check  checkCmd  `cmd:"" help:"Find what is wrong with cards before a person sees them."`
	Play   playCmd   `cmd:"" help:"Use a card as a person would, and print what it shows then."`
	Show   showCmd   `cmd:"" help:"Print the tool result that a card gives."`

	Sweep sweepCmd `cmd:"" help:"Move one control over its values and print the numbers that the card shows."`
	Test  testCmd  `cmd:"" help:"Run scripts of events with the display expected after each."`

	Conform conformCmd `cmd:"" help:"Run case files: cards, what a user does, and what must come of it."`
	Serve   serveCmd   `cmd:"" help:"Serve cards over HTTP, with a playground at /."`
	Load    loadCmd    `cmd:"" help:"Play case files against a service at a rate: latencies, errors, mismatches."`
	MCP     mcpCmd     `cmd:"" name:"mcp" help:"Serve the tools of the Model Context Protocol on standard input and output."`
}

// env is what a command works with.
type env struct {
	ctx            context.Context
	stdin          io.Reader
	stdout, stderr io.Writer
	options        cardrun.Options
}

// runtime starts the engine. One worker is enough: a command runs one card at a time.
func (e *env) runtime() (*cardrun.Runtime, error) {
	r, err := cardrun.New(e.ctx, e.options)
	if err != nil {
		return nil, fmt.Errorf("start engine: %w", err)
	}
	return r, nil
}

// start reads the card that a command is about and starts the engine.
func (e *env) start(file string) (cardrun.Card, *cardrun.Runtime, error) {
	card, err := e.readCard(file)
	if err != nil {
		return card, nil, err
	}
	r, err := e.runtime()
	return card, r, err
}

// errNo ends a command with exit status 1. What it printed says why.
var errNo = errors.New("no")

// errServed ends a command that goes on until it is interrupted, with exit status 0.
var errServed = errors.New("served")

// errSilent ends a command with exit status 2 when all has been said on standard error.
var errSilent = errors.New("reported")

// run is the program but for os.Exit.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the program the hard way.
	context.AfterFunc(ctx, stop)

	var c cli
	helped := false
	parser, err := kong.New(&c,
		kong.Name("cardrun"),
		kong.Description("Runs cards: {title, summary, html, css, javascript} in one JSON object, written by a language model and trusted with nothing.\n\n"+
			"Exit status: 0 yes, 1 a card was rejected or failed, 2 a bad call or an unreadable file."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(int) { helped = true }),
		kong.TypeMapper(reflect.TypeFor[turn](), turns()),
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 100}),
	)
	if err != nil {
		fmt.Fprintln(stderr, "cardrun: read command line:", err)
		return exitMisuse
	}
	call, err := parser.Parse(args)
	if helped {
		return exitYes
	}
	if err != nil {
		fmt.Fprintf(stderr, "cardrun: %s; try cardrun --help\n", message(err))
		return exitMisuse
	}
	e := &env{ctx: ctx, stdin: stdin, stdout: stdout, stderr: stderr,
		options: cardrun.Options{Workers: 1, CacheDir: c.CacheDir, NoCache: c.NoCache, Isolation: cardrun.Isolation(c.Isolate)}}
	switch err := call.Run(e); {
	case err == nil, errors.Is(err, errServed):
		return exitYes
	case errors.Is(err, errNo):
		return exitNo
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "cardrun: interrupted")
		return exitInterrupted
	case errors.Is(err, errSilent):
		return exitMisuse
	default:
		fmt.Fprintf(stderr, "cardrun: %s\n", message(err))
		return exitMisuse
	}
}
