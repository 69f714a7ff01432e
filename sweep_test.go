package cardrun

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var sweepCard = Card{
	Title: "Sweep", Summary: "A card to sweep over.",
	HTML: `<input id="n" type="number" min="-2" max="2" value="1"><input id="f" type="range" min="0" max="1" step="0.1" value="1">` +
		`<select id="s"><option>a</option><option value="b" disabled>b</option><option>c</option></select><label><input id="c" type="checkbox"> C</label>` +
		`<input id="t" value="x"><p id="out"></p><table><tbody><tr id="row"><td>1</td></tr></tbody></table><button id="go">Go</button>`,
	JavaScript: `function show() {
  const n = Number(ui.input('n').value);
  if (n === 2) null.x;
  ui.text('out', 'Costs -$' + 1000 * n + ' or ' + (ui.input('c').checked ? 7 : 8) + ' ' + ui.input('s').value);
  ui.html('row', '<i>' + n + '</i>' + ui.input('f').value);
}
for (const id of ['n', 'f', 's', 'c']) ui.on(id, 'change', show);
show();`,
}

func TestSweep(t *testing.T) {
	r := newRuntime(t, Options{budget: patience})
	num := func(x float64) *float64 { return &x }
	for _, c := range []struct {
		o    SweepOptions
		want string
	}{
		{SweepOptions{ID: "n"}, "n,out,out.2,row,failure\n-2,-2000,8,-21,\n-1,-1000,8,-11,\n0,0,8,1,\n1,-1000,8,11,\n2,,,,exception: TypeError: cannot read property 'x' of null\n"},
		{SweepOptions{ID: "n", From: num(0), To: num(1.5), Step: num(0.5)}, "n,out,out.2,row\n0,0,8,1\n0.5,-500,8,0.51\n1,-1000,8,11\n1.5,-1500,8,1.51\n"},
		{SweepOptions{ID: "f", From: num(0.2), To: num(0.4)}, "f,out,out.2,row\n0.2,-1000,8,10.2\n0.3,-1000,8,10.3\n0.4,-1000,8,10.4\n"},
		{SweepOptions{ID: "s"}, "s,out,out.2,row\na,-1000,8,11\nc,-1000,8,11\n"},
		{SweepOptions{ID: "c"}, "c,out,out.2,row\noff,-1000,8,11\non,-1000,7,11\n"},
	} {
		s, err := r.Sweep(t.Context(), &sweepCard, c.o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.CSV()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("over %s (-want +got):\n%s", c.o.ID, diff)
		}
	}
	bad := []SweepOptions{
		{ID: "nobody"}, {ID: "t"}, {ID: "go"}, {ID: "s", From: num(1)}, {ID: "n", From: num(2), To: num(1)}, {ID: "n", Step: num(0)}, {ID: "n", Step: num(1e-9)},
	}
	for _, o := range bad {
		if _, err := r.Sweep(t.Context(), &sweepCard, o); !errors.Is(err, ErrSweep) {
			t.Errorf("%+v: error %v", o, err)
		}
	}
	for _, c := range []Card{{Title: "T"}, probe("null.x"), probe("let x = ;")} {
		if _, err := r.Sweep(t.Context(), &c, SweepOptions{ID: "n"}); !errors.Is(err, ErrNotReady) {
			t.Errorf("a card that is not ready: error %v", err)
		}
	}
}

func TestSweepDrawings(t *testing.T) {
	x := func(n float64) *float64 { return &n }
	s := &Sweep{ID: "n", Columns: []string{"a", "b"}, Rows: []Row{
		{Value: "0", Numbers: []*float64{x(0), x(4)}}, {Value: "1", Numbers: []*float64{x(2), nil}}, {Value: "2", Numbers: []*float64{x(4), x(0)}},
		{Value: "3", Numbers: []*float64{nil, nil}, Failure: "exception: <b>"},
	}}
	plot, err := s.Plot(21, 5)
	want := strings.Join([]string{
		"4 |o                   *", "  |", "  |          *", "  |", "0 |*                   o", "  +---------------------", "   0                   2", "   * a", "   o b", "",
	}, "\n")
	if diff := cmp.Diff(want, plot); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	svg, err := s.SVG("b")
	if err != nil || strings.Count(svg, "<polyline") != 1 || !strings.Contains(svg, `points="40.0,20.0 460.0,220.0"`) {
		t.Errorf("%v, svg %s", err, svg)
	}
	if _, err := s.Plot(20, 5, "c"); !errors.Is(err, ErrSweep) {
		t.Errorf("a column that is not there: %v", err)
	}
	if _, err := (&Sweep{ID: "n"}).SVG(); !errors.Is(err, ErrSweep) {
		t.Errorf("nothing to draw: %v", err)
	}
	if got := s.Table(); got != "n  a  b\n0  0  4\n1  2   \n2  4  0\n3  exception: <b>\n" {
		t.Errorf("table %q", got)
	}
}

// TestSweepOfStrangeNumbers draws what a card may display and name its options: nothing of it ends the program.
func TestSweepOfStrangeNumbers(t *testing.T) {
	r := newRuntime(t, Options{budget: patience})
	one := func(js string) Card {
		return Card{
			Title: "T", Summary: "S", HTML: `<select id="s"><option>NaN</option><option>inf</option><option>3</option><option>1e308</option></select>` +
				`<input id="n" type="number" min="-1e308" max="1e308" value="1"><output id="o">0</output>`,
			JavaScript: `let k = 0; ui.on('s', 'change', () => { k = ui.input('s').value.length; ui.text('o', ` + js + `) });`,
		}
	}
	for _, c := range []struct {
		js    string
		drawn bool
	}{
		{`'1' + '0'.repeat(17)`, true},                        // 1 more or less is the same number
		{`(k > 3 ? '-' : '') + '17' + '0'.repeat(307)`, true}, // further apart than a number can be
		{`'17' + '0'.repeat(307)`, true},                      // at the end of the numbers
		{`k > 3 ? '0' : '0.' + '0'.repeat(323) + '5'`, true},  // half of which is nothing
		{`'17' + '0'.repeat(307) + ' billion'`, false},        // more than a number can be
		{`'9'.repeat(400)`, false}, {`'NaN Infinity'`, false}, {`k + ''`, true},
	} {
		card := one(c.js)
		s, err := r.Sweep(t.Context(), &card, SweepOptions{ID: "s"})
		if err != nil {
			t.Fatal(err)
		}
		plot, err := s.Plot(40, 8)
		if (err == nil) != c.drawn || strings.Contains(plot, "Inf") || strings.Contains(plot, "NaN") {
			t.Errorf("%s: %v\n%s", c.js, err, plot)
		}
		svg, err := s.SVG()
		if (err == nil) != c.drawn || strings.Contains(svg, "Inf") || strings.Contains(svg, "NaN") {
			t.Errorf("%s: %v\n%s", c.js, err, svg)
		}
		if _, err := json.Marshal(s); err != nil {
			t.Errorf("%s: %v", c.js, err)
		}
	}
	card := one(`'1'`)
	if _, err := r.Sweep(t.Context(), &card, SweepOptions{ID: "n"}); !errors.Is(err, ErrSweep) {
		t.Errorf("a range further than numbers go: %v", err)
	}
}
