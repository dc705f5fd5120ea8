package main

import (
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/chrome"
	"sallyport/fixtures"
	"sallyport/gate"
	"sallyport/proxy"
)

// asked collects the questions that both gates put to the policy, as they put
// them, by the request that they are about.
type asked struct {
	mu    sync.Mutex // guards below
	fetch map[string]gate.Query
	proxy map[string]gate.Query
}

// listen keeps the queries. The first gate opens whatever it thinks, so that the
// second is asked too.
func (a *asked) listen(p *proxy.Config, c *chrome.Config) {
	a.fetch, a.proxy = map[string]gate.Query{}, map[string]gate.Query{}
	c.Args = []string{"--disable-popup-blocking"}
	c.Decide = func(q gate.Query) gate.Decision {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.fetch[q.Target.Request()] = q
		return open(q)
	}
	p.Decide = func(q gate.Query) gate.Decision {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.proxy[q.Target.Request()] = q
		return gate.Decide(q)
	}
}

// about waits until both gates have asked about a target.
func (a *asked) about(t *testing.T, to gate.Target) (fetch, proxy gate.Query) {
	t.Helper()
	require.Eventually(t, func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		var first, second bool
		fetch, first = a.fetch[to.Request()]
		proxy, second = a.proxy[to.Request()]
		return first && second
	}, 10*time.Second, 5*time.Millisecond, to.URL())
	return fetch, proxy
}

// frontSays is the front's decision: it looks at the list, and then at the scheme.
func (g *gates) frontSays(t *testing.T, to gate.Target) bool {
	t.Helper()
	if _, covered := g.Allowlist(g.session).Covers(to.Host()); !covered {
		return false
	}
	err := g.browser.CheckLocal(t.Context(), g.session, to)
	var refused *chrome.NetError
	require.True(t, err == nil || errors.As(err, &refused), "%v", err)
	return err == nil
}

var (
	someEntries = []string{"good.test", "*.good.test", "good2.test", "evil.test", "*.evil.test", "localhost", "*.localhost", "127.0.0.1", "[::1]", "bücher.test", "sub.good.test"}
	someHosts   = []string{"good.test", "GOOD.test", "good2.test", "sub.good.test", "a.b.good.test", "evil.test", "good.test.evil.test", "localhost", "x.localhost", "127.0.0.1", "0x7f.1", "[::ffff:127.0.0.1]",
		"bücher.test", "xn--bcher-kva.test", "ｇｏｏｄ.test", "notgood.test"}
)

// TestADecisionIsTheSameWhereverItIsAsked puts each target to the front, and then
// has a real Chromium come to it in each of the ways: both gates' own questions
// must be answered as the front answered, whoever asks.
func TestADecisionIsTheSameWhereverItIsAsked(t *testing.T) {
	t.Parallel()
	a := &asked{}
	g := newGates(t, a.listen)
	r := rand.New(rand.NewPCG(20, 26))
	base, _ := private(t) // so that nobody else's server on this machine is asked
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(base, "http://"))
	rounds := 4
	if os.Getenv("SALLYPORT_TEST_LONG") != "" {
		rounds = 25
	}
	yes, no := 0, 0
	for round := range rounds {
		entries := []string{"good.test"} // where the redirects and the pages are
		for range r.IntN(5) {
			entries = append(entries, someEntries[r.IntN(len(someEntries))])
		}
		scheme, host := []string{"https", "http"}[r.IntN(2)], someHosts[r.IntN(len(someHosts))]
		switch round { // what must not be left to chance
		case 0:
			entries, scheme, host = []string{"good.test", "127.0.0.1"}, "http", "0x7f.1" // only for being local
		case 1:
			entries, scheme, host = []string{"good.test", "*.good.test"}, "http", "sub.good.test" // covered, in the clear
		}
		g.allow(t, entries...)
		if gate.LocalSpelling(hostIn(t, host), nil) {
			host += ":" + port
		}
		for _, way := range []string{"first", "redirect", "location", "open"} {
			raw := scheme + "://" + host + "/-/title?t=" + way + strconv.Itoa(round)
			to, err := gate.ParseAgent(raw)
			require.NoError(t, err)
			front := g.frontSays(t, to)
			g.comeTo(t, way, raw)
			fetch, proxy := a.about(t, to)
			for layer, q := range map[string]gate.Query{"fetch": fetch, "proxy": proxy} {
				assert.True(t, q.Gated, "%s, %s of %s", layer, way, raw)
				wants := gate.Agent
				if way == "location" || way == "open" {
					wants = gate.Page
				}
				assert.Equal(t, wants, q.Initiator, "%s, %s of %s", layer, way, raw)
				for _, who := range []gate.Initiator{gate.Agent, gate.Page, "?"} {
					q.Initiator = who
					assert.Equal(t, front, gate.Decide(q).Allowed, "%s, %s of %s with %v by %q", layer, way, raw, entries, who)
				}
			}
			assert.Equal(t, gate.Decide(fetch), gate.Decide(proxy), "%s of %s", way, raw)
			if front {
				yes++
			} else {
				no++
			}
		}
	}
	assert.Positive(t, yes)
	assert.Positive(t, no)
	t.Logf("%d allowed, %d refused", yes, no)
}

func hostIn(t *testing.T, authority string) gate.Host {
	host, _, err := gate.ParseHostPort("https", authority)
	require.NoError(t, err)
	return host
}

// comeTo has Chromium ask for a URL. How it ends is of no interest here.
func (g *gates) comeTo(t *testing.T, way, raw string) {
	t.Helper()
	at := raw
	switch way {
	case "redirect":
		at = g.web.URL("good.test", fixtures.Query("/-/status/302", "to", raw))
	case "location", "open":
		at = g.web.URL("good.test", fixtures.Query("/-/js", "how", way, "to", raw, "after", "50"))
	}
	_, _ = g.navigate(t, at)
}
