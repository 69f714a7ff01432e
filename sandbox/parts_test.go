package sandbox

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"example.com/cardrun/limits"
)

// TestParts gives strings of every kind that the engine has as parts: of one and of two bytes a unit, atoms, windows on others.
func TestParts(t *testing.T) {
	e := newEngine(t, Options{Prelude: partsPrelude})
	long := strings.Repeat("0123456789", 1000)
	for _, c := range []struct {
		script string
		want   []string
	}{
		{"out = []", nil},
		{"out = ['', 'a', 'length', String(1.5)]", []string{"", "a", "length", "1.5"}},
		{"out = ['\\xe9', '\\u20ac\\xe9', '\\u{1f600}', 'a\\0b']", []string{"é", "€é", "\U0001f600", "a\x00b"}},
		{"out = ['a\\ud83d', '\\ude00', '\\ud83d\\ude00'.slice(1)]", []string{"a\ufffd", "\ufffd", "\ufffd"}}, // each by itself (D2)
		{"const s = '0123456789'.repeat(1000); out = [s, s.slice(3, 9000), s.slice(3).slice(4), s.slice(3, 5)]", []string{long, long[3:9000], long[7:], long[3:5]}},
		{"const s = '\\u20ac123456789'.repeat(1000); out = [s.slice(9990), s.slice(1, 8001), s.slice(2).substring(8)]",
			[]string{"€123456789", strings.Repeat("123456789€", 800), strings.Repeat("€123456789", 999)}},
	} {
		g := newGuest(t, e, Activation{})
		res, err := g.Run(context.Background(), Round{Input: []byte("0"), Script: c.script, MaxOutput: 40_000})
		var want strings.Builder
		for _, p := range c.want {
			fmt.Fprintf(&want, "%06x%s", len(p), p)
		}
		if err != nil || string(res.Output) != want.String() {
			t.Errorf("%s: %.200q, %v, want %.200q", c.script, res.Output, err, want.String())
		}
	}
	for _, script := range []string{
		"out = { parts: 5 }", "out = { parts: -1 }", "out = { parts: 2147483647 }", "out = { parts: 0.5 }", "out = ['a', 1]", "out = [Symbol()]",
		"out = ['x'.repeat(500), 'x'.repeat(489)]", // with the heads, 1001
	} {
		g := newGuest(t, e, Activation{})
		if res, err := g.Run(context.Background(), Round{Input: []byte("0"), Script: script, MaxOutput: 1000}); limits.CodeOf(err) != limits.Engine {
			t.Errorf("%s: %.200q, %v", script, res.Output, err)
		}
	}
	for _, c := range []struct {
		script string
		bytes  int // 0: the part is too long for its head
	}{
		{"out = ['\\xe9'.repeat(2 ** 23 - 1)]", 1<<24 - 2}, {"out = ['\\xe9'.repeat(2 ** 23)]", 0}, {"out = ['a', '\\xe9'.repeat(2 ** 23)]", 0},
	} {
		g := newGuest(t, e, Activation{})
		res, err := g.Run(context.Background(), Round{Input: []byte("0"), Script: c.script, MaxOutput: 1 << 25})
		if c.bytes > 0 && (err != nil || len(res.Output) != PartHead+c.bytes || !strings.HasPrefix(string(res.Output), fmt.Sprintf("%06x", c.bytes))) {
			t.Errorf("%s: %d bytes, %v", c.script, len(res.Output), err)
		}
		if c.bytes == 0 && limits.CodeOf(err) != limits.Engine {
			t.Errorf("%s: %.20q, %v", c.script, res.Output, err)
		}
	}
	g := newGuest(t, newEngine(t, Options{}), Activation{})
	if res, err := g.Run(context.Background(), Round{Input: []byte("0"), Script: "out = { [Symbol.toPrimitive]: () => 1 }", MaxOutput: 1000}); err != nil || string(res.Output) != ">1" {
		t.Errorf("a prelude without parts: %q, %v", res.Output, err)
	}
}
