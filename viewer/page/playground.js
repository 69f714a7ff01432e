// The playground: one card at a time, live, with all that can be seen of it.
import {mount} from './viewer.js';
import {Editor} from './editor.js';
import {Rounds, time} from './rounds.js';
import {tabs} from './tabs.js';
import {pack, unpack} from './link.js';

const $ = id => document.getElementById(id);
const fields = ['title', 'summary', 'html', 'css', 'javascript'];
const service = new URL('.', location.href).href.replace(/\/$/, '');

let token = '';
let view = null;
let run = null; // what is shown: {card, seed, now, opened, events, whole}
let asked = 0; // runs that were asked for; only the last counts

const rounds = new Rounds($('rounds'));
const showView = tabs($('views'), tab => { if (tab.id === 'tab-snapshot') readSnapshot(); });
const showPart = tabs($('parts'));

const editors = {};
for (const place of document.querySelectorAll('[data-part]')) {
  const part = place.dataset.part;
  editors[part] = new Editor(place, {
    name: part === 'json' ? 'The whole card as JSON' : 'The card\'s ' + part,
    wrapped: part === 'title' || part === 'summary',
    oninput: () => edited(part),
  });
  editors[part].element.addEventListener('paste', e => {
    const text = e.clipboardData.getData('text/plain');
    if (!isCard(text)) return;
    e.preventDefault();
    $('example').value = '';
    load(text);
    start();
  });
}

const tell = text => { $('told').textContent = text; };
const readJSON = text => { try { return JSON.parse(text); } catch { return undefined; } };
const isCard = text => {
  const c = readJSON(text);
  return c !== null && typeof c === 'object' && fields.every(f => typeof c[f] === 'string');
};
const headers = more => ({...(token ? {Authorization: 'Bearer ' + token} : {}), ...more});

// load puts the text of a card into the editors. What is no card is in the last one alone.
function load(text) {
  editors.json.value = text;
  const c = readJSON(text);
  if (c === null || typeof c !== 'object') return;
  for (const f of fields) if (typeof c[f] === 'string') editors[f].value = c[f];
}

let checking;
function edited(part) {
  $('example').value = '';
  if (part === 'json') {
    if (isCard(editors.json.value)) load(editors.json.value);
  } else {
    editors.json.value = JSON.stringify(Object.fromEntries(fields.map(f => [f, editors[f].value])), null, 2);
  }
  clearTimeout(checking);
  checking = setTimeout(check, 400);
}

// check shows what is wrong with the text that is there now, without running it.
async function check() {
  const text = editors.json.value;
  try {
    const r = await fetch(service + '/v1/check', {method: 'POST', headers: headers({'Content-Type': 'application/json'}), body: text});
    if (r.ok && editors.json.value === text) showFindings((await r.json()).diagnostics, null);
  } catch {
    // The next change asks again; running says what is wrong with the connection.
  }
}

function showFindings(list, failure) {
  const all = list.map(d => ({...d, label: d.severity}));
  if (failure) all.unshift({severity: 'error', label: 'stopped', code: failure.code, field: 'javascript', line: failure.line, column: failure.column, message: failure.message});
  $('findings').hidden = all.length === 0;
  $('finding-list').replaceChildren(...all.map(d => {
    const item = document.createElement('li'), button = document.createElement('button'), head = document.createElement('b');
    item.className = d.severity;
    button.type = 'button';
    const part = editors[d.field] ? d.field : 'json';
    head.textContent = d.label + ' ' + d.code + (d.field ? ' in ' + d.field : '') + (d.line ? ', line ' + d.line + ', column ' + d.column : '');
    button.append(head, d.message);
    button.onclick = () => {
      showView('tab-source');
      showPart('part-' + part);
      editors[part].go(d.line || 1, d.column || 1);
    };
    item.append(button);
    return item;
  }));
  for (const [part, editor] of Object.entries(editors)) {
    editor.mark(all.filter(d => d.line && (editors[d.field] ? d.field : 'json') === part).map(d => ({line: d.line, column: d.column, severity: d.severity})));
  }
}

