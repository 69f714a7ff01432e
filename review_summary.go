package cardrun

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"example.com/cardrun/limits"
)

// figure is a number in a text, with what stands around it.
type figure struct {
	text     string
	number   float64
	decimals int
	unit     string // the word or sign behind it, or the currency before it
	hedge    string // about, over, …: how exactly it is meant
	offset   int
	used     bool
}

var (
	figures = regexp.MustCompile(`\d[\d,.]*\d|\d`)
	unitOf  = regexp.MustCompile(`^[ \x{a0}-]?(%|°?\p{L}[\p{L}/²³]*)`)
	grouped = regexp.MustCompile(`^\d{1,3}(,\d{3})+(\.\d+)?$`)
	simple  = regexp.MustCompile(`^\d+(\.\d+)?$`)
	hedges  = regexp.MustCompile(`(?i)(about|around|roughly|approximately|nearly|almost|some|circa|ca\.|over|under|below|above|more than|less than|fewer than|up to|at least|at most|between|from|to|\d of|and|or|–|-|~|≈|<|>|≤|≥)\s*[$€£]?$`)
)

// joiners are words behind a number that are no unit of it.
var joiners = []string{"a", "an", "and", "are", "as", "at", "by", "each", "for", "from", "in", "is", "make", "of", "on", "or", "per", "the", "to", "with", "x", "×"}

// figuresIn finds the numbers of a text: 1,050.00 and 12.5, not the parts of dates, times and names.
func figuresIn(s string) []figure {
	var list []figure
	for _, at := range figures.FindAllStringIndex(s, -1) {
		t := strings.TrimRight(s[at[0]:at[1]], ".,")
		end := at[0] + len(t)
		before, after := s[max(0, at[0]-40):at[0]], s[end:] // what a number is, stands close to it
		if partial(before, after) {
			continue
		}
		plain := t
		switch {
		case grouped.MatchString(t):
			plain = strings.ReplaceAll(t, ",", "")
		case !simple.MatchString(t):
			continue
		}
		n, err := strconv.ParseFloat(plain, 64)
		if err != nil {
			continue
		}
		f := figure{text: t, number: n, offset: at[0]}
		if _, decimals, ok := strings.Cut(plain, "."); ok {
			f.decimals = len(decimals)
		}
		if m := unitOf.FindStringSubmatch(after); m != nil {
			if f.unit = strings.ToLower(m[1]); slices.Contains(joiners, f.unit) {
				f.unit = ""
			}
		}
		for _, sign := range []string{"$", "€", "£"} {
			if strings.HasSuffix(strings.TrimSuffix(before, " "), sign) {
				f.unit = sign
			}
		}
		if m := hedges.FindStringSubmatch(strings.TrimRight(before, " ")); m != nil {
			if f.hedge = strings.ToLower(m[1]); strings.HasSuffix(f.hedge, " of") {
				f.hedge = "of" // as in 6 of 36
			}
		}
		switch f.unit {
		case "k", "thousand":
			f.number *= 1e3
		case "million", "m", "mio":
			if f.unit != "m" {
				f.number *= 1e6
			}
		case "billion":
			f.number *= 1e9
		}
		list = append(list, f)
	}
	return list
}

// partial tells that digits are part of a word, a date, a time or a longer number.
func partial(before, after string) bool {
	b, a := last(before), first(after)
	joins := func(r rune) bool { return r == ':' || r == '-' || r == '/' || r == '.' || r == ',' || r == '_' }
	letter := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' }
	digit := func(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }
	switch {
	case letter(b) || digit(after):
		return true
	case joins(b) && len(before) > 1 && digit(before[len(before)-2:]): // 2026-01, 5:24
		return true
	case joins(a) && len(after) > 1 && digit(after[1:]):
		return true
	}
	return false
}

func last(s string) rune {
	r := []rune(s[max(0, len(s)-4):])
	if len(r) == 0 {
		return 0
	}
	return r[len(r)-1]
}

func first(s string) rune {
	for _, r := range s {
		return r
	}
	return 0
}

