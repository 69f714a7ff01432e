package patches_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.com/cardrun/limits"
	"example.com/cardrun/patches"
)

func TestBatchJSOND19(t *testing.T) {
	b := patches.Batch{text("out", "4 × 25"), value("k", "\"\\/<>&'\b\f\n\r\t\x00\x1f\x7f\u2028\U0001F600"), {Op: "x", ID: "", Value: ""}}
	want := `[{"op":"text","id":"out","value":"4 × 25"},{"op":"value","id":"k","value":"\"\\/<>&'\b\f\n\r\t\u0000\u001f` +
		"\x7f\u2028\U0001F600" + `"},{"op":"x","id":"","value":""}]`
	if got := string(b.AppendJSON(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := string(patches.Batch(nil).AppendJSON([]byte("x"))); got != "x[]" {
		t.Errorf("got %s", got)
	}
}

func TestBatchSizeR107(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b patches.Batch
		for range rapid.IntRange(0, 4).Draw(t, "n") {
			s := rapid.OneOf(rapid.String(), rapid.StringMatching(`[\x00-\x7f]{0,9}`), rapid.Just("a\xffb\xf0\x9f"), rapid.Just("\U0001F600\u2029"))
			b = append(b, patches.Patch{Op: patches.Op(s.Draw(t, "op")), ID: s.Draw(t, "id"), Value: s.Draw(t, "value")})
		}
		text := b.AppendJSON(nil)
		units, bytes := b.Size()
		if units != limits.Length(string(text)) || bytes != len(text) {
			t.Fatalf("Size() = %d, %d; the text has %d, %d: %q", units, bytes, limits.Length(string(text)), len(text), text)
		}
		var back patches.Batch
		if err := json.Unmarshal(text, &back); err != nil || len(back) != len(b) {
			t.Fatalf("%v: %q", err, text)
		}
	})
}

const atomicHTML = `<section><p id=out>start</p><ul id=list><li id=one>one</li></ul><input id=k type=number value=3>` +
	`<textarea id=a></textarea><select id=s><option id=o>x</select><div id=box></div><svg id=g><circle id=dot r=1 /></svg></section>`

func TestBatchRefusedR81(t *testing.T) {
	long := strings.Repeat("x", limits.Value+1)
	elements := strings.Repeat("<i></i>", 510)
	controls := strings.Repeat("<button></button>", 62)
	for _, c := range []struct {
		name string
		code limits.Code
		b    patches.Batch
		// What the message has to say.
		says []string
	}{
		{"unknown target", limits.InvalidPatch, patches.Batch{text("out", "new"), text("gone", "x")}, []string{"patch 2", "ui.text", `"gone"`, "no element"}},
		{"target removed before", limits.InvalidPatch, patches.Batch{html("list", "<li>two"), html("one", "x")}, []string{"patch 2", "removed"}},
		{"bad id", limits.InvalidPatch, patches.Batch{value("9", "x")}, []string{"patch 1", "letter"}},
		{"empty id", limits.InvalidPatch, patches.Batch{text("", "x")}, []string{"patch 1"}},
		{"unknown operation", limits.InvalidPatch, patches.Batch{{Op: "attr", ID: "out", Value: "x"}}, []string{"patch 1", `"attr"`}},
		{"value of a paragraph", limits.InvalidPatch, patches.Batch{text("out", "new"), value("out", "x")}, []string{"patch 2", "<p>", "no control"}},
		{"value of an option", limits.InvalidPatch, patches.Batch{value("o", "x")}, []string{"<option>"}},
		{"value of a shape", limits.InvalidPatch, patches.Batch{value("dot", "x")}, []string{"<circle>"}},
		{"R25 id twice", limits.InvalidPatch, patches.Batch{value("k", "9"), html("box", "<p id=out>x</p>")}, []string{"out", "twice", "after all 2 patches of the batch, the id"}},
		{"R25 id twice in the fragment", limits.InvalidPatch, patches.Batch{html("box", "<p id=n>x</p><p id=n>y</p>")}, []string{"patch 1", "n"}},
		{"R24 id in the fragment", limits.InvalidPatch, patches.Batch{html("box", "<p id='a b'>x</p>")}, []string{"patch 1"}},
		{"R28 file input", limits.InvalidPatch, patches.Batch{html("box", "<input type=file>")}, []string{"patch 1"}},
		{"R27 multiple", limits.InvalidPatch, patches.Batch{html("box", "<select multiple></select>")}, []string{"patch 1"}},
		{"R22 elements", limits.InvalidPatch, patches.Batch{text("out", "new"), html("box", elements)}, []string{"512"}},
		{"R22 depth", limits.InvalidPatch, patches.Batch{html("box", strings.Repeat("<b>", 600))}, []string{"patch 1", "nested more than 500 deep"}},
		{"R23 controls", limits.InvalidPatch, patches.Batch{text("out", "new"), html("box", controls)}, []string{"64"}},
		{"R105 value", limits.InputLimit, patches.Batch{text("out", "new"), value("k", long)}, []string{"patch 2", "2049", "2048"}},
		{"R105 value for a select", limits.InputLimit, patches.Batch{value("s", long)}, []string{"patch 1", "2049"}},
		{"R86 textarea by text", limits.InputLimit, patches.Batch{text("a", long)}, []string{"2049", `"a"`, "after the batch's only patch, the value"}},
		{"R86 option by text", limits.InputLimit, patches.Batch{text("o", long)}, []string{"2049", `"s"`}},
		{"R86 input by html", limits.InputLimit, patches.Batch{html("box", "<input id=n value="+long+">")}, []string{"2049", `"n"`}},
		{"R86 option by html", limits.InputLimit, patches.Batch{html("s", "<option>x<option>"+long)}, []string{"2049", "<option>"}},
		{"R107 batch", limits.InputLimit, patches.Batch{text("out", strings.Repeat("x", limits.Batch-36))}, []string{"16001", "16000"}},
		{"R104 patches", limits.TooManyPatches, make(patches.Batch, limits.Patches+1), []string{"65", "64"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := document(t, atomicHTML)
			expectRefused(t, d, c.code, c.b...)
			_, err := d.Stage(c.b)
			for _, want := range c.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			var e *limits.Error
			if !errors.As(err, &e) {
				t.Fatalf("%T is no *limits.Error", err)
			}
		})
	}
}

