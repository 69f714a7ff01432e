package main

// kernel is a program that computes, as the body of a handler; its value is shown, so that all can be held against each other.
type kernel struct{ name, body string }

// kernels take some milliseconds each on QuickJS in WebAssembly.
var kernels = []kernel{
	{"calls", "const f = (n) => n < 2 ? n : f(n - 1) + f(n - 2); return f(21);"},
	{"loops", "let s = 0; for (let i = 0; i < 60000; i++) { s = (s + (i & 7) * 3) | 0; if (i % 3 === 0) s ^= i; } return s;"},
	{"objects", "const k = []; for (let i = 0; i < 6000; i++) k.push({a: i, b: [i, i + 1], c: {d: i}}); let s = 0; for (const o of k) s += o.a + o.b[1] + o.c.d; return s + k.map((o) => ({...o, e: 1})).filter((o) => o.a % 2).length;"},
	{"sort", "const a = []; let x = 1; for (let i = 0; i < 5000; i++) a.push(x = x * 16807 % 2147483647); a.sort((p, q) => p - q); return a[0] + ' ' + a[2500];"},
	{"strings", "let t = ''; for (let i = 0; i < 3000; i++) t += i; let n = 0; for (let i = 0; i < 100; i++) n += t.indexOf('299' + i) + t.slice(i).length; const w = []; for (let i = 0; i < 1000; i++) w.push(`row ${i}: ${(i * 1.1).toFixed(2)}`); return n + w.join(',').length + t.split('1').length + t.replace(/9/g, 'nine').length;"},
	{"json", "const o = {a: [], b: {}}; for (let i = 0; i < 150; i++) { o.a.push({i, s: 'x' + i}); o.b['k' + i] = [i, null, true]; } let n = 0; for (let i = 0; i < 12; i++) n += JSON.stringify(JSON.parse(JSON.stringify(o))).length; return n;"},
	{"regexp", "let m = 0; for (let i = 0; i < 1500; i++) m += /^(\\w+)-(\\d+)@(.*)$/.exec('abcdef-' + i + '@' + 'z'.repeat(40))[2].length; return m + ('a1b22c333'.repeat(400).match(/[a-z]\\d+/g)).length;"},
}

// card is a card with a button that runs the kernel.
func (k kernel) card() string {
	return "ui.on('go', 'click', () => { ui.text('out', String(run())); });\nfunction run() { " + k.body + " }\n"
}
