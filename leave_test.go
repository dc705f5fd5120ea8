package main

import (
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/chrome"
	"sallyport/fixtures"
	"sallyport/gate"
	"sallyport/proxy"
)

// How long something may take that need not come at once, and how often to look.
const (
	wait = 10 * time.Second
	tick = 20 * time.Millisecond
)

// servePages answers paths with HTML, and /out with a redirect to evil.test.
func servePages(t *testing.T, pages map[string]string) (base string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/out" {
			http.Redirect(w, r, "https://evil.test/"+r.URL.RawQuery, http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte("<!doctype html><title>Page</title><body>" + pages[r.URL.Path]))
	})}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return "http://" + l.Addr().String()
}

// TestAClickIsNoLastingLeave holds that what a person's click opened gives its page
// no way out once Chromium has forgotten the click (after 5 s).
func TestAClickIsNoLastingLeave(t *testing.T) {
	base := servePages(t, map[string]string{
		"/reloads": `<script>setTimeout(()=>{history.pushState(0,'','/out?reload');location.reload()},6000)</script>`,
		"/pushes":  `<script>history.pushState(0,'','/out?back');history.pushState(0,'','/pushed')</script>`,
		"/back":    `<script>onload=()=>setTimeout(()=>history.go(-2),500)</script>`,
		"/blob": `<script>onclick=()=>{location=URL.createObjectURL(new Blob(["<title>Blob</title><script>setTimeout(()=>{location='https://evil.test/blob'},6000)<\/script>"],{type:'text/html'}))}</script>
			<div style="position:fixed;inset:0;background:#33405c"></div>`,
	})
	g, person := headed(t, "good.test", "127.0.0.1")
	click := func(t *testing.T, to string) {
		t.Helper()
		_, err := g.navigate(t, g.web.URL("good.test", fixtures.Query("/-/link", "to", to)))
		require.NoError(t, err)
		front(t, person, "Links")
		press(t, person, "go", func(x, y int) error { return person.Click(t.Context(), x, y) })
	}
	t.Run("by a reload of it, under a URL that the page gave itself", func(t *testing.T) {
		click(t, base+"/reloads")
		assert.Equal(t, gate.Page, g.denied(t, "https://evil.test/reload").Initiator)
	})
	t.Run("by a history entry that the page made", func(t *testing.T) {
		click(t, base+"/pushes")
		g.shows(t, base+"/pushed")
		_, err := g.navigate(t, base+"/back")
		require.NoError(t, err)
		assert.Equal(t, gate.Page, g.denied(t, "https://evil.test/back").Initiator)
	})
	t.Run("by a blob of it", func(t *testing.T) {
		click(t, base+"/blob")
		g.shows(t, base+"/blob")
		front(t, person, "Page")
		press(t, person, "open", func(x, y int) error { return person.Click(t.Context(), x, y) })
		assert.Equal(t, gate.Page, g.denied(t, "https://evil.test/blob").Initiator)
	})
	assert.Zero(t, g.web.Connections("evil.test"))
}

func TestAHistoryEntryOfAPageLeadsToNoPrivateAddress(t *testing.T) {
	base, visits := private(t)
	g, person := headed(t, "good.test")
	to := fixtures.Query("/-/status/302", "to", base+"/")
	mutate := g.web.URL("good.test", fixtures.Query("/-/mutate", "to", to))
	_, err := g.navigate(t, g.web.URL("good.test", fixtures.Query("/-/link", "to", mutate)))
	require.NoError(t, err)
	front(t, person, "Links")
	press(t, person, "go", func(x, y int) error { return person.Click(t.Context(), x, y) })
	g.shows(t, g.web.URL("good.test", to))
	_, err = g.navigate(t, g.web.URL("good.test", fixtures.Query("/-/js", "how", "back", "to", "https://good.test/", "after", "500")))
	require.NoError(t, err)
	g.denied(t, base+"/")
	assert.Zero(t, visits.Load())
}

func TestAPopupOfAPopupIsNotThePersons(t *testing.T) {
	base := servePages(t, map[string]string{
		"/": `<script>const w=open('about:blank');w.document.write('<script>open("https://evil.test/nested")<\/script>')</script>`,
	})
	// As where a person has allowed popups for a site.
	g := newGates(t, func(_ *proxy.Config, c *chrome.Config) { c.Args = []string{"--disable-popup-blocking"} }, "127.0.0.1")
	_, err := g.navigate(t, base+"/")
	require.NoError(t, err)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		denied := 0
		for _, tab := range g.Tabs() {
			if tab.LastDenied != nil && tab.LastDenied.URL == "https://evil.test/nested" {
				denied++
			}
		}
		assert.Equal(c, 1, denied)
	}, wait, tick)
	assert.Zero(t, g.web.Connections("evil.test"))
}

func TestTheStopButtonIsNotUndoneByANavigateUnderWay(t *testing.T) {
	g := newGates(t, nil, "*.localhost")
	target, err := gate.Parse("http://x.localhost/")
	require.NoError(t, err)
	g.ClearAllowlist(g.session)
	_ = g.browser.CheckLocal(t.Context(), g.session, target) // it began while the list was in force
	assert.Zero(t, g.Allowlist(g.session).Len())
	assert.False(t, g.ApproveLocal(g.session, "x.localhost"))
	assert.False(t, g.LocalApproved(g.session, "x.localhost"))
}

func TestAFragmentThatThePagePreventsIsNoSuccess(t *testing.T) {
	base := servePages(t, map[string]string{
		"/prevents": `<script>navigation.addEventListener('navigate',e=>e.preventDefault())</script>`,
		"/holds":    `<script>navigation.addEventListener('navigate',e=>e.intercept({precommitHandler:()=>new Promise(()=>{})}))</script>`,
	})
	g := newGates(t, nil, "127.0.0.1")
	for _, path := range []string{"/prevents", "/holds"} {
		t.Run(path, func(t *testing.T) {
			require.NoError(t, g.visit(t, base+path))
			assert.Equal(t, "net::ERR_ABORTED", netCode(t, g.visit(t, base+path+"#x")))
			g.shows(t, base+path)
		})
	}
}

func TestAPageThatSpinsDoesNotKeepTheTab(t *testing.T) {
	base := servePages(t, map[string]string{
		"/spins":  `<script>onload=()=>setTimeout(()=>{for(;;);},300)</script>`,
		"/alerts": `<script>onload=()=>setTimeout(()=>{for(;;)alert(1)},300)</script>`,
	})
	g := newGates(t, func(_ *proxy.Config, c *chrome.Config) { c.NavigateTimeout = 4 * time.Second }, "127.0.0.1")
	for _, path := range []string{"/spins", "/alerts"} {
		t.Run(path, func(t *testing.T) {
			require.NoError(t, g.visit(t, base+path))
			require.EventuallyWithT(t, func(c *assert.CollectT) {
				assert.NoError(c, g.visit(t, base+"/"))
			}, 20*time.Second, tick, "after a time-out the tab can be used")
		})
	}
}

func TestAPercentSignThatBeginsNoEscapeIsNoObstacle(t *testing.T) {
	g := newGates(t, nil, "good.test")
	for _, path := range []string{"/100%", "/%zz", "/a%2", "/%?q=100%"} {
		r, err := g.navigate(t, "https://good.test"+path)
		if assert.NoError(t, err, path) {
			assert.Equal(t, "https://good.test"+path, r.FinalURL)
			assert.Equal(t, 404, r.Status)
		}
	}
}
