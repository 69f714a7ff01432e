// A peer on Node: answers requests, one JSON text a line, as ../protocol.go describes them.
//
//	node --expose-gc peer.mjs quickjs-emscripten|jsdom|happy-dom
import { createInterface } from 'node:readline';
import { readFileSync } from 'node:fs';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(import.meta.url);
const kind = isMainThread ? process.argv[2] : workerData.kind;
const engine = await load(kind);

async function load(kind) {
	if (kind === 'quickjs-emscripten') return (await import('./quickjs.mjs')).engine();
	if (kind === 'jsdom' || kind === 'happy-dom') return (await import('./dom.mjs')).engine(kind);
	throw new Error('no such engine: ' + kind);
}

function version() {
	const names = kind === 'quickjs-emscripten' ? ['quickjs-emscripten-core', '@jitl/quickjs-ng-wasmfile-release-sync'] : [kind];
	const of = (name) => name + ' ' + JSON.parse(readFileSync(new URL('./node_modules/' + name + '/package.json', import.meta.url))).version;
	return names.map(of).join(', ') + ', Node ' + process.versions.node;
}

// first is what a caller waits for: from the card's text to an answer's.
function first(open, text, inputs) {
	const a = open(JSON.parse(text));
	const answer = a.init(inputs);
	if (a.shown) answer.display = a.shown();
	JSON.stringify(answer);
	return a;
}

function sample(r, once, after) {
	const samples = [];
	const end = performance.now() + r.ms;
	for (const warm = performance.now() + r.warm_ms; performance.now() < warm;) after(once());
	do {
		const t = process.hrtime.bigint();
		const x = once();
		samples.push(Number(process.hrtime.bigint() - t));
		after(x);
	} while (performance.now() < end + r.warm_ms && samples.length < r.n);
	return { samples };
}

function play(r) {
	const a = engine.open(r.card);
	const answers = [a.init(r.inputs)];
	for (const e of r.rounds) {
		if (answers.at(-1).failure) break;
		answers.push(a.event(e, e.inputs));
	}
	try { a.close(); } catch (e) { return { answers, note: 'close: ' + e.message }; }
	return { answers };
}

// loop is what each worker of a cards request does.
function loop(r) {
	const text = JSON.stringify(r.card);
	const start = performance.now();
	let count = 0;
	do {
		const a = first(engine.open, text, r.inputs);
		for (const e of r.rounds) JSON.stringify(a.event(e, e.inputs));
		a.close();
		count++;
	} while (performance.now() - start < r.ms);
	return { count, ns: Math.round((performance.now() - start) * 1e6) };
}

async function cards(r) {
	const workers = await Promise.all(Array.from({ length: r.workers }, () => new Promise((resolve, reject) => {
		const w = new Worker(here, { workerData: { kind } });
		w.once('message', () => resolve(w));
		w.once('error', reject);
	})));
	const run = (request) => Promise.all(workers.map((w) => new Promise((resolve) => {
		w.once('message', resolve);
		w.postMessage(request);
	})));
	await run({ ...r, ms: r.warm_ms });
	const parts = await run(r);
	await Promise.all(workers.map((w) => w.terminate()));
	return { count: parts.reduce((n, p) => n + p.count, 0), ns: Math.max(...parts.map((p) => p.ns)) };
}

function idle(r) {
	const settle = () => { globalThis.gc?.(); globalThis.gc?.(); return process.memoryUsage.rss(); };
	const open = (n) => Array.from({ length: n }, () => {
		const a = engine.open(r.card);
		a.init(r.inputs);
		return a;
	});
	const warm = open(20);
	const before = settle();
	const all = open(r.n);
	const after = settle();
	for (const a of [...all, ...warm]) a.close();
	return { bytes: Math.round((after - before) / r.n) };
}

async function answer(r) {
	switch (r.op) {
	case 'hello': return { version: version() };
	case 'play': return play(r);
	case 'first': case 'seen': {
		const text = JSON.stringify(r.card);
		const open = r.op === 'seen' && engine.again ? engine.again : engine.open;
		return sample(r, () => first(open, text, r.inputs), (a) => a.close());
	}
	case 'round': {
		const a = engine.open(r.card);
		a.init(r.inputs);
		let failure = '';
		const e = r.rounds[0];
		const res = sample(r, () => {
			const answer = a.event(e, e.inputs);
			JSON.stringify(answer);
			return answer;
		}, (x) => { failure ||= x.failure; });
		a.close();
		if (failure) return { error: 'the round failed: ' + failure };
		return res;
	}
	case 'cards': return cards(r);
	case 'idle': return idle(r);
	}
	return { error: 'no such op: ' + r.op };
}

if (!isMainThread) {
	parentPort.on('message', (r) => parentPort.postMessage(loop(r)));
	parentPort.postMessage('ready');
} else {
	for await (const line of createInterface({ input: process.stdin })) {
		let reply;
		try { reply = await answer(JSON.parse(line)); } catch (e) { reply = { error: String(e?.stack ?? e) }; }
		process.stdout.write(JSON.stringify(reply) + '\n');
	}
}
