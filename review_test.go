package cardrun

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cardrun/limits"
	"example.com/cardrun/uiapi/script"
)

// reviewCase is one card of testdata/review/cards.txt.
type reviewCase struct {
	name  string
	code  limits.Code
	sound bool
	card  Card
}

func reviewCases(t *testing.T) (cases []reviewCase) {
	t.Helper()
	f, err := os.Open("testdata/review/cards.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var field *string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := lines.Text()
		switch key, rest, _ := strings.Cut(line, ":"); {
		case line == "" || line[0] == '#' && !strings.HasPrefix(line, "## "):
		case line[0] == '#':
			c := reviewCase{card: Card{Title: "A card", Summary: "A card for a test."}}
			line, c.sound = strings.CutPrefix(line[3:], "sound ")
			code, name, _ := strings.Cut(line, " ")
			c.code, c.name = limits.Code(code), name
			cases = append(cases, c)
		case line[0] == ' ':
			*field += "\n" + line[1:]
		default:
			c := &cases[len(cases)-1].card
			field = map[string]*string{"html": &c.HTML, "js": &c.JavaScript, "summary": &c.Summary, "css": &c.CSS}[key]
			if field == nil {
				t.Fatalf("cards.txt: %q", line)
			}
			*field = strings.TrimPrefix(rest, " ")
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return cases
}

// TestReview holds the findings of a review against cards that have them and cards that are in order.
func TestReview(t *testing.T) {
	r := newRuntime(t, Options{budget: time.Second})
	faulty, sound := map[limits.Code]int{}, map[limits.Code]int{}
	seen := map[string]bool{}
	for _, c := range reviewCases(t) {
		if key := fmt.Sprint(c.code, c.sound); testing.Short() && seen[key] {
			continue // one card of each will do
		} else {
			seen[key] = true
		}
		t.Run(string(c.code)+" "+c.name, func(t *testing.T) {
			v, err := r.Review(t.Context(), &c.card, ReviewOptions{Rounds: 300, Fuzz: patience})
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(v.Findings, func(f Finding) bool { return f.Code == c.code })
			if found := i >= 0; found == c.sound {
				t.Fatalf("found: %t; outcome %s, failure %v", found, v.Outcome, v.Findings)
			}
			if c.sound {
				for _, f := range v.Findings {
					if f.Severity == limits.SeverityError {
						t.Errorf("a sound card got %s", f.String())
					}
				}
				sound[c.code]++
				return
			}
			faulty[c.code]++
			expectTold(t, c.card, v.Findings[i])
			expectProof(t, r, c.card, v.Findings[i])
		})
	}
	for _, code := range reviewCodes {
		if testing.Short() {
			break
		}
		if faulty[code] < 3 || sound[code] < 3 {
			t.Errorf("%s has %d faulty and %d sound cards; want 3 of each", code, faulty[code], sound[code])
		}
	}
}

// reviewCodes are all codes that a review adds, but for two that TestHeadroom and TestScriptUnread look at.
var reviewCodes = []limits.Code{
	limits.UIIDMissing, limits.HandlerIDMissing, limits.ControlUnheard, limits.ControlUnread, limits.ControlUnlabelled, limits.TablePartBare,
	limits.HTMLUserText, limits.NumberUnbounded, limits.ClickOnly, limits.NameUndefined, limits.UIMemberUnknown, limits.EventMember,
	limits.LocaleIgnored, limits.UIValueType, limits.InputObject, limits.OutputDead, limits.RunFailed, limits.BudgetNear,
	limits.SummaryContradicted, limits.SummaryUnshown, limits.InputEndsCard, limits.DisplayOdd, limits.StaleState, limits.ClickState, limits.RaceStale,
}

// expectTold checks that a finding says what is wrong, where, how to mend it, and what shows it.
func expectTold(t *testing.T, c Card, f Finding) {
	t.Helper()
	if f.Message == "" || f.Fix == "" || strings.Contains(f.Fix, "\n") {
		t.Errorf("message %q, fix %q", f.Message, f.Fix)
	}
	if f.Line == 0 && !slices.Contains([]limits.Code{limits.BudgetNear, limits.RunFailed}, f.Code) {
		t.Errorf("%s has no place", f.String())
	}
	switch f.Code {
	case limits.InputEndsCard, limits.StaleState, limits.ClickState, limits.RaceStale, limits.DisplayOdd:
		if f.Evidence == nil || f.Code != limits.DisplayOdd && len(f.Evidence.Play) == 0 {
			t.Errorf("%s has no evidence", f.String())
		}
	}
}

// expectProof does in a session what the evidence says, as cardrun play does, and looks for what was found.
func expectProof(t *testing.T, r *Runtime, c Card, f Finding) {
	t.Helper()
	if f.Code != limits.InputEndsCard && f.Code != limits.DisplayOdd && f.Code != limits.StaleState && f.Code != limits.ClickState {
		return
	}
	seed := uint64(1)
	s, _, err := r.Open(t.Context(), &c, SessionOptions{RenderOptions: RenderOptions{Seed: &seed, Now: reviewTime}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for args := range slices.Chunk(f.Evidence.Play, 2) {
		if args[0] == "--seed" || args[0] == "--now" {
			continue // as the session has them
		}
		m := move{kind: strings.TrimPrefix(args[0], "--"), id: args[1]}
		if m.kind == "set" {
			m.id, m.value, _ = strings.Cut(args[1], "=")
		}
		for _, e := range m.events() {
			if _, err := s.Send(t.Context(), e); err != nil && !errors.Is(err, ErrEnded) {
				t.Fatal(err)
			}
		}
	}
	now := s.Snapshot()
	switch f.Code {
	case limits.InputEndsCard:
		if now.Failure == nil || !strings.Contains(f.Message, now.Failure.Message) {
			t.Errorf("%v: the failure is %+v, the finding %s", f.Evidence.Play, now.Failure, f.Message)
		}
	case limits.DisplayOdd:
		if !odd.MatchString(now.Display.Text) {
			t.Errorf("%v: the display is %q", f.Evidence.Play, now.Display.Text)
		}
	default:
		if now.Display.Text != f.Evidence.Shown || f.Evidence.Instead == f.Evidence.Shown {
			t.Errorf("%v: the display is %q, the evidence %+v", f.Evidence.Play, now.Display.Text, f.Evidence)
		}
	}
}

func TestEvidenceCommand(t *testing.T) {
	for _, c := range []struct {
		play []string
		want string
	}{
		{[]string{"--set", "n=1"}, "cardrun play 'my card.json' --set n=1"},
		{[]string{"--set", "n=", "--click", "go"}, "cardrun play 'my card.json' --set n= --click go"},
		{[]string{"--set", "t=it's <b>"}, `cardrun play 'my card.json' --set 't=it'\''s <b>'`},
		{[]string{"--set", "t=" + strings.Repeat("9", 2048)}, `cardrun play 'my card.json' --set t="$(printf '%2048s' '' | tr ' ' 9)"`},
	} {
		if got := (&Evidence{Play: c.play}).Command("my card.json"); got != c.want {
			t.Errorf("got %s\nwant %s", got, c.want)
		}
	}
}

// TestEngineNames holds the table of names against the engine's own.
func TestEngineNames(t *testing.T) {
	s := render(t, newRuntime(t, Options{}), Card{Title: "T", Summary: "S", HTML: `<p id="out"></p>`,
		JavaScript: "ui.text('out', Object.getOwnPropertyNames(globalThis).join(' '))"})
	names := strings.Fields(s.Display.Text)
	all, err := script.Read(strings.Join(names, "; "))
	if err != nil {
		t.Fatal(err)
	}
	if len(names) < 60 || len(all.Foreign) > 0 {
		t.Errorf("the engine has %d names, of which the table lacks %v", len(names), all.Foreign)
	}
	for name := range advice {
		if slices.Contains(names, name) {
			t.Errorf("there is advice against %s, which the engine has", name)
		}
	}
}

func TestHeadroom(t *testing.T) {
	r := newRuntime(t, Options{})
	for _, c := range []struct {
		html int
		want bool
	}{{8_000, false}, {9_590, false}, {9_700, true}, {11_900, true}} {
		card := Card{Title: "T", Summary: "S", HTML: "<p>" + strings.Repeat("x", c.html) + "</p>"}
		fs, err := r.Lint(t.Context(), &card)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(fs, func(f Finding) bool { return f.Code == limits.Headroom && f.Field == "html" }); got != c.want {
			t.Errorf("html of %d: headroom reported: %t", c.html, got)
		}
	}
}

// TestScriptUnread: what the parser here does not know is no fault of the card.
func TestScriptUnread(t *testing.T) {
	r := newRuntime(t, Options{})
	for _, js := range []string{
		"async function f(list) { for await (const x of list) ui.text('out', x); }", "const o = {async *g() {}};", "<!-- a comment\nui.text('out', 'x')",
	} {
		v, err := r.Review(t.Context(), &Card{Title: "T", Summary: "S", HTML: `<p id="out"></p>`, JavaScript: js}, ReviewOptions{Rounds: 100})
		if err != nil {
			t.Fatal(err)
		}
		if len(v.Findings) != 1 || v.Findings[0].Code != limits.ScriptUnread || v.Findings[0].Severity != limits.SeverityNote {
			t.Errorf("%s\ngives %v", js, v.Findings)
		}
	}
}

// TestReviewRepeats: equal seeds and rounds give equal reviews, on any number of workers.
func TestReviewRepeats(t *testing.T) {
	var reviews []*Review
	counts := []int{1, 2, 4}
	if testing.Short() {
		counts = counts[:2]
	}
	for _, workers := range counts {
		r := newRuntime(t, Options{Workers: workers, budget: patience})
		for _, c := range reviewCases(t) {
			if c.name != "two controls" && c.name != "a copy of a value" && c.name != "undo" {
				continue
			}
			v, err := r.Review(t.Context(), &c.card, ReviewOptions{Seed: 7, Rounds: 1500, Fuzz: patience})
			if err != nil {
				t.Fatal(err)
			}
			v.Explored.ElapsedMS = 0
			for i := range v.Budgets {
				if v.Budgets[i].Name == "time_us" {
					v.Budgets[i].Used = 0
				}
			}
			reviews = append(reviews, v)
		}
	}
	for i, v := range reviews {
		if diff := cmp.Diff(reviews[i%4], v); diff != "" {
			t.Errorf("review %d differs (-first +other):\n%s", i, diff)
		}
	}
}

// TestReviewOfSlowCards: what takes all of its time in each round costs no more than a multiple of what was allowed.
func TestReviewOfSlowCards(t *testing.T) {
	r := newRuntime(t, Options{Workers: 2})
	for name, c := range map[string]Card{
		"ends": probe("ui.on('n', 'input', () => { for (;;) {} }); ui.on('go', 'click', () => { for (;;) {} }); ui.text('out', 'x')"),
		"slow": probe("const f = () => { const end = Date.now() + 150; let i = 0; while (i < 3e6) i++; ui.text('out', ui.input('n').value); }; ui.on('n', 'input', f); f();"),
	} {
		begun := time.Now()
		v, err := r.Review(t.Context(), &c, ReviewOptions{Fuzz: 200 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took > 30*time.Second {
			t.Errorf("%s took %v", name, took)
		}
		if name == "ends" && !v.Errors() {
			t.Errorf("%s has the findings %v", name, v.Findings)
		}
	}
}

// TestReviewOfLargeStates: what an exploration keeps is bounded in bytes, whatever the card makes up.
func TestReviewOfLargeStates(t *testing.T) {
	r := newRuntime(t, Options{budget: patience})
	c := probe(`let n = 0;
		const f = () => {
			n += 1 + ui.input('n').value.length;
			const name = 'abcdefghijklmnopqrstuvwxyz'.slice(n % 26) + n;
			let html = '';
			for (let i = 0; i < 6; i++) html += '<p id="' + name + i + '">' + name.repeat(20) + '</p>';
			ui.html('out', html);
			for (let i = 0; i < 6; i++) ui.text(name + i, 0 / 0 + name.repeat(n % 9));
		};
		ui.on('n', 'input', f); ui.on('go', 'click', f); f();`)
	c.HTML = `<div id="out">start</div><input id="n"><button id="go">Go</button>`
	checked, _ := r.checked(&c)
	seed := uint64(1)
	p := &prober{rt: r, card: checked, options: RenderOptions{Seed: &seed, Now: reviewTime}, lint: newLint(checked)}
	first, err := p.start(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer first.close()
	start, err := first.save(t.Context(), nil)
	if err != nil || start == nil {
		t.Fatal(start, err)
	}
	kept := map[int]int{}
	for _, keep := range []int{4 << 20, keptBytes} {
		x := newExploration(p, first, start, ReviewOptions{Fuzz: patience})
		x.keep = keep
		for n := range uint64(4) {
			if _, err := x.work(t.Context(), x.walks(n)); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range x.corpus[1:] {
			kept[keep] += s.size()
		}
		if kept[keep] != x.held || x.held > keep || len(x.written) > 1 {
			t.Errorf("%d bytes of %d are held, %d counted; %d elements were written, of one", kept[keep], keep, x.held, len(x.written))
		}
		for rank, n := range x.ranks {
			if n > keptSigns {
				t.Errorf("%d signs of rank %d", n, rank)
			}
		}
		t.Logf("%d rounds, %d displays, %d states of %d bytes, %d signs", x.rounds, len(x.seen), len(x.corpus), x.held, len(x.keys))
	}
	if kept[keptBytes] <= 4<<20 || kept[4<<20] < 3<<20 {
		t.Errorf("the bounds were never met: %v", kept)
	}
}

// TestReviewStops with its context, wherever it is.
func TestReviewStops(t *testing.T) {
	r := newRuntime(t, Options{budget: patience})
	c := probe("const f = () => ui.text('out', ui.input('n').value); ui.on('n', 'input', f); ui.on('go', 'click', f); f();")
	for _, after := range []time.Duration{0, 5 * time.Millisecond, 300 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		if _, err := r.Review(ctx, &c, ReviewOptions{Fuzz: time.Minute}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %v: error %v", after, err)
		}
		cancel()
	}
}

// TestFigures: what counts as a number of a text, and with which unit.
func TestFigures(t *testing.T) {
	for in, want := range map[string]string{
		"A loan of 12,000 at 6% over 24 months costs $531.85.": "12000 6% 24months 531.85$",
		"From 2026-01-15, 10:45, in R2D2 and v1.2.3":           "",
		"1.5 million and 3 k, 7 kg, 20 °C":                     "1.5e+06million 3000k 7kg 20°c",
		"12.5, then 1,2 and 1,234,56":                          "12.5",
		"6 of 36":                                              "6 36",
		"no number":                                            "",
	} {
		var list []string
		for _, f := range figuresIn(in) {
			list = append(list, strings.TrimSpace(strconv.FormatFloat(f.number, 'g', -1, 64)+f.unit))
		}
		if got := strings.Join(list, " "); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
	// Linear: a display full of numbers against a summary full of others.
	shown, stated := strings.Repeat("11 a, ", 2500), strings.Repeat("22 a, ", 330)
	c := Card{Title: "T", Summary: stated, HTML: "<p id=\"out\">x</p>", JavaScript: "ui.text('out', '" + "11 a, '.repeat(2500))"}
	begun := time.Now()
	v, err := newRuntime(t, Options{}).Review(t.Context(), &c, ReviewOptions{Fuzz: -1})
	if err != nil || len(v.Findings) == 0 || len(v.Findings) > 2*mostFigures || len(shown) < 15_000 {
		t.Errorf("%v, %d findings", err, len(v.Findings))
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}
