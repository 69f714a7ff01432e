package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/net/html"

	"example.com/cardrun"
	"example.com/cardrun/limits"
)

func TestMain(m *testing.M) {
	cardrun.ServeWorker()
	testscript.Main(m, map[string]func(){"cardrun": main})
}

// TestScripts runs the scripts in testdata/script. They know these commands beside testscript's own:
//
//	status N PROGRAM ARG…   runs a program that must end with exit status N
//	json FILE               FILE (or stdout) must be JSON, one value or several
//	field FILE PATH VALUE   the value at a path such as rounds.0.phase, as compact JSON
//	page FILE               FILE must be a page that a browser can show and that nothing can run in
func TestScripts(t *testing.T) {
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	// The scripts start the engine often. They share its compiled code, which is there before the first of them runs.
	cache := t.TempDir()
	r, err := cardrun.New(t.Context(), cardrun.Options{Workers: 1, CacheDir: filepath.Join(cache, "cardrun")})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_CACHE_HOME", cache)
			e.Setenv("EXAMPLES", examples)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status": status, "json": isJSON, "field": field, "page": isPage, "repeat": repeat,
		},
	})
}

func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N program [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("run %s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
	// Whatever a card holds, no control character of it reaches the terminal.
	for _, stream := range []string{"stdout", "stderr"} {
		text := strings.NewReplacer("\n", "", "\t", "").Replace(ts.ReadFile(stream))
		if i := strings.IndexFunc(text, unprintable); i >= 0 {
			ts.Fatalf("%s holds a control character: %q", stream, text[max(0, i-20):])
		}
	}
}

func isJSON(ts *testscript.TestScript, neg bool, args []string) {
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	n := 0
	for ; d.More(); n++ {
		var v any
		ts.Check(d.Decode(&v))
	}
	if n == 0 {
		ts.Fatalf("%s is empty", args[0])
	}
}

func field(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: field file path value")
	}
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &v))
	for step := range strings.SplitSeq(args[1], ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(at) {
				ts.Fatalf("%s: no item %s of %d", args[1], step, len(at))
			}
			v = at[i]
		default:
			ts.Fatalf("%s: nothing at %s", args[1], step)
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	ts.Check(e.Encode(v))
	if got := strings.TrimSpace(b.String()); (got == args[2]) == neg {
		ts.Fatalf("%s is %s, want %s", args[1], got, args[2])
	}
}

// isPage reads a page as a browser does: the policy must forbid everything but the one style sheet, whose hash must be
// that of the text in the style element, there must be nothing that runs or loads, and the card's style must be confined to
// what is in the frame that holds the card.
func isPage(ts *testscript.TestScript, neg bool, args []string) {
	root, err := html.Parse(strings.NewReader(ts.ReadFile(args[0])))
	ts.Check(err)
	policy, style, styles := "", "", 0
	var frame, card *html.Node
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.Data {
		case "script", "link", "iframe", "img", "a", "form", "object", "embed", "base":
			ts.Fatalf("the page holds <%s>", n.Data)
		case "style":
			styles++
			style = n.FirstChild.Data
		case "meta":
			if attr(n, "http-equiv") == "Content-Security-Policy" {
				policy = attr(n, "content")
			}
		}
		// The card may use these names too, further in.
		switch class := attr(n, "class"); {
		case class == "cardrun-frame" && frame == nil:
			frame = n
		case class == "cardrun-card" && card == nil:
			card = n
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "src" || a.Key == "href" {
				ts.Fatalf("the page holds the attribute %s", a.Key)
			}
		}
	}
	sum := sha256.Sum256([]byte(style))
	want := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
	if styles != 1 || policy != want {
		ts.Fatalf("%d style elements, policy %q, want %q", styles, policy, want)
	}
	if (frame == nil) != (card == nil) {
		ts.Fatalf("there is a frame without a card, or a card without a frame")
	}
	if frame != nil && (attr(frame.Parent, "class") != "cardrun-page" || frame.FirstChild != card || card.NextSibling != nil) {
		ts.Fatalf("the card is not alone in the frame, or the frame not in the page")
	}
	ofCard, found := strings.CutPrefix(style, pageStyle)
	if !found {
		ts.Fatalf("the page's own style is not the first: %q", style)
	}
	for line := range strings.Lines(ofCard) {
		if strings.HasPrefix(line, " ") || line == "}\n" || strings.HasPrefix(line, "@") {
			continue
		}
		for selector := range strings.SplitSeq(line, ", ") {
			rest, found := strings.CutPrefix(selector, ".cardrun-card")
			if !found || rest != "" && !strings.ContainsRune(" :>", rune(rest[0])) {
				ts.Fatalf("the card's style selects %q", selector)
			}
		}
	}
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// repeat writes a text N times between a prefix and a suffix: repeat N FILE PREFIX TEXT SUFFIX.
func repeat(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(args[2]+strings.Repeat(args[3], n)+args[4]), 0o644))
}

