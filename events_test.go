package main

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/chrome"
	"sallyport/fixtures"
	"sallyport/gate"
	"sallyport/proxy"
)

// wire stands between Chromium's events and the DevTools layer.
type wire struct {
	*gates
	rule atomic.Pointer[func(event any, handOn func())] // nil hands on
}

func newWire(t *testing.T, change func(*chrome.Config), domains ...string) *wire {
	t.Helper()
	w := &wire{}
	w.gates = newGates(t, func(_ *proxy.Config, c *chrome.Config) {
		c.Hear = func(event any, handOn func()) {
			if rule := w.rule.Load(); rule != nil {
				(*rule)(event, handOn)
				return
			}
			handOn()
		}
		change(c)
	}, domains...)
	return w
}

// under makes a rule hold until what it is for is done.
func (w *wire) under(rule func(event any, handOn func()), do func()) {
	w.rule.Store(&rule)
	defer w.rule.Store(nil)
	do()
}

// evils number the URLs that must not open, so that each refusal is told from others.
var evils atomic.Int64

// is tells events of a type.
func is[E any](event any) bool {
	_, ok := event.(E)
	return ok
}

func either(of ...func(any) bool) func(any) bool {
	return func(event any) bool {
		for _, one := range of {
			if one(event) {
				return true
			}
		}
		return false
	}
}

// TestALostEventOpensNothing loses every event of a kind, while the agent opens a
// page that then tries to leave the list. Where nothing is missed the call works as
// ever; else it is refused when its time is up. The tab can be used afterwards.
func TestALostEventOpensNothing(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		lost    func(event any) bool
		opens   bool // the agent's call works
		unasked bool // the server never hears of it
		long    bool // left to a long run
	}{
		"the pause":                    {lost: is[*fetch.EventRequestPaused], unasked: true},
		"the request":                  {lost: is[*network.EventRequestWillBeSent], opens: true, long: true},
		"the start":                    {lost: is[*page.EventFrameStartedNavigating], opens: true, long: true},
		"the request and the start":    {lost: either(is[*network.EventRequestWillBeSent], is[*page.EventFrameStartedNavigating]), opens: true},
		"the commit":                   {lost: is[*page.EventFrameNavigated], long: true},
		"DOMContentLoaded":             {lost: is[*page.EventLifecycleEvent], opens: true, long: true},
		"DOMContentLoaded and the end": {lost: either(is[*page.EventLifecycleEvent], is[*page.EventFrameStoppedLoading]), opens: true, long: true},
		"the failure":                  {lost: is[*network.EventLoadingFailed], opens: true, long: true},
		"what the tab is called":       {lost: is[*target.EventTargetInfoChanged], opens: true, long: true},
		"everything":                   {lost: func(any) bool { return true }, unasked: true},
		"everything but the pause":     {lost: func(event any) bool { return !is[*fetch.EventRequestPaused](event) }, long: true},
	}
	const limit = 2500 * time.Millisecond
	w := newWire(t, func(c *chrome.Config) { c.NavigateTimeout = limit }, "good.test")
	for name, test := range tests {
		if test.long && !longRun() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			w.web.Reset()
			evil := fmt.Sprintf("https://evil.test/%d", evils.Add(1))
			begun := time.Now()
			w.under(func(event any, handOn func()) {
				if !test.lost(event) {
					handOn()
				}
			}, func() {
				r, err := w.navigate(t, w.web.URL("good.test", fixtures.Query("/-/js", "how", "location", "after", "300", "to", evil)))
				if test.opens {
					require.NoError(t, err)
					w.denied(t, evil)
					w.shows(t, r.FinalURL)
					return
				}
				assert.Equal(t, "net::ERR_TIMED_OUT", netCode(t, err))
			})
			assert.Less(t, time.Since(begun), limit+5*time.Second)
			assert.Equal(t, !test.unasked, slices.ContainsFunc(w.web.Hits("good.test"), func(r fixtures.Request) bool { return r.Path == "/-/js" }))
			_, err := w.navigate(t, "https://good.test/two.html")
			require.NoError(t, err, "the tab can be used again")
			w.shows(t, "https://good.test/two.html")
			assert.Zero(t, w.web.Connections("evil.test"))
		})
	}
}

// swapped holds back events until others have come of the same load.
type swapped struct {
	first, then func(event any) (load string, ok bool)

	mu   sync.Mutex // guards below
	seen map[string]bool
	held map[string][]func()
}

