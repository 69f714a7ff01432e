package server

import (
	"context"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/cardrun/limits"
)

// exactResults sends results of tools without escapes that JSON does not ask for: R9 counts the bytes that are sent, and
// the SDK would write < as six of them, so that a card within its limits could have a result beyond.
func exactResults(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if called, ok := res.(*mcp.CallToolResult); ok && err == nil && called != nil && !called.NeedsInput() {
			e := &exactResult{called: called, current: isCurrent(req)}
			e.Meta = called.Meta
			return e, nil
		}
		return res, err
	}
}

// exactResult is a result of a tool as it is sent.
type exactResult struct {
	mcp.ResultBase // whose Meta the SDK annotates
	called         *mcp.CallToolResult
	current        bool
}

// resultType is the member by which newer protocol versions say that nothing is to follow; without it, that is so as well.
const resultType = `,"resultType":"complete"`

// MarshalJSON writes the result. The annotations of newer protocol versions, which clients can do without, are left out
// where they would make it larger than R9 lets it be.
func (e *exactResult) MarshalJSON() ([]byte, error) {
	annotated := e.current
	b, err := e.append(e.Meta, annotated)
	if err != nil || len(b) <= limits.Result || !annotated || !e.bounded() {
		return b, err
	}
	plain := make(mcp.Meta, len(e.Meta))
	for name, value := range e.Meta {
		if name != mcp.MetaKeyServerInfo {
			plain[name] = value
		}
	}
	if b, err = e.append(plain, true); err != nil || len(b) <= limits.Result {
		return b, err
	}
	return e.append(plain, false)
}

// bounded tells whether R9 holds for the result: it is that of generated_ui_show, which alone names a user interface.
func (e *exactResult) bounded() bool { return e.called.Meta["ui"] != nil }

func (e *exactResult) append(meta mcp.Meta, typed bool) ([]byte, error) {
	b := []byte(`{"content":[`)
	for i, c := range e.called.Content {
		text, ok := c.(*mcp.TextContent)
		if !ok {
			return nil, fmt.Errorf("write result: content is %T, not text", c)
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(quoted(append(b, `{"type":"text","text":`...), text.Text), '}')
	}
	b = append(b, ']')
	if e.called.StructuredContent != nil {
		structured, err := jsonv2.Marshal(e.called.StructuredContent)
		if err != nil {
			return nil, fmt.Errorf("write structured content: %w", err)
		}
		b = append(append(b, `,"structuredContent":`...), structured...)
	}
	if len(meta) > 0 {
		text, err := jsonv2.Marshal(meta, jsonv2.Deterministic(true))
		if err != nil {
			return nil, fmt.Errorf("write metadata: %w", err)
		}
		b = append(append(b, `,"_meta":`...), text...)
	}
	if e.called.IsError {
		b = append(b, `,"isError":true`...)
	}
	if typed {
		b = append(b, resultType...)
	}
	return append(b, '}'), nil
}

// quoted appends a JSON string. What is no UTF-8 becomes U+FFFD.
func quoted(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}
