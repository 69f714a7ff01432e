// Tabs as the ARIA practices have them: arrows, Home and End move, one tab is in the tab order.

export function tabs(list, onselect = () => {}) {
  const all = [...list.querySelectorAll('[role=tab]')];
  const select = (tab, focus) => {
    for (const t of all) {
      const on = t === tab;
      t.setAttribute('aria-selected', String(on));
      t.tabIndex = on ? 0 : -1;
      document.getElementById(t.getAttribute('aria-controls')).hidden = !on;
    }
    if (focus) tab.focus();
    onselect(tab);
  };
  for (const t of all) t.addEventListener('click', () => select(t));
  list.addEventListener('keydown', e => {
    const at = all.indexOf(e.target);
    if (at < 0) return;
    const to = {ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1}[e.key];
    if (to === undefined) return;
    e.preventDefault();
    select(all.at(to % all.length), true);
  });
  return id => select(document.getElementById(id));
}
