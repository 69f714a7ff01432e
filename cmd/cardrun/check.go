package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"example.com/cardrun"
	"example.com/cardrun/limits"
)

type checkCmd struct {
	Cards []string `arg:"" name:"card" placeholder:"CARD.json" help:"Files with one card each; - is standard input."`
	JSON  bool     `name:"json" help:"Print one JSON object a card, each on its own line: {\"file\", \"diagnostics\"}; with --run also outcome, budgets and explored."`

	Run_   bool          `name:"run" help:"Run the card too: budgets used, whether the summary says what is displayed, and what comes of all sorts of inputs."`
	Fuzz   time.Duration `default:"5s" placeholder:"TIME" help:"How long inputs are tried (default: 5s)."`
	NoFuzz bool          `help:"Try no inputs; run the card once."`
	Rounds int           `placeholder:"N" help:"Stop after about N rounds, whatever time they take: with the same N the findings are the same everywhere."`
	Seed   *uint64       `placeholder:"N" help:"Seed of Math.random and of what is tried (default: 1)."`
	Now    *time.Time    `placeholder:"TIME" help:"The time that the card sees, as in 2026-01-02T03:04:05Z (default: 2026-01-01 12:00 UTC)."`
}

// Help is shown below the flags.
func (*checkCmd) Help() string {
	return `Prints one line for each finding, file:field:line:column: severity: code: message, and nothing for a card that is in order. Line and column count in the field's own text; they are left out where there is no place. Errors reject the card, or were seen to end it; warnings are what a person would stumble over; notes may be as the author wants it.

Without --run nothing of the card runs. With it the lines of a finding may be followed by what shows it: a call of cardrun play, what is displayed then, and what it is compared with. At the end stand the budgets that were used at most. --run gives the same findings each time when --rounds ends it, and not the time.

Exit status: 0 no finding is an error, 1 some are, 2 a bad call or an unreadable file (the other files are checked all the same).

Examples:

    cardrun check card.json
    cardrun check --json cards/*.json
    cardrun check --run --rounds 20000 card.json
    cardrun check --run --no-fuzz - < card.json`
}

// checked is what --json prints for a card.
type checked struct {
	File        string            `json:"file"`
	Diagnostics []cardrun.Finding `json:"diagnostics"`

	Outcome  cardrun.Outcome   `json:"outcome,omitzero"`
	Budgets  []cardrun.Budget  `json:"budgets,omitzero"`
	Explored *cardrun.Explored `json:"explored,omitzero"`
}

// Run checks the cards.
func (c *checkCmd) Run(e *env) error {
	options, err := c.options(e)
	if err != nil {
		return err
	}
	if c.Run_ {
		e.options.Workers = 0 // inputs are tried on all cores
	}
	r, err := e.runtime()
	if err != nil {
		return err
	}
	defer r.Close()
	var verdict error
	for _, file := range c.Cards {
		card, err := e.readCard(file)
		if e.ctx.Err() != nil {
			return e.ctx.Err()
		}
		if err != nil {
			fmt.Fprintf(e.stderr, "cardrun: %s\n", message(err))
			verdict = errSilent
			continue
		}
		result := checked{File: file}
		if c.Run_ {
			v, err := r.Review(e.ctx, &card, options)
			if err != nil {
				return fmt.Errorf("check card %s: %w", file, err)
			}
			result.Diagnostics, result.Outcome, result.Budgets, result.Explored = v.Findings, v.Outcome, v.Budgets, v.Explored
		} else if result.Diagnostics, err = r.Lint(e.ctx, &card); err != nil {
			return fmt.Errorf("check card %s: %w", file, err)
		}
		out, err := c.print(&result)
		if err != nil {
			return err
		}
		if _, err := e.stdout.Write(out); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
		if verdict == nil && slices.ContainsFunc(result.Diagnostics, func(f cardrun.Finding) bool { return f.Severity == limits.SeverityError }) {
			verdict = errNo
		}
	}
	return verdict
}

func (c *checkCmd) options(e *env) (o cardrun.ReviewOptions, err error) {
	switch {
	case c.Fuzz < 0:
		return o, errors.New("--fuzz: give a time of 0 or more, such as 10s")
	case c.Rounds < 0:
		return o, errors.New("--rounds: give a number of 1 or more")
	case c.Seed != nil && *c.Seed == 0:
		return o, errors.New("--seed: give a number of 1 or more")
	}
	o.Fuzz, o.Rounds = c.Fuzz, c.Rounds
	if c.NoFuzz || c.Fuzz == 0 {
		o.Fuzz = -1
	} else if c.Rounds > 0 && c.Fuzz == cardrun.DefaultFuzz {
		o.Fuzz = 10 * time.Minute // the rounds end it
	}
	if c.Seed != nil {
		o.Seed = *c.Seed
	}
	if c.Now != nil {
		o.Now = *c.Now
	}
	if terminal(e.stderr) {
		o.Progress = func(rounds int, elapsed time.Duration) {
			fmt.Fprintf(e.stderr, "\r%d rounds tried in %.1f s\x1b[K\r", rounds, elapsed.Seconds())
		}
	}
	return o, nil
}

func (c *checkCmd) print(v *checked) ([]byte, error) {
	if c.JSON {
		b, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("write findings: %w", err)
		}
		return append(jsonSafe(b), '\n'), nil
	}
	var b bytes.Buffer
	for _, f := range v.Diagnostics {
		line := f.String()
		if f.Fix != "" {
			line += "; " + f.Fix
		}
		fmt.Fprintf(&b, "%s:%s\n", lineSafe(v.File), lineSafe(line))
		if e := f.Evidence; e != nil {
			if len(e.Play) > 0 {
				fmt.Fprintf(&b, "    %s\n", lineSafe(e.Command(v.File)))
			}
			printShown(&b, "shows", e.Shown)
			printShown(&b, "against", e.Instead)
		}
	}
	if !c.Run_ {
		return b.Bytes(), nil
	}
	fmt.Fprintf(&b, "%s: %s", lineSafe(v.File), v.Outcome)
	if x := v.Explored; x != nil {
		fmt.Fprintf(&b, "; %d rounds tried in %.1f s from seed %d, %d kinds of display", x.Rounds, float64(x.ElapsedMS)/1000, x.Seed, x.States)
	}
	b.WriteByte('\n')
	for _, u := range v.Budgets {
		fmt.Fprintf(&b, "    %-14s %10d of %10d  %3d %%\n", u.Name, u.Used, u.Limit, u.Used*100/max(1, u.Limit))
	}
	return b.Bytes(), nil
}

// printShown prints a display of several lines, cut where it is long.
func printShown(b *bytes.Buffer, what, text string) {
	if text == "" {
		return
	}
	const most = 12
	lines := strings.Split(text, "\n")
	for i, line := range lines[:min(len(lines), most)] {
		if i > 0 {
			what = ""
		}
		fmt.Fprintf(b, "    %8s | %s\n", what, lineSafe(brief(line)))
	}
	if len(lines) > most {
		fmt.Fprintf(b, "    %8s | … %d lines more\n", "", len(lines)-most)
	}
}
