package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/cardrun/limits"
)

// plainPrelude calls the function that the script left in globalThis.f with the round's input, and gives globalThis.out.
const plainPrelude = `({
	enter(input) { return globalThis.f ? globalThis.f(input) : undefined; },
	leave() { const o = globalThis.out; globalThis.out = undefined; return '>' + o; },
	describe(e) { try { return '!' + e; } catch { return '!'; } },
})`

// partsPrelude is plainPrelude, which gives the strings of the array out, up to four, as parts, where it is an array.
const partsPrelude = `(() => {
	const parts = ['', '', '', ''];
	return {
		parts,
		enter(input) { return globalThis.f ? globalThis.f(input) : undefined; },
		leave() {
			const o = globalThis.out;
			globalThis.out = undefined;
			if (!Array.isArray(o)) return typeof o === 'object' && o !== null ? o.parts : '>' + o;
			for (let i = 0; i < o.length; i++) parts[i] = o[i];
			return o.length;
		},
		describe(e) { try { return '!' + e; } catch { return '!'; } },
	};
})()`

func TestMain(m *testing.M) {
	if role := workerRole(); role != nil {
		os.Exit(role())
	}
	ServeWorker()
	goleak.VerifyTestMain(m)
}

func newEngine(t testing.TB, o Options) *Engine {
	t.Helper()
	if o.Prelude == "" {
		o.Prelude = plainPrelude
	}
	if o.Budget == 0 {
		o.Budget = patience // what is not about time must not fail on a busy machine
	}
	e, err := New(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func newGuest(t testing.TB, e *Engine, a Activation) *Guest {
	t.Helper()
	g, err := e.Guest(a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

// run runs one script in a fresh guest.
func run(t testing.TB, e *Engine, a Activation, script string) (string, Usage, error) {
	t.Helper()
	g := newGuest(t, e, a)
	defer g.Close()
	res, err := g.Run(context.Background(), Round{Input: []byte("0"), Script: script, MaxOutput: 1 << 16})
	return string(res.Output), res.Usage, err
}

func expect(t *testing.T, e *Engine, script, want string) {
	t.Helper()
	if got, _, err := run(t, e, Activation{}, script); err != nil || got != ">"+want {
		t.Errorf("%s\ngot %q, %v, want %q", script, got, err, want)
	}
}

func TestRounds(t *testing.T) {
	e := newEngine(t, Options{})
	g := newGuest(t, e, Activation{})
	ctx := context.Background()
	round := func(input, script, want string) {
		t.Helper()
		res, err := g.Run(ctx, Round{Input: []byte(input), Script: script, MaxOutput: 100})
		if err != nil || string(res.Output) != want {
			t.Errorf("%s %s: %q, %v", input, script, res.Output, err)
		}
	}
	round(`null`, `let n = 0; f = (x) => { n += x.a; out = n + x.s }; out = 'started'`, ">started")
	round(`{"a":1,"s":"\u0000é"}`, "", ">1\x00é")
	round(`{"a":2,"s":"\ud83d\ude00"}`, "", ">3\U0001f600")
	round(`{"a":3,"s":""}`, "out += '!'", ">6!")
}

func TestKinds(t *testing.T) {
	e := newEngine(t, Options{})
	for _, c := range []struct {
		script string
		kind   ThrownKind
		detail string
	}{
		{"throw 1", Uncaught, "!1"},
		{"null.x", Uncaught, "!TypeError: cannot read property 'x' of null"},
		{"let x = ", Syntax, "!SyntaxError: unexpected token in expression: ''"},
		{"eval('(')", Uncaught, "!SyntaxError: unexpected token in expression: ''"},
		{"queueMicrotask(() => { throw 2 })", Uncaught, "!2"},
		{"throw {toString() { throw 1 }}", Uncaught, "!"},
		{"function r() { r() } r()", Uncaught, "!RangeError: Maximum call stack size exceeded"},
	} {
		out, u, err := run(t, e, Activation{}, c.script)
		var thrown *Thrown
		if !errors.As(err, &thrown) || thrown.Kind != c.kind || string(thrown.Detail) != c.detail || out != ">undefined" || u.Fuel == 0 {
			t.Errorf("%s: %q %+v %v", c.script, out, u, err)
		}
	}
	g := newGuest(t, e, Activation{})
	if _, err := g.Run(context.Background(), Round{Input: []byte("0"), Script: "f = (x) => x ? Promise.reject('no') : 0", MaxOutput: 100}); err != nil {
		t.Fatal(err)
	}
	_, err := g.Run(context.Background(), Round{Input: []byte("1"), MaxOutput: 100})
	var thrown *Thrown
	if !errors.As(err, &thrown) || thrown.Kind != Rejected || string(thrown.Detail) != "!no" {
		t.Errorf("rejection: %v", err)
	}
	if _, err := g.Run(context.Background(), Round{Input: []byte("0"), MaxOutput: 100}); !errors.Is(err, errEnded) {
		t.Errorf("after a failure: %v", err)
	}
}

// TestBudgetsR100R103 ends every kind of excess with its code, in time, and the next guest is whole.
func TestBudgetsR100R103(t *testing.T) {
	e := newEngine(t, Options{Budget: limits.Round})
	for _, c := range []struct {
		code   limits.Code
		script string
	}{
		{limits.Timeout, "for(;;);"},
		{limits.Timeout, "/(a+)+$/.test('a'.repeat(40) + 'b')"},
		{limits.Timeout, "Array.prototype.indexOf.call({length: 2**53 - 1}, 1)"},
		{limits.Timeout, "try { for(;;); } finally { for(;;); }"},
		{limits.Timeout, "const s = 'x'.repeat(15e6); for (;;) s.slice(1)"},
		{limits.Timeout, "(function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2) })(60)"},
		{limits.Timeout, "Promise.resolve().then(() => { for (;;); })"},
		{limits.Timeout, "new Array(2**32 - 1).sort()"},
		{limits.Timeout, "let p = new Proxy({}, {get: (t, k, r) => Reflect.get(t, k, r)}); for (;;) p.x"},
		{limits.Timeout, "'x'.repeat(1e6).replace(/x/g, () => { for (;;); })"},
		{limits.Timeout, "JSON.stringify({toJSON() { for (;;); }})"},
		{limits.Timeout, "let b = 3n ** 200000n; for (;;) b * b"},
		{limits.Exception, "let it = [1].values(); for (let i = 0; i < 9500; i++) it = it.take(9); try { it.next() } catch {} out = 'survived'"},
		{limits.Exception, "let it = [1].values(); for (let i = 0; i < 20000; i++) it = it.map((x) => x); it.next()"},
		{limits.Exception, "let it = [1].values(); for (let i = 0; i < 20000; i++) it = it.drop(0); it.return()"},
		{limits.Timeout, "let f = Math.abs; for (let i = 0; i < 900; i++) { Object.defineProperty(f, 'name', {value: ''}); f = f.bind(); } const a = Array(5000).fill(0); for (;;) a.forEach(f)"},
		{limits.Memory, "const a = []; for (;;) a.push(new Uint8Array(1e6))"},
		{limits.Memory, "const a = []; try { for (;;) a.push(new Uint8Array(1e6)) } catch {} finally { a.length = 0 } out = 'survived'"},
		{limits.Memory, "let s = 'x'; for (;;) s += s"},
		{limits.Memory, "new ArrayBuffer(2**31 - 1)"},
		{limits.Memory, "try { new Uint8Array(40e6) } catch {} out = 'survived'"},
		{limits.TooManyMicrotasks, "(function again() { Promise.resolve().then(again) })()"},
		{limits.TooManyMicrotasks, "(async () => { for (;;) await 0 })()"},
		{limits.TooManyMicrotasks, "for (let i = 0; i < 257; i++) queueMicrotask(() => 0)"},
	} {
		start := time.Now()
		out, u, err := run(t, e, Activation{}, c.script)
		if limits.CodeOf(err) != c.code || out != "" {
			t.Errorf("%s\ngave %q, %v, want %s", c.script, out, err, c.code)
		}
		if took := time.Since(start); took > 2*time.Second || c.code == limits.Timeout && u.Elapsed < limits.Round {
			t.Errorf("%s\nended after %v, its round after %v", c.script, took, u.Elapsed)
		}
		expect(t, e, "out = 6 * 7", "42")
	}
	expect(t, e, "for (let i = 0; i < 256; i++) queueMicrotask(() => { out = i })", "255")
	expect(t, e, "let big = new Uint8Array(30 << 20); out = big.length", "31457280")
}

// TestRecursionCostsFuel calls chains of native functions, in which no loop turns.
func TestRecursionCostsFuel(t *testing.T) {
	e := newEngine(t, Options{})
	for _, chain := range []string{
		"let f = Math.abs; for (let i = 0; i < 500; i++) { Object.defineProperty(f, 'name', {value: ''}); f = f.bind(); } const call = () => f(1)",
		"const call = () => { let it = [1].values(); for (let i = 0; i < 500; i++) it = it.take(9); return it.next() }",
		"let p = {x: 1}; for (let i = 0; i < 500; i++) p = new Proxy(p, {}); const call = () => p.x",
	} {
		fuel := func(calls int) int64 {
			_, u, err := run(t, e, Activation{}, fmt.Sprintf("%s; for (let i = 0; i < %d; i++) call()", chain, calls))
			if err != nil {
				t.Fatal(chain, err)
			}
			return u.Fuel
		}
		if each := (fuel(20) - fuel(10)) / 10; each < 500 {
			t.Errorf("%s: a call through 500 functions costs %d", chain, each)
		}
	}
}

// TestCollectionsWhileGuestsLoop forces garbage collections while guests spin in code that Go cannot preempt: the guests go on for as long
// as those take, which is up to half a second each where two others want the cores as well, with loops of Go as with guests.
func TestCollectionsWhileGuestsLoop(t *testing.T) {
	e := newEngine(t, Options{Workers: 2, Budget: time.Minute})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var wg sync.WaitGroup
	var running atomic.Int32
	running.Store(2)
	for range 2 {
		g := newGuest(t, e, Activation{})
		wg.Go(func() {
			defer running.Add(-1)
			res, err := g.Run(ctx, Round{Input: []byte("0"), Script: "for(;;);", MaxOutput: 9})
			if !errors.Is(err, context.Canceled) || res.Usage.Fuel < refill {
				t.Errorf("%+v, %v", res.Usage, err)
			}
		})
	}
	for len(e.slots) < 2 {
		runtime.Gosched()
	}
	time.Sleep(10 * time.Millisecond) // they have begun, and now they loop
	for range 4 {
		runtime.GC()
	}
	if n := running.Load(); n < 2 {
		t.Errorf("after four collections %d guests loop", n)
	}
	cancel()
	wg.Wait()
}

func TestWorkersBoundWhatRuns(t *testing.T) {
	e := newEngine(t, Options{Workers: 1, Budget: 50 * time.Millisecond})
	var wg sync.WaitGroup
	start := time.Now()
	for range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			g, err := e.Guest(Activation{})
			if err != nil {
				t.Error(err)
				return
			}
			defer g.Close()
			if _, err := g.Run(context.Background(), Round{Input: []byte("0"), Script: "for(;;);", MaxOutput: 9}); limits.CodeOf(err) != limits.Timeout {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	if took := time.Since(start); took < 150*time.Millisecond {
		t.Errorf("three rounds of 50 ms on one worker took %v", took)
	}
}

func TestContextEndsARound(t *testing.T) {
	e := newEngine(t, Options{Workers: 1, Budget: limits.Round})
	ctx, cancel := context.WithCancel(context.Background())
	g := newGuest(t, e, Activation{})
	time.AfterFunc(10*time.Millisecond, cancel)
	res, err := g.Run(ctx, Round{Input: []byte("0"), Script: "for(;;);", MaxOutput: 9})
	if !errors.Is(err, context.Canceled) || res.Usage.Elapsed > 200*time.Millisecond {
		t.Errorf("%v after %v", err, res.Usage.Elapsed)
	}
	// Waiting for a worker ends with the context too, and leaves the guest as it was.
	busy, waiting := newGuest(t, e, Activation{}), newGuest(t, e, Activation{})
	started := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		close(started)
		_, _ = busy.Run(context.Background(), Round{Input: []byte("0"), Script: "for(;;);", MaxOutput: 9})
	}()
	<-started
	for len(e.slots) == 0 {
		runtime.Gosched()
	}
	ctx, cancel = context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	if _, err := waiting.Run(ctx, Round{Input: []byte("0"), Script: "out = 1", MaxOutput: 9}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while the worker is busy: %v", err)
	}
	<-done
	if res, err := waiting.Run(context.Background(), Round{Input: []byte("0"), Script: "out = 1", MaxOutput: 9}); err != nil || string(res.Output) != ">1" {
		t.Errorf("afterwards: %q, %v", res.Output, err)
	}
}

func TestSeedClockAndFuelD26(t *testing.T) {
	e := newEngine(t, Options{})
	seed := func(n uint64) *uint64 { return &n }
	now := time.Date(2031, 2, 3, 4, 5, 6, 789e6, time.UTC)
	const script = "out = Math.random() + ' ' + Date.now() + ' ' + new Date().toISOString(); for (let i = 0; i < 1e4; i++); const a = []; for (let i = 0; i < 5000; i++) a.push({i})"
	var first string
	var fuel int64
	for i := range 5 {
		out, u, err := run(t, e, Activation{Seed: seed(7), Now: now}, script)
		if err != nil || !strings.Contains(out, "1927857906789 2031-02-03T04:05:06.789Z") || !u.ReadClock || !u.ReadRandom {
			t.Fatal(out, u, err)
		}
		if i == 0 {
			first, fuel = out, u.Fuel
		}
		if out != first || u.Fuel != fuel {
			t.Errorf("run %d: %q with fuel %d, first was %q with %d", i, out, u.Fuel, first, fuel)
		}
	}
	draws := map[string]bool{}
	for n := range uint64(50) {
		out, _, _ := run(t, e, Activation{Seed: seed(n)}, "out = Math.random()")
		draws[out] = true
		out, u, _ := run(t, e, Activation{}, "out = Math.random()")
		draws[out] = true
		if u.ReadClock || !u.ReadRandom {
			t.Errorf("usage %+v", u)
		}
	}
	if len(draws) != 100 {
		t.Errorf("%d different numbers of 100", len(draws))
	}
	if _, u, _ := run(t, e, Activation{}, "out = 1"); u.ReadClock || u.ReadRandom {
		t.Errorf("a script that looked at nothing: %+v", u)
	}
}

func TestFuelBound(t *testing.T) {
	e := newEngine(t, Options{Fuel: 100_000})
	expect(t, e, "out = 1", "1")
	var used []int64
	for range 3 {
		_, u, err := run(t, e, Activation{}, "for(;;);")
		if limits.CodeOf(err) != limits.Timeout || !strings.Contains(err.Error(), "100000") {
			t.Fatal(err)
		}
		used = append(used, u.Fuel)
	}
	if used[0] != used[1] || used[1] != used[2] || used[0] < 100_000 || used[0] > 100_100 {
		t.Errorf("fuel used: %v", used)
	}
}

// TestRestore compares the whole memory after a restore with a fresh one, whatever a guest did.
func TestRestore(t *testing.T) {
	e := newEngine(t, Options{})
	seed := uint64(3)
	fresh := newGuest(t, e, Activation{Seed: &seed})
	want := bytes.Clone(fresh.i.mem.buf[:fresh.i.mem.size])
	for _, script := range []string{
		"out = 1",
		"globalThis.secret = 'S3CRET'.repeat(1000); Array.prototype.x = secret; Symbol.for(secret); /(S3)/.exec(secret); out = 1",
		"const a = []; for (let i = 0; i < 20000; i++) a.push({i}); out = a.length",
		"(function f(n) { if (n) f(n - 1) })(500); out = 1",
		"throw new Error('x'.repeat(1000))",
		"for (let i = 0; i < 100; i++) Promise.resolve().then(() => 0); out = 1",
	} {
		g := newGuest(t, e, Activation{})
		if _, err := g.Run(context.Background(), Round{Input: []byte("0"), Script: script, MaxOutput: 100}); err != nil && !isThrown(err) {
			t.Fatal(err)
		}
		g.Close()
		g = newGuest(t, e, Activation{Seed: &seed})
		if got := g.i.mem.buf[:g.i.mem.size]; !bytes.Equal(got, want) {
			for i := range got {
				if got[i] != want[i] {
					t.Errorf("%.60s: memory differs at %#x", script, i)
					break
				}
			}
		}
		g.Close()
	}
	// The guest owns its memory: every byte of it may be anything.
	g := newGuest(t, e, Activation{})
	for i := range g.i.mem.buf[:g.i.mem.size] {
		g.i.mem.buf[i] = 0xa5
	}
	g.Close()
	g = newGuest(t, e, Activation{Seed: &seed})
	if !bytes.Equal(g.i.mem.buf[:g.i.mem.size], want) {
		t.Error("memory differs after all of it was overwritten")
	}
}

func TestGrownAndTrappedInstancesAreReplaced(t *testing.T) {
	e := newEngine(t, Options{Budget: limits.Round})
	replaced := func() int64 { r := e.Replaced(); return r.Stopped + r.Grown }
	before := replaced()
	for i, script := range []string{
		"let a = new Uint8Array(8 << 20); out = 1",
		"for (;;);",
		"const a = []; for (;;) a.push(new Uint8Array(1e6))",
		"for (let i = 0; i < 257; i++) queueMicrotask(() => 0)",
	} {
		_, _, _ = run(t, e, Activation{}, script)
		if got := replaced() - before; got != int64(i+1) {
			t.Errorf("%s: %d replaced, want %d", script, got, i+1)
		}
	}
	_, _, _ = run(t, e, Activation{}, "out = 1")
	_, _, _ = run(t, e, Activation{}, "throw 1")
	if got := replaced() - before; got != 4 {
		t.Errorf("%d replaced after sound rounds, want 4", got)
	}
}

func TestCloseEngine(t *testing.T) {
	e, err := New(context.Background(), Options{Prelude: plainPrelude})
	if err != nil {
		t.Fatal(err)
	}
	g, err := e.Guest(Activation{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(e.Close(), e.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Guest(Activation{}); !errors.Is(err, ErrClosed) {
		t.Errorf("a guest of a closed engine: %v", err)
	}
	if res, err := g.Run(context.Background(), Round{Input: []byte("0"), Script: "out = 1", MaxOutput: 9}); err != nil || string(res.Output) != ">1" {
		t.Errorf("an open guest: %q, %v", res.Output, err)
	}
	g.Close()
	g.Close()
	if _, err := g.Run(context.Background(), Round{Input: []byte("0")}); !errors.Is(err, errEnded) {
		t.Errorf("a closed guest: %v", err)
	}
}

// TestCorruptMemory overwrites what the host reads: an engine failure, no panic, no wrong data.
func TestCorruptMemory(t *testing.T) {
	e := newEngine(t, Options{Budget: 50 * time.Millisecond})
	for _, at := range []uint32{e.image.runtime + rtJobList, e.image.runtime + rtJobList + 4, e.image.runtime + rtException + 4, e.image.runtime + rtStackLimit, e.image.context + ctxRuntime} {
		for _, v := range []uint32{0, 1, 0xffff_ffff, 0x7fff_ffff, e.image.runtime, stackTop, uint32(e.image.size) - 1} {
			g := newGuest(t, e, Activation{})
			if err := g.i.setU32(at, v); err != nil {
				t.Fatal(err)
			}
			_, err := g.Run(context.Background(), Round{Input: []byte("0"), Script: "Promise.resolve().then(() => { throw 1 }); out = 1", MaxOutput: 100})
			if code := limits.CodeOf(err); code != "" && code != limits.Engine && code != limits.Timeout && !isThrown(err) {
				t.Errorf("%#x = %#x: %v", at, v, err)
			}
			g.Close()
			expect(t, e, "out = 6 * 7", "42")
		}
	}
}

func TestTextBounds(t *testing.T) {
	e := newEngine(t, Options{})
	g := newGuest(t, e, Activation{})
	i, size := g.i, uint64(g.i.mem.size)
	for _, v := range []uint64{
		undefined, tagString << 32, tagString<<32 | size, tagString<<32 | size - 8, tagString<<32 | 0xffff_ffff, tagString<<32 | 0xffff_fff0, tagObject << 32,
	} {
		if s, err := i.text(v, 100); err == nil && len(s) > 100 {
			t.Errorf("text(%#x) = %d bytes", v, len(s))
		}
	}
	if err := i.setU64(uint32(stackLow)+strLength, 1<<30); err != nil {
		t.Fatal(err)
	}
	if _, err := i.text(tagString<<32|stackLow, 100); !errors.Is(err, errCorrupt) {
		t.Errorf("a billion units: %v", err)
	}
	for _, window := range []uint64{size - 30, 1<<32 | (size - strData - 49), 0xffff_ffff, 0xffff_ffff << 32, ^uint64(0)} { // 50 units of another string
		if err := errors.Join(i.setU64(stackLow+strLength, strSlice|50), i.setU64(stackLow+strData, window)); err != nil {
			t.Fatal(err)
		}
		if s, err := i.text(tagString<<32|stackLow, 100); !errors.Is(err, errCorrupt) {
			t.Errorf("a window on %#x: %q, %v", window, s, err)
		}
	}
	for _, at := range []uint32{uint32(size) - 3, 0xffff_ffff, 0xffff_fffc} {
		_, err32 := i.u32(at)
		_, err64 := i.u64(at)
		if !errors.Is(err32, errCorrupt) || !errors.Is(err64, errCorrupt) || i.setU32(at, 0) == nil || i.setU64(at, 0) == nil {
			t.Errorf("access at %#x: %v, %v", at, err32, err64)
		}
	}
}

func TestCacheDirectoryMustBePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes are a Unix matter; Windows looks at the owner")
	}
	base := t.TempDir()
	open := func(dir string) error {
		c, err := openCache(dir, [32]byte{})
		if c != nil {
			_ = c.Close(context.Background())
		}
		return err
	}
	if err := open(filepath.Join(base, "made", "here")); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Join(base, "made", "here")); err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info.Mode(), err)
	}
	for _, mode := range []os.FileMode{0o755, 0o770, 0o707, 0o777} {
		dir := filepath.Join(base, fmt.Sprint(mode))
		if err := errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, mode)); err != nil {
			t.Fatal(err)
		}
		if err := open(dir); err == nil || !strings.Contains(err.Error(), "chmod 700") {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	link, file := filepath.Join(base, "link"), filepath.Join(base, "file")
	if err := errors.Join(os.Symlink(filepath.Join(base, "made", "here"), link), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{link, file} {
		if err := open(dir); err == nil {
			t.Errorf("%s was accepted", dir)
		}
	}
	if _, err := New(context.Background(), Options{Prelude: plainPrelude, CacheDir: file}); err == nil {
		t.Error("an engine with a file for a cache directory")
	}
}

// TestDamagedCache costs time, not the service.
func TestDamagedCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	e := newEngine(t, Options{CacheDir: dir})
	expect(t, e, "out = 1", "1")
	damaged := 0
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			damaged++
			return os.WriteFile(path, []byte("not what wazero wrote"), 0o600)
		}
		return err
	})
	if err != nil || damaged == 0 {
		t.Fatal(damaged, err)
	}
	e = newEngine(t, Options{CacheDir: dir})
	expect(t, e, "out = 1", "1")
}

