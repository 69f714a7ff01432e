// Patches on a DOM: what a browser does with text, html and value patches so that its tree is that of the server's document.
// Knows the DOM; knows no frame, no session and no network.

const svgNS = 'http://www.w3.org/2000/svg', htmlNS = 'http://www.w3.org/1999/xhtml';

// Nothing with one of these names is ever let into a card's frame, whatever was sent: the sanitizer lets none of them through, and
// the frame could not run or load them. Here is the third wall, against what would leave the frame: links, forms, refreshes.
const banned = new Set(`a animate animatemotion animatetransform applet area audio base body embed feimage fencedframe foreignobject
  form frame frameset head html iframe image img link math meta noscript object picture plaintext portal script set source style
  template track use video xmp`.split(/\s+/));
const bannedAttribute = /^(on.*|style|href|xlink:.*|src|srcset|srcdoc|data|action|form|form.*|ping|background|poster|target|is|slot|popover.*|command.*|autofocus|contenteditable|accesskey|draggable|nonce|part|shadowrootmode)$/i;

// scrub takes banned elements and attributes out of parsed nodes.
function scrub(nodes) {
  const stack = [...nodes];
  while (stack.length > 0) {
    const n = stack.pop();
    if (n.nodeType === 3) continue;
    const known = n.nodeType === 1 && (n.namespaceURI === htmlNS || n.namespaceURI === svgNS);
    if (!known || banned.has(n.localName.toLowerCase()) || n.localName.includes('-')) {
      n.remove();
      continue;
    }
    for (const a of [...n.attributes]) if (bannedAttribute.test(a.name)) n.removeAttributeNode(a);
    stack.push(...n.childNodes);
  }
}

// A page that demands Trusted Types lists the policy name cardrun.
let policy;
export function trusted(text) {
  if (!globalThis.trustedTypes) return text;
  policy ??= trustedTypes.createPolicy('cardrun', {createHTML: s => s});
  return policy.createHTML(text);
}

// parseHTML reads html as body content in a document without scripting, and gives its nodes.
export function parseHTML(html) {
  const body = document.implementation.createHTMLDocument('').body;
  body.innerHTML = trusted(html);
  scrub(body.childNodes);
  return [...body.childNodes];
}

export const isControl = e => e.namespaceURI === htmlNS && /^(input|select|textarea|button)$/.test(e.localName);
const isVoid = e => e.namespaceURI === htmlNS && /^(br|hr|wbr|col|input)$/.test(e.localName);
const isToggle = e => e.type === 'checkbox' || e.type === 'radio';
export const typesText = e => e.localName === 'textarea' || e.localName === 'input' && e.type === 'text';

// plain is text without NUL, which no HTML text can say.
const plain = s => s.replaceAll('\0', '\ufffd');

// fate says what becomes of a node of a fragment under parent. The document on the server keeps only what HTML text can say:
// see patches.Document.
function fate(parent, n) {
  const element = n.nodeType === 1;
  if (parent.namespaceURI === svgNS) {
    if (!element || n.namespaceURI === svgNS && !/^(title|desc)$/.test(parent.localName)) return 'keep';
    return isControl(n) ? 'drop' : 'unwrap';
  }
  switch (parent.localName) {
  case 'textarea': return element ? 'drop' : 'keep';
  case 'option': return element ? 'unwrap' : 'keep';
  case 'select': case 'optgroup':
    if (!element || n.localName === 'option' || parent.localName === 'select' && /^(optgroup|hr)$/.test(n.localName)) return 'keep';
    return isControl(n) ? 'drop' : 'unwrap';
  }
  return isVoid(parent) ? 'drop' : 'keep';
}

// fitting gives what stays of nodes under parent. The nodes are changed.
function fitting(parent, nodes) {
  const out = [];
  for (const n of nodes) {
    switch (fate(parent, n)) {
    case 'keep':
      if (n.nodeType === 1) n.replaceChildren(...fitting(n, [...n.childNodes]));
      out.push(n);
      break;
    case 'unwrap': out.push(...fitting(parent, [...n.childNodes])); break;
    }
  }
  return out;
}

// find gives the element with that id below root, or null.
export const find = (root, id) => root.querySelector('#' + CSS.escape(id));

// applyPatches applies a batch below root. It throws where a target is missing: then root is not what the server has.
export function applyPatches(root, patches) {
  for (const {op, id, value} of patches) {
    const e = find(root, id);
    if (!e) throw new Error('no element has the id ' + id);
    switch (op) {
    case 'text':
      if (!isVoid(e)) e.textContent = plain(value);
      break;
    case 'html':
      e.replaceChildren(...fitting(e, parseHTML(value)));
      limitTyping(e);
      break;
    case 'value':
      // What a button, checkbox or radio is given here is an attribute, and a parser reads no carriage return in one.
      setValue(e, e.localName === 'button' || isToggle(e) ? plain(value).replace(/\r\n?/g, '\n') : plain(value));
      break;
    }
  }
}

// fill makes nodes of html all that is below root.
export function fill(root, html) {
  root.replaceChildren(...parseHTML(html));
  limitTyping(root);
}

// setValue gives a control a value, and leaves it alone when it has it: number inputs show texts that are no values.
export function setValue(e, value) {
  if (e.value !== value) e.value = value;
}

// setState makes a control what a user made it: its value, or whether it is checked. Where the control is another now, it
// does nothing, as the server's document does.
export function setState(e, {value, checked}) {
  if (!e || !isControl(e) || e.localName === 'button') return;
  if (isToggle(e)) {
    if (checked !== undefined && e.checked !== checked) e.checked = checked;
  } else if (value !== undefined) {
    setValue(e, value);
  }
}

// stateOf is what a control holds, as an event carries it; nothing for a button and for what is no control.
export function stateOf(e) {
  if (!isControl(e) || e.localName === 'button') return {};
  return isToggle(e) ? {value: e.value, checked: e.checked} : {value: e.value};
}

// The longest value of a control, in UTF-16 code units.
export const valueLimit = 2048;

// limitTyping gives text fields below root the limit that they have even where their author set none.
function limitTyping(root) {
  for (const e of root.querySelectorAll('input,textarea')) {
    if (typesText(e) && (e.maxLength < 0 || e.maxLength > valueLimit)) e.maxLength = valueLimit;
  }
}
