// Package patches knows what a card shows and what its script may do to it: Patch, Batch, and Document, the displayed tree
// with its controls and the rules that HTML has for their values.
//
// It refuses to know engines and queues: who runs a script, when a round starts, and whether a batch conflicts with an
// edit still waiting ([Stage.Changes] answers what a batch would change; who asks decides).
//
// The rule of use: [New] makes a [Document] of sanitized html. A round gets [Document.Snapshot], and its batch goes
// through [Document.Stage] and [Stage.Commit], or through [Document.Apply] for both: all of it is applied or nothing. A
// user's edit goes through [Document.Edit]. [Document.HTML], [Document.Text] and [Document.Controls] show the result.
//
//	h, _ := sanitize.Card(`<label for="n">Workers</label><input id="n" type="range" value="4"><p id="out"></p>`)
//	d, err := patches.New(h)
//	…
//	batch, err := d.Apply(patches.Batch{{Op: patches.OpText, ID: "out", Value: "4 × 25 = 100"}})
//	fmt.Println(d.Text()) // Workers: 4, then 4 × 25 = 100
package patches
