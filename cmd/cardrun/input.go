package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"example.com/cardrun"
)

// readCard reads and decodes the card in a file; "-" is standard input. What is too long for a card is read no further than
// shows it, and rejected.
func (e *env) readCard(file string) (cardrun.Card, error) {
	data, err := e.read(file, cardrun.MaxJSON)
	if err != nil {
		return cardrun.Card{}, fmt.Errorf("read card: %w", err)
	}
	return cardrun.Decode(data), nil
}

// read reads a file; "-" is standard input. It gives no more than limit+1 bytes, which show that the file has more than
// limit, so that an endless file costs nothing.
func (e *env) read(file string, limit int) ([]byte, error) {
	return await(e.ctx, func() ([]byte, error) {
		in := e.stdin
		if file != "-" {
			f, err := os.Open(file)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			in = f
		}
		return io.ReadAll(io.LimitReader(in, int64(limit)+1))
	})
}

// await does something that can block for ever, such as reading a terminal or a pipe, where an interrupt has to end the
// program all the same: then what is under way is left to itself.
func await[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := do()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
