package main

import (
	"fmt"
	"io"
	"os"

	"example.com/cardrun"
)

// readCard reads and decodes the card in a file; "-" is standard input. It reads no more than shows that the text is too
// long, so that an endless file costs nothing.
func (e *env) readCard(file string) (cardrun.Card, error) {
	type text struct {
		data []byte
		err  error
	}
	read := make(chan text, 1)
	// Reading can block for ever, on a terminal or a pipe, and then an interrupt has to end the program all the same.
	go func() {
		data, err := e.readFile(file)
		read <- text{data, err}
	}()
	select {
	case t := <-read:
		if t.err != nil {
			return cardrun.Card{}, t.err
		}
		return cardrun.Decode(t.data), nil
	case <-e.ctx.Done():
		return cardrun.Card{}, fmt.Errorf("read card %s: %w", file, e.ctx.Err())
	}
}

func (e *env) readFile(file string) ([]byte, error) {
	in := e.stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("read card: %w", err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, cardrun.MaxJSON+1))
	if err != nil {
		return nil, fmt.Errorf("read card: %w", err)
	}
	return data, nil
}
