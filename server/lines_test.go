package server

import (
	"testing"
	"time"
)

// TestRefusalLines has 100 refusals a second logged, and the rest counted in the next line.
func TestRefusalLines(t *testing.T) {
	var l lines
	now := time.Unix(1000, 0)
	logged, left := 0, int64(0)
	refuse := func(n int, at time.Time) {
		for range n {
			if before, ok := l.take(at); ok {
				logged++
				left += before
			}
		}
	}
	expect := func(what string, lines int, counted int64) {
		t.Helper()
		if logged != lines || left != counted {
			t.Errorf("%s: %d lines that count %d more; want %d and %d", what, logged, left, lines, counted)
		}
	}
	refuse(refusalLines, now)
	expect("as many as there may be", refusalLines, 0)
	refuse(2400, now.Add(999*time.Millisecond))
	expect("more in the same second", refusalLines, 0)
	refuse(1, now.Add(time.Second))
	expect("the next second", refusalLines+1, 2400)
	refuse(1, now.Add(time.Hour))
	expect("an hour later", refusalLines+2, 2400)
}
