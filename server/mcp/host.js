// The host of an MCP App, reached by messages. Knows the extension's protocol (version 2026-01-26): the handshake, requests in
// both directions, notifications. Knows nothing of cards.

const protocolVersion = '2026-01-26';

class Host {
  #next = 1;
  #waiting = new Map();
  #o;
  capabilities = {};
  context = {};

  // Options: onnotification(method, params), onrequest(method, params), which gives a result or throws, and oncontext(context).
  constructor(options) {
    this.#o = options;
    addEventListener('message', e => { if (e.source === parent && e.source !== window) this.#heard(e.data); });
  }

  // connect makes the handshake. It settles when the host has answered, and fails where there is none.
  async connect(appInfo) {
    if (parent === window) throw new Error('there is no host');
    const answer = await this.request('ui/initialize', {
      protocolVersion, appInfo, appCapabilities: {availableDisplayModes: ['inline', 'fullscreen']},
    });
    this.capabilities = object(answer.hostCapabilities);
    this.#merge(object(answer.hostContext));
    this.notify('ui/notifications/initialized', {});
  }

  // callsTools tells whether the host passes tool calls on.
  get callsTools() { return typeof this.capabilities.serverTools === 'object' && this.capabilities.serverTools !== null; }

  notify(method, params) { this.#send({jsonrpc: '2.0', method, params}); }

  request(method, params) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, {resolve, reject});
      this.#send({jsonrpc: '2.0', id, method, params});
    });
  }

  // What is said is the host's to hear wherever it is from: it made this page, and there is no telling its origin.
  #send(message) { parent.postMessage(message, '*'); }

  #heard(m) {
    if (object(m).jsonrpc !== '2.0') return;
    if (typeof m.method !== 'string') {
      const w = this.#waiting.get(m.id);
      if (!w) return;
      this.#waiting.delete(m.id);
      if (m.error) w.reject(new Error(String(object(m.error).message ?? 'the host refused')));
      else w.resolve(object(m.result));
      return;
    }
    const params = object(m.params);
    if (m.id === undefined) {
      if (m.method === 'ui/notifications/host-context-changed') this.#merge(params);
      else this.#o.onnotification(m.method, params);
      return;
    }
    try {
      this.#send({jsonrpc: '2.0', id: m.id, result: m.method === 'ping' ? {} : this.#o.onrequest(m.method, params)});
    } catch (e) {
      this.#send({jsonrpc: '2.0', id: m.id, error: {code: -32601, message: String(e.message)}});
    }
  }

  #merge(more) {
    this.context = {...this.context, ...more};
    this.#o.oncontext(this.context);
  }
}

// object is v where it is an object, else an empty one: what comes in messages may be anything.
function object(v) { return typeof v === 'object' && v !== null ? v : {}; }