function outcome(text, bad) {
  $('outcome').textContent = text;
  $('outcome').className = bad ? 'bad' : '';
}

// openSession opens a session of the card that is shown. It gives null when the card is rejected, or was replaced meanwhile.
async function openSession(of) {
  const query = new URLSearchParams({...(of.seed ? {seed: of.seed} : {}), ...(of.now ? {now: of.now} : {})});
  const r = await fetch(service + '/v1/sessions' + (query.size ? '?' + query : ''), {
    method: 'POST', headers: headers({'Content-Type': 'application/json'}), body: of.card,
  });
  const body = await r.json().catch(() => ({}));
  if (r.status === 401) {
    $('access').hidden = false;
    $('token').focus();
  }
  const rejected = body.snapshot ?? body;
  if (r.status === 422 && rejected.outcome === 'rejected') return {rejected};
  if (!r.ok) throw new Error(body.detail || body.title || 'the service answers ' + r.status);
  return body;
}

// start runs what the editors hold. events are done then, one after the other.
async function start(events = []) {
  const me = ++asked;
  const of = run = {card: editors.json.value, seed: $('seed').value.trim(), now: $('now').value.trim(), opened: new Date().toISOString().replace(/\.\d+Z$/, 'Z'), events: [], whole: true};
  clearTimeout(checking);
  view?.close();
  view = null;
  rounds.clear();
  $('snapshot').textContent = '';
  outcome('Running …');
  let opened;
  try {
    opened = await openSession(of);
  } catch (e) {
    if (me === asked) outcome('The card could not be run: ' + e.message, true);
    return;
  }
  if (me !== asked) {
    if (opened.session) fetch(service + '/v1/sessions/' + encodeURIComponent(opened.session), {method: 'DELETE', headers: headers()}).catch(() => {});
    return;
  }
  const c = readJSON(of.card);
  const first = opened.rejected ?? opened.snapshot;
  $('title').textContent = first.card.title || c?.title || 'A card without a title';
  $('summary').textContent = first.card.summary || '';
  document.title = $('title').textContent + ' · cardrun playground';
  showFindings(first.diagnostics, first.failure);
  if (opened.rejected) {
    const n = first.diagnostics.filter(d => d.severity === 'error').length;
    outcome('Rejected, and never run: ' + n + (n === 1 ? ' error.' : ' errors.'), true);
    $('snapshot').textContent = JSON.stringify(first, null, 2);
    return;
  }
  let diagnostics = first.diagnostics, known = '';
  view = mount($('card'), {
    url: service, session: opened.session, token,
    async reopen() {
      of.events = [];
      const again = await openSession(of);
      if (again.rejected) throw new Error('the card is rejected now');
      known = '';
      return again.session;
    },
    onsnapshot(s) {
      if (me !== asked) return;
      diagnostics = s.diagnostics;
      rounds.clear();
      const last = view?.place?.number;
      s.rounds.forEach((round, i) => {
        const number = i === 0 || last === undefined ? i : last - s.rounds.length + 1 + i;
        rounds.add(number, round, s.failure && s.failure.round === number ? s.failure : null);
      });
      said(s.rounds.at(-1), s.rounds.length - 1);
      if (s.failure) stopped(s.failure);
      else showFindings(diagnostics, null);
      $('snapshot').textContent = JSON.stringify(s, null, 2);
    },
    onround(round, place) {
      if (me !== asked) return;
      rounds.add(place.number, round, null);
      said(round, place.number);
      soonReadSnapshot();
    },
    onsent(list) {
      if (of.events.length + list.length > 500) of.whole = false;
      else of.events.push(...list);
    },
    onfailure(f) {
      if (me !== asked) return;
      stopped(f);
      if (known !== JSON.stringify(f)) {
        known = JSON.stringify(f);
        rounds.fail(f);
      }
    },
    onstate(is) {
      if (is === 'denied') $('access').hidden = false;
      if (is === 'gone' && me === asked) outcome('The session is over.', true);
    },
  });
  const mine = view;
  await mine.ready;
  for (const e of events) {
    mine.send(e);
    while (!mine.settled && me === asked && mine.state !== 'gone') await new Promise(done => setTimeout(done, 5));
    if (me !== asked) return;
  }

  function said(round, number) {
    outcome((number === 0 ? 'Ready. The script ran in ' : 'Round ' + number + ' ran in ') + time(round.usage.elapsed_us) +
      (round.discarded ? ' and was discarded, since you had gone on.' : '.'));
  }
  function stopped(f) {
    outcome('Stopped: ' + f.code + '.', true);
    showFindings(diagnostics, f);
  }
}

