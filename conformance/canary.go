package conformance

import (
	"context"
	"fmt"

	"example.com/cardrun"
)

// canary is a capacity calculator as small as can be, with figures that no case's card has: what another activation left
// behind would show (R92, R108).
func canary() *cardrun.Card {
	return &cardrun.Card{
		Title:   "Capacity",
		Summary: "Three pumps at 14 litres a minute move 42 litres a minute.",
		HTML: `<label for="pumps">Pumps</label><input id="pumps" type="range" min="1" max="9" value="3">` +
			`<label for="flow">Litres a minute</label><input id="flow" type="number" value="14"><p id="answer"></p>`,
		JavaScript: `const show = () => ui.text('answer', ui.input('pumps').value + ' × ' + ui.input('flow').value + ' = ' +
			Number(ui.input('pumps').value) * Number(ui.input('flow').value));
ui.on('pumps', 'input', show);
show();`,
	}
}

// survives checks that a runtime still renders as it should, after something on it has failed.
func survives(ctx context.Context, r *cardrun.Runtime) ([]Mismatch, error) {
	s, err := r.Render(ctx, canary(), cardrun.RenderOptions{})
	if err != nil {
		return nil, fmt.Errorf("render capacity example after the failure: %w", err)
	}
	one := 1
	want := Expect{
		Outcome:  OneOf{string(cardrun.Ready)},
		Text:     map[string]string{"answer": "3 × 14 = 42"},
		Handlers: &one, Patches: &one, Rounds: &one, Stable: true,
	}
	found := want.Check(s)
	for i := range found {
		found[i].Key = "capacity example after the failure: " + found[i].Key
	}
	return found, nil
}