func TestStartFailures(t *testing.T) {
	for name, o := range map[string]Options{
		"prelude that throws":                {Prelude: "throw 1"},
		"prelude that does not parse":        {Prelude: "("},
		"prelude without functions":          {Prelude: "({enter() {}})"},
		"prelude that is no object":          {Prelude: "1"},
		"prelude whose parts are none":       {Prelude: "({enter() {}, leave() {}, describe() {}, parts: 1})"},
		"prelude without one part":           {Prelude: "({enter() {}, leave() {}, describe() {}, parts: []})"},
		"prelude whose parts are no strings": {Prelude: "({enter() {}, leave() {}, describe() {}, parts: ['', 1]})"},
		"host that cannot reserve":           {Prelude: plainPrelude, reserve: func(int) (*reservation, error) { return nil, errors.New("no memory") }},
		"host that cannot grow a guest":      {Prelude: plainPrelude, reserve: func(int) (*reservation, error) { return reserve(initialPages * pageSize) }},
	} {
		if e, err := New(context.Background(), o); err == nil {
			_ = e.Close()
			t.Errorf("%s: an engine", name)
		}
	}
}

func TestDecodeUTF16(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "a\x00": "a", "\x00\xd8": "\ufffd", "\x00\xd8a\x00": "\ufffda", "\x00\xdc\x00\xd8": "\ufffd\ufffd", "=\xd8\x00\xde": "\U0001f600", "\x00\xd8=\xd8\x00\xde": "\ufffd\U0001f600",
		"\xac\x20": "€",
	} {
		if got := appendUTF16(nil, []byte(in)); string(got) != want {
			t.Errorf("%x: %q, want %q", in, got, want)
		}
	}
}
