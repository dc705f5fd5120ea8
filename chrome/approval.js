// Runs in an isolated world of the approval page; the page itself has no script.
// config: {binding, nonce, title, body}. A body replaces the question on the page.
(config) => {
  const QUIET = 800; // ms without a press before anything acts

  globalThis.before?.abort();
  const life = globalThis.before = new AbortController();
  if (config.body) {
    document.title = config.title;
    document.body.innerHTML = config.body;
  }
  const find = (id) => document.getElementById(id);
  const heading = find('heading'), deny = find('deny'), allow = find('allow');
  const list = find('scroll'), status = find('status');

  let lastPress = performance.now();
  let allowFocused = Infinity;
  let pressWasQuiet = false; // of the pointer press that a click belongs to
  let seenEnd = false;
  let answered = false;

  const quiet = () => document.visibilityState === 'visible' && performance.now() - lastPress >= QUIET;
  const restart = () => { lastPress = performance.now(); show(); };
  globalThis.raised = restart; // a click that was meant for what lay above must not count

  const answer = (what) => {
    if (answered) return;
    answered = true;
    globalThis[config.binding](JSON.stringify({nonce: config.nonce, answer: what}));
  };
  const act = (button) => {
    if (button === deny) answer('declined');
    if (button === allow && seenEnd) answer('allowed');
  };

  // What can be done now, for eyes and for screen readers.
  let shown = '';
  const show = () => {
    seenEnd ||= list.scrollTop + list.clientHeight >= list.scrollHeight - 2;
    const ready = quiet();
    deny.setAttribute('aria-disabled', String(!ready));
    allow.setAttribute('aria-disabled', String(!ready || !seenEnd));
    document.documentElement.dataset.ready = String(ready);
    document.documentElement.dataset.seenEnd = String(seenEnd);
    const text = !seenEnd ? 'To allow, scroll to the end of the list first.' : ready ? 'You can answer now.' : 'One moment…';
    if (text !== shown) status.textContent = shown = text;
  };

  const on = (target, type, f) => target.addEventListener(type, (e) => { if (e.isTrusted) f(e); }, {capture: true, signal: life.signal});

  // A window above this one may go just before a click on it: then the pointer comes
  // in here. A finger or a pen may come in with each press, and would never be quiet.
  on(window, 'pointerover', (e) => { if (e.pointerType === 'mouse' && !e.relatedTarget) restart(); });
  on(window, 'pointerdown', () => { pressWasQuiet = quiet(); restart(); });
  on(window, 'keydown', (e) => {
    const wasQuiet = quiet() && !e.repeat;
    const sinceFocus = performance.now() - allowFocused;
    restart();
    if (e.key === 'Escape') {
      if (wasQuiet) answer('declined');
      return;
    }
    const steps = {End: Infinity, Home: -Infinity, PageDown: 300, PageUp: -300, ArrowDown: 40, ArrowUp: -40};
    if (e.key in steps && !list.contains(document.activeElement)) {
      const to = list.scrollTop + steps[e.key];
      list.scrollTop = Math.max(0, Math.min(to, list.scrollHeight));
    }
    if (e.key !== 'Enter' && e.key !== ' ') return;
    const button = document.activeElement;
    if (button !== deny && button !== allow) return;
    e.preventDefault(); // or the browser would click it at once
    if (wasQuiet && (button === deny || sinceFocus >= QUIET)) act(button);
  });
  for (const button of [deny, allow]) {
    on(button, 'click', (e) => {
      // A click without a pointer is a screen reader's.
      const ok = e.detail > 0 ? pressWasQuiet : quiet();
      pressWasQuiet = false;
      if (ok) act(button);
    });
  }
  on(allow, 'focus', () => { allowFocused = performance.now(); });
  on(allow, 'blur', () => { allowFocused = Infinity; });
  on(list, 'scroll', show);
  on(window, 'resize', show);
  on(window, 'focus', restart);
  on(document, 'visibilitychange', restart);

  const timer = setInterval(show, 100);
  life.signal.addEventListener('abort', () => clearInterval(timer));
  heading.focus();
  show();
  return document.hasFocus();
}
