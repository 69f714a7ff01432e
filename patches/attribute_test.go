package patches

import (
	"slices"
	"testing"

	"example.com/cardrun/sanitize"
)

func TestAttributeAndOptions(t *testing.T) {
	h, _ := sanitize.Card(`<input id="n" type="number" max="9"><select id="s"><option>a</option><option value="b" disabled>B</option><optgroup label="g" disabled><option>c</option></optgroup><option value="d">D</option></select>`)
	d, err := New(h)
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := d.Attribute("n", "max"); v != "9" || !ok {
		t.Errorf("max is %q, %t", v, ok)
	}
	for _, id := range []string{"n", "nobody"} {
		if v, ok := d.Attribute(id, "min"); v != "" || ok {
			t.Errorf("min of %s is %q, %t", id, v, ok)
		}
		if o := d.Options(id); o != nil {
			t.Errorf("options of %s are %q", id, o)
		}
	}
	if o := d.Options("s"); !slices.Equal(o, []string{"a", "d"}) {
		t.Errorf("options are %q", o)
	}
}
