// Package examples holds cards as a careful author writes them, one JSON file each, and the test that runs them all. It knows
// nothing but the files.
package examples

import "embed"

// Files are the cards, in the root.
//
//go:embed *.json
var Files embed.FS
