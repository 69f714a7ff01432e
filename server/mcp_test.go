package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"example.com/cardrun"
	"example.com/cardrun/server"
)

const uiMIME = "text/html;profile=mcp-app"

// mcpFixture is a server of the tools and a client of it over one of the transports.
type mcpFixture struct {
	t      testing.TB
	rt     *cardrun.Runtime
	server *server.MCP
	client *mcp.ClientSession
	url    string // of the HTTP handler, if there is one
	tools  map[string]*mcp.Tool
}

// uiClient is a client that knows MCP Apps.
func uiClient() *mcp.Client {
	capabilities := &mcp.ClientCapabilities{}
	capabilities.AddExtension("io.modelcontextprotocol/ui", map[string]any{"mimeTypes": []string{uiMIME}})
	return mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{Capabilities: capabilities})
}

func newRuntime(t testing.TB) *cardrun.Runtime {
	t.Helper()
	rt, err := cardrun.New(t.Context(), cardrun.Options{CacheDir: cacheDir, ImageCache: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rt.Close() })
	return rt
}

// cacheDir holds the compiled engine for all tests of the package.
var cacheDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "cardrun-server-test")
	if err != nil {
		panic(err)
	}
	cacheDir = filepath.Join(dir, "cache")
	// As the command does: guests keep their threads from the rest of a service.
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 2)
	code := m.Run()
	http.DefaultClient.CloseIdleConnections()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "left behind by the tests:", err)
		code = 1
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// transports are the ways to connect, by name.
var transports = map[string]func(f *mcpFixture) mcp.Transport{
	"memory": func(f *mcpFixture) mcp.Transport {
		here, there := mcp.NewInMemoryTransports()
		ctx, cancel := context.WithCancel(context.Background())
		var serving sync.WaitGroup
		serving.Go(func() {
			if err := f.server.Serve(ctx, there); err != nil {
				f.t.Errorf("serve: %v", err)
			}
		})
		f.t.Cleanup(func() { cancel(); serving.Wait() })
		return here
	},
	"http": func(f *mcpFixture) mcp.Transport {
		s := httptest.NewServer(f.server.Handler())
		f.t.Cleanup(s.Close)
		f.url = s.URL
		return &mcp.StreamableClientTransport{Endpoint: s.URL, DisableStandaloneSSE: true, HTTPClient: s.Client()}
	},
}

func newMCP(t testing.TB, transport string, o server.MCPOptions) *mcpFixture {
	t.Helper()
	f := &mcpFixture{t: t, rt: newRuntime(t), tools: map[string]*mcp.Tool{}}
	f.server = server.NewMCP(f.rt, o)
	t.Cleanup(f.server.Close)
	f.connect(transports[transport](f))
	return f
}

func (f *mcpFixture) connect(transport mcp.Transport) {
	f.t.Helper()
	client, err := uiClient().Connect(f.t.Context(), transport, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = client.Close() })
	f.client = client
	list, err := client.ListTools(f.t.Context(), nil)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, tool := range list.Tools {
		f.tools[tool.Name] = tool
	}
}

// call calls a tool and holds the result against the tool's output schema.
func (f *mcpFixture) call(tool string, arguments any) *mcp.CallToolResult {
	f.t.Helper()
	res, err := f.client.CallTool(f.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		f.t.Fatalf("%s: %v", tool, err)
	}
	if len(res.Content) == 0 {
		f.t.Errorf("%s: there is no content", tool)
	}
	if res.IsError {
		if res.StructuredContent != nil {
			f.t.Errorf("%s: a refusal has structured content, which clients would hold against the schema", tool)
		}
		return res
	}
	expectValid(f.t, f.tools[tool].OutputSchema, res.StructuredContent, tool)
	return res
}

// words is the text content of a result.
func words(res *mcp.CallToolResult) string {
	var all []string
	for _, c := range res.Content {
		all = append(all, c.(*mcp.TextContent).Text)
	}
	return strings.Join(all, "\n")
}

// expectValid holds a value against a JSON Schema.
func expectValid(t testing.TB, schema, value any, what string) {
	t.Helper()
	if err := valid(schema, value); err != nil {
		t.Errorf("%s: %.600v\nin %.600s", what, err, jsonOf(value))
	}
}

