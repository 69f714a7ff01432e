package sandbox

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/klauspost/compress/s2"
)

// secret is what a guest hides. The parts of it are looked for as well, since it may be overwritten in part.
const secret = "zq7kx9vwhidden_treasurejp4"

// traces are the forms in which a secret may be left in memory: by halves, forwards or backwards, in each of the
// engine's two kinds of string.
func traces(secret string) (out [][]byte) {
	half := len(secret) / 2
	for _, s := range []string{secret[:half], secret[half:]} {
		for _, b := range [][]byte{[]byte(s), wide(s)} {
			back := bytes.Clone(b)
			slices.Reverse(back)
			out = append(out, b, back)
		}
		back := []byte(s)
		slices.Reverse(back)
		out = append(out, wide(string(back)))
	}
	return out
}

func wide(s string) (out []byte) {
	for _, u := range utf16.Encode([]rune(s)) {
		out = binary.LittleEndian.AppendUint16(out, u)
	}
	return out
}

// found looks for any trace.
func found(b []byte, traces [][]byte) (string, bool) {
	for _, trace := range traces {
		if at := bytes.Index(b, trace); at >= 0 {
			return fmt.Sprintf("%q at %#x", trace, at), true
		}
	}
	return "", false
}

// searcher looks from inside: through everything that can be reached from the global object, and through what new buffers,
// strings and arrays of many sizes hold before anything was written to them. The text is put together there.
const searcher = `
const search = (want) => {
	const seen = new Set, found = [], todo = [[globalThis, '']];
	const look = (s, at) => { if (typeof s === 'string' && (s.includes(want) || s.includes(want.slice(0, 13)) || s.includes(want.slice(13)))) found.push(at) };
	while (todo.length) {
		const [o, at] = todo.pop();
		if (seen.has(o) || seen.size > 20000) continue;
		seen.add(o);
		if (typeof o === 'function') try { look(Function.prototype.toString.call(o), at + '()') } catch {}
		if (o instanceof Map || o instanceof Set) for (const x of o) for (const y of [x].flat()) { look(y, at); if (Object(y) === y) todo.push([y, at + '@']) }
		if (ArrayBuffer.isView(o)) { look(String.fromCharCode(...new Uint8Array(o.buffer).subarray(0, 9000)), at); continue }
		const p = Object.getPrototypeOf(o);
		if (p) todo.push([p, at + '^']);
		for (const k of Reflect.ownKeys(o)) {
			look(typeof k === 'symbol' ? k.description : k, at + '.' + String(k).slice(0, 20));
			let d; try { d = Reflect.getOwnPropertyDescriptor(o, k) } catch { continue }
			for (const v of [d.value, d.get, d.set]) { look(v, at + '.' + String(k).slice(0, 20)); if (typeof v === 'symbol') look(v.description, at); if (Object(v) === v) todo.push([v, at + '.' + String(k).slice(0, 20)]) }
			if (d.get) try { const v = d.get.call(o); look(v, at + '.' + String(k)); if (Object(v) === v) todo.push([v, at + '!']) } catch {}
		}
	}
	for (const k of ['$1', '$_', 'lastMatch', 'input', '$&']) look(RegExp[k], 'RegExp.' + k);
	look(Symbol.keyFor(Symbol.for(want)) === want && Symbol.for(want).hidden, 'registry');
	for (let n = 8; n <= 1 << 20; n *= 4) {
		if (new BigUint64Array(n / 8).some(Boolean)) found.push('new Uint8Array ' + n);
		const b = new ArrayBuffer(8, {maxByteLength: n + 8}); b.resize(n + 8);
		if (new BigUint64Array(b).some(Boolean)) found.push('resized ' + n);
		if (n < 1 << 14 && Array(n).some((x) => x !== undefined)) found.push('Array ' + n);
	}
	return found;
};
globalThis.f = (codes) => { out = search(String.fromCharCode(...codes.map((c) => c - 1))).slice(0, 9).join(' ') || 'nothing' };`

