// Command peers knows how to measure cardrun beside what else runs JavaScript that nobody trusts: the same cards, events and
// budgets on quickjs-emscripten, fastschema/qjs, goja, modernc.org/quickjs, jsdom and happy-dom, each in a process of its own, in
// turn, in one run. It prints one table, and holds the answers of quickjs-emscripten against ours.
//
// It refuses to know how any of them works: each answers the requests of protocol.go. Those on Node are in node/, those for Go in
// engines/, which is a module of its own, ours in own.go.
//
// The rule of use: `make bench-peers` from the top of the repository, which installs and builds what is needed, or
//
//	go run ./conformance/peers -bin .tools/peers                   everything
//	go run ./conformance/peers -bin .tools/peers -only kernels     one section: latency, kernels, cards, memory, budgets
//	go run ./conformance/peers -bin .tools/peers -differ           the answers of quickjs-emscripten and ours
//	go run ./conformance/peers -growth docs/growth                 the plots of docs/growth.md
//
// A peer that cannot be started is named and left out.
package main
