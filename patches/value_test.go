package patches_test

import (
	htmlescape "html"
	"strings"
	"testing"

	"example.com/cardrun/limits"
	"example.com/cardrun/patches"
	"example.com/cardrun/sanitize"
)

// expectSanitized gives the control the value in both ways, as a script and in its markup.
func expectSanitized(t *testing.T, attributes, in, want string) {
	t.Helper()
	d := document(t, "<input id=c "+attributes+">")
	apply(t, d, value("c", in))
	if c, _ := d.Control("c"); c.Value != want {
		t.Errorf("<input %s>, ui.value %q: value %q, want %q", attributes, in, c.Value, want)
	}
	if strings.Contains(attributes, "value=") {
		return
	}
	d = document(t, "<input id=c "+attributes+` value="`+htmlescape.EscapeString(in)+`">`)
	expectSound(t, d)
	if c, _ := d.Control("c"); c.Value != want {
		t.Errorf("<input %s value=%q>: value %q, want %q", attributes, in, c.Value, want)
	}
}

// WHATWG HTML section 4.10.5.1.12 (number) with 2.3.4.3 (floating-point numbers).
func TestNumberValuesD21(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "0": "0", "-0": "-0", "5": "5", "007": "007", "1.50": "1.50", ".5": ".5", "-.5": "-.5", "1e3": "1e3",
		"1E3": "1E3", "1e+3": "1e+3", "1e-3": "1e-3", "0.1e1": "0.1e1", "1e308": "1e308", "1e-400": "1e-400",
		"+5": "", "5.": "", ".": "", "-": "", "--1": "", " 7": "", "7 ": "", "1e": "", "1e+": "", "e3": "", "0x10": "",
		"Infinity": "", "NaN": "", "1,5": "", "1_000": "", "1.2.3": "", "1e3.5": "", "1e309": "", "-1e309": "", "٣": "",
		"many": "", "1e99999999999": "",
	} {
		expectSanitized(t, "type=number", in, want)
	}
	// min, max and step constrain, they do not change the value.
	for in, want := range map[string]string{"7": "7", "-3": "-3", "2.5": "2.5"} {
		expectSanitized(t, "type=number min=0 max=5 step=1", in, want)
	}
}

// WHATWG HTML section 4.10.5.1.13 (range), 4.10.5.3.8 (step).
func TestRangeValuesD21(t *testing.T) {
	for _, c := range []struct{ attributes, in, want string }{
		{"", "10", "10"}, {"", "", "50"}, {"", "many", "50"}, {"", " 7", "50"}, {"", "250", "100"}, {"", "-5", "0"},
		{"min=0", "10.4", "10"}, {"", "1e1", "1e1"}, {"", "5.", "50"}, {"", "-0", "-0"}, {"", "007", "007"},
		{"min=0", "10.5", "11"}, {"min=0", "10.49999", "10"}, {"min=-10 max=10", "-2.5", "-2"}, // ties go up
		{"min=10 max=5", "7", "10"}, {"min=10 max=5", "50", "10"}, {"min=10 max=5", "x", "10"}, {"min=200", "", "200"},
		{"min=1 max=20", "99", "20"}, {"min=1 max=20", "0", "1"}, {"min=1 max=20", "x", "11"}, // 10.5 goes up
		{"min=1 max=4 step=2", "4", "3"}, {"min=1 max=4 step=2", "2", "3"}, {"min=0 max=10 step=4", "10", "8"},
		{"min=0 max=10 step=100", "7", "0"}, {"min=3 max=10 step=100", "10", "3"},
		{"min=0 max=1 step=0.1", "0.3", "0.3"}, {"min=0 max=1 step=0.1", "0.34", "0.3"}, {"min=0 max=1 step=0.1", "0.35", "0.4"},
		{"min=0 max=1 step=.25", "0.3", "0.25"}, {"min=0.1 max=1 step=0.2", "0.4", "0.5"}, {"min=0 max=15 step=0.25", "4.9", "5"},
		{"min=0 max=1 step=any", "0.123456789", "0.123456789"}, {"min=0 max=1 step=ANY", ".5", ".5"}, {"min=0 max=1 step=any", "", "0.5"},
		{"min=0 step=0", "1.2", "1"}, {"min=0 step=-3", "1.2", "1"}, {"min=0 step=x", "1.2", "1"}, {"min=0 step=10", "14", "10"},
		{"min=x max=y", "", "50"}, {`min=" 5" max="+9z"`, "x", "7"}, {"min=5. max=7", "1", "5"},
		{"min=-1e21 max=1e22 step=any", "1e30", "1e+22"}, {"min=0 max=1 step=any", "1e-7", "1e-7"}, {"min=1e-7 max=1", "0", "1e-7"},
		{"min=-1e308 max=1e308 step=any", "x", "0"}, {"min=-1.7e308 max=1.7e308", "1", "1"},
		// Without min, steps are counted from the value attribute.
		{"value=5 step=10", "12", "15"}, {"value=5 step=10", "9.9", "5"}, {"value=3 min=0 step=10", "12", "10"},
		{"value=x step=10", "12", "10"}, {"value=250 step=7", "100", "96"},
	} {
		expectSanitized(t, "type=range "+c.attributes, c.in, c.want)
	}
}

