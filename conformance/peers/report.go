package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// emscripten and stock are the peers that aims are set against.
const (
	emscripten = "quickjs-emscripten"
	stock      = "qjs"
)

// row is a line of the table. more tells that a greater value is the better one.
type row struct {
	metric, unit string
	more         bool
}

func rows() []row {
	all := []row{
		{mFirst, "ms", false}, {mFirstAll, "ms", false}, {mSeen, "ms", false},
		{mRound, "ms", false}, {mRoundAll, "ms", false}, {mCards, "1/s", true}, {mIdle, "kB", false},
	}
	for _, k := range kernels {
		all = append(all, row{k.name, "ms", false})
	}
	return append(all, row{mKernels, "ms", false})
}

// print writes the tables as Markdown.
func (res *results) print(w io.Writer, peers []*peer) {
	var names []string
	for _, p := range peers {
		if res.Versions[p.Name] != "" {
			names = append(names, p.Name)
		}
	}
	fmt.Fprintf(w, "| | %s | ratio a | ratio b |\n|---%s|---|---|\n", strings.Join(names, " | "), strings.Repeat("|---", len(names)))
	runs := 0
	for _, r := range rows() {
		values := res.Values[r.metric]
		if values == nil {
			continue
		}
		fmt.Fprintf(w, "| %s, %s |", r.metric, r.unit)
		for _, n := range names {
			m, low, high := middle(values[n])
			if m == 0 {
				fmt.Fprint(w, " – |")
				continue
			}
			runs = max(runs, len(values[n]))
			fmt.Fprintf(w, " %s (%s–%s) |", digits(m), digits(low), digits(high))
		}
		fmt.Fprintf(w, " %s | %s |\n", ratio(values, r, emscripten), ratio(values, r, stock))
	}
	fmt.Fprintf(w, "\nMedian of %d runs in turn (least–greatest). Ratios are how many times better ours is than %s (a) and %s (b), run by run: the engine\nalone, and behind a slash the whole.\n", runs, emscripten, stock)
	for _, n := range names {
		fmt.Fprintf(w, "\n- %s: %s", n, res.Versions[n])
	}
	fmt.Fprintf(w, "\n- machine: %s\n", res.Machine)
	if len(res.Budgets) == 0 {
		return
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == ownWhole })
	fmt.Fprintf(w, "\n| budget | tried | %s |\n|---|---%s|\n", strings.Join(names, " | "), strings.Repeat("|---", len(names)))
	for _, b := range res.Budgets {
		fmt.Fprintf(w, "| %s | %s |", b.Budget, b.Name)
		for _, n := range names {
			fmt.Fprintf(w, " %s |", strings.ReplaceAll(b.Verdicts[n], "|", "\\|"))
		}
		fmt.Fprintln(w)
	}
}

// ratio is how many times better ours is, run by run: the engine alone, and the whole where it was measured.
func ratio(values map[string][]float64, r row, than string) string {
	var parts []string
	for _, ours := range []string{ownScript, ownWhole} {
		var all []float64
		for i := range min(len(values[ours]), len(values[than])) {
			if values[ours][i] == 0 || values[than][i] == 0 {
				continue
			}
			q := values[than][i] / values[ours][i]
			if r.more {
				q = 1 / q
			}
			all = append(all, q)
		}
		if len(all) > 0 {
			m, _, _ := middle(all)
			parts = append(parts, digits(m))
		}
	}
	if len(parts) == 0 {
		return "–"
	}
	return strings.Join(parts, " / ")
}

// digits is a figure with two or three digits that count.
func digits(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 0.1:
		return fmt.Sprintf("%.2f", v)
	case v >= 0.01:
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.4f", v)
}
