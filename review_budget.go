package cardrun

import (
	"example.com/cardrun/limits"
	"example.com/cardrun/patches"
	"example.com/cardrun/sanitize"
)

// Budget is how much of one limit a card uses.
type Budget struct {
	// Name is time_us, heap_bytes, microtasks, patches, batch_bytes, snapshot_bytes, handlers, elements, controls, result,
	// html, css, javascript or summary.
	Name  string `json:"name"`
	Used  int64  `json:"used"`
	Limit int64  `json:"limit"`
}

// Near tells that 80 % or more are used.
func (b Budget) Near() bool { return b.Used*5 >= b.Limit*4 }

// roundBudgets are those of one round, and of the document as it left it.
func roundBudgets(u Usage, d *patches.Document, handlers int) []Budget {
	snapshot, _ := d.Snapshot() // an error is one over the limit, and ends the activation when a round needs it
	return []Budget{
		{"time_us", u.ElapsedUS, limits.Round.Microseconds()},
		{"heap_bytes", u.HeapBytes, limits.Heap},
		{"microtasks", int64(u.Microtasks), limits.Microtasks},
		{"patches", int64(u.Patches), limits.Patches},
		{"batch_bytes", int64(u.BatchBytes), limits.Batch},
		{"snapshot_bytes", int64(len(snapshot)), limits.Snapshot},
		{"handlers", int64(handlers), limits.Handlers},
		{"elements", int64(elements(d.Nodes())), limits.Elements},
		{"controls", int64(len(d.Controls())), limits.Controls},
	}
}

func elements(nodes []*sanitize.Node) (n int) {
	for _, e := range nodes {
		if e.Tag != "" {
			n += 1 + elements(e.Children)
		}
	}
	return n
}

// cardBudgets are those of the source.
func cardBudgets(c *Card) []Budget {
	return []Budget{
		{"result", int64(len(c.appendResult(nil, c.ID()))), limits.Result},
		{"html", int64(limits.Length(c.HTML)), limits.HTMLLength},
		{"css", int64(limits.Length(c.CSS)), limits.CSSLength},
		{"javascript", int64(limits.Length(c.JavaScript)), limits.JavaScriptLength},
		{"summary", int64(limits.Length(c.Summary)), limits.SummaryLength},
	}
}
