package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The short form of the growth: every plot is drawn, is XML, and has a point for each size.
func TestShortGrowth(t *testing.T) {
	folder := t.TempDir()
	s := scale{sessions: []int{2, 20}, elements: []int{8, 500}, patches: []int{0, 64}, queue: []int{1, 16}, rate: 20 * time.Millisecond, events: 10}
	if err := s.draw(folder, func(string) bool { return true }, t.Output()); err != nil {
		t.Fatal(err)
	}
	for name, points := range map[string]int{"workers": 4, "sessions-memory": 1, "sessions-time": 4, "document": 4, "patches": 4, "queue": 2} {
		data, err := os.Open(filepath.Join(folder, name+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		circles, in := 0, xml.NewDecoder(data)
		for {
			token, err := in.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if e, ok := token.(xml.StartElement); ok && e.Name.Local == "circle" {
				circles++
			}
		}
		data.Close()
		if circles < points {
			t.Errorf("%s has %d points, not %d", name, circles, points)
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct{ low, high float64 }{{0, 1}, {0, 0.037}, {1, 2}, {10, 100_000}} {
		got := ticks(c.low, c.high)
		if len(got) < 2 || len(got) > 8 {
			t.Errorf("%g to %g has ticks %v", c.low, c.high, got)
		}
	}
}
