package patches_test

import (
	"fmt"

	"example.com/cardrun/patches"
	"example.com/cardrun/sanitize"
)

func Example() {
	h, _ := sanitize.Card(`<label for="n">Workers</label><input id="n" type="range" max="9" value="4"><p id="out"></p>`)
	d, err := patches.New(h)
	if err != nil {
		fmt.Println(err)
		return
	}
	five := "5"
	if _, err := d.Edit("n", &five, nil); err != nil {
		fmt.Println(err)
	}
	inputs, _ := d.Snapshot()
	fmt.Println(string(inputs))
	if _, err := d.Apply(patches.Batch{{Op: patches.OpText, ID: "out", Value: "5 × 25 = 125"}}); err != nil {
		fmt.Println(err)
	}
	fmt.Println(d.Text())
	_, err = d.Apply(patches.Batch{{Op: patches.OpText, ID: "out", Value: "?"}, {Op: patches.OpText, ID: "gone", Value: "?"}})
	fmt.Println(err)
	fmt.Println(d.Text())
	// Output:
	// {"n":{"value":"5","checked":false}}
	// Workers: 5
	// 5 × 25 = 125
	// invalid_patch: patch 2 (ui.text on "gone"): no element has this id now; create it in html first, and look for a ui.html before that removed it
	// Workers: 5
	// 5 × 25 = 125
}
