package main

import (
	"fmt"
	"slices"

	"example.com/cardrun"
	"example.com/cardrun/limits"
)

type showCmd struct {
	Card string `arg:"" placeholder:"CARD.json" help:"File with the card; - is standard input."`
}

// Help is shown below the arguments.
func (*showCmd) Help() string {
	return `Prints the MCP CallToolResult of generated_ui_show, at most 24,000 bytes, with nothing added: not even a line break. It says that the card was accepted: its script parses, but does not run.

Exit status: 0 accepted, 1 rejected (the findings are on standard error), 2 a bad call or an unreadable file.

Example:

    cardrun show card.json > result.json`
}

// Run prints the result.
func (c *showCmd) Run(e *env) error {
	card, r, err := e.start(c.Card)
	if err != nil {
		return err
	}
	defer r.Close()
	// What the engine finds rejects a card as well as what Card.Check finds: a script that does not parse (D23).
	ds, err := r.Check(e.ctx, &card)
	if err != nil {
		return fmt.Errorf("check card: %w", err)
	}
	k, _ := card.Check()
	if k == nil || slices.ContainsFunc(ds, isError) {
		for _, d := range ds {
			fmt.Fprintf(e.stderr, "%s:%s\n", lineSafe(c.Card), lineSafe(d.String()))
		}
		return errNo
	}
	if _, err := e.stdout.Write(k.Result()); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

func isError(d cardrun.Diagnostic) bool { return d.Severity == limits.SeverityError }
