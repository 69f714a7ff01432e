// What the browser tests put into every document before anything else of it is there. It notes whether anything of the
// document ran, and says what the document is, in a form that the tests make of their own trees too.
(() => {
  'use strict';
  const svgNS = 'http://www.w3.org/2000/svg', htmlNS = 'http://www.w3.org/1999/xhtml', mathNS = 'http://www.w3.org/1998/Math/MathML';
  const ran = [], violations = [];
  // The payload of every attack of the corpus calls this.
  Object.defineProperty(window, 'canary', {value: () => { ran.push('canary'); }});
  const note = () => document.addEventListener('securitypolicyviolation', e => {
    violations.push(e.effectiveDirective + ' ' + e.blockedURI + ' ' + e.sample);
  });
  note();

  const isVoid = e => e.namespaceURI === htmlNS && /^(br|hr|wbr|col|input)$/.test(e.localName);
  const isControl = e => e.namespaceURI === htmlNS && /^(input|select|textarea|button)$/.test(e.localName);

  // The meant differences from a DOM: what a document keeps of a fragment that is put where a DOM can hold it and no HTML
  // text can. used notes which of them mattered since it was asked last.
  const used = new Set();
  const not = (what, why) => { used.add(why); return what; };

  function fate(parent, n) {
    const element = n.nodeType === 1;
    if (parent.namespaceURI === svgNS) {
      if (!element || n.namespaceURI === svgNS && !/^(title|desc)$/.test(parent.localName)) return 'keep';
      return not(isControl(n) ? 'drop' : 'unwrap', 'svg');
    }
    switch (parent.localName) {
    case 'textarea': return element ? not('drop', 'textarea') : 'keep';
    case 'option': return element ? not('unwrap', 'select') : 'keep';
    case 'select': case 'optgroup':
      if (!element || n.localName === 'option' || parent.localName === 'select' && /^(optgroup|hr)$/.test(n.localName)) return 'keep';
      return not(isControl(n) ? 'drop' : 'unwrap', 'select');
    }
    return isVoid(parent) ? not('drop', 'void') : 'keep';
  }

  // fitting is what a document keeps of nodes under parent, which are changed.
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

  // text and values are without NUL, which no HTML text can say.
  const plain = s => s.includes('\0') ? not(s.replaceAll('\0', '\ufffd'), 'nul') : s;

  // tree writes what is below root, a line a node; texts that touch are one.
  function tree(root) {
    const lines = [];
    let text = '';
    const flush = depth => {
      if (text !== '') lines.push(' '.repeat(depth) + JSON.stringify(text));
      text = '';
    };
    const space = e => e.namespaceURI === htmlNS ? '' : e.namespaceURI === svgNS ? 'svg ' : e.namespaceURI === mathNS ? 'math ' : e.namespaceURI + ' ';
    const below = (parent, depth) => {
      for (const n of parent.childNodes) {
        if (n.nodeType === 3) {
          text += n.data;
          continue;
        }
        flush(depth);
        if (n.nodeType !== 1) {
          lines.push(' '.repeat(depth) + 'node of type ' + n.nodeType);
          continue;
        }
        let line = ' '.repeat(depth) + '<' + space(n) + n.localName;
        for (const a of n.attributes) {
          line += ' ' + (a.namespaceURI ? a.namespaceURI + ':' : '') + a.localName + '=' + JSON.stringify(a.value);
        }
        lines.push(line + '>');
        below(n, depth + 1);
        flush(depth + 1);
      }
    };
    below(root, 0);
    flush(0);
    return lines.join('\n');
  }

  function controls(root) {
    const list = [];
    for (const e of root.querySelectorAll('input,select,textarea,button')) {
      if (e.namespaceURI !== htmlNS || !e.hasAttribute('id')) continue;
      const type = e.localName === 'input' ? e.type : e.localName;
      list.push({id: e.id, type, value: e.value, checked: (type === 'checkbox' || type === 'radio') && e.checked, disabled: e.matches(':disabled')});
    }
    return list;
  }

  function texts(root) {
    const map = {};
    for (const e of root.querySelectorAll('[id]')) if (!(e.id in map)) map[e.id] = e.textContent;
    return map;
  }

  function state(root) {
    const s = {tree: tree(root), controls: controls(root), texts: texts(root), used: [...used].sort()};
    used.clear();
    return s;
  }

  // report says what a loaded page is: the card in it, and all that is around the card.
  function report() {
    const card = document.querySelector('.cardrun-card');
    const r = {...state(card), html: card.innerHTML, ran: [...ran], violations: [...violations]};
    const around = document.documentElement.cloneNode(true);
    const hole = around.querySelector('.cardrun-card');
    hole.replaceChildren();
    for (const s of around.querySelectorAll('style,meta[http-equiv]')) s.remove();
    r.around = around.outerHTML;
    return r;
  }

  // load loads pages side by side and gives a report of each, some time after the last was there.
  async function load(urls) {
    const frames = urls.map(url => {
      const f = document.createElement('iframe');
      f.style.width = '600px';
      f.style.height = '400px';
      const there = new Promise(done => f.addEventListener('load', done, {once: true}));
      f.src = url;
      document.body.append(f);
      return {f, there};
    });
    await Promise.all(frames.map(f => f.there));
    await new Promise(done => setTimeout(done, 20));
    const reports = frames.map(({f}, i) => {
      try {
        if (f.contentWindow.location.href === urls[i]) return f.contentWindow.harness.report();
        return {ran: ['navigated to ' + f.contentWindow.location.href]};
      } catch (e) {
        return {ran: [String(e)]};
      }
    });
    for (const {f} of frames) f.remove();
    return reports;
  }

  // write is what load does, for the texts of pages rather than addresses: a fifth of the time. The parser is the same, and
  // so is what a page may do; only the policy, once there, stays for all pages that a frame shows.
  let blank = [];
  async function write(pages) {
    while (blank.length < pages.length) {
      const f = document.createElement('iframe');
      f.style.width = '600px';
      f.style.height = '400px';
      const there = new Promise(done => f.addEventListener('load', done, {once: true}));
      f.src = '/blank';
      document.body.append(f);
      await there;
      await new Promise(done => setTimeout(done, 0)); // a document opened within its own load event has no other
      blank.push(f);
    }
    const loading = pages.map((page, i) => blank[i].contentWindow.harness.rewrite(page));
    await Promise.all(loading);
    await new Promise(done => setTimeout(done, 20));
    return pages.map((_, i) => blank[i].contentWindow.location.href === location.href ? blank[i].contentWindow.harness.report()
      : {ran: ['navigated to ' + blank[i].contentWindow.location.href]});
  }

  async function rewrite(page) {
    ran.length = violations.length = 0;
    document.open();
    note();
    const there = new Promise(done => window.addEventListener('load', done, {once: true}));
    document.write(page);
    document.close();
    await there;
  }

  // A live card: batches applied as a page would apply them.
  let live;

  // parse reads html as body content, in a document without scripting.
  function parse(html) {
    const body = document.implementation.createHTMLDocument('').body;
    body.innerHTML = html;
    return [...body.childNodes];
  }

  function open(html) {
    live = document.querySelector('.cardrun-card');
    live.replaceChildren(...parse(html));
    return state(live);
  }

  const find = id => live.querySelector('#' + CSS.escape(id));

  // edit is what a user's own input does (D34).
  function edit({id, type, value, checked}) {
    const e = find(id);
    if (!e || !isControl(e) || e.localName === 'button' || e.matches(':disabled')) return;
    if (e.type === 'checkbox' || e.type === 'radio') {
      if (type === 'click' && checked === undefined) checked = e.type === 'radio' || !e.checked;
      if (checked === undefined || e.type === 'radio' && !checked) return;
      e.checked = checked;
      return;
    }
    if (value === undefined) return;
    if (e.localName === 'select') {
      const o = [...e.options].find(o => o.value === value && !o.disabled && !(o.parentNode.localName === 'optgroup' && o.parentNode.disabled));
      // What is no option's value comes from no user; it selects nothing, as a script's would (D34).
      if (o) e.selectedIndex = o.index;
      else if (![...e.options].some(o => o.value === value)) e.selectedIndex = -1;
      return;
    }
    if (e.readOnly && e.type !== 'range') return;
    if (e.type === 'text' || e.localName === 'textarea') {
      let most = e.maxLength >= 0 ? Math.min(e.maxLength, 2048) : 2048;
      const was = e.value.length;
      if (e.localName === 'textarea') value = value.replace(/\r\n?/g, '\n');
      else value = value.replace(/[\r\n]/g, '');
      if (value.length > most && value.length > was) {
        value = value.slice(0, most);
        if (/[\ud800-\udbff]$/.test(value)) value = value.slice(0, -1);
      }
    }
    e.value = plain(value);
  }

  function apply(patches) {
    for (const {op, id, value} of patches) {
      const e = find(id);
      switch (op) {
      case 'text':
        if (isVoid(e)) used.add('void');
        else e.textContent = plain(value);
        break;
      case 'html': e.replaceChildren(...fitting(e, parse(value))); break;
      case 'value':
        // What is set here is an attribute, and attributes have no carriage returns in them.
        e.value = /^(button|checkbox|radio)$/.test(e.type) && value.includes('\r') ? not(plain(value).replace(/\r\n?/g, '\n'), 'return') : plain(value);
        break;
      }
    }
    return state(live);
  }

  // raw applies a batch without the meant differences, and says what becomes of it.
  function raw(patches) {
    for (const {op, id, value} of patches) {
      const e = find(id);
      switch (op) {
      case 'text': e.textContent = value; break;
      case 'html': e.replaceChildren(...parse(value)); break;
      case 'value': e.value = value; break;
      }
    }
    const c = find('c');
    return {html: live.innerHTML, value: c && 'value' in c ? c.value : '', text: c ? c.textContent : ''};
  }

  // style says what a card's style sheet does: the selectors that select something outside the card, the computed styles
  // outside the card that it changes, and how many computed styles it changes in the card.
  function style() {
    const card = document.querySelector('.cardrun-card');
    const sheet = document.getElementById('cardstyle').sheet;
    const outside = [];
    const walk = (rules, parent) => {
      for (const rule of rules) {
        let selector = rule.selectorText;
        if (selector === undefined || rule instanceof CSSKeyframeRule) {
          if (rule.cssRules && !(rule instanceof CSSKeyframesRule)) walk(rule.cssRules, parent);
          continue;
        }
        if (parent !== '') {
          selector = selector.split(',').every(s => s.includes('&')) ? selector.replaceAll('&', ':is(' + parent + ')') : ':is(' + parent + ') ' + selector;
        }
        let bare = selector.replace(/::[a-z-]+(\([^)]*\))?/g, '');
        let hit = [];
        try {
          hit = [...document.querySelectorAll(bare)];
        } catch (e) {
          // What cannot be asked is left to the computed styles.
        }
        for (const e of hit) if (!card.contains(e)) outside.push(selector + ' selects ' + e.outerHTML.slice(0, 60));
        walk(rule.cssRules, bare);
      }
    };
    walk(sheet.cssRules, '');
    const all = () => {
      const map = new Map();
      for (const e of document.querySelectorAll('*')) {
        // What pseudo-elements of other kinds are selected the walk over the rules has found.
        for (const pseudo of card.contains(e) ? [''] : ['', '::before', '::after']) {
          const c = getComputedStyle(e, pseudo || null);
          let text = '';
          for (const p of c) text += c.getPropertyValue(p) + ';';
          map.set(e, (map.get(e) || '') + text);
        }
      }
      return map;
    };
    const styled = all();
    sheet.disabled = true;
    const changed = [];
    let inside = 0;
    for (const [e, text] of all()) {
      if (styled.get(e) === text) continue;
      if (card.contains(e)) inside++;
      else changed.push('changes ' + e.outerHTML.slice(0, 60));
    }
    return {outside, changed, inside, ran: [...ran, ...violations]};
  }

  // top is how high the page is above the frame of the card.
  const top = () => ({height: Math.floor(document.querySelector('.cardrun-frame').getBoundingClientRect().top)});

  // hits gives the points of what the page says that a click would not hit, and says so when the card moved the page.
  function hits() {
    const frame = document.querySelector('.cardrun-frame'), out = [];
    for (const e of document.querySelector('.cardrun-page').children) {
      if (e === frame) continue;
      e.scrollIntoView({block: 'nearest', behavior: 'instant'});
      const r = e.getBoundingClientRect();
      for (let i = 0; i <= 10; i++) {
        for (let k = 0; k <= 4; k++) {
          const x = r.left + 1 + (r.width - 2) * i / 10, y = r.top + 1 + (r.height - 2) * k / 4;
          if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) { out.push(e.localName + ' is not to be seen at ' + [x, y]); continue; }
          const at = document.elementFromPoint(x, y);
          if (!at || !e.contains(at)) out.push((at ? at.localName + '#' + at.id + '.' + at.className : 'nothing') + ' over ' + e.localName);
        }
      }
    }
    return out;
  }

  Object.defineProperty(window, 'harness', {value: {
    report, load, write, rewrite, style, top, hits, raw, open, apply, edit: list => { list.forEach(edit); return state(live); },
  }});
})();
//# sourceURL=harness.js
