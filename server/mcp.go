package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/cardrun"
)

// MCPOptions configure an [MCP]. The zero value is good.
type MCPOptions struct {
	// Version is what the server says of its own version. Default: devel.
	Version string
	// Origins are those whose pages may call [MCP.Handler], as in https://chat.example. Default: none but its own.
	Origins []string
	// MaxCalls is how many calls may run or wait at once; one more is told to come again. Default: 64.
	MaxCalls int
	// MaxSessions, SessionMemory and SessionIdle bound the sessions that generated_ui_play keeps: how many, how many bytes
	// altogether, and for how long nobody used one. What has to make room is what was used longest ago, first of clients that
	// hold more than an equal share. Defaults: 256, 64 MiB, 30 minutes.
	MaxSessions   int
	SessionMemory int
	SessionIdle   time.Duration
	// Log gets one record for each tool call: tool, outcome and time, nothing of a card and no session id. Default: none.
	Log *slog.Logger
}

func (o MCPOptions) withDefaults() MCPOptions {
	if o.Version == "" {
		o.Version = "devel"
	}
	if o.MaxCalls == 0 {
		o.MaxCalls = 64
	}
	if o.MaxSessions == 0 {
		o.MaxSessions = 256
	}
	if o.SessionMemory == 0 {
		o.SessionMemory = 64 << 20
	}
	if o.SessionIdle == 0 {
		o.SessionIdle = 30 * time.Minute
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// MCP is cardrun as a server of the Model Context Protocol: the tools generated_ui_show, generated_ui_check and
// generated_ui_play, and the page in which a host that knows the extension MCP Apps (version 2026-01-26) shows a card.
// Make one with [NewMCP]; close it before its Runtime.
type MCP struct {
	o        MCPOptions
	rt       *cardrun.Runtime
	server   *mcp.Server
	calls    chan struct{} // one place for each call that may run
	reviews  chan struct{} // likewise for each card that is run for a check, which takes long
	sessions *sessions
	shown    *mcpShown
	active   atomic.Int64 // requests that are handled
}

// maxMCPMessage is the most bytes of one message, on any transport. The largest that means something is a card and 64 events, in JSON's longest
// spelling.
const maxMCPMessage = 4 << 20

// NewMCP makes a server of the tools over a Runtime.
func NewMCP(rt *cardrun.Runtime, o MCPOptions) *MCP {
	o = o.withDefaults()
	m := &MCP{
		o: o, rt: rt, calls: make(chan struct{}, o.MaxCalls), reviews: make(chan struct{}, max(1, rt.Workers()/2)),
		sessions: newSessions(storeOptions{ceiling: o.SessionMemory, most: o.MaxSessions, idle: o.SessionIdle}), shown: newMCPShown(mostShown),
	}
	capabilities := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}}
	capabilities.AddExtension(uiExtension, map[string]any{"mimeTypes": []string{uiMIME}})
	m.server = mcp.NewServer(
		&mcp.Implementation{Name: "cardrun", Title: "cardrun: interactive calculator cards", Version: o.Version},
		&mcp.ServerOptions{Instructions: mcpInstructions, Capabilities: capabilities},
	)
	for _, t := range m.tools() {
		m.server.AddTool(t.describe, m.handler(t))
	}
	m.addPages()
	m.server.AddReceivingMiddleware(m.counting, exactResults)
	return m
}

// ServeIO speaks with one client over a pair of streams, one message a line, until in ends, which is no error, or ctx does.
// Requests that came before the end are answered. Neither stream is closed.
func (m *MCP) ServeIO(ctx context.Context, in io.Reader, out io.Writer) error {
	return m.Serve(ctx, &mcp.IOTransport{
		Reader: io.NopCloser(&patientReader{in: in, m: m, ctx: ctx}), Writer: openWriter{out}, MaxLineLength: maxMCPMessage,
	})
}

// openWriter is a writer that is not the transport's to close.
type openWriter struct{ io.Writer }

func (openWriter) Close() error { return nil }

// patientReader tells of the end of its stream when nothing is handled any more: with the end, the SDK drops what is.
type patientReader struct {
	in  io.Reader
	m   *MCP
	ctx context.Context
}

// quiet is how long nothing must be handled before the end is told: between a message and its handler, and between that
// and the answer's last byte, there is less.
const quiet = 100 * time.Millisecond

func (p *patientReader) Read(b []byte) (int, error) {
	n, err := p.in.Read(b)
	if err == nil || n > 0 {
		return n, err
	}
	for at := time.Now(); time.Since(at) < quiet && p.ctx.Err() == nil; time.Sleep(quiet / 10) {
		if p.m.active.Load() > 0 {
			at = time.Now()
		}
	}
	return n, err
}

