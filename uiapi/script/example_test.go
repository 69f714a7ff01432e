package script_test

import (
	"fmt"

	"example.com/cardrun/uiapi/script"
)

func ExampleRead() {
	s, err := script.Read("for (const id of ['a', 'b']) ui.on(id, 'input', render);\nfunction render() { document.title = '' }")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Calls[0].Name, s.Calls[0].ID.Names, s.Calls[0].ID.Exact)
	fmt.Println(s.Foreign[0].Name, "at byte", s.Foreign[0].Offset)
	// Output:
	// on [a b] true
	// document at byte 77
}
