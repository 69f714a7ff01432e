package cardrun

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"example.com/cardrun/limits"
	"example.com/cardrun/patches"
)

// markup is what is typed to see whether it becomes markup: a browser would not show it as it is.
const markup = "<b>zq"

// long is the longest value of a control (R105).
var long = strings.Repeat("9", limits.Value)

// typedTexts are what people, and those who try a card out, type into a text.
var typedTexts = []string{
	"", " ", "0", "-1", "1", "1.5", "1,5", "1e21", "1e999", "-0", "abc", "NaN", "undefined", "Infinity", markup, `"'&`, "é", "👩‍🔬 🏳️‍🌈", "a\nb",
	"constructor", "__proto__", "2026-02-30", "[]", "%", long,
}

// valuesOf are what is tried in a control: boundaries, and what is hostile. The first few are the telling ones.
func valuesOf(d *patches.Document, c patches.Control, words []string) []string {
	switch c.Type {
	case "number", "range":
		return numbersOf(d, c)
	case "select":
		o := d.Options(c.ID)
		return o[:min(len(o), 24)]
	case "text", "textarea":
		values := slices.Clone(typedTexts)
		if c.Value != "" {
			values = append(values, c.Value+c.Value, limits.Cut(c.Value, limits.Length(c.Value)-1), strings.ToUpper(c.Value))
		}
		return append(values, words...)
	}
	return nil
}

func numbersOf(d *patches.Document, c patches.Control) []string {
	bound := func(name string, otherwise float64) float64 {
		s, _ := d.Attribute(c.ID, name)
		if x, err := strconv.ParseFloat(s, 64); err == nil {
			return x
		}
		return otherwise
	}
	write := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	low, high, step := bound("min", 0), bound("max", 100), bound("step", 1)
	if step <= 0 {
		step = 1
	}
	middle := low + float64(int((high-low)/2/step))*step
	if c.Type == "range" {
		return unique([]string{write(low), write(high), write(middle), write(low + step), write(high - step), write(low + step*1.5)})
	}
	return unique([]string{
		"", write(low), write(high), "0", "-1", write(low - step), write(high + step), write(middle), write(low + step/2), "1", "1e21", "-1e21", "1e308",
		"0.1", "1e-9", "2", "1000000", "-0", long,
	})
}

func unique(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// movesFor are all moves that are tried in a control.
func (r *run) movesFor(c patches.Control, words []string) []move {
	switch c.Type {
	case "checkbox", "radio":
		return []move{{kind: "toggle", id: c.ID}}
	case "button":
		if r.s.act.handles(c.ID, "click") {
			return []move{{kind: "click", id: c.ID}}
		}
		return nil
	}
	var moves []move
	for _, v := range valuesOf(r.document(), c, words) {
		moves = append(moves, move{kind: "set", id: c.ID, value: v})
	}
	return moves
}

// moves are all moves that are tried in what is displayed now, by element.
func (r *run) moves(words []string) [][]move {
	var all [][]move
	for _, c := range r.controls() {
		if c.Disabled {
			continue
		}
		if m := r.movesFor(c, words); len(m) > 0 {
			all = append(all, m)
		}
	}
	for _, id := range r.clickable() {
		all = append(all, []move{{kind: "click", id: id}})
	}
	return all
}

// any picks a move at random; one in four values is put together anew.
func (r *run) any(rnd *rand.Rand, words []string) (move, bool) {
	type target struct {
		control patches.Control
		click   string
	}
	var targets []target
	for _, c := range r.controls() {
		if !c.Disabled && (c.Type != "button" || r.s.act.handles(c.ID, "click")) {
			targets = append(targets, target{control: c})
		}
	}
	for _, id := range r.clickable() {
		targets = append(targets, target{click: id})
	}
	if len(targets) == 0 {
		return move{}, false
	}
	t := targets[rnd.IntN(len(targets))]
	if t.click != "" {
		return move{kind: "click", id: t.click}, true
	}
	moves := r.movesFor(t.control, words)
	if len(moves) == 0 {
		return move{}, false
	}
	m := moves[rnd.IntN(len(moves))]
	if m.kind == "set" && rnd.IntN(4) == 0 {
		m.value = mutate(rnd, m.value, t.control)
	}
	return m, true
}

// mutate changes a value a little.
func mutate(rnd *rand.Rand, v string, c patches.Control) string {
	switch c.Type {
	case "select":
		return v
	case "number", "range":
		x, err := strconv.ParseFloat(v, 64)
		if err != nil {
			x = 0
		}
		switch rnd.IntN(4) {
		case 0:
			x++
		case 1:
			x = -x
		case 2:
			x /= 3
		default:
			x = float64(rnd.IntN(2000)) / 10
		}
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	if rnd.IntN(2) == 0 {
		v = c.Value
	}
	piece := typedTexts[rnd.IntN(len(typedTexts)-1)]
	return limits.Cut(v+piece, limits.Value)
}
