// The five calls as a host keeps them, for engines on Node: what may be asked, what was asked, and the first thing that was
// wrong. It knows no engine; quickjs.mjs and dom.mjs bind it.

export const limits = { roundMS: 250, heap: 32 << 20, stack: 256 << 10, jobs: 256, patches: 64, handlers: 192, batch: 16000 };

const idForm = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
const types = new Set(['input', 'change', 'click']);

// Round is what a card asks for between two answers.
export class Round {
	constructor() {
		this.handlers = new Map(); // "id type" → whatever the engine calls
		this.failure = '';
		this.begin({});
	}

	begin(inputs) {
		this.inputs = inputs;
		this.asked = new Map();
		this.patches = [];
		this.registered = [];
		this.units = 2;
	}

	fail(code, message) {
		if (this.failure === '') this.failure = code;
		return message;
	}

	// on, patch and input give '' or what is wrong; input gives a control or null.
	on(id, type, isFunction) {
		if (this.failure) return 'an earlier ui call failed';
		if (typeof id !== 'string' || !idForm.test(id)) return this.fail('ui_operation', 'ui.on: the id must be a string like an element id');
		if (!types.has(type)) return this.fail('ui_operation', 'ui.on: the type must be input, change or click');
		if (!isFunction) return this.fail('ui_operation', 'ui.on: the handler must be a function');
		const key = id + ' ' + type;
		if (!this.handlers.has(key)) {
			if (this.handlers.size === limits.handlers) return this.fail('ui_operation', 'ui.on: too many handlers');
			this.registered.push([id, type]);
		}
		return '';
	}

	patch(op, id, value) {
		if (this.failure) return 'an earlier ui call failed';
		if (typeof id !== 'string' || typeof value !== 'string') return this.fail('ui_operation', 'ui.' + op + ': id and value must be strings');
		if (this.patches.length === limits.patches) return this.fail('patches', 'more than 64 patches');
		const patch = { op, id: id.toWellFormed(), value: value.toWellFormed() };
		this.units += JSON.stringify(patch).length + (this.patches.length ? 1 : 0);
		if (this.units > limits.batch) return this.fail('input_limit', 'the batch is too long');
		this.patches.push(patch);
		if (op === 'value') this.asked.set(id, value);
		return '';
	}

	input(id) {
		if (this.failure) return null;
		const shown = typeof id === 'string' && Object.hasOwn(this.inputs, id) ? this.inputs[id] : undefined;
		const asked = this.asked.get(id);
		if (shown === undefined && asked === undefined) {
			this.fail('ui_operation', '');
			return null;
		}
		return { value: asked ?? shown.value, checked: shown ? shown.checked : false };
	}

	// answer is the round's result as it would go to a page.
	answer(thrown = '') {
		return { patches: this.patches, handlers: this.registered, failure: this.failure || thrown };
	}
}
