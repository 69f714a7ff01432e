package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"example.com/cardrun"
	"example.com/cardrun/conformance"
)

type conformCmd struct {
	Paths   []string `arg:"" name:"path" placeholder:"PATH" help:"Case files, or folders: all *.json files in and below them; links to folders are followed where they are given here, not further in."`
	Workers int      `placeholder:"N" help:"Play N cases at once (default: as many as the machine runs threads at once). Cases that go by the clock are played one at a time."`
}

// Help is shown below the flags.
func (*conformCmd) Help() string {
	return `Plays each case in a session of its own, all on one engine, and prints for each that is not as expected what was expected and what came. After a case whose card fails, another card must still render. The last line is N passed, N failed.

Exit status: 0 all passed, 1 some did not, 2 a bad call, an unreadable file, or a file that is no case (the message names file and member; the other files are run all the same).

Examples:

    cardrun conform conformance/cases
    cardrun conform one.json more/`
}

// Run runs the cases.
func (c *conformCmd) Run(e *env) error {
	if c.Workers < 0 {
		return fmt.Errorf("--workers: %d; give 1 or more", c.Workers)
	}
	var unread error
	cases, err := await(e.ctx, func() (cases []conformance.Case, _ error) {
		cases, unread = conformance.Load(c.Paths...)
		return cases, nil
	})
	if err != nil {
		return err
	}
	for _, err := range each(unread) {
		fmt.Fprintf(e.stderr, "cardrun: %s\n", message(err))
	}
	options := e.options
	options.Workers = c.Workers
	r, err := cardrun.New(e.ctx, options)
	if err != nil {
		return fmt.Errorf("start engine: %w", err)
	}
	defer r.Close()
	results := conformance.Run(e.ctx, r, cases, conformance.Options{Done: progress(e.stderr)})
	if e.ctx.Err() != nil {
		return e.ctx.Err()
	}
	var out bytes.Buffer
	if err := results.Print(&out); err != nil {
		return err
	}
	if _, err := io.WriteString(e.stdout, terminalSafe(out.String())); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	_, failed := results.Count()
	switch {
	case unread != nil:
		return errSilent
	case failed > 0:
		return errNo
	}
	return nil
}

// each gives the errors that were joined to one.
func each(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return nil
}

// progress shows how far the run has come, where somebody sees it: on a terminal.
func progress(w io.Writer) func(done, all int) {
	if !terminal(w) {
		return nil
	}
	return func(done, all int) {
		if done < all {
			fmt.Fprintf(w, "\r%d of %d", done, all)
		} else {
			fmt.Fprint(w, "\r\x1b[K")
		}
	}
}

// terminal tells that somebody sees what is written at once.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
