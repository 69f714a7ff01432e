package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// heading is the first line of a table of proofs, its cells without the space around them.
var heading = []string{"promise", "what is tried", "proved by", "may be skipped where"}

// row is one row of the table.
type row struct {
	line    int // in the document, from 1
	promise string
	tried   string
	proofs  []proof
	// excuses are the texts one of which the reason of a test that was skipped must hold, letter for letter.
	excuses []string
}

// proof names tests: a folder from the top of the repository, a regular expression that the whole name of a test or fuzz
// target must match, and, behind a slash, one for its subtests.
type proof struct {
	text    string
	folder  string
	name    *regexp.Regexp
	subtest string
}

// readTable reads every table of proofs in a document.
func readTable(file string) ([]row, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the table of proofs: %w", err)
	}
	rows, err := parseTable(string(data))
	if err != nil {
		return nil, fmt.Errorf("%s:%w", file, err)
	}
	return rows, nil
}

// parseTable finds the tables of proofs in Markdown text. An error begins with the line.
func parseTable(text string) (rows []row, err error) {
	inside := false
	for i, line := range strings.Split(text, "\n") {
		cells, is := splitCells(line)
		switch {
		case !is:
			inside = false
		case !inside:
			inside = equalFold(cells, heading)
		case strings.Trim(strings.Join(cells, ""), "-: ") == "":
		default:
			r, err := parseRow(cells)
			if err != nil {
				return nil, fmt.Errorf("%d: %w", i+1, err)
			}
			r.line = i + 1
			rows = append(rows, r)
		}
	}
	if rows == nil {
		return nil, fmt.Errorf("1: there is no table with the columns %q", heading)
	}
	return rows, nil
}

// splitCells splits a line of a table; a bar that belongs to a cell is written \|.
func splitCells(line string) ([]string, bool) {
	line = strings.TrimSpace(line)
	if len(line) < 2 || line[0] != '|' || line[len(line)-1] != '|' {
		return nil, false
	}
	const bar = "\x00"
	cells := strings.Split(strings.ReplaceAll(line[1:len(line)-1], `\|`, bar), "|")
	for i, c := range cells {
		cells[i] = strings.TrimSpace(strings.ReplaceAll(c, bar, "|"))
	}
	return cells, true
}

func equalFold(a, b []string) bool {
	return strings.EqualFold(strings.Join(a, "|"), strings.Join(b, "|"))
}

func parseRow(cells []string) (r row, err error) {
	if len(cells) != len(heading) {
		return r, fmt.Errorf("the row has %d cells, not the %d of %q", len(cells), len(heading), heading)
	}
	r.promise, r.tried = cells[0], cells[1]
	if r.promise == "" || r.tried == "" {
		return r, fmt.Errorf("the row does not say what is promised and what is tried")
	}
	for _, text := range codes(cells[2]) {
		p, err := parseProof(text)
		if err != nil {
			return r, err
		}
		r.proofs = append(r.proofs, p)
	}
	if r.proofs == nil {
		return r, fmt.Errorf("the row names no proof; write one as `folder:TestName`, in backquotes")
	}
	r.excuses = codes(cells[3])
	if r.excuses == nil && cells[3] != "" {
		return r, fmt.Errorf("where tests may be skipped is given by what their reason says, in backquotes, not by %q", cells[3])
	}
	return r, nil
}

// codes are the texts in backquotes.
func codes(cell string) (out []string) {
	for i, part := range strings.Split(cell, "`") {
		if i%2 == 1 && part != "" {
			out = append(out, part)
		}
	}
	return out
}

func parseProof(text string) (p proof, err error) {
	folder, pattern, found := strings.Cut(text, ":")
	if !found || folder == "" || pattern == "" || strings.HasPrefix(folder, "/") || strings.Contains(folder, "..") {
		return p, fmt.Errorf("the proof %q does not have the form folder:TestName, with the folder as seen from the top of the repository, or . for the top", text)
	}
	pattern, subtest, _ := strings.Cut(pattern, "/")
	name, err := regexp.Compile("^(?:" + pattern + ")$")
	if err == nil {
		_, err = regexp.Compile(subtest)
	}
	if err != nil {
		return p, fmt.Errorf("the proof %q: %w", text, err)
	}
	return proof{text: text, folder: folder, name: name, subtest: subtest}, nil
}

// matching gives the rows that the expression finds something in.
func matching(rows []row, match *regexp.Regexp) (out []row) {
	for _, r := range rows {
		if match.MatchString(r.promise) || match.MatchString(r.tried) {
			out = append(out, r)
		}
	}
	return out
}
