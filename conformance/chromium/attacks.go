//go:build browser

package chromium

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Attack is one input of a corpus.
type Attack struct{ Name, Text string }

// Attacks reads a file of attacks: inputs stand between lines of three dashes or more, whose rest names their class. In them
// \x00 and the like stand for bytes. What they try to run calls canary().
func Attacks(t testing.TB, path string) (list []Attack) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bytesOf := strings.NewReplacer(`\x00`, "\x00", `\x01`, "\x01", `\x0b`, "\x0b", `\x0c`, "\x0c", `\x0d`, "\r", `\x1b`, "\x1b", `\x80`, "\x80", `\xff`, "\xff",
		`\ufeff`, "\ufeff", `\u017f`, "\u017f", `\u212a`, "\u212a", `\u00a0`, "\u00a0", `\u2028`, "\u2028", `\u202e`, "\u202e")
	class := ""
	var lines []string
	flush := func() {
		if text := strings.Join(lines, "\n"); text != "" {
			list = append(list, Attack{fmt.Sprintf("%s: %s %d", filepath.Base(path), class, len(list)+1), bytesOf.Replace(text)})
		}
		lines = nil
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		rest, ok := strings.CutPrefix(line, "---")
		switch {
		case ok && lines == nil && strings.TrimSpace(rest) != "":
			class = strings.TrimSpace(rest)
		case ok:
			flush()
			if name := strings.TrimSpace(rest); name != "" {
				class = name
			}
		default:
			lines = append(lines, line)
		}
	}
	flush()
	return list
}
