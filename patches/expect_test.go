package patches_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/cardrun/limits"
	"example.com/cardrun/patches"
	"example.com/cardrun/sanitize"
)

// document makes the document of a card's html, which must be acceptable.
func document(t testing.TB, html string) *patches.Document {
	t.Helper()
	h, diagnostics := sanitize.Card(html)
	for _, g := range diagnostics {
		if g.Severity == limits.SeverityError {
			t.Fatalf("Card(%.200q): %v", html, g)
		}
	}
	d, err := patches.New(h)
	if err != nil {
		t.Fatalf("New(%.200q): %v", html, err)
	}
	return d
}

func text(id, v string) patches.Patch {
	return patches.Patch{Op: patches.OpText, ID: id, Value: v}
}

func html(id, v string) patches.Patch {
	return patches.Patch{Op: patches.OpHTML, ID: id, Value: v}
}

func value(id, v string) patches.Patch {
	return patches.Patch{Op: patches.OpValue, ID: id, Value: v}
}

// apply applies the patches as one batch, which must be valid, and checks that the document is still sound.
func apply(t testing.TB, d *patches.Document, b ...patches.Patch) {
	t.Helper()
	if _, err := d.Apply(b); err != nil {
		t.Fatalf("Apply(%.300v): %v", b, err)
	}
	expectSound(t, d)
}

// expectRefused applies the patches as one batch, which must fail with that code and leave everything as it was.
func expectRefused(t testing.TB, d *patches.Document, code limits.Code, b ...patches.Patch) {
	t.Helper()
	before, snapshot := d.HTML(), expectSnapshot(t, d)
	_, err := d.Apply(b)
	if got := limits.CodeOf(err); got != code {
		t.Errorf("Apply(%.200v) = %v, want code %q", b, err, code)
	}
	if after := d.HTML(); after != before {
		t.Errorf("a refused batch changed the html (R80, R81): %s", cmp.Diff(before, after))
	}
	if after := expectSnapshot(t, d); after != snapshot {
		t.Errorf("a refused batch changed the snapshot (R80, R81): %s", cmp.Diff(snapshot, after))
	}
}

func expectSnapshot(t testing.TB, d *patches.Document) string {
	t.Helper()
	b, err := d.Snapshot()
	if err != nil {
		t.Fatalf("Snapshot: %v", err)
	}
	return string(b)
}

func expectValue(t testing.TB, d *patches.Document, id, want string) {
	t.Helper()
	c, ok := d.Control(id)
	if !ok {
		t.Errorf("there is no control %q", id)
	} else if c.Value != want {
		t.Errorf("value of %s = %q, want %q", id, c.Value, want)
	}
}

func expectText(t testing.TB, d *patches.Document, id, want string) {
	t.Helper()
	if got, ok := d.ElementText(id); !ok || got != want {
		t.Errorf("text of %s = %q, %v, want %q", id, got, ok, want)
	}
}

func expectHTML(t testing.TB, d *patches.Document, want string) {
	t.Helper()
	if diff := cmp.Diff(want, d.HTML()); diff != "" {
		t.Errorf("HTML (-want +got):\n%s", diff)
	}
}

// expectSound checks what must hold of every document: HTML is stable and says the same controls again.
func expectSound(t testing.TB, d *patches.Document) {
	t.Helper()
	text := d.HTML()
	h, diagnostics := sanitize.Card(text)
	for _, g := range diagnostics {
		if g.Severity == limits.SeverityError {
			t.Errorf("HTML %q is refused: %v", text, g)
			return
		}
	}
	if again := h.String(); again != text {
		t.Errorf("HTML is not stable:\n%s\n%s", text, again)
	}
	again, err := patches.New(h)
	if err != nil {
		t.Errorf("New of HTML %q: %v", text, err)
		return
	}
	if diff := cmp.Diff(inOrder(text, d.Controls()), inOrder(text, again.Controls())); diff != "" {
		t.Errorf("HTML %s says other controls (-now +again):\n%s", text, diff)
	}
	if third := again.HTML(); third != text {
		t.Errorf("HTML of HTML differs:\n%s\n%s", text, third)
	}
}

// inOrder sorts the controls by id where a button may have been in another or a part of a table have held what it cannot:
// these are written elsewhere, and so may come after controls that they came before.
func inOrder(html string, list []patches.Control) []patches.Control {
	if strings.Count(html, "<button") > 1 || strings.Contains(html, "<table") {
		slices.SortFunc(list, func(a, b patches.Control) int { return strings.Compare(a.ID, b.ID) })
	}
	return list
}
