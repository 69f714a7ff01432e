// QuickJS-ng in WebAssembly on V8, as quickjs-emscripten offers it: a runtime and a context for each activation, in one module,
// with its memory limit, stack size, interrupt handler and job limit set. The five calls are functions of the host.
import { newQuickJSWASMModuleFromVariant } from 'quickjs-emscripten-core';
import variant from '@jitl/quickjs-ng-wasmfile-release-sync';
import { Round, limits } from './rules.mjs';

export async function engine() {
	const module = await newQuickJSWASMModuleFromVariant(variant);
	return { open: (card) => new Activation(module, card) };
}

class Activation {
	constructor(module, card) {
		this.card = card;
		this.round = new Round();
		this.deadline = 0;
		this.runtime = module.newRuntime();
		this.runtime.setMemoryLimit(limits.heap);
		this.runtime.setMaxStackSize(limits.stack);
		this.runtime.setInterruptHandler(() => performance.now() > this.deadline);
		this.vm = this.runtime.newContext();
		this.bind();
	}

	bind() {
		const { vm, round } = this;
		const string = (h) => h !== undefined && vm.typeof(h) === 'string' ? vm.getString(h) : undefined;
		const refuse = (message) => { throw Object.assign(new TypeError(message), { stack: undefined }); };
		const ui = vm.newObject();
		const add = (name, fn) => {
			const f = vm.newFunction(name, fn);
			vm.setProp(ui, name, f);
			f.dispose();
		};
		add('on', (id, type, fn) => {
			const i = string(id), t = string(type);
			const wrong = round.on(i, t, fn !== undefined && vm.typeof(fn) === 'function');
			if (wrong) refuse(wrong);
			const key = i + ' ' + t;
			round.handlers.get(key)?.dispose();
			round.handlers.set(key, fn.dup());
		});
		for (const op of ['text', 'html', 'value']) {
			add(op, (id, value) => {
				const wrong = round.patch(op, string(id), string(value));
				if (wrong) refuse(wrong);
			});
		}
		add('input', (id) => {
			const c = round.input(string(id));
			if (c === null) refuse('ui.input: no such control');
			return this.object(c);
		});
		vm.setProp(vm.global, 'ui', ui);
		ui.dispose();
	}

	// object makes an object of strings and booleans in the guest.
	object(members) {
		const { vm } = this;
		const o = vm.newObject();
		for (const name in members) {
			const m = members[name];
			if (typeof m === 'boolean') {
				vm.setProp(o, name, m ? vm.true : vm.false);
				continue;
			}
			const s = vm.newString(m);
			vm.setProp(o, name, s);
			s.dispose();
		}
		return o;
	}

	init(inputs) {
		const answer = this.run(inputs, () => {
			const result = this.vm.evalCode(this.card.javascript, 'card.js', { type: 'global' });
			if (result.error) return result;
			result.value.dispose(); // a promise there is nobody's to wait for
			return { value: this.vm.undefined };
		});
		if (answer.failure === 'exception' && this.syntax && !this.parses()) answer.failure = 'script_syntax';
		return answer;
	}

	// parses tells a script that does not parse from one that threw a SyntaxError.
	parses() {
		const result = this.vm.evalCode(this.card.javascript, 'card.js', { type: 'global', compileOnly: true });
		const ok = !result.error;
		(result.error ?? result.value).dispose();
		return ok;
	}

	event(e, inputs) {
		return this.run(inputs, () => {
			const fn = this.round.handlers.get(e.id + ' ' + e.type);
			if (fn === undefined) return undefined;
			const shown = inputs[e.id];
			const arg = this.object({ id: e.id, type: e.type, value: shown ? shown.value : '', checked: shown ? shown.checked : false });
			const result = this.vm.callFunction(fn, this.vm.undefined, arg);
			arg.dispose();
			return result;
		});
	}

	run(inputs, call) {
		this.round.begin(inputs);
		this.deadline = performance.now() + limits.roundMS;
		const result = call();
		if (result === undefined) return this.round.answer();
		if (result.error) return this.round.answer(this.code(result.error));
		let value = result.value, failure = '';
		if (this.vm.typeof(value) === 'object' && this.vm.getPromiseState(value).notAPromise) value = this.adopt(value);
		const jobs = this.runtime.executePendingJobs(limits.jobs);
		if (jobs.error) failure = this.code(jobs.error);
		else if (this.runtime.hasPendingJob()) failure = 'microtasks';
		else if (this.vm.typeof(value) === 'object') {
			const state = this.vm.getPromiseState(value);
			if (state.type === 'rejected') failure = this.code(state.error) === 'timeout' ? 'timeout' : 'rejection';
			else if (state.type === 'fulfilled' && !state.notAPromise) state.value.dispose();
		}
		if (value.alive) value.dispose();
		return this.round.answer(failure);
	}

	// adopt is Promise.resolve, for what a handler returned that is an object and no promise.
	adopt(value) {
		const maker = this.vm.unwrapResult(this.vm.evalCode('(v) => v === null ? v : Promise.resolve(v)'));
		const made = this.vm.callFunction(maker, this.vm.undefined, value);
		maker.dispose();
		if (made.error) {
			made.error.dispose();
			return value;
		}
		value.dispose();
		return made.value;
	}

	code(error) {
		let name = '', message = '';
		try {
			const thrown = this.vm.dump(error);
			name = String(thrown?.name);
			message = String(thrown?.message);
		} catch { /* what was thrown cannot be shown */ }
		error.dispose();
		if (name === 'InternalError' && message === 'interrupted') return 'timeout';
		if (message === 'out of memory') return 'memory';
		this.syntax = name === 'SyntaxError';
		return 'exception';
	}

	close() {
		for (const fn of this.round.handlers.values()) fn.dispose();
		this.vm.dispose();
		this.runtime.dispose();
	}
}
