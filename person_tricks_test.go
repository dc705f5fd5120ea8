package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/chrome"
	"sallyport/gate"
)

// ground is a page's whole view in the colour of a spot, to be clicked.
func ground(spot, script string) string {
	colours := map[string]string{"go": "#0b3d91", "open": "#33405c"}
	return `<div style="position:fixed;inset:0;background:` + colours[spot] + `"></div><script>` + script + `</script>`
}

// fakes tries every way to look like a click, one after the other, and then leaves.
const fakes = `
	const to = 'https://evil.test/fake?x', body = document.body;
	const link = (target) => Object.assign(body.appendChild(document.createElement('a')), {href: to, target, textContent: 'x'});
	const form = Object.assign(body.appendChild(document.createElement('form')), {action: to, target: '_blank'});
	const button = form.appendChild(document.createElement('button'));
	const press = (type, more) => link('').dispatchEvent(new MouseEvent(type, {bubbles: true, cancelable: true, view: window, detail: 1, ...more}));
	const key = (on, key) => { on.focus(); for (const type of ['keydown', 'keypress', 'keyup']) on.dispatchEvent(new KeyboardEvent(type, {key, code: key, keyCode: 13, bubbles: true})); };
	const ways = [
		() => link('').click(), () => link('_blank').click(), () => button.click(), () => form.requestSubmit(), () => form.submit(),
		...['ctrlKey', 'shiftKey', 'metaKey', 'altKey'].map((k) => () => press('click', {[k]: true})),
		() => press('click', {ctrlKey: true, shiftKey: true}), () => press('auxclick', {button: 1}), () => press('mousedown', {button: 1}), () => press('mouseup', {button: 1}),
		() => link('').dispatchEvent(new PointerEvent('click', {bubbles: true, pointerType: 'mouse', isPrimary: true, ctrlKey: true})),
		() => key(link(''), 'Enter'), () => key(button, 'Enter'), () => open(to), () => open(to, '', 'popup'),
		() => { onclick = () => open(to); document.body.click(); onclick = null; },
	];
	const next = () => { const way = ways.shift(); if (way) { setTimeout(next, 20); way(); } else setTimeout(() => { location = 'https://evil.test/last?x'; }, 1000); };
	onload = () => setTimeout(next, 100);`

// TestWhatAClickLendsAPage holds what a page in an agent's tab can do with a
// person's click, and what it cannot do without one.
func TestWhatAClickLendsAPage(t *testing.T) {
	leave := func(name string) string { return `location = 'https://evil.test/` + name + `?x'` }
	base := servePages(t, map[string]string{
		"/waits":  ground("go", `onclick = () => { `+leave("waits")+` }`),
		"/after4": ground("go", `onclick = () => setTimeout(() => { `+leave("after4")+` }, 4000)`),
		"/after6": ground("open", `onclick = () => setTimeout(() => { `+leave("after6")+` }, 6000)`),
		"/spends": ground("go", `onclick = () => { open('https://evil.test/first?x'); open('https://evil.test/second?x'); `+leave("third")+` }`),
		"/fakes":  `<script>` + fakes + `</script>`,
	})
	g, person := headed(t, "127.0.0.1")
	windows, err := person.Windows(t.Context())
	require.NoError(t, err)
	w := &walk{gates: g, person: person, window: windows[1], agents: true}
	shows := func(t *testing.T, w *walk, path, spot string) {
		t.Helper()
		_, err := w.navigate(t, base+path)
		require.NoError(t, err)
		require.NoError(t, person.Focus(t.Context(), w.window))
		w.clicks(t, spot)
	}

	t.Run("events that a page makes up are no click", func(t *testing.T) {
		tabs := len(g.Tabs())
		_, err := w.navigate(t, base+"/fakes")
		require.NoError(t, err)
		assert.Equal(t, gate.Page, g.denied(t, "https://evil.test/last").Initiator)
		g.shows(t, base+"/fakes")
		assert.Len(t, g.Tabs(), tabs, "no tab came up")
		assert.Zero(t, w.heard("https://evil.test/fake?x", "GET")+w.heard("https://evil.test/last?x", "GET"))
	})
	t.Run("a click is good for a leave for less than 5 s", func(t *testing.T) {
		second := *g
		second.tab, err = g.browser.OpenTab(t.Context(), g.session)
		require.NoError(t, err)
		windows, err := person.Windows(t.Context())
		require.NoError(t, err)
		require.Len(t, windows, 3)
		shows(t, &walk{gates: &second, person: person, window: windows[2]}, "/after6", "open")
		shows(t, w, "/after4", "go")
		w.reached(t, "https://evil.test/after4?x", "GET", 1)
		assert.Equal(t, gate.Page, second.denied(t, "https://evil.test/after6").Initiator)
		second.shows(t, base+"/after6")
		assert.Zero(t, w.heard("https://evil.test/after6?x", "GET"))
	})
	t.Run("at once: it is the person's, and the agent gains nothing", func(t *testing.T) {
		shows(t, w, "/waits", "go")
		g.shows(t, "https://evil.test/waits?x")
		tab, _ := g.Tab(g.tab)
		assert.True(t, tab.Person)
		_, err := w.navigate(t, "https://evil.test/agent?x")
		var denied *chrome.DeniedError
		require.ErrorAs(t, err, &denied)
		assert.Zero(t, w.heard("https://evil.test/agent?x", "GET"))
	})
	t.Run("it opens one tab, which is the person's, and is spent", func(t *testing.T) {
		tabs := len(g.Tabs())
		shows(t, w, "/spends", "go")
		w.reached(t, "https://evil.test/first?x", "GET", 1)
		assert.Equal(t, gate.Page, g.denied(t, "https://evil.test/third").Initiator)
		g.shows(t, base+"/spends")
		require.Len(t, g.Tabs(), tabs+1)
		assert.Empty(t, g.Tabs()[tabs].Owner)
		for _, name := range []string{"second", "third"} {
			assert.Zero(t, w.heard("https://evil.test/"+name+"?x", "GET"), name)
		}
	})
}
