package patches_test

import (
	"errors"
	"strings"
	"testing"

	"example.com/cardrun/limits"
	"example.com/cardrun/patches"
)

const editHTML = `<input id=t maxlength=3 value=abc><input id=long><input id=n type=number value=1><input id=r type=range min=0 max=10>` +
	`<textarea id=a maxlength=4></textarea><select id=s><option>x<option>y<option disabled>z</select><button id=b>Go</button><p id=p>x</p>` +
	`<input id=c type=checkbox value=v><input id=r1 type=radio name=g checked value=1><input id=r2 type=radio name=g value=2>` +
	`<input id=off disabled><fieldset disabled><input id=in></fieldset><input id=ro readonly value=x><input id=rc type=checkbox readonly>` +
	`<input id=rr type=range readonly min=0 value=1><textarea id=ra readonly></textarea>`

func TestEditD21D34(t *testing.T) {
	const on, off = "on", "off"
	for _, c := range []struct {
		id, in, checked string
		want            string // id=value, or id* for checked, of all that is to be looked at
		changed         bool
		err             error
	}{
		{id: "t", in: "xyz", want: "t=xyz", changed: true},
		{id: "t", in: "abcdef", want: "t=abc"}, // cut at maxlength, as typing is
		{id: "t", in: "xyzz", want: "t=xyz", changed: true},
		{id: "t", in: "a\nb", want: "t=ab", changed: true},
		{id: "t", in: "abc", want: "t=abc"},
		{id: "long", in: strings.Repeat("x", 2048), want: "long=" + strings.Repeat("x", 2048), changed: true},
		{id: "n", in: "1e3", want: "n=1e3", changed: true}, {id: "n", in: "many", want: "n=", changed: true},
		{id: "r", in: "99", want: "r=10", changed: true}, {id: "r", in: "x", want: "r=5"}, {id: "r", in: "2.5", want: "r=3", changed: true},
		{id: "a", in: "a\r\nb", want: "a=a\nb", changed: true}, {id: "a", in: "12345", want: "a=1234", changed: true},
		{id: "s", in: "y", want: "s=y", changed: true}, {id: "s", in: "x", want: "s=x"}, {id: "s", in: "q", want: "s=", changed: true},
		{id: "s", in: "z", want: "s=x", err: patches.ErrInert},
		{id: "b", in: "x", checked: on, want: "b="},
		{id: "c", checked: on, want: "c*", changed: true}, {id: "c", in: "other", want: "c=v"}, {id: "c", in: "v", checked: on, want: "c*", changed: true},
		{id: "c", checked: off, want: "c=v"}, {id: "t", checked: on, want: "t=abc"},
		{id: "r2", in: "2", checked: on, want: "r2* r1=1", changed: true}, {id: "r1", checked: on, want: "r1*"}, {id: "r1", checked: off, want: "r1*"},
		{id: "off", in: "x", want: "off=", err: patches.ErrInert}, {id: "in", in: "x", want: "in=", err: patches.ErrInert},
		{id: "ro", in: "y", want: "ro=x", err: patches.ErrInert}, {id: "ra", in: "y", want: "ra=", err: patches.ErrInert},
		{id: "rc", checked: on, want: "rc*", changed: true}, {id: "rr", in: "2", want: "rr=2", changed: true},
		{id: "missing", in: "x", err: patches.ErrInert}, {id: "p", in: "x", err: patches.ErrInert},
	} {
		d := document(t, editHTML)
		var v *string
		var b *bool
		if c.checked == "" || c.in != "" {
			v = &c.in
		}
		if c.checked != "" {
			is := c.checked == on
			b = &is
		}
		changed, err := d.Edit(c.id, v, b)
		if changed != c.changed || !errors.Is(err, c.err) || c.err == nil && err != nil {
			t.Errorf("Edit(%s, %.20q, %s) = %v, %v", c.id, c.in, c.checked, changed, err)
		}
		for _, want := range strings.Split(c.want, " ") {
			if id, star := strings.CutSuffix(want, "*"); star {
				if k, _ := d.Control(id); !k.Checked {
					t.Errorf("after Edit(%s): %s is not checked", c.id, id)
				}
			} else if id, value, ok := strings.Cut(want, "="); ok {
				expectValue(t, d, id, value)
				if k, _ := d.Control(id); k.Checked {
					t.Errorf("after Edit(%s): %s is checked", c.id, id)
				}
			}
		}
		expectSound(t, d)
	}
}

func TestEditTooLongR105(t *testing.T) {
	long := strings.Repeat("x", 2049)
	for _, id := range []string{"t", "long", "n", "a", "s", "c"} {
		d := document(t, editHTML)
		before := d.HTML()
		if changed, err := d.Edit(id, &long, nil); changed || limits.CodeOf(err) != limits.InputLimit || errors.Is(err, patches.ErrInert) {
			t.Errorf("Edit(%s) = %v, %v", id, changed, err)
		}
		if d.HTML() != before {
			t.Errorf("a refused edit of %s changed the document", id)
		}
	}
}

// A script's value may be longer than maxlength; its user can shorten it but not lengthen it.
func TestEditOverMaxLength(t *testing.T) {
	d := document(t, editHTML)
	apply(t, d, value("t", "abcdef"))
	for _, c := range []struct{ in, want string }{{"abcde", "abcde"}, {"abcdx", "abcdx"}, {"abcdxy", "abc"}} {
		if _, err := d.Edit("t", &c.in, nil); err != nil {
			t.Fatal(err)
		}
		expectValue(t, d, "t", c.want)
	}
}

// TestDisabledOptionCannotBeChosen, be another option selected or none.
func TestDisabledOptionCannotBeChosen(t *testing.T) {
	d := document(t, `<select id="s"><option>a</option><option disabled>b</option></select>`)
	for _, first := range []string{"a", "no such option"} {
		if _, err := d.Edit("s", &first, nil); err != nil {
			t.Fatal(err)
		}
		b := "b"
		if changed, err := d.Edit("s", &b, nil); changed || !errors.Is(err, patches.ErrInert) {
			t.Errorf("after %q: %v, %v", first, changed, err)
		}
	}
}
