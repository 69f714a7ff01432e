package viewer

import (
	"embed"
	"regexp"
	"strings"
)

//go:embed module/*.js
var moduleFiles embed.FS

// The parts of the module, each after those that it imports.
var (
	frameParts  = [...]string{"patch.js", "frame.js", "queue.js"}
	clientParts = [...]string{"client.js", "viewer.js"}
)

// Module is the module as one file: it exports mount, and what [FrameModule] does. It imports nothing.
func Module() string { return FrameModule() + "\n" + bundle(clientParts[:]) }

// FrameModule is the part of the module that knows no network, as one file that imports nothing. It exports CardFrame, which
// shows a display in a frame without scripts, applies batches to it and tells the user's events, and EventQueue, which keeps and
// merges events until they are sent. It can be put into a script element of type module as it is.
func FrameModule() string { return bundle(frameParts[:]) }

// imports are the lines by which a part names others; in one file there is nothing to import.
var imports = regexp.MustCompile(`(?m)^import \{[^}]*\} from '\./[a-z]+\.js';\n`)

func bundle(parts []string) string {
	var b strings.Builder
	for i, name := range parts {
		text, err := moduleFiles.ReadFile("module/" + name)
		if err != nil {
			panic("viewer: " + err.Error()) // embedded above, and read by a test
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(imports.ReplaceAllString(string(text), ""))
	}
	return b.String()
}
