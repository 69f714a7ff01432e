// The JavaScript that a card sees: the object ui, and the three functions through which the host moves a round.
//
// It runs once, before the boot image is taken. Afterwards the card owns every global object and every prototype, so
// nothing below looks up a property that the card could have put there: built-ins are captured here, tables have no
// prototype, characters are read by index, and what is for the host stands in an array whose elements are all there before
// the card is. What leaves are its strings; what the card prints or throws has no other way out.
//
// The names in backquotes are rules of the specification.
(function (limits) {
	'use strict';

	const stringify = JSON.stringify; // of a primitive string it looks up nothing
	const apply = Reflect.apply;
	const create = Object.create;
	const hasOwn = Object.hasOwn;
	const slice = String.prototype.slice;
	const toWellFormed = String.prototype.toWellFormed;
	const PromiseCtor = Promise;
	const promiseResolve = Promise.resolve;
	const toString = String;
	const UIError = TypeError;

	const handlers = create(null); // "id type" → function
	let pairs = 0;
	let failure = ''; // JSON of the first failed operation; it ends the activation, caught or not (`R64`, `R113`)
	let failed = false;

	let snapshot = create(null); // id → value, as displayed when the round began (`R72`)
	let checked = null; // id → true for those that are checked; null where none is
	let requested = null; // id → value asked for by ui.value in this round (`R57`); null where none is

	// parts are what the round has done, three strings each: op, id and value of a patch, or 'on', id and type of a new handler,
	// or at the end 'failure', its JSON, ''. Setting an element that is there looks at no prototype.
	const parts = [];
	for (let i = 0; i < 3 * (limits.patches + limits.handlers + 1); i++) parts[i] = '';
	let used = 0;
	let before = 0; // used of the round before
	let count = 0; // of patches

	// The batch's JSON text is measured (`D19`), but not made: most is what it has at most, in units. Where that is too much, exact
	// is told for the parts up to measured.
	let most = 2, exact = 2, measured = 0;

	let inside = false; // between enter and leave
	let over = false; // something was thrown that ends the activation; what its getters still call comes to nothing

	// quote is a string as JSON text, lone surrogates replaced first (`D2`): they must not count as the escapes that JSON has for them.
	const quote = (s) => stringify(apply(toWellFormed, s, []));

	const cut = (s, n) => s.length > n ? apply(slice, s, [0, n]) + '…' : s;

	// own is s as a string by itself. What is cut from a longer string is, from about a thousand units on, a window on that one in this
	// engine, and would keep it in memory for as long as parts keep what was cut.
	const own = (s) => s.length < 500 ? s : s[0] + apply(slice, s, [1]);

	// kind names a value for a message without running any of its code.
	const kind = (v) => v === null ? 'null' : typeof v;

	// fail records the failure and gives the error to throw. Only the first one counts.
	// What it does may run into the end of the stack anywhere, so the failure stands, in short, before it is told in full.
	const fail = (code, message) => {
		const first = !failed;
		if (first) {
			failure = '{"code":"' + code + '","message":"a ui call failed where the stack was almost full","stack":""}';
			failed = true;
		}
		const error = new UIError(message);
		if (first) {
			const stack = error.stack;
			failure = '{"code":"' + code + '","message":' + stringify(cut(message, 500)) + ',"stack":' +
				stringify(typeof stack === 'string' ? cut(stack, 1000) : '') + '}';
		}
		return error;
	};

	const refuse = (message) => fail('ui_operation', message);

	const late = () => new UIError(failed ? 'an earlier ui call failed; the activation has ended' : 'the activation has ended');

	// valid tells whether s matches ^[A-Za-z][A-Za-z0-9_-]{0,63}$ (`R24`).
	const valid = (s) => {
		const n = s.length;
		if (n === 0 || n > 64) return false;
		for (let i = 0; i < n; i++) {
			const c = s[i];
			if (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') continue;
			if (i > 0 && (c >= '0' && c <= '9' || c === '_' || c === '-')) continue;
			return false;
		}
		return true;
	};

	// size is the length of a patch's JSON text, with the comma before it if it is not the first.
	const size = (op, id, value) => (exact === 2 ? 24 : 25) + op.length + quote(id).length + quote(value).length;

	// emit adds one patch (`R53`–`R56`, `R104`, `R107`). Whether its target is there is seen when the batch is applied (`D12`).
	const emit = (op, id, value) => {
		if (failed || over) throw late();
		if (typeof id !== 'string') throw refuse('ui.' + op + ': the id must be a string, not ' + kind(id));
		if (typeof value !== 'string') throw refuse('ui.' + op + "('" + cut(id, 64) + "'): the value must be a string, not " + kind(value) + '; use String(…)');
		if (count === limits.patches) throw fail('patches', 'more than ' + limits.patches + ' ui.text, ui.html and ui.value calls in one round');
		const n = most + 6 * (id.length + value.length) + 40; // no escape has more than six characters
		if (n <= limits.batch) most = n;
		else {
			for (; measured < used; measured += 3)
				if (parts[measured] !== 'on') exact += size(parts[measured], parts[measured + 1], parts[measured + 2]);
			const n = exact + size(op, id, value);
			if (n > limits.batch) throw fail('input_limit', 'the patches of this round pass ' + limits.batch + ' characters');
			most = exact = n;
			measured = used + 3;
		}
		id = own(id);
		value = own(value);
		parts[used] = op;
		parts[used + 1] = id;
		parts[used + 2] = value;
		used += 3;
		count++;
	};

	const ui = {
		// on registers a handler (`R50`, `R60`, `R61`, `D10`).
		on(id, type, fn) {
			if (failed || over) throw late();
			if (typeof id !== 'string' || !hasOwn(snapshot, id) && !valid(id)) throw refuse('ui.on: the id must be a string like an element id, not ' + (typeof id === 'string' ? "'" + cut(id, 64) + "'" : kind(id)));
			if (type !== 'input' && type !== 'change' && type !== 'click') throw refuse("ui.on('" + id + "'): the type must be 'input', 'change' or 'click', not " + (typeof type === 'string' ? "'" + cut(type, 64) + "'" : kind(type)));
			if (typeof fn !== 'function') throw refuse("ui.on('" + id + "', '" + type + "'): the handler must be a function, not " + kind(fn));
			const key = id + ' ' + type;
			if (handlers[key] === undefined) {
				if (pairs === limits.handlers) throw refuse('ui.on: more than ' + limits.handlers + ' pairs of element and event type');
				pairs++;
				parts[used] = 'on';
				parts[used + 1] = id;
				parts[used + 2] = type;
				used += 3;
			}
			handlers[key] = fn;
		},
		// input gives a control's value: what was asked for in this round, else what was displayed (`R52`, `R57`–`R59`).
		input(id) {
			if (failed || over) throw late();
			if (typeof id !== 'string') throw refuse('ui.input: the id must be a string, not ' + kind(id));
			const shown = hasOwn(snapshot, id) ? snapshot[id] : undefined;
			const asked = requested === null ? undefined : requested[id];
			if (asked === undefined && shown === undefined) throw refuse("ui.input('" + cut(id, 64) + "'): no control with this id was displayed when the round began");
			return { value: asked === undefined ? shown : asked, checked: checked !== null && hasOwn(checked, id) };
		},
		// text replaces an element's content by plain text (`R53`).
		text(id, value) { emit('text', id, value); },
		// html replaces an element's children by a sanitized fragment (`R54`).
		html(id, value) { emit('html', id, value); },
		// value requests a control's current value (`R55`).
		value(id, value) {
			if (requested === null) requested = create(null); // first: it may run into the end of the stack, too
			emit('value', id, value);
			requested[parts[used - 2]] = parts[used - 1];
		},
	};
	for (const name of ['on', 'input', 'text', 'html', 'value']) Object.freeze(ui[name]);
	Object.freeze(ui);
	Object.defineProperty(globalThis, 'ui', { value: ui, writable: true, enumerable: false, configurable: true });

	return {
		parts,
		// enter begins a round. input is made by JSON.parse, and its members are its own: i and t are the event's id and type, i is
		// null where there is none; s has the value of each control, c, or null, has true for each that is checked.
		enter(input) {
			if (inside) return; // the host calls it once a round; nobody else shall
			inside = true;
			snapshot = input.s;
			checked = input.c;
			requested = null;
			before = used;
			used = count = measured = 0;
			most = exact = 2;
			const id = input.i;
			if (id === null) return;
			const type = input.t;
			const fn = handlers[id + ' ' + type];
			if (fn === undefined) return;
			const result = fn({
				id, type,
				value: hasOwn(snapshot, id) ? snapshot[id] : '', checked: checked !== null && hasOwn(checked, id),
			});
			if (typeof result === 'object' && result !== null || typeof result === 'function')
				return apply(promiseResolve, PromiseCtor, [result]); // `D24`
		},
		// leave ends it, and tells how many parts there are.
		leave() {
			inside = false;
			if (failed) {
				parts[used] = 'failure';
				parts[used + 1] = failure;
				parts[used + 2] = '';
				used += 3;
			}
			for (let i = used; i < before; i++) parts[i] = '';
			return used;
		},
		// describe tells what was thrown. Getters and toString of the card may run for it, inside the round's budgets.
		describe(thrown) {
			over = true;
			let message = '', stack = '';
			try {
				if (typeof thrown === 'object' && thrown !== null) {
					const name = thrown.name, text = thrown.message;
					if (typeof text === 'string') message = (typeof name === 'string' && name !== '' ? cut(name, 64) + ': ' : '') + text;
					else message = toString(thrown);
					if (typeof thrown.stack === 'string') stack = thrown.stack;
				} else message = toString(thrown);
			} catch {
				message = 'a value that cannot be shown was thrown';
			}
			return '{"message":' + stringify(cut(message, 500)) + ',"stack":' + stringify(cut(stack, 1000)) + '}';
		},
	};
})
