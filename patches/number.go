package patches

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// validNumber reports whether s is a valid floating-point number (WHATWG HTML section 2.3.4.3): an optional -, digits, a
// fraction or both, an optional exponent; no +, no space, no digitless dot at the end. A number beyond what a double
// holds represents none and is not valid here, as in browsers.
func validNumber(s string) (float64, bool) {
	if numberPrefix(s, true) != len(s) || s == "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

// parseNumber applies the rules for parsing floating-point number values (the same section) to an attribute: white
// space in front, a + and anything behind the number are passed over.
func parseNumber(s string) (float64, bool) {
	s = strings.TrimLeft(s, " \t\n\f\r")
	s = s[:numberPrefix(s, false)]
	if s == "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f == 0 {
		return 0, err == nil
	}
	return f, true
}

// numberPrefix is the length of the longest prefix of s that is a number, 0 if there is none.
func numberPrefix(s string, strict bool) int {
	i := 0
	if i < len(s) && (s[i] == '-' || s[i] == '+' && !strict) {
		i++
	}
	whole := digits(s, i)
	end := whole
	if whole < len(s) && s[whole] == '.' {
		if fraction := digits(s, whole+1); fraction > whole+1 {
			end = fraction
		}
	}
	if end == i {
		return 0
	}
	if end < len(s) && s[end]|0x20 == 'e' {
		e := end + 1
		if e < len(s) && (s[e] == '-' || s[e] == '+') {
			e++
		}
		if last := digits(s, e); last > e {
			end = last
		}
	}
	return end
}

// digits is the place after the ASCII digits that start at i.
func digits(s string, i int) int {
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return i
}

// formatNumber is ECMAScript's Number::toString for base 10, which HTML calls the best representation of a number as a
// floating-point number: the shortest digits that read back as f, without an exponent from 1e-6 up to 1e21.
func formatNumber(f float64) string {
	if f == 0 {
		return "0" // -0 too
	}
	if abs := math.Abs(f); abs >= 1e-6 && abs < 1e21 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	s := strconv.FormatFloat(f, 'e', -1, 64)
	// Go writes two digits of exponent at least, ECMAScript as few as there are.
	if i := len(s) - 2; s[i] == '0' && (s[i-1] == '+' || s[i-1] == '-') {
		s = s[:i] + s[i+1:]
	}
	return s
}

// track is what the attributes of a range input say (WHATWG HTML section 4.10.5.1.13).
type track struct {
	min, max float64
	step     float64 // 0 for step="any"
	base     float64 // where steps are counted from (section 4.10.5.3.8, "step base")
}

func trackOf(n *node) track {
	t := track{min: 0, max: 100, step: 1}
	hasMin := false
	if s, ok := n.attribute("min"); ok {
		if f, ok := parseNumber(s); ok {
			t.min, hasMin = f, true
		}
	}
	if s, ok := n.attribute("max"); ok {
		if f, ok := parseNumber(s); ok {
			t.max = f
		}
	}
	if s, ok := n.attribute("step"); ok {
		if strings.EqualFold(s, "any") && len(s) == len("any") {
			t.step = 0
		} else if f, ok := parseNumber(s); ok && f > 0 {
			t.step = f
		}
	}
	if hasMin {
		t.base = t.min
	} else if s, ok := n.attribute("value"); ok {
		if f, ok := parseNumber(s); ok {
			t.base = f
		}
	}
	return t
}

// sanitize is the value sanitization of a range: a value that is no number becomes the default, the middle of the track
// or min where max is below it; then the value is clamped, and moved to the nearest step on the track, ties upwards.
// A value that needs none of this keeps its spelling.
func (t track) sanitize(s string) string {
	f, ok := validNumber(s)
	changed := !ok
	if !ok {
		f = t.min
		if t.max >= t.min {
			f = t.min + (t.max-t.min)/2
			if math.IsInf(t.max-t.min, 0) {
				f = t.min/2 + t.max/2
			}
		}
	}
	if low := t.min; f < low {
		f, changed = low, true
	}
	if high := max(t.min, t.max); f > high {
		f, changed = high, true
	}
	if g := t.nearest(f); g != f {
		f, changed = g, true
	}
	if changed {
		return formatNumber(f)
	}
	return s
}

// nearest is the step nearest to f on the track, or f where there is none or f is on one.
func (t track) nearest(f float64) float64 {
	if t.step == 0 {
		return f
	}
	high := max(t.min, t.max)
	if integer(t.min) && integer(high) && integer(t.step) && integer(t.base) && integer(f) {
		// Whole numbers below 2^51: their sums are exact.
		off := math.Mod(f-t.base, t.step)
		if off == 0 {
			return f
		}
		if off < 0 {
			off += t.step
		}
		low, up := f-off, f-off+t.step
		switch {
		case off*2 >= t.step && up <= high || low < t.min && up <= high:
			return up
		case low >= t.min:
			return low
		}
		return f
	}
	return t.nearestDecimal(f, high)
}

// nearestDecimal counts with the decimal numbers that the doubles stand for, as browsers do: 0.3 is three steps of 0.1,
// though the doubles' quotient is not 3.
func (t track) nearestDecimal(f, high float64) float64 {
	value, step, base, lowest, highest := decimal(f), decimal(t.step), decimal(t.base), decimal(t.min), decimal(high)
	steps := new(big.Rat).Sub(value, base)
	steps.Quo(steps, step)
	if steps.IsInt() {
		return f
	}
	// Floor division; ties go up.
	floor := new(big.Int).Div(steps.Num(), steps.Denom())
	at := func(k *big.Int) *big.Rat {
		r := new(big.Rat).SetInt(k)
		return r.Add(r.Mul(r, step), base)
	}
	low, up := at(floor), at(new(big.Int).Add(floor, big.NewInt(1)))
	toLow, toUp := new(big.Rat).Sub(value, low), new(big.Rat).Sub(up, value)
	lowFits, upFits := low.Cmp(lowest) >= 0, up.Cmp(highest) <= 0
	pick := value
	switch {
	case upFits && (toUp.Cmp(toLow) <= 0 || !lowFits):
		pick = up
	case lowFits:
		pick = low
	}
	g, _ := pick.Float64()
	return g
}

// decimal is the number that f's shortest decimal spelling says. Its exponent is that of a double, so it stays small.
func decimal(f float64) *big.Rat {
	r, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'e', -1, 64))
	return r
}

func integer(f float64) bool { return f == math.Trunc(f) && math.Abs(f) < 1<<51 }
