package conformance_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"example.com/cardrun"
	"example.com/cardrun/conformance"
)

func Example() {
	ctx := context.Background()
	runtime, err := cardrun.New(ctx, cardrun.Options{Workers: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer runtime.Close()
	c, err := conformance.Parse("double.json", []byte(`{
		"name": "double",
		"card": {"title": "Double", "summary": "Twice 4 is 8.", "css": "",
			"html": "<input id=\"n\" type=\"number\" value=\"4\"><p id=\"out\"></p>",
			"javascript": "const f = () => ui.text('out', String(2 * Number(ui.input('n').value))); ui.on('n', 'input', f); f();"},
		"expect": {"outcome": "ready", "text": {"out": "8"}},
		"steps": [{"events": [{"id": "n", "type": "input", "value": "5"}], "expect": {"text": {"out": "11"}}}]
	}`))
	if err != nil {
		log.Fatal(err)
	}
	results := conformance.Run(ctx, runtime, []conformance.Case{c}, conformance.Options{})
	if err := results.Print(os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Output:
	// FAIL double.json: double
	//   step 1: text/out
	//     want "11"
	//     got  "10"
	// 0 passed, 1 failed
}

func ExampleExpect_Check() {
	snapshot := &cardrun.Snapshot{Outcome: cardrun.Ready, Display: &cardrun.Display{HTML: `<p id="out">8</p>`}}
	want := conformance.Expect{Outcome: conformance.OneOf{"ready"}, Text: map[string]string{"out": "9"}}
	for _, m := range want.Check(snapshot) {
		fmt.Printf("%s: got %s, want %s\n", m.Key, m.Got, m.Want)
	}
	// Output: text/out: got "8", want "9"
}
