package main

import (
	"encoding/json"
	"os"
	"path/filepath"

	"example.com/cardrun/conformance"
)

// explanations say, by the name of a case, why quickjs-emscripten answers otherwise.
var explanations = map[string]string{
	"D2-guest-string-with-lone-surrogate": surrogates,
	"D2-nul-crosses-the-bridge":           nul,
	"R31-nul-in-tag":                      nul,

	"D27-memory-is-terminal-though-caught": uncounted,
	"R100-40-mebibytes":                    uncounted,
	"R100-heap-is-for-the-activation":      uncounted,
	"R100-many-small-objects":              uncounted,
	"R108-failure-harms-nobody-else":       uncounted + "; the string ends at the longest that there may be",

	"R102-array-fill-that-takes-too-long":    native,
	"R102-string-search-that-takes-too-long": native,
	"R102-big-integer-that-takes-too-long":   "QuickJS-ng 0.12 has a greatest BigInt, 0.10 does not: the exception comes before the time is over",

	"R92-ui-cannot-be-changed": "the object that the host made is an ordinary one; freezing it costs one more evaluation for each activation, which the peer was spared",
}

// The reasons that more than one case has.
const (
	surrogates = "strings leave the guest as UTF-8, where a lone surrogate is three bytes that no decoder takes"
	nul        = "strings leave the guest as C strings, which end at the first NUL"
	uncounted  = "this build cannot tell how large a block is (malloc_usable_size unavailable, as dumpMemoryUsage says), so its memory limit counts next to nothing"
	native     = "the interrupt handler is not called inside a built-in"
)

// exampleCases are the cards of a folder as cases without steps: their events are in cases of the folder beside them.
func exampleCases(folder string) ([]conformance.Case, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
	var all []conformance.Case
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if !json.Valid(text) {
			continue
		}
		all = append(all, conformance.Case{File: file, Name: filepath.Base(file), Body: text})
	}
	return all, nil
}
