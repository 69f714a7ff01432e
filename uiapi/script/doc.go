// Package script knows how to read a card's script without running it: which of the five ui calls it makes, with which ids
// as far as they can be told, and which names it uses that do not exist where a card runs.
//
// It refuses to know documents, queues and engines: whether an id is there, and what is to be made of a finding, is for
// those above it to say.
//
// The rule of use: [Read] once, then ask. What cannot be told from the text alone is said to be unknown, never guessed: an
// answer that is [IDs] with Exact holds whenever the call is reached. A script that the parser here does not know
// (async generator methods, for await, import()) is an error, though the engine may run it; nothing follows from that.
//
//	s, err := script.Read("for (const id of ['a', 'b']) ui.on(id, 'input', render); function render() { document.title = '' }")
//	…
//	s.Calls[0].ID       // a, b; exact
//	s.Foreign[0].Name   // document
package script
