package server

import (
	"context"
	"fmt"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/cardrun"
	"example.com/cardrun/limits"
)

type checkArguments struct {
	Card jsontext.Value `json:"card"`
	Run  bool           `json:"run"`
}

// checkAnswer is the structured content of generated_ui_check.
type checkAnswer struct {
	// OK tells that generated_ui_show would accept the card and, where it was run, that its script did not fail.
	OK          bool                 `json:"ok"`
	Diagnostics []cardrun.Diagnostic `json:"diagnostics"`
	// Run is what one run gave, if one was asked for; null otherwise.
	Run *checkRun `json:"run"`
}

type checkRun struct {
	Outcome cardrun.Outcome  `json:"outcome"`
	Failure *cardrun.Failure `json:"failure"`
	Text    string           `json:"text"`
	Usage   cardrun.Usage    `json:"usage"`
}

// check is generated_ui_check.
func (m *MCP) check(ctx context.Context, arguments []byte) (*mcp.CallToolResult, error) {
	var a checkArguments
	if fault := readArguments(arguments, &a); fault != "" {
		return refusal(fault), nil
	}
	if a.Card == nil {
		return refusal("card: it is missing; send the object with the five fields"), nil
	}
	card := cardrun.Decode(a.Card)
	var answer checkAnswer
	if a.Run {
		s, err := m.rt.Render(ctx, &card, cardrun.RenderOptions{})
		if err != nil {
			return nil, err
		}
		answer.Diagnostics = s.Diagnostics
		if s.Outcome != cardrun.Rejected {
			run := &checkRun{Outcome: s.Outcome, Failure: s.Failure, Text: s.Display.Text, Usage: s.Rounds[0].Usage}
			if len(run.Text) > maxMCPText {
				run.Text = ""
			}
			answer.Run = run
		}
	} else {
		found, err := m.rt.Check(ctx, &card)
		if err != nil {
			return nil, err
		}
		answer.Diagnostics = found
	}
	if answer.Diagnostics == nil {
		answer.Diagnostics = []cardrun.Diagnostic{}
	}
	rejected := slices.ContainsFunc(answer.Diagnostics, func(d cardrun.Diagnostic) bool { return d.Severity == limits.SeverityError })
	answer.OK = !rejected && (answer.Run == nil || answer.Run.Failure == nil)
	return answer.result(rejected)
}

// mostFindings is how many findings a result lists; a card with more has the same fault many times.
const mostFindings = 200

func (c *checkAnswer) result(rejected bool) (*mcp.CallToolResult, error) {
	text := "The card is acceptable."
	switch {
	case rejected:
		text = "The card would be rejected."
	case c.Run != nil && c.Run.Failure != nil:
		text = failureText(c.Run.Failure)
	}
	if len(c.Diagnostics) > 0 {
		text += "\n" + findingLines(c.Diagnostics, maxTold)
	}
	if c.Run != nil {
		text += "\nIt shows:\n" + c.Run.Text
	}
	if n := len(c.Diagnostics); n > mostFindings {
		c.Diagnostics = c.Diagnostics[:mostFindings]
	}
	structured, err := jsonv2.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("write answer: %w", err)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, StructuredContent: jsontext.Value(structured)}, nil
}