// counting counts the requests that are handled.
func (m *MCP) counting(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		m.active.Add(1)
		defer m.active.Add(-1)
		return next(ctx, method, req)
	}
}

// Serve speaks with one client over a transport until it leaves, which is no error, or ctx ends.
func (m *MCP) Serve(ctx context.Context, t mcp.Transport) error {
	err := m.server.Run(ctx, t)
	switch {
	case err == nil || ctx.Err() != nil:
		return nil
	case errors.Is(err, mcp.ErrConnectionClosed):
		return nil
	}
	return fmt.Errorf("serve mcp: %w", err)
}

// Handler serves streamable HTTP. Each request stands alone: there is no transport session, and what a caller wants to
// find again is named by the secret that generated_ui_play gives it. Bodies are bounded; requests of pages of other
// origins are refused, and on loopback those that name another host. When a request is gone, so is what it asked for.
func (m *MCP) Handler() http.Handler {
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m.server }, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxMCPMessage, PropagateRequestCancellation: true,
	})
	cross := http.NewCrossOriginProtection()
	for _, origin := range m.o.Origins {
		if err := cross.AddTrustedOrigin(origin); err != nil {
			m.o.Log.Warn("origin is not understood", "error", err)
		}
	}
	return cross.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		// The handlers of older protocol versions get a context that does not end with the request.
		handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), carrierKey{}, r.Context())))
	}))
}

// MCPMount serves the tools at /mcp, under the rules of a [Server]. Its log is the server's.
func MCPMount(o MCPOptions) Mount {
	return Mount{
		Pattern: "/mcp", MaxBody: maxMCPMessage, Work: true,
		Handler: func(s *Server, rt *cardrun.Runtime) http.Handler {
			o.Log, o.Origins = s.o.Log, s.o.Origins
			m := NewMCP(rt, o)
			s.closers = append(s.closers, m.Close)
			return m.Handler()
		},
	}
}

// carrierKey is where a context has that of the HTTP request that brought a call.
type carrierKey struct{}

// Close ends all sessions. Calls under way still finish.
func (m *MCP) Close() { m.sessions.close() }

// mcpTool is a tool: what is said of it, and what it does with its raw arguments. An error is not the caller's doing.
type mcpTool struct {
	describe *mcp.Tool
	run      func(ctx context.Context, arguments []byte) (*mcp.CallToolResult, error)
}

// handler runs a tool within the bounds that hold for all.
func (m *MCP) handler(t mcpTool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		began := time.Now()
		select {
		case m.calls <- struct{}{}:
			defer func() { <-m.calls }()
		default:
			m.o.Log.Info("tool call", "tool", t.describe.Name, "outcome", "busy")
			return refusal(fmt.Sprintf("busy: %d calls are under way; call again in a second", m.o.MaxCalls)), nil
		}
		if carrier, ok := ctx.Value(carrierKey{}).(context.Context); ok {
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(context.WithValue(ctx, requestKey{}, requestOf(carrier)))
			defer cancel()
			defer context.AfterFunc(carrier, cancel)()
		}
		ctx = context.WithValue(ctx, currentKey{}, isCurrent(req))
		res, err := t.run(ctx, req.Params.Arguments)
		outcome := "ok"
		switch {
		case err != nil && ctx.Err() != nil:
			outcome, err = "cancelled", ctx.Err()
		case err != nil:
			// What an engine says may quote a card; its author is told, the log is not.
			outcome, res, err = "error", refusal("the service could not run this: "+err.Error()), nil
		case res.IsError:
			outcome = "refused"
		}
		m.o.Log.Info("tool call", "tool", t.describe.Name, "outcome", outcome, "ms", time.Since(began).Milliseconds())
		return res, err
	}
}

// refusal is the result of a call that could not be done, in words for its caller.
func refusal(texts ...string) *mcp.CallToolResult {
	res := &mcp.CallToolResult{IsError: true}
	for _, text := range texts {
		res.Content = append(res.Content, &mcp.TextContent{Text: text})
	}
	return res
}

// currentKey is where a context says whether a call is of a protocol version in which results are annotated.
type currentKey struct{}

// annotatedVersion is the first protocol version whose results name their type and the server.
const annotatedVersion = "2026-07-28"

// isCurrent tells whether a request is of that version or a later one: those name theirs in each request.
func isCurrent(req mcp.Request) bool {
	params := req.GetParams()
	if params == nil {
		return false
	}
	v, _ := params.GetMeta()[mcp.MetaKeyProtocolVersion].(string)
	return v >= annotatedVersion
}

// raw makes JSON text a value that the SDK passes on.
func raw(text []byte) json.RawMessage { return json.RawMessage(text) }
