// What a session's document is read by. It runs in a world of its own beside each
// document, from before the page's own scripts: it shares the page's elements, but no
// function of it can be reached or replaced by the page.
(() => {
'use strict';
if (globalThis.sallyport) return;

// A page can hide what a form or a document has of its own behind an element's name
// (<input name=childNodes>), in this world too. So these are asked past the object.
const get = (proto, name) => { const g = Object.getOwnPropertyDescriptor(proto, name).get; return of => g.call(of); };
const method = (proto, name) => { const f = proto[name]; return (of, ...args) => f.apply(of, args); };
const tagOf = get(Element.prototype, 'tagName'), typeOf = get(Node.prototype, 'nodeType'), nodesOf = get(Node.prototype, 'childNodes'), dataOf = get(CharacterData.prototype, 'data');
const parentOf = get(Node.prototype, 'parentElement'), shadowOf = get(Element.prototype, 'shadowRoot'), rootOf = method(Node.prototype, 'getRootNode');
const boxOf = method(Element.prototype, 'getBoundingClientRect'), visible = method(Element.prototype, 'checkVisibility'), has = method(Node.prototype, 'contains');
const ownerOf = get(Node.prototype, 'ownerDocument'), matches = method(Element.prototype, 'matches'), attribute = method(Element.prototype, 'getAttribute'), within = method(Element.prototype, 'querySelectorAll');
const all = method(Document.prototype, 'querySelectorAll'), titleOf = get(Document.prototype, 'title'), stateOf = get(Document.prototype, 'readyState');
const elementOf = get(Document.prototype, 'documentElement'), viewOf = get(Document.prototype, 'defaultView'), walkerOf = method(Document.prototype, 'createTreeWalker'), rangeOf = method(Document.prototype, 'createRange');

// ---- Secrets: a field that was one stays one.

const secretFields = new WeakSet();
const secretValues = new Set(); // so that a copy of one elsewhere is known for it
const shortestSecret = 6;       // shorter ones are found in any text
const mostSecrets = 200;

const secretAutocomplete = /(^|\s)(one-time-code|current-password|new-password|cc-[a-z-]+)(\s|$)/i;
const secretName = new RegExp([
	'pass[-_ ]?(word|code|phrase|wd)', 'one[-_ ]?time', 'verification[-_ ]?code', 'security[-_ ]?code', 'auth(entication|enticator)?[-_ ]?code',
	'card[-_ ]?(number|num|no)(?![a-z])', 'credit[-_ ]?card', 'card[-_ ]?(code|cvc|cvv)',
	'(^|[^a-z])(pwd|passwd|pin|otp|totp|2fa|mfa|cvc2?|cvv2?|csc|iban|ssn)([^a-z]|$)',
].join('|'), 'i');

const fields = new Set(['INPUT', 'TEXTAREA', 'SELECT']);
const isField = el => el?.nodeType === Node.ELEMENT_NODE && fields.has(tagOf(el));

function isSecret(el) {
	if (!isField(el)) return false;
	if (secretFields.has(el)) return true;
	const is = el.type === 'password' || unwatched(el) || secretAutocomplete.test(el.autocomplete) || getComputedStyle(el).webkitTextSecurity !== 'none'
		|| [el.name, el.id, el.placeholder, attribute(el, 'aria-label'), ...labelsOf(el)].some(name => name && secretName.test(name))
		|| secretValues.has(el.value);
	if (is) secretFields.add(el);
	return is;
}

function* labelsOf(el) {
	for (const label of el.labels || []) yield label.textContent.slice(0, 200);
	for (const id of (attribute(el, 'aria-labelledby') || '').split(/\s+/)) {
		if (id) yield idOf(rootOf(el), id);
	}
}

// unwatched reports a field in a shadow root: what a page does there nobody tells us,
// so it may have been anything before.
const noWords = new Set(['checkbox', 'radio', 'button', 'submit', 'reset', 'image', 'range', 'color', 'file', 'select-one', 'select-multiple']);
const unwatched = el => rootOf(el) instanceof ShadowRoot && !noWords.has(el.type);

function idOf(root, id) {
	const found = [...(typeOf(root) === Node.DOCUMENT_NODE ? all(root, '#' + CSS.escape(id)) : root.querySelectorAll?.('#' + CSS.escape(id)) || [])][0];
	return found?.textContent.slice(0, 200);
}

// keep remembers what a secret field holds. A select's values are of a known few.
function keep(el) {
	if (tagOf(el) === 'SELECT' || el.value.length < shortestSecret || secretValues.size >= mostSecrets) return;
	secretValues.add(el.value);
}

function mask(text) {
	for (const value of secretValues) text = text.replaceAll(value, '•••');
	return text;
}

function noteAll(node) {
	if (!node || typeOf(node) !== Node.ELEMENT_NODE) return;
	if (matches(node, 'input[type=password i]')) secretFields.add(node);
	for (const el of within(node, 'input[type=password i]')) secretFields.add(el);
}

new MutationObserver(records => {
	for (const r of records) {
		for (const node of r.addedNodes) noteAll(node);
		if (r.type === 'attributes' && (/^password$/i.test(r.oldValue) || r.target.type === 'password')) secretFields.add(r.target);
	}
}).observe(document, {subtree: true, childList: true, attributes: true, attributeFilter: ['type'], attributeOldValue: true});
noteAll(elementOf(document));

// What happens in a shadow root is seen by its events only.
for (const event of ['focusin', 'input', 'change', 'focusout', 'submit']) {
	addEventListener(event, e => {
		const el = e.composedPath()[0];
		if (!isField(el) || !isSecret(el)) return;
		if (event !== 'input') keep(el); // not each beginning of it
	}, true);
}

// ---- Text, as it is rendered.

const noText = new Set(['SCRIPT', 'STYLE', 'NOSCRIPT', 'TEMPLATE', 'HEAD', 'TEXTAREA', 'INPUT', 'CANVAS', 'VIDEO', 'AUDIO', 'OBJECT', 'EMBED', 'IFRAME', 'FRAME', 'title', 'desc', 'metadata', 'defs']);
const paragraphs = new Set(['P', 'H1', 'H2', 'H3', 'H4', 'H5', 'H6', 'UL', 'OL', 'DL', 'TABLE', 'BLOCKQUOTE', 'PRE', 'SECTION', 'ARTICLE', 'HEADER', 'FOOTER', 'NAV', 'MAIN', 'ASIDE', 'FORM', 'FIGURE', 'HR']);

// childrenOf are those that are rendered in it: of a shadow root, of a slot, or its own.
function childrenOf(el) {
	const shadow = shadowOf(el);
	if (shadow) return nodesOf(shadow);
	if (tagOf(el) === 'SLOT') {
		const assigned = el.assignedNodes({flatten: true});
		if (assigned.length) return assigned;
	}
	return nodesOf(el);
}

const backgrounds = new WeakMap();
const opaque = color => color.startsWith('rgb(') || !/^rgba\(.*, 0(\.\d+)?\)$|^transparent$|\/ 0?\.?\d+%?\)$/.test(color);
const clear = color => color === 'rgba(0, 0, 0, 0)' || !color.startsWith('rgb(') && /^rgba\(.*, 0\)$|^transparent$|\/ 0\)$/.test(color);

