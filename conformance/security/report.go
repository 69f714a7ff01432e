package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// report is what is printed in the end.
type report struct {
	lines   []line
	attacks int // each test counted once, however many rows it proves
	tests   int
	details []string // output of what failed
	took    time.Duration
}

// line is one row with its result.
type line struct {
	*row
	attacks int
	faults  []string
	excused []string
	ran     bool
}

// judge holds what ran against the rows.
func judge(rows []row, p *plan, ran map[*unit]*unitResult) *report {
	r := &report{}
	counted := map[testKey]bool{}
	for i := range rows {
		l := line{row: &rows[i]}
		for _, key := range p.tests[&rows[i]] {
			v := ran[key.unit].verdict(key.unit, key.name, l.excuses)
			l.attacks += v.attacks
			l.faults = append(l.faults, v.faults...)
			l.excused = append(l.excused, v.excused...)
			l.ran = l.ran || v.ran
			if !counted[key] {
				counted[key] = true
				r.attacks += v.attacks
				if v.ran {
					r.tests++
				}
			}
		}
		slices.Sort(l.faults)
		slices.Sort(l.excused)
		l.faults, l.excused = slices.Compact(l.faults), slices.Compact(l.excused)
		r.lines = append(r.lines, l)
	}
	r.explain(p, ran)
	return r
}

// explain collects the output of what failed, and makes the failure of a whole call of go test, which may belong to no
// test, one of every row that rests on it.
func (r *report) explain(p *plan, ran map[*unit]*unitResult) {
	for _, u := range p.units {
		res := ran[u]
		if res.err == nil {
			continue
		}
		r.details = append(r.details, fmt.Sprintf("%s: %v", u.path(), res.err))
		for _, name := range slices.Sorted(maps.Keys(res.tests)) {
			if o := res.tests[name]; o.action != "pass" && o.action != "skip" {
				r.details = append(r.details, tail(o.output))
			}
		}
		r.details = append(r.details, tail(res.general))
		for i := range r.lines {
			l := &r.lines[i]
			if len(l.faults) == 0 && slices.ContainsFunc(p.tests[l.row], func(k testKey) bool { return k.unit == u }) && !failedBelow(res) {
				l.faults = append(l.faults, "the tests of "+u.path()+" ended with an error that belongs to none of them")
			}
		}
	}
}

func failedBelow(res *unitResult) bool {
	for _, o := range res.tests {
		if o.action == "fail" {
			return true
		}
	}
	return false
}

// tail is the end of an output.
func tail(output []string) string {
	const most = 60
	if n := len(output); n > most {
		output = append([]string{fmt.Sprintf("… %d lines before …\n", n-most)}, output[n-most:]...)
	}
	return strings.TrimRight(strings.Join(output, ""), "\n")
}

func (r *report) failed() bool {
	return slices.ContainsFunc(r.lines, func(l line) bool { return len(l.faults) > 0 })
}

func (l *line) result() string {
	switch {
	case len(l.faults) > 0:
		return "FAILED"
	case !l.ran:
		return "NOT RUN here: " + l.excuses[0]
	case len(l.excused) > 0:
		return fmt.Sprintf("held; NOT RUN here: %s", strings.Join(l.excused, " "))
	}
	return "held"
}

// print prints the table and the total to one, and why something failed to the other.
func (r *report) print(stdout, stderr io.Writer) {
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PROMISE\tWHAT IS TRIED\tATTACKS\tRESULT")
	before, failed, idle := "", 0, 0
	for _, l := range r.lines {
		promise := l.promise
		if promise == before {
			promise = ""
		}
		before = l.promise
		fmt.Fprintf(w, "%s\t%s\t%7d\t%s\n", plain(promise), plain(l.tried), l.attacks, l.result())
		switch {
		case len(l.faults) > 0:
			failed++
		case !l.ran:
			idle++
		}
	}
	_ = w.Flush()
	fmt.Fprintf(stdout, "%d rows, %d failed, %d not run here; %d tests, %d attacks, in %v\n",
		len(r.lines), failed, idle, r.tests, r.attacks, r.took.Round(time.Second))
	for _, l := range r.lines {
		for _, f := range l.faults {
			fmt.Fprintf(stderr, "line %d of the table's document, %s: %s\n", l.line, plain(l.tried), f)
		}
	}
	for _, d := range r.details {
		if d != "" {
			fmt.Fprintln(stderr, d)
		}
	}
}

// plain is a cell without its marks.
func plain(cell string) string { return strings.NewReplacer("`", "", "**", "").Replace(cell) }