func (s *swapped) hear(event any, handOn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if load, ok := s.then(event); ok && !s.seen[load] {
		s.held[load] = append(s.held[load], handOn)
		return
	}
	handOn()
	if load, ok := s.first(event); ok {
		s.seen[load] = true
		for _, late := range s.held[load] {
			late()
		}
		delete(s.held, load)
	}
}

// The events of a load, by its loader.
func pausing(event any) (string, bool) {
	e, ok := event.(*fetch.EventRequestPaused)
	if !ok {
		return "", false
	}
	return string(e.NetworkID), true
}

func sending(event any) (string, bool) {
	e, ok := event.(*network.EventRequestWillBeSent)
	if !ok || e.Type != network.ResourceTypeDocument {
		return "", false
	}
	return string(e.RequestID), true
}

func committing(event any) (string, bool) {
	e, ok := event.(*page.EventFrameNavigated)
	if !ok {
		return "", false
	}
	return string(e.Frame.LoaderID), true
}

func readying(event any) (string, bool) {
	e, ok := event.(*page.EventLifecycleEvent)
	if !ok || e.Name != "DOMContentLoaded" {
		return "", false
	}
	return string(e.LoaderID), true
}

func starting(event any) (string, bool) {
	e, ok := event.(*page.EventFrameStartedNavigating)
	if !ok {
		return "", false
	}
	return string(e.LoaderID), true
}

// TestEventsInAnotherOrderChangeNothing turns pairs of events round: what is
// covered opens, and what is not is refused, whoever wants it.
func TestEventsInAnotherOrderChangeNothing(t *testing.T) {
	t.Parallel()
	type order struct {
		first, then func(any) (string, bool)
		long        bool // left to a long run
	}
	orders := map[string]order{
		"the request after the pause":       {pausing, sending, false},
		"the pause after the request":       {sending, pausing, true},
		"the start after the pause":         {pausing, starting, true},
		"the request after the start":       {starting, sending, true},
		"the request after the commit":      {committing, sending, false},
		"the commit after DOMContentLoaded": {readying, committing, false},
		"the start after everything":        {readying, starting, true},
	}
	w := newWire(t, func(*chrome.Config) {}, "good.test", "good2.test")
	for name, o := range orders {
		if o.long && !longRun() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s := &swapped{first: o.first, then: o.then, seen: map[string]bool{}, held: map[string][]func(){}}
			w.under(s.hear, func() {
				r, err := w.navigate(t, w.web.URL("good.test", fixtures.Query("/-/status/302", "to", "https://good2.test/", "as", name)))
				require.NoError(t, err)
				assert.Equal(t, "https://good2.test/", r.FinalURL)
				_, err = w.navigate(t, w.web.URL("good.test", fixtures.Query("/-/status/302", "to", "https://evil.test/redirect", "as", name)))
				var denied *chrome.DeniedError
				require.ErrorAs(t, err, &denied)
				evil := fmt.Sprintf("https://evil.test/%d", evils.Add(1))
				_, err = w.navigate(t, w.web.URL("good.test", fixtures.Query("/-/js", "how", "location", "after", "100", "to", evil)))
				require.NoError(t, err)
				assert.Equal(t, gate.Page, w.denied(t, evil).Initiator)
				_, err = w.navigate(t, w.web.URL("good.test", fixtures.Query("/-/js", "how", "location", "after", "100", "to", "https://good2.test/two.html")))
				require.NoError(t, err)
				w.shows(t, "https://good2.test/two.html")
			})
		})
	}
	assert.Zero(t, w.web.Connections("evil.test"))
}

