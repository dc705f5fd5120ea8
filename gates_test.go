package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/certs"
	"sallyport/chrome"
	"sallyport/fixtures"
	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/proxy"
)

// gates are both gates around a real headless Chromium, before the fixture web,
// with a person who says yes.
type gates struct {
	*ledger.Ledger
	web       *fixtures.Web
	browser   *chrome.Browser
	proxyAddr string
	session   ledger.SessionID
	tab       ledger.TabID
	stopProxy func()
}

// blind lets a test take one layer's evidence away.
type blind struct {
	proxy.Ledger
	layer ledger.Layer
}

func (b blind) Witness(hop ledger.HopID, layer ledger.Layer, e ledger.Evidence) {
	if layer != b.layer {
		b.Ledger.Witness(hop, layer, e)
	}
}

func needChromium(t testing.TB) {
	t.Helper()
	if _, err := chrome.FindProgram(""); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("Chromium is not installed")
	}
}

func newGates(t testing.TB, change func(*proxy.Config, *chrome.Config), domains ...string) *gates {
	t.Helper()
	needChromium(t)
	g := &gates{Ledger: ledger.New(ledger.Config{Log: testLog(t)}), web: fixtures.Start(t)}
	authority, err := certs.NewEphemeral()
	require.NoError(t, err)
	pc := proxy.Config{Ledger: g.Ledger, Authority: authority, ExtraRoots: [][]byte{g.web.RootPEM()}, Log: testLog(t)}
	for _, entry := range g.web.Resolve() {
		pin, err := proxy.ParsePin(entry)
		require.NoError(t, err)
		pc.Pins = append(pc.Pins, pin)
	}
	cc := chrome.Config{
		Ledger: g.Ledger, Pin: authority.Pin(), Headless: true, NavigateTimeout: 15 * time.Second, Log: testLog(t),
		Person: func(context.Context, chrome.Question) chrome.Answer { return chrome.Allowed },
	}
	if change != nil {
		change(&pc, &cc)
	}
	g.Ledger = cc.Ledger
	p, err := proxy.New(pc)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	stopped := make(chan struct{})
	go func() { served <- p.Serve(ctx); close(stopped) }()
	g.proxyAddr, g.stopProxy = p.Addr(), func() { cancel(); <-stopped }
	cc.PrivateAddrs = p.PrivateAddrs
	if cc.ProxyAddr == "" {
		cc.ProxyAddr = p.Addr()
	}
	g.browser, err = chrome.New(cc)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, g.browser.Close(context.Background()))
		cancel()
		assert.NoError(t, <-served)
	})
	g.session = g.BeginSession("test", nil)
	if len(domains) > 0 {
		g.allow(t, domains...)
	}
	g.tab, err = g.browser.OpenTab(t.Context(), g.session)
	require.NoError(t, err)
	return g
}

func (g *gates) allow(t testing.TB, domains ...string) {
	t.Helper()
	list, err := gate.ParseAllowlist(domains)
	require.NoError(t, err)
	_, err = g.browser.Ask(t.Context(), g.session, list)
	require.NoError(t, err)
}

func (g *gates) navigate(t testing.TB, url string) (chrome.NavigateResult, error) {
	t.Helper()
	target, err := gate.Parse(url)
	require.NoError(t, err)
	return g.browser.Navigate(t.Context(), chrome.NavigateRequest{Session: g.session, Tab: g.tab, Target: target, List: g.Allowlist(g.session), WaitForLoad: true})
}

// shows waits until the tab's document is at a URL.
func (g *gates) shows(t testing.TB, url string) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		tab, _ := g.Tab(g.tab)
		assert.Equal(c, url, tab.URL)
	}, 10*time.Second, 20*time.Millisecond)
}

// denied waits until the tab has refused a URL.
func (g *gates) denied(t testing.TB, url string) ledger.Denial {
	t.Helper()
	var d ledger.Denial
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		tab, _ := g.Tab(g.tab)
		if assert.NotNil(c, tab.LastDenied) {
			d = *tab.LastDenied
			assert.Equal(c, url, strings.TrimSuffix(d.URL, "?…"))
		}
	}, 10*time.Second, 20*time.Millisecond)
	return d
}

