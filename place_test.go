package cardrun

import (
	"testing"
)

func TestPlace(t *testing.T) {
	r := newRuntime(t, Options{budget: patience})
	s := open(t, r, `<button id=b>b</button><p id=p></p>`, `let n = 0; ui.on('b', 'click', () => ui.text('p', String(++n)))`, SessionOptions{KeepRounds: 1})
	expect := func(what, want string, got Place) {
		t.Helper()
		if got.String() != want {
			t.Errorf("%s: place %v, want %s", what, got, want)
		}
	}
	look := func() Place { _, p := s.Look(); return p }
	expect("at first", "1.0", look())
	for range 5 {
		if _, err := s.Send(t.Context(), Event{ID: "b", Type: "click"}); err != nil {
			t.Fatal(err)
		}
	}
	expect("after five rounds, of which one is kept", "1.5", look())
	report, err := s.Send(t.Context(), Event{ID: "b", Type: "click"})
	if err != nil {
		t.Fatal(err)
	}
	expect("of a report", "1.6", report.Last)
	if err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect("refreshed", "2.0", look())
}