// TestHostileIsolation has one guest hide a secret wherever it can, in every way that its activation may end, and another one
// come after it into the same machine, fresh or thawed, or into the one that replaces it. The second one searches; the host
// searches its whole memory, its frozen state, and all that came of its rounds.
func TestHostileIsolation(t *testing.T) {
	e := newEngine(t, Options{Workers: 1})
	ctx := context.Background()
	marks := traces(secret)
	n := 0

	// What a guest looked like that was frozen before anything was hidden.
	round := func(g *Guest, x int, script string) string {
		t.Helper()
		res, err := g.Run(ctx, Round{Input: fmt.Append(nil, x), Script: script, MaxOutput: 4000})
		if err != nil {
			t.Fatalf("%.80s: %v", script, err)
		}
		return string(res.Output)
	}
	const innocent = "let n = 0; const log = []; f = (x) => { n += x; log.push(new Error('e' + n).stack, 'v'.repeat(n)); const u = new Uint8Array(1 << 16); out = JSON.stringify([n, log, u[n]]) }"
	first := newGuest(t, e, Activation{})
	_ = round(first, 0, innocent)
	early, err := first.Freeze(ctx, 8<<20)
	if err != nil {
		t.Fatal(err)
	}
	first.Close()

	codes := []byte("[")
	for _, c := range []byte(secret) {
		codes = fmt.Appendf(codes, "%d,", c+1)
	}
	codes = append(codes[:len(codes)-1], ']')

	seen := 0
	endings := []struct{ name, script string }{
		{"", ""}, {"an exception", "throw new Error('SECRET')"}, {"a timeout", "'SECRET'.repeat(9); for (;;);"},
		{"a full heap", "const k = []; for (;;) k.push(('SECRET' + k.length).repeat(4000))"}, {"a full queue", "const q = (s) => Promise.resolve(s).then(q); q('SECRET')"},
		{"a trap", "let it = ['SECRET'].values(); for (let i = 0; i < 20000; i++) it = it.map((x) => x); it.next()"},
	}
	for k, hide := range attacks(t, "hide.txt")["hide"] {
		if testing.Short() && k%3 != 0 {
			continue
		}
		hide = strings.ReplaceAll(hide, "SECRET", secret)
		for m, end := range endings {
			if testing.Short() && m != k%len(endings) {
				continue
			}
			for _, kind := range []string{"fresh", "thawed"} {
				n++
				what := fmt.Sprintf("%s guest after %.80s, which ended with %q", kind, hide, end.name)
				a, err := e.Guest(Activation{})
				if err != nil {
					t.Fatal(err)
				}
				was := a.i
				_, err = a.Run(ctx, Round{Input: []byte("0"), Script: hide, MaxOutput: 9000})
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				if _, ok := found(was.mem.buf[:was.mem.size], marks); ok {
					seen++
				}
				if end.script != "" {
					a.budget = 4 * time.Millisecond
					_, err = a.Run(ctx, Round{Input: []byte("1"), Script: strings.ReplaceAll(end.script, "SECRET", secret), MaxOutput: 9000})
					if err == nil {
						t.Errorf("%s: it did not", what)
					}
				}
				sound := err == nil || isThrown(err)
				replaced := e.Replaced()
				a.Close()
				same := e.Replaced() == replaced
				if !sound && same {
					t.Errorf("%s: its instance is kept", what)
				}
				var b *Guest
				if kind == "fresh" {
					b, err = e.Guest(Activation{})
				} else {
					b, err = e.Thaw(early)
				}
				if err != nil {
					t.Fatal(err)
				}
				if same && b.i != was {
					t.Fatalf("%s: another instance", what)
				}
				outputs := ""
				for _, x := range []int{1, 2} {
					script := ""
					if kind == "fresh" && x == 1 {
						script = innocent
					}
					outputs += round(b, x, script)
				}
				frozen, err := b.Freeze(ctx, 8<<20)
				if err != nil {
					t.Fatal(err)
				}
				pages, err := s2.Decode(nil, frozen[frozenPages:])
				if err != nil {
					t.Fatal(err)
				}
				for where, bytes := range map[string][]byte{"memory": b.i.mem.buf[:b.i.mem.size], "frozen state": frozen, "frozen pages": pages, "output": []byte(outputs)} {
					if trace, ok := found(bytes, marks); ok {
						t.Errorf("%s: %s in its %s", what, trace, where)
					}
				}
				if beyond := b.i.mem.buf[b.i.mem.size:]; n%16 == 0 && bytes.Count(beyond, []byte{0}) != len(beyond) {
					t.Errorf("%s: something is beyond its memory", what)
				}
				b.Close()
			}
			if m != k%len(endings) {
				continue
			}
			// A third one searches from inside, in the same machine again.
			c := newGuest(t, e, Activation{})
			_ = round(c, 0, searcher)
			if res, err := c.Run(ctx, Round{Input: codes, MaxOutput: 4000}); err != nil || string(res.Output) != ">nothing" {
				t.Errorf("after %.80s: the search gives %q, %v", hide, res.Output, err)
			}
			c.Close()
		}
	}
	t.Logf("attacks: %d", n)
	if seen < n*9/10 {
		t.Errorf("the host sees the secret in %d of %d guests that hide it", seen, n)
	}
	// The search from inside does find what can be found.
	for _, script := range []string{"globalThis.x = 'SECRET'", "Object.prototype.SECRET = 1", "Array.prototype.push.s = [{x: 'SECRET'}]", "globalThis.g = () => 'SECRET'", "globalThis[Symbol('SECRET')] = 1", "Math.abs.m = new Map([[1, 'SECRET']])"} {
		g := newGuest(t, e, Activation{})
		_ = round(g, 0, strings.ReplaceAll(script, "SECRET", secret)+"\n"+searcher)
		if res, err := g.Run(ctx, Round{Input: codes, MaxOutput: 4000}); err != nil || string(res.Output) == ">nothing" {
			t.Errorf("%s: the search gives %q, %v", script, res.Output, err)
		}
		g.Close()
	}
}
