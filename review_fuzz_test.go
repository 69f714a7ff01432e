package cardrun

import (
	"testing"
	"time"
)

// FuzzReview reviews any html, script and summary: it comes back, with findings that say something and have their place in
// the card.
func FuzzReview(f *testing.F) {
	f.Add(`<label for="n">N</label><input id="n" type="number"><p id="out"></p>`, "ui.on('n', 'input', e => ui.text('out', e.value))", "From 1 to 2.")
	f.Add(`<select id="s"><option>a</select><textarea id="t">x</textarea><button id="go">Go</button>`, "let k = 0; ui.on('go', 'click', () => ui.html('s', '<option>' + k++))", "$1,000.50")
	f.Add(`<input type="radio" name="g" id="a"><input type="radio" name="g" id="b" checked><ul id="l"></ul>`, "for (const id of ['a', 'b']) ui.on(id, 'change', () => ui.html('l', '<tr><td>' + NaN))", "5%")
	r := newRuntime(f, Options{budget: 50 * time.Millisecond})
	f.Fuzz(func(t *testing.T, html, js, summary string) {
		c := Card{Title: "T", Summary: summary, HTML: html, JavaScript: js}
		v, err := r.Review(t.Context(), &c, ReviewOptions{Rounds: 20, Fuzz: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range v.Findings {
			if f.Message == "" || f.Code == "" || f.Line < 0 || f.Column < 0 {
				t.Errorf("%+v", f)
			}
		}
	})
}
