// Events on their way to a session. Knows what waits, what is sent, and which edits the server has not answered for; knows no DOM
// and no network.

// What waits at most, edits of further controls apart (R74), and what goes in one request.
const waitLimit = 16, sendLimit = 64;

export class EventQueue {
  #waiting = [];
  #sent = [];
  combined = 0;
  ignored = 0;

  get waiting() { return this.#waiting.length; }
  get sent() { return this.#sent; }

  // push adds an event, or merges it into the last one that waits where both are input events of one control (R73). When too
  // many wait a click is ignored; an edit is not lost: what waits for its control takes it along.
  push(e) {
    const last = this.#waiting.at(-1);
    if (e.type === 'input' && last?.type === 'input' && last.id === e.id) {
      Object.assign(last, e);
      this.combined++;
      return;
    }
    if (this.#waiting.length < waitLimit) {
      this.#waiting.push(e);
      return;
    }
    const same = this.#waiting.findLast(w => w.id === e.id && w.value !== undefined);
    if (e.value === undefined || same) {
      this.ignored++;
      if (same) Object.assign(same, {value: e.value, checked: e.checked});
    } else {
      this.#waiting.push(e); // at most one a control
    }
  }

  // take gives what is to be sent now; done, again or drop says what became of it.
  take() {
    this.#sent = this.#waiting.splice(0, sendLimit);
    return this.#sent;
  }
  done() { this.#sent = []; }
  again() {
    this.#waiting.unshift(...this.#sent);
    this.#sent = [];
  }
  drop() { this.#sent = this.#waiting = []; }

  // edits gives the state by control that the user gave it and that no answer covers yet.
  edits() {
    const map = new Map();
    for (const e of [...this.#sent, ...this.#waiting]) {
      if (e.value !== undefined || e.checked !== undefined) map.set(e.id, {value: e.value, checked: e.checked});
    }
    return map;
  }
}
