package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/chrome"
	"sallyport/fixtures"
	"sallyport/gate"
	"sallyport/proxy"
)

// headed are both gates around a Chromium on a display, with a person there.
func headed(t *testing.T, domains ...string) (*gates, *fixtures.Person) {
	t.Helper()
	display := fixtures.NeedDisplay(t)
	t.Setenv("DISPLAY", display.Name)
	t.Setenv("WAYLAND_DISPLAY", "")
	g := newGates(t, func(_ *proxy.Config, c *chrome.Config) { c.Headless, c.Width, c.Height = false, 1000, 800 }, domains...)
	return g, display.Person()
}

// front brings the window with a title to the front.
func front(t *testing.T, p *fixtures.Person, title string) {
	t.Helper()
	w, err := p.WaitWindow(t.Context(), title)
	require.NoError(t, err)
	require.NoError(t, p.Focus(t.Context(), w))
}

// press clicks one of the spots of /-/link.
func press(t *testing.T, p *fixtures.Person, id string, click func(x, y int) error) {
	t.Helper()
	at, err := p.WaitColor(t.Context(), fixtures.SpotColor(id))
	require.NoError(t, err)
	require.NoError(t, click((at.Min.X+at.Max.X)/2, (at.Min.Y+at.Max.Y)/2))
}

func TestAPersonIsNeverBlockedInAnAgentsTab(t *testing.T) {
	g, person := headed(t, "good.test")
	start := g.web.URL("good.test", fixtures.Query("/-/link", "to", "https://evil.test/"))
	ctx := t.Context()
	begin := func(t *testing.T) {
		t.Helper()
		_, err := g.navigate(t, start)
		require.NoError(t, err)
		tab, _ := g.Tab(g.tab)
		require.False(t, tab.Person)
		w, err := person.WaitWindow(ctx, "Links")
		require.NoError(t, err)
		require.NoError(t, person.Focus(ctx, w))
	}
	loads := func(t *testing.T, count int) {
		t.Helper()
		require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Greater(c, len(g.web.Hits("evil.test")), count) }, 10*time.Second, 20*time.Millisecond)
	}
	for _, id := range []string{"go", "btn"} {
		t.Run("clicking "+id, func(t *testing.T) {
			begin(t)
			before := len(g.web.Hits("evil.test"))
			press(t, person, id, func(x, y int) error { return person.Click(ctx, x, y) })
			loads(t, before)
			g.shows(t, "https://evil.test/")
		})
	}
	t.Run("typing a URL", func(t *testing.T) {
		begin(t)
		before := len(g.web.Hits("evil.test"))
		require.NoError(t, person.Key(ctx, "ctrl+l"))
		require.NoError(t, person.Type(ctx, "https://evil.test/"))
		require.NoError(t, person.Key(ctx, "Return"))
		loads(t, before)
		g.shows(t, "https://evil.test/")
		tab, _ := g.Tab(g.tab)
		assert.True(t, tab.Person)
	})
	t.Run("middle click", func(t *testing.T) {
		begin(t)
		before, tabs := len(g.web.Hits("evil.test")), len(g.Tabs())
		press(t, person, "go", func(x, y int) error { return person.MiddleClick(ctx, x, y) })
		loads(t, before)
		assert.Len(t, g.Tabs(), tabs+1)
		newest := g.Tabs()[tabs]
		assert.Empty(t, newest.Owner, "the tab that a person opens is theirs")
	})
	t.Run("and the agent gains nothing by it", func(t *testing.T) {
		_, err := g.navigate(t, start)
		require.NoError(t, err)
		list := g.Allowlist(g.session)
		_, covered := list.Covers("evil.test")
		assert.False(t, covered)
		url := g.web.URL("good.test", fixtures.Query("/-/js", "to", "https://evil.test/again", "how", "location", "after", "300"))
		_, err = g.navigate(t, url)
		require.NoError(t, err)
		d := g.denied(t, "https://evil.test/again")
		assert.Equal(t, gate.Page, d.Initiator)
		for _, hit := range g.web.Hits("evil.test") {
			assert.NotEqual(t, "/again", hit.Path)
		}
	})
}

func TestClosingTheLastWindowOfASessionClearsItsList(t *testing.T) {
	g, person := headed(t, "good.test")
	_, err := g.navigate(t, g.web.URL("good.test", fixtures.Query("/-/title", "t", "Close me")))
	require.NoError(t, err)
	w, err := person.WaitWindow(t.Context(), "Close me")
	require.NoError(t, err)
	require.NoError(t, person.CloseWindow(t.Context(), w))
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.Zero(c, g.Allowlist(g.session).Len())
		_, there := g.Tab(g.tab)
		assert.False(c, there)
	}, 10*time.Second, 20*time.Millisecond)
}

func TestATabOpensWithoutTakingThePersonsFocus(t *testing.T) {
	g, person := headed(t, "good.test")
	front(t, person, "about:blank")
	require.NoError(t, person.Key(t.Context(), "ctrl+l"))
	_, err := g.browser.OpenTab(t.Context(), g.session)
	require.NoError(t, err)
	before := len(g.web.Hits("good2.test"))
	require.NoError(t, person.Type(t.Context(), "https://good2.test/"))
	require.NoError(t, person.Key(t.Context(), "Return"))
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Greater(c, len(g.web.Hits("good2.test")), before) }, 10*time.Second, 20*time.Millisecond)
}
