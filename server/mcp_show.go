package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/cardrun"
	"example.com/cardrun/limits"
)

// show is generated_ui_show: the result of D25, with what one run gave under execution.
func (m *MCP) show(ctx context.Context, arguments []byte) (*mcp.CallToolResult, error) {
	card := cardrun.Decode(arguments)
	seed := freshSeed()
	s, err := m.rt.Render(ctx, &card, cardrun.RenderOptions{Seed: &seed})
	if err != nil {
		return nil, err
	}
	if s.Outcome == cardrun.Rejected {
		return rejection(s.Diagnostics, "generated_ui_show"), nil
	}
	k, found := card.Check()
	if k == nil { // by an engine that has changed its mind
		return rejection(found, "generated_ui_show"), nil
	}
	current, _ := ctx.Value(currentKey{}).(bool)
	res, err := m.showResult(k, s, seed, current)
	if err != nil {
		return nil, err
	}
	m.shown.put(k.ID, res.StructuredContent.(jsontext.Value))
	return res, nil
}

// showResult makes the result. What R9 asks of the card was decided before it ran, by [cardrun.Checked.Result]: nothing
// that the run adds can reject it. The rest of the 24,000 bytes is for what follows, in this order, each if it fits whole:
// a line about the failure of a card that failed, as a second text; then execution, of which parts give way (see fit).
func (m *MCP) showResult(k *cardrun.Checked, s *cardrun.Snapshot, seed uint64, current bool) (*mcp.CallToolResult, error) {
	base := k.Result()
	var parts struct {
		Structured jsontext.Value            `json:"structuredContent"`
		Meta       map[string]jsontext.Value `json:"_meta"`
	}
	if err := jsonv2.Unmarshal(base, &parts); err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	res := &mcp.CallToolResult{Meta: mcp.Meta{}, Content: []mcp.Content{&mcp.TextContent{Text: k.Card.Summary}}}
	for name, value := range parts.Meta {
		res.Meta[name] = raw(value)
	}
	room := limits.Result - len(base)
	if current {
		room -= m.annotations()
	}
	if f := s.Failure; f != nil {
		text := failureText(f) + " The card was accepted and shows its initial html. Correct the script and show the card again."
		if n := len(quoted([]byte(`,{"type":"text","text":}`), text)); n <= room {
			res.Content = append(res.Content, &mcp.TextContent{Text: text})
			room -= n
		}
	}
	structured := parts.Structured
	if e := executionText(s, seed, room-len(`,"execution":`)); e != nil {
		structured = append(structured[:len(structured)-1], `,"execution":`...)
		structured = append(append(structured, e...), '}')
	}
	res.StructuredContent = structured
	return res, nil
}

// annotations is how many bytes newer protocol versions add to a result.
func (m *MCP) annotations() int {
	return len(resultType) + len(`,"":{"name":"cardrun","title":"cardrun: interactive calculator cards","version":""}`) +
		len(mcp.MetaKeyServerInfo) + len(quoted(nil, m.o.Version)) - 2
}

// execution is what a run on this server gave. It is no part of the source, and no verification of what the card says (R13).
type execution struct {
	// Status is ready or failed.
	Status cardrun.Outcome `json:"status"`
	// SnapshotHash is "sha256:" and the hash of the whole Snapshot as compact JSON with every elapsed_us 0.
	SnapshotHash string `json:"snapshotHash"`
	// Seed gives the same random numbers again.
	Seed uint64 `json:"seed"`
	// Usage is what initialization took of the budgets.
	Usage cardrun.Usage `json:"usage"`
	// Omitted names the parts of Snapshot that are empty only because they did not fit.
	Omitted []string `json:"omitted"`
	// Snapshot is null where it did not fit at all.
	Snapshot jsontext.Value `json:"snapshot"`
}

// executionText is the execution in at most room bytes, or nil.
func executionText(s *cardrun.Snapshot, seed uint64, room int) []byte {
	e := execution{Status: s.Outcome, SnapshotHash: snapshotHash(s), Seed: seed, Omitted: []string{}, Snapshot: jsontext.Value("null")}
	if len(s.Rounds) > 0 {
		e.Usage = s.Rounds[0].Usage
	}
	write := func() []byte {
		b, err := jsonv2.Marshal(&e)
		if err != nil || len(b) > room {
			return nil
		}
		return b
	}
	for n := range len(sacrifices) + 1 {
		part, omitted := without(s, n)
		text, err := part.AppendJSON(nil)
		if err != nil {
			return nil
		}
		e.Snapshot, e.Omitted = text, omitted
		if b := write(); b != nil {
			return b
		}
	}
	e.Snapshot, e.Omitted = jsontext.Value("null"), []string{"snapshot"}
	return write()
}

