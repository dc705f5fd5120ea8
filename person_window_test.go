package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/chrome"
	"sallyport/fixtures"
	"sallyport/gate"
	"sallyport/proxy"
)

// TestNoPageAnswersTheApprovalWindow holds that an agent's page can neither drown
// the window that asks in popups, nor be clicked in its place.
func TestNoPageAnswersTheApprovalWindow(t *testing.T) {
	display := fixtures.NeedDisplay(t)
	t.Setenv("DISPLAY", display.Name)
	t.Setenv("WAYLAND_DISPLAY", "")
	g := newGates(t, func(_ *proxy.Config, c *chrome.Config) {
		c.Headless, c.Display, c.Width, c.Height, c.Person = false, true, 1000, 800, nil
	})
	person, ctx := display.Person(), t.Context()
	base := servePages(t, map[string]string{
		"/floods": ground("go", `
			const flood = () => { for (let i = 0; i < 1000; i++) open('https://evil.test/?flood', '_blank', 'popup,width=1200,height=850'); };
			onload = () => { flood(); document.title = 'Flooded by itself'; };
			onclick = () => { flood(); document.title = 'Flooded by a click'; };`),
		"/drawn": `<script>document.title = 'Sallyport: test asks'</script><button style="position:fixed;inset:0;width:100%;background:#33405c" onclick="document.title='Pressed'">Allow</button>`,
	})
	ask := func(t *testing.T, host string) chan error {
		t.Helper()
		list, err := gate.ParseAllowlist([]string{"127.0.0.1", host})
		require.NoError(t, err)
		answered := make(chan error, 1)
		go func() { _, err := g.browser.Ask(ctx, g.session, list); answered <- err }()
		return answered
	}
	first := ask(t, "good.test")
	require.NoError(t, person.Answer(ctx, true))
	require.NoError(t, <-first)

	t.Run("not by 1,000 popups", func(t *testing.T) {
		tabs := len(g.Tabs())
		_, err := g.navigate(t, base+"/floods")
		require.NoError(t, err)
		front(t, person, "Flooded by itself")
		assert.Len(t, g.Tabs(), tabs, "without a click none opens")
		answered := ask(t, "good2.test")
		_, err = person.WaitWindow(ctx, "Sallyport: ")
		require.NoError(t, err)
		page, err := person.WaitWindow(ctx, "Flooded by itself")
		require.NoError(t, err)
		require.NoError(t, person.Focus(ctx, page))
		press(t, person, "go", func(x, y int) error { return person.Click(ctx, x, y) })
		_, err = person.WaitWindow(ctx, "Flooded by a click")
		require.NoError(t, err)
		require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Len(c, g.Tabs(), tabs+1, "with a click, one") }, wait, tick)
		front(t, person, "Sallyport: ")
		require.NoError(t, person.Answer(ctx, true))
		require.NoError(t, <-answered)
		assert.Equal(t, []string{"127.0.0.1", "good2.test"}, g.Allowlist(g.session).Strings())
		assert.Len(t, g.Tabs(), tabs+1)
	})
	t.Run("not by a window that a page draws", func(t *testing.T) {
		answered := ask(t, "evil.test")
		_, err := person.WaitWindow(ctx, "Sallyport: ")
		require.NoError(t, err)
		_, err = g.navigate(t, base+"/drawn")
		require.NoError(t, err)
		require.Eventually(t, func() bool { // it has the real one's title, and another width
			windows, err := person.Windows(ctx)
			for _, w := range windows {
				if w.Width == 1000 && w.Title == "Sallyport: test asks - Chromium" {
					return person.Focus(ctx, w) == nil && person.ClickIn(ctx, w, w.Width-100, w.Height/2) == nil
				}
			}
			return err != nil
		}, wait, tick)
		_, err = person.WaitWindow(ctx, "Pressed")
		require.NoError(t, err)
		select {
		case err := <-answered:
			t.Errorf("the real window was answered: %v", err)
		default:
		}
		assert.Equal(t, []string{"127.0.0.1", "good2.test"}, g.Allowlist(g.session).Strings())
		front(t, person, "Sallyport: ")
		require.NoError(t, person.Answer(ctx, false))
		require.ErrorIs(t, <-answered, chrome.ErrDeclined)
		_, covered := g.Allowlist(g.session).Covers("evil.test")
		assert.False(t, covered)
	})
}
