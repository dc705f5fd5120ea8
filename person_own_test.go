package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/chrome"
	"sallyport/fixtures"
	"sallyport/ledger"
)

// walk is a person who browses in one window.
type walk struct {
	*gates
	person *fixtures.Person
	window fixtures.Window
	agents bool // the tab is one that the agent drives
}

// begin shows the links to a URL in the window.
func (w *walk) begin(t *testing.T, to string) {
	t.Helper()
	start := w.web.URL("good.test", fixtures.Query("/-/link", "to", to))
	if w.agents {
		_, err := w.navigate(t, start)
		require.NoError(t, err)
	}
	require.NoError(t, w.person.Focus(t.Context(), w.window))
	if !w.agents {
		w.types(t, start)
	}
	w.somewhere(t, start)
}

func (w *walk) keys(t *testing.T, keys ...string) {
	t.Helper()
	require.NoError(t, w.person.Key(t.Context(), keys...))
}

// types goes to a URL by the address bar. It clicks there: Ctrl-L goes to the page
// first, and so would what is typed right after it.
func (w *walk) types(t *testing.T, url string) {
	t.Helper()
	require.NoError(t, w.person.ClickIn(t.Context(), w.window, w.window.Width/2, addressBar))
	w.keys(t, "ctrl+a")
	require.NoError(t, w.person.Type(t.Context(), url))
	w.keys(t, "Return")
}

// addressBar is how far the middle of it is below a window's upper edge.
const addressBar = 63

// turns presses a key of the history until a tab shows a URL: one that comes while
// a document is exchanged is lost.
func (w *walk) turns(t *testing.T, key, url string) {
	t.Helper()
	var pressed time.Time
	require.Eventually(t, func() bool {
		for _, tab := range w.Tabs() {
			if tab.URL == url {
				return true
			}
		}
		if time.Since(pressed) > 2*time.Second {
			pressed = time.Now()
			require.NoError(t, w.person.Key(t.Context(), key))
		}
		return false
	}, wait, tick)
}

func (w *walk) clicks(t *testing.T, id string) {
	t.Helper()
	press(t, w.person, id, func(x, y int) error { return w.person.Click(t.Context(), x, y) })
}

// somewhere waits until a tab shows a URL.
func (w *walk) somewhere(t *testing.T, url string) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		var shown []string
		for _, tab := range w.Tabs() {
			shown = append(shown, tab.URL)
		}
		assert.Contains(c, shown, url)
	}, wait, tick)
}

// reached waits until the web has answered so many requests for a URL of evil.test.
func (w *walk) reached(t *testing.T, url string, method string, times int) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.Equal(c, times, w.heard(url, method), "%s %s", method, url)
	}, wait, tick)
}

// heard is how many requests for a URL of evil.test the web has answered.
func (w *walk) heard(url, method string) (count int) {
	for _, hit := range w.web.Hits("evil.test") {
		if w.web.URL(hit.Host, hit.Path+"?"+hit.Query) == url && hit.Method == method {
			count++
		}
	}
	return count
}

// gainsNothing holds that what the person did left the agent where it was.
func (w *walk) gainsNothing(t *testing.T, before int) {
	t.Helper()
	for _, tab := range w.Tabs() {
		assert.Nil(t, tab.LastDenied, "nothing was refused")
	}
	assert.Equal(t, before, w.Allowlist(w.session).Len())
	_, covered := w.Allowlist(w.session).Covers("evil.test")
	assert.False(t, covered)
	_, err := w.navigate(t, "https://evil.test/?refused")
	var denied *chrome.DeniedError
	require.ErrorAs(t, err, &denied)
	assert.Zero(t, w.heard("https://evil.test/?refused", "GET"))
}

