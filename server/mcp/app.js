// The page in which a host shows a card. It comes after CardFrame and EventQueue of the viewer, and Host. What the user does travels
// as calls of generated_ui_play where the host passes calls on; elsewhere the card is static, and the page says so.

const style = new CSSStyleSheet();
style.replaceSync(`
:root { color-scheme: light dark; font: 16px/1.5 var(--font-sans, system-ui, sans-serif); color: var(--color-text-primary, CanvasText); background: transparent; }
body { margin: 0; }
[hidden] { display: none !important; }
#plain { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; font: inherit; }
#note { display: flex; flex-wrap: wrap; gap: .25rem 1rem; align-items: center; margin-top: .5rem; font-size: .875rem; color: var(--color-text-secondary, GrayText); }
#note.bad { color: var(--color-text-danger, light-dark(#8c1d18, #f9a19a)); }
#note button { font: inherit; padding: .2rem .7rem; min-height: 2rem; border: 1px solid currentColor; border-radius: 4px; background: transparent; color: inherit; cursor: pointer; }
`);
document.adoptedStyleSheets = [style];

const words = {
  static: 'This is how the card begins. It does not react here, because nothing is passed on to where it runs.',
  alone: 'This is how the card begins. There is no host around it, so it does not react.',
  large: 'The card is too large to be shown here; this is its text.',
  rejected: 'The card was rejected.',
  cancelled: 'The card was not made: the call was cancelled.',
  failed: f => 'The card has stopped: ' + f.message + '. What it showed last stays.',
  lost: 'What you did was not passed on.',
  anew: 'The card was not used for long and has started anew.',
  again: 'Start again',
  retry: 'Try again',
};
const playTool = 'generated_ui_play';

const el = id => document.getElementById(id);
const note = {
  say(text, {bad = false, label = '', act = null} = {}) {
    const box = el('note'), button = box.querySelector('button');
    box.querySelector('span').textContent = text;
    box.className = bad ? 'bad' : '';
    button.textContent = label;
    button.hidden = !label;
    button.onclick = act;
    box.hidden = false;
  },
  clear() { el('note').hidden = true; },
};

const queue = new EventQueue();
let frame = null, source = null, seed, session = '', handlers = [], live = false, busy = false, shown = false, hurt = false;

const host = new Host({
  oncontext: dress,
  onnotification(method, params) {
    switch (method) {
    case 'ui/notifications/tool-input': take(params.arguments); break;
    case 'ui/notifications/tool-result': result(params); break;
    case 'ui/notifications/tool-cancelled': if (!shown) note.say(words.cancelled); break;
    }
  },
  onrequest(method) {
    if (method !== 'ui/resource-teardown') throw new Error('there is no method ' + method);
    leave();
    return {};
  },
});

// dress makes the page look as the host says.
function dress(context) {
  const root = document.documentElement;
  if (context.theme === 'light' || context.theme === 'dark') root.style.colorScheme = context.theme;
  if (typeof context.locale === 'string' && /^[A-Za-z0-9-]{1,35}$/.test(context.locale)) root.dataset.locale = context.locale;
  for (const [name, value] of Object.entries(object(object(context.styles).variables))) {
    if (/^--(color|font)-[a-z0-9-]{1,60}$/.test(name) && typeof value === 'string' && value.length <= 200) root.style.setProperty(name, value);
  }
  const insets = object(context.safeAreaInsets);
  for (const side of ['top', 'right', 'bottom', 'left']) {
    if (Number.isFinite(insets[side])) document.body.style.setProperty('padding-' + side, Math.min(200, Math.max(0, insets[side])) + 'px');
  }
}

// take keeps the card's source, for sessions to be made of: an object of strings, or nothing.
function take(card) {
  const c = object(card), fields = ['title', 'summary', 'html', 'css', 'javascript'];
  if (!fields.every(f => typeof c[f] === 'string')) return;
  source = Object.fromEntries(fields.map(f => [f, c[f]]));
  document.title = c.title;
  if (frame) frame.title = c.title;
}

// textOf is what a result says in words.
const textOf = r => (Array.isArray(r.content) ? r.content : []).filter(c => object(c).type === 'text').map(c => String(c.text)).join('\n');

// result shows what the tool gave: the first snapshot, or as much of it as there is.
function result(r) {
  if (shown) return;
  shown = true;
  const s = object(r.structuredContent), execution = object(s.execution), snapshot = object(execution.snapshot);
  if (r.isError) {
    plain(textOf(r));
    note.say(words.rejected, {bad: true});
    return;
  }
  take(s);
  if (Number.isSafeInteger(execution.seed)) seed = execution.seed;
  live = host.callsTools && source !== null;
  const omitted = Array.isArray(execution.omitted) ? execution.omitted : [];
  const whole = typeof object(snapshot.display).html === 'string' && !omitted.includes('display.html') && !omitted.includes('display.css');
  if (whole) {
    show(snapshot);
    if (!live && !snapshot.failure) note.say(parent === window ? words.alone : words.static);
  } else if (live) {
    send(); // nothing but a session can show it
  } else {
    plain(object(snapshot.display).text || s.summary || textOf(r));
    note.say(words.large);
  }
}

