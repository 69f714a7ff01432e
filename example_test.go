package cardrun_test

import (
	"context"
	"fmt"

	"example.com/cardrun"
)

// tip is a card as it arrives: bytes that nobody has looked at.
var tip = []byte(`{
	"title": "Tip",
	"summary": "18% of $50.00 is $9.00.",
	"html": "<label for=\"bill\">Bill ($)</label> <input id=\"bill\" type=\"number\" min=\"0\" value=\"50\"><p id=\"tip\"></p>",
	"css": "p { font-weight: bold }",
	"javascript": "function render() {\n  ui.text('tip', '18% is $' + (Number(ui.input('bill').value) * 0.18).toFixed(2));\n}\nui.on('bill', 'input', render);\nrender();"
}`)

// A card that is shown once.
func Example() {
	ctx := context.Background()
	r, err := cardrun.New(ctx, cardrun.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()

	card := cardrun.Decode(tip)
	s, err := r.Render(ctx, &card, cardrun.RenderOptions{})
	if err != nil {
		fmt.Println(err) // not the card's doing
		return
	}
	switch s.Outcome {
	case cardrun.Rejected:
		fmt.Println(s.Diagnostics)
	case cardrun.Failed:
		fmt.Println(s.Failure.Code, s.Failure.Message)
	case cardrun.Ready:
		fmt.Println(s.Display.Text)
	}
	// Output:
	// Bill ($): 50
	// 18% is $9.00
}

// A card that a user works with.
func ExampleRuntime_Open() {
	ctx := context.Background()
	r, err := cardrun.New(ctx, cardrun.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()

	card := cardrun.Decode(tip)
	session, s, err := r.Open(ctx, &card, cardrun.SessionOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if session == nil {
		fmt.Println(s.Diagnostics) // rejected
		return
	}
	defer session.Close()

	bill := "80"
	report, err := session.Send(ctx, cardrun.Event{ID: "bill", Type: "input", Value: &bill})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, round := range report.Rounds {
		fmt.Println(round.Event.Type, round.Event.ID, round.Patches)
	}
	fmt.Println(session.Snapshot().Display.Text)
	// Output:
	// input bill [{text tip 18% is $14.40}]
	// Bill ($): 80
	// 18% is $14.40
}
