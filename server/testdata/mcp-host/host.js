// A host of MCP Apps, as little of one as a view needs. Each view gets what its options say: tools (whether calls are passed on),
// arguments and result of the tool call, context, and play, which answers tools/call in place of the server.
'use strict';
window.views = [];

function open(options) {
  const f = document.createElement('iframe');
  const view = {frame: f, o: options, log: [], sizes: [], calls: 0, answers: [], initialized: false, torn: false};
  f.setAttribute('sandbox', options.sandbox ?? 'allow-scripts allow-same-origin');
  if (options.srcdoc) f.srcdoc = options.srcdoc;
  else f.src = options.src ?? '/view';
  document.getElementById('views').append(f);
  views.push(view);
  return views.length - 1;
}

function close() {
  for (const v of views) v.frame.remove();
  views = [];
}

function post(view, message) {
  message = {jsonrpc: '2.0', ...message};
  view.log.push({from: 'host', message});
  view.frame.contentWindow.postMessage(message, '*');
}

addEventListener('message', async e => {
  const view = views.find(v => v.frame.contentWindow === e.source);
  if (!view) return;
  const m = e.data;
  view.log.push({from: 'view', message: m});
  const answer = result => post(view, {id: m.id, result});
  switch (m.method) {
  case 'ui/initialize':
    if (!view.o.silent) answer({protocolVersion: m.params.protocolVersion, hostInfo: {name: 'test', version: '1'},
      hostCapabilities: view.o.tools ? {serverTools: {}} : {}, hostContext: view.o.context ?? {}});
    break;
  case 'ui/notifications/initialized':
    view.initialized = true;
    if (view.o.arguments) post(view, {method: 'ui/notifications/tool-input', params: {arguments: view.o.arguments}});
    if (view.o.result) post(view, {method: 'ui/notifications/tool-result', params: view.o.result});
    break;
  case 'ui/notifications/size-changed':
    view.sizes.push(m.params);
    if (m.params.height) view.frame.style.height = m.params.height + 'px';
    break;
  case 'tools/call':
    view.calls++;
    if (view.o.play) {
      answer(view.o.play(m.params));
      break;
    }
    try {
      const r = await fetch('/call', {method: 'POST', body: JSON.stringify(m.params)});
      if (!r.ok) throw new Error(await r.text());
      const result = await r.json();
      view.answers.push(result);
      answer(result);
    } catch (error) {
      post(view, {id: m.id, error: {code: -32000, message: String(error.message)}});
    }
    break;
  case undefined:
    if (m.id === 'teardown') view.torn = true;
  }
});

// What follows looks into a view of the host's own origin.
const inside = n => views[n].frame.contentDocument;
const card = n => !inside(n) ? null : views[n].frame.contentWindow.shade ?? inside(n).querySelector('#card iframe')?.contentDocument;
const el = (n, id) => card(n)?.getElementById(id);
const note = n => inside(n)?.getElementById('note')?.hidden === false ? inside(n).querySelector('#note span').textContent : '';

// at gives where in the page the middle of a card's element is.
function at(n, id) {
  const f = views[n].frame, inner = inside(n).querySelector('#card iframe'), e = el(n, id);
  f.scrollIntoView({block: 'nearest', behavior: 'instant'});
  const boxes = [f.getBoundingClientRect(), ...(inner ? [inner.getBoundingClientRect()] : [])], r = e.getBoundingClientRect();
  return {X: boxes.reduce((x, b) => x + b.left, r.left + r.width / 2), Y: boxes.reduce((y, b) => y + b.top, r.top + r.height / 2)};
}
