package main

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"example.com/cardrun"
)

type checkCmd struct {
	Cards []string `arg:"" name:"card" placeholder:"CARD.json" help:"Files with one card each; - is standard input."`
	JSON  bool     `name:"json" help:"Print one JSON object a card, each on its own line: {\"file\", \"diagnostics\"}."`
}

// Help is shown below the flags.
func (*checkCmd) Help() string {
	return `Prints one line for each finding, file:field:line:column: severity: code: message, and nothing for a card that is in order. Line and column count in the field's own text; they are left out where there is no place.

Exit status: 0 no finding is an error, 1 some are, 2 a bad call or an unreadable file (the other files are checked all the same).

Examples:

    cardrun check card.json
    cardrun check --json cards/*.json
    cardrun check - < card.json`
}

// finding is what --json prints for a card.
type finding struct {
	File        string               `json:"file"`
	Diagnostics []cardrun.Diagnostic `json:"diagnostics"`
}

// Run checks the cards.
func (c *checkCmd) Run(e *env) error {
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
		ds, err := r.Check(e.ctx, &card)
		if err != nil {
			return fmt.Errorf("check card %s: %w", file, err)
		}
		out, err := c.print(file, ds)
		if err != nil {
			return err
		}
		if _, err := e.stdout.Write(out); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
		if verdict == nil && slices.ContainsFunc(ds, isError) {
			verdict = errNo
		}
	}
	return verdict
}

func (c *checkCmd) print(file string, ds []cardrun.Diagnostic) ([]byte, error) {
	if c.JSON {
		b, err := json.Marshal(finding{file, ds})
		if err != nil {
			return nil, fmt.Errorf("write findings: %w", err)
		}
		return append(jsonSafe(b), '\n'), nil
	}
	var b bytes.Buffer
	for _, d := range ds {
		fmt.Fprintf(&b, "%s:%s\n", lineSafe(file), lineSafe(d.String()))
	}
	return b.Bytes(), nil
}
