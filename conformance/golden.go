package conformance

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"example.com/cardrun"
	"example.com/cardrun/limits"
)

// A Golden is a script of what a user does with one card, with the display expected after each step. Its text is made to be
// read and written by people:
//
//	# Two more workers.
//	seed 1
//	now 2026-01-02T03:04:05Z
//
//	start
//	  Workers: 4
//	  4 workers × 25 requests/s = 100 requests/s
//	set workers=5
//	  Workers: 5
//	  5 workers × 25 requests/s = 125 requests/s
//
// A step stands at the beginning of a line: start, set ID=VALUE, toggle ID or click ID. Values with line breaks or spaces at
// their ends are written in quotes, as Go has them. The display is what cardrun render --format text shows below the
// summary, each line indented by two spaces; for a step that ends the card, a line "! code: message" follows. A step with
// nothing below it is not compared. Lines that begin with # and empty lines count for nothing.
type Golden struct {
	Name  string
	seed  uint64
	now   time.Time
	steps []step
	lines []string
}

type step struct {
	line   int // in the text, from 0
	end    int // behind what is expected
	do     string
	events func(*cardrun.Snapshot) ([]cardrun.Event, error)
	want   []string
}

// goldenTime is where the clock stands where a script does not say.
var goldenTime = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// ReadGolden reads a script. The error names file and line.
func ReadGolden(name, text string) (*Golden, error) {
	g := &Golden{Name: name, seed: 1, now: goldenTime, lines: strings.Split(strings.TrimRight(text, "\n"), "\n")}
	for i, line := range g.lines {
		line = strings.TrimRight(line, "\r")
		fault := func(format string, args ...any) error {
			return fmt.Errorf("%s:%d: "+format, append([]any{name, i + 1}, args...)...)
		}
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case strings.TrimSpace(line) == "" || line[0] == '#':
			if strings.HasPrefix(line, "  ") {
				return nil, fault("a line of spaces; write an empty line")
			}
			continue
		case strings.HasPrefix(line, "  "):
			if len(g.steps) == 0 {
				return nil, fault("a display before the first step; begin with start")
			}
			s := &g.steps[len(g.steps)-1]
			s.want = append(s.want, line[2:])
			s.end = i + 1
			continue
		case len(g.steps) == 0 && word == "seed":
			n, err := strconv.ParseUint(rest, 10, 64)
			if err != nil || n == 0 {
				return nil, fault("seed %q; give a number of 1 or more", rest)
			}
			g.seed = n
			continue
		case len(g.steps) == 0 && word == "now":
			now, err := time.Parse(time.RFC3339, rest)
			if err != nil {
				return nil, fault("now %q; give a time such as 2026-01-02T03:04:05Z", rest)
			}
			g.now = now
			continue
		}
		s := step{line: i, end: i + 1, do: line}
		switch word {
		case "start":
			if len(g.steps) > 0 || rest != "" {
				return nil, fault("start stands first, and alone on its line")
			}
		case "set":
			id, value, ok := strings.Cut(rest, "=")
			if !ok || !limits.ValidID(id) {
				return nil, fault("write set ID=VALUE")
			}
			if strings.HasPrefix(value, `"`) {
				var err error
				if value, err = strconv.Unquote(value); err != nil {
					return nil, fault("the value %s is no text in quotes", value)
				}
			}
			s.events = func(*cardrun.Snapshot) ([]cardrun.Event, error) {
				return []cardrun.Event{{ID: id, Type: "input", Value: &value}, {ID: id, Type: "change"}}, nil
			}
		case "toggle", "click":
			if !limits.ValidID(rest) {
				return nil, fault("write %s ID", word)
			}
			s.events = func(*cardrun.Snapshot) ([]cardrun.Event, error) {
				return []cardrun.Event{{ID: rest, Type: "click"}}, nil
			}
		default:
			return nil, fault("%.40q is no step; write start, set ID=VALUE, toggle ID or click ID, and indent what is displayed by two spaces", word)
		}
		if len(g.steps) == 0 && word != "start" {
			return nil, fault("the first step must be start")
		}
		g.steps = append(g.steps, s)
	}
	if len(g.steps) == 0 {
		return nil, fmt.Errorf("%s: there is no step; begin with start", name)
	}
	return g, nil
}

// GoldenResult is how a script went.
type GoldenResult struct {
	Golden *Golden
	// Steps is how many were made; Failures are those whose display differs, or that a user could not make.
	Steps    int
	Failures []GoldenFailure
	// Text is the script with what was displayed, for a file to be updated.
	Text    string
	Elapsed time.Duration
}

