// The list of rounds: what each was for, what it changed, and what it used of its limits.

const make = (tag, text, name) => {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (name) e.className = name;
  return e;
};
const short = (s, n) => s.length > n ? s.slice(0, n - 1) + '…' : s;
const thousands = n => n.toLocaleString('en-US');
export const time = us => us < 1000 ? us + ' µs' : (us / 1000).toFixed(us < 100000 ? 1 : 0) + ' ms';

// The limits of the specification that a round has (R100 to R107).
const budgets = [
  ['Time', u => u.elapsed_us, 250000, us => time(us) + ' of 250 ms'],
  ['Memory', u => u.heap_bytes, 32 << 20, n => (n / 1048576).toFixed(1) + ' of 32 MiB'],
  ['Jobs', u => u.microtasks, 256, n => n + ' of 256'],
  ['Patches', u => u.patches, 64, n => n + ' of 64'],
  ['Output', u => u.batch_bytes, 16000, n => thousands(n) + ' of 16,000 bytes'],
];

function bars(usage) {
  const list = make('dl', undefined, 'bars');
  for (const [name, of, limit, say] of budgets) {
    const n = of(usage), row = make('div'), bar = make('dd'), meter = make('meter');
    Object.assign(meter, {min: 0, max: limit, low: limit * 0.6, high: limit * 0.9, optimum: 0, value: n});
    meter.setAttribute('aria-label', name + ' used');
    meter.textContent = say(n);
    bar.append(meter);
    row.append(make('dt', name), bar, make('dd', say(n), 'figure'));
    list.append(row);
  }
  return list;
}

function cause(round) {
  if (round.phase === 'init') return 'Start';
  const {id, type, value, checked} = round.event;
  const what = checked !== undefined ? (checked ? ' on' : ' off') : value !== undefined ? ' = ' + JSON.stringify(short(value, 40)) : '';
  return type + ' ' + id + what;
}

export class Rounds {
  #list;
  #most = 200;

  constructor(list) { this.#list = list; }

  clear() { this.#list.replaceChildren(); }

  // add puts a round on top. failure is that of the round, if it ended the card.
  add(number, round, failure) {
    const item = make('li'), details = make('details'), head = make('summary');
    item.dataset.number = number;
    const name = make('strong', cause(round));
    head.append('#' + number + ' ', name, ' ');
    if (round.discarded) head.append(make('span', 'discarded', 'tag discarded'), ' ');
    if (failure) head.append(make('span', failure.code, 'tag failed'), ' ');
    head.append(make('span', round.usage.cached ? 'remembered' : time(round.usage.elapsed_us), 'took'));
    details.append(head);
    if (failure) details.append(make('p', failure.message, 'hint'));
    if (round.discarded) {
      details.append(make('p', 'Dropped whole: you changed a control of these patches while the round ran, and what you enter goes before it.', 'hint'));
    }
    const patches = make('ul', undefined, 'patches');
    for (const p of round.patches) {
      const line = make('li');
      const value = make(round.discarded ? 'del' : 'span', short(p.value, 400));
      line.append(make('b', 'ui.' + p.op), ' ' + p.id + ' ← ', value);
      patches.append(line);
    }
    if (round.patches.length === 0) patches.append(make('li', failure ? 'nothing: the card ended' : 'changed nothing'));
    details.append(patches, bars(round.usage));
    for (const older of this.#list.querySelectorAll('li.new')) {
      older.classList.remove('new');
      older.firstChild.open = false;
    }
    item.className = 'new';
    details.open = true;
    item.append(details);
    this.#list.prepend(item);
    if (this.#list.children.length > this.#most) this.#list.lastChild.remove();
  }

  // fail tells which round a failure was of.
  fail(failure) {
    const item = this.#list.querySelector(`li[data-number="${Number(failure.round)}"] summary`);
    if (item && !item.querySelector('.failed')) item.append(' ', make('span', failure.code, 'tag failed'));
  }
}
