package patches_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/cardrun/patches"
)

func expectLines(t *testing.T, card, want string, b ...patches.Patch) {
	t.Helper()
	d := document(t, card)
	if len(b) > 0 {
		apply(t, d, b...)
	}
	if diff := cmp.Diff(want, d.Text()); diff != "" {
		t.Errorf("Text of %s (-want +got):\n%s", card, diff)
	}
}

func TestTextBlocks(t *testing.T) {
	expectLines(t, "", "")
	expectLines(t, "<section><h2> Title </h2><p>One\n two <b>bold</b>text</p>loose<div>x</div></section>", "Title\nOne two boldtext\nloose\nx")
	expectLines(t, "a<br>b<br><br>c", "a\nb\n\nc")
	expectLines(t, "<p>a</p><hr><p>b</p>", "a\n---\nb")
	expectLines(t, "<pre>  a\n\n   b\n</pre>c", "  a\n\n   b\nc")
	expectLines(t, "<p>a<span> b</span> <i>c </i>d</p>", "a b c d")
	expectLines(t, "<p hidden>a</p><p>b <span hidden>c</span></p>", "b")
	expectLines(t, "<p>He said <q>yes</q>.</p><blockquote><p>a</p><p>b</p></blockquote>", "He said “yes”.\n  a\n  b")
	expectLines(t, "<p>a&nbsp;&nbsp;b</p>", "a\u00a0\u00a0b")
	expectLines(t, "<details><summary>More</summary><p>secret</p></details><details open><summary>Less</summary>shown</details>", "More\nLess\nshown")
	expectLines(t, "<details><p>secret</p><summary>a</summary><summary>b</summary></details>", "a")
}

func TestTextLists(t *testing.T) {
	expectLines(t, "<ul><li>a<li>b<ul><li>c</ul>d</ul>", "- a\n- b\n  - c\n  d")
	expectLines(t, "<ol><li>a<li>b</ol>", "1. a\n2. b")
	expectLines(t, "<ol start=9><li>a<li>b<p>c</p></ol>", "9. a\n10. b\n    c")
	expectLines(t, "<ol reversed><li>a<li value=7>b<li>c</ol>", "3. a\n7. b\n6. c")
	expectLines(t, `<ol type="a" start=26><li>a<li>b</ol><ol type="I" start=4><li>c</ol><ol type="i" start=-1><li>d</ol>`, "z. a\naa. b\nIV. c\n-1. d")
	expectLines(t, "<ul><li><li><ul><li>x</ul></ul>", "-\n- - x")
	expectLines(t, "<dl><dt>Term<dd>Meaning<dd>Other</dl>", "Term\n  Meaning\n  Other")
}

func TestTextTables(t *testing.T) {
	expectLines(t, "<table><caption>Costs</caption><tr><th>A<th>B<tr><td>1<td><p>2</p><p>3</p><tr><td><td>x<tr><td><td></table>", "Costs\nA | B\n1 | 2 / 3\n | x")
	expectLines(t, "<table><tr><td>a<td><table><tr><td>b<td>c<tr><td>d</table></table>", "a | b | c / d")
	expectLines(t, "<table><tr><td><label for=k>K</label><td><input id=k value=1><td>x</table>", "K: 1 | x")
	expectLines(t, "<table><tr><th>h</table><table><tbody id=b></table>", "h\nonetwo", html("b", "<tr><td>one<td>two"))
}

