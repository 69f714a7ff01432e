(() => {
	const host = globalThis.__host, read = globalThis.__input, handlers = Object.create(null);
	delete globalThis.__host;
	delete globalThis.__input;
	const call = (op, id, value) => {
		const wrong = host(op, id, value);
		if (wrong !== '') throw new TypeError(wrong);
	};
	const strings = (op, id, value) => {
		if (typeof id !== 'string' || typeof value !== 'string') call('refused', op, '');
		call(op, id, value);
	};
	globalThis.ui = {
		on(id, type, fn) {
			if (typeof id !== 'string' || typeof type !== 'string' || typeof fn !== 'function') call('refused', 'on', '');
			call('on', id, type);
			handlers[id + ' ' + type] = fn;
		},
		// The host gives a value with 0 or 1 in front, or nothing.
		input(id) {
			const c = read(typeof id === 'string' ? id : '');
			if (c === '') throw new TypeError('ui.input: no such control');
			return { value: c.slice(1), checked: c[0] === '1' };
		},
		text(id, value) { strings('text', id, value); },
		html(id, value) { strings('html', id, value); },
		value(id, value) { strings('value', id, value); },
	};
	globalThis.__event = (id, type, value, checked) => {
		const fn = handlers[id + ' ' + type];
		if (fn === undefined) return;
		const result = fn({ id, type, value, checked });
		if (typeof result === 'object' && result !== null && typeof result.then === 'function')
			result.then(undefined, () => { host('rejected', '', ''); });
	};
})();
