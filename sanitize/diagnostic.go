package sanitize

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"example.com/cardrun/limits"
)

// maxDiagnostics is how many findings are told one by one; a last one counts the rest.
const maxDiagnostics = 50

// shorten sorts findings by their place, drops repeated ones (the parser copies elements), and keeps at most
// maxDiagnostics, errors first.
func shorten(found []limits.Diagnostic) []limits.Diagnostic {
	byPlace := func(a, b limits.Diagnostic) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	}
	slices.SortStableFunc(found, byPlace)
	told := make(map[limits.Diagnostic]bool, len(found))
	found = slices.DeleteFunc(found, func(d limits.Diagnostic) bool {
		if told[d] {
			return true
		}
		told[d] = true
		return false
	})
	if len(found) <= maxDiagnostics {
		return found
	}
	found = byRank(found)
	rest := found[maxDiagnostics:]
	last := rest[0]
	last.Message = "and one more finding like those before"
	if len(rest) > 1 {
		last.Message = fmt.Sprintf("and %d more findings like those before", len(rest))
	}
	last.Line, last.Column = 0, 0
	found = found[:maxDiagnostics:maxDiagnostics]
	slices.SortStableFunc(found, byPlace)
	return append(found, last)
}

// byRank puts errors before warnings, and of each the first with its code before others, so that no kind is cut off.
func byRank(found []limits.Diagnostic) []limits.Diagnostic {
	var ranked [4][]limits.Diagnostic
	seen := make(map[limits.Code]bool)
	for _, d := range found {
		rank := 0
		if d.Severity != limits.SeverityError {
			rank = 2
		}
		if seen[d.Code] {
			rank++
		}
		seen[d.Code] = true
		ranked[rank] = append(ranked[rank], d)
	}
	return slices.Concat(ranked[:]...)
}

// places turns offsets that mostly grow into lines and columns as limits.Position gives them, reading a source once.
type places struct{ offset, line, column int }

func (p *places) at(source string, offset int) (line, column int) {
	if offset < p.offset {
		*p = places{}
	}
	for p.offset < min(offset, len(source)) {
		r, size := utf8.DecodeRuneInString(source[p.offset:])
		p.offset += size
		switch {
		case r == '\n', r == '\r' && (p.offset == len(source) || source[p.offset] != '\n'):
			p.line++
			p.column = 0
		case r > 0xFFFF:
			p.column += 2
		default:
			p.column++
		}
	}
	return p.line + 1, p.column + 1
}
