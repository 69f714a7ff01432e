package patches

import (
	"fmt"
	"testing"

	"example.com/cardrun/sanitize"
)

// A document that is changed for ever keeps no more nodes than its tree has, but for empty texts.
func TestNodesDoNotPileUp(t *testing.T) {
	h, _ := sanitize.Card(`<p id=out></p><div id=box></div><select id=s></select>`)
	d, err := New(h)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		text := fmt.Sprint(i)
		if i%2 == 0 {
			text = ""
		}
		b := Batch{{OpText, "out", text}, {OpHTML, "box", "<b>" + text + "</b><i>x</i>"}, {OpHTML, "s", "<option>" + text}, {OpHTML, "out", text},
			{OpText, "box", text}, {OpHTML, "box", "<p id=n>x</p>y"}, {OpText, "n", text}}
		if _, err := d.Apply(b); err != nil {
			t.Fatal(err)
		}
	}
	if live := 1 + count(d.export(0)); len(d.nodes) > live {
		t.Errorf("%d nodes are kept, %d are in the tree", len(d.nodes), live)
	}
	for at := 1; at < len(d.nodes); at++ {
		if p := d.nodes[at].parent; int(p) >= at {
			t.Fatalf("node %d stands before its parent %d", at, p)
		}
	}
}

// find looks in a list or in a map; both know the same.
func TestFindR24(t *testing.T) {
	for _, n := range []int{1, fewIDs, fewIDs + 1, 100} {
		source := ""
		for i := range n {
			source += fmt.Sprintf("<i id=i%d></i>", i)
		}
		h, _ := sanitize.Card(source)
		d, err := New(h)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			id := fmt.Sprintf("i%d", i)
			if at := d.find(id); at == 0 || d.nodes[at].attr[0].Value != id {
				t.Errorf("of %d: find(%s) = %d", n, id, at)
			}
		}
		if d.Has("i") || d.Has("") {
			t.Error("found what is not there")
		}
	}
}

// Nodes is the tree as a DOM has it, where HTML writes another, and nobody's but the caller's.
func TestNodesAreACopy(t *testing.T) {
	h, _ := sanitize.Card(`<p id=p></p><input id=n value=1><table><tbody id=b></tbody></table>`)
	d, err := New(h)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Apply(Batch{{OpHTML, "p", "<ul><li>x</li></ul>"}, {OpText, "b", "y"}, {OpValue, "n", "2"}}); err != nil {
		t.Fatal(err)
	}
	const want = `<p id="p"><ul><li>x</li></ul></p><input id="n" value="1"><table><tbody id="b">y</tbody></table>`
	text := func() string {
		var b []byte
		for _, n := range d.Nodes() {
			b = sanitize.AppendHTML(b, n)
		}
		return string(b)
	}
	if got := text(); got != want {
		t.Errorf("got %s", got)
	}
	nodes := d.Nodes()
	nodes[0].Attr[0].Value, nodes[1].Attr[1].Value, nodes[0].Children = "q", "3", nil
	if got := text(); got != want {
		t.Errorf("the document changed with the copy: %s", got)
	}
}
