// Fetches the page again while it is visible, and shows what changed: not while somebody types or selects text.
'use strict';
(() => {
  const main = document.getElementById('main'), live = document.getElementById('live');
  if (!main || !('live' in main.dataset)) return;
  const words = live.textContent;
  let tag = '', busy = false;
  const atWork = () => {
    const at = document.activeElement, selected = document.getSelection();
    return (at && main.contains(at) && at.matches('input, textarea, select')) || (selected && !selected.isCollapsed);
  };
  const show = (text) => {
    const fresh = new DOMParser().parseFromString(text, 'text/html'), next = fresh.getElementById('main');
    if (!next) return;
    const focus = main.contains(document.activeElement) && document.activeElement.id;
    for (const before of main.querySelectorAll('details[id]')) {
      const after = fresh.getElementById(before.id);
      if (after) after.open = before.open;
    }
    main.replaceChildren(...next.childNodes);
    if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
    live.textContent = fresh.getElementById('live').textContent;
  };
  const look = async () => {
    if (busy || document.hidden || atWork()) return;
    busy = true;
    try {
      const answer = await fetch(location.href, { headers: tag ? { 'If-None-Match': tag } : {}, cache: 'no-store' });
      const text = answer.status === 304 ? '' : await answer.text();
      if (text && !atWork()) {
        show(text);
        tag = answer.headers.get('ETag') || '';
      }
      if (live.dataset.lost) live.textContent = words;
      delete live.dataset.lost;
    } catch {
      live.dataset.lost = 'yes';
      live.textContent = 'gatefold does not answer';
    }
    busy = false;
  };
  setInterval(look, 2000);
  look();
})();
