package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"example.com/cardrun/conformance"
)

type testCmd struct {
	Card    string   `arg:"" placeholder:"CARD.json" help:"File with the card; - is standard input."`
	Scripts []string `arg:"" name:"script" placeholder:"SCRIPT" help:"Scripts of what a user does, with the display expected after each step."`
	Update  bool     `help:"Write what is displayed into the scripts, instead of comparing."`
	JUnit   string   `name:"junit" placeholder:"FILE.xml" help:"Write a report for a build server, too."`
}

// Help is shown below the flags.
func (*testCmd) Help() string {
	return `A script is a text such as this; lines that begin with # are for its readers:

    start
      Workers: 4
      4 workers × 25 requests/s = 100 requests/s
    set workers=5
      Workers: 5
      5 workers × 25 requests/s = 125 requests/s

Steps are start, set ID=VALUE, toggle ID and click ID, and do what the flags of cardrun play do. What is displayed stands below, indented by two spaces; a step with nothing below it is not compared. "seed N" and "now TIME" may stand before start; without them the seed is 1, and the clock stands at 2026-01-01 12:00 UTC.

Write the steps alone and call --update to have the displays filled in; then read them.

Prints a difference for each step that shows something else, and "N passed, N failed" at the end. Exit status: 0 all scripts passed, 1 some did not, 2 a bad call, or an unreadable file or script.

Examples:

    cardrun test card.json card.test
    cardrun test card.json --update card.test
    cardrun test card.json --junit report.xml tests/*.test`
}

// maxScript bounds a script, in bytes.
const maxScript = 4 << 20

// Run runs the scripts.
func (c *testCmd) Run(e *env) error {
	var scripts []*conformance.Golden
	for _, file := range c.Scripts {
		data, err := e.read(file, maxScript)
		if err != nil {
			return fmt.Errorf("read script: %w", err)
		}
		if len(data) > maxScript {
			return fmt.Errorf("read script: %s has more than %d bytes", file, maxScript)
		}
		g, err := conformance.ReadGolden(file, string(data))
		if err != nil {
			return err
		}
		scripts = append(scripts, g)
	}
	card, r, err := e.start(c.Card)
	if err != nil {
		return err
	}
	defer r.Close()
	var results []*conformance.GoldenResult
	failed := 0
	for i, g := range scripts {
		res, err := conformance.RunGolden(e.ctx, r, &card, g)
		if err != nil {
			return fmt.Errorf("run %s: %w", g.Name, err)
		}
		results = append(results, res)
		if c.Update {
			res.Failures = withoutDiffs(res.Failures)
			if err := e.update(c.Scripts[i], res.Text); err != nil {
				return err
			}
		}
		if len(res.Failures) > 0 {
			failed++
		}
		if err := e.printGolden(res); err != nil {
			return err
		}
	}
	if c.JUnit != "" {
		var b bytes.Buffer
		if err := conformance.WriteJUnit(&b, c.Card, results); err != nil {
			return err
		}
		if err := os.WriteFile(c.JUnit, b.Bytes(), 0o666); err != nil {
			return fmt.Errorf("write report: %w", err)
		}
	}
	if _, err := fmt.Fprintf(e.stdout, "%d passed, %d failed\n", len(scripts)-failed, failed); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	if failed > 0 {
		return errNo
	}
	return nil
}

// withoutDiffs leaves the steps that could not be made: a display that differs is what an update is for.
func withoutDiffs(fs []conformance.GoldenFailure) (left []conformance.GoldenFailure) {
	for _, f := range fs {
		if f.Why != "" {
			left = append(left, f)
		}
	}
	return left
}

// update writes a script; standard input's goes to standard output.
func (e *env) update(file, text string) error {
	if file == "-" {
		if _, err := e.stdout.Write([]byte(text)); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
		return nil
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		return fmt.Errorf("update script: %w", err)
	}
	return nil
}

func (e *env) printGolden(res *conformance.GoldenResult) error {
	var b strings.Builder
	for _, f := range res.Failures {
		fmt.Fprintf(&b, "%s:%d: %s", lineSafe(res.Golden.Name), f.Line, lineSafe(brief(f.Step)))
		if f.Why != "" {
			fmt.Fprintf(&b, ": %s", lineSafe(f.Why))
		}
		b.WriteByte('\n')
		for _, line := range f.Diff {
			fmt.Fprintf(&b, "    %s\n", lineSafe(line))
		}
	}
	if _, err := e.stdout.Write([]byte(b.String())); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}
