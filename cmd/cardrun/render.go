package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"example.com/cardrun"
)

type renderCmd struct {
	Card   string     `arg:"" placeholder:"CARD.json" help:"File with the card; - is standard input."`
	Format string     `enum:"json,html,text" default:"json" help:"What to print: json (the Snapshot), html (one page that stands alone) or text (what a person would read)."`
	Seed   *uint64    `placeholder:"N" help:"Seed of Math.random, so that equal calls give equal numbers."`
	Now    *time.Time `placeholder:"TIME" help:"The time that the card sees, as in 2026-01-02T03:04:05Z (RFC 3339). Without it, time is real."`
}

// Help is shown below the flags.
func (*renderCmd) Help() string {
	return `Exit status: 0 the card is ready, 1 it was rejected or failed, 2 a bad call or an unreadable file.

Equal card, seed and time give equal output, but for elapsed_us.

Examples:

    cardrun render card.json
    cardrun render --format html card.json > card.html
    cardrun render --format text --seed 1 --now 2026-01-02T03:04:05Z - < card.json`
}

// Run runs the card.
func (c *renderCmd) Run(e *env) error {
	options, err := c.options()
	if err != nil {
		return err
	}
	card, r, err := e.start(c.Card)
	if err != nil {
		return err
	}
	defer r.Close()
	s, err := r.Render(e.ctx, &card, options)
	if err != nil {
		return fmt.Errorf("render card: %w", err)
	}
	return c.finish(e, &card, s)
}

// options are those of the run.
func (c *renderCmd) options() (cardrun.RenderOptions, error) {
	options := cardrun.RenderOptions{Seed: c.Seed}
	if c.Now != nil {
		if c.Now.IsZero() {
			return options, errors.New("--now: the first moment of the year 1 stands for real time; give another")
		}
		options.Now = *c.Now
	}
	return options, nil
}

// finish prints a snapshot and turns it into the exit status.
func (c *renderCmd) finish(e *env, card *cardrun.Card, s *cardrun.Snapshot) error {
	out, err := c.print(card, s)
	if err != nil {
		return err
	}
	if _, err := e.stdout.Write(out); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	if s.Outcome != cardrun.Ready {
		return errNo
	}
	return nil
}

func (c *renderCmd) print(card *cardrun.Card, s *cardrun.Snapshot) ([]byte, error) {
	switch c.Format {
	case "html":
		return page(card, s), nil
	case "text":
		return []byte(plain(s)), nil
	}
	b, err := s.AppendIndent(nil, "  ")
	if err != nil {
		return nil, fmt.Errorf("write snapshot: %w", err)
	}
	return append(jsonSafe(b), '\n'), nil
}

// plain is a snapshot as text: title, summary, what the card shows, and what is wrong with it.
func plain(s *cardrun.Snapshot) string {
	var b strings.Builder
	paragraph := func(text string) {
		if text = strings.TrimRight(text, "\n"); text == "" {
			return
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString(text + "\n")
	}
	paragraph(s.Card.Title)
	paragraph(s.Card.Summary)
	if s.Display != nil {
		paragraph(s.Display.Text)
	}
	if s.Failure != nil {
		paragraph(failureLine(s.Failure))
	}
	if s.Outcome == cardrun.Rejected {
		paragraph(rejectedLine)
	}
	lines := make([]string, len(s.Diagnostics))
	for i, d := range s.Diagnostics {
		lines[i] = lineSafe(d.String())
	}
	paragraph(strings.Join(lines, "\n"))
	return terminalSafe(b.String())
}

// rejectedLine says of a rejected card what a Snapshot's outcome does; its findings say why.
const rejectedLine = "The card was rejected and has not been run."

// failureLine says in one line why an activation ended.
func failureLine(f *cardrun.Failure) string {
	where := "while the script ran"
	if f.Phase == cardrun.PhaseEvent {
		where = fmt.Sprintf("in round %d", f.Round)
	}
	if f.Line > 0 {
		where += fmt.Sprintf(", at line %d, column %d of its javascript", f.Line, f.Column)
	}
	return fmt.Sprintf("The card failed %s (%s): %s", where, f.Code, lineSafe(strings.TrimSpace(f.Message)))
}
