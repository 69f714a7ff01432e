package conformance_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/cardrun"
)

// exampleCards are the example cards, in order of their names.
func exampleCards(t testing.TB) (cards []cardrun.Card) {
	t.Helper()
	files, err := filepath.Glob("../examples/*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d examples: %v", len(files), err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		cards = append(cards, cardrun.Decode(data))
	}
	return cards
}

var (
	scriptToken = regexp.MustCompile(`(?s)//[^\n]*|/\*.*?\*/|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|` + "`(?:[^`\\\\]|\\\\.)*`" + `|[\p{L}_$][\p{L}\p{Nd}_$]*|[0-9][0-9.a-z]*|=>|[=!<>]=+|&&|\|\||\+\+|--|\s+|.`)
	htmlToken   = regexp.MustCompile(`(?s)</?[A-Za-z][A-Za-z0-9]*|[a-z-]+="[^"]*"|&[#a-z0-9]+;|[A-Za-z0-9]+|\s+|.`)
	elementID   = regexp.MustCompile(`<([a-z0-9]+)[^>]* id="([A-Za-z][A-Za-z0-9_-]*)"`)
	// propertyControls are the controls of the property test's card.
	propertyControls = []string{"t", "n", "r", "c", "ra", "rb", "s", "a", "b", "d"}
	htmlExtras       = []string{"<p>", "</p>", "<table>", "<td>", "<select>", "<option selected>", "</select>", "<textarea>", "<svg>", "</svg>", "<title>", "<input type=range>", "<input type=radio name=g checked>",
		"<button>", "<fieldset disabled>", "<legend>", "<b>", "</b>", "<li>", "<pre>\n", "<h1>", "<script>", "<style>", "<!--", "-->", "<![CDATA[", "&lt;", "&#0;", "\x00", `"`, "'", "=", "<", ">", " disabled",
		` type="number"`, ` value="7"`, ` maxlength="3"`, ` min="5"`, ` step=".1"`, ` hidden`, ` multiple`, ` onclick="x"`, ` href="x"`, "<math>", "<mi>", "<template>", "<noscript>", "<details open>", "<colgroup>"}
)

// mutator changes texts token by token.
type mutator struct {
	*choices
	g *grammar
}

// tokens changes a text in a few places: tokens dropped, doubled, exchanged, moved, or something new put between them.
func (m *mutator) tokens(text string, token *regexp.Regexp, extra func() string) string {
	list := token.FindAllString(text, -1)
	for range m.below(6) {
		if len(list) == 0 {
			break
		}
		at, from := m.place(list), m.place(list)
		switch m.below(6) {
		case 0:
			list = slices.Delete(list, at, min(at+1+m.below(4), len(list)))
		case 1:
			list = slices.Insert(list, at, list[from])
		case 2:
			list[at] = list[from]
		case 3:
			list[at], list[from] = list[from], list[at]
		case 4:
			list = slices.Insert(list, at, extra())
		default:
			list[at] = extra()
		}
	}
	return strings.Join(list, "")
}

func (m *mutator) place(list []string) int { return (m.byte()<<8 | m.byte()) % len(list) }

// alike changes a script so that it mostly still parses: a token becomes another one of its kind, or one from elsewhere in
// the script of its kind, or a statement is put where one can stand.
func (m *mutator) alike(script string) string {
	list := scriptToken.FindAllString(script, -1)
	if len(list) == 0 { // a static card
		return m.g.script()
	}
	for range 1 + m.below(8) {
		at := m.place(list)
		switch k := tokenKind(list[at]); k {
		case 'a': // a name or a keyword
			from := m.place(list)
			for i := range list {
				if j := (from + i) % len(list); tokenKind(list[j]) == k {
					list[at] = list[j]
					break
				}
			}
		case '0':
			list[at] = m.g.oneOf(pick(m.choices, scriptNumbers), "("+m.g.expression()+")")
		case '\'':
			list[at] = m.g.oneOf(pick(m.choices, scriptStrings), "("+m.g.expression()+")", "'"+m.g.id()+"'")
		case ';':
			list[at] = "; " + m.g.statement() + " "
		case '+':
			list[at] = pick(m.choices, scriptOperators)
		}
	}
	return strings.Join(list, "")
}

// tokenKind tells names, numbers, strings, ends of statements, operators and all else apart.
func tokenKind(token string) byte {
	switch c := token[0]; {
	case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$':
		return 'a'
	case c >= '0' && c <= '9':
		return '0'
	case c == '\'' || c == '"':
		return '\''
	case c == ';':
		return ';'
	case strings.ContainsRune("+-*/%<>=!&|?", rune(c)) && token != "=>" && token != "=" && token != "?" && !strings.HasPrefix(token, "//") && !strings.HasPrefix(token, "/*"):
		return '+'
	}
	return ' '
}

// card changes an example.
func (m *mutator) card(c cardrun.Card) *cardrun.Card {
	what := m.below(8)
	switch what {
	case 0, 1:
	case 2, 3, 4, 5, 6:
		c.JavaScript = m.alike(c.JavaScript)
	default:
		c.JavaScript = m.tokens(c.JavaScript, scriptToken, func() string {
			switch m.below(4) {
			case 0:
				return " " + m.g.statement() + " "
			case 1:
				return m.g.expression()
			case 2:
				return pick(m.choices, scriptNumbers)
			default:
				return pick(m.choices, scriptStrings)
			}
		})
	}
	if what <= 2 {
		c.HTML = m.tokens(c.HTML, htmlToken, func() string { return pick(m.choices, htmlExtras) })
	}
	return &cardrun.Card{Title: c.Title, Summary: c.Summary, HTML: c.HTML, CSS: c.CSS, JavaScript: c.JavaScript}
}

// idsIn are the ids in a card's html, then two that may come later, and those of controls.
func idsIn(html string) (ids, controls []string) {
	for _, m := range elementID.FindAllStringSubmatch(html, -1) {
		ids = append(ids, m[2])
		switch m[1] {
		case "input", "select", "textarea", "button":
			controls = append(controls, m[2])
		}
	}
	return append(ids, "new", "gone"), controls
}

// play is a generated card with what a user does to it.
type play struct {
	card   *cardrun.Card
	seed   uint64
	events []cardrun.Event
}

// generate makes a card of bytes: one from the grammar, or a mutated example.
func generate(data []byte, examples []cardrun.Card) play {
	c := &choices{data}
	p := play{seed: uint64(c.byte())}
	var ids []string
	if c.below(3) == 0 {
		example := pick(c, examples)
		known, controls := idsIn(example.HTML)
		ids = known
		p.card = (&mutator{c, &grammar{choices: c, ids: ids, controls: controls}}).card(example)
	} else {
		ids = propertyIDs
		p.card = &cardrun.Card{Title: "T", Summary: "S", HTML: propertyHTML, CSS: "p { color: red }", JavaScript: (&grammar{choices: c, ids: ids, controls: propertyControls}).script()}
	}
	if len(p.card.JavaScript) > 11_900 {
		p.card.JavaScript = p.card.JavaScript[:strings.LastIndexByte(p.card.JavaScript[:11_900], '\n')+1]
	}
	for range c.below(12) {
		e := cardrun.Event{ID: pick(c, ids), Type: pick(c, scriptTypes)}
		switch c.below(4) {
		case 0:
			v := pick(c, propertyTexts)
			e.Value = &v
		case 1:
			v := pick(c, []string{"3", "40", "77", "v", "a", "minutes"})
			e.Value = &v
		case 2:
			on := c.oneIn(2)
			e.Checked = &on
		}
		p.events = append(p.events, e)
	}
	return p
}