// backgroundOf is the colour behind an element's text; '' where it is not one colour.
function backgroundOf(el) {
	if (!el) return 'rgb(255, 255, 255)';
	let known = backgrounds.get(el);
	if (known === undefined) {
		const style = getComputedStyle(el), color = style.backgroundColor;
		if (style.backgroundImage !== 'none') known = '';
		else if (clear(color)) known = backgroundOf(parentOf(el) || rootOf(el).host);
		else known = opaque(color) ? color : '';
		backgrounds.set(el, known);
	}
	return known;
}

// unseen reports that an element's own text can't be read by a person.
function unseen(el) {
	if (!visible(el, {opacityProperty: true, visibilityProperty: true})) return true;
	const style = getComputedStyle(el);
	if (parseFloat(style.fontSize) < 2 || clear(style.color) || style.color === backgroundOf(el)) return true;
	if (style.display === 'contents') return false;
	const box = boxOf(el);
	return box.right + scrollX <= 0 || box.bottom + scrollY <= 0;
}

// clipsAll reports that nothing inside of an element shows.
function clipsAll(el, style, display) {
	if (display === 'none' || style.contentVisibility === 'hidden') return true;
	if (display === 'contents' || display === 'inline') return false;
	const clipPath = style.clipPath, clip = style.clip;
	if (clipPath !== 'none' && /^inset\((50|100)%/.test(clipPath)) return true;
	if (clip !== 'auto' && /rect\(([01]px,? ){3}[01]px\)/.test(clip)) return true;
	if (style.overflowX === 'visible' && style.overflowY === 'visible') return false;
	const box = boxOf(el);
	return box.width <= 1 || box.height <= 1;
}

// A Writer puts pieces of text together as lines.
class Writer {
	parts = []; breaks = 0; space = false;
	break(n) { this.breaks = Math.max(this.breaks, n); }
	tab() { this.parts.length && this.breaks === 0 && this.parts.push('\t'); this.space = false; }
	put(text, kept) {
		if (kept && text.trim()) {
			this.flush();
			this.parts.push(text);
			return;
		}
		const words = text.trim();
		if (!words) { this.space = true; return; }
		this.space ||= words[0] !== text[0];
		this.flush();
		this.parts.push(/[\n\t\r\f]|  /.test(words) ? words.replace(/[ \t\n\r\f]+/g, ' ') : words);
		this.space = words.at(-1) !== text.at(-1);
	}
	flush() {
		if (this.breaks && this.parts.length) this.parts.push('\n'.repeat(this.breaks));
		else if (this.space && this.parts.length && this.parts.at(-1) !== '\t') this.parts.push(' ');
		this.breaks = 0; this.space = false;
	}
	toString() { return this.parts.join('').replace(/[ \t]+\n/g, '\n'); }
}

// write walks without recursion: pages nest deeper than a stack is. Numbers on the
// stack are line breaks to come.
function write(root, out, skip) {
	const stack = [root];
	let last = null, shows = false, kept = false; // of the parent of the text before
	while (stack.length) {
		const node = stack.pop();
		if (typeof node === 'number') { out.break(node); continue; }
		const type = typeOf(node);
		if (type === Node.ELEMENT_NODE) {
			if (!skip.has(node)) enter(node, stack, out);
			continue;
		}
		if (type !== Node.TEXT_NODE) continue;
		const text = dataOf(node), parent = parentOf(node) || rootOf(node).host;
		if (!parent || !text) continue;
		if (parent !== last) {
			last = parent;
			shows = !unseen(parent);
			kept = shows && getComputedStyle(parent).whiteSpaceCollapse.startsWith('preserve');
		}
		if (shows) out.put(text, kept);
	}
}

function push(stack, nodes) {
	for (let i = nodes.length - 1; i >= 0; i--) stack.push(nodes[i]);
}

function enter(el, stack, out) {
	const tag = tagOf(el);
	if (tag === 'BR') { out.break(1); return; }
	if (tag === 'SELECT') { if (!isSecret(el) && !unseen(el)) out.put(Array.from(el.selectedOptions, o => o.label).join(', ')); return; }
	if (tag === 'IFRAME' || tag === 'FRAME') { into(el, stack, out); return; }
	if (noText.has(tag)) return;
	const style = getComputedStyle(el), display = style.display;
	if (clipsAll(el, style, display)) return;
	if (display === 'table-cell') out.tab();
	const n = paragraphs.has(tag) ? 2 : display === 'table-cell' || display === 'contents' || display.startsWith('inline') ? 0 : 1;
	if (n) { out.break(n); stack.push(n); }
	push(stack, tag === 'DETAILS' && !matches(el, '[open]') ? [...nodesOf(el)].filter(n => typeOf(n) === Node.ELEMENT_NODE && tagOf(n) === 'SUMMARY').slice(0, 1) : childrenOf(el));
}

// into reads a frame that is of the document's own making, or its own host's.
function into(el, stack, out) {
	const top = insideOf(el);
	if (!top || unseen(el)) return;
	out.break(2);
	stack.push(2, top);
}

function insideOf(el) {
	let inner = null;
	try { inner = el.contentDocument; } catch { /* another origin's */ }
	const at = inner && viewOf(inner)?.location;
	return at && (at.protocol === 'about:' || at.hostname === location.hostname) ? elementOf(inner) : null;
}

const shown = selector => [...all(document, selector)].filter(el => visible(el));

function allText() {
	keepAll();
	const out = new Writer(), done = new Set();
	let mains = shown('main, [role=main i]');
	if (!mains.length) mains = shown('article').slice(0, 1);
	for (const main of mains) {
		if (mains.some(other => other !== main && has(other, main))) continue;
		write(main, out, new Set());
		out.break(2);
		done.add(main);
	}
	const top = elementOf(document);
	if (top) write(top, out, done);
	return mask(out.toString());
}

function keepAll() {
	for (const el of all(document, 'input')) if (isSecret(el)) keep(el);
}

// at gives where a document is, for the check that it was approved.
const at = () => ({url: location.href, title: mask(titleOf(document)), state: stateOf(document)});

const plain = text => text.replace(/\s+/g, ' ').toLowerCase();

// ---- Pictures: where not to look.

// mirrors are the boxes of text that repeats a secret.
function mirrors() {
	keepAll();
	const boxes = [], top = elementOf(document);
	if (!secretValues.size || !top) return boxes;
	const walker = walkerOf(document, top, NodeFilter.SHOW_TEXT);
	while (walker.nextNode()) {
		const text = walker.currentNode.data;
		if (text.length < shortestSecret || ![...secretValues].some(value => text.includes(value))) continue;
		const range = rangeOf(document);
		range.selectNodeContents(walker.currentNode);
		for (const box of range.getClientRects()) boxes.push([box.left, box.top, box.right, box.bottom]);
	}
	return boxes;
}

globalThis.sallyport = Object.freeze({
	// text is a part of the text, in UTF-16 units.
	text(offset, most) {
		const all = allText();
		let end = Math.min(all.length, offset + most);
		if (end < all.length && /[\ud800-\udbff]/.test(all[end - 1])) end--; // not within a character
		return {...at(), text: all.slice(offset, end), total: all.length};
	},
	// waits says how what is waited for stands.
	waits(text, gone) {
		const all = text || gone ? plain(allText()) : '';
		return {...at(), found: !text || all.includes(plain(text)), gone: !gone || !all.includes(plain(gone))};
	},
	at,
	// secret tells of one field of this document.
	secret(el) {
		if (ownerOf(el) !== document) throw new Error('of another document');
		const is = isSecret(el);
		if (is) keep(el);
		return is;
	},
	alone: () => ![...all(document, '*')].some(el => isField(el) || shadowOf(el) || /-|^(I?FRAME|OBJECT|EMBED|FENCEDFRAME)$/.test(tagOf(el))),
	// hides tells of a frame's element that nobody sees it, or that its text was read with this document's.
	hides: el => unseen(el) || !!insideOf(el),
	secretValues: () => { keepAll(); return [...secretValues]; },
	mirrors,
	ratio: () => devicePixelRatio,
});
})();
