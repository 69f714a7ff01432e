package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/cardrun/limits"
	"example.com/cardrun/server"
)

// TestMCPRejectionR125: a card that is refused comes back with all that is wrong and what to do, in one go, and as an error
// of the tool, not of the protocol, so that a model reads it.
func TestMCPRejectionR125(t *testing.T) {
	f := newMCP(t, "memory", server.MCPOptions{})
	bad := map[string]any{"title": "", "summary": "\u200b", "html": `<a href=x>x</a><p id="1">x</p><input type=file>`, "css": "@import 'x'", "javascript": "let x = ;"}
	want := []limits.Code{limits.FieldLength, limits.TextInvisible, limits.ElementForbidden, limits.IDInvalid, limits.ControlUnsupported, limits.CSSForbidden, limits.ScriptSyntax}
	for _, c := range []struct {
		tool      string
		arguments any
		refused   bool
	}{
		{"generated_ui_show", bad, true},
		{"generated_ui_play", map[string]any{"card": bad}, true},
		{"generated_ui_check", map[string]any{"card": bad}, false},
		{"generated_ui_check", map[string]any{"card": bad, "run": true}, false},
	} {
		res := f.call(c.tool, c.arguments)
		text := words(res)
		if res.IsError != c.refused || c.refused && !strings.Contains(text, "once more with the whole card") {
			t.Errorf("%s: error %v, %.200s", c.tool, res.IsError, text)
		}
		for _, code := range want {
			if !strings.Contains(text, string(code)) {
				t.Errorf("%s: %s is not told: %s", c.tool, code, text)
			}
		}
		if len(text) > 24_000 {
			t.Errorf("%s: %d bytes", c.tool, len(text))
		}
	}
	// Very many faults are told as far as a model can read.
	many := with(example(t), "html", strings.Repeat("<a>", 3000))
	if res := f.call("generated_ui_show", many); !res.IsError || len(words(res)) > 24_000 {
		t.Errorf("%d bytes of faults", len(words(res)))
	}
	if res := f.call("generated_ui_check", map[string]any{"card": many}); len(jsonOf(res)) > 200_000 {
		t.Errorf("%d bytes of findings", len(jsonOf(res)))
	}
}

// TestMCPCheckRun: what running a card shows comes with what to do, and with the events that show it.
func TestMCPCheckRun(t *testing.T) {
	f := newMCP(t, "memory", server.MCPOptions{})
	faulty := card(`<p><label for="n">n</label> <input id="n" type="number" value="2"></p><p id="p"></p>`,
		"const show = () => { const n = Number(ui.input('n').value); if (n === 0) null.x; ui.text('p', 'half: ' + n / 2) }; ui.on('n', 'input', show); ui.text('nowhere', 'x'); show()")
	res := f.call("generated_ui_check", map[string]any{"card": faulty})
	if text := words(res); !strings.Contains(text, "nowhere") {
		t.Errorf("an id that is not there: %s", text)
	}
	faulty = with(faulty, "javascript", strings.Replace(faulty["javascript"].(string), "ui.text('nowhere', 'x'); ", "", 1))
	res = f.call("generated_ui_check", map[string]any{"card": faulty, "run": true})
	if text := words(res); res.IsError || !strings.Contains(text, "it fails") || !strings.Contains(text, "exception") || !strings.Contains(text, "--set n=") {
		t.Errorf("a card that fails at 0: %s", text)
	}
}

// TestMCPFailedCard: a card whose script fails is accepted (R13, D31), and its author hears of it.
func TestMCPFailedCard(t *testing.T) {
	f := newMCP(t, "memory", server.MCPOptions{})
	res := f.call("generated_ui_show", card(`<p id="p">as written</p>`, "ui.text('p', 'x');\nnull.x"))
	s := into[shownResult](t, res.StructuredContent)
	if res.IsError || len(res.Content) != 2 || s.Execution.Status != "failed" || s.Execution.Snapshot.Display.Text != "as written" {
		t.Errorf("%s", jsonOf(res))
	}
	if text := words(res); !strings.Contains(text, "exception: TypeError") || !strings.Contains(text, "line 2") {
		t.Errorf("the failure is told so: %s", text)
	}
}

