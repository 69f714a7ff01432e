package server

import (
	_ "embed"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What models read. The example in it is a card of its own file, which a test runs.
var (
	//go:embed mcp/show.md
	showText string
	//go:embed mcp/example.json
	exampleText string
	//go:embed mcp/check.md
	checkText string
	//go:embed mcp/play.md
	playText string
	//go:embed mcp/schemas.json
	schemasText []byte
)

const mcpInstructions = "Shows small interactive calculators (cards) that you write. Use generated_ui_show when the reader will want to change an assumption and see " +
	"the figures move; answer in words otherwise. generated_ui_check and generated_ui_play test a card without showing it."

// schemas are the JSON Schemas of the tools' arguments and of their structured content.
type schemas struct {
	ShowInput   json.RawMessage
	ShowOutput  json.RawMessage
	CheckInput  json.RawMessage
	CheckOutput json.RawMessage
	PlayInput   json.RawMessage
	PlayOutput  json.RawMessage
}

// tools are the tools.
func (m *MCP) tools() []mcpTool {
	var s schemas
	if err := json.Unmarshal(schemasText, &s); err != nil {
		panic("server: " + err.Error()) // embedded above, and read by a test
	}
	is, not := true, false
	// None of them changes anything but sessions of their own, and none reaches beyond this process.
	hints := func(title string, idempotent bool) *mcp.ToolAnnotations {
		return &mcp.ToolAnnotations{Title: title, ReadOnlyHint: is, IdempotentHint: idempotent, DestructiveHint: &not, OpenWorldHint: &not}
	}
	return []mcpTool{
		{&mcp.Tool{
			Name: "generated_ui_show", Title: "Show an interactive card", Description: showText + "\n```json\n" + exampleText + "```\n",
			InputSchema: s.ShowInput, OutputSchema: s.ShowOutput, Annotations: hints("Show an interactive card", is),
			Meta: mcp.Meta{"ui": map[string]any{"resourceUri": pageURI, "visibility": []string{"model", "app"}}},
		}, m.show},
		{&mcp.Tool{
			Name: "generated_ui_check", Title: "Check a card without showing it", Description: checkText,
			InputSchema: s.CheckInput, OutputSchema: s.CheckOutput, Annotations: hints("Check a card without showing it", is),
			Meta: mcp.Meta{"ui": map[string]any{"visibility": []string{"model"}}},
		}, m.check},
		{&mcp.Tool{
			Name: "generated_ui_play", Title: "Use a card as a reader would", Description: playText,
			InputSchema: s.PlayInput, OutputSchema: s.PlayOutput, Annotations: hints("Use a card as a reader would", not),
			Meta: mcp.Meta{"ui": map[string]any{"visibility": []string{"model", "app"}}},
		}, m.play},
	}
}
