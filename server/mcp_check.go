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
	// OK tells that there is no error among the diagnostics: generated_ui_show would accept the card and, where it was run,
	// nothing was seen to fail.
	OK          bool              `json:"ok"`
	Diagnostics []cardrun.Finding `json:"diagnostics"`
	// Run is what running the card gave, if that was asked for and the card was not rejected; null otherwise.
	Run *checkRun `json:"run"`
}

type checkRun struct {
	Outcome  cardrun.Outcome   `json:"outcome"`
	Text     string            `json:"text"` // that is shown first
	Budgets  []cardrun.Budget  `json:"budgets"`
	Explored *cardrun.Explored `json:"explored"`
}

// check is generated_ui_check: what cardrun check says, and with run what cardrun check --run does.
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
	var err error
	if a.Run {
		select {
		case m.reviews <- struct{}{}:
			defer func() { <-m.reviews }()
		default:
			return refusal(fmt.Sprintf("busy: %d cards are being run for a check; call again in %v", cap(m.reviews), 2*reviewTime)), nil
		}
		answer, err = m.review(ctx, &card)
	} else {
		answer.Diagnostics, err = m.rt.Lint(ctx, &card)
	}
	if err != nil {
		return nil, err
	}
	answer.OK = !slices.ContainsFunc(answer.Diagnostics, isRejecting)
	return answer.result()
}

func isRejecting(f cardrun.Finding) bool { return f.Severity == limits.SeverityError }

// review runs a card and tries inputs on it for a while.
func (m *MCP) review(ctx context.Context, card *cardrun.Card) (answer checkAnswer, err error) {
	v, err := m.rt.Review(ctx, card, cardrun.ReviewOptions{Fuzz: reviewTime})
	if err != nil {
		return answer, err
	}
	answer.Diagnostics = v.Findings
	if v.Outcome == cardrun.Rejected {
		return answer, nil
	}
	s, err := m.rt.Render(ctx, card, cardrun.RenderOptions{})
	if err != nil {
		return answer, err
	}
	answer.Run = &checkRun{Outcome: v.Outcome, Budgets: v.Budgets, Explored: v.Explored}
	if s.Display != nil && len(s.Display.Text) <= maxMCPText {
		answer.Run.Text = s.Display.Text
	}
	return answer, nil
}

// mostFindings is how many findings a result lists; a card with more has the same fault many times.
const mostFindings = 200

func (c *checkAnswer) result() (*mcp.CallToolResult, error) {
	text := "The card is acceptable."
	switch {
	case !c.OK && c.Run == nil:
		text = "The card would be rejected."
	case !c.OK:
		text = "The card would be accepted, but it fails."
	case len(c.Diagnostics) > 0:
		text += " There is something to look at:"
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