// TestAttackMCPArguments sends arguments that are none. Every one is answered with what to send instead, and a good card is
// shown after it.
func TestAttackMCPArguments(t *testing.T) {
	f := newMCP(t, "http", server.MCPOptions{})
	good := jsonOf(example(t))
	deep := strings.Repeat("[", 900) + strings.Repeat("]", 900)
	attacks := 0
	try := func(tool, arguments, want string) {
		t.Helper()
		attacks++
		status, answer := f.post(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments), nil)
		var m struct {
			Result shownWire
			Error  struct{ Message string }
		}
		if err := json.Unmarshal([]byte(answer), &m); err != nil {
			m.Error.Message = answer
		}
		text := m.Error.Message
		for _, c := range m.Result.Content {
			text += c.Text
		}
		if !m.Result.IsError && m.Error.Message == "" || !strings.Contains(text, want) {
			t.Errorf("%s %.200s: %d, %.400s; want %q in it", tool, arguments, status, text, want)
		}
	}
	for _, c := range []struct{ arguments, want string }{
		{`{}`, "title is missing"},
		{`null`, "card is"},
		{`[]`, "an array"},
		{`"x"`, "a string"},
		{deep, "an array"},
		{strings.Replace(good, `"title":`, `"title":"x","title":`, 1), "is there twice"},
		{strings.Replace(good, `"title":`, `"Title":`, 1), "write title"},
		{strings.Replace(good, `"title":`, `"more":1,"title":`, 1), "not part of a card"},
		{strings.Replace(good, `"title":"`, `"title":"\ud800`, 1), "surrogate"},
		{strings.Replace(good, `"title":"`, "\"title\":\"\xff\xfe", 1), ""},
		{strings.Replace(good, `"title":"`, `"title":7,"x":"`, 1), "must be a string"},
		{strings.Replace(good, `"css":"`, `"css":"`+strings.Repeat(`\u0078`, 50_000), 1), "result_too_large"},
		{strings.Replace(good, `"title":"`, `"title":`+deep+`,"x":"`, 1), "must be a string"},
	} {
		try("generated_ui_show", c.arguments, c.want)
	}
	in := func(more string) string { return `{"card":` + good + more + `}` }
	for _, c := range []struct{ arguments, want string }{
		{`null`, "either card"},
		{`[]`, "send one JSON object"},
		{`{}`, "either card"},
		{in(`,"session":"x"`), "either card"},
		{`{"session":"x"}`, "session_gone"},
		{`{"session":""}`, "session_gone"},
		{`{"session":"` + strings.Repeat("x", 100_000) + `"}`, "session_gone"},
		{`{"session":"x","seed":1}`, "they belong to a card's start"},
		{in(`,"card":1`), "duplicate"},
		{in(`,"events":[{"id":"a","id":"b","type":"input"}]`), "duplicate"},
		{in(`,"surprise":1`), "unknown"},
		{in(`,"events":[{"id":"a","type":"input","surprise":1}]`), "unknown"},
		{in(`,"events":[{"id":"a","type":"focus"}]`), "use input, change or click"},
		{in(`,"events":[{"id":"1","type":"input"}]`), "events[0]: "},
		{in(`,"events":[{"id":"a","type":"input","value":"` + strings.Repeat("x", 2049) + `"}]`), "the limit is 2048"},
		{in(`,"events":[` + strings.Repeat(`{"id":"a","type":"click"},`, 64) + `{"id":"a","type":"click"}]`), "the limit is 64"},
		{in(`,"events":7`), "/events"},
		{in(`,"seed":-1`), "/seed"},
		{in(`,"seed":1e400`), "/seed"},
		{in(`,"now":"yesterday"`), "/now"},
		{in(`,"keep":"yes"`), "/keep"},
		{`{"card":null,"events":[]}`, "card is null"},
		{`{"card":[],"events":[]}`, "an array"},
		{`{"card":{"title":"a"}}`, "is missing"},
		{`{"card":"` + strings.Repeat("x", 1_400_000) + `"}`, "the limit is"},
		{`{"card":` + deep + `}`, "an array"},
		{strings.Repeat(`{"card":`, 900) + "1" + strings.Repeat("}", 900), ""},
		{strings.Repeat(`{"card":`, 5000) + "1" + strings.Repeat("}", 5000), ""},
	} {
		try("generated_ui_play", c.arguments, c.want)
	}
	for _, c := range []struct{ arguments, want string }{
		{`{}`, "card: it is missing"}, {`{"card":1,"card":2}`, "duplicate"}, {in(`,"run":1`), "/run"}, {in(`,"fuzz":true`), "unknown"},
	} {
		try("generated_ui_check", c.arguments, c.want)
	}
	try("generated_ui_hide", good, "unknown tool")
	// Messages that are none.
	for _, body := range []string{"", "{", "null", "[]", "7", `{"jsonrpc":"1.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":{},"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`, `{"jsonrpc":"2.0","id":1,"method":"../../x"}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"ui://generated/../../x"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"ui://generated/sha256:00"}}`,
		strings.Repeat("[", 100_000), `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":` + strings.Repeat(`{"a":`, 50_000) + "1" + strings.Repeat("}", 50_001)} {
		attacks++
		status, answer := f.post(t, body, nil)
		if status < 400 && !strings.Contains(answer, `"error"`) {
			t.Errorf("%.100s: %d %.200s", body, status, answer)
		}
	}
	attacks++
	if status, _ := f.post(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"generated_ui_show","arguments":{"title":"`+strings.Repeat("x", 5<<20)+`"}}}`, nil); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a body of 5 MiB is answered with %d", status)
	}
	// Pages of others, and names of others.
	for _, header := range []http.Header{
		{"Origin": {"https://evil.example"}}, {"Origin": {"null"}}, {"Sec-Fetch-Site": {"cross-site"}}, {"Host": {"evil.example"}}, {"Content-Type": {"text/plain"}},
	} {
		attacks++
		if status, answer := f.post(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, header); status < 400 {
			t.Errorf("%v: %d %.100s", header, status, answer)
		}
	}
	expectShown(t, f.call("generated_ui_show", example(t)))
	t.Logf("attacks: %d", attacks)
}

// busyCard works for most of a round on each click.
var busyCard = card(`<button id="b">b</button><p id="p"></p>`, `let n = 0; ui.on('b', 'click', () => { const end = Date.now() + 150; while (Date.now() < end); ui.text('p', String(++n)) })`)

// TestMCPCancel: when a caller gives up, or its request is gone, no more of it is done; and past the bound of calls, others
// are told at once to come again.
func TestMCPCancel(t *testing.T) {
	for _, transport := range []string{"memory", "http"} {
		t.Run(transport, func(t *testing.T) {
			f := newMCP(t, transport, server.MCPOptions{MaxCalls: 1})
			var clicks []event
			for range 64 {
				clicks = append(clicks, event{"id": "b", "type": "click"})
			}
			ctx, cancel := context.WithCancel(t.Context())
			over := make(chan error, 1)
			go func() {
				for {
					res, err := f.client.CallTool(ctx, &mcp.CallToolParams{Name: "generated_ui_play", Arguments: map[string]any{"card": busyCard, "events": clicks}})
					if err == nil && res.IsError && strings.HasPrefix(words(res), "busy: ") { // with a call below
						continue
					}
					over <- err
					return
				}
			}()
			for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
				if res := f.call("generated_ui_check", map[string]any{"card": example(t)}); res.IsError && strings.HasPrefix(words(res), "busy: ") {
					break
				}
				if time.Now().After(end) {
					t.Fatal("a second call was never refused")
				}
			}
			cancel()
			if err := <-over; err == nil {
				t.Error("the call that was given up has a result")
			}
			began := time.Now()
			for f.call("generated_ui_check", map[string]any{"card": example(t)}).IsError {
				if time.Since(began) > 5*time.Second { // the clicks would take ten
					t.Fatal("the call that was given up goes on")
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
}

// TestMCPSessions: what keep keeps, for how long, and how it ends.
func TestMCPSessions(t *testing.T) {
	f := newMCP(t, "memory", server.MCPOptions{MaxSessions: 3})
	counter := card(`<button id="b">b</button><p id="p">0</p>`, `let n = 0; ui.on('b', 'click', () => ui.text('p', String(++n)))`)
	click := []event{{"id": "b", "type": "click"}}
	open := func(f *mcpFixture) string {
		t.Helper()
		p := into[played](t, f.call("generated_ui_play", map[string]any{"card": counter, "keep": true, "events": click}).StructuredContent)
		if len(p.Session) < 22 || p.Snapshot == nil || p.Snapshot.Display.Text != "[b]\n1" {
			t.Fatalf("opened: %s", jsonOf(p))
		}
		return p.Session
	}
	gone := func(f *mcpFixture, session string) bool {
		res := f.call("generated_ui_play", map[string]any{"session": session})
		return res.IsError && strings.HasPrefix(words(res), "session_gone: ")
	}
	s := open(f)
	p := into[played](t, f.call("generated_ui_play", map[string]any{"session": s, "events": append(click, click...)}).StructuredContent)
	if p.Session != s || p.Snapshot != nil || len(p.Rounds) != 2 || p.Rounds[1].Patches[0].Value != "3" || p.Place != "1.3" {
		t.Errorf("two clicks more: %s", jsonOf(p))
	}
	p = into[played](t, f.call("generated_ui_play", map[string]any{"session": s}).StructuredContent)
	if p.Snapshot == nil || len(p.Snapshot.Rounds) != 4 {
		t.Errorf("no clicks: %s", jsonOf(p))
	}
	f.call("generated_ui_play", map[string]any{"session": s, "keep": false})
	if !gone(f, s) {
		t.Error("a session outlives keep: false")
	}
	first := open(f)
	others := []string{open(f), open(f)}
	if gone(f, first) { // which is a use, so that the next to go is another one
		t.Error("a session went before there were too many")
	}
	open(f)
	if gone(f, first) || !gone(f, others[0]) || gone(f, others[1]) {
		t.Error("not the one that was used longest ago made room")
	}
	brief := newMCP(t, "memory", server.MCPOptions{SessionIdle: 50 * time.Millisecond})
	first = open(brief)
	time.Sleep(200 * time.Millisecond)
	if !gone(brief, first) {
		t.Error("a session outlives its idle time")
	}
	small := newMCP(t, "memory", server.MCPOptions{SessionMemory: 1})
	if first = open(small); !gone(small, first) {
		t.Error("a session outlives the memory there is for all")
	}
	// A card that ends keeps its last display, and takes no more.
	fails := card(`<button id="b">b</button><p id="p">0</p>`, `ui.on('b', 'click', () => null.x)`)
	p = into[played](t, f.call("generated_ui_play", map[string]any{"card": fails, "events": append(click, click...)}).StructuredContent)
	if p.Outcome != "failed" || p.Failure == nil || p.Played != 1 || p.Snapshot.Display.Text != "[b]\n0" {
		t.Errorf("a card that ends: %s", jsonOf(p))
	}
}

// TestMCPPlayBounded: a card that shows as much as it can gives answers that are bounded.
func TestMCPPlayBounded(t *testing.T) {
	f := newMCP(t, "memory", server.MCPOptions{})
	big := card(`<button id="b">b</button><div id="box"></div>`, `ui.on('b', 'click', () => ui.text('box', 'y'.repeat(15000)))`)
	var clicks []event
	for range 64 {
		clicks = append(clicks, event{"id": "b", "type": "click"})
	}
	res := f.call("generated_ui_play", map[string]any{"card": big, "events": clicks})
	p := into[played](t, res.StructuredContent)
	if n := len(jsonOf(res.StructuredContent)); n > 256<<10 || len(p.Omitted) == 0 || p.Snapshot.Display.HTML == "" {
		t.Errorf("%d bytes, omitted %q", n, p.Omitted)
	}
	if len(words(res)) > 30_000 {
		t.Errorf("%d bytes of text", len(words(res)))
	}
	kept := into[played](t, f.call("generated_ui_play", map[string]any{"card": big, "keep": true}).StructuredContent)
	p = into[played](t, f.call("generated_ui_play", map[string]any{"session": kept.Session, "events": clicks}).StructuredContent)
	if !slices.Equal(p.Omitted, []string{"rounds"}) || len(p.Rounds) > 0 {
		t.Errorf("rounds of a megabyte: omitted %q", p.Omitted)
	}
}

// TestMCPPageOfHostileCard: what is in a card cannot end the data block of the page that has it inside.
func TestMCPPageOfHostileCard(t *testing.T) {
	f := newMCP(t, "memory", server.MCPOptions{})
	hostile := with(example(t), "javascript", `"</script><script>alert(1)</script><!--<script>"`)
	hostile["summary"] = `</script><img src=x onerror=alert(1)>{{script}}{{policy}}`
	res := f.call("generated_ui_show", hostile)
	page := expectPageText(t, f, "ui://generated/"+into[shownResult](t, res.StructuredContent).CardID)
	if n := strings.Count(page, "</script"); n != 2 || strings.Count(page, "<script") != 2 || strings.Contains(page, "<img") {
		t.Errorf("the page has %d ends of scripts", n)
	}
	if !strings.Contains(page, "{{script}}") || strings.Count(page, "class CardFrame") != 1 || strings.Count(page, "script-src 'sha256-") != 1 {
		t.Error("what the card says was taken for a gap of the page")
	}
}

func expectPageText(t *testing.T, f *mcpFixture, uri string) string {
	t.Helper()
	res, err := f.client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		t.Fatal(err)
	}
	return res.Contents[0].Text
}
