package sandbox_test

import (
	"context"
	"fmt"

	"example.com/cardrun/limits"
	"example.com/cardrun/sandbox"
)

// A prelude of the smallest kind: the script leaves a function in handle, and a round's output is what it returns.
const prelude = `(() => {
	let out = '';
	return {
		enter(input) { if (typeof handle === 'function') out = String(handle(input)); },
		leave() { return out; },
		describe(e) { return String(e); },
	};
})()`

func Example() {
	ctx := context.Background()
	engine, err := sandbox.New(ctx, sandbox.Options{Prelude: prelude})
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

	// The first round brings the script, the next ones bring input.
	script := `let sum = 0; function handle(n) { if (n < 0) for (;;); return sum += n }`
	if _, err := guest.Run(ctx, sandbox.Round{Input: []byte(`0`), Script: script, MaxOutput: 100}); err != nil {
		fmt.Println(err)
		return
	}
	for _, input := range []string{`40`, `2`, `-1`, `1`} {
		result, err := guest.Run(ctx, sandbox.Round{Input: []byte(input), MaxOutput: 100})
		if err != nil {
			fmt.Println(limits.CodeOf(err), err)
			continue
		}
		fmt.Println(string(result.Output))
	}
	// Output:
	// 40
	// 42
	// timeout timeout: the round took more than 250 ms and was stopped
	// engine engine: the guest has ended; start a new one
}
