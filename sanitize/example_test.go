package sanitize_test

import (
	"fmt"

	"example.com/cardrun/sanitize"
)

func Example() {
	h, diagnostics := sanitize.Card(`<p id="answer" style="color:red">4 workers</p>`)
	fmt.Println(h)
	fmt.Println(diagnostics[0])
	// Output:
	// <p id="answer">4 workers</p>
	// html:1:16: warning: attribute_dropped: attribute style on <p> was left out; put styling in css
}

func ExampleFragment() {
	h, err := sanitize.Fragment(`<strong onclick="x()">Plan B</strong> ranks <script>alert(1)</script>higher.`)
	fmt.Println(h, err)
	_, err = sanitize.Fragment(`<input type="file">`)
	fmt.Println(err)
	// Output:
	// <strong>Plan B</strong> ranks higher. <nil>
	// invalid_patch: input type "file" is not supported; use text, number, range, checkbox or radio
}

func ExampleStylesheet_Scoped() {
	s, _ := sanitize.CSS(`body { margin: 0 } h2, p { color: #234 }`)
	fmt.Print(s.Scoped(".card"))
	// Output:
	// .card {
	//   margin: 0;
	// }
	// .card h2, .card p {
	//   color: #234;
	// }
}
