package limits_test

import (
	"fmt"

	"example.com/cardrun/limits"
)

// A length in characters is counted in UTF-16 code units, and a breach is an Error that CodeOf knows again.
func Example() {
	check := func(title string) error {
		if n := limits.Length(title); n > limits.TitleLength {
			return &limits.Error{Code: limits.FieldLength, Field: "title", Message: fmt.Sprintf(
				"title has %d characters; the limit is %d", n, limits.TitleLength)}
		}
		return nil
	}
	title := "Tip 💶"
	fmt.Println(limits.Length(title), len(title), check(title))

	err := fmt.Errorf("read card: %w", check(fmt.Sprintf("%130d", 1)))
	fmt.Println(err)
	fmt.Println(limits.CodeOf(err))
	// Output:
	// 6 8 <nil>
	// read card: field_length: title has 130 characters; the limit is 120
	// field_length
}
