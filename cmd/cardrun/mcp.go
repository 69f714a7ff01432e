package main

import (
	"fmt"
	"runtime/debug"

	"example.com/cardrun"
	"example.com/cardrun/server"
)

type mcpCmd struct{}

// Help is shown below the flags.
func (*mcpCmd) Help() string {
	return `Serves the Model Context Protocol on standard input and output, for a host that starts it: the tools generated_ui_show, generated_ui_check and generated_ui_play, and the page in which hosts that know the extension MCP Apps show a card. Nothing else is written to standard output. Ends when standard input does.

Example, in a host's configuration:

    {"mcpServers": {"cardrun": {"command": "cardrun", "args": ["mcp"]}}}`
}

// Run serves until the host leaves.
func (*mcpCmd) Run(e *env) error {
	o := e.options
	o.Workers = 0           // as many as there are processors: a host may call several tools at once
	o.ImageCache = 16 << 20 // a card that was shown is opened next
	r, err := cardrun.New(e.ctx, o)
	if err != nil {
		return fmt.Errorf("start engine: %w", err)
	}
	defer r.Close()
	m := server.NewMCP(r, server.MCPOptions{Version: version()})
	defer m.Close()
	return m.ServeIO(e.ctx, e.stdin, e.stdout)
}

// version is that of the module the program was built of.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "devel"
}