// matches tells that two numbers are one, where the less exact one is rounded.
func (f figure) matches(g figure) bool {
	d := min(f.decimals, g.decimals)
	unit := math.Pow(10, -float64(d))
	if math.Abs(f.number-g.number) <= unit/2*1.000001 && (d > 0 || f.decimals == g.decimals || max(f.number, g.number) >= 10) || f.number == g.number {
		return true
	}
	switch f.hedge {
	case "about", "around", "roughly", "approximately", "nearly", "almost", "some", "circa", "ca.", "~", "≈":
		return math.Abs(f.number-g.number) <= 0.1*math.Max(math.Abs(f.number), math.Abs(g.number))
	}
	return false
}

// loose tells that a number is a bound or one end of a range, which nothing needs to show.
func (f figure) loose() bool {
	switch f.hedge {
	case "over", "under", "below", "above", "more than", "less than", "fewer than", "up to", "at least", "at most", "between", "from", "to", "of", "<", ">", "≤", "≥":
		return true
	}
	return false
}

// summarize compares the numbers that the summary states with those displayed after initialization (R123: where a card is
// not shown, the summary is all there is). A number is in order when it is displayed, at the same precision or a coarser
// one, or stands in the card's title, html or script, as an assumption does. What is left is contradicted where the display
// has just one number more with the same unit that the summary does not state, and otherwise never shown; small whole
// numbers and years count things and are passed over then.
func summarize(k *Checked, r *run, l *lint) []Finding {
	stated, shown := figuresIn(k.Card.Summary), figuresIn(r.text())
	for i := range stated {
		for j := range shown {
			if stated[i].matches(shown[j]) {
				stated[i].used, shown[j].used = true, true
			}
		}
	}
	known := figuresIn(k.Title + "\n" + k.Card.HTML)
	if l.script != nil {
		known = append(known, figuresIn(k.Card.JavaScript)...)
	}
	var fs []Finding
	for _, s := range stated {
		if s.used {
			continue
		}
		if len(fs) == mostFigures {
			break
		}
		var other []figure
		for _, d := range shown {
			if len(other) == 2 {
				break // two are as many as any number of them
			}
			if !d.used && s.unit != "" && d.unit == s.unit && !slices.ContainsFunc(other, func(o figure) bool { return o.number == d.number }) {
				other = append(other, d)
			}
		}
		assumed := slices.ContainsFunc(known, func(f figure) bool {
			return f.number == s.number || f.number*100 == s.number || f.number/100 == s.number
		})
		line, column := limits.Position(k.Card.Summary, s.offset)
		f := Finding{Diagnostic: Diagnostic{Severity: limits.SeverityWarning, Code: limits.SummaryContradicted, Field: "summary", Line: line, Column: column}}
		switch {
		case len(other) == 1 && !assumed && !s.loose():
			f.Message = fmt.Sprintf("the summary says %s, and the display shows %s", s.phrase(), other[0].phrase())
			f.Fix = "write the number that the card shows at first, or correct the script"
			f.Evidence = &Evidence{Play: []string{}, Shown: lineAround(r.text(), other[0].offset), Instead: s.phrase()}
		case assumed || s.loose() || len(shown) == 0 && k.Card.JavaScript == "", s.decimals == 0 && s.number <= 12, s.decimals == 0 && s.number >= 1900 && s.number <= 2100:
			continue
		default:
			f.Severity, f.Code = limits.SeverityNote, limits.SummaryUnshown
			f.Message = fmt.Sprintf("the summary says %s, which the display does not show at first", s.phrase())
			f.Fix = "show it, or leave it out"
		}
		fs = append(fs, f)
	}
	return fs
}

// mostFigures bounds the findings of one summary.
const mostFigures = 12

// phrase is a number with its unit.
func (f figure) phrase() string {
	switch f.unit {
	case "$", "€", "£":
		return f.unit + f.text
	case "", "%":
		return f.text + f.unit
	}
	return f.text + " " + f.unit
}

// lineAround is the line of a text that an offset is in.
func lineAround(s string, at int) string {
	from := strings.LastIndexByte(s[:at], '\n') + 1
	line, _, _ := strings.Cut(s[from:], "\n")
	return line
}
