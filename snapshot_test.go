package cardrun

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/cardrun/limits"
	"example.com/cardrun/patches"
)

func expectJSON(t *testing.T, s *Snapshot, want string) {
	t.Helper()
	got, err := s.AppendJSON([]byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("x"+want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSnapshotOfRejected(t *testing.T) {
	expectJSON(t, &Snapshot{
		Outcome: Rejected, Card: CardInfo{Title: "T"},
		Diagnostics: []Diagnostic{{Severity: limits.SeverityError, Code: limits.FieldMissing, Field: "css", Message: "css is missing"}},
	}, `{"outcome":"rejected","card":{"id":"","title":"T","summary":""},"display":null,"controls":[],"handlers":[],"rounds":[],"failure":null,`+
		`"diagnostics":[{"severity":"error","code":"field_missing","field":"css","line":0,"column":0,"message":"css is missing"}]}`)
}

func TestSnapshotOfSession(t *testing.T) {
	value, checked := "7", false
	s := &Snapshot{
		Outcome: Failed, Card: CardInfo{"sha256:00", "A < B", "S & \u2028"},
		Display:  &Display{HTML: "<p>x</p>", CSS: "p > b {}", Text: "x\ny"},
		Controls: []patches.Control{{ID: "w", Type: "range", Value: "4", Disabled: true}},
		Handlers: []Handler{{ID: "w", Type: "input"}},
		Rounds: []Round{
			{Phase: PhaseInit, Patches: patches.Batch{{Op: patches.OpText, ID: "o", Value: "<1>"}}, Usage: Usage{241, 5120, 1, 2, 90, 118200, true}},
			{Phase: PhaseEvent, Event: &Event{ID: "w", Type: "input", Value: &value, Checked: &checked}, Discarded: true},
			{Phase: PhaseEvent, Event: &Event{ID: "b", Type: "click"}},
		},
		Failure: &Failure{limits.Timeout, PhaseEvent, 2, "250 ms passed", 3, 9},
	}
	expectJSON(t, s, `{"outcome":"failed","card":{"id":"sha256:00","title":"A < B","summary":"S & `+"\u2028"+`"},`+
		`"display":{"html":"<p>x</p>","css":"p > b {}","text":"x\ny"},`+
		`"controls":[{"id":"w","type":"range","value":"4","checked":false,"disabled":true}],"handlers":[{"id":"w","type":"input"}],`+
		`"rounds":[{"phase":"init","event":null,"patches":[{"op":"text","id":"o","value":"<1>"}],"discarded":false,`+
		`"usage":{"elapsed_us":241,"fuel":5120,"microtasks":1,"patches":2,"batch_bytes":90,"heap_bytes":118200,"cached":true}},`+
		`{"phase":"event","event":{"id":"w","type":"input","value":"7","checked":false},"patches":[],"discarded":true,`+
		`"usage":{"elapsed_us":0,"fuel":0,"microtasks":0,"patches":0,"batch_bytes":0,"heap_bytes":0,"cached":false}},`+
		`{"phase":"event","event":{"id":"b","type":"click"},"patches":[],"discarded":false,`+
		`"usage":{"elapsed_us":0,"fuel":0,"microtasks":0,"patches":0,"batch_bytes":0,"heap_bytes":0,"cached":false}}],`+
		`"failure":{"code":"timeout","phase":"event","round":2,"message":"250 ms passed","line":3,"column":9},"diagnostics":[]}`)

	// Other programs read it back with any JSON library.
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var again Snapshot
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	compact, _ := s.AppendJSON(nil)
	expectJSON(t, &again, string(compact))
}

func TestSnapshotIndent(t *testing.T) {
	got, err := new(Snapshot{Outcome: Ready, Handlers: []Handler{{ID: "a", Type: "click"}}}).AppendIndent(nil, "  ")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"{\n  \"outcome\": \"ready\",\n", "\n  \"controls\": [],\n", "\n    {\n      \"id\": \"a\",\n", "\n  \"failure\": null,\n"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%q is not in %s", want, got)
		}
	}
}

// Text that came from a guest can hold anything; the snapshot stays JSON.
func TestSnapshotOfHostileText(t *testing.T) {
	got, err := new(Snapshot{Failure: &Failure{Message: "a\xff\x00\u2028</script>"}}).AppendJSON(nil)
	if err != nil || !json.Valid(got) || !strings.Contains(string(got), "a\ufffd\\u0000\u2028</script>") {
		t.Errorf("got %s, %v", got, err)
	}
}