// A snapshot can pass its limit by way of several batches that are each small enough.
func TestSnapshotOverBatchesR86(t *testing.T) {
	d := document(t, `<div id=box></div><textarea id=t0></textarea><textarea id=t1></textarea><textarea id=t2></textarea><textarea id=t3></textarea><p id=out>x</p>`)
	big := strings.Repeat("é", 2000)
	apply(t, d, value("t0", big), value("t1", big))
	apply(t, d, value("t2", big))
	expectRefused(t, d, limits.InputLimit, text("t3", big))
	expectRefused(t, d, limits.InputLimit, html("box", "<input id=n value="+strings.Repeat("€", 2000)+">"))
	// D35: a user's edit over it is kept; a batch that has nothing to do with controls is not to blame.
	if changed, err := d.Edit("t3", &big, nil); !changed || err != nil {
		t.Fatal(changed, err)
	}
	if _, err := d.Snapshot(); limits.CodeOf(err) != limits.InputLimit {
		t.Errorf("Snapshot: %v", err)
	}
	if _, err := d.Apply(patches.Batch{text("out", "y")}); err != nil {
		t.Errorf("Apply: %v", err)
	}
	if _, err := d.Apply(patches.Batch{value("t3", "")}); err != nil {
		t.Errorf("Apply: %v", err)
	}
}

func TestBatchLimitsReached(t *testing.T) {
	d := document(t, atomicHTML)
	apply(t, d, text("out", strings.Repeat("x", limits.Batch-37)))
	d = document(t, atomicHTML)
	apply(t, d, html("box", strings.Repeat("<i></i>", 512-11)))
	n := 0
	for _, c := range d.Elements() {
		n += c
	}
	if n != 512 {
		t.Errorf("%d elements", n)
	}
	d = document(t, atomicHTML)
	apply(t, d, html("box", strings.Repeat("<button></button>", 61)))
	b := make(patches.Batch, limits.Patches)
	for i := range b {
		b[i] = text("out", strings.Repeat("i", i))
	}
	apply(t, d, b...)
	expectText(t, d, "out", strings.Repeat("i", 63))
}

func TestSequenceD18(t *testing.T) {
	for _, c := range []struct {
		name, want string
		b          []patches.Patch
	}{
		{"a patch on what an earlier one made", `<p id="n">new</p>`, []patches.Patch{html("box", "<p id=n>x</p>"), text("n", "new")}},
		{"an id twice for a while", `<p id="one">moved</p>`, []patches.Patch{html("box", "<p id=one>x</p>"), text("list", ""), text("one", "moved")}},
		{"an id moves", `<p id="one">x</p>`, []patches.Patch{text("list", ""), html("box", "<p id=one>x</p>")}},
		{"too many for a while", "few", []patches.Patch{html("box", strings.Repeat("<i></i>", 505)), html("box", "few")}},
		{"the first of two ids in document order is meant", "", []patches.Patch{html("box", "<p id=out>x</p>"), text("out", "first"), text("box", "")}},
	} {
		d := document(t, atomicHTML)
		apply(t, d, c.b...)
		if got, _ := d.InnerHTML("box"); got != c.want {
			t.Errorf("%s: box holds %q, want %q", c.name, got, c.want)
		}
		if c.want == "" {
			expectText(t, d, "out", "first")
		}
	}
}

