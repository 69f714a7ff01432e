package cardrun_test

import (
	"fmt"

	"example.com/cardrun"
)

// All faults of a card come at once, those of its JSON and those of its fields.
func ExampleDecode() {
	card := cardrun.Decode([]byte(`{
		"title": "Tip",
		"summary": "\u200d",
		"html": "<p onclick=\"add()\">18%</p>",
		"javascript": ""
	}`))
	checked, findings := card.Check()
	fmt.Println("passed:", checked != nil)
	for _, d := range findings {
		fmt.Println(d.Field, d.Code)
	}
	// Output:
	// passed: false
	// summary text_invisible
	// html attribute_forbidden
	// css field_missing
}

// The result of the tool call is the source, with the summary for hosts that show no interface.
func ExampleCard_Result() {
	card := cardrun.Card{Title: "Tip", Summary: "18% of $50.00 is $9.00.", HTML: `<p>18% of $50.00 is <b>$9.00</b>.</p>`}
	result, err := card.Result()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(result[:67]), len(result) <= 24000)
	// Output:
	// {"content":[{"type":"text","text":"18% of $50.00 is $9.00."}],"stru true
}
