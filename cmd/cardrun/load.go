package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"example.com/cardrun/conformance"
	"example.com/cardrun/conformance/load"
)

type loadCmd struct {
	URL      string        `required:"" placeholder:"URL" help:"Where the service is: http://127.0.0.1:8787."`
	Paths    []string      `arg:"" name:"path" placeholder:"PATH" help:"Case files, or folders of them."`
	Mode     string        `enum:"session,render,mix" default:"session" help:"Play each case as a session with all its steps, or render its start alone, or half and half (${enum}; default: ${default})."`
	Rate     float64       `placeholder:"N" help:"How many renders or sessions are due in a second (default: 10)."`
	Duration time.Duration `placeholder:"TIME" help:"For how long (default: 10s)."`
	Ramp     time.Duration `placeholder:"TIME" help:"Let the rate rise evenly for so long before (default: none)."`
	Plan     phases        `placeholder:"RATE:TIME,…" help:"Several phases instead, one after the other: 100:10s,1000:1m,100:10s. A rate of 0 is as many as the clients can, each one at a time; ..RATE rises or falls to it evenly."`
	Clients  int           `placeholder:"N" help:"How many callers there are, each with connections of its own, and on 127.0.0.1 an address (default: 8)."`
	Hostile  string        `placeholder:"SHARE" help:"What part of it is hostile cards instead, from callers of their own: 5% (default: none)."`
	Timeout  time.Duration `placeholder:"TIME" help:"How long to wait for an answer (default: 30s)."`
	Seed     uint64        `placeholder:"N" help:"Decides which case is due when (default: 1)."`
	Token    string        `name:"token-file" type:"path" placeholder:"FILE" help:"File with the token that the service asks for."`
	JSON     bool          `help:"Print the report as JSON."`
}

// Help is shown below the flags.
func (*loadCmd) Help() string {
	return `Plays cases against a service at a rate, whether or not earlier ones have been answered, and holds every answer against what its case expects. Latencies count from when a request was due, not from when it was sent. Cases that go by the clock are played once, one at a time, at the end.

Refusals (429, 503) are counted and are no fault; any other status that a request does not ask for, a connection that breaks and an answer that does not come are errors.

Exit status: 0 all answers as expected, 1 a mismatch or an error, 2 a bad call, an unreadable file, or a service that cannot be reached or is not ready.

Examples:

    cardrun load --url http://127.0.0.1:8787 conformance/cases
    cardrun load --url http://127.0.0.1:8787 --mode render --rate 500 --duration 30s --hostile 5% conformance/cases
    cardrun load --url http://127.0.0.1:8787 --plan 500:10s,5000:60s,500:10s --json conformance/cases`
}

// phases is a plan as flags write it.
type phases []load.Phase

// UnmarshalText reads RATE:TIME,…
func (ps *phases) UnmarshalText(text []byte) error {
	for part := range strings.SplitSeq(string(text), ",") {
		rate, long, ok := strings.Cut(part, ":")
		if !ok {
			return fmt.Errorf("%s is no phase; write RATE:TIME, as in 100:10s", strconv.Quote(brief(part)))
		}
		var p load.Phase
		rate, p.Ramp = strings.CutPrefix(rate, "..")
		var err error
		if p.Rate, err = strconv.ParseFloat(rate, 64); err != nil {
			return fmt.Errorf("%s is no rate; write a number of renders or sessions a second", strconv.Quote(brief(rate)))
		}
		if p.Duration, err = time.ParseDuration(long); err != nil {
			return fmt.Errorf("%s is no time; write 10s or 1m", strconv.Quote(brief(long)))
		}
		*ps = append(*ps, p)
	}
	return nil
}

// plan puts the flags about it together.
func (c *loadCmd) plan() ([]load.Phase, error) {
	if c.Plan != nil {
		if c.Rate != 0 || c.Duration != 0 || c.Ramp != 0 {
			return nil, fmt.Errorf("--plan: it says rates and times itself; leave out --rate, --duration and --ramp")
		}
		return c.Plan, nil
	}
	if c.Rate < 0 || c.Duration < 0 || c.Ramp < 0 {
		return nil, fmt.Errorf("--rate, --duration, --ramp: none is less than 0")
	}
	p := load.Phase{Rate: c.Rate, Duration: c.Duration}
	if p.Rate == 0 {
		p.Rate = 10
	}
	if p.Duration == 0 {
		p.Duration = 10 * time.Second
	}
	if c.Ramp > 0 {
		return []load.Phase{{Rate: p.Rate, Duration: c.Ramp, Ramp: true}, p}, nil
	}
	return []load.Phase{p}, nil
}

// share reads 5% or 0.05.
func share(s string) (float64, error) {
	if s == "" {
		return 0, nil
	}
	number, percent := strings.CutSuffix(s, "%")
	f, err := strconv.ParseFloat(number, 64)
	if percent {
		f /= 100
	}
	if err != nil || !(f >= 0 && f <= 1) {
		return 0, fmt.Errorf("--hostile: %s is no share; write 5%% or 0.05", strconv.Quote(brief(s)))
	}
	return f, nil
}

// maxToken is the most bytes of a token file.
const maxToken = 4096

func readToken(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	token := strings.TrimSpace(string(b))
	if token == "" || len(b) > maxToken {
		return "", fmt.Errorf("--token-file: %s holds %d bytes; it must hold a token of 1 to %d, and nothing else", file, len(b), maxToken)
	}
	return token, nil
}

// Run plays the cases.
func (c *loadCmd) Run(e *env) error {
	o := load.Options{URL: c.URL, Mode: load.Mode(c.Mode), Clients: c.Clients, Timeout: c.Timeout, Seed: c.Seed}
	var err error
	if o.Plan, err = c.plan(); err != nil {
		return err
	}
	if o.Hostile, err = share(c.Hostile); err != nil {
		return err
	}
	if o.Token, err = readToken(c.Token); err != nil {
		return err
	}
	cases, err := await(e.ctx, func() ([]conformance.Case, error) { return conformance.Load(c.Paths...) })
	if err != nil {
		return err
	}
	if terminal(e.stderr) {
		o.Progress = func(p load.Progress) {
			fmt.Fprintf(e.stderr, "\rphase %d of %d, %s of %s: %d sent, %d answered, %d refused, %d errors, %d mismatches\x1b[K", p.Phase, p.Phases,
				p.Elapsed.Round(time.Second), p.All.Round(time.Second), p.Sent, p.Answered, p.Refused, p.Failed, p.Mismatches)
		}
	}
	report, err := load.Run(e.ctx, cases, o)
	if o.Progress != nil {
		fmt.Fprint(e.stderr, "\r\x1b[K")
	}
	if err != nil {
		return err
	}
	if err := c.print(e, report); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	if !report.Clean() {
		return errNo
	}
	return nil
}

func (c *loadCmd) print(e *env, report *load.Report) error {
	var out bytes.Buffer
	if !c.JSON {
		if err := report.Print(&out); err != nil {
			return err
		}
		_, err := io.WriteString(e.stdout, terminalSafe(out.String()))
		return err
	}
	b, err := json.Marshal(report, jsontext.AllowInvalidUTF8(true), jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	_, err = e.stdout.Write(append(jsonSafe(b), '\n'))
	return err
}