func TestAnApprovedDomainOpensOnRealChromium(t *testing.T) {
	g := newGates(t, nil, "good.test")
	r, err := g.navigate(t, "https://good.test/#part")
	require.NoError(t, err)
	assert.Equal(t, "https://good.test/#part", r.FinalURL)
	assert.Equal(t, 200, r.Status)
	r, err = g.navigate(t, "https://good.test/-/status/404")
	require.NoError(t, err, "an HTTP error is a navigation that worked")
	assert.Equal(t, 404, r.Status)
	for _, n := range g.Recent() {
		for _, h := range n.Hops {
			assert.NotNil(t, h.Fetch, h.Target.URL())
			assert.NotNil(t, h.Proxy, h.Target.URL())
		}
	}
}

func TestRedirectsAreRefusedAtTheHopThatLeavesTheList(t *testing.T) {
	g := newGates(t, nil, "good.test", "good2.test")
	_, err := g.navigate(t, "https://good.test/")
	require.NoError(t, err)
	for _, path := range []string{"/-/status/301", "/-/status/302", "/-/status/303", "/-/status/307", "/-/status/308"} {
		t.Run(path, func(t *testing.T) {
			_, err := g.navigate(t, g.web.URL("good.test", fixtures.Query(path, "to", "https://evil.test/")))
			var denied *chrome.DeniedError
			require.ErrorAs(t, err, &denied)
			assert.Equal(t, gate.Host("evil.test"), denied.Blocked.Host())
			g.shows(t, "https://good.test/")
		})
	}
	r, err := g.navigate(t, g.web.URL("good.test", fixtures.Query("/-/status/302", "to", "https://good2.test/")))
	require.NoError(t, err)
	assert.Equal(t, "https://good2.test/", r.FinalURL)
	assert.Zero(t, g.web.Connections("evil.test"))
}

func TestAPageCannotLeaveTheListByItself(t *testing.T) {
	t.Parallel()
	g := newGates(t, nil, "good.test")
	_, err := g.navigate(t, g.web.URL("good.test", fixtures.Query("/-/prerender", "to", "https://evil.test/")))
	require.NoError(t, err) // that nothing came of it shows at the end
	popups := []string{"open", "blank", "noopener", "open-then", "ctrl-click"}
	for _, how := range append([]string{"location", "assign", "replace", "navigation", "aclick", "top", "form-get", "form-post", "form-request", "open-self", "meta", "write",
		"leave-top", "timer"}, popups...) {
		t.Run(how, func(t *testing.T) {
			to, after := "https://evil.test/"+how, "400"
			if how == "timer" {
				after = "3000" // long after the tool has answered
			}
			popup := slices.Contains(popups, how)
			if popup {
				after = "0" // so that it was tried when the tool answers
			}
			url := g.web.URL("good.test", fixtures.Query("/-/js", "to", to, "how", how, "after", after))
			tabs := len(g.Tabs())
			_, err := g.navigate(t, url)
			require.NoError(t, err)
			if !popup { // the popup blocker stops those before any request
				assert.Equal(t, gate.Page, g.denied(t, to).Initiator)
			}
			g.shows(t, url)
			assert.Len(t, g.Tabs(), tabs, "no tab came up")
		})
	}
	t.Run("while it still loads", func(t *testing.T) {
		url := g.web.URL("good.test", fixtures.Query("/-/js", "to", "https://evil.test/early", "how", "location"))
		r, err := g.navigate(t, url)
		require.NoError(t, err, "the answer is the committed page's")
		assert.Equal(t, url, r.FinalURL)
		g.denied(t, "https://evil.test/early")
	})
	for _, path := range []string{"/-/refresh", "/-/meta"} {
		t.Run(path, func(t *testing.T) {
			url := g.web.URL("good.test", fixtures.Query(path, "to", "https://evil.test"+path, "after", "0"))
			_, err := g.navigate(t, url)
			require.NoError(t, err)
			g.denied(t, "https://evil.test"+path)
			g.shows(t, url)
		})
	}
	assert.Zero(t, g.web.Connections("evil.test"), "in all that time")
}

