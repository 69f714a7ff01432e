// Package server knows how cards are run over HTTP: routes, who may call them, how many at once, sessions in bulk, what is
// measured, and how a service starts and ends.
//
// It refuses to know what makes a card good or what running one means: that is package cardrun, whose Snapshot, Round and
// Failure it passes on as they are.
//
// The rule of use: make a Server with [New], let it [Server.Serve] a listener, which answers at once that it is not ready;
// [Server.Start] starts the engine and turns it ready; when the context of Serve ends, it drains and closes. Whatever else is
// to be served under the same rules of admission is a [Mount].
//
// Lock order, where one is taken while another is held: sessions.mu, then a cardrun.Session's own. No other two are held
// together.
package server
