package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const top = "../.."

// A test binary is a peer process of ours where it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "-serve" {
		os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// built are the peers that are there; ours always are.
func built(t *testing.T) []*peer {
	t.Helper()
	bin, err := filepath.Abs(filepath.Join(top, ".tools", "peers"))
	if err != nil {
		t.Fatal(err)
	}
	var all []*peer
	for _, p := range known(bin) {
		if _, err := p.ask(request{Op: "hello"}, patience); err != nil {
			if p.Name == ownWhole || p.Name == ownScript {
				t.Fatal(err)
			}
			t.Logf("without %s (make bench-peers builds it): %v", p.Name, err)
			continue
		}
		t.Cleanup(p.stop)
		all = append(all, p)
	}
	return all
}

func cardsOf(t *testing.T, peers []*peer) []subject {
	t.Helper()
	own := peers[slices.IndexFunc(peers, func(p *peer) bool { return p.Name == ownScript })]
	cards, err := subjects(top, func(r request) (reply, error) { return own.ask(r, patience) })
	if err != nil {
		t.Fatal(err)
	}
	return cards
}

// All peers compute the same from the same kernel, or a comparison of times would mean nothing.
func TestKernelsAgree(t *testing.T) {
	peers := built(t)
	for _, k := range kernels {
		s, err := k.subject()
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		for _, p := range peers {
			if p.Name == ownWhole {
				continue // asked for Snapshots, not answers
			}
			res, err := p.ask(s.request("play"), patience)
			if err != nil {
				t.Fatal(err)
			}
			last := res.Answers[len(res.Answers)-1]
			if last.Failure == "timeout" && p.Name != ownScript {
				continue // slow is what is measured
			}
			if last.Failure != "" || len(last.Patches) != 1 {
				t.Errorf("%s: %s: %+v", k.name, p.Name, last)
				continue
			}
			if want == "" {
				want = last.Patches[0].Value
			}
			if got := last.Patches[0].Value; got != want {
				t.Errorf("%s: %s gives %s, others %s", k.name, p.Name, got, want)
			}
		}
	}
}

// The short form of the bench: every figure is there for every peer of ours, and the table tells them.
func TestShortBench(t *testing.T) {
	peers := built(t)[:2]
	b := &bench{peers: peers, cards: cardsOf(t, peers)[:2], runs: 1, ms: 2, workers: 2, log: t.Output(), res: &results{}}
	b.res.fill()
	for _, p := range peers {
		p.Idle = 20
		b.res.Versions[p.Name] = "of the test"
	}
	b.measure(func(section string) bool { return section != "budgets" })
	for _, r := range rows() {
		for _, p := range peers {
			if len(b.res.Values[r.metric][p.Name]) != 1 && !(p.Name == ownWhole && slices.ContainsFunc(kernels, func(k kernel) bool { return k.name == r.metric }) || p.Name == ownWhole && r.metric == mKernels) {
				t.Errorf("%s: no value for %s", r.metric, p.Name)
			}
		}
	}
	var out bytes.Buffer
	b.res.print(&out, peers)
	for _, r := range rows() {
		if !strings.Contains(out.String(), "| "+r.metric+", ") {
			t.Errorf("the table lacks %s:\n%s", r.metric, out.String())
		}
	}
}

// What gave nothing in any run, as memory does where a few cards are less than a page, has a dash and no ratio.
func TestTableOfNothing(t *testing.T) {
	peers := []*peer{{Name: ownScript}, {Name: emscripten}}
	res := &results{Versions: map[string]string{ownScript: "1", emscripten: "2"}, Values: map[string]map[string][]float64{
		mIdle:  {ownScript: {0, 0}, emscripten: {4, 0}},
		mFirst: {ownScript: {0, 2}, emscripten: {5, 6}},
		mCards: {},
	}}
	var out bytes.Buffer
	res.print(&out, peers)
	for _, want := range []string{
		"| " + mIdle + ", kB | – | 4.00 (4.00–4.00) | – | – |\n",
		"| " + mFirst + ", ms | 2.00 (2.00–2.00) | 6.00 (5.00–6.00) | 3.00 | – |\n",
		"| " + mCards + ", 1/s | – | – | – | – |\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %s:\n%s", want, out.String())
		}
	}
}

// Ours holds every budget that is tried.
func TestOwnBudgets(t *testing.T) {
	peers := built(t)
	for _, tr := range trials {
		if tr.within == late {
			tr.within = 5 * time.Second // whether it holds is the question here, on a machine that may be busy
		}
		if got := tr.verdict(peers[1]); got != held && got != byTime {
			t.Errorf("%s: %s: %s", tr.budget, tr.name, got)
		}
	}
}

// quickjs-emscripten gives the same answers to all examples and cases but for those that explain.go names.
func TestSameAnswers(t *testing.T) {
	peers := built(t)
	if !slices.ContainsFunc(peers, func(p *peer) bool { return p.Name == emscripten }) {
		t.Skip("quickjs-emscripten is not built; make bench-peers does it")
	}
	if testing.Short() {
		t.Skip("takes 20 s for built-ins that nothing can interrupt")
	}
	b := &bench{peers: peers}
	var out bytes.Buffer
	n, err := b.differ(filepath.Join(top, "examples"), filepath.Join(top, "conformance", "cases"), &out)
	if err != nil {
		t.Fatal(err)
	}
	if n > 0 {
		t.Errorf("%d differences that nothing explains:\n%s", n, out.String())
	}
}

func TestDifference(t *testing.T) {
	one := answer{Patches: []patch{{"text", "out", "1"}}, Handlers: [][2]string{{"a", "input"}}}
	for _, c := range []struct {
		change func(*answer)
		random bool
		same   bool
	}{
		{func(a *answer) {}, false, true},
		{func(a *answer) { a.Patches[0].Value = "2" }, false, false},
		{func(a *answer) { a.Patches[0].Value = "2" }, true, true},
		{func(a *answer) { a.Patches[0].ID = "b" }, true, false},
		{func(a *answer) { a.Patches = nil }, false, false},
		{func(a *answer) { a.Handlers = nil }, false, false},
		{func(a *answer) { a.Failure = "timeout" }, false, false},
	} {
		other := answer{Patches: slices.Clone(one.Patches), Handlers: slices.Clone(one.Handlers)}
		c.change(&other)
		if got := difference(one, other, c.random); (got == "") != c.same {
			t.Errorf("%+v: %q", other, got)
		}
	}
}

func TestRatioIsRunByRun(t *testing.T) {
	values := map[string][]float64{ownScript: {1, 2, 4, 9}, emscripten: {2, 8, 8, 0}} // the last run of one gave nothing
	if got, want := ratio(values, row{"m", "ms", false}, emscripten), digits(2); got != want {
		t.Errorf("ratio is %s, not %s", got, want)
	}
	if got, want := ratio(values, row{"m", "1/s", true}, emscripten), digits(0.5); got != want {
		t.Errorf("ratio is %s, not %s", got, want)
	}
}

func TestBadCalls(t *testing.T) {
	for _, args := range [][]string{{"-runs", "0"}, {"more"}, {"-serve", "nobody"}, {"-nonsense"}, {"-json", "/"}, {"-only", "nothing"}} {
		t.Run(fmt.Sprint(args), func(t *testing.T) {
			var out, errs bytes.Buffer
			if got := run(args, strings.NewReader(""), &out, &errs); got != 2 || errs.Len() == 0 {
				t.Errorf("exit %d, saying %q", got, errs.String())
			}
		})
	}
}
