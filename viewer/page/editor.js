// One part of a card's source: a text area with line numbers, and marks where findings are.

export class Editor {
  #area = document.createElement('textarea');
  #lines = document.createElement('div');
  #marks = document.createElement('div');
  #found = [];

  constructor(place, {name, wrapped, oninput}) {
    const box = document.createElement('div'), area = document.createElement('div');
    box.className = 'editor' + (wrapped ? ' wrapped' : '');
    this.#lines.className = 'lines';
    this.#marks.className = 'marks';
    this.#lines.setAttribute('aria-hidden', 'true');
    this.#marks.setAttribute('aria-hidden', 'true');
    area.className = 'area';
    const a = this.#area;
    a.setAttribute('aria-label', name);
    a.spellcheck = false;
    a.autocapitalize = 'off';
    if (!wrapped) a.wrap = 'off';
    area.append(this.#marks, a);
    box.append(this.#lines, area);
    place.append(box);
    a.addEventListener('input', () => {
      this.#found = [];
      this.#draw();
      oninput();
    });
    a.addEventListener('scroll', () => this.#scroll());
    new ResizeObserver(() => { this.#lines.style.height = a.clientHeight + 'px'; this.#scroll(); }).observe(a);
    this.#draw();
  }

  get element() { return this.#area; }
  get value() { return this.#area.value; }
  set value(text) {
    if (this.#area.value === text) return;
    this.#area.value = text;
    this.#found = [];
    this.#draw();
  }

  // mark shows findings: {line, column, severity}, both from 1, columns in UTF-16 code units.
  mark(found) {
    this.#found = found;
    this.#draw();
  }

  // go selects what is at a place.
  go(line, column) {
    const [from, to] = this.#range(line, column);
    this.#area.focus();
    this.#area.setSelectionRange(from, to);
    this.#area.scrollTop = Math.max(0, (line - 4) * this.#lineHeight());
    this.#scroll();
  }

  #lineHeight() { return parseFloat(getComputedStyle(this.#area).lineHeight); }

  // range is the word at a place, or one character.
  #range(line, column) {
    const text = this.#area.value;
    let from = 0;
    for (let i = 1; i < line; i++) {
      const next = text.indexOf('\n', from);
      if (next < 0) break;
      from = next + 1;
    }
    const end = text.indexOf('\n', from) < 0 ? text.length : text.indexOf('\n', from);
    from = Math.min(from + Math.max(0, column - 1), end);
    const word = /^(?:[\w$@-]+|<\/?[\w-]+|[\ud800-\udbff][\udc00-\udfff]|.)/.exec(text.slice(from, Math.min(end, from + 80)));
    return [from, from + (word ? word[0].length : 0)];
  }

  #draw() {
    const text = this.#area.value;
    const marked = new Set(this.#found.map(f => f.line));
    const n = text.split('\n').length;
    const rows = [];
    for (let i = 1; i <= n; i++) {
      const row = document.createElement('div');
      row.textContent = String(i);
      if (marked.has(i)) row.className = 'marked';
      rows.push(row);
    }
    this.#lines.replaceChildren(...rows);
    const ranges = this.#found.map(f => [...this.#range(f.line, f.column), f.severity]).sort((a, b) => a[0] - b[0]);
    const out = [];
    let at = 0;
    for (const [from, to, severity] of ranges) {
      if (from < at) continue;
      const mark = document.createElement('mark');
      mark.className = severity;
      mark.textContent = text.slice(from, to) || ' ';
      out.push(text.slice(at, from), mark);
      at = to;
    }
    out.push(text.slice(at) + '\n');
    this.#marks.replaceChildren(...out);
    this.#scroll();
  }

  #scroll() {
    this.#marks.scrollTop = this.#lines.scrollTop = this.#area.scrollTop;
    this.#marks.scrollLeft = this.#area.scrollLeft;
  }
}
