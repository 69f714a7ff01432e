package main

import (
	"crypto/sha256"
	"encoding/base64"
	"html"
	"strings"

	"example.com/cardrun"
)

// pageStyle is the style of the page around the card. All of its names begin with cardrun-. The card stands in two
// elements: its style is confined to what is in the frame, cardrun-card and below, and so cannot reach the frame itself,
// which keeps in its box whatever the card moves, stacks or fixes: nothing of it covers what the page says of the card.
const pageStyle = `
.cardrun-page { max-width: 44rem; margin: 2rem auto; padding: 0 1rem; font-family: system-ui, sans-serif; line-height: 1.5; }
.cardrun-frame { border: 1px solid #ccc; border-radius: 8px; contain: layout paint; position: relative; overflow: auto; isolation: isolate; }
.cardrun-note { color: #555; font-size: 0.875rem; }
.cardrun-failure { color: #b3261e; }
`

// page is a snapshot as one HTML page that loads nothing and runs nothing: its policy allows this one style sheet, by
// its hash, and nothing else. The card's html comes from the sanitizer, its style is the checked one, confined to
// what is in the frame (R41); all else is text.
func page(card *cardrun.Card, s *cardrun.Snapshot) []byte {
	style := pageStyle
	if k, _ := card.Check(); k != nil && s.Display != nil {
		style += styleText(k.Stylesheet.Scoped(".cardrun-card"))
	}
	sum := sha256.Sum256([]byte(style))
	policy := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"

	var b strings.Builder
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	b.WriteString("<meta http-equiv=\"Content-Security-Policy\" content=\"" + policy + "\">\n")
	b.WriteString("<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
	b.WriteString("<title>" + pageText(s.Card.Title) + "</title>\n<style>" + style + "</style>\n</head>\n<body>\n<main class=\"cardrun-page\">\n")
	b.WriteString("<h1>" + pageText(s.Card.Title) + "</h1>\n<p>" + pageText(s.Card.Summary) + "</p>\n")
	if s.Failure != nil {
		b.WriteString("<p class=\"cardrun-failure\" role=\"alert\">" + pageText(failureLine(s.Failure)) + "</p>\n")
	}
	if s.Outcome == cardrun.Rejected {
		b.WriteString("<p class=\"cardrun-failure\" role=\"alert\">" + rejectedLine + "</p>\n")
	}
	if s.Display != nil {
		b.WriteString("<div class=\"cardrun-frame\"><div class=\"cardrun-card\">" + s.Display.HTML + "</div></div>\n")
		b.WriteString("<p class=\"cardrun-note\">This page shows the card as it was at one moment. Its controls calculate nothing here.</p>\n")
	}
	if len(s.Diagnostics) > 0 {
		b.WriteString("<ul class=\"cardrun-note\">\n")
		for _, d := range s.Diagnostics {
			b.WriteString("<li>" + pageText(lineSafe(d.String())) + "</li>\n")
		}
		b.WriteString("</ul>\n")
	}
	b.WriteString("</main>\n</body>\n</html>\n")
	return []byte(b.String())
}

// pageText is text as HTML. NUL, which HTML cannot hold, is shown as U+FFFD.
func pageText(s string) string { return html.EscapeString(strings.ReplaceAll(s, "\x00", "\ufffd")) }

// styleText puts a style sheet into the form that a browser reads out of a style element, so that the hash in the policy
// is that of the text which the browser sees: line ends are LF, NUL is U+FFFD. The checked style sheet holds no end
// tag; should it ever, the backslash takes its meaning for HTML and, in a CSS string, adds none.
func styleText(css string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "\ufffd", "</", `<\/`).Replace(css)
}
