package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/cardrun"
	"example.com/cardrun/patches"
)

const (
	maxMCPEvents = 64        // of one call, as of one HTTP request
	maxMCPRounds = 64        // that a kept session remembers beside initialization
	maxMCPAnswer = 256 << 10 // bytes of structured content; past it, parts of a Snapshot give way
	maxMCPText   = 24_000    // bytes of text content
)

// playArguments are those of generated_ui_play: a card, or the secret of a session that an earlier call kept.
type playArguments struct {
	Card    jsontext.Value  `json:"card"`
	Session *string         `json:"session"`
	Events  []cardrun.Event `json:"events"`
	Seed    *uint64         `json:"seed"`
	Now     *time.Time      `json:"now"`
	Keep    *bool           `json:"keep"`
}

// playAnswer is the structured content of generated_ui_play. Snapshot is there for a card and where no events were sent;
// otherwise Rounds and Controls tell what has changed.
type playAnswer struct {
	Outcome cardrun.Outcome `json:"outcome"`
	// Session is the secret of a session that was kept, or empty.
	Session string `json:"session"`
	// Place is that of the last round: the activation and its number.
	Place    string            `json:"place"`
	Played   int               `json:"played"`
	Combined int               `json:"combined"`
	Ignored  int               `json:"ignored"`
	Rounds   []cardrun.Round   `json:"rounds"`
	Controls []patches.Control `json:"controls"`
	Failure  *cardrun.Failure  `json:"failure"`
	Omitted  []string          `json:"omitted"`
	Snapshot *cardrun.Snapshot `json:"snapshot"`
}

// play is generated_ui_play. Without keep it leaves nothing behind: the card is run from its start, each event after the
// rounds of the one before have ended.
func (m *MCP) play(ctx context.Context, arguments []byte) (*mcp.CallToolResult, error) {
	a, fault := readPlay(arguments)
	if fault != "" {
		return refusal(fault), nil
	}
	if a.Session != nil {
		return m.playOn(ctx, a)
	}
	card := cardrun.Decode(a.Card)
	var o cardrun.SessionOptions
	o.KeepRounds = maxMCPRounds
	if o.Seed = a.Seed; a.Now != nil {
		o.Now = *a.Now
	}
	live, s, err := m.rt.Open(ctx, &card, o)
	if err != nil {
		return nil, err
	}
	if live == nil {
		return rejection(s.Diagnostics, "generated_ui_play"), nil
	}
	answer := playAnswer{}
	err = answer.send(ctx, live, a.Events)
	if err != nil || a.Keep == nil || !*a.Keep {
		defer live.Close()
	}
	if err != nil {
		return nil, err
	}
	answer.look(live, true)
	if a.Keep != nil && *a.Keep {
		m.sessions.sweep(time.Now())
		id, e := m.sessions.add(live, requestOf(ctx).client)
		m.sessions.put(e)
		answer.Session = id
	}
	return answer.result(live)
}

// playOn plays events against a session that was kept.
func (m *MCP) playOn(ctx context.Context, a playArguments) (*mcp.CallToolResult, error) {
	m.sessions.sweep(time.Now())
	e, err := m.sessions.take(*a.Session)
	if err != nil {
		return refusal(goneText), nil
	}
	over := a.Keep != nil && !*a.Keep
	defer func() {
		if over {
			m.sessions.remove(e)
		}
		m.sessions.put(e)
	}()
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		over = false
		return nil, ctx.Err()
	}
	answer := playAnswer{Session: *a.Session}
	if err := answer.send(ctx, e.live, a.Events); err != nil {
		return nil, err
	}
	answer.look(e.live, len(a.Events) == 0)
	if over {
		answer.Session = ""
	}
	return answer.result(e.live)
}

// goneText is how a page knows that it has to open a new session.
const goneText = "session_gone: there is no such session any more: it was ended, nobody used it for long, or it had to make room. Call again with the card."

