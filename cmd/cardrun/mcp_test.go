package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/cardrun"
)

// TestMCPCommand lets the SDK's client start the program and use its tools, as a host does.
func TestMCPCommand(t *testing.T) {
	command := exec.Command("cardrun", "--cache-dir", filepath.Join(t.TempDir(), "cache"), "mcp") // the test binary, which TestMain puts into PATH
	var stderr strings.Builder
	command.Stderr = &stderr
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: command}, nil)
	if err != nil {
		t.Fatal(err, stderr.String())
	}
	card := map[string]any{"title": "A card", "summary": "It shows something.", "html": `<button id="b">b</button><p id="p"></p>`, "css": "",
		"javascript": `let n = 0; const show = () => ui.text('p', 'pressed ' + n); ui.on('b', 'click', () => { n++; show() }); show()`}
	for _, c := range []struct {
		tool      string
		arguments any
		want      string
		refused   bool
	}{
		{"generated_ui_show", card, "It shows something.", false},
		{"generated_ui_check", map[string]any{"card": card, "run": true}, "pressed 0", false},
		{"generated_ui_play", map[string]any{"card": card, "events": []cardrun.Event{{ID: "b", Type: "click"}, {ID: "b", Type: "click"}}}, "pressed 2", false},
		{"generated_ui_show", map[string]any{"title": "x"}, "field_missing", true},
	} {
		res, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: c.tool, Arguments: c.arguments})
		if err != nil {
			t.Fatal(err, stderr.String())
		}
		if text := res.Content[0].(*mcp.TextContent).Text; !strings.Contains(text, c.want) || res.IsError != c.refused {
			t.Errorf("%s: error %v, %q; want %q in it", c.tool, res.IsError, text, c.want)
		}
	}
	if err := client.Close(); err != nil {
		t.Errorf("the program did not end well with its input: %v", err)
	}
	if stderr.Len() > 0 {
		t.Errorf("standard error says %q", stderr.String())
	}
}
