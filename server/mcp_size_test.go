package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/cardrun"
	"example.com/cardrun/limits"
	"example.com/cardrun/server"
)

// wires keeps what the server answered, as it was sent.
type wires struct {
	mu   sync.Mutex
	last []byte
}

func (w *wires) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	res.Body.Close()
	w.mu.Lock()
	w.last = body
	w.mu.Unlock()
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, err
}

// result is the last result, byte for byte.
func (w *wires) result(t *testing.T) []byte {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	var m struct{ Result json.RawMessage }
	if err := json.Unmarshal(w.last, &m); err != nil {
		t.Fatalf("%v: %.200s", err, w.last)
	}
	return m.Result
}

// omittable are the parts of a Snapshot that give way, in order.
var omittable = []string{"rounds.patches", "display.css", "display.html", "rounds", "handlers", "controls", "display.text"} // the cards below have no diagnostics

// TestMCPResultSizeR9 sends cards of all sizes, to the byte at the limit: every result that is sent keeps within 24,000 bytes,
// whether a card is accepted is decided without its run, and of what the run gave as much is there as fits.
func TestMCPResultSizeR9(t *testing.T) {
	f := &mcpFixture{t: t, rt: newRuntime(t), tools: map[string]*mcp.Tool{}}
	f.server = server.NewMCP(f.rt, server.MCPOptions{})
	t.Cleanup(f.server.Close)
	transports["http"](f)
	wire := &wires{}
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	f.connect(&mcp.StreamableClientTransport{Endpoint: f.url, DisableStandaloneSSE: true, HTTPClient: &http.Client{Transport: wire}})
	base := card(`<p><label for="a">a</label> <input id="a" value="<&>"></p><p id="p"></p>`, "ui.text('p', 'the figure 42'.padEnd(200, '.')); ui.on('a', 'input', () => {})//")
	base["css"] = "p { color: red }" + strings.Repeat(" input { color: red }", 6)
	old := func(c map[string]any) []byte {
		_, answer := f.post(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"generated_ui_show","arguments":`+jsonOf(c)+`}}`, nil)
		var m struct{ Result json.RawMessage }
		if err := json.Unmarshal([]byte(answer), &m); err != nil {
			t.Fatal(err)
		}
		return m.Result
	}
	most := map[string]bool{}
	expect := func(size int) {
		c := sized(t, base, size)
		decoded := cardrun.Decode([]byte(jsonOf(c)))
		k, _ := decoded.Check()
		if accepted := size <= limits.Result; (k != nil) != accepted {
			t.Fatalf("a result of %d bytes: accepted is %v", size, k != nil)
		}
		res := f.call("generated_ui_show", c)
		for which, sent := range map[string][]byte{"new": wire.result(t), "old": old(c)} {
			if len(sent) > limits.Result {
				t.Errorf("%d: %s protocol: %d bytes were sent", size, which, len(sent))
			}
			if bytes.Contains(sent, []byte(`\u003c`)) {
				t.Errorf("%d: %s protocol: escapes that JSON does not ask for", size, which)
			}
		}
		if size > limits.Result {
			if !res.IsError || !strings.Contains(words(res), string(limits.ResultTooLarge)) {
				t.Errorf("%d: not rejected: %.200s", size, words(res))
			}
			return
		}
		s := into[shownResult](t, res.StructuredContent)
		if res.IsError || s.JavaScript != c["javascript"] || words(res) != c["summary"] {
			t.Fatalf("%d: the source is not as given (R10, R12)", size)
		}
		switch e := s.Execution; {
		case e == nil:
			most["none"] = true
			if size < 23_000 {
				t.Errorf("%d: there is no execution", size)
			}
		case e.Snapshot == nil:
			most["snapshot"] = true
			if !slices.Equal(e.Omitted, []string{"snapshot"}) {
				t.Errorf("%d: omitted %q", size, e.Omitted)
			}
		default:
			most[fmt.Sprint(len(e.Omitted))] = true
			if !slices.Equal(e.Omitted, omittable[:len(e.Omitted)]) {
				t.Errorf("%d: omitted %q", size, e.Omitted)
			}
			if len(e.Omitted) < len(omittable) && !strings.Contains(e.Snapshot.Display.Text, "the figure 42") {
				t.Errorf("%d: the figure is not there", size)
			}
		}
	}
	for size := 3000; size < 20_500; size += 1750 {
		expect(size)
	}
	for size := 20_500; size < limits.Result-20; size += 20 {
		expect(size)
	}
	for size := limits.Result - 20; size <= limits.Result+3; size++ {
		expect(size)
	}
	for _, way := range []string{"0", "1", "2", "3", "4", "5", "6", "7", "snapshot", "none"} {
		if !most[way] {
			t.Errorf("no card was of the kind %s: %v", way, most)
		}
	}
}

// sized is a card whose result, without a run, has so many bytes.
func sized(t *testing.T, base map[string]any, size int) map[string]any {
	t.Helper()
	measure := func(c map[string]any) int {
		k := cardrun.Card{Title: c["title"].(string), Summary: c["summary"].(string), HTML: c["html"].(string), CSS: c["css"].(string), JavaScript: c["javascript"].(string)}
		data, err := k.Result()
		if err != nil {
			t.Fatal(err)
		}
		return len(data)
	}
	missing := size - measure(base)
	script := min(missing, 11_000)
	c := with(base, "javascript", base["javascript"].(string)+strings.Repeat("x", script))
	missing -= script
	// Spaces in css and comments in html are not displayed.
	style := min(missing, 5000)
	c = with(c, "css", base["css"].(string)+strings.Repeat(" ", style))
	if missing -= style; missing > 0 {
		const comment = "<!---->"
		if missing < len(comment) {
			c = with(c, "css", c["css"].(string)+strings.Repeat(" ", missing))
		} else {
			c = with(c, "html", "<!--"+strings.Repeat("x", missing-len(comment))+"-->"+base["html"].(string))
		}
	}
	if len(c["html"].(string)) > limits.HTMLLength {
		t.Fatalf("%d bytes cannot be made so", size)
	}
	if size <= limits.Result {
		if got := measure(c); got != size {
			t.Fatalf("a result of %d bytes was to be made, not %d", size, got)
		}
	}
	return c
}