let soon;
function soonReadSnapshot() {
  clearTimeout(soon);
  soon = setTimeout(readSnapshot, 150);
}
async function readSnapshot() {
  const of = view;
  if (!of || $('panel-snapshot').hidden) return;
  try {
    const s = await of.snapshot();
    if (of === view) $('snapshot').textContent = JSON.stringify(s, null, 2);
  } catch {
    // The connection is being looked after elsewhere.
  }
}

// newSeed is a seed that the link can name.
const newSeed = () => String(crypto.getRandomValues(new Uint32Array(1))[0]);

async function pick(name) {
  const r = await fetch('examples/' + encodeURIComponent(name) + '.json');
  if (!r.ok) throw new Error('there is no example ' + name);
  load(await r.text());
  $('example').value = name;
}

async function fromLink() {
  let state = null;
  try {
    state = await unpack(location.hash);
  } catch (e) {
    tell('This link is damaged: ' + e.message + '.');
  }
  if (!state) return false;
  $('example').value = '';
  load(state.card);
  $('seed').value = state.seed;
  $('now').value = state.now;
  start(state.events);
  return true;
}

$('example').addEventListener('change', async () => {
  if (!$('example').value) return;
  tell('');
  try {
    await pick($('example').value);
    history.replaceState(null, '', location.pathname + location.search);
    start();
  } catch (e) {
    outcome(e.message, true);
  }
});
$('paste').addEventListener('click', () => {
  showView('tab-source');
  showPart('part-json');
  editors.json.element.focus();
  editors.json.element.select();
});
$('run').addEventListener('click', () => start());
document.addEventListener('keydown', e => {
  if (e.key === 'Enter' && (e.ctrlKey || e.metaKey) && $('panel-source').contains(e.target)) {
    e.preventDefault();
    start();
  }
});
$('link').addEventListener('click', async () => {
  if (!run) return;
  // Real time is the time at which the card was opened: a clock that goes on cannot be repeated.
  const fragment = await pack({card: run.card, seed: run.seed, now: run.now || run.opened, events: run.events});
  history.replaceState(null, '', fragment);
  const all = run.whole ? '' : ' It holds the first 500 events.';
  try {
    await navigator.clipboard.writeText(location.href);
    tell('The link is copied.' + all);
  } catch {
    tell('The link is in the address bar.' + all);
  }
});
$('access').addEventListener('submit', e => {
  e.preventDefault();
  token = $('token').value;
  $('access').hidden = true;
  start();
});
window.addEventListener('hashchange', fromLink);
window.addEventListener('pagehide', e => { if (!e.persisted) view?.close(); });

$('seed').value = newSeed();
const listed = fetch('examples.json').then(r => r.json()).then(list => {
  for (const {name, title} of list) $('example').append(new Option(title, name));
});
if (!await fromLink()) {
  try {
    await Promise.all([listed, fetch('examples/tip.json').then(r => r.text()).then(text => {
      load(text);
      return start();
    })]);
    $('example').value = 'tip';
  } catch (e) {
    outcome('The service cannot be reached: ' + e.message, true);
  }
}