// GoldenFailure is one step that went otherwise than expected.
type GoldenFailure struct {
	Line int // in the script, from 1
	Step string
	// Why is empty where the display differs.
	Why string
	// Diff has a line for each of either display: "  " same, "- " expected, "+ " displayed.
	Diff []string
}

// RunGolden makes the steps of a script. The error is not the card's: a context that ended, or an engine that cannot make a
// guest.
func RunGolden(ctx context.Context, r *cardrun.Runtime, card *cardrun.Card, g *Golden) (*GoldenResult, error) {
	begun := time.Now()
	res := &GoldenResult{Golden: g}
	session, s, err := r.Open(ctx, card, cardrun.SessionOptions{RenderOptions: cardrun.RenderOptions{Seed: &g.seed, Now: g.now}})
	if err != nil {
		return nil, err
	}
	if session == nil {
		for _, d := range s.Diagnostics {
			res.Failures = append(res.Failures, GoldenFailure{Line: 1, Step: g.steps[0].do, Why: "the card is rejected: " + d.String()})
		}
		res.Text = strings.Join(g.lines, "\n") + "\n"
		return res, nil
	}
	defer session.Close()
	var text []string
	next := 0
	for _, st := range g.steps {
		res.Steps++
		why := ""
		if st.events != nil {
			if why, err = doStep(ctx, session, s, st); err != nil {
				return nil, err
			}
		}
		s = session.Snapshot()
		got := displayed(s)
		text = append(append(text, g.lines[next:st.line+1]...), indented(got)...)
		next = st.end
		switch {
		case why != "":
			res.Failures = append(res.Failures, GoldenFailure{Line: st.line + 1, Step: st.do, Why: why})
		case st.want != nil && strings.Join(st.want, "\n") != strings.Join(got, "\n"):
			res.Failures = append(res.Failures, GoldenFailure{Line: st.line + 1, Step: st.do, Diff: diff(st.want, got)})
		}
	}
	res.Text = strings.Join(append(text, g.lines[next:]...), "\n") + "\n"
	res.Elapsed = time.Since(begun)
	return res, nil
}

// doStep sends the events of a step, each to a session at rest. why tells that a user could not do that.
func doStep(ctx context.Context, session *cardrun.Session, s *cardrun.Snapshot, st step) (why string, err error) {
	events, err := st.events(s)
	if err != nil {
		return err.Error(), nil
	}
	for i, e := range events {
		report, err := session.Send(ctx, e)
		switch {
		case errors.Is(err, cardrun.ErrEnded):
			if i > 0 {
				return "", nil
			}
			return "the card has ended before", nil
		case errors.Is(err, cardrun.ErrEvent):
			return err.Error(), nil
		case err != nil:
			return "", err
		case report.Ignored > 0 && len(report.Rounds) == 0:
			return "a user cannot do that now: the control is not there, or disabled, or takes no such value", nil
		}
	}
	return "", nil
}

// displayed is what a step shows, line by line.
func displayed(s *cardrun.Snapshot) []string {
	var lines []string
	for line := range strings.SplitSeq(s.Display.Text, "\n") {
		if line = strings.TrimRight(line, " "); line != "" {
			lines = append(lines, line)
		}
	}
	if s.Failure != nil {
		lines = append(lines, "! "+string(s.Failure.Code)+": "+strings.ReplaceAll(s.Failure.Message, "\n", " "))
	}
	return lines
}

func indented(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = "  " + l
	}
	return out
}

// diff is the shortest way from one list of lines to another. Displays have a few hundred lines; of longer ones the rest is
// taken as it is.
func diff(want, got []string) []string {
	const most = 600
	if len(want) > most || len(got) > most {
		return append(prefixed("- ", want), prefixed("+ ", got)...)
	}
	// common[i][j] is the longest common part of want from i and got from j.
	common := make([][]int, len(want)+1)
	for i := range common {
		common[i] = make([]int, len(got)+1)
	}
	for i := len(want) - 1; i >= 0; i-- {
		for j := len(got) - 1; j >= 0; j-- {
			if want[i] == got[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out []string
	i, j := 0, 0
	for i < len(want) && j < len(got) {
		switch {
		case want[i] == got[j]:
			out = append(out, "  "+want[i])
			i, j = i+1, j+1
		case common[i+1][j] >= common[i][j+1]:
			out = append(out, "- "+want[i])
			i++
		default:
			out = append(out, "+ "+got[j])
			j++
		}
	}
	return append(append(out, prefixed("- ", want[i:])...), prefixed("+ ", got[j:])...)
}

func prefixed(with string, lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = with + l
	}
	return out
}