func TestABlindLayerIsADisagreementAndTheDocumentGoes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change       func(*proxy.Config, *chrome.Config)
		proxy, fetch string
	}{
		"the proxy": {func(p *proxy.Config, _ *chrome.Config) { p.Ledger = blind{p.Ledger, ledger.Proxy} }, "unseen", "allowed"},
		"the DevTools layer": {func(_ *proxy.Config, c *chrome.Config) {
			c.Witness = func(ledger.HopID, ledger.Layer, ledger.Evidence) {}
		}, "allowed", "unseen"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := newGates(t, test.change, "good.test")
			_, err := g.navigate(t, "https://good.test/")
			var disagree *chrome.DisagreeError
			require.ErrorAs(t, err, &disagree)
			assert.Equal(t, test.proxy, disagree.Proxy)
			assert.Equal(t, test.fetch, disagree.Fetch)
			g.shows(t, "about:blank")
		})
	}
}

func TestNetworkFailuresAreToldUnderTheirRealName(t *testing.T) {
	t.Parallel()
	g := newGates(t, func(_ *proxy.Config, c *chrome.Config) { c.NavigateTimeout = 3 * time.Second },
		"expired.test", "selfsigned.test", "wrongname.test", "reset.test", "empty.test", "closed.test", "badtls.test", "nodns.test", "silent.test", "good.test")
	tests := map[string]string{
		"https://expired.test/":        "net::ERR_CERT_DATE_INVALID",
		"https://selfsigned.test/":     "net::ERR_CERT_AUTHORITY_INVALID",
		"https://wrongname.test/":      "net::ERR_CERT_COMMON_NAME_INVALID",
		"https://reset.test/":          "net::ERR_CONNECTION_RESET",
		"https://empty.test/":          "net::ERR_EMPTY_RESPONSE",
		"https://closed.test/":         "net::ERR_CONNECTION_REFUSED",
		"https://badtls.test/":         "net::ERR_SSL_PROTOCOL_ERROR",
		"https://nodns.test/":          "net::ERR_NAME_NOT_RESOLVED",
		"https://silent.test/":         "net::ERR_TIMED_OUT",
		"https://good.test/-/stall":    "net::ERR_TIMED_OUT",
		"https://good.test/-/loop":     "net::ERR_TOO_MANY_REDIRECTS",
		"https://good.test/-/download": "net::ERR_ABORTED",
		"https://good.test/-/204":      "net::ERR_ABORTED",
		"https://good.test:6000/":      "net::ERR_UNSAFE_PORT",
	}
	for url, code := range tests {
		t.Run(url, func(t *testing.T) {
			_, err := g.navigate(t, url)
			var failed *chrome.NetError
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, code, failed.Code)
			_, err = g.navigate(t, "https://good.test/")
			assert.NoError(t, err, "the tab is usable afterwards")
		})
	}
}

func TestAPageThatCameAndIsNotReadyIsNotToldAsNoAnswer(t *testing.T) {
	t.Parallel()
	g := newGates(t, func(_ *proxy.Config, c *chrome.Config) { c.NavigateTimeout = 3 * time.Second }, "good.test")
	_, err := g.navigate(t, "https://good.test/-/trickle")
	assert.ErrorContains(t, err, "the page came")
	var failed *chrome.NetError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, "net::ERR_TIMED_OUT", failed.Code)
}

func TestAKilledChromiumEndsTheCallAndTheApprovals(t *testing.T) {
	g := newGates(t, nil, "good.test")
	result := make(chan error, 1)
	go func() {
		_, err := g.navigate(t, "https://good.test/-/stall")
		result <- err
	}()
	_, err := g.web.WaitHit(t.Context(), "good.test", "/-/stall")
	require.NoError(t, err)
	pid := g.browser.Pid()
	process, err := os.FindProcess(pid)
	require.NoError(t, err)
	require.NoError(t, process.Kill())
	assert.True(t, errors.Is(<-result, chrome.ErrGone))
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.Zero(c, g.Allowlist(g.session).Len())
	}, 5*time.Second, 10*time.Millisecond)
	_, err = g.browser.OpenTab(t.Context(), g.session)
	assert.NoError(t, err, "the next call works in a new browser")
}
