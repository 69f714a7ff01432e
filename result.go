package cardrun

import (
	"slices"
	"strconv"

	"example.com/cardrun/limits"
)

// resourcePrefix and a card's ID are the address of its user interface (D25).
const resourcePrefix = "ui://generated/"

// Result is what the tool generated_ui_show answers: an MCP CallToolResult as JSON text (D25), at most 24,000 bytes (R9).
// Its text content is the summary, for hosts that show no interface (R123); its structured content is the source as
// given, once, with its ID. It says that the card was accepted, never that its calculation was run or verified (R13).
//
// The card is checked first. The error is a *[limits.Error] with the first finding that rejects it.
func (c *Card) Result() ([]byte, error) {
	k, ds := c.Check()
	if k != nil {
		return k.Result(), nil
	}
	d := ds[slices.IndexFunc(ds, isError)]
	return nil, &limits.Error{Code: d.Code, Field: d.Field, Line: d.Line, Column: d.Column, Message: d.Message}
}

// Result is [Card.Result] of a card that has been checked.
func (k *Checked) Result() []byte { return k.Card.appendResult(nil, k.ID) }

// appendResult writes the result. These bytes are the ones that R9 measures: whoever sends a result sends them, and adds
// no escapes (encoding/json would write < as six bytes). Title and summary are in it twice, source fields once.
func (c *Card) appendResult(b []byte, id string) []byte {
	if b == nil {
		b = make([]byte, 0, c.size()+c.size()/4+len(c.Title)+len(c.Summary)+640)
	}
	b = appendQuoted(append(b, `{"content":[{"type":"text","text":`...), c.Summary)
	b = appendQuoted(append(b, `}],"structuredContent":{"title":`...), c.Title)
	b = appendQuoted(append(b, `,"summary":`...), c.Summary)
	b = appendQuoted(append(b, `,"cardId":`...), id)
	b = appendQuoted(append(b, `,"html":`...), c.HTML)
	b = appendQuoted(append(b, `,"css":`...), c.CSS)
	b = appendQuoted(append(b, `,"javascript":`...), c.JavaScript)
	b = appendQuoted(append(b, `},"_meta":{"ui":{"resourceUri":`...), resourcePrefix+id)
	b = appendQuoted(append(b, `},"title":`...), c.Title)
	b = append(b, `,"limits":{`...)
	for i, l := range resultLimits {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendQuoted(b, l.name)
		b = strconv.AppendInt(append(b, ':'), int64(l.value), 10)
	}
	return append(b, `}}}`...)
}

// resultLimits are the budgets that a host has to grant the card.
var resultLimits = [...]struct {
	name  string
	value int
}{
	{"resultBytes", limits.Result},
	{"heapBytes", limits.Heap},
	{"stackBytes", limits.Stack},
	{"roundMs", int(limits.Round.Milliseconds())},
	{"microtasks", limits.Microtasks},
	{"patches", limits.Patches},
}
