package cardrun

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"example.com/cardrun/limits"
)

// Finding is one thing that a review tells the author of a card: a Diagnostic with how to mend it and what shows it.
type Finding struct {
	Diagnostic
	// Fix says in one line what to do. It is empty for a Diagnostic of [Card.Check], whose message says it.
	Fix string `json:"fix,omitzero"`
	// Evidence is what shows it; nil where the place in the source is all.
	Evidence *Evidence `json:"evidence,omitzero"`
}

// Evidence shows a finding.
type Evidence struct {
	// Play are arguments for cardrun play, behind the card, that lead there: --set, ID=VALUE and so on, with --seed and --now
	// where the script may ask for random numbers or the time.
	Play []string `json:"play"`
	// Shown is the part of the display that is meant; Instead is what it should be compared with.
	Shown   string `json:"shown,omitzero"`
	Instead string `json:"instead,omitzero"`
}

// Command is the line for a shell that shows the finding.
func (e *Evidence) Command(card string) string {
	var b strings.Builder
	b.WriteString("cardrun play " + quoted(card))
	for _, a := range e.Play {
		b.WriteString(" " + quoted(a))
	}
	return b.String()
}

// quoted writes an argument for a shell. A long run of one character is written by a command.
func quoted(s string) string {
	const long = 100
	if len(s) > long {
		name, value, ok := strings.Cut(s, "=")
		if ok && value != "" && strings.Count(value, value[:1]) == len(value) && safe(name) && safe(value[:1]) {
			return fmt.Sprintf(`%s="$(printf '%%%ds' '' | tr ' ' %s)"`, name, len(value), value[:1])
		}
	}
	if s != "" && safe(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func safe(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_=./,:+@%", r))
	}) < 0
}

// severityRank orders findings: what was seen to fail comes first.
func severityRank(s limits.Severity) int {
	return slices.Index([]limits.Severity{limits.SeverityError, limits.SeverityWarning, limits.SeverityNote}, s)
}

// sortFindings puts findings into the order of a report: by severity, then by field and place.
func sortFindings(fs []Finding) {
	slices.SortStableFunc(fs, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(severityRank(a.Severity), severityRank(b.Severity)),
			cmp.Compare(rank(a.Diagnostic), rank(b.Diagnostic)), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// asFindings wraps diagnostics.
func asFindings(ds []Diagnostic) []Finding {
	fs := []Finding{}
	for _, d := range ds {
		fs = append(fs, Finding{Diagnostic: d})
	}
	return fs
}

// some lists names for a message, few of them.
func some(names []string) string {
	const most = 6
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