// WHATWG HTML section 4.10.5.1.2 (text).
func TestTextValuesD21(t *testing.T) {
	long := strings.Repeat("x", limits.Value)
	for in, want := range map[string]string{"": "", " a  b ": " a  b ", "a\nb\r\nc\rd": "abcd", `<b>"&`: `<b>"&`, "é€\U0001F600": "é€\U0001F600", long: long} {
		expectSanitized(t, "type=text", in, want)
		expectSanitized(t, "", in, want)
		expectSanitized(t, "maxlength=1", in, want) // D21: maxlength does not cut a script's value
	}
}

func expectControl(t *testing.T, html string, want patches.Control, b ...patches.Patch) {
	t.Helper()
	d := document(t, html)
	expectSound(t, d)
	if len(b) > 0 {
		apply(t, d, b...)
	}
	if c, _ := d.Control(want.ID); c != want {
		t.Errorf("%s after %v: %+v, want %+v", html, b, c, want)
	}
}

// WHATWG HTML section 4.10.5.4 (value modes), 4.10.6 (button).
func TestValueModesD22(t *testing.T) {
	for _, kind := range []string{"checkbox", "radio"} {
		is := func(v string, on bool) patches.Control {
			return patches.Control{ID: "c", Type: kind, Value: v, Checked: on}
		}
		expectControl(t, "<input id=c type="+kind+">", is("on", false))
		expectControl(t, "<input id=c type="+kind+" checked>", is("on", true))
		expectControl(t, "<input id=c type="+kind+" value=''>", is("", false))
		expectControl(t, "<input id=c type="+kind+" value=a checked>", is("b", true), value("c", "b"))
		expectControl(t, "<input id=c type="+kind+">", is("true", false), value("c", "true"))
	}
	b := func(v string) patches.Control { return patches.Control{ID: "b", Type: "button", Value: v} }
	expectControl(t, "<button id=b>Go</button>", b(""))
	expectControl(t, "<button id=b value=1>Go</button>", b("1"))
	expectControl(t, "<button id=b value=1>Go</button>", b("2"), value("b", "2"))
	expectControl(t, "<button id=b>Go</button>", b(""), text("b", "Stop"))
}

// WHATWG HTML section 4.10.11 (textarea).
func TestTextareaD20(t *testing.T) {
	a := func(v string) patches.Control { return patches.Control{ID: "a", Type: "textarea", Value: v} }
	const empty, full = "<textarea id=a></textarea>", "<textarea id=a>one\ntwo</textarea>"
	expectControl(t, empty, a(""))
	expectControl(t, full, a("one\ntwo"))
	expectControl(t, "<textarea id=a>\none</textarea>", a("one"))
	expectControl(t, "<textarea id=a>\n\none</textarea>", a("\none"))
	expectControl(t, "<textarea id=a>a\r\nb\rc</textarea>", a("a\nb\nc"))
	expectControl(t, full, a("x\ny\nz"), value("a", "x\r\ny\rz"))
	expectControl(t, full, a("new"), text("a", "new"))
	expectControl(t, full, a("\nnew"), text("a", "\nnew"))
	expectControl(t, full, a("a <b> & c"), html("a", "a &lt;b&gt; &amp; c"))
	expectControl(t, full, a("tail"), html("a", "<b>bold</b>tail"))
	expectControl(t, full, a("edited"), value("a", "edited"), text("a", "default"))

	d := document(t, full)
	v := "typed"
	if changed, err := d.Edit("a", &v, nil); !changed || err != nil {
		t.Fatal(changed, err)
	}
	apply(t, d, text("a", "default"))
	expectValue(t, d, "a", "typed")
	expectText(t, d, "a", "default")
	if got, _ := d.InnerHTML("a"); got != "default" {
		t.Errorf("InnerHTML = %q, which a browser gives as the default value", got)
	}
}