// readPlay reads the arguments strictly. The fault says what to send instead.
func readPlay(arguments []byte) (a playArguments, fault string) {
	if err := readArguments(arguments, &a); err != "" {
		return a, err
	}
	switch {
	case (a.Card == nil) == (a.Session == nil):
		return a, "arguments: send either card, the object with the five fields, or session, as an earlier call with keep gave it"
	case a.Session != nil && (a.Seed != nil || a.Now != nil):
		return a, "seed, now: they belong to a card's start; send them with card, not with session"
	case len(a.Events) > maxMCPEvents:
		return a, fmt.Sprintf("events: there are %d; the limit is %d in one call. Send the rest in another, with keep and session", len(a.Events), maxMCPEvents)
	}
	for i, e := range a.Events {
		if err := e.Check(); err != nil {
			return a, fmt.Sprintf("events[%d]: %s", i, oneLine(err.Error()))
		}
	}
	return a, ""
}

// readArguments reads JSON as [cardrun.Decode] does: no member twice, no unknown one, UTF-8 only, and no more than is of use.
func readArguments(text []byte, into any) (fault string) {
	const most = cardrun.MaxJSON + 1<<20 // 64 events with values of 2,048 characters in JSON's longest spelling
	if len(text) > most {
		return fmt.Sprintf("arguments: they have %d bytes; the limit is %d", len(text), most)
	}
	err := jsonv2.Unmarshal(text, into, jsonv2.RejectUnknownMembers(true))
	if err == nil {
		return ""
	}
	var place jsontext.Pointer
	var semantic *jsonv2.SemanticError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &semantic):
		place = semantic.JSONPointer
	case errors.As(err, &syntactic):
		place = syntactic.JSONPointer
	}
	message := oneLine(err.Error())
	if len(message) > 300 {
		message = strings.ToValidUTF8(message[:300], "") + "…"
	}
	name := "arguments"
	if place != "" && len(place) < 100 {
		name += oneLine(string(place))
	}
	return name + ": " + message + "; send one JSON object as the tool's schema has it"
}

// send plays events, each after the rounds of the one before. A card that ends takes no more of them.
func (p *playAnswer) send(ctx context.Context, live *cardrun.Session, events []cardrun.Event) error {
	for _, e := range events {
		report, err := live.Send(ctx, e)
		if errors.Is(err, cardrun.ErrEnded) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("send event: %w", err)
		}
		p.Played++
		p.Combined += report.Combined
		p.Ignored += report.Ignored
		p.Rounds = append(p.Rounds, report.Rounds...)
		p.Controls = report.Controls
	}
	return nil
}

// look notes where the session stands, with all there is to see if whole.
func (p *playAnswer) look(live *cardrun.Session, whole bool) {
	s, at := live.Look()
	p.Outcome, p.Failure, p.Place = s.Outcome, s.Failure, at.String()
	if whole {
		p.Snapshot, p.Rounds, p.Controls = s, nil, nil
	} else if p.Controls == nil { // it had ended before
		p.Controls = s.Controls
	}
}

// result writes the answer: for readers the text that the card shows, and how it fares.
func (p *playAnswer) result(live *cardrun.Session) (*mcp.CallToolResult, error) {
	shown := p.Snapshot
	if shown == nil {
		shown = live.Snapshot()
	}
	text := "(the text is too long to be given here)"
	if len(shown.Display.Text) <= maxMCPText {
		text = shown.Display.Text
	}
	if p.Failure != nil {
		text = failureText(p.Failure) + " What it showed last:\n" + text
	}
	if p.Ignored > 0 {
		text += fmt.Sprintf("\n(%d events came to nothing: no such element or control now, it is disabled, or cannot do that.)", p.Ignored)
	}
	structured, err := p.fit()
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, StructuredContent: jsontext.Value(structured)}, nil
}

// fit writes the structured content within its bound.
func (p *playAnswer) fit() ([]byte, error) {
	whole := p.Snapshot
	for n := 0; ; n++ {
		p.Omitted = []string{}
		if whole != nil {
			p.Snapshot, p.Omitted = without(whole, n)
		} else if n > 0 {
			p.Rounds, p.Omitted = []cardrun.Round{}, []string{"rounds"}
		}
		b, err := jsonv2.Marshal(p)
		if err != nil {
			return nil, fmt.Errorf("write answer: %w", err)
		}
		if len(b) <= maxMCPAnswer || n == len(sacrifices) {
			return b, nil
		}
	}
}