// sacrifices are the parts of a Snapshot that give way where it is too large, one after the other. Patches go first: the
// display has what came of them. Then what only a page needs, style before html, and last what a reader needs most: the
// text with the figures.
var sacrifices = [...]struct {
	name string
	drop func(s *cardrun.Snapshot) bool // false when there was nothing
}{
	{"rounds.patches", func(s *cardrun.Snapshot) (some bool) {
		s.Rounds = slices.Clone(s.Rounds)
		for i := range s.Rounds {
			some = empty(&s.Rounds[i].Patches) || some
		}
		return some
	}},
	{"display.css", func(s *cardrun.Snapshot) bool { return blank(&s.Display.CSS) }},
	{"display.html", func(s *cardrun.Snapshot) bool { return blank(&s.Display.HTML) }},
	{"rounds", func(s *cardrun.Snapshot) bool { return empty(&s.Rounds) }},
	{"handlers", func(s *cardrun.Snapshot) bool { return empty(&s.Handlers) }},
	{"controls", func(s *cardrun.Snapshot) bool { return empty(&s.Controls) }},
	{"diagnostics", func(s *cardrun.Snapshot) bool { return empty(&s.Diagnostics) }},
	{"display.text", func(s *cardrun.Snapshot) bool { return blank(&s.Display.Text) }},
}

func empty[S ~[]E, E any](list *S) bool {
	some := len(*list) > 0
	*list = nil
	return some
}

func blank(text *string) bool {
	some := *text != ""
	*text = ""
	return some
}

// without is a copy of a Snapshot of a card that was accepted, without the first n parts that can be done without, and the
// names of those that were not empty.
func without(s *cardrun.Snapshot, n int) (*cardrun.Snapshot, []string) {
	c, d := *s, *s.Display
	c.Display = &d
	omitted := []string{}
	for _, part := range sacrifices[:n] {
		if part.drop(&c) {
			omitted = append(omitted, part.name)
		}
	}
	return &c, omitted
}

// snapshotHash names what a run gave, whatever time it took.
func snapshotHash(s *cardrun.Snapshot) string {
	c := *s
	c.Rounds = slices.Clone(c.Rounds)
	for i := range c.Rounds {
		c.Rounds[i].Usage.ElapsedUS, c.Rounds[i].Usage.Cached = 0, false
	}
	text, err := c.AppendJSON(nil)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// freshSeed is a random seed that every JSON reader can hold.
func freshSeed() uint64 { return rand.Uint64() >> 11 }

// failureText says in a line why a card ended.
func failureText(f *cardrun.Failure) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The card's script ended in round %d (%s): %s: %s", f.Round, f.Phase, f.Code, f.Message)
	if f.Line > 0 {
		fmt.Fprintf(&b, " (javascript, line %d, column %d)", f.Line, f.Column)
	}
	if !strings.HasSuffix(f.Message, ".") || f.Line > 0 {
		b.WriteByte('.')
	}
	return b.String()
}

// maxTold is the most bytes that a result tells of findings, so that they take no more of a model's context than a card.
const maxTold = 16_000

// rejection is the answer to a card that was refused, made for one retry (R125): all that is wrong and what to do, in one go.
func rejection(found []cardrun.Diagnostic, tool string) *mcp.CallToolResult {
	list := make([]cardrun.Finding, len(found))
	rejecting := 0
	for i, d := range found {
		list[i] = cardrun.Finding{Diagnostic: d}
		if isRejecting(list[i]) {
			rejecting++
		}
	}
	things := "things"
	if rejecting == 1 {
		things = "thing"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "The card was rejected: %d %s to correct. Correct all of them, then call %s once more with the whole card. Nothing was shown.\n", rejecting, things, tool)
	b.WriteString(findingLines(list, maxTold))
	return refusal(b.String())
}

// findingLines lists findings, one a line, errors first, in at most about limit bytes.
func findingLines(found []cardrun.Finding, limit int) string {
	found = slices.Clone(found)
	slices.SortStableFunc(found, func(a, b cardrun.Finding) int { return severityRank(a) - severityRank(b) })
	var b strings.Builder
	for i, f := range found {
		line := "- " + f.String()
		if f.Fix != "" {
			line += ". To do: " + f.Fix
		}
		if f.Evidence != nil && len(f.Evidence.Play) > 0 {
			line += " (seen with: " + f.Evidence.Command("card.json") + ")"
		}
		line = oneLine(line) + "\n"
		if b.Len()+len(line) > limit {
			fmt.Fprintf(&b, "- and %d more\n", len(found)-i)
			break
		}
		b.WriteString(line)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// severityRank puts what rejects first, then what a reader would stumble over.
func severityRank(f cardrun.Finding) int {
	switch f.Severity {
	case limits.SeverityError:
		return 0
	case limits.SeverityWarning:
		return 1
	}
	return 2
}

// oneLine keeps what is quoted of a card from making lines of its own.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, s)
}
