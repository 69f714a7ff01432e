package cardrun

import (
	"encoding/csv"
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

func format(n *float64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatFloat(*n, 'f', -1, 64)
}

// Table is the sweep in columns, for a terminal.
func (s *Sweep) Table() string {
	lines := [][]string{append([]string{s.ID}, s.Columns...)}
	for _, r := range s.Rows {
		line := []string{r.Value}
		for _, n := range r.Numbers {
			line = append(line, format(n))
		}
		if r.Failure != "" {
			line = append(line, r.Failure)
		}
		lines = append(lines, line)
	}
	widths := make([]int, len(s.Columns)+1)
	for _, l := range lines {
		for i := range min(len(l), len(widths)) {
			widths[i] = max(widths[i], len([]rune(l[i])))
		}
	}
	var b strings.Builder
	for n, l := range lines {
		if f := s.failureOf(n); f != "" {
			fmt.Fprintf(&b, "%*s  %s\n", widths[0], l[0], f)
			continue
		}
		for i, cell := range l {
			if i > 0 {
				b.WriteString("  ")
			}
			b.WriteString(strings.Repeat(" ", widths[i]-len([]rune(cell))) + cell)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (s *Sweep) failureOf(line int) string {
	if line == 0 {
		return ""
	}
	return s.Rows[line-1].Failure
}

// CSV is the sweep as RFC 4180 has it, with a line of names; a failure stands in a last column where there is any.
func (s *Sweep) CSV() (string, error) {
	var b strings.Builder
	w := csv.NewWriter(&b)
	failures := false
	for _, r := range s.Rows {
		failures = failures || r.Failure != ""
	}
	names := append([]string{s.ID}, s.Columns...)
	if failures {
		names = append(names, "failure")
	}
	_ = w.Write(names) // the Builder takes everything; Flush tells otherwise
	for _, r := range s.Rows {
		line := []string{r.Value}
		for _, n := range r.Numbers {
			line = append(line, format(n))
		}
		if failures {
			line = append(line, r.Failure)
		}
		_ = w.Write(line)
	}
	w.Flush()
	return b.String(), w.Error()
}

// series is one column as points; x is the control's value, or its number among the rows.
type series struct {
	name   string
	points [][2]float64
}

func (s *Sweep) series(columns []string) (all []series, low, high [2]float64, err error) {
	if len(columns) == 0 {
		columns = s.Columns
	}
	low, high = [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
	for _, name := range columns {
		at := -1
		for i, c := range s.Columns {
			if c == name {
				at = i
			}
		}
		if at < 0 {
			return nil, low, high, fmt.Errorf("%w: there is no column %.80q; there are: %s", ErrSweep, name, some(s.Columns))
		}
		one := series{name: name}
		for i, r := range s.Rows {
			x, err := strconv.ParseFloat(r.Value, 64)
			if err != nil || !finite(x) { // as an option may be called
				x = float64(i)
			}
			if n := r.Numbers[at]; n != nil && finite(*n) {
				p := [2]float64{x, *n}
				one.points = append(one.points, p)
				for k := range p {
					low[k], high[k] = min(low[k], p[k]), max(high[k], p[k])
				}
			}
		}
		all = append(all, one)
	}
	if math.IsInf(low[0], 0) {
		return nil, low, high, fmt.Errorf("%w: there are no numbers to plot", ErrSweep)
	}
	for k := range low {
		if low[k] == high[k] { // 1 is nothing beside a large number
			room := max(1, math.Abs(low[k])/1e6)
			low[k], high[k] = max(low[k]-room, -math.MaxFloat64), min(high[k]+room, math.MaxFloat64)
		}
	}
	return all, low, high, nil
}

// along tells how far x is on the way from low to high, 0 to 1. The way may be longer than a number can be, and so short that half
// of it is none.
func along(x, low, high float64) float64 {
	if way := high - low; !math.IsInf(way, 0) {
		return (x - low) / way
	}
	return (x/2 - low/2) / (high/2 - low/2)
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// marks draw the columns of a plot on a terminal.
const marks = "*o+x#@%&"

// Plot draws columns over the control's value with characters, width by height of them; none are all columns.
func (s *Sweep) Plot(width, height int, columns ...string) (string, error) {
	all, low, high, err := s.series(columns)
	if err != nil {
		return "", err
	}
	width, height = min(max(width, 20), 400), min(max(height, 5), 200)
	grid := make([][]byte, height)
	for i := range grid {
		grid[i] = []byte(strings.Repeat(" ", width))
	}
	for n, one := range all {
		for _, p := range one.points {
			x := int(math.Round(along(p[0], low[0], high[0]) * float64(width-1)))
			y := int(math.Round(along(p[1], low[1], high[1]) * float64(height-1)))
			grid[height-1-y][x] = marks[n%len(marks)]
		}
	}
	var b strings.Builder
	top, bottom := fmt.Sprintf("%.6g", high[1]), fmt.Sprintf("%.6g", low[1])
	edge := max(len(top), len(bottom))
	for i, line := range grid {
		label := ""
		switch i {
		case 0:
			label = top
		case height - 1:
			label = bottom
		}
		fmt.Fprintf(&b, "%*s |%s\n", edge, label, strings.TrimRight(string(line), " "))
	}
	left, right := fmt.Sprintf("%.6g", low[0]), fmt.Sprintf("%.6g", high[0])
	fmt.Fprintf(&b, "%*s +%s\n%*s  %s%*s\n", edge, "", strings.Repeat("-", width), edge, "", left, max(width-len(left), len(right)+1), right)
	for n, one := range all {
		fmt.Fprintf(&b, "%*s  %c %s\n", edge, "", marks[n%len(marks)], one.name)
	}
	return b.String(), nil
}

// colours of the lines of an svg plot: told apart by most eyes.
var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"}

// SVG draws columns as lines over the control's value; none are all columns. It is of the elements that a card may use.
func (s *Sweep) SVG(columns ...string) (string, error) {
	all, low, high, err := s.series(columns)
	if err != nil {
		return "", err
	}
	const width, height, edge = 480, 240, 40
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img"><title>%s</title>`,
		width, height+20*len(all), html.EscapeString("Over "+s.ID))
	fmt.Fprintf(&b, `<path d="M%d %dV%dH%d" fill="none" stroke="#555"></path>`, edge, edge/2, height-edge/2, width-edge/2)
	label := func(x, y int, anchor, text string) {
		fmt.Fprintf(&b, `<text x="%d" y="%d" font-size="11" text-anchor="%s">%s</text>`, x, y, anchor, html.EscapeString(text))
	}
	label(edge-4, edge/2+4, "end", fmt.Sprintf("%.5g", high[1]))
	label(edge-4, height-edge/2, "end", fmt.Sprintf("%.5g", low[1]))
	label(edge, height-4, "start", fmt.Sprintf("%.5g", low[0]))
	label(width-edge/2, height-4, "end", fmt.Sprintf("%.5g", high[0]))
	for n, one := range all {
		colour := colours[n%len(colours)]
		var points []string
		for _, p := range one.points {
			points = append(points, fmt.Sprintf("%.1f,%.1f",
				edge+along(p[0], low[0], high[0])*(width-1.5*edge), height-edge/2-along(p[1], low[1], high[1])*(height-edge)))
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"></polyline>`, strings.Join(points, " "), colour)
		fmt.Fprintf(&b, `<text x="%d" y="%d" font-size="12" fill="%s">%s</text>`, edge, height+12+20*n, colour, html.EscapeString(one.name))
	}
	b.WriteString("</svg>\n")
	return b.String(), nil
}
