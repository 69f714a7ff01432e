package patches

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// ECMAScript section 6.1.6.1.20, Number::toString.
func TestFormatNumber(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0", math.Copysign(0, -1): "0", 1: "1", -1.5: "-1.5", 100: "100", 0.1: "0.1", 0.30000000000000004: "0.30000000000000004",
		1e20: "100000000000000000000", 123456789012345680000: "123456789012345680000", 1e21: "1e+21", 1.5e300: "1.5e+300", -1e21: "-1e+21",
		1e-6: "0.000001", 1e-7: "1e-7", 1.25e-7: "1.25e-7", 1.5e-10: "1.5e-10", 5e-324: "5e-324", math.MaxFloat64: "1.7976931348623157e+308",
	} {
		if got := formatNumber(f); got != want {
			t.Errorf("formatNumber(%g) = %s, want %s", f, got, want)
		}
	}
}

// WHATWG HTML section 2.3.4.3, rules for parsing floating-point number values.
func TestParseNumber(t *testing.T) {
	for s, want := range map[string]float64{
		"1": 1, " \t\n1": 1, "+1": 1, "-1": -1, "1.5x": 1.5, "1.": 1, ".5": 0.5, "+.5e1 ": 5, "1e": 1, "1e+": 1, "1e5": 1e5, "1E-2px": 0.01, "-0": 0, "1e-999": 0,
	} {
		if got, ok := parseNumber(s); !ok || got != want {
			t.Errorf("parseNumber(%q) = %g, %v, want %g", s, got, ok, want)
		}
	}
	for _, s := range []string{"", " ", "x", ".", "+", "-.", "e1", "- 1", "\u00a01", "1e999", "Infinity", "NaN"} {
		if got, ok := parseNumber(s); ok {
			t.Errorf("parseNumber(%q) = %g, want an error", s, got)
		}
	}
}

// The quick account with whole numbers agrees with the one with decimals, and a sanitized value stays as it is.
func TestNearestAccountsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.IntRange(-1000, 1000)
		r := track{min: float64(whole.Draw(t, "min")), max: float64(whole.Draw(t, "max")), step: float64(rapid.IntRange(1, 50).Draw(t, "step")), base: float64(whole.Draw(t, "base"))}
		high := max(r.min, r.max)
		f := min(max(float64(whole.Draw(t, "value")), r.min), high)
		if quick, exact := r.nearest(f), r.nearestDecimal(f, high); quick != exact {
			t.Fatalf("%+v: nearest(%g) = %g, with decimals %g", r, f, quick, exact)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Float64Range(-1e6, 1e6), rapid.Float64(), rapid.SampledFrom([]float64{0.1, 0.3, 1e-7, 1e21, 5e-324}))
		r := track{min: number.Draw(t, "min"), max: number.Draw(t, "max"), step: math.Abs(number.Draw(t, "step")), base: number.Draw(t, "base")}
		s := r.sanitize(formatNumber(number.Draw(t, "value")))
		f, ok := validNumber(s)
		if again := r.sanitize(s); !ok || again != s || f < r.min || f > max(r.min, r.max) {
			t.Fatalf("%+v: %q, again %q", r, s, again)
		}
	})
}