function plain(text) {
  el('plain').textContent = text;
  el('plain').hidden = false;
}

// show makes a snapshot what the frame shows.
function show(snapshot, edits) {
  handlers = Array.isArray(snapshot.handlers) ? snapshot.handlers : [];
  el('plain').hidden = true;
  frame ??= new CardFrame(el('card'), {
    title: document.title, shadow: true, maxHeight: maxHeight(), handlers: () => handlers,
    onevent(e) {
      if (!live) return;
      queue.push(e);
      send();
    },
  });
  frame.inert = !live || Boolean(snapshot.failure);
  frame.show({html: String(snapshot.display.html), css: String(snapshot.display.css)}, edits);
  if (snapshot.failure) failed(snapshot.failure);
}

function maxHeight() {
  const d = object(host.context.containerDimensions), most = d.height ?? d.maxHeight;
  return Number.isFinite(most) ? Math.max(120, most - 64) : 1600;
}

function failed(f) {
  if (frame) frame.inert = true;
  queue.drop();
  note.say(words.failed(object(f)), {bad: true, ...(live ? {label: words.again, act: again} : {})});
}

// again starts the card anew.
function again() {
  leave();
  note.clear();
  send();
}

// leave gives up the session, which nobody is to wait for.
function leave() {
  queue.drop();
  if (session !== '') host.request('tools/call', {name: playTool, arguments: {session, keep: false}}).catch(() => {});
  session = '';
}

// send passes on what the user did, one call at a time; the first opens a session.
async function send() {
  if (busy) return;
  busy = true;
  try {
    let whole = session === ''; // all is to be asked for
    while (whole || queue.waiting > 0) {
      const events = queue.take();
      const opens = session === '';
      const answer = await call(opens ? {card: source, keep: true, events, ...(seed === undefined ? {} : {seed})} : whole ? {session} : {session, events});
      if (answer === null) { // the session is gone
        session = '';
        queue.again();
        whole = true;
        note.say(words.anew);
        continue;
      }
      if (whole && !opens) queue.again();
      else queue.done();
      whole = !await accept(answer);
    }
    if (hurt) note.clear();
    hurt = false;
  } catch (e) {
    queue.again();
    hurt = true;
    note.say(words.lost + ' ' + e.message, {bad: true, label: words.retry, act: send});
  } finally {
    busy = false;
  }
}

// call calls the tool; null says that its session is gone.
async function call(args) {
  const r = await host.request('tools/call', {name: playTool, arguments: args});
  if (!r.isError) return object(r.structuredContent);
  const text = textOf(r);
  if (args.session !== undefined && text.startsWith('session_gone:')) return null;
  throw new Error(text.slice(0, 500));
}

// accept shows what an answer says; false when the whole display is to be asked for.
async function accept(answer) {
  if (typeof answer.session === 'string') session = answer.session;
  const edits = queue.edits();
  const display = object(object(answer.snapshot).display);
  if (answer.snapshot) {
    if (typeof display.html !== 'string' || answer.omitted?.includes('display.html')) {
      el('card').hidden = true;
      plain(String(display.text ?? ''));
      note.say(words.large);
      live = false;
      queue.drop();
      return true;
    }
    show(answer.snapshot, edits);
    await frame.ready;
    return true;
  }
  if (!Array.isArray(answer.rounds) || answer.omitted?.length > 0) return false;
  await frame.ready;
  try {
    for (const r of answer.rounds) if (!r.discarded) frame.apply(r.patches, queue.edits());
    frame.settle(answer.controls, queue.edits());
  } catch {
    return false; // the display is not the server's
  }
  if (answer.failure) failed(answer.failure);
  return true;
}

// The host hears of each new size once.
let told = '', due = false;
function measure() {
  if (due) return;
  due = true;
  requestAnimationFrame(() => {
    due = false;
    const box = document.body.getBoundingClientRect();
    const size = {width: Math.ceil(document.documentElement.clientWidth), height: Math.ceil(box.bottom + scrollY)};
    const now = size.width + ' ' + size.height;
    if (now === told) return;
    told = now;
    host.notify('ui/notifications/size-changed', size);
  });
}

let baked = null;
try {
  baked = JSON.parse(el('baked').textContent);
} catch {} // a page without a card inside
const start = () => { if (baked && !shown) result({structuredContent: baked}); };
const patience = setTimeout(start, 3000); // for a host that never answers
host.connect({name: 'cardrun', version: '{{version}}'}).then(() => {
  new ResizeObserver(measure).observe(document.body);
  measure();
}, () => {}).then(() => {
  clearTimeout(patience);
  start();
});
