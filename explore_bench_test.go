package cardrun

import (
	"testing"
)

// BenchmarkExplore tries inputs of the specification's example card: an operation is one round.
func BenchmarkExplore(b *testing.B) {
	r := newRuntime(b, Options{})
	c := Decode(shared(b, "cards/capacity.json"))
	b.ResetTimer()
	v, err := r.Review(b.Context(), &c, ReviewOptions{Rounds: b.N, Fuzz: patience})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(v.Explored.Rounds)*1000/float64(max(v.Explored.ElapsedMS, 1)), "rounds/s")
	b.ReportMetric(0, "ns/op") // the number of rounds is only about b.N
}

// BenchmarkReviewOnce is a review that tries no inputs.
func BenchmarkReviewOnce(b *testing.B) {
	r := newRuntime(b, Options{})
	c := Decode(shared(b, "cards/capacity.json"))
	for b.Loop() {
		if _, err := r.Review(b.Context(), &c, ReviewOptions{Fuzz: -1}); err != nil {
			b.Fatal(err)
		}
	}
}
