package main

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/chrome"
	"sallyport/fixtures"
	"sallyport/proxy"
)

// longRun reports that there is time for everything.
func longRun() bool { return os.Getenv("SALLYPORT_TEST_LONG") != "" }

// figures are what may not grow with the number of navigations.
type figures struct {
	goroutines, files, tabs, navigations int
	heap                                 int // bytes in use after a collection
}

// What may be between two measurements without being growth: warm connections come
// and go, and with them their goroutines, files and buffers.
var tolerance = figures{goroutines: 20, files: 10, heap: 2 << 20}

// TestManyNavigationsLeaveNothingBehind drives one browser through every kind of
// ending: 48 navigations in an ordinary run, 5,000 with SALLYPORT_TEST_LONG=1.
func TestManyNavigationsLeaveNothingBehind(t *testing.T) {
	total, warm := 48, 12
	if longRun() {
		total, warm = 5000, 500
	}
	g := newGates(t, func(_ *proxy.Config, c *chrome.Config) { c.NavigateTimeout = 30 * time.Second }, "good.test", "good2.test", "nodns.test")
	s := &soak{gates: g, cases: soakCases(g.web)}
	begun := time.Now()
	var before figures
	for n := 1; n <= total; n++ {
		s.step(t, n)
		if n == warm {
			before = s.measure(t)
		}
		if n%warm == 0 || n == total {
			t.Logf("after %d navigations, %s: %+v", n, time.Since(begun).Round(time.Second), s.measure(t))
		}
	}
	if longRun() {
		s.outlive(t)
	}
	var after figures
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		after = s.measure(t)
		assert.LessOrEqual(c, after.goroutines, before.goroutines+tolerance.goroutines)
		assert.LessOrEqual(c, after.files, before.files+tolerance.files)
		assert.LessOrEqual(c, after.tabs, before.tabs)
		assert.LessOrEqual(c, after.heap, before.heap+tolerance.heap)
	}, wait, 10*tick)
	t.Logf("before %+v", before)
	t.Logf("after  %+v", after)
}

// soak drives one session's tabs.
type soak struct {
	*gates
	cases []soakCase
}

// soakCase is a URL and what comes of it.
type soakCase struct {
	url  string
	ends func(assert.TestingT, error, ...any) bool
}

func soakCases(web *fixtures.Web) []soakCase {
	refused := func(t assert.TestingT, err error, about ...any) bool {
		var denied *chrome.DeniedError
		return assert.ErrorAs(t, err, &denied, about...)
	}
	fails := func(code string) func(assert.TestingT, error, ...any) bool {
		return func(t assert.TestingT, err error, about ...any) bool {
			var failed *chrome.NetError
			return assert.ErrorAs(t, err, &failed, about...) && assert.Equal(t, code, failed.Code, about...)
		}
	}
	js := func(how, to string) string {
		return web.URL("good.test", fixtures.Query("/-/js", "how", how, "to", to))
	}
	opens := func(t assert.TestingT, err error, about ...any) bool { return assert.NoError(t, err, about...) }
	return []soakCase{
		{"https://good.test/", opens},
		{"https://evil.test/", refused},
		{web.URL("good.test", fixtures.Query("/-/status/302", "to", "https://evil.test/redirect")), refused},
		{web.URL("good.test", fixtures.Query("/-/status/302", "to", "https://good2.test/")), opens},
		{js("open", "https://evil.test/popup"), opens},
		{js("location", "https://evil.test/location"), opens},
		{js("location", "https://good2.test/two.html"), opens},
		{js("form-post", "https://good2.test/-/post-result"), opens},
		{"https://good.test/-/download", fails("net::ERR_ABORTED")},
		{"https://good.test/-/204", fails("net::ERR_ABORTED")},
		{"https://nodns.test/", fails("net::ERR_NAME_NOT_RESOLVED")},
		{"https://good.test/#fragment", opens},
	}
}

// step makes the nth navigation, now and then in a tab of its own.
func (s *soak) step(t *testing.T, n int) {
	t.Helper()
	tab := s.tab
	if n%10 == 0 {
		var err error
		s.tab, err = s.browser.OpenTab(t.Context(), s.session)
		require.NoError(t, err)
	}
	one := s.cases[n%len(s.cases)]
	_, err := s.navigate(t, one.url)
	require.True(t, one.ends(t, err, one.url), "navigation %d", n)
	if n%10 == 0 {
		require.NoError(t, s.browser.CloseTab(t.Context(), s.tab))
		s.tab = tab
	}
}

// measure takes the figures, without the fixture's own log.
func (s *soak) measure(t *testing.T) figures {
	t.Helper()
	assert.Zero(t, s.web.Connections("evil.test"))
	s.web.Reset()
	files, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	runtime.GC()
	runtime.GC() // what a finalizer or a pool held goes with the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return figures{
		goroutines: runtime.NumGoroutine(), files: len(files), tabs: len(s.Tabs()),
		navigations: len(s.Recent()), heap: int(m.HeapAlloc),
	}
}

// outlive waits until the ledger has forgotten what was before.
func (s *soak) outlive(t *testing.T) {
	t.Helper()
	last := s.Recent()[len(s.Recent())-1].ID
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		_, err := s.navigate(t, "https://good.test/")
		assert.NoError(c, err)
		assert.Greater(c, s.Recent()[0].ID, last)
	}, 3*time.Minute, 5*time.Second)
}
