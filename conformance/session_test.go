package conformance_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/cardrun"
	"example.com/cardrun/conformance"
	"example.com/cardrun/limits"
)

// counter is a card that keeps a count and shows a value.
func counter() *cardrun.Card {
	return &cardrun.Card{
		Title: "Counter", Summary: "It starts at 0, with the value a.",
		HTML:       `<input id="v" value="a"><button id="up">Up</button><p id="n">0</p>`,
		JavaScript: `let n = 0; ui.on('up', 'click', () => ui.text('n', String(++n) + ui.input('v').value)); ui.on('v', 'input', () => {});`,
	}
}

func open(t *testing.T, r *cardrun.Runtime, c *cardrun.Card) *cardrun.Session {
	t.Helper()
	s, snapshot, err := r.Open(t.Context(), c, cardrun.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if s == nil {
		t.Fatalf("rejected: %v", snapshot.Diagnostics)
	}
	t.Cleanup(s.Close)
	return s
}

func send(t *testing.T, s *cardrun.Session, events ...cardrun.Event) {
	t.Helper()
	if _, err := s.Send(t.Context(), events...); err != nil {
		t.Fatal(err)
	}
}

func input(id, value string) cardrun.Event {
	return cardrun.Event{ID: id, Type: "input", Value: &value}
}

func click(id string) cardrun.Event { return cardrun.Event{ID: id, Type: "click"} }

// expectShown holds what a session shows against a text of the element n and a value of the control v.
func expectShown(t *testing.T, s *cardrun.Session, n, v string) {
	t.Helper()
	want := conformance.Expect{Text: map[string]string{"n": n}, Controls: map[string]conformance.ControlState{"v": {Value: &v}}}
	if found := want.Check(s.Snapshot()); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}

// Two sessions of the same document are two cards: nothing done to one is seen in the other (R11), no state passes from
// one activation to another, be it at the same time (R92) or later (R122).
func TestActivationsApartR11R92R122(t *testing.T) {
	r := engine(t)
	one, two := open(t, r, counter()), open(t, r, counter())
	send(t, one, input("v", "b"), click("up"))
	send(t, one, click("up"))
	expectShown(t, one, "2b", "b")
	expectShown(t, two, "0", "a")
	send(t, two, click("up"))
	expectShown(t, two, "1a", "a")
	one.Close()
	expectShown(t, open(t, r, counter()), "0", "a")
}

// Refresh starts again from the saved document; what a user entered and what the script kept is gone (R121). It revives
// an activation that has ended (R120).
func TestRefreshR121(t *testing.T) {
	r := engine(t)
	s := open(t, r, counter())
	send(t, s, input("v", "b"), click("up"))
	if err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	expectShown(t, s, "0", "a")
	send(t, s, click("up"))
	expectShown(t, s, "1a", "a")

	c := counter()
	c.JavaScript += ` ui.on('n', 'click', () => { throw new Error('end'); });`
	s = open(t, r, c)
	send(t, s, click("n"))
	if got := s.Snapshot().Outcome; got != cardrun.Failed {
		t.Fatalf("outcome %s", got)
	}
	if err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	expectShown(t, s, "0", "a")
	if got := s.Snapshot().Outcome; got != cardrun.Ready {
		t.Errorf("outcome %s after a refresh", got)
	}
}

// What was accepted is what is kept (R12): the result for a host's history holds the initial document and its summary,
// whatever became of the session since (R124).
func TestHistoryKeepsDocumentR12R124(t *testing.T) {
	c := counter()
	first, err := c.Result()
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, engine(t), c)
	id := s.Snapshot().Card.ID
	send(t, s, input("v", "b"), click("up"))
	again, err := c.Result()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, again) || !bytes.Contains(again, []byte(`"It starts at 0, with the value a."`)) {
		t.Errorf("result was %s, is %s", first, again)
	}
	if got := s.Snapshot().Card.ID; got != id || got != c.ID() {
		t.Errorf("id was %s, is %s", id, got)
	}
	if strings.Contains(string(again), "1b") {
		t.Error("the result tells of the session")
	}
}

// A rejection names every fault, each with its field (R125).
func TestRejectionNamesAllFaultsR125(t *testing.T) {
	c := &cardrun.Card{Title: strings.Repeat("t", 121), Summary: "\u200b", HTML: `<a>x</a><p id="1">y</p>`, CSS: "@import 'x';", JavaScript: "let let"}
	s, snapshot, err := engine(t).Open(t.Context(), c, cardrun.SessionOptions{})
	if err != nil || s != nil {
		t.Fatalf("session %v, error %v", s, err)
	}
	type finding struct {
		Field string
		Code  limits.Code
	}
	var got []finding
	for _, d := range snapshot.Diagnostics {
		if d.Severity == limits.SeverityError {
			got = append(got, finding{d.Field, d.Code})
		}
		if d.Message == "" {
			t.Errorf("%v says nothing", d)
		}
	}
	want := []finding{{"title", limits.FieldLength}, {"summary", limits.TextInvisible}, {"html", limits.ElementForbidden},
		{"html", limits.IDInvalid}, {"css", limits.CSSForbidden}, {"javascript", limits.ScriptSyntax}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The same card, events, seed and time give the same snapshot, but for the time it took (D26).
func TestRepeatableD26(t *testing.T) {
	r := engine(t)
	cases := load(t, "cases")
	i := slices.IndexFunc(cases, func(c conformance.Case) bool { return c.Name == "D26-seeded-random" })
	if i < 0 {
		t.Fatal("no case D26-seeded-random")
	}
	run := func() *cardrun.Snapshot {
		card := cardrun.Decode(cases[i].Body)
		s, err := r.Render(t.Context(), &card, cardrun.RenderOptions{Seed: cases[i].Seed})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if diff := cmp.Diff(run(), run(), cmpopts.IgnoreFields(cardrun.Usage{}, "ElapsedUS")); diff != "" {
		t.Errorf("-one +two:\n%s", diff)
	}
}
