package sandbox

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/cardrun/limits"
)

// footing is what a process has before an attack and must have after it.
type footing struct{ guests, code, descriptors int }

func stand() footing {
	for range 3 { // finalizers give machine code back, one cycle after the other
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	return footing{guestMappings(), codeMappings(), descriptors()}
}

// expectFooting waits for what the system gives back in its own time, and wants everything that there was before.
func expectFooting(t *testing.T, what string, before footing) {
	t.Helper()
	var after footing
	for range 50 {
		if after = stand(); after == before {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if after.guests > before.guests || after.code > before.code || after.descriptors > before.descriptors {
		t.Errorf("%s leaves %+v, before there was %+v", what, after, before)
	}
	if err := goleak.Find(); err != nil {
		t.Errorf("%s leaves goroutines: %v", what, err)
	}
}

// expectFree wants all workers free, no guest open, and a guest that is right.
func expectFree(t *testing.T, e *Engine, what string) {
	t.Helper()
	e.mu.Lock()
	live, idle := e.live, len(e.idle)
	e.mu.Unlock()
	if live != 0 || idle > 2*e.Workers() || len(e.slots) != 0 {
		t.Errorf("after %s %d guests are open, %d instances idle, %d workers busy", what, live, idle, len(e.slots))
	}
	expect(t, e, "out = 6 * 7", "42")
}

// honest tells whether an error is one that a failing host or caller may cause.
func honest(err error) bool {
	return err == nil || isThrown(err) || limits.CodeOf(err) != "" || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, ErrClosed) || errors.Is(err, ErrTooLarge)
}

// life leads a guest through everything that may be done with one: rounds with jobs, freezing, thawing, a round more. It
// gives the first error.
func life(ctx context.Context, e *Engine, change func(*Guest)) error {
	g, err := e.Guest(Activation{})
	if err != nil {
		return err
	}
	defer func() { g.Close() }()
	change(g)
	script := "const keep = []; f = (x) => { for (let i = 0; i < 3000; i++) keep.push({i, t: Date.now()}); return Promise.resolve(x).then(() => { out = keep.length }) }"
	for x := range 3 {
		res, err := g.Run(ctx, Round{Input: fmt.Append(nil, x), Script: script, MaxOutput: 100})
		if err != nil {
			return err
		}
		if want := fmt.Sprint(">", 3000*x); x > 0 && string(res.Output) != want {
			return fmt.Errorf("round %d gives %q, not %q", x, res.Output, want)
		}
		script = ""
		frozen, err := g.Freeze(ctx, 8<<20)
		if err != nil {
			return err
		}
		g.Close()
		again, err := e.Thaw(frozen)
		if err != nil {
			return err
		}
		g = again
		change(g)
	}
	return nil
}

// countdown is a context that ends when it has been asked so many times.
type countdown struct {
	context.Context
	mu   sync.Mutex
	left int
	done chan struct{}
}

func newCountdown(n int) *countdown {
	return &countdown{Context: context.Background(), left: n, done: make(chan struct{})}
}

func (c *countdown) Done() <-chan struct{} { return c.done }

func (c *countdown) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left--; c.left == -1 {
		close(c.done)
	}
	if c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestHostileHost is a host that fails: time that is over anywhere, callers that go away at every step, memory that is
// refused, host functions that panic. All that may come of it is an error; afterwards everything is there again.
func TestHostileHost(t *testing.T) {
	before := stand()
	n := 0
	var refuse, short bool // whether the system has no memory for new guests, or none for their growth
	o := Options{Workers: 1, reserve: func(size int) (*reservation, error) {
		if refuse {
			return nil, errors.New("no memory")
		}
		m, err := reserve(size)
		if err == nil && short {
			m.grant = (initialPages + 60) * pageSize
		}
		return m, err
	}}
	e := newEngine(t, o)
	try := func(what string, ctx context.Context, change func(*Guest)) error {
		t.Helper()
		n++
		err := life(ctx, e, change)
		if !honest(err) {
			t.Errorf("%s: %v", what, err)
		}
		return err
	}
	same := func(*Guest) {}

	succeeded := 0
	for d := time.Microsecond; d < 2*time.Second && succeeded < 2; d += d/2 + 1 {
		ctx, cancel := context.WithTimeout(context.Background(), d)
		if err := try(fmt.Sprint("a deadline of ", d), ctx, same); err == nil {
			succeeded++
		}
		cancel()
		_ = try(fmt.Sprint("a budget of ", d), context.Background(), func(g *Guest) { g.budget = d })
		expectFree(t, e, fmt.Sprint("deadlines of ", d))
	}
	for steps := 0; ; steps++ {
		if err := try(fmt.Sprintf("a caller that goes away at step %d", steps), newCountdown(steps), same); err == nil {
			if steps < 7 { // each round, and each freezing, asks at least once
				t.Errorf("the context is asked %d times in all", steps)
			}
			break
		}
		expectFree(t, e, fmt.Sprint("a caller that goes away at step ", steps))
	}
	for fuel := int64(1); fuel < 1<<20; fuel *= 2 {
		_ = try(fmt.Sprint("a fuel of ", fuel), context.Background(), func(g *Guest) { g.fuel = fuel })
	}
	expectFree(t, e, "little fuel")
	for what, fail := range map[string]func(){
		"an error": func() { panic(errors.New("the clock fails")) }, "a text": func() { panic("the clock fails") },
		"a wrong type": func() { var x any = n; _ = x.(string) }, "an index": func() { var b []byte; _ = b[n] }, "a limits.Error": func() { panic(&limits.Error{Code: limits.Engine, Message: "x"}) },
	} {
		for k := range 8 {
			calls := 0
			err := try("a host function that panics with "+what, context.Background(), func(g *Guest) {
				g.i.round.now = func() time.Time {
					if calls++; calls > 1<<k {
						fail()
					}
					return time.Now()
				}
			})
			if limits.CodeOf(err) != limits.Engine {
				t.Errorf("a host function that panics with %s: %v", what, err)
			}
		}
		expectFree(t, e, "a host function that panics with "+what)
	}

	// No memory: what is there is used, what is not is an error, and when there is some again all is well.
	refuse = true
	for range 20 {
		var held []*Guest
		for {
			n++
			g, err := e.Guest(Activation{})
			if err != nil {
				if limits.CodeOf(err) != limits.Engine {
					t.Errorf("a guest without memory: %v", err)
				}
				break
			}
			held = append(held, g)
		}
		for _, g := range held {
			g.Close()
		}
		if g, err := e.Guest(Activation{}); err == nil { // which costs the instance
			if _, err := g.Run(context.Background(), Round{Input: []byte("0"), Script: "const a = []; for (;;) a.push(new Uint8Array(9e6))", MaxOutput: 9}); limits.CodeOf(err) != limits.Memory {
				t.Errorf("a hungry guest: %v", err)
			}
			g.Close()
		}
	}
	if g, err := e.Guest(Activation{}); limits.CodeOf(err) != limits.Engine {
		t.Errorf("with no instance and no memory: %v, %v", g, err)
	}
	refuse, short = false, true
	e.mu.Lock()
	idle := e.idle
	e.idle = nil
	e.mu.Unlock()
	for _, i := range idle {
		i.close()
	}
	for range 10 {
		n++
		if _, _, err := run(t, e, Activation{}, "const a = []; for (;;) a.push(new Uint8Array(1e6))"); limits.CodeOf(err) != limits.Memory {
			t.Errorf("growth refused: %v", err)
		}
		expectFree(t, e, "refused growth")
	}
	short = false
	if err := withoutDescriptors(func() {
		if err := try("a process without descriptors", context.Background(), same); err != nil {
			t.Errorf("a process without descriptors: %v", err)
		}
	}); err != nil {
		t.Logf("descriptors cannot be taken away: %v", err)
	}
	expectFree(t, e, "a host without memory")
	_ = e.Close()
	expectFooting(t, "a host that fails", before)
	t.Logf("attacks: %d", n)
}

// TestHostileClose closes the engine while guests are opened, run, frozen and thawed.
func TestHostileClose(t *testing.T) {
	before := stand()
	n := 0
	for k := range 12 {
		e, err := New(context.Background(), Options{Prelude: plainPrelude, Workers: 1 + k%3, Budget: 20 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		release := func() {}
		if k%2 == 0 {
			if release, err = e.Hold(); err != nil {
				t.Fatal(err)
			}
		}
		var wg sync.WaitGroup
		for w := range 4 {
			n++
			wg.Go(func() {
				for range 20 {
					ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+w)*3*time.Millisecond)
					err := life(ctx, e, func(*Guest) {})
					cancel()
					if !honest(err) {
						t.Errorf("while the engine closes: %v", err)
					}
				}
			})
		}
		time.Sleep(time.Duration(k) * time.Millisecond)
		for range 2 {
			wg.Go(func() { _ = e.Close() })
		}
		wg.Wait()
		release()
		release()
		if _, err := e.Guest(Activation{}); !errors.Is(err, ErrClosed) {
			t.Errorf("a guest of a closed engine: %v", err)
		}
	}
	expectFooting(t, "closing", before)
	t.Logf("attacks: %d", n)
}

// TestHostileStart ends the start of an engine at every step.
func TestHostileStart(t *testing.T) {
	before := stand()
	n := 0
	start := func(ctx context.Context) error {
		n++
		e, err := New(ctx, Options{Prelude: plainPrelude, Workers: 1})
		if err == nil {
			_ = e.Close()
		} else if !honest(err) {
			t.Errorf("a start that was ended: %v", err)
		}
		return err
	}
	for steps := 0; start(newCountdown(steps)) != nil; steps += 1 + steps/2 {
	}
	for d := time.Microsecond; ; d *= 4 {
		ctx, cancel := context.WithTimeout(context.Background(), d)
		err := start(ctx)
		cancel()
		if err == nil || d > time.Minute {
			break
		}
	}
	expectFooting(t, "starts that were ended", before)
	t.Logf("attacks: %d", n)
}

// TestHostileCache damages what is in the cache directory in every way, and the directory itself.
func TestHostileCache(t *testing.T) {
	if raceEnabled {
		t.Skip("NOT RUN: one goroutine, and a minute of compiling under the race detector")
	}
	before := stand()
	n := 0
	dir := filepath.Join(t.TempDir(), "cache")
	start := func(what, dir string, use bool) {
		t.Helper()
		n++
		e, err := New(context.Background(), Options{Prelude: plainPrelude, Workers: 1, CacheDir: dir})
		if err != nil {
			t.Errorf("%s: %v", what, err)
			return
		}
		defer e.Close()
		expect(t, e, "out = 6 * 7", "42")
		if used := e.CacheError() == nil; used != use {
			t.Errorf("%s: the cache is used: %t, %v", what, used, e.CacheError())
		}
	}
	start("an empty directory", dir, true)
	good := files(t, dir)
	var code string
	for path := range good {
		if !strings.HasSuffix(path, sumSuffix) {
			code = path
		}
	}
	if len(good) != 2 || len(good[code]) < 1<<20 {
		t.Fatalf("%d files", len(good))
	}
	module := [32]byte{}
	if _, err := fmt.Sscanf(strings.Split(code[len(dir)+1:], string(filepath.Separator))[0], "engine-%x", new([]byte)); err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(strings.Split(code[len(dir)+1:], string(filepath.Separator))[0], "engine-")
	for k := range 8 {
		if _, err := fmt.Sscanf(name[2*k:2*k+2], "%02x", &module[k]); err != nil {
			t.Fatal(err)
		}
	}
	// vetted tells what is left of the files when the cache is opened.
	vetted := func() int {
		t.Helper()
		c, err := openCache(dir, module)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close(context.Background())
		return len(files(t, dir))
	}
	restore := func() {
		for path, b := range good {
			_ = os.RemoveAll(path)
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := vetted(); got != 2 {
		t.Errorf("%d files are left of an undamaged cache", got)
	}
	damage := func(what, path string, edit func(b []byte) []byte) {
		t.Helper()
		n++
		if err := os.WriteFile(path, edit(bytes.Clone(good[path])), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := vetted(); got != 0 {
			t.Errorf("%s: %d files are left", what, got)
		}
		restore()
	}
	size := len(good[code])
	for at := 0; at < size; at += 1 + at/3 { // the counts, addresses and sizes at the start above all
		damage(fmt.Sprintf("a bit changed at %d", at), code, func(b []byte) []byte { b[at] ^= 4; return b })
		damage(fmt.Sprintf("a bit changed at %d from the end", at), code, func(b []byte) []byte { b[size-1-at] ^= 0x80; return b })
		damage(fmt.Sprintf("cut to %d bytes", at), code, func(b []byte) []byte { return b[:at] })
	}
	damage("a byte more", code, func(b []byte) []byte { return append(b, 0) })
	for at := range 64 {
		damage(fmt.Sprintf("a bit changed in the seal at %d", at), code+sumSuffix, func(b []byte) []byte { b[at] ^= 1; return b })
	}
	damage("an empty seal", code+sumSuffix, func([]byte) []byte { return nil })

	// And the engine starts all the same, and mends what it can.
	start("a good directory", dir, true)
	at := bytes.IndexByte(good[code], 'v') + len("v1.12.0")
	for what, edit := range map[string]func(b []byte) []byte{
		"four billion functions":      func(b []byte) []byte { binary.LittleEndian.PutUint32(b[at:], 0xffff_ffff); return b },
		"functions at wild addresses": func(b []byte) []byte { copy(b[at+4:], bytes.Repeat([]byte{0x5a}, 8000)); return b },
		"half of it":                  func(b []byte) []byte { return b[:size/2] },
	} {
		if testing.Short() && n%3 != 0 { // each start compiles anew
			n++
			continue
		}
		if err := os.WriteFile(code, edit(bytes.Clone(good[code])), 0o600); err != nil {
			t.Fatal(err)
		}
		start(what, dir, true)
		if got := vetted(); got != 2 {
			t.Errorf("%s: %d files are there after a start", what, got)
		}
	}
	for what, put := range map[string]func() error{
		"a folder instead":       func() error { return os.Mkdir(code, 0o700) },
		"a link instead":         func() error { return os.Symlink(filepath.Join(t.TempDir(), "nowhere"), code) },
		"a link to itself":       func() error { return os.Symlink(code, code) },
		"a file that is no file": func() error { return pipe(code) },
	} {
		n++
		if err := errors.Join(os.Remove(code), put()); err != nil {
			if !errors.Is(err, errors.ErrUnsupported) {
				t.Fatal(err)
			}
		}
		if got := vetted(); got != 0 {
			t.Errorf("%s: %d files are left", what, got)
		}
		restore()
	}
	// What a killed process has left goes after a while, and what another one is writing stays.
	old, young := filepath.Join(filepath.Dir(code), "a.1.tmp"), filepath.Join(filepath.Dir(code), "a.2.tmp")
	if err := errors.Join(os.WriteFile(old, nil, 0o600), os.WriteFile(young, nil, 0o600), os.Chtimes(old, time.Time{}, time.Now().Add(-2*tempAge))); err != nil {
		t.Fatal(err)
	}
	if _ = vetted(); exists(old) || !exists(young) {
		t.Errorf("old: %t, young: %t", exists(old), exists(young))
	}

	if runtime.GOOS != "windows" {
		other := filepath.Join(t.TempDir(), "other")
		if err := os.Mkdir(other, 0o700); err == nil && os.Chown(other, 12345, 12345) == nil {
			n++
			if e, err := New(context.Background(), Options{Prelude: plainPrelude, CacheDir: other}); err == nil {
				_ = e.Close()
				t.Error("another's directory was used")
			}
		}
	}
	for _, space := range []int{4 << 10, 64 << 10, 2 << 20} {
		if testing.Short() && space > 4<<10 {
			break
		}
		disk := filepath.Join(t.TempDir(), "disk")
		if err := os.Mkdir(disk, 0o700); err != nil {
			t.Fatal(err)
		}
		unmount, err := tinyDisk(disk, space)
		if err != nil {
			t.Logf("no small disk can be mounted: %v", err)
			break
		}
		start(fmt.Sprintf("a disk of %d bytes", space), disk, false)
		for path, b := range files(t, disk) {
			t.Errorf("a full disk keeps %s, %d bytes", path, len(b))
		}
		if space == 4<<10 && readOnly(disk) == nil {
			start("a read-only directory", disk, false)
		}
		unmount()
	}
	expectFooting(t, "damaged caches", before)
	t.Logf("attacks: %d", n)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// files reads all regular files below a directory, and names what is no file with nothing in it.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		out[path] = nil
		if d.Type().IsRegular() {
			out[path], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
