import {applyPatches, fill, find, isControl, setState, setValue, stateOf, trusted, typesText, valueLimit} from './patch.js';

// A card in a frame that cannot run scripts. Knows how to show a display, apply batches to it, and tell what its user does;
// knows no session and no network.
//
//   const frame = new CardFrame(element, {title: 'Tip', onevent: e => queue.push(e)});
//   frame.show(snapshot.display);
//   frame.apply(round.patches, queue.edits());
//
// The frame is of the page's origin, since the page reaches into it, and sandboxed without allow-scripts: nothing in it can
// run, so nothing in it can use that origin. It cannot submit, open windows or navigate the page either. Its policy loads nothing,
// and style sheets are constructed, which imports nothing. Should it ever navigate itself, it is thrown away and made anew.
//
// A page that is itself in a sandbox without an origin cannot reach into a frame, and some browsers call no listeners in one. With
// the option shadow, such a page shows the card in a shadow tree of its own, contained so that it paints nowhere else. That page
// must have a policy by which nothing in the tree can run or load. Rules for the page (:root, html, body) mean nothing there.

const frameText = `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; base-uri 'none'; form-action 'none'">
<meta name="referrer" content="no-referrer"><title>Card</title></head><body><div class="cardrun-card"></div></body></html>`;

// A card without colours of its own is dark on light. One that minds prefers-color-scheme or color-scheme follows the reader's.
const baseStyle = adapts => `
:root { color-scheme: ${adapts ? 'light dark' : 'light'}; background: Canvas; color: CanvasText; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0; }
.cardrun-card { display: flow-root; overflow-wrap: break-word; }
`;

// In a shadow tree: nothing is inherited, and what is fixed or floats stays in the box.
const shadowStyle = (adapts, height) => `
:host { all: initial; display: block; contain: layout paint style; isolation: isolate; overflow: auto; max-height: ${height}px;
  color-scheme: ${adapts ? 'inherit' : 'light'}; background: Canvas; color: CanvasText; font: 16px/1.5 system-ui, sans-serif; }
.cardrun-card { display: flow-root; overflow-wrap: break-word; }
`;

export class CardFrame {
  #element;
  #o;
  #iframe;
  #document;
  #card;
  #base;
  #style;
  #shown = null;
  #inert = false;
  #composing = null;
  #shaded = false;
  #observer;
  #there;

  // Options: title names the frame for those who hear it. onevent is called with each {id, type, value, checked} that the
  // user brings about. handlers() gives the snapshot's handlers, to find the element that a click is for. maxHeight, in CSS
  // pixels, is where a card begins to scroll; the default is 1600. shadow is described above. onready is called once the frame shows things, with
  // whether events are heard in it.
  constructor(element, options = {}) {
    this.#element = element;
    this.#o = {title: 'Card', maxHeight: 1600, onevent() {}, onready() {}, handlers: () => [], ...options};
    this.#observer = new ResizeObserver(() => this.#fit());
    this.#make();
  }

