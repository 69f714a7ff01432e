package cardrun

import "example.com/cardrun/sandbox"

// Isolation says what stands between a card and the program, beside the WebAssembly sandbox.
type Isolation = sandbox.Isolation

// The kinds of isolation. The empty string is IsolationNone.
const (
	// IsolationNone runs cards in this process.
	IsolationNone = sandbox.IsolationNone
	// IsolationProcess runs each card in a worker process while it is in use; on Linux only.
	IsolationProcess = sandbox.IsolationProcess
	// IsolationAuto is IsolationProcess where that is to be had, and IsolationNone elsewhere.
	IsolationAuto = sandbox.IsolationAuto
)

// ServeWorker makes the process a worker where a [Runtime] with IsolationProcess or IsolationAuto started it as one, and does not
// return then. In any other process it returns at once, having done nothing. A program that uses either calls it first
// thing in main.
func ServeWorker() { sandbox.ServeWorker() }