func TestTerminalSafe(t *testing.T) {
	for in, want := range map[string]string{
		"a\nb\tc":            "a\nb\tc",
		"\x1b[31m\x07\r":     `\u{1b}[31m\u{7}\u{d}`,
		"\u009b2J\u0085\x7f": `\u{9b}2J\u{85}\u{7f}`,
		"a\u202eb\u2066":     `a\u{202e}b\u{2066}`,
		"\ufeff\u2028":       `\u{feff}\u{2028}`,
		"👨\u200d👩 × é":       "👨\u200d👩 × é",
		"\xff":               "\ufffd",
		"\U000e0041":         `\u{e0041}`,
	} {
		if got := terminalSafe(in); got != want {
			t.Errorf("terminalSafe(%q) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"a\nb\tc":       "a ↵ b c",
		"a\r\nb\rc\n\n": "a ↵ b ↵ c ↵  ↵ ",
		"\x1b\u2028":    `\u{1b}\u{2028}`,
		"plain ↵":       "plain ↵",
	} {
		if got := lineSafe(in); got != want {
			t.Errorf("lineSafe(%q) = %q, want %q", in, got, want)
		}
	}
}

// Whatever is given on the command line or in a file, the message about it is short, on one line, and says what is wrong.
func TestMessagesAreShort(t *testing.T) {
	long := strings.Repeat("é\n", 1500)
	card := filepath.Join(t.TempDir(), "card.json")
	if err := os.WriteFile(card, []byte(`{"title": "T", "summary": "S", "html": "<input id=\"x\"><select id=\"s\"></select>", "css": "", "javascript": ""}`), 0o600); err != nil {
		t.Fatal(err)
	}
	events := filepath.Join(t.TempDir(), "events.jsonl")
	for _, c := range []struct {
		status int
		stdin  string
		args   []string
		want   string
	}{
		{2, "", []string{"play", card, "--set", "x=" + long}, "the value of x has 3000 characters; the limit is 2048"},
		{2, "", []string{"play", card, "--set", long + "=1"}, "the card has no control with the id"},
		{2, "", []string{"play", card, "--set", long}, "write ID=VALUE"},
		{2, "", []string{"play", card, "--toggle", long}, "the card has no control with the id"},
		{2, "", []string{"play", card, "--click", long}, "the card shows no element with the id"},
		{0, "", []string{"play", card, "--set", "s=" + long[:3000]}, "no option of s has the value"},
		{2, `{"` + strings.Repeat("m", 3000) + `": 1}`, []string{"play", card, "--events", "-"}, "unknown member"},
		{2, `{"id": "` + strings.Repeat("i", 3000) + `", "type": "click"}`, []string{"play", card, "--events", "-"}, "an id is a letter"},
		{2, `{"id": "x", "type": "` + strings.Repeat("t", 3000) + `"}`, []string{"play", card, "--events", "-"}, "use input, change or click"},
		{2, "", []string{"play", card, "--events", events + long}, "read events: open "},
		{2, "", []string{"render", long}, "read card: open "},
		{2, "", []string{"check", long}, "read card: open "},
		{2, "", []string{"conform", long}, "read cases: stat "},
		{2, "", []string{"render", card, "--format", long}, "--format must be one of"},
		{2, "", []string{"render", card, "--seed", long}, "--seed"},
		{2, "", []string{"render", card, "--now", long}, "--now"},
		{2, "", []string{"render", card, "--" + long}, "unknown flag"},
		{2, "", []string{"render", card, long}, "unexpected argument"},
		{2, "", []string{long}, "unexpected argument"},
	} {
		var stdout, stderr strings.Builder
		status := run(append([]string{"--no-cache"}, c.args...), strings.NewReader(c.stdin), &stdout, &stderr)
		got := stderr.String()
		if status != c.status || !strings.HasPrefix(got, "cardrun: ") || !strings.Contains(got, c.want) {
			t.Errorf("%.40q: exit status %d, %.700q, want %q in it", c.args, status, got, c.want)
		}
		if len(got) > 1200 || strings.Count(got, "\n") != 1 || !strings.HasSuffix(got, "\n") {
			t.Errorf("%.40q: %d bytes, %d lines: %.700q", c.args, len(got), strings.Count(got, "\n"), got)
		}
	}
}

// jsonSafe changes no value, and leaves no character that a terminal acts on.
func FuzzJSONSafe(f *testing.F) {
	f.Add("\u009b\u202e\x7f\U000e0041\u2028 plain <é> \x00\n")
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "")
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "\t")
		if err := e.Encode(map[string]any{s: []any{s, 1.5, nil}}); err != nil {
			t.Fatal(err)
		}
		safe := jsonSafe(b.Bytes())
		var before, after any
		if json.Unmarshal(b.Bytes(), &before) != nil || json.Unmarshal(safe, &after) != nil {
			t.Fatalf("%q is no JSON", safe)
		}
		want, _ := json.Marshal(before)
		if got, _ := json.Marshal(after); !bytes.Equal(got, want) {
			t.Fatalf("%q became %q", want, got)
		}
		if text := regexp.MustCompile(`[\n\t]`).ReplaceAllString(string(safe), ""); strings.IndexFunc(text, unprintable) >= 0 {
			t.Fatalf("%q", safe)
		}
	})
}

// The style element's text is what a browser hashes, whatever the style sheet holds.
func TestStyleText(t *testing.T) {
	for in, want := range map[string]string{
		"a\r\nb\rc": "a\nb\nc",
		"\x00":      "\ufffd",
		"p::after { content: \"</style><script>\" }": `p::after { content: "<\/style><script>" }`,
		"@media (width < 40em) {}":                   "@media (width < 40em) {}",
	} {
		if got := styleText(in); got != want {
			t.Errorf("styleText(%q) = %q, want %q", in, got, want)
		}
	}
}

// A card's fault has the form that editors and build tools read.
func TestFindingLine(t *testing.T) {
	c := &checkCmd{}
	got, err := c.print(&checked{File: "a\x1b.json", Diagnostics: []cardrun.Finding{
		{Diagnostic: limits.Diagnostic{Severity: "error", Code: limits.IDInvalid, Field: "html", Line: 2, Column: 7, Message: "bad\nid \u202e"}},
		{Diagnostic: limits.Diagnostic{Severity: "error", Code: limits.FieldUnknown, Field: "\x1b[2J", Message: "m"}},
	}})
	want := "a\\u{1b}.json:html:2:7: error: id_invalid: bad ↵ id \\u{202e}\na\\u{1b}.json:\\u{1b}[2J::: error: field_unknown: m\n"
	if err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
