package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// plot is lines over an axis, to be drawn as SVG.
type plot struct {
	title, x, y string
	logX        bool
	fromZero    bool // the axis of y starts at zero
	lines       []series
}

type series struct {
	name string
	xs   []float64
	ys   []float64
}

func (s *series) add(x, y float64) { s.xs, s.ys = append(s.xs, x), append(s.ys, y) }

// The drawing's size and margins, and the colours of lines: they stand out on white and on black.
const (
	plotWidth, plotHeight                  = 560, 320
	plotLeft, plotRight, plotTop, plotFoot = 64, 32, 36, 48
)

var plotColours = []string{"#2f81f7", "#d9480f", "#2b8a3e", "#9c36b5"}

// svg draws it. It stands alone: no script, no style sheet, no reference.
func (p plot) svg() string {
	lowX, highX, lowY, highY := p.bounds()
	place := func(x, y float64) (float64, float64) {
		if p.logX {
			x, lowX, highX := math.Log10(x), math.Log10(lowX), math.Log10(highX)
			return plotLeft + (x-lowX)/span(lowX, highX)*(plotWidth-plotLeft-plotRight), p.down(y, lowY, highY)
		}
		return plotLeft + (x-lowX)/span(lowX, highX)*(plotWidth-plotLeft-plotRight), p.down(y, lowY, highY)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" role="img">`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(&b, "<title>%s</title>\n", html.EscapeString(p.title+": "+p.y+" over "+p.x))
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(&b, `<text x="%d" y="20" font-size="14" font-weight="bold">%s</text>`+"\n", plotLeft, html.EscapeString(p.title))
	for _, t := range ticks(lowY, highY) {
		y := p.down(t, lowY, highY)
		fmt.Fprintf(&b, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/>`, plotLeft, plotWidth-plotRight, y, y)
		fmt.Fprintf(&b, `<text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", plotLeft-6, y+4, number(t))
	}
	for _, t := range p.xTicks(lowX, highX) {
		x, _ := place(t, lowY)
		fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#999"/>`, x, x, plotHeight-plotFoot, plotHeight-plotFoot+4)
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", x, plotHeight-plotFoot+18, number(t))
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", (plotLeft+plotWidth-plotRight)/2, plotHeight-10, html.EscapeString(p.x))
	fmt.Fprintf(&b, `<text x="14" y="%d" text-anchor="middle" transform="rotate(-90 14 %d)">%s</text>`+"\n", plotHeight/2, plotHeight/2, html.EscapeString(p.y))
	for i, l := range p.lines {
		colour := plotColours[i%len(plotColours)]
		var points []string
		for k := range l.xs {
			x, y := place(l.xs[k], l.ys[k])
			points = append(points, fmt.Sprintf("%.1f,%.1f", x, y))
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, x, y, colour)
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(points, " "), colour)
		at := plotTop + 8 + 16*i
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="10" height="10" fill="%s"/><text x="%d" y="%d">%s</text>`+"\n", plotLeft+12, at, colour, plotLeft+28, at+9, html.EscapeString(l.name))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (p plot) down(y, low, high float64) float64 {
	return plotHeight - plotFoot - (y-low)/span(low, high)*(plotHeight-plotFoot-plotTop)
}

// span is the length of an axis, which is never nothing.
func span(low, high float64) float64 {
	if high > low {
		return high - low
	}
	return 1
}

func (p plot) bounds() (lowX, highX, lowY, highY float64) {
	lowX, highX, lowY, highY = math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, l := range p.lines {
		for k := range l.xs {
			lowX, highX = min(lowX, l.xs[k]), max(highX, l.xs[k])
			lowY, highY = min(lowY, l.ys[k]), max(highY, l.ys[k])
		}
	}
	if p.fromZero {
		lowY = 0
	}
	return lowX, highX, lowY, lowY + span(lowY, highY)*1.25 // room for the names of the lines
}

// ticks are about five round numbers of an axis.
func ticks(low, high float64) []float64 {
	step := math.Pow(10, math.Floor(math.Log10(span(low, high)/2)))
	for _, f := range []float64{1, 2, 5, 10} {
		if span(low, high)/(step*f) <= 6 {
			step *= f
			break
		}
	}
	var all []float64
	for k := math.Ceil(low / step); k*step <= high; k++ {
		all = append(all, k*step)
	}
	return all
}

func (p plot) xTicks(low, high float64) []float64 {
	if !p.logX {
		var all []float64
		for _, t := range ticks(low, high) {
			if t == math.Trunc(t) { // what is counted there comes whole
				all = append(all, t)
			}
		}
		return all
	}
	var all []float64
	for k := math.Ceil(math.Log10(low)); math.Pow(10, k) <= high*1.001; k++ {
		all = append(all, math.Pow(10, k))
	}
	return all
}

// number is a figure on an axis, with spaces between thousands.
func number(v float64) string {
	s := fmt.Sprintf("%.4g", v)
	if v == math.Trunc(v) {
		s = fmt.Sprintf("%.0f", v)
	}
	whole, rest, dot := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "\u202f" + whole[i:]
	}
	if dot {
		return whole + "." + rest
	}
	return whole
}

// table is the same for a terminal.
func (p plot) table() string {
	var b strings.Builder
	for _, l := range p.lines {
		fmt.Fprintf(&b, "  %s\n", l.name)
		for k := range l.xs {
			fmt.Fprintf(&b, "    %10s %s: %s %s\n", number(l.xs[k]), p.x, digits(l.ys[k]), p.y)
		}
	}
	return b.String()
}
