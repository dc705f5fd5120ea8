package main

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/chrome"
	"sallyport/gate"
	"sallyport/proxy"
)

// TestAGateThatPanicsOpensNothing makes each gate's decision panic: the call fails
// well before its timeout, and the server is not asked.
func TestAGateThatPanicsOpensNothing(t *testing.T) {
	for layer, change := range map[string]func(*proxy.Config, *chrome.Config, func(gate.Query) gate.Decision){
		"the DevTools layer": func(_ *proxy.Config, c *chrome.Config, d func(gate.Query) gate.Decision) { c.Decide = d },
		"the proxy":          func(p *proxy.Config, _ *chrome.Config, d func(gate.Query) gate.Decision) { p.Decide = d },
	} {
		t.Run(layer, func(t *testing.T) {
			var broken atomic.Bool
			g := newGates(t, func(p *proxy.Config, c *chrome.Config) {
				c.NavigateTimeout = time.Minute
				change(p, c, func(q gate.Query) gate.Decision {
					if broken.Load() {
						panic("a fault that a test made")
					}
					return gate.Decide(q)
				})
			}, "good.test")
			broken.Store(true)
			begun := time.Now()
			_, err := g.navigate(t, "https://good.test/never")
			assert.Error(t, err)
			assert.Less(t, time.Since(begun), 30*time.Second, "it is refused, not waited out")
			assert.Empty(t, g.web.Hits("good.test"))
		})
	}
}

// TestChromiumDoesNotGoAroundAProxyThatIsGone takes gate one away.
func TestChromiumDoesNotGoAroundAProxyThatIsGone(t *testing.T) {
	g := newGates(t, nil, "good.test")
	_, err := g.navigate(t, "https://good.test/")
	require.NoError(t, err)
	before := g.web.Connections("good.test")
	g.stopProxy()
	_, err = g.navigate(t, "https://good.test/after")
	require.Error(t, err)
	assert.Equal(t, before, g.web.Connections("good.test"))
	for _, hit := range g.web.Hits("good.test") {
		assert.NotEqual(t, "/after", hit.Path)
	}
}

// TestAGateThatStallsRefusesInBoundedTime holds each gate's decision up for longer
// than a navigation may last. What comes after a stall in the DevTools layer, which
// would hold up everything else, is a new browser.
func TestAGateThatStallsRefusesInBoundedTime(t *testing.T) {
	for layer, change := range map[string]func(*proxy.Config, *chrome.Config, func(gate.Query) gate.Decision){
		"the DevTools layer": func(_ *proxy.Config, c *chrome.Config, d func(gate.Query) gate.Decision) { c.Decide = d },
		"the proxy":          func(p *proxy.Config, _ *chrome.Config, d func(gate.Query) gate.Decision) { p.Decide = d },
	} {
		t.Run(layer, func(t *testing.T) {
			stalled := make(chan struct{})
			t.Cleanup(func() { close(stalled) })
			var broken atomic.Bool
			g := newGates(t, func(p *proxy.Config, c *chrome.Config) {
				c.NavigateTimeout, c.StallWait = time.Second, 2*time.Second
				change(p, c, func(q gate.Query) gate.Decision {
					if broken.Load() {
						<-stalled
					}
					return gate.Decide(q)
				})
			}, "good.test")
			broken.Store(true)
			ended := make(chan error, 1)
			go func() {
				_, err := g.navigate(t, "https://good.test/never")
				ended <- err
			}()
			select {
			case err := <-ended:
				assert.Error(t, err)
			case <-time.After(wait):
				assert.Fail(t, "the call hangs with the gate")
			}
			assert.Empty(t, g.web.Hits("good.test"))
			broken.Store(false)
			tab, err := g.browser.OpenTab(t.Context(), g.session)
			require.NoError(t, err)
			g.tab = tab
			g.allow(t, "good.test")
			_, err = g.navigate(t, "https://good.test/again")
			assert.NoError(t, err)
		})
	}
}