// inBothKindsOfTabs browses in a tab of the agent's and in the person's own.
func inBothKindsOfTabs(t *testing.T, browse func(t *testing.T, w *walk)) {
	g, person := headed(t, "good.test", "127.0.0.1")
	windows, err := person.Windows(t.Context())
	require.NoError(t, err)
	require.Len(t, windows, 2)
	before := g.Allowlist(g.session).Len()
	for i, name := range []string{"in the person's own tab", "in an agent's tab"} {
		t.Run(name, func(t *testing.T) {
			w := &walk{gates: g, person: person, window: windows[i], agents: i == 1}
			browse(t, w)
			if w.agents {
				tab, _ := g.Tab(g.tab)
				assert.Equal(t, g.session, tab.Owner, "it stays the agent's")
			} else {
				assert.Equal(t, ledger.SessionID(""), g.Tabs()[0].Owner)
			}
		})
	}
	g.gainsNothingOn(t, person, before)
}

func (g *gates) gainsNothingOn(t *testing.T, person *fixtures.Person, before int) {
	t.Helper()
	(&walk{gates: g, person: person}).gainsNothing(t, before)
}

func TestAPersonBrowsesAsEver(t *testing.T) {
	inBothKindsOfTabs(t, func(t *testing.T, w *walk) {
		kind := "own"
		if w.agents {
			kind = "agents"
		}
		url := func(name string) string { return "https://evil.test/?" + name + kind }
		t.Run("a link to a new tab", func(t *testing.T) {
			w.begin(t, url("blank"))
			w.clicks(t, "blank")
			w.reached(t, url("blank"), "GET", 1)
			w.somewhere(t, url("blank"))
			w.keys(t, "ctrl+w")
		})
		t.Run("a new tab and a typed URL, closed and restored", func(t *testing.T) {
			w.begin(t, url("typed"))
			w.keys(t, "ctrl+t")
			require.Eventually(t, func() bool { // Chromium drops what is typed while its new-tab page comes up
				if w.heard(url("typed"), "GET") > 0 {
					return true
				}
				w.types(t, url("typed"))
				return false
			}, wait, time.Second)
			w.somewhere(t, url("typed"))
			tabs := len(w.Tabs())
			w.keys(t, "ctrl+w")
			require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Len(c, w.Tabs(), tabs-1) }, wait, tick)
			w.keys(t, "ctrl+shift+t")
			w.somewhere(t, url("typed"))
			w.keys(t, "ctrl+w")
			require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Len(c, w.Tabs(), tabs-1) }, wait, tick)
		})
		t.Run("reload, back and forward", func(t *testing.T) {
			w.begin(t, url("again"))
			w.clicks(t, "go")
			w.somewhere(t, url("again"))
			w.keys(t, "F5")
			w.reached(t, url("again"), "GET", 2)
			w.keys(t, "ctrl+shift+r")
			w.reached(t, url("again"), "GET", 3)
			w.somewhere(t, url("again"))
			w.turns(t, "alt+Left", w.web.URL("good.test", fixtures.Query("/-/link", "to", url("again"))))
			w.turns(t, "alt+Right", url("again"))
		})
		t.Run("view source", func(t *testing.T) {
			w.begin(t, url("source"))
			w.clicks(t, "go")
			w.somewhere(t, url("source"))
			w.keys(t, "ctrl+u")
			w.somewhere(t, "view-source:"+url("source"))
			w.keys(t, "ctrl+w")
		})
		t.Run("a button whose script navigates", func(t *testing.T) {
			w.begin(t, url("button"))
			w.clicks(t, "btn")
			w.reached(t, url("button"), "GET", 1)
			w.somewhere(t, url("button"))
		})
		t.Run("Ctrl and a click", func(t *testing.T) {
			w.begin(t, url("ctrl"))
			press(t, w.person, "go", func(x, y int) error { return w.person.CtrlClick(t.Context(), x, y) })
			w.reached(t, url("ctrl"), "GET", 1)
			w.somewhere(t, url("ctrl"))
		})
		t.Run("a middle click", func(t *testing.T) {
			w.begin(t, url("middle"))
			press(t, w.person, "go", func(x, y int) error { return w.person.MiddleClick(t.Context(), x, y) })
			w.reached(t, url("middle"), "GET", 1)
			w.somewhere(t, url("middle"))
		})
	})
}
