package cardrun

import (
	"cmp"
	"fmt"
	"slices"

	"example.com/cardrun/limits"
)

// Diagnostic is one finding about the source of a card.
type Diagnostic = limits.Diagnostic

// fault makes a finding that rejects and has no place.
func fault(code limits.Code, field, format string, args ...any) Diagnostic {
	return Diagnostic{Severity: limits.SeverityError, Code: code, Field: field, Message: fmt.Sprintf(format, args...)}
}

// rejects tells whether any finding has severity error.
func rejects(ds []Diagnostic) bool { return slices.ContainsFunc(ds, isError) }

func isError(d Diagnostic) bool { return d.Severity == limits.SeverityError }

// sortDiagnostics puts findings into the order that [Card.Check] promises.
func sortDiagnostics(ds []Diagnostic) {
	slices.SortStableFunc(ds, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

func rank(d Diagnostic) int {
	switch {
	case d.Code == limits.FieldUnknown:
		return len(names) + 1
	case d.Field == "" && d.Code == limits.ResultTooLarge:
		return len(names) + 2
	case d.Field == "":
		return -1
	}
	return slices.Index(names[:], name(d.Field))
}

// thousands writes 12000 as 12,000.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
