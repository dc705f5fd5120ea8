package main

import (
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/chrome"
	"sallyport/fixtures"
	"sallyport/gate"
)

// visit does what browser_navigate does once the host is covered.
func (g *gates) visit(t *testing.T, url string) error {
	t.Helper()
	target, err := gate.Parse(url)
	require.NoError(t, err)
	if err := g.browser.CheckLocal(t.Context(), g.session, target); err != nil {
		return err
	}
	_, err = g.navigate(t, url)
	return err
}

func netCode(t *testing.T, err error) string {
	t.Helper()
	var failed *chrome.NetError
	require.ErrorAs(t, err, &failed)
	return failed.Code
}

// private is a server on loopback that counts its visitors.
func private(t *testing.T) (base string, visits *atomic.Int64) {
	t.Helper()
	visits = new(atomic.Int64)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		visits.Add(1)
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte("<title>Private</title>"))
	})}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return "http://" + l.Addr().String(), visits
}

func TestPlainHTTPIsFineToWhatIsNotPublicOnly(t *testing.T) {
	g := newGates(t, nil, "good.test", "good2.test", "127.0.0.1", "localhost")
	assert.Equal(t, "net::ERR_DISALLOWED_URL_SCHEME", netCode(t, g.visit(t, "http://good.test/")))
	assert.Zero(t, g.web.Connections("good.test"))
	err := g.visit(t, g.web.URL("good.test", fixtures.Query("/-/status/302", "to", "http://good2.test/")))
	assert.Equal(t, "net::ERR_DISALLOWED_URL_SCHEME", netCode(t, err), "as a redirect hop too")
	assert.ErrorContains(t, err, "use https://")
	for _, hit := range g.web.Hits("good2.test") {
		assert.True(t, hit.TLS, "nothing was sent in the clear")
	}
	base, visits := private(t)
	require.NoError(t, g.visit(t, base+"/"))
	assert.Positive(t, visits.Load())
	_, port, _ := net.SplitHostPort(base[len("http://"):])
	require.NoError(t, g.visit(t, "http://localhost:"+port+"/"))
}

func TestAnApprovedSiteCannotLeadToAPrivateAddress(t *testing.T) {
	base, visits := private(t)
	_, port, _ := net.SplitHostPort(base[len("http://"):])
	g := newGates(t, nil, "good.test", "*.localhost")
	err := g.visit(t, g.web.URL("good.test", fixtures.Query("/-/status/302", "to", base+"/")))
	var denied *chrome.DeniedError
	require.ErrorAs(t, err, &denied, "an address is a host like others: nobody approved it")
	err = g.visit(t, g.web.URL("good.test", fixtures.Query("/-/status/302", "to", "http://router.localhost:"+port+"/")))
	assert.Equal(t, "net::ERR_BLOCKED_BY_LOCAL_NETWORK_ACCESS_CHECKS", netCode(t, err), "covered, but nobody said yes to that very name")
	assert.Zero(t, visits.Load())
	require.NoError(t, g.visit(t, "http://router.localhost:"+port+"/"), "asked for by its name, under a pattern that says what it is")
}

func TestAFragmentOfTheSamePageIsANavigationThatWorked(t *testing.T) {
	g := newGates(t, nil, "good.test")
	_, err := g.navigate(t, "https://good.test/")
	require.NoError(t, err)
	r, err := g.navigate(t, "https://good.test/#there")
	require.NoError(t, err)
	assert.Equal(t, "https://good.test/#there", r.FinalURL)
	assert.Equal(t, 200, r.Status)
}

func TestASecondNavigateTakesThePlaceOfTheFirst(t *testing.T) {
	g := newGates(t, nil, "good.test")
	first := make(chan error, 1)
	go func() {
		target, _ := gate.Parse("https://good.test/-/stall")
		_, err := g.browser.Navigate(t.Context(), chrome.NavigateRequest{Session: g.session, Tab: g.tab, Target: target, List: g.Allowlist(g.session), WaitForLoad: true})
		first <- err
	}()
	_, err := g.web.WaitHit(t.Context(), "good.test", "/-/stall")
	require.NoError(t, err)
	_, err = g.navigate(t, "https://good.test/")
	require.NoError(t, err)
	assert.Equal(t, "net::ERR_ABORTED", netCode(t, <-first))
}

func TestANarrowedListHoldsForHistoryToo(t *testing.T) {
	g := newGates(t, nil, "good.test", "good2.test")
	_, err := g.navigate(t, "https://good2.test/-/cached")
	require.NoError(t, err)
	_, err = g.navigate(t, g.web.URL("good.test", fixtures.Query("/-/js", "how", "back", "to", "https://good2.test/", "after", "1000")))
	require.NoError(t, err)
	g.allow(t, "good.test")
	d := g.denied(t, "https://good2.test/-/cached")
	assert.Equal(t, gate.Page, d.Initiator)
}

func TestServiceWorkersAreNotInstalled(t *testing.T) {
	g := newGates(t, nil, "sub.good.test")
	_, err := g.navigate(t, "https://sub.good.test/-/sw")
	require.NoError(t, err)
	_, err = g.navigate(t, "https://sub.good.test/")
	require.NoError(t, err)
	for _, hit := range g.web.Requests() {
		assert.NotEqual(t, "/-/sw.js", hit.Path)
	}
}

func TestCredentialsInARedirectAreNotShown(t *testing.T) {
	g := newGates(t, nil, "good.test")
	r, err := g.navigate(t, g.web.URL("good.test", fixtures.Query("/-/status/302", "to", "https://user:secret@good.test/two.html")))
	require.NoError(t, err)
	assert.Equal(t, "https://good.test/two.html", r.FinalURL)
	g.shows(t, "https://good.test/two.html")
}

func TestAPageThatWantsAPasswordIsAnHTTPErrorLikeOthers(t *testing.T) {
	g := newGates(t, nil, "good.test")
	r, err := g.navigate(t, "https://good.test/-/basic")
	require.NoError(t, err)
	assert.Equal(t, 401, r.Status)
}
