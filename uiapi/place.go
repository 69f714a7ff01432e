package uiapi

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"

	"example.com/cardrun/limits"
	"example.com/cardrun/sandbox"
)

// frame is a place in the card's own script, as stack traces have it.
var frame = regexp.MustCompile(regexp.QuoteMeta(sandbox.ScriptName) + `:([0-9]{1,9}):([0-9]{1,9})`)

// place finds the topmost frame of the card's own script in a stack trace: line and column from 1, columns in UTF-16 code
// units; 0, 0 where there is none.
//
// The engine knows the places of calls, of new and of throw. For an error between them it gives the nearest one before, at
// worst where the function begins; where the message names what was looked for, and the script has that name just once
// from there on, the place is that of the name.
func place(stack, script, message string) (line, column int) {
	m := frame.FindStringSubmatch(stack)
	if m == nil {
		return 0, 0
	}
	line, _ = strconv.Atoi(m[1])
	column, _ = strconv.Atoi(m[2])
	rest := script
	for n := line; n > 1; n-- {
		_, after, found := strings.Cut(rest, "\n")
		if !found {
			return 0, 0 // a stack that the card made up
		}
		rest = after
	}
	text, _, _ := strings.Cut(rest, "\n")
	// The engine counts bytes, from 0 on the first line, though never writing 0, and from 1 on the others.
	if line > 1 || column == 1 {
		column--
	}
	at := len(script) - len(rest) + min(max(column, 0), len(text))
	return limits.Position(script, at+named(script[at:], message))
}

// missing takes the name out of the engine's messages about names and properties that are not there.
var missing = regexp.MustCompile(`^(?:ReferenceError: ([\p{L}\p{Nl}$_][\p{L}\p{Nl}\p{Nd}$_]*) is not (?:defined|initialized)|TypeError: cannot (?:read|set) property '([\p{L}\p{Nl}$_][\p{L}\p{Nl}\p{Nd}$_]*)' of )`)

// named finds the name that the message is about, as a word of its own, in what follows the engine's place, or gives 0 when
// it is not there exactly once.
func named(rest, message string) int {
	m := missing.FindStringSubmatch(message)
	if m == nil {
		return 0
	}
	name := m[1] + m[2]
	found := -1
	for at := 0; ; {
		i := strings.Index(rest[at:], name)
		if i < 0 {
			return max(found, 0)
		}
		at += i
		before, _ := utf8.DecodeLastRuneInString(rest[:at])
		after, _ := utf8.DecodeRuneInString(rest[at+len(name):])
		if !wordRune(before) && !wordRune(after) {
			if found >= 0 {
				return 0
			}
			found = at
		}
		at += len(name)
	}
}

func wordRune(r rune) bool {
	return r == '_' || r == '$' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// syntaxPlace finds where a script that the engine refused goes wrong. The engine itself only knows the statement before,
// which is what is answered where the second parser sees no fault.
func syntaxPlace(stack, script, message string) (line, column int) {
	var e *parse.Error
	if errors.As(secondOpinion(script), &e) && e.Line > 0 {
		text := script
		for n := e.Line; n > 1; n-- {
			end := strings.IndexAny(text, "\n\r\u2028\u2029")
			if end < 0 {
				return place(stack, script, message)
			}
			if strings.HasPrefix(text[end:], "\r\n") {
				end++
			}
			text = text[end:]
			_, size := firstRune(text)
			text = text[size:]
		}
		column = 1
		for _, r := range text {
			if e.Column--; e.Column < 1 {
				break
			}
			column++
			if r > 0xFFFF {
				column++
			}
		}
		return e.Line, column
	}
	return place(stack, script, message)
}

func firstRune(s string) (rune, int) {
	for i, r := range s {
		if i > 0 {
			return r, i
		}
	}
	return 0, len(s)
}

// secondOpinion parses a script in Go. It is asked for a place alone, so whatever it trips over is no more than no answer.
func secondOpinion(script string) (err error) {
	defer func() {
		if recover() != nil {
			err = nil
		}
	}()
	_, err = js.Parse(parse.NewInputString(script), js.Options{})
	return err
}