// TestAGestureCountsIfItIsKnownInTime makes a page's own navigation look like a
// person's, before and after the pause that waits for it, and too late.
func TestAGestureCountsIfItIsKnownInTime(t *testing.T) {
	t.Parallel()
	w := newWire(t, func(*chrome.Config) {}, "good.test")
	tests := map[string]struct {
		order   *swapped
		persons bool
	}{
		"before the pause":      {&swapped{first: sending, then: pausing}, true},
		"after the pause":       {&swapped{first: pausing, then: sending}, true},
		"when it is decided on": {&swapped{first: failing, then: sending}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := w.navigate(t, "https://good.test/")
			require.NoError(t, err)
			to := fmt.Sprintf("https://good2.test/%d", evils.Add(1))
			test.order.seen, test.order.held = map[string]bool{}, map[string][]func(){}
			w.under(func(event any, handOn func()) {
				if e, ok := event.(*network.EventRequestWillBeSent); ok && e.Request.URL == to {
					e.HasUserGesture = true
				}
				test.order.hear(event, handOn)
			}, func() {
				_, err := w.navigate(t, w.web.URL("good.test", fixtures.Query("/-/js", "how", "location", "after", "100", "to", to)))
				require.NoError(t, err)
				if test.persons {
					w.shows(t, to)
					return
				}
				assert.Equal(t, gate.Page, w.denied(t, to).Initiator)
				for _, hit := range w.web.Hits("good2.test") {
					assert.NotEqual(t, to, "https://good2.test"+hit.Path)
				}
			})
		})
	}
}

func failing(event any) (string, bool) {
	e, ok := event.(*network.EventLoadingFailed)
	if !ok {
		return "", false
	}
	return string(e.RequestID), true
}

// TestAListenerThatStallsHoldsNoCall stops the goroutine that takes Chromium's
// events, of the browser or of a tab: with it everything that comes after stands.
func TestAListenerThatStallsHoldsNoCall(t *testing.T) {
	for name, stalls := range map[string]func(any) bool{"of the browser": is[*fetch.EventRequestPaused], "of the tab": is[*page.EventFrameNavigated]} {
		if name == "of the tab" && !longRun() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			over, reached := make(chan struct{}), make(chan struct{})
			t.Cleanup(func() { close(over) })
			w := newWire(t, func(c *chrome.Config) { c.NavigateTimeout, c.StallWait = time.Second, 2*time.Second }, "good.test")
			var once sync.Once
			w.under(func(event any, handOn func()) {
				if stalls(event) {
					once.Do(func() { close(reached) })
					<-over
				}
				handOn()
			}, func() {
				w.endsInTime(t, func() error { _, err := w.navigate(t, "https://good.test/"); return err }, reached)
			})
			if name == "of the browser" {
				assert.Empty(t, w.web.Hits("good.test"))
			}
			w.worksAnew(t)
		})
	}
}

// endsInTime makes every call of a tab while it hangs: each ends, that to navigate
// with an error. begun says that it is time for the others.
func (w *wire) endsInTime(t *testing.T, navigate func() error, begun <-chan struct{}) {
	t.Helper()
	ended := make(chan struct{}, 3)
	go func() { assert.Error(t, navigate()); ended <- struct{}{} }()
	select {
	case <-begun:
	case <-time.After(wait):
		require.Fail(t, "the fault did not come up")
	}
	go func() { _, _ = w.browser.OpenTab(t.Context(), w.session); ended <- struct{}{} }()
	go func() { _ = w.browser.CloseTab(t.Context(), w.tab); ended <- struct{}{} }()
	for range cap(ended) {
		select {
		case <-ended:
		case <-time.After(wait):
			require.Fail(t, "a call hangs")
		}
	}
}

// worksAnew holds that the next tab works, in whichever browser.
func (w *wire) worksAnew(t *testing.T) {
	t.Helper()
	var err error
	w.tab, err = w.browser.OpenTab(t.Context(), w.session)
	require.NoError(t, err)
	w.allow(t, "good.test")
	_, err = w.navigate(t, "https://good.test/two.html")
	assert.NoError(t, err)
}

// TestAFrozenChromiumHoldsNoCall stops its process for a while.
func TestAFrozenChromiumHoldsNoCall(t *testing.T) {
	if !longRun() {
		t.Skip("SALLYPORT_TEST_LONG is not set")
	}
	w := newWire(t, func(c *chrome.Config) { c.NavigateTimeout = time.Second }, "good.test")
	pid := w.browser.Pid()
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	thaw := sync.OnceFunc(func() { assert.NoError(t, syscall.Kill(pid, syscall.SIGCONT)) })
	defer thaw()
	begun := make(chan struct{})
	close(begun)
	w.endsInTime(t, func() error { _, err := w.navigate(t, "https://good.test/"); return err }, begun)
	assert.Empty(t, w.web.Hits("good.test"))
	thaw()
	w.worksAnew(t)
	assert.Equal(t, pid, w.browser.Pid(), "a browser that comes back is the person's still")
}
