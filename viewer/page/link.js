// Links that reproduce what the page shows: card, seed, time and events as compressed JSON in the fragment, which no server sees.

const mostText = 512 << 10; // of JSON; what is longer is no link of ours

const toBase64url = bytes => {
  let s = '';
  for (let i = 0; i < bytes.length; i += 0x8000) s += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(s).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
};
const fromBase64url = text => Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), c => c.charCodeAt(0));

// pack gives the fragment, with its #, for {card, seed, now, events}; card is the text that was sent.
export async function pack(state) {
  const stream = new Blob([JSON.stringify(state)]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  return '#card=' + toBase64url(new Uint8Array(await new Response(stream).arrayBuffer()));
}

// unpack reads a fragment. It gives null where there is no card in it, and throws where one is damaged or too long.
export async function unpack(fragment) {
  const m = /^#card=([A-Za-z0-9_-]+)$/.exec(fragment);
  if (!m) return null;
  const reader = new Blob([fromBase64url(m[1])]).stream().pipeThrough(new DecompressionStream('deflate-raw')).pipeThrough(new TextDecoderStream('utf-8', {fatal: true})).getReader();
  let text = '';
  for (;;) {
    const {done, value} = await reader.read();
    if (done) break;
    text += value;
    if (text.length > mostText) {
      reader.cancel();
      throw new Error('the link holds more than a card');
    }
  }
  const s = JSON.parse(text);
  if (typeof s?.card !== 'string' || !/^\d{0,20}$/.test(s.seed) || typeof s.now !== 'string' || !Array.isArray(s.events) || !s.events.every(isEvent)) {
    throw new Error('the link holds no card');
  }
  return {card: s.card, seed: s.seed, now: s.now, events: s.events.slice(0, 500)};
}

function isEvent(e) {
  return e !== null && typeof e === 'object' && typeof e.id === 'string' && /^(input|change|click)$/.test(e.type) &&
    (e.value === undefined || typeof e.value === 'string') && (e.checked === undefined || typeof e.checked === 'boolean');
}
