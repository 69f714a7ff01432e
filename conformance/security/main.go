// Command security knows how to prove what SECURITY.md promises: it reads the table of proofs there, runs the tests that
// each row names, and prints what was promised, how many attacks were tried, and how it went.
//
// It refuses to know what is promised and what proves it: that stands in the table alone, so that the document and what
// is run cannot differ. A row that names no test, a test that did not run, and a test that was skipped for a reason that
// the row does not say, are failures like any other.
//
// The rule of use: from the top of the repository,
//
//	go run ./conformance/security                      everything
//	go run ./conformance/security -only 'terminal|css' the rows that match, by promise or by what is tried
//	go run ./conformance/security -list                what would run
//
// A test that knows better than by its subtests how many attacks it tried logs a line "attacks: N".
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the command: 0 when all that ran held, 1 when something did not, 2 for a bad call.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("security", flag.ContinueOnError)
	flags.SetOutput(stderr)
	file := flags.String("file", "SECURITY.md", "the document with the table; its folder is the top of the repository")
	only := flags.String("only", "", "only rows whose promise or attack matches this regular `expression`")
	list := flags.Bool("list", false, "print what would run")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	refuse := func(err error) int {
		fmt.Fprintln(stderr, "security:", err)
		return 2
	}
	if flags.NArg() > 0 {
		return refuse(fmt.Errorf("no arguments are taken, but %q was given; see -help", flags.Arg(0)))
	}
	match, err := regexp.Compile("(?i)" + *only)
	if err != nil {
		return refuse(fmt.Errorf("-only: %w", err))
	}
	rows, err := readTable(*file)
	if err != nil {
		return refuse(err)
	}
	rows = matching(rows, match)
	if len(rows) == 0 {
		return refuse(fmt.Errorf("no row of %s matches %q", *file, *only))
	}
	p, err := newPlan(*file, rows)
	if err != nil {
		return refuse(err)
	}
	if *list {
		p.print(stdout)
		return 0
	}
	start := time.Now()
	ran := p.run(ctx, stderr)
	r := judge(rows, p, ran)
	r.took = time.Since(start)
	r.print(stdout, stderr)
	if ctx.Err() != nil || r.failed() {
		return 1
	}
	return 0
}