// WHATWG HTML section 4.10.7 (select) and 4.10.10 (option).
func TestSelectD20(t *testing.T) {
	s := func(v string) patches.Control { return patches.Control{ID: "s", Type: "select", Value: v} }
	of := func(options string) string { return "<select id=s>" + options + "</select>" }
	ab := of("<option id=a>a<option id=b value=B>b")
	for _, c := range []struct {
		html, want string
		b          []patches.Patch
	}{
		{of(""), "", nil}, {ab, "a", nil},
		{of("<option>  two \n words <option>x"), "two words", nil},
		{of("<option>no\u00a0break "), "no\u00a0break", nil},
		{of("<option disabled>a<option>b"), "b", nil}, {of("<option disabled>a<option disabled>b"), "", nil},
		{of("<optgroup label=g disabled><option>a</optgroup><option>b"), "b", nil},
		{of("<option selected>a<option selected>b<option>c"), "b", nil},
		{of("<option disabled selected>a<option>b"), "a", nil},
		{"<select id=s size=3><option>a<option>b</select>", "", nil}, {"<select id=s size=1><option>a</select>", "a", nil},
		{"<select id=s size=0><option>a</select>", "a", nil}, {"<select id=s size=3><option>a<option selected>b</select>", "b", nil},
		{ab, "B", []patches.Patch{value("s", "B")}}, {ab, "", []patches.Patch{value("s", "b")}}, {ab, "", []patches.Patch{value("s", "")}},
		{of("<option>a<option value=a>second"), "a", []patches.Patch{value("s", "a")}},
		{of("<option disabled>a<option>b"), "a", []patches.Patch{value("s", "a")}},
		{ab, "new", []patches.Patch{text("a", "new")}}, {ab, "B", []patches.Patch{value("s", "B"), text("b", "new")}},
		{ab, "", []patches.Patch{text("s", "no options")}}, {ab, "x", []patches.Patch{html("s", "<option>x<option>y")}},
		{ab, "y", []patches.Patch{html("s", "<option>x<option selected>y")}},
		{ab, "y", []patches.Patch{html("s", "<option>x<option>y"), value("s", "y")}},
		{ab, "", []patches.Patch{value("s", "none"), text("a", "new")}}, // no options came or went: nothing is settled
		{ab, "x", []patches.Patch{value("s", "none"), html("s", "<option>x")}},
		{ab, "", []patches.Patch{html("s", "<div>x</div>")}}, {ab, "x", []patches.Patch{html("s", "<div><option>x</option></div>")}},
		{ab, "B", []patches.Patch{value("s", "B"), html("b", "<b>bold</b>")}}, {ab, "bold text", []patches.Patch{html("a", "<b>bold</b> text")}},
		{of("<optgroup id=g label=g><option>a<option>b</optgroup><option>c"), "c", []patches.Patch{html("g", "<option>x")}},
		{of("<optgroup id=g label=g><option>a</optgroup>"), "x", []patches.Patch{html("g", "<option>x")}},
		{of("<optgroup id=g label=g><option selected>a</optgroup><option>c"), "c", []patches.Patch{text("g", "")}},
		{of("<option>a<optgroup id=g label=g></optgroup>"), "a", []patches.Patch{html("g", "<option>x")}},
		{of("<option>a<optgroup id=g label=g></optgroup>"), "x", []patches.Patch{html("g", "<option selected>x")}},
		// Texts in an optgroup are no options.
		{of("<option>a<optgroup id=g label=g></optgroup>"), "", []patches.Patch{value("s", "none"), text("g", "x"), text("g", ""), html("g", "<b>y</b>")}},
		{of("<option>a<optgroup id=g label=g></optgroup>"), "a", []patches.Patch{value("s", "none"), html("g", "<option>x")}},
		{of("<option>a<optgroup id=g label=g><option>x</optgroup>"), "a", []patches.Patch{value("s", "none"), text("g", "y")}},
	} {
		expectControl(t, c.html, s(c.want), c.b...)
	}
}

// WHATWG HTML section 4.10.5.1.17 (radio).
func TestRadioGroups(t *testing.T) {
	checked := func(d *patches.Document) string {
		s := ""
		for _, c := range d.Controls() {
			if c.Checked {
				s += c.ID
			}
		}
		return s
	}
	r := func(id, more string) string { return "<input type=radio id=" + id + " " + more + ">" }
	for _, c := range []struct {
		html, want string
		b          []patches.Patch
	}{
		{r("a", "name=g checked") + r("b", "name=g checked"), "b", nil},
		{r("a", "checked") + r("b", "checked"), "ab", nil},
		{r("a", "name=g checked") + r("b", "name=G checked"), "ab", nil},
		{r("a", "name=g") + r("b", "name=g"), "", nil},
		{"<div id=box></div>" + r("b", "name=g checked"), "a", []patches.Patch{html("box", r("a", "name=g checked"))}},
		{"<div id=box></div>" + r("b", "name=g checked"), "b", []patches.Patch{html("box", r("a", "name=g"))}},
		{"<div id=box>" + r("a", "name=g checked") + "</div>" + r("b", "name=g"), "", []patches.Patch{text("box", "")}},
		{r("a", "name=g checked") + r("b", "name=g"), "a", []patches.Patch{value("b", "x")}},
	} {
		d := document(t, c.html)
		expectSound(t, d)
		if len(c.b) > 0 {
			apply(t, d, c.b...)
		}
		if got := checked(d); got != c.want {
			t.Errorf("%s after %v: checked %q, want %q", c.html, c.b, got, c.want)
		}
	}
}

