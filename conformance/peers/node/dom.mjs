// The card's script in a V8 context of its own (node:vm), with the five calls on a document that jsdom or happy-dom keeps. vm's
// timeout is the only budget there is; vm is, by its own documentation, no security boundary.
import vm from 'node:vm';
import { Round, limits } from './rules.mjs';

export async function engine(library) {
	let documentOf;
	if (library === 'jsdom') {
		const { JSDOM } = await import('jsdom');
		documentOf = (html) => {
			const dom = new JSDOM(html);
			return { document: dom.window.document, close: () => dom.window.close() };
		};
	} else {
		const { Window } = await import('happy-dom');
		documentOf = (html) => {
			const window = new Window();
			window.document.body.innerHTML = html;
			return { document: window.document, close: () => window.happyDOM.abort() };
		};
	}
	const scripts = new Map();
	return {
		open: (card) => new Activation(documentOf(card.html), card),
		// A document seen before has its script parsed.
		again(card) {
			let script = scripts.get(card.javascript);
			if (!script) scripts.set(card.javascript, script = new vm.Script(card.javascript, { filename: 'card.js' }));
			return new Activation(documentOf(card.html), card, script);
		},
	};
}

const dispatch = new vm.Script('__event()');

class Activation {
	constructor(page, card, script) {
		this.page = page;
		this.card = card;
		this.script = script;
		this.round = new Round();
		this.context = vm.createContext({ ui: this.calls() }, { microtaskMode: 'afterEvaluate' });
	}

	calls() {
		const { round, page: { document } } = this;
		const check = (wrong) => { if (wrong) throw new TypeError(wrong); };
		const target = (id) => {
			const e = document.getElementById(id);
			if (!e) throw new TypeError(round.fail('invalid_patch', 'no such element'));
			return e;
		};
		return {
			on(id, type, fn) {
				check(round.on(id, type, typeof fn === 'function'));
				round.handlers.set(id + ' ' + type, fn);
			},
			input(id) {
				const c = round.input(id);
				if (c === null) throw new TypeError('ui.input: no such control');
				return c;
			},
			text(id, value) { check(round.patch('text', id, value)); target(id).textContent = value; },
			html(id, value) { check(round.patch('html', id, value)); target(id).innerHTML = value; },
			value(id, value) { check(round.patch('value', id, value)); target(id).value = value; },
		};
	}

	init(inputs) {
		return this.run(inputs, () => {
			const script = this.script ?? new vm.Script(this.card.javascript, { filename: 'card.js' });
			script.runInContext(this.context, { timeout: limits.roundMS });
		});
	}

	event(e, inputs) {
		return this.run(inputs, () => {
			const fn = this.round.handlers.get(e.id + ' ' + e.type);
			if (fn === undefined) return;
			const shown = inputs[e.id];
			const arg = { id: e.id, type: e.type, value: shown ? shown.value : '', checked: shown ? shown.checked : false };
			this.context.__event = () => fn(arg);
			dispatch.runInContext(this.context, { timeout: limits.roundMS });
		});
	}

	run(inputs, call) {
		this.round.begin(inputs);
		try {
			call();
		} catch (e) {
			return this.round.answer(e?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT' ? 'timeout' : e instanceof SyntaxError ? 'script_syntax' : 'exception');
		}
		return this.round.answer();
	}

	// shown is the document as it stands.
	shown() { return this.page.document.body.innerHTML; }

	close() { this.page.close(); }
}
