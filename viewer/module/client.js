import {EventQueue} from './queue.js';

// A session of a cardrun service over HTTP. Knows its calls, the order of rounds, and what to do when the connection fails;
// knows no DOM.
//
// Rounds have a place, activation.number: the id of the stream's events, and the header Last-Event-ID of answers. They come by the
// stream and with the answers to events, whichever is first; each is given on once, in order. Where one is missing, all is
// read anew.

const firstWait = 500, longestWait = 30000, heartbeat = 45000;

export class Session {
  #o;
  #queue = new EventQueue();
  #place = null; // of the last round given on: {activation, number}
  #stop = new AbortController();
  #busy = false;
  #ended = false;
  #failures = 0;
  #wake = () => {};
  #resume = () => {};
  #streaming = null;
  #syncing = null;
  #state = 'connecting';
  handlers = [];

  // Options: url is the service's address, session the session's secret, token the bearer token if the service wants one.
  // Called back: onsnapshot(snapshot), onround(round, place, acknowledged), oncontrols(controls), onfailure(failure),
  // onstate(state, detail), onsent(events). States: connecting, live, offline, busy, denied, gone, closed.
  constructor(options) {
    const none = () => {};
    this.#o = {url: '', onsnapshot: none, onround: none, oncontrols: none, onfailure: none, onstate: none, onsent: none, ...options};
    this.#o.url = String(this.#o.url).replace(/\/+$/, '');
    globalThis.addEventListener?.('online', this.#soon);
  }

  get queue() { return this.#queue; }
  get state() { return this.#state; }
  get place() { return this.#place; }

  // open reads the session and follows it until close.
  async open() {
    await this.#persist(() => this.#read());
    if (!this.#over) this.#streaming = this.#follow();
    this.#pump();
  }

  // send takes an event that the user brought about. Requests go one at a time, in order.
  send(e) {
    if (this.#ended || this.#over) return;
    this.#queue.push(e);
    this.#pump();
  }

  // settled is true when all that was sent is answered.
  get settled() { return !this.#busy && this.#queue.waiting === 0; }

  // refresh starts a new activation.
  async refresh() {
    this.#queue.drop();
    await this.#persist(async () => {
      await this.#call('POST', '/refresh');
      await this.#read(true);
      this.#resume();
    });
  }

  // snapshot asks for the whole session as it is now, and changes nothing.
  async snapshot() { return (await this.#call('GET', '')).value; }

  // leave stops following; close also ends the session on the server.
  leave() {
    if (this.#over) return;
    this.#stop.abort();
    globalThis.removeEventListener?.('online', this.#soon);
    this.#say('closed');
    this.#wake();
    this.#resume();
  }
  async close() {
    const gone = this.#over;
    this.leave();
    if (!gone) await fetch(this.#address(''), {method: 'DELETE', headers: this.#headers(), keepalive: true}).catch(() => {});
  }

  retry() { this.#soon(); }

  get #over() { return this.#stop.signal.aborted || this.#state === 'gone' || this.#state === 'denied'; }
  #soon = () => {
    this.#failures = 0;
    this.#wake();
  };

  #say(state, detail = '') {
    if (this.#state === state && state !== 'offline') return;
    this.#state = state;
    this.#o.onstate(state, detail);
  }

  #address(path) { return this.#o.url + '/v1/sessions/' + encodeURIComponent(this.#o.session) + path; }
  #headers(more) { return {...(this.#o.token ? {Authorization: 'Bearer ' + this.#o.token} : {}), ...more}; }

  // call makes a request and gives its answer. What it throws has a kind: lost, busy, ended, gone, denied, refused.
  async #call(method, path, body) {
    let r;
    try {
      r = await fetch(this.#address(path), {
        method, cache: 'no-store', credentials: 'omit', redirect: 'error', referrerPolicy: 'no-referrer',
        signal: AbortSignal.any([this.#stop.signal, AbortSignal.timeout(60000)]),
        headers: this.#headers(body === undefined ? {Accept: 'application/json'} : {Accept: 'application/json', 'Content-Type': 'application/json'}),
        body: body === undefined ? undefined : JSON.stringify(body),
      });
      if (r.ok) {
        const value = r.status === 204 ? null : await r.json();
        this.#failures = 0;
        return {value, place: parsePlace(r.headers.get('Last-Event-ID'))};
      }
    } catch (e) {
      throw Object.assign(new Error('the service cannot be reached'), {kind: 'lost', cause: e});
    }
    throw await fault(r);
  }

  // persist does work until it succeeds, or fails for good.
  async #persist(work) {
    while (!this.#over) {
      try {
        await work();
        return true;
      } catch (e) {
        if (!await this.#suffer(e)) return false;
      }
    }
    return false;
  }

  // suffer tells what a failed call means, and waits; false when there is no use in trying again.
  async #suffer(e) {
    if (this.#stop.signal.aborted) return false;
    switch (e.kind) {
    case 'gone': case 'denied':
      this.#say(e.kind, e.message);
      return false;
    case 'refused': case 'ended': return false;
    case 'busy': this.#say('busy', e.message); break;
    default: this.#say('offline', e.message);
    }
    const wait = e.after ?? Math.min(longestWait, firstWait * 2 ** this.#failures++) * (0.5 + Math.random() / 2);
    await new Promise(done => {
      const timer = setTimeout(done, wait), before = this.#wake;
      this.#wake = () => { clearTimeout(timer); before(); done(); };
    });
    return !this.#over;
  }

  // read gets the whole session. What was read earlier than a round that is known by now is not given on.
  #read(always) {
    this.#syncing ??= (async () => {
      try {
        const {value, place} = await this.#call('GET', '');
        if (!always && this.#place && place && place.activation === this.#place.activation && place.number < this.#place.number) return value;
        this.#place = place;
        this.handlers = value.handlers;
        this.#ended = value.failure !== null;
        if (this.#ended) this.#queue.drop();
        this.#say('live');
        this.#o.onsnapshot(value, this.#queue.edits());
        if (value.failure) this.#o.onfailure(value.failure);
        return value;
      } finally {
        this.#syncing = null;
      }
    })();
    return this.#syncing;
  }

  // take gives a round on, once, in order; false when all must be read anew.
  #take(round, place, acknowledged) {
    const at = this.#place;
    if (!at || !place || place.activation !== at.activation) return false;
    if (place.number <= at.number) return true;
    if (place.number !== at.number + 1) return false;
    this.#place = place;
    try {
      this.#o.onround(round, place, acknowledged);
    } catch {
      return false;
    }
    return true;
  }

  // pump sends what waits, one request at a time.
  async #pump() {
    if (this.#busy || !this.#place || this.#ended || this.#over || this.#queue.waiting === 0) return;
    this.#busy = true;
    try {
      while (this.#queue.waiting > 0 && !this.#ended && !this.#over) {
        const events = this.#queue.take(), before = this.#place;
        let answer;
        try {
          answer = await this.#call('POST', '/events', events);
        } catch (e) {
          await this.#recover(e, events, before);
          continue;
        }
        this.#o.onsent(events, answer.value);
        this.#answered(answer);
      }
    } finally {
      this.#busy = false;
    }
  }

  #answered({value, place}) {
    this.#say('live');
    this.#queue.done();
    let whole = Boolean(place);
    value.rounds.forEach((round, i) => {
      whole &&= this.#take(round, {activation: place.activation, number: place.number - value.rounds.length + 1 + i}, true);
    });
    if (!whole) {
      this.#persist(() => this.#read());
    } else if (this.#place.number === place.number) {
      this.#o.oncontrols(value.controls, this.#queue.edits());
    }
  }

  // recover does what a failed sending of events asks for.
  async #recover(e, events, before) {
    switch (e.kind) {
    case 'busy': // not taken
      this.#queue.again();
      await this.#suffer(e);
      return;
    case 'lost': {
      // Were they taken? Then the first round that is new is of one of them, or all that is new is their values.
      if (!await this.#suffer(e)) return;
      let now;
      if (!await this.#persist(async () => { now = await this.#read(); })) return;
      const at = this.#place;
      const fresh = at && before && at.activation === before.activation ? now.rounds.slice(now.rounds.length - Math.max(0, at.number - before.number)) : [];
      const taken = fresh.some(r => r.event && events.some(s => s.id === r.event.id && s.type === r.event.type));
      if (taken || at?.activation !== before.activation) this.#queue.done();
      else this.#queue.again();
      if (taken) this.#o.onsent(events, null);
      return;
    }
    case 'ended':
      this.#ended = true;
      this.#queue.drop();
      await this.#persist(() => this.#read());
      return;
    default:
      this.#queue.drop();
      if (await this.#suffer(e)) return;
      if (e.kind === 'refused') await this.#persist(() => this.#read());
    }
  }

  // follow reads the stream, again and again.
  async #follow() {
    while (!this.#over) {
      try {
        const why = await this.#listen();
        if (why === 'failure') { // nothing comes until the card starts anew
          while (this.#ended && !this.#over) await new Promise(done => { this.#resume = done; });
        } else { // closed, expired, or the service stops: the answer to a question says which
          await this.#read();
        }
      } catch (e) {
        if (e.kind === 'again') {
          if (!await this.#persist(() => this.#read())) return;
        } else if (!await this.#suffer(e)) {
          return;
        }
      }
    }
  }

  async #listen() {
    const give = new AbortController();
    let timer;
    const alive = () => {
      clearTimeout(timer);
      timer = setTimeout(() => give.abort(), heartbeat);
    };
    alive();
    try {
      const at = this.#place;
      let r;
      try {
        r = await fetch(this.#address('/stream'), {
          cache: 'no-store', credentials: 'omit', redirect: 'error', referrerPolicy: 'no-referrer',
          signal: AbortSignal.any([this.#stop.signal, give.signal]),
          headers: this.#headers({Accept: 'text/event-stream', ...(at ? {'Last-Event-ID': at.activation + '.' + at.number} : {})}),
        });
      } catch (e) {
        throw Object.assign(new Error('the service cannot be reached'), {kind: 'lost', cause: e});
      }
      if (!r.ok) throw await fault(r);
      this.#failures = 0;
      this.#say('live');
      const parse = eventParser();
      const reader = r.body.pipeThrough(new TextDecoderStream()).getReader();
      try {
        for (;;) {
          let chunk;
          try {
            chunk = await reader.read();
          } catch (e) {
            throw Object.assign(new Error('the connection was lost'), {kind: 'lost', cause: e});
          }
          if (chunk.done) throw Object.assign(new Error('the connection was lost'), {kind: 'lost'});
          alive();
          for (const m of parse(chunk.value)) {
            if (m.event === 'end') return JSON.parse(m.data).reason;
            if (m.event === 'round' && !this.#take(JSON.parse(m.data), parsePlace(m.id), false)) {
              throw Object.assign(new Error('rounds are missing'), {kind: 'again'});
            }
            if (m.event === 'failure') await this.#persist(() => this.#read());
          }
        }
      } finally {
        reader.cancel().catch(() => {});
      }
    } finally {
      clearTimeout(timer);
      give.abort();
    }
  }
}

function parsePlace(text) {
  const m = /^(\d+)\.(\d+)$/.exec(text ?? '');
  return m && {activation: Number(m[1]), number: Number(m[2])};
}

// fault is what an answer that is no success means.
async function fault(r) {
  const problem = await r.json().catch(() => ({}));
  const kinds = {401: 'denied', 403: 'denied', 404: 'gone', 410: 'gone', 409: 'ended', 429: 'busy', 503: 'busy', 502: 'lost', 504: 'lost'};
  const seconds = Number(r.headers.get('Retry-After'));
  const e = new Error(problem.detail || problem.title || 'the service answers ' + r.status);
  return Object.assign(e, {
    kind: kinds[r.status] ?? (r.status >= 500 ? 'lost' : 'refused'), status: r.status, problem,
    after: kinds[r.status] === 'busy' && seconds > 0 ? Math.min(seconds * 1000, longestWait) : undefined,
  });
}

// eventParser reads server-sent events from pieces of text (WHATWG HTML section 9.2.6), without what nobody here uses.
export function eventParser() {
  let rest = '', message = {event: 'message', data: [], id: ''};
  return text => {
    const out = [];
    const lines = (rest + text).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop();
    if (rest.length > 1 << 20) throw Object.assign(new Error('a line of the stream has no end'), {kind: 'lost'});
    for (const line of lines) {
      if (line === '') {
        if (message.data.length > 0) out.push({...message, data: message.data.join('\n')});
        message = {event: 'message', data: [], id: message.id};
        continue;
      }
      const [, name, value] = /^([^:]*)(?:: ?(.*))?$/s.exec(line);
      if (name === 'event') message.event = value ?? '';
      else if (name === 'data') message.data.push(value ?? '');
      else if (name === 'id') message.id = value ?? '';
    }
    return out;
  };
}