func TestBatchCarriesSanitizedHTMLR30(t *testing.T) {
	d := document(t, atomicHTML)
	in := patches.Batch{html("box", "<b onclick=x()>b<script>x</script></b>"), text("out", "<b>")}
	out, err := d.Apply(in)
	if err != nil {
		t.Fatal(err)
	}
	if out[0].Value != "<b>b</b>" || out[1].Value != "<b>" {
		t.Errorf("the batch as applied: %v", out)
	}
	if in[0].Value != "<b onclick=x()>b<script>x</script></b>" {
		t.Error("the caller's batch was changed")
	}
}

func TestChangesD16(t *testing.T) {
	const h = `<p id=p>x</p><div id=box><input id=in><button id=btn><span id=face>x</span></button></div><input id=other>` +
		`<select id=s><optgroup id=g label=g><option id=o>x</optgroup></select><textarea id=a></textarea>` +
		`<div id=rs><input type=radio id=r1 name=r></div><input type=radio id=r2 name=r><input type=radio id=r3 name=q><input type=radio id=lone><div id=empty></div>`
	for _, c := range []struct {
		b    []patches.Patch
		want string
	}{
		{[]patches.Patch{text("p", "x"), text("face", "y"), html("empty", "<b>x</b>")}, ""},
		{[]patches.Patch{value("in", "")}, "in"}, {[]patches.Patch{value("r1", "v")}, "r1"}, {[]patches.Patch{value("s", "x")}, "s"},
		{[]patches.Patch{text("in", "")}, "in"}, {[]patches.Patch{text("box", "x")}, "in btn"}, {[]patches.Patch{text("btn", "x")}, "btn"},
		{[]patches.Patch{html("box", "<input id=in>")}, "in btn"}, {[]patches.Patch{html("o", "x")}, "s"}, {[]patches.Patch{text("o", "x")}, "s"},
		{[]patches.Patch{text("g", "")}, "s"}, {[]patches.Patch{html("s", "<option>")}, "s"}, {[]patches.Patch{text("a", "")}, "a"},
		{[]patches.Patch{html("empty", "<input type=radio name=q>")}, "r3"}, {[]patches.Patch{html("empty", "<input type=radio>")}, ""},
		{[]patches.Patch{text("rs", "")}, "r1 r2"}, {[]patches.Patch{text("r2", "")}, "r1 r2"}, {[]patches.Patch{text("lone", "")}, "lone"},
		{[]patches.Patch{html("empty", "<input id=new>"), text("empty", "")}, "new"},
		{[]patches.Patch{html("empty", "<div id=e2><input id=new></div>")}, "new"},
	} {
		d := document(t, h)
		s, err := d.Stage(c.b)
		if err != nil {
			t.Fatal(c.b, err)
		}
		var got []string
		for _, id := range []string{"in", "btn", "other", "s", "a", "r1", "r2", "r3", "lone", "new", "p", "missing"} {
			if s.Changes(id) {
				got = append(got, id)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v changes %v, want %s", c.b, got, c.want)
		}
	}
}

func TestCommitOnce(t *testing.T) {
	d := document(t, atomicHTML)
	stage := func(b ...patches.Patch) *patches.Stage {
		s, err := d.Stage(b)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first, second := stage(text("out", "first")), stage(text("out", "second"))
	expectText(t, d, "out", "start")
	if err := first.Commit(); err != nil {
		t.Fatal(err)
	}
	if first.Commit() == nil || second.Commit() == nil {
		t.Error("a stale stage was committed")
	}
	third := stage(text("out", "third"))
	v := "7"
	if changed, _ := d.Edit("k", &v, nil); !changed {
		t.Fatal("not edited")
	}
	if third.Commit() == nil {
		t.Error("a stage from before an edit was committed")
	}
	expectText(t, d, "out", "first")
	expectValue(t, d, "k", "7")
}

func TestCloneIsApart(t *testing.T) {
	d := document(t, atomicHTML)
	c := d.Clone()
	apply(t, c, html("box", "<p id=n>x</p>"), value("k", "9"), text("out", "clone"))
	v := "5"
	if _, err := c.Edit("a", &v, nil); err != nil {
		t.Fatal(err)
	}
	expectText(t, d, "out", "start")
	expectValue(t, d, "k", "3")
	expectValue(t, d, "a", "")
	if d.Has("n") || !c.Has("n") {
		t.Error("the clone is not apart")
	}
}
