package cardrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cardrun/limits"
)

// shared reads an input that comes with the specification, beside the repository.
func shared(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "shared", name))
	if errors.Is(err, os.ErrNotExist) {
		t.Skipf("NOT RUN: ../shared/%s is not beside the repository", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// patience is the time of a round in tests that are not about time: a busy machine must not fail them.
const patience = 20 * time.Second

// newRuntime starts a runtime, with cards in worker processes where the environment says so: make isolate runs all of these tests
// that way.
func newRuntime(t testing.TB, o Options) *Runtime {
	t.Helper()
	if o.Isolation == "" {
		o.Isolation = Isolation(os.Getenv("CARDRUN_TEST_ISOLATION"))
	}
	r, err := New(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func render(t testing.TB, r *Runtime, c Card) *Snapshot {
	t.Helper()
	s, err := r.Render(context.Background(), &c, RenderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// probe is a card around one script.
func probe(script string) Card {
	return Card{
		Title: "Probe", Summary: "A card around one script.", CSS: "p { margin: 0 }",
		HTML:       `<p id="out">start</p><input id="n" type="number" value="1"><button id="go">Go</button>`,
		JavaScript: script,
	}
}

// capacity is a card of the kind that people ask for; its right answer shows that a runtime is whole.
var capacity = Card{
	Title: "Capacity", Summary: "4 workers of 25 requests/s make 100 requests/s.",
	HTML:       `<label for="w">Workers</label><input id="w" type="range" min="1" max="20" value="4"><p id="answer"></p>`,
	JavaScript: `function render() { ui.text('answer', Number(ui.input('w').value) * 25 + ' requests/s') } ui.on('w', 'input', render); render();`,
}

// expectWhole renders a good card.
func expectWhole(t *testing.T, r *Runtime, after string) {
	t.Helper()
	s := render(t, r, capacity)
	if s.Outcome != Ready || !strings.Contains(s.Display.HTML, `<p id="answer">100 requests/s</p>`) || len(s.Handlers) != 1 || len(s.Rounds) != 1 {
		t.Errorf("after %s a good card gives %+v", after, s)
	}
}

func TestExamplesR14(t *testing.T) {
	r := newRuntime(t, Options{budget: patience})
	for name, texts := range map[string][]string{
		"capacity.json": {`<p id="answer">4 workers × 25 requests/s = 100 requests/s</p>`},
		"weighted.json": {
			`<p id="weights">Responsiveness 60%; simplicity 40%</p>`, `<p id="scores">Plan A: 7.00; Plan B: 7.20</p>`,
			`<p id="ranking"><strong>Plan B</strong> ranks higher under these assumptions.</p>`,
		},
	} {
		s := render(t, r, Decode(shared(t, "cards/"+name)))
		if s.Outcome != Ready || len(s.Diagnostics) != 0 {
			t.Errorf("%s: %s %v", name, s.Outcome, s.Diagnostics)
			continue
		}
		for _, want := range texts {
			if !strings.Contains(s.Display.HTML, want) {
				t.Errorf("%s lacks %s:\n%s", name, want, s.Display.HTML)
			}
		}
	}
}

// TestEndings runs the cards that must end, each with its code, and a good card right after each on the same Runtime.
func TestEndings(t *testing.T) {
	r := newRuntime(t, Options{})
	for _, c := range []struct {
		code   limits.Code // of the failure, or of the diagnostic of a rejection; empty for ready
		script string
	}{
		{limits.Timeout, "for(;;);"},
		{limits.Timeout, "/(a+)+$/.test('a'.repeat(40)+'b')"},
		{limits.Timeout, "Array.prototype.indexOf.call({length:2**53-1},1)"},
		{limits.TooManyMicrotasks, "(function again() { Promise.resolve().then(again) })()"},
		{limits.Exception, "function f(){f()}f()"},
		{limits.Memory, "let a = []; for (;;) a.push(new Uint8Array(1e6))"},
		{limits.Memory, "let a = []; try { for (;;) a.push(new Uint8Array(1e6)) } catch {} ui.text('out', 'caught')"},
		{"", "for (let i = 0; i < 256; i++) Promise.resolve().then(() => 0)"},
		{limits.TooManyMicrotasks, "for (let i = 0; i < 257; i++) Promise.resolve().then(() => 0)"},
		{"", "for (let i = 0; i < 64; i++) ui.text('out', 'x')"},
		{limits.TooManyPatches, "for (let i = 0; i < 65; i++) ui.text('out', 'x')"},
		{limits.TooManyPatches, "try { for (let i = 0; i < 65; i++) ui.text('out', 'x') } catch {}"},
		{limits.Exception, "(async () => { await import('qjs:os') })().catch((e) => queueMicrotask(() => { throw e }))"},
		{limits.Exception, "throw new Error('no')"},
		{limits.UIOperation, "try { ui.text('out', 42) } catch {}"},
		{limits.UIOperation, "ui.input('gone')"},
		{limits.InvalidPatch, "ui.text('out', 'changed'); ui.text('gone', 'x')"},
		{limits.InvalidPatch, "ui.text('out', 'changed'); ui.html('n', ''); ui.html('out', '<p id=out></p>')"},
		{limits.InvalidPatch, "ui.html('out', '<select multiple id=s></select>')"},
		{limits.InvalidPatch, "ui.html('out', '<i></i>'.repeat(600))"},
		{limits.InputLimit, "ui.value('n', '1'.repeat(2049))"},
		{limits.InputLimit, "ui.text('out', 'x'.repeat(16000))"},
		{limits.InputLimit, "ui.text('out', '€'.repeat(6000))"},
		{limits.ScriptSyntax, "let x ="},
		{limits.ScriptSyntax, "import 'qjs:os'"},
		{limits.ScriptSyntax, "export {}"},
	} {
		start := time.Now()
		s := render(t, r, probe(c.script))
		took := time.Since(start)
		var got limits.Code
		switch {
		case s.Outcome == Rejected && len(s.Diagnostics) == 1:
			got = s.Diagnostics[0].Code
			if s.Display != nil || len(s.Rounds) != 0 || s.Failure != nil || s.Diagnostics[0].Line == 0 {
				t.Errorf("%s: a rejection with %+v", c.script, s)
			}
		case s.Outcome == Failed:
			got = s.Failure.Code
			if !strings.Contains(s.Display.HTML, `<p id="out">start</p>`) || len(s.Rounds) != 1 || len(s.Rounds[0].Patches) != 0 || s.Failure.Message == "" || s.Failure.Phase != PhaseInit {
				t.Errorf("%s: a failure with %+v %+v", c.script, s, s.Failure)
			}
		}
		if got != c.code {
			t.Errorf("%s: %s %q %+v, want %q", c.script, s.Outcome, got, s.Failure, c.code)
		}
		if c.code == limits.Timeout && (took < 250*time.Millisecond || took > 600*time.Millisecond) {
			t.Errorf("%s: took %v", c.script, took)
		}
		expectWhole(t, r, c.script)
	}
}

// TestImportsRejectR90 loads nothing, and ends ready.
func TestImportsRejectR90(t *testing.T) {
	r := newRuntime(t, Options{budget: patience})
	s := render(t, r, probe("import('qjs:os').then(() => ui.text('out', 'LOADED'), (e) => ui.text('out', String(e)))"))
	if s.Outcome != Ready || !strings.Contains(s.Display.HTML, "ReferenceError: could not load module 'qjs:os'") {
		t.Errorf("%s %s", s.Outcome, s.Display.HTML)
	}
}

// TestRejectionsRunNothing gives every fault of a card at once, the script's among them.
func TestRejectionsRunNothing(t *testing.T) {
	r := newRuntime(t, Options{budget: patience})
	c := Card{Title: "\u200d", Summary: "s", HTML: `<p id="a" onclick="x()">x</p><p id="a"></p>`, CSS: "@import 'x'", JavaScript: "for (;;) {"}
	s := render(t, r, c)
	var codes []string
	for _, d := range s.Diagnostics {
		codes = append(codes, d.Field+":"+string(d.Code))
	}
	want := []string{"title:text_invisible", "html:attribute_forbidden", "html:id_duplicate", "css:css_forbidden", "javascript:script_syntax"}
	if d := cmp.Diff(want, codes); s.Outcome != Rejected || d != "" || s.Display != nil || s.Rounds != nil {
		t.Errorf("%+v\n%s", s, d)
	}
	found, err := r.Check(context.Background(), &c)
	if d := cmp.Diff(s.Diagnostics, found); err != nil || d != "" {
		t.Errorf("Check and Render differ: %v %s", err, d)
	}
	endless := probe("for (;;);")
	if found, err := r.Check(context.Background(), &endless); err != nil || len(found) != 0 {
		t.Errorf("Check ran the script, or found %v, %v", found, err)
	}
}

// TestSeedAndNow gives the same bytes but for the time that a round took, on any worker and after any card.
func TestSeedAndNow(t *testing.T) {
	r := newRuntime(t, Options{budget: patience})
	seed := uint64(42)
	o := RenderOptions{Seed: &seed, Now: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)}
	c := probe("ui.text('out', [Math.random(), Math.random(), Date.now(), new Date().toISOString()].join())")
	once := func() string {
		s, err := r.Render(context.Background(), &c, o)
		if err != nil {
			t.Error(err)
			return ""
		}
		s.Rounds[0].Usage.ElapsedUS = 0
		b, err := s.AppendJSON(nil)
		if err != nil {
			t.Error(err)
		}
		return string(b)
	}
	want := once()
	if !strings.Contains(want, "2030-01-02T03:04:05.000Z") {
		t.Error(want)
	}
	var wg sync.WaitGroup
	turns := make(chan struct{}, 4)
	for i := range 100 {
		wg.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			if i%3 == 0 {
				_, _ = r.Render(context.Background(), new(probe(fmt.Sprintf("Math.random(); globalThis.x%d = new Array(%d)", i, i*100))), RenderOptions{})
			}
			if got := once(); got != want {
				t.Errorf("run %d:\n%s\n%s", i, got, want)
			}
		})
	}
	wg.Wait()
	o.Seed = nil
	if once() == want {
		t.Error("without a seed the same random numbers came")
	}
}

// TestCollectionsWhileCardsLoop forces one collection after another while every worker spins: each card ends in time all the same.
func TestCollectionsWhileCardsLoop(t *testing.T) {
	r := newRuntime(t, Options{Workers: 2})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range 2 {
				if s := render(t, r, probe("for (;;);")); s.Failure == nil || s.Failure.Code != limits.Timeout {
					t.Errorf("%+v", s.Failure)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for {
		select {
		case <-done:
			return
		default:
			runtime.GC()
		}
	}
}

func TestRenderEndsWithItsContext(t *testing.T) {
	r := newRuntime(t, Options{})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	c := probe("for (;;);")
	if s, err := r.Render(ctx, &c, RenderOptions{}); s != nil || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%+v, %v", s, err)
	}
	expectWhole(t, r, "a cancelled render")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err := r.Render(context.Background(), &c, RenderOptions{}); s != nil || err == nil {
		t.Errorf("a closed runtime rendered %+v, %v", s, err)
	}
}

// BenchmarkRender runs a card of ordinary size from its Go value to its Snapshot: check, sanitize, guest, script, batch,
// rendering.
func BenchmarkRender(b *testing.B) {
	r := newRuntime(b, Options{Workers: 1})
	c := Decode(shared(b, "cards/capacity.json"))
	b.ReportAllocs()
	for b.Loop() {
		if s, err := r.Render(context.Background(), &c, RenderOptions{}); err != nil || s.Outcome != Ready {
			b.Fatal(s, err)
		}
	}
}

// BenchmarkInit is the same card without its check: a fresh guest, the script, and the batch.
func BenchmarkInit(b *testing.B) {
	r := newRuntime(b, Options{Workers: 1})
	c := Decode(shared(b, "cards/capacity.json"))
	k, found := c.Check()
	if k == nil {
		b.Fatal(found)
	}
	b.ReportAllocs()
	for b.Loop() {
		a, err := r.open(k, RenderOptions{}, false)
		if err != nil {
			b.Fatal(err)
		}
		if err := a.start(context.Background()); err != nil || a.failure != nil {
			b.Fatal(err, a.failure)
		}
		a.close()
	}
}