// WHATWG HTML sections 4.10.18.5 (fieldset) and 4.10.10 (optgroup).
func TestDisabled(t *testing.T) {
	d := document(t, `<fieldset id=f disabled><div><input id=in></div><legend id=l><button id=first>x</button></legend>
		<legend><button id=second>x</button></legend><fieldset id=inner><textarea id=deep></textarea></fieldset><p id=p>x</p></fieldset>
		<input id=own disabled><select id=s><optgroup id=g disabled><option id=o>x</optgroup><option id=free>y</select>`)
	for id, want := range map[string]bool{"f": true, "in": true, "first": false, "second": true, "inner": true, "deep": true,
		"p": false, "l": false, "own": true, "s": false, "g": true, "o": true, "free": false, "missing": false} {
		if got := d.Disabled(id); got != want {
			t.Errorf("Disabled(%s) = %v, want %v", id, got, want)
		}
		if c, ok := d.Control(id); ok && c.Disabled != want {
			t.Errorf("Control(%s).Disabled = %v, want %v", id, c.Disabled, want)
		}
	}
}

func TestMaxLengthR32(t *testing.T) {
	d := document(t, `<input id=a><input id=b maxlength=10><textarea id=c maxlength=5000></textarea><input id=d maxlength=0>
		<textarea id=e maxlength=2048></textarea><input id=n type=number maxlength=3><p id=p></p><input id=big maxlength=99999999999999999999>`)
	for id, want := range map[string]int{"a": 2048, "b": 10, "c": 2048, "d": 0, "e": 2048, "big": 2048} {
		if got, ok := d.MaxLength(id); !ok || got != want {
			t.Errorf("MaxLength(%s) = %d, %v, want %d", id, got, ok, want)
		}
	}
	for _, id := range []string{"n", "p", "missing"} {
		if got, ok := d.MaxLength(id); ok {
			t.Errorf("MaxLength(%s) = %d, want none", id, got)
		}
	}
	if s := d.HTML(); !strings.Contains(s, `id="c" maxlength="2048"`) || !strings.Contains(s, `id="b" maxlength="10"`) {
		t.Errorf("HTML has other limits: %s", s)
	}
}

func TestNewLimitsR105D35(t *testing.T) {
	long := strings.Repeat("x", limits.Value)
	big := strings.Repeat("é", 2000)
	many := ""
	for _, id := range []string{"a", "b", "c", "d"} {
		many += `<textarea id=` + id + ">" + big + "</textarea>"
	}
	for html, want := range map[string]limits.Code{
		`<input id=a value="` + long + `">`:                        "",
		`<input id=a value="` + long + `x">`:                       limits.InputLimit,
		`<input value="` + long + `x">`:                            limits.InputLimit,
		`<input type=number value="` + long + `x">`:                "", // no number: the value is empty
		`<textarea id=a>` + long + `x</textarea>`:                  limits.InputLimit,
		`<button id=b value="` + long + `x">x</button>`:            limits.InputLimit,
		`<select><option>a<option value="` + long + `x"></select>`: limits.InputLimit,
		many:                                 limits.InputLimit, // 4 × 4,000 bytes and their frame
		strings.Replace(many, "é", "e", 500): "",
	} {
		h, _ := sanitize.Card(html)
		if _, err := patches.New(h); limits.CodeOf(err) != want {
			t.Errorf("New(%.60q…): %v, want code %q", html, err, want)
		}
	}
}

func TestSnapshotD19(t *testing.T) {
	d := document(t, `<input id=t value='q"\'><input value=nameless><p>x</p><input type=checkbox id=c checked><button id=b>x</button><div><select id=s><option>&lt;é</select></div>`)
	if got, want := expectSnapshot(t, d), `{"t":{"value":"q\"\\","checked":false},"c":{"value":"on","checked":true},`+
		`"b":{"value":"","checked":false},"s":{"value":"<é","checked":false}}`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got := expectSnapshot(t, document(t, "<p>static</p>")); got != "{}" {
		t.Errorf("got %s, want {}", got)
	}
}
