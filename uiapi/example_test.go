package uiapi_test

import (
	"context"
	"fmt"

	"example.com/cardrun/sandbox"
	"example.com/cardrun/uiapi"
)

// A script is started once with the values that the controls show, and then called for each event.
func Example() {
	ctx := context.Background()
	engine, err := sandbox.New(ctx, sandbox.Options{Prelude: uiapi.Prelude()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer engine.Close()
	guest, err := engine.Guest(sandbox.Activation{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer guest.Close()

	script := `function render() { ui.text('answer', ui.input('workers').value * 25 + ' requests/s') }
ui.on('workers', 'input', render);
ui.on('reset', 'click', () => ui.value('workers', 4));
render();`
	out, err := uiapi.Start(ctx, guest, script, []byte(`{"workers":{"value":"4","checked":false}}`))
	fmt.Println(out.Batch, out.Handlers, err)

	out, err = uiapi.Dispatch(ctx, guest, script, uiapi.Event{ID: "workers", Type: "input"}, []byte(`{"workers":{"value":"5","checked":false}}`))
	fmt.Println(out.Batch, err)

	// ui calls take strings alone, and a call that is refused ends the activation.
	_, err = uiapi.Dispatch(ctx, guest, script, uiapi.Event{ID: "reset", Type: "click"}, []byte(`{"workers":{"value":"5","checked":false}}`))
	fmt.Println(err)
	// Output:
	// [{text answer 100 requests/s}] [{workers input} {reset click}] <nil>
	// [{text answer 125 requests/s}] <nil>
	// ui_operation: ui.value('workers'): the value must be a string, not number; use String(…)
}
