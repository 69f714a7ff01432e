package cardrun

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/cardrun/limits"
)

// report shortens what was found and adds it to the review.
func (x *exploration) report(ctx context.Context, v *Review, races []Finding) error {
	slices.SortStableFunc(x.keys, func(a, b string) int { return signRank(a) - signRank(b) })
	for n, key := range x.keys {
		if n == mostSigns || n > 0 && time.Now().After(x.deadline) {
			break
		}
		s := x.found[key]
		if s.what.code == limits.DisplayOdd && typed(s.path, s.what.token) {
			continue
		}
		s, ok, err := x.shorten(ctx, s)
		if err != nil {
			return err
		}
		if !ok {
			continue // it took a machine under load, say, and does not come again
		}
		f := x.p.finding(s)
		if !merge(v.Findings, f) {
			v.Findings = append(v.Findings, f)
		}
	}
	for id := range x.written { // more than could be told by reading
		at := x.p.lint.page.place(id)
		if at < 0 {
			continue
		}
		line, column := limits.Position(x.p.card.Card.HTML, at)
		v.Findings = slices.DeleteFunc(v.Findings, func(f Finding) bool {
			return f.Code == limits.OutputDead && f.Line == line && f.Column == column
		})
	}
	for i, b := range v.Budgets {
		p, ok := x.most[b.Name]
		if !ok || p.budget.Used <= b.Used {
			continue
		}
		if !p.budget.Near() || b.Near() {
			v.Budgets[i] = p.budget
			continue
		}
		s, ok, err := x.shorten(ctx, sighting{sign{key: "budget " + b.Name, code: limits.BudgetNear}, p.path})
		if err != nil {
			return err
		}
		// Time is taken by others too: what was slow has to be so each time.
		for n := 0; ok && n < 3 && b.Name == "time_us"; n++ {
			again, err := x.p.shows(ctx, s.path, s.what.key)
			if err != nil {
				return err
			}
			ok = again != nil
		}
		if ok {
			v.Budgets[i] = p.budget
			v.Findings = append(v.Findings, nearBudgets([]Budget{s.what.budget}, s.path, x.p.card)...)
		}
	}
	v.Findings = append(v.Findings, races...)
	return nil
}

// signRank orders signs: what ends a card comes first.
func signRank(key string) int {
	kind, _, _ := strings.Cut(key, " ")
	return slices.Index([]string{"failed", "odd", "memory", "unheard", "markup", "table"}, kind)
}

// finding is what a sign says to the author.
func (p *prober) finding(s sighting) Finding {
	w := s.what
	e := p.evidence(s.path)
	e.Shown, e.Instead = w.shown, w.instead
	f := Finding{Diagnostic: Diagnostic{Severity: limits.SeverityWarning, Code: w.code, Field: "javascript"}, Evidence: e}
	at := func(id string) {
		f.Field = "html"
		if o := p.lint.page.place(id); o >= 0 {
			f.Line, f.Column = limits.Position(p.card.Card.HTML, o)
		}
	}
	call := func(names ...string) {
		if o := p.lint.callOn(w.id, names...); o >= 0 {
			f.Line, f.Column = limits.Position(p.card.Card.JavaScript, o)
		} else {
			at(w.id)
		}
	}
	switch w.code {
	case limits.InputEndsCard:
		return p.failed(w.failure, limits.InputEndsCard, s.path)
	case limits.DisplayOdd:
		call("text", "html", "value")
		f.Message = fmt.Sprintf("%s is shown in %s", w.token, w.id)
		f.Fix = "check the number before it is shown: where Number.isFinite(n) is false, or the text is empty, show a dash or bound it"
		if len(s.path) == 0 {
			f.Message += " at the start"
		}
	case limits.HTMLUserText:
		call("html")
		f.Message = fmt.Sprintf("what a user typed becomes markup in %s", w.id)
		f.Fix = "show typed text with ui.text, or replace & and < by &amp; and &lt; first"
	case limits.TablePartBare:
		call("html")
		f.Message = fmt.Sprintf("%s is given <%s> without a table around it; such tags are lost, and their text runs together (R62)", w.id, w.token)
		f.Fix = "write the whole <table>…</table> into a container, or change cells with ui.text"
	case limits.ControlUnheard:
		at(w.id)
		f.Message = fmt.Sprintf("the display does not follow %s", w.id)
		f.Fix = fmt.Sprintf("add ui.on('%s', '%s', …)", w.id, usual(p.lint.page.types[w.id]))
		if p.clicks() {
			f.Severity, f.Code = limits.SeverityNote, limits.ClickOnly
			f.Message += " until something is clicked"
		}
	case limits.StaleState:
		call("on")
		f.Message = "what is shown depends on more than the controls and the last event: a variable remembers earlier edits, and a round that is dropped leaves it wrong (R84)"
		f.Fix = "keep state in controls, and calculate everything from ui.input() in each round"
		if slices.ContainsFunc(s.path, func(m move) bool { return m.kind == "click" }) {
			f.Severity, f.Code = limits.SeverityNote, limits.ClickState
			f.Message = "what is shown depends on earlier clicks, which only a variable remembers: a click that is dropped is lost, and a refresh begins anew (R84, R121)"
			f.Fix = "if that is not meant, keep the state in a control and set it with ui.value"
		}
	}
	return f
}

// clicks tells that the card listens to clicks on buttons or other elements without a value.
func (p *prober) clicks() bool {
	if p.lint.script == nil {
		return true
	}
	heard, sure := p.lint.heard()
	for id, types := range heard {
		kind := p.lint.page.types[id]
		if slices.Contains(types, "click") && kind != "checkbox" && kind != "radio" {
			return true
		}
	}
	return !sure
}

// callOn is the place of the first call of one of the names with that id, or -1.
func (l *lint) callOn(id string, names ...string) int {
	if l.script == nil {
		return -1
	}
	for _, c := range l.script.Calls {
		if slices.Contains(names, c.Name) && (slices.Contains(c.ID.Names, id) || len(c.ID.Pattern) > 0 && fits(id, c.ID.Pattern)) {
			return c.Offset
		}
	}
	return -1
}

// merge adds evidence to a finding of the same kind about the same thing that came from reading the card alone.
func merge(fs []Finding, f Finding) bool {
	for i := range fs {
		g := &fs[i]
		if g.Code != f.Code || g.Evidence != nil || f.Evidence == nil {
			continue
		}
		if g.Field == f.Field && g.Line == f.Line || strings.HasSuffix(string(g.Code), "_bare") || g.Code == limits.HTMLUserText || g.Code == limits.ClickOnly {
			g.Evidence = f.Evidence
			return true
		}
	}
	return slices.ContainsFunc(fs, func(g Finding) bool { // one of a kind is enough for what is about the whole card
		return g.Code == f.Code && (g.Code == limits.StaleState || g.Code == limits.ClickState || g.Code == limits.ClickOnly)
	})
}
