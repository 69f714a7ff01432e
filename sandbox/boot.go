package sandbox

import "strings"

// globals are the names that a guest's global object has before the prelude adds its own: ECMAScript's, and what
// QuickJS has beside them that computes and does nothing else. Whatever else the binary puts there is deleted at boot.
var globals = []string{
	"AggregateError", "Array", "ArrayBuffer", "BigInt", "BigInt64Array", "BigUint64Array", "Boolean", "DOMException",
	"DataView", "Date", "Error", "EvalError", "FinalizationRegistry", "Float16Array", "Float32Array", "Float64Array",
	"Function", "Infinity", "Int16Array", "Int32Array", "Int8Array", "InternalError", "Iterator", "JSON", "Map", "Math",
	"NaN", "Number", "Object", "Promise", "Proxy", "RangeError", "ReferenceError", "Reflect", "RegExp", "Set",
	"SharedArrayBuffer", "String", "Symbol", "SyntaxError", "TypeError", "URIError", "Uint16Array", "Uint32Array",
	"Uint8Array", "Uint8ClampedArray", "WeakMap", "WeakRef", "WeakSet", "decodeURI", "decodeURIComponent", "encodeURI",
	"encodeURIComponent", "escape", "eval", "globalThis", "isFinite", "isNaN", "parseFloat", "parseInt",
	"queueMicrotask", "undefined", "unescape",
}

// bootScript deletes every other property of the global object, and fails when one cannot be deleted. It also takes the
// one method of stack frames that hands out functions: they would be those of the prelude; and SharedArrayBuffer's grow, which in
// this build makes a buffer longer than the memory that it was given.
var bootScript = `'use strict';
{
	Error.prepareStackTrace = (_, frames) => frames;
	const frame = Object.getPrototypeOf(new Error().stack[0]);
	delete frame.getFunction;
	Error.prepareStackTrace = undefined;
	if ('getFunction' in frame || typeof new Error().stack !== 'string') throw 0;
	delete SharedArrayBuffer.prototype.grow;
	if ('grow' in SharedArrayBuffer.prototype) throw 0;
	const keep = new Set('` + strings.Join(globals, " ") + `'.split(' '));
	for (const key of Reflect.ownKeys(globalThis))
		if (!keep.has(key) && key !== Symbol.toStringTag) delete globalThis[key];
}
0`