  #make() {
    this.#iframe?.remove();
    const f = this.#iframe = document.createElement('iframe');
    f.setAttribute('sandbox', 'allow-same-origin');
    f.setAttribute('referrerpolicy', 'no-referrer');
    f.setAttribute('allow', '');
    f.title = this.#o.title;
    f.style.cssText = 'display: block; width: 100%; border: 0; height: 4rem;';
    this.#document = null;
    let loads = 0;
    this.#there = new Promise(done => {
      f.addEventListener('load', () => {
        if (this.#iframe !== f) return;
        if (++loads === 1) {
          this.#adopt();
          done();
        } else { // it went elsewhere, which nothing in it should be able to bring about
          this.#make();
        }
      });
    });
    f.srcdoc = trusted(frameText);
    this.#element.append(f);
  }

  // ready settles once the frame can show things.
  get ready() { return this.#there; }

  // document is that of the frame, null before it is ready.
  get document() { return this.#document; }
  get iframe() { return this.#iframe; }
  get card() { return this.#card; }

  #adopt() {
    if (!this.#iframe.contentDocument && this.#o.shadow) this.#shade();
    else this.#enter(this.#iframe.contentDocument, this.#iframe.contentWindow);
  }

  // shade puts a shadow tree in the place of the frame.
  #shade() {
    const host = document.createElement('div'), card = document.createElement('div');
    card.className = 'cardrun-card';
    host.setAttribute('role', 'group');
    host.setAttribute('aria-label', this.#o.title);
    const root = host.attachShadow({mode: 'closed'});
    root.append(card);
    this.#iframe.replaceWith(host);
    this.#iframe = host;
    this.#shaded = true;
    this.#enter(root, window);
  }

  #enter(d, w) {
    this.#document = d;
    this.#card = d.querySelector('.cardrun-card');
    this.#base = new w.CSSStyleSheet();
    this.#style = new w.CSSStyleSheet();
    d.adoptedStyleSheets = [this.#base, this.#style];
    for (const type of ['input', 'change', 'click']) d.addEventListener(type, e => this.#heard(e), true);
    d.addEventListener('compositionstart', e => { this.#composing = e.target; }, true);
    d.addEventListener('compositionend', () => { this.#composing = null; }, true);
    // What is dropped on a page otherwise replaces it.
    for (const type of ['dragover', 'drop']) {
      d.addEventListener(type, e => { if (!isControl(e.target) || !typesText(e.target)) e.preventDefault(); }, true);
    }
    // Some browsers call no listeners in a frame without scripts.
    let heard = false;
    d.addEventListener('cardrun-probe', () => { heard = true; }, {once: true});
    d.dispatchEvent(new Event('cardrun-probe'));
    if (!heard && this.#o.shadow && !this.#shaded) {
      this.#shade();
      return;
    }
    this.#observer.disconnect();
    this.#observer.observe(this.#card);
    if (this.#shown) this.#render(this.#shown);
    this.#o.onready(heard);
  }

  // show makes a snapshot's display, {html, css}, all that the frame shows. Focus, caret and scroll stay where they can;
  // edits is the state by id that the user gave to controls and that the display may not know of yet.
  show(display, edits = new Map()) {
    this.#shown = {html: display.html, css: display.css};
    if (this.#document) this.#render(this.#shown, edits);
  }

  #render({html, css}, edits = new Map()) {
    const adapts = /color-scheme/i.test(css);
    this.#base.replaceSync(this.#shaded ? shadowStyle(adapts, this.#o.maxHeight) : baseStyle(adapts));
    this.#style.replaceSync(css);
    this.#keeping(() => {
      const open = new Map([...this.#card.querySelectorAll('details[id]')].map(e => [e.id, e.open]));
      fill(this.#card, html);
      for (const [id, is] of open) {
        const e = find(this.#card, id);
        if (e?.localName === 'details') e.open = is;
      }
      this.#assert(edits);
    });
  }

  // apply applies a round's batch. edits is as for show: what the user entered stays, since it is on its way to the server, where it
  // comes after the batch. An error says that the display is not the server's; show a new snapshot then.
  apply(patches, edits = new Map()) {
    if (!this.#document || patches.length === 0) return;
    // A value for what the user has gone on editing would be written over at once.
    const held = id => this.#composing?.id === id || edits.has(id) && edits.get(id).checked === undefined;
    this.#keeping(() => {
      applyPatches(this.#card, patches.filter(p => p.op !== 'value' || !held(p.id)));
      this.#assert(edits);
    });
  }

  // settle makes the controls what the server says they are, but for those in edits.
  settle(controls, edits = new Map()) {
    if (!this.#document) return;
    this.#keeping(() => {
      for (const c of controls) {
        const e = find(this.#card, c.id);
        if (!e || edits.has(c.id) || e === this.#composing || !isControl(e)) continue;
        setValue(e, c.value);
        if (e.type === 'checkbox' || e.type === 'radio') setState(e, c);
      }
    });
  }

  #assert(edits) {
    for (const [id, state] of edits) {
      const e = find(this.#card, id);
      if (e !== this.#composing) setState(e, state);
    }
    if (this.#inert) this.#disable();
  }

  // keeping does work and puts focus, caret, selection and scroll back where they were.
  #keeping(work) {
    const d = this.#document, root = this.#iframe.getRootNode();
    const focused = d.activeElement !== d.body && root.activeElement === this.#iframe ? d.activeElement : null;
    const id = focused?.id, caret = focused && typesText(focused) ? [focused.selectionStart, focused.selectionEnd, focused.selectionDirection] : null;
    const scroller = d.scrollingElement ?? this.#iframe; // which in a shadow tree is its host
    const at = [scroller.scrollLeft, scroller.scrollTop];
    const scrolled = [];
    for (const e of this.#card.querySelectorAll('[id]')) if (e.scrollTop || e.scrollLeft) scrolled.push([e.id, e.scrollLeft, e.scrollTop]);
    work();
    for (const [id, left, top] of scrolled) {
      const e = find(this.#card, id);
      if (e && (e.scrollLeft !== left || e.scrollTop !== top)) e.scroll({left, top, behavior: 'instant'});
    }
    if (scroller.scrollTop !== at[1] || scroller.scrollLeft !== at[0]) {
      scroller.scroll({left: at[0], top: at[1], behavior: 'instant'});
    }
    if (!focused) return;
    let e = focused;
    if (!focused.isConnected) {
      e = id ? find(this.#card, id) : null;
      if (!e) return;
      e.focus({preventScroll: true});
    }
    if (caret && typesText(e)) {
      const [from, to] = [Math.min(caret[0], e.value.length), Math.min(caret[1], e.value.length)];
      if (e.selectionStart !== from || e.selectionEnd !== to) e.setSelectionRange(from, to, caret[2]);
    }
  }

  // inert says that the activation has ended: the display stays, its controls do nothing more.
  set inert(is) {
    if (this.#inert === is) return;
    this.#inert = is;
    if (is && this.#card) this.#disable();
  }
  get inert() { return this.#inert; }

  #disable() {
    for (const e of this.#card.querySelectorAll('input,select,textarea,button')) e.disabled = true;
  }

  set title(text) {
    this.#o.title = text;
    if (this.#shaded) this.#iframe.setAttribute('aria-label', text);
    else this.#iframe.title = text;
  }

  #heard(e) {
    if (this.#inert || !e.isTrusted && !this.#o.synthetic) return;
    const target = e.target;
    if (target.nodeType !== 1) return;
    if (e.type !== 'click') {
      if (!target.id || !isControl(target)) return;
      const state = stateOf(target);
      if (state.value === undefined || state.value.length > valueLimit) return;
      this.#o.onevent({id: target.id, type: e.type, ...state});
      return;
    }
    if (target.closest('a[href],area[href]')) e.preventDefault(); // there is none
    // A click is for the innermost element that has a handler for it; those within it are told too, since their handlers may have
    // come since the list was made. What has no handler makes no round.
    const path = [];
    const handled = new Set(this.#o.handlers().filter(h => h.type === 'click').map(h => h.id));
    for (let at = target; at && at !== this.#card && path.length < 8; at = at.parentElement) {
      if (!at.id) continue;
      path.push(at);
      if (handled.has(at.id)) break;
    }
    for (const at of path) this.#o.onevent({id: at.id, type: 'click', ...(at === target || isControl(at) ? stateOf(at) : {})});
  }

  #fit() {
    if (!this.#card || this.#shaded) return;
    const height = Math.min(this.#o.maxHeight, Math.ceil(this.#card.getBoundingClientRect().height));
    const now = Math.max(height, 24) + 'px';
    if (this.#iframe.style.height !== now) this.#iframe.style.height = now;
  }

  destroy() {
    this.#observer.disconnect();
    const f = this.#iframe;
    this.#iframe = document.createElement('iframe');
    f.remove();
    this.#document = this.#card = null;
  }
}
