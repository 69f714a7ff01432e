package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"example.com/cardrun"
)

type sweepCmd struct {
	Card   string        `arg:"" placeholder:"CARD.json" help:"File with the card; - is standard input."`
	Over   string        `required:"" placeholder:"ID[=FROM..TO[/STEP]]" help:"The control to move, and how far; without a range, over its min, max and step, or all options."`
	Format string        `enum:"table,csv,json,plot,svg" default:"table" help:"What to print: table, csv, json, plot (a drawing of characters) or svg."`
	Column []string      `placeholder:"NAME" help:"Plot these columns alone, as the table names them."`
	Time   time.Duration `default:"1m" placeholder:"TIME" help:"How long all values may take together (default: 1m); those behind are left out."`
	Seed   *uint64       `placeholder:"N" help:"Seed of Math.random (default: 1)."`
	Now    *time.Time    `placeholder:"TIME" help:"The time that the card sees, as in 2026-01-02T03:04:05Z. Without it, time is real."`
}

// Help is shown below the flags.
func (*sweepCmd) Help() string {
	return `Moves one control over its values, each time from the card's start, and prints the numbers that the script shows for each. A column is the id of an element, with .2, .3 and so on for the second number in it and those behind.

Exit status: 0 it was shown for all values, 1 the card was rejected, failed at some or took too long, 2 a bad call or an unreadable file.

Examples:

    cardrun sweep card.json --over workers
    cardrun sweep card.json --over rate=0..10/0.5 --format csv
    cardrun sweep card.json --over years --format plot --column balance`
}

// Run sweeps.
func (c *sweepCmd) Run(e *env) error {
	o, err := sweepRange(c.Over)
	if err != nil {
		return fmt.Errorf("--over: %w", err)
	}
	if c.Time <= 0 {
		return fmt.Errorf("--time: %v is no time to sweep in; give one above 0, such as 1m", c.Time)
	}
	o.Time = c.Time
	seed := uint64(1)
	o.Seed = &seed
	if c.Seed != nil {
		o.Seed = c.Seed
	}
	if c.Now != nil {
		o.Now = *c.Now
	}
	card, r, err := e.start(c.Card)
	if err != nil {
		return err
	}
	defer r.Close()
	s, err := r.Sweep(e.ctx, &card, o)
	if errors.Is(err, cardrun.ErrNotReady) {
		fmt.Fprintf(e.stderr, "cardrun: %s\n", message(err))
		return errNo
	}
	if err != nil {
		return err
	}
	out, err := c.render(s)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(e.stdout, out); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	if s.Ended == "time" {
		fmt.Fprintf(e.stderr, "cardrun: the time of %v was over after %d of %d values; give it more with --time, or fewer values with --over\n", c.Time, len(s.Rows), s.Values)
		return errNo
	}
	for _, row := range s.Rows {
		if row.Failure != "" {
			return errNo
		}
	}
	return nil
}

func (c *sweepCmd) render(s *cardrun.Sweep) (string, error) {
	switch c.Format {
	case "csv":
		out, err := s.CSV()
		return terminalSafe(out), err
	case "json":
		b, err := json.Marshal(s)
		return string(jsonSafe(b)) + "\n", err
	case "plot":
		out, err := s.Plot(72, 20, c.Column...)
		return terminalSafe(out), err
	case "svg":
		out, err := s.SVG(c.Column...)
		return terminalSafe(out), err
	}
	return terminalSafe(s.Table()), nil
}

// sweepRange reads ID, ID=FROM..TO or ID=FROM..TO/STEP.
func sweepRange(s string) (o cardrun.SweepOptions, err error) {
	id, bounds, ok := strings.Cut(s, "=")
	o.ID = id
	if !ok {
		return o, nil
	}
	bounds, step, hasStep := strings.Cut(bounds, "/")
	from, to, ok := strings.Cut(bounds, "..")
	if !ok {
		return o, fmt.Errorf("%q; write ID=FROM..TO or ID=FROM..TO/STEP", brief(s))
	}
	read := func(name, text string, into **float64) {
		x, perr := strconv.ParseFloat(text, 64)
		if perr != nil && err == nil {
			err = fmt.Errorf("%s is %q; give a number", name, brief(text))
		}
		*into = &x
	}
	read("FROM", from, &o.From)
	read("TO", to, &o.To)
	if hasStep {
		read("STEP", step, &o.Step)
	}
	return o, err
}
