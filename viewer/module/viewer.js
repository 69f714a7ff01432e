import {CardFrame} from './frame.js';
import {Session} from './client.js';

// mount shows a session's card in an element of a page and keeps it live.
//
//   const view = mount(document.querySelector('#card'), {session: '…', url: 'https://cards.example', token: '…'});
//   view.destroy();
//
// Options beside these three, all of which may be left out: reopen, an async function that gives a new session's secret when the
// old session is gone; maxHeight, in CSS pixels, where a card begins to scroll; lang and words, to say things in another
// language; onsnapshot(snapshot), onround(round, place), onsent(events), onstate(state, detail) and onfailure(failure), to watch.
//
// It gives {ready, destroy, close, refresh, send, snapshot, place, frame, state, settled}: ready settles once the session is
// shown and can be sent to; destroy takes everything away and leaves the session as it is; close ends the session too; refresh
// starts the card anew; snapshot asks for all there is to know; place is that of the last round, {activation, number}.

const english = {
  offline: 'The connection is lost. What you enter is kept and sent when it is back.',
  busy: 'The service is busy. Trying again.',
  denied: 'The service does not let this page in.',
  gone: 'This session is over: it was closed, or nobody used it for long. The card shows what it was last.',
  deaf: 'This browser passes nothing on from a frame without scripts. The card shows how it began and does not react.',
  failed: f => 'The card has stopped: ' + f.message + (f.line ? ' (line ' + f.line + (f.column ? ', column ' + f.column : '') + ' of its script)' : '') +
    '. What it showed last stays.',
  again: 'Start again',
  retry: 'Try now',
};

const noticeStyle = `
:host { display: block; }
[hidden] { display: none !important; }
.notice { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; margin: .5rem 0 0; padding: .5rem .75rem; border-left: 4px solid #8a6d00;
  background: #fff8e1; color: #3b2f00; font: 15px/1.4 system-ui, sans-serif; overflow-wrap: anywhere; }
.notice.failure { border-color: #b3261e; background: #fdecea; color: #5c120d; }
.notice span { flex: 1 1 14rem; }
button { font: inherit; padding: .3rem .8rem; min-height: 2rem; border: 1px solid currentColor; border-radius: 4px; background: transparent; color: inherit; cursor: pointer; }
button:focus-visible { outline: 3px solid #1a73e8; outline-offset: 2px; }
`;

export function mount(element, options) {
  const words = {...english, ...options.words};
  const host = document.createElement('div');
  host.className = 'cardrun-viewer';
  const root = host.attachShadow({mode: 'open'});
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(noticeStyle);
  root.adoptedStyleSheets = [sheet];
  const place = document.createElement('div');
  const status = notice('status', 'status'), failure = notice('failure', 'alert');
  root.append(place, status.box, failure.box);
  element.append(host);

  let session = null, frame = null, deaf = false, over = false;

  function notice(kind, role) {
    const box = document.createElement('div'), text = document.createElement('span'), button = document.createElement('button');
    const line = document.createElement('div');
    box.setAttribute('role', role);
    line.className = 'notice ' + kind;
    line.hidden = true;
    button.type = 'button';
    line.append(text, button);
    box.append(line);
    return {
      box,
      say(what, label, act) {
        if (text.textContent !== what) text.textContent = what;
        button.textContent = label ?? '';
        button.hidden = !label;
        button.onclick = act ?? null;
        line.hidden = false;
      },
      clear() {
        line.hidden = true;
        text.textContent = '';
      },
    };
  }

  function state(is, detail) {
    switch (is) {
    case 'live': if (!deaf) status.clear(); break;
    case 'offline': status.say(words.offline, words.retry, () => session.retry()); break;
    case 'busy': status.say(words.busy); break;
    case 'denied': status.say(words.denied + (detail ? ' (' + detail + ')' : '')); break;
    case 'gone':
      frame.inert = true;
      if (options.reopen) failure.say(words.gone, words.again, reopen);
      else failure.say(words.gone);
      break;
    }
    options.onstate?.(is, detail);
  }

  async function reopen() {
    try {
      follow(await options.reopen());
    } catch (e) {
      failure.say(words.gone + ' ' + e.message, words.again, reopen);
    }
  }

  async function refresh() {
    failure.clear();
    await session.refresh();
    focusInside();
  }

  // The button that was pressed goes away; its focus goes to the card.
  function focusInside() {
    if (document.activeElement === host || document.activeElement === document.body) frame.iframe.focus({preventScroll: true});
  }

  function follow(secret) {
    session?.leave();
    failure.clear();
    status.clear();
    session = new Session({
      url: options.url, token: options.token, session: secret,
      onsnapshot(snapshot, edits) {
        frame.title = snapshot.card.title;
        frame.inert = snapshot.failure !== null;
        if (snapshot.display) frame.show(snapshot.display, edits);
        if (!snapshot.failure) failure.clear();
        options.onsnapshot?.(snapshot);
      },
      onround(round, at, acknowledged) {
        options.onround?.(round, at);
        if (!round.discarded) frame.apply(round.patches, session.queue.edits());
      },
      oncontrols: (controls, edits) => frame.settle(controls, edits),
      onfailure(f) {
        frame.inert = true;
        failure.say(words.failed(f), words.again, refresh);
        options.onfailure?.(f);
      },
      onstate: state,
      onsent: (events, answer) => options.onsent?.(events, answer),
    });
    return session.open();
  }

  frame = new CardFrame(place, {
    maxHeight: options.maxHeight ?? 1600,
    handlers: () => session?.handlers ?? [],
    onevent: e => session?.send(e),
    onready(heard) {
      deaf = !heard;
      if (deaf) status.say(words.deaf);
    },
  });
  const ready = frame.ready.then(() => over ? undefined : follow(options.session));

  return {
    destroy() {
      over = true;
      session?.leave();
      frame.destroy();
      host.remove();
    },
    async close() {
      over = true;
      await session?.close();
      frame.destroy();
      host.remove();
    },
    refresh,
    // send sends an event as if the user had brought it about, for replaying; the display follows with the rounds.
    send: e => session.send(e),
    ready,
    snapshot: () => session.snapshot(),
    get place() { return session?.place ?? null; },
    get frame() { return frame; },
    get state() { return session?.state ?? 'connecting'; },
    get settled() { return session?.settled ?? false; },
  };
}