func valid(schema, value any) error {
	text, err := json.Marshal(schema)
	if err != nil {
		return err
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	r, err := s.Resolve(nil)
	if err != nil {
		return err
	}
	var plain any
	if err := json.Unmarshal([]byte(jsonOf(value)), &plain); err != nil {
		return err
	}
	return r.Validate(plain)
}

func jsonOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// into reads a value again as another type.
func into[T any](t testing.TB, v any) (out T) {
	t.Helper()
	if err := json.Unmarshal([]byte(jsonOf(v)), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// shownResult is the structured content of generated_ui_show.
type shownResult struct {
	Title, Summary, CardID, HTML, CSS, JavaScript string
	Execution                                     *struct {
		Status       string
		SnapshotHash string
		Seed         uint64
		Omitted      []string
		Snapshot     *cardrun.Snapshot
	}
}

// played is the structured content of generated_ui_play.
type played struct {
	Outcome, Session, Place   string
	Played, Combined, Ignored int
	Rounds                    []cardrun.Round
	Failure                   *cardrun.Failure
	Omitted                   []string
	Snapshot                  *cardrun.Snapshot
}

func example(t testing.TB) map[string]any {
	t.Helper()
	return cardFile(t, "mcp/example.json")
}

func cardFile(t testing.TB, path string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var card map[string]any
	if err := json.Unmarshal(data, &card); err != nil {
		t.Fatal(err)
	}
	return card
}

func card(html, script string) map[string]any {
	return map[string]any{"title": "A card", "summary": "It shows something.", "html": html, "css": "", "javascript": script}
}

func with(card map[string]any, field string, value any) map[string]any {
	c := map[string]any{}
	for k, v := range card {
		c[k] = v
	}
	c[field] = value
	return c
}

type event = map[string]any

func TestMCPTransports(t *testing.T) {
	for name := range transports {
		t.Run(name, func(t *testing.T) {
			f := newMCP(t, name, server.MCPOptions{})
			expectTools(t, f)
			res := f.call("generated_ui_show", example(t))
			expectShown(t, res)
			answer := into[played](t, f.call("generated_ui_play", map[string]any{
				"card": example(t), "events": []event{{"id": "years", "type": "input", "value": "20"}}}).StructuredContent)
			if answer.Played != 1 || answer.Session != "" || !strings.Contains(answer.Snapshot.Display.Text, "$73,355 in the end") {
				t.Errorf("after 20 years: %+v", answer)
			}
			check := f.call("generated_ui_check", map[string]any{"card": example(t), "run": true})
			if text := words(check); !strings.Contains(text, "acceptable") || !strings.Contains(text, "$29,450 in the end") {
				t.Errorf("check says %q", text)
			}
		})
	}
}

// expectTools holds what is listed against the protocol and the extension.
func expectTools(t *testing.T, f *mcpFixture) {
	t.Helper()
	if len(f.tools) != 3 {
		t.Fatalf("there are the tools %v", f.tools)
	}
	for name, tool := range f.tools {
		if !tool.Annotations.ReadOnlyHint || tool.Annotations.OpenWorldHint == nil || *tool.Annotations.OpenWorldHint {
			t.Errorf("%s: annotations %s", name, jsonOf(tool.Annotations))
		}
		expectValid(t, appsType(t, "McpUiToolMeta"), tool.Meta["ui"], name+" _meta.ui")
	}
	ui := tool(f, "generated_ui_show").Meta["ui"].(map[string]any)
	uri, _ := ui["resourceUri"].(string)
	if !strings.HasPrefix(uri, "ui://") {
		t.Fatalf("resourceUri is %q", uri)
	}
	expectPage(t, f, uri)
	server := f.client.InitializeResult().Capabilities
	expectValid(t, appsType(t, "McpUiClientCapabilities"), server.Extensions["io.modelcontextprotocol/ui"], "the server's extension")
}

func tool(f *mcpFixture, name string) *mcp.Tool { return f.tools[name] }

// expectPage reads a page and looks at what every host will look at.
func expectPage(t *testing.T, f *mcpFixture, uri string) string {
	t.Helper()
	res, err := f.client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		t.Fatal(err)
	}
	c := res.Contents[0]
	if len(res.Contents) != 1 || c.URI != uri || c.MIMEType != uiMIME || !strings.HasPrefix(c.Text, "<!DOCTYPE html>") {
		t.Errorf("contents of %s: %s, %.100q", uri, c.MIMEType, c.Text)
	}
	expectValid(t, appsType(t, "McpUiResourceMeta"), c.Meta["ui"], uri+" _meta.ui")
	if strings.Count(c.Text, "<script") != 2 || strings.Contains(c.Text, "{{") {
		t.Errorf("%s: the page has other scripts than its own and its data, or a gap that was not filled", uri)
	}
	return c.Text
}

// expectShown looks at the result for the example: D25, R13, and the figures that are there before any script runs in a client.
func expectShown(t *testing.T, res *mcp.CallToolResult) {
	t.Helper()
	s := into[shownResult](t, res.StructuredContent)
	if res.IsError || len(res.Content) != 1 || words(res) != s.Summary {
		t.Errorf("content is %q, error %v", words(res), res.IsError)
	}
	e := s.Execution
	if e == nil || e.Status != "ready" || len(e.Omitted) != 0 || e.Snapshot == nil || !strings.HasPrefix(e.SnapshotHash, "sha256:") {
		t.Fatalf("execution is %s", jsonOf(e))
	}
	if want := "$29,450 in the end: $24,000 paid in and $5,450 of interest."; !strings.Contains(e.Snapshot.Display.Text, want) {
		t.Errorf("the display lacks %q: %q", want, e.Snapshot.Display.Text)
	}
	if uri := into[struct{ ResourceURI string }](t, res.Meta["ui"]).ResourceURI; uri != "ui://generated/"+s.CardID {
		t.Errorf("_meta.ui.resourceUri is %q", uri)
	}
	if words := strings.ToLower(jsonOf(res)); strings.Contains(words, "verified") {
		t.Error("the result claims a verification (R13)")
	}
}

// appsType is a type of the extension's published schema.
func appsType(t testing.TB, name string) any {
	t.Helper()
	data, err := os.ReadFile("testdata/mcp-apps.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Defs map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if file.Defs[name] == nil {
		t.Fatalf("the schema has no %s", name)
	}
	return file.Defs[name]
}

// TestMCPOldVersions speaks every protocol version that the SDK knows.
func TestMCPOldVersions(t *testing.T) {
	f := newMCP(t, "http", server.MCPOptions{})
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"generated_ui_show","arguments":%s}}`, jsonOf(example(t)))
		status, answer := f.post(t, body, http.Header{"Mcp-Protocol-Version": {version}})
		var m struct{ Result shownWire }
		if err := json.Unmarshal([]byte(answer), &m); err != nil || status != 200 || m.Result.StructuredContent.Execution == nil {
			t.Errorf("%s: %d, %v, %.300s", version, status, err, answer)
		}
	}
}

type shownWire struct {
	Content           []struct{ Type, Text string }
	StructuredContent shownResult
	IsError           bool
}

// post sends a message to the HTTP handler as it is.
func (f *mcpFixture) post(t testing.TB, body string, header http.Header) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for name, values := range header {
		req.Header[name] = values
		if name == "Host" {
			req.Host = values[0]
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	return res.StatusCode, string(text)
}

// TestMCPExample: the example that models are shown renders, a review of it finds nothing, and shows what its summary says.
func TestMCPExample(t *testing.T) {
	rt := newRuntime(t)
	data, err := os.ReadFile("mcp/example.json")
	if err != nil {
		t.Fatal(err)
	}
	c := cardrun.Decode(data)
	v, err := rt.Review(t.Context(), &c, cardrun.ReviewOptions{Rounds: 500})
	if err != nil {
		t.Fatal(err)
	}
	if v.Outcome != cardrun.Ready || len(v.Findings) > 0 {
		t.Errorf("%s, %v", v.Outcome, v.Findings)
	}
	s, err := rt.Render(t.Context(), &c, cardrun.RenderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, figure := range []string{"$29,450", "$24,000", "$5,450"} {
		if !strings.Contains(s.Display.Text, figure) || !strings.Contains(s.Card.Summary, figure) {
			t.Errorf("%s is not in both display and summary", figure)
		}
	}
}

// TestMCPLog: one record a call, nothing of a card in it, and no session's secret.
func TestMCPLog(t *testing.T) {
	var log strings.Builder
	f := newMCP(t, "memory", server.MCPOptions{Log: slog.New(slog.NewJSONHandler(&log, nil))})
	marked := with(example(t), "title", "MARKER title")
	f.call("generated_ui_show", marked)
	f.call("generated_ui_show", with(marked, "html", "<a href=MARKER>"))
	kept := into[played](t, f.call("generated_ui_play", map[string]any{"card": marked, "keep": true}).StructuredContent)
	f.call("generated_ui_play", map[string]any{"session": kept.Session, "events": []event{{"id": "pay", "type": "input", "value": "MARKER"}}})
	text := log.String()
	if strings.Count(text, "\n") != 4 || strings.Contains(text, "MARKER") || strings.Contains(text, kept.Session) {
		t.Errorf("the log is\n%s", text)
	}
}

func TestMCPLeavesNothing(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("session", func(t *testing.T) {
		for _, transport := range []string{"memory", "http"} {
			f := newMCP(t, transport, server.MCPOptions{})
			f.call("generated_ui_play", map[string]any{"card": example(t), "keep": true})
			f.call("generated_ui_show", example(t))
		}
	})
	http.DefaultClient.CloseIdleConnections()
	time.Sleep(10 * time.Millisecond)
}

// bearer adds a token to each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// TestMCPMount: as part of a service the tools are under its rules, and their sessions end with it.
func TestMCPMount(t *testing.T) {
	const token, greedy = "0123456789abcdefghijkl", "lkjihgfedcba9876543210"
	s, err := server.New(server.Options{
		Tokens: []string{token, greedy}, Engine: cardrun.Options{CacheDir: cacheDir},
		Mounts: []server.Mount{server.MCPMount(server.MCPOptions{MaxSessions: 4})},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s.Handler())
	t.Cleanup(func() { http.DefaultClient.CloseIdleConnections(); h.Close() })
	f := &mcpFixture{t: t, url: h.URL + "/mcp", tools: map[string]*mcp.Tool{}}
	if status, answer := f.post(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, nil); status != http.StatusUnauthorized {
		t.Errorf("without a token: %d %s", status, answer)
	}
	if status, answer := f.post(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, http.Header{"Authorization": {"Bearer " + token}, "Origin": {"https://evil.example"}}); status != http.StatusForbidden {
		t.Errorf("from a page of others: %d %s", status, answer)
	}
	f.connect(&mcp.StreamableClientTransport{Endpoint: f.url, DisableStandaloneSSE: true, HTTPClient: &http.Client{Transport: bearer(token)}})
	expectShown(t, f.call("generated_ui_show", example(t)))
	kept := into[played](t, f.call("generated_ui_play", map[string]any{"card": example(t), "keep": true}).StructuredContent)
	later := into[played](t, f.call("generated_ui_play", map[string]any{"session": kept.Session, "events": []event{{"id": "years", "type": "input", "value": "20"}}}).StructuredContent)
	if len(later.Rounds) != 1 || later.Place != "1.1" {
		t.Errorf("an event: %s", jsonOf(later))
	}
	other := &mcpFixture{t: t, url: f.url, tools: map[string]*mcp.Tool{}}
	other.connect(&mcp.StreamableClientTransport{Endpoint: f.url, DisableStandaloneSSE: true, HTTPClient: &http.Client{Transport: bearer(greedy)}})
	for range 8 {
		other.call("generated_ui_play", map[string]any{"card": example(t), "keep": true})
	}
	if res := f.call("generated_ui_play", map[string]any{"session": kept.Session}); res.IsError {
		t.Errorf("the only session of a client made room for another client's: %s", words(res))
	}
}