func TestTextControls(t *testing.T) {
	expectLines(t, `<h2>Estimated capacity</h2><label for="workers">Workers</label><input id="workers" type="range" min="1" max="20" value="4">`+
		`<label for="rate">Requests/s per worker</label><input id="rate" type="number" value="25"><p>100</p>`,
		"Estimated capacity\nWorkers: 4\nRequests/s per worker: 25\n100")
	expectLines(t, "<label>Workers: <input value=4> per day</label>", "Workers: 4 per day")
	expectLines(t, "<label><input value=4> Workers</label>", "Workers: 4")
	expectLines(t, "<p>Rate <input value=5> percent</p>", "Rate 5 percent")
	expectLines(t, "<p>Choose <label for=a>A</label> <input id=a value=1> units <button>Go  on</button></p>", "Choose\nA: 1 units [Go on]")
	expectLines(t, "<input id=a value=1><p>x</p><label for=a>Late</label><label for=none>Dangling</label>", "Late: 1\nx\nDangling")
	expectLines(t, "<input id=a aria-label='Given name' value=Ann><input title=T>", "Given name: Ann\nT:")
	expectLines(t, "<label><input type=checkbox checked> Show</label><label>Hide <input type=checkbox></label><input type=checkbox id=c><label for=c>Late</label><input type=checkbox>",
		"[x] Show\n[ ] Hide\n[ ] Late [ ]")
	expectLines(t, "<p>2 + 3 = ?</p><label><input type=radio name=q> 4</label><label><input type=radio name=q checked> 5</label>", "2 + 3 = ?\n( ) 4\n(x) 5")
	expectLines(t, "<label for=s>Unit</label><select id=s><option value=1>km<option value=2 selected label=Miles>mi</select>", "Unit: Miles")
	expectLines(t, "<label for=s>Unit</label><select id=s><option>km</select>", "Unit:", value("s", "?"))
	expectLines(t, "<label for=a>Notes</label><textarea id=a>one\ntwo\n\nthree\n</textarea><p>x</p>", "Notes: one\n  two\n\n  three\nx")
	expectLines(t, "<button><b>Go</b> now</button><button aria-label=Close></button><button></button>", "[Go now] [Close] [button]")
	expectLines(t, "<label for=p>Done</label><progress id=p value=3 max=10></progress><label>Load <meter value=0.7></meter></label><meter min=0 max=10 value=12></meter><progress></progress>",
		"Done: 30%\nLoad: 0.7 10 of 10 …")
	expectLines(t, "<label for=o>Total</label><output id=o>5</output>", "Total: 5")
	expectLines(t, "<label for=a>A</label><input id=a hidden value=1><div hidden><label for=b>B</label></div><input id=b value=2>", "A 2")
	expectLines(t, "<fieldset><legend>Plan</legend><label for=b>x</label><button id=b>Go</button></fieldset>", "Plan\nx [Go]")
	expectLines(t, "<label for=x>One</label><label for=x>Two:</label><input id=x value=1>", "One Two: 1")
	expectLines(t, "<label>Outer <label>Inner <input value=1></label></label>", "Outer Inner: 1")
}

// A control is a box on a screen: what it shows never runs together with what is beside it.
func TestTextSetsControlsOff(t *testing.T) {
	expectLines(t, `<input value=18><output>18%</output>`, "18 18%")
	expectLines(t, `<label for=a>Tip</label><input id=a value=18><output>18%</output>`, "Tip: 18 18%")
	expectLines(t, `<label>Tip<input type=range value=18><output>18%</output></label>`, "Tip: 18 18%")
	expectLines(t, `<label>Tip<input value=18>%<output>18%</output><input value=3></label>`, "Tip: 18 %18% 3")
	expectLines(t, `<input value=1><input value=2><select><option>-3</select><textarea>+4</textarea>`, "1 2 -3 +4")
	expectLines(t, `<input value=1><span>-2</span><input value=a.><b>.b</b>`, "1 -2 a. .b")
	expectLines(t, `$<input value=5>% of (<input value=6>)`, "$ 5 % of ( 6 )")
	expectLines(t, `x<input value="">y<input value=""><input value=z>`, "x y z")
	expectLines(t, `<p><input value=""></p><p>a</p><input value="">b`, "a\nb")
	expectLines(t, `<textarea>a`+"\n"+`b!</textarea>!x`, "a\n  b! !x")
	expectLines(t, `+<button>a</button>+<q><input value=3>x</q><button aria-label=b></button><progress value=1></progress>%`, "+ [a] +“3 x” [b] 100% %")
	expectLines(t, `<input type=checkbox><input type=radio checked><i>x</i>`, "[ ] (x) x")
	expectLines(t, "<pre>a<input value=3>b <input value=4> c\n<input value=5>\nd</pre>", "a 3 b 4 c\n5\nd")
	expectLines(t, `<table><tr><td>$<input value=1>!<td><label>x<input value=2></label>!</table>`, "$ 1 ! | x: 2 !")
	// White space that is there is enough, and text beside text, be it an output's, is left alone.
	expectLines(t, `a <input value=3> b <input value=4>`, "a 3 b 4")
	expectLines(t, `<output>5</output>%<output>6</output>`, "5%6")
}

func TestTextSVG(t *testing.T) {
	expectLines(t, `before<svg viewBox="0 0 9 9"><title>Growth</title><desc>no</desc><g><rect><title>tip</title></rect><text> 10 <tspan>%</tspan></text><text>20</text></g></svg>after`,
		"before\nGrowth\n10 %\n20\nafter")
}
