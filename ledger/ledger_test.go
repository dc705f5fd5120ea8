package ledger_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/gate"
	"sallyport/ledger"
)

func target(t testing.TB, url string) gate.Target {
	t.Helper()
	at, err := gate.Parse(url)
	require.NoError(t, err)
	return at
}

func list(t testing.TB, entries ...string) gate.Allowlist {
	t.Helper()
	a, err := gate.ParseAllowlist(entries)
	require.NoError(t, err)
	return a
}

// world is a ledger with one session that has one tab and may visit good.test.
type world struct {
	*ledger.Ledger
	session ledger.SessionID
	tab     ledger.TabID
	denials []ledger.Denial
}

func newWorld(t testing.TB) *world {
	w := &world{Ledger: ledger.New(ledger.Config{SettleWait: 50 * time.Millisecond})}
	w.session = w.BeginSession("test", func(d ledger.Denial) { w.denials = append(w.denials, d) })
	w.tab = w.AddTab(w.session, "target")
	require.True(t, w.Approve(w.session, list(t, "good.test"), nil))
	return w
}

var (
	letThrough = ledger.Evidence{Allowed: true, Rule: gate.RulePattern}
	notCovered = ledger.Evidence{Rule: gate.RuleNotCovered}
)

func TestSettleConcludesFromBothLayers(t *testing.T) {
	t.Parallel()
	type step struct {
		url          string
		fetch, proxy *ledger.Evidence
		internal     bool
	}
	failedAt := func(code string) *ledger.Evidence {
		return &ledger.Evidence{Allowed: true, Rule: gate.RulePattern, Failure: code}
	}
	const good, evil = "https://good.test/", "https://evil.test/"
	tests := map[string]struct {
		hops      []step
		committed string
		err       string
		verdict   ledger.Verdict
		code      string
		at        string
	}{
		"both let it through and it was committed": {
			hops: []step{{url: good, fetch: &letThrough, proxy: &letThrough}}, committed: good, verdict: ledger.Allowed, at: good},
		"the proxy never saw what was committed": {
			hops: []step{{url: good, fetch: &letThrough}}, committed: good, verdict: ledger.Disagreed, at: good},
		"the DevTools layer wrote nothing of what was committed": {
			hops: []step{{url: good, proxy: &letThrough}}, committed: good, verdict: ledger.Disagreed, at: good},
		"nothing at all was seen of what was committed": {
			committed: good, verdict: ledger.Disagreed, at: good},
		"another URL was committed than the last hop's": {
			hops: []step{{url: good, fetch: &letThrough, proxy: &letThrough}}, committed: evil, verdict: ledger.Disagreed, at: evil},
		"the proxy refused for want of a pattern what Fetch let through": {
			hops: []step{{url: good, fetch: &letThrough, proxy: &notCovered}}, err: "net::ERR_ABORTED", verdict: ledger.Disagreed, at: good},
		"a redirect hop is not covered": {
			hops: []step{{url: good, fetch: &letThrough, proxy: &letThrough}, {url: evil, fetch: &notCovered}}, err: "net::ERR_ABORTED", verdict: ledger.Denied, at: evil},
		"the proxy never saw the hop that redirected": {
			hops: []step{{url: good, fetch: &letThrough}, {url: good + "2", fetch: &letThrough, proxy: &letThrough}}, committed: good + "2", verdict: ledger.Disagreed, at: good},
		"a hop that Chromium upgraded by itself needs no proxy": {
			hops: []step{{url: "http://good.test/", fetch: &letThrough, internal: true}, {url: good, fetch: &letThrough, proxy: &letThrough}}, committed: good, verdict: ledger.Allowed, at: good},
		"the name did not resolve": {
			hops: []step{{url: good, fetch: &letThrough, proxy: failedAt("net::ERR_NAME_NOT_RESOLVED")}}, err: "net::ERR_ABORTED", verdict: ledger.Failed, code: "net::ERR_NAME_NOT_RESOLVED", at: good},
		"a private address was refused": {
			hops: []step{{url: good, fetch: &letThrough, proxy: &ledger.Evidence{Rule: ledger.RuleAddress}}}, err: "net::ERR_ABORTED", verdict: ledger.Failed, code: "net::ERR_BLOCKED_BY_LOCAL_NETWORK_ACCESS_CHECKS", at: good},
		"plain HTTP reached the proxy": {
			hops: []step{{url: "http://good.test/", fetch: &letThrough, proxy: &ledger.Evidence{Rule: gate.RulePlainHTTP}}}, err: "net::ERR_ABORTED", verdict: ledger.Failed, code: "net::ERR_DISALLOWED_URL_SCHEME", at: "http://good.test/"},
		"Chromium ended it before the network": {
			hops: []step{{url: good, fetch: &letThrough}}, err: "net::ERR_UNSAFE_PORT", verdict: ledger.Failed, code: "net::ERR_UNSAFE_PORT", at: good},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			nav := w.Open(w.tab, gate.Agent)
			for _, s := range test.hops {
				hop := w.AddHop(nav, target(t, s.url))
				if s.fetch != nil {
					w.Witness(hop, ledger.Fetch, *s.fetch)
				}
				if s.proxy != nil {
					w.Witness(hop, ledger.Proxy, *s.proxy)
				}
				if s.internal {
					w.MarkInternal(hop)
				}
			}
			end := ledger.Ending{Error: test.err}
			if test.committed != "" {
				end.Committed = target(t, test.committed)
			}
			o := w.Settle(t.Context(), nav, end)
			assert.Equal(t, test.verdict, o.Verdict)
			assert.Equal(t, test.code, codeOf(o))
			assert.Equal(t, test.at, o.At.URL())
		})
	}
}

func codeOf(o ledger.Outcome) string {
	if o.Verdict == ledger.Failed {
		return o.Error
	}
	return ""
}

func TestSettleWaitsForEvidenceThatComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := ledger.New(ledger.Config{})
		tab := l.AddTab(l.BeginSession("test", nil), "target")
		nav := l.Open(tab, gate.Agent)
		hop := l.AddHop(nav, target(t, "https://good.test/"))
		l.Witness(hop, ledger.Fetch, letThrough)
		verdict := make(chan ledger.Verdict, 1)
		go func() {
			verdict <- l.Settle(t.Context(), nav, ledger.Ending{Committed: target(t, "https://good.test/")}).Verdict
		}()
		time.Sleep(time.Second) // the fake clock's
		l.Witness(hop, ledger.Proxy, letThrough)
		assert.Equal(t, ledger.Allowed, <-verdict)
	})
}

func TestSettleGivesUpAfterTwoSecondsAndRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := ledger.New(ledger.Config{})
		tab := l.AddTab(l.BeginSession("test", nil), "target")
		nav := l.Open(tab, gate.Agent)
		l.Witness(l.AddHop(nav, target(t, "https://good.test/")), ledger.Fetch, letThrough)
		began := time.Now()
		o := l.Settle(t.Context(), nav, ledger.Ending{Committed: target(t, "https://good.test/")})
		assert.Equal(t, ledger.Disagreed, o.Verdict)
		assert.Equal(t, "unseen", o.Proxy)
		assert.Equal(t, "allowed", o.Fetch)
		assert.Equal(t, 2*time.Second, time.Since(began))
	})
}

func TestADocumentWithoutATicketMakesAnUnseenNavigationADisagreement(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	nav := w.Open(w.tab, gate.Agent)
	w.NoteStray(ledger.Wire{Kind: ledger.Top, Method: "GET", Target: target(t, "https://good.test/")})
	o := w.Settle(t.Context(), nav, ledger.Ending{Error: "net::ERR_ABORTED"})
	assert.Equal(t, ledger.Disagreed, o.Verdict)
	assert.Equal(t, "denied", o.Proxy)
	assert.Equal(t, "unseen", o.Fetch)
}

func TestATicketOpensOnlyTheRequestThatItWasMadeFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	wire := ledger.Wire{Kind: ledger.Top, Method: "GET", Target: target(t, "https://good.test/a?b=c")}
	tests := map[string]struct {
		change func(*ledger.Wire)
		ok     bool
	}{
		"the very request":              {func(*ledger.Wire) {}, true},
		"a kind that the wire hides":    {func(w *ledger.Wire) { w.Kind = "" }, true},
		"a frame with a top's ticket":   {func(w *ledger.Wire) { w.Kind = ledger.Frame }, false},
		"another method":                {func(w *ledger.Wire) { w.Method = "POST" }, false},
		"another host":                  {func(w *ledger.Wire) { w.Target = target(t, "https://evil.test/a?b=c") }, false},
		"another port":                  {func(w *ledger.Wire) { w.Target = target(t, "https://good.test:8443/a?b=c") }, false},
		"another scheme":                {func(w *ledger.Wire) { w.Target = target(t, "http://good.test/a?b=c") }, false},
		"another path":                  {func(w *ledger.Wire) { w.Target = target(t, "https://good.test/b?b=c") }, false},
		"another query":                 {func(w *ledger.Wire) { w.Target = target(t, "https://good.test/a?b=d") }, false},
		"the same with only a fragment": {func(w *ledger.Wire) { w.Target = target(t, "https://good.test/a?b=c#f") }, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			secret := w.Issue(ledger.Pass{Wire: wire, Session: w.session, Initiator: gate.Agent})
			asked := wire
			test.change(&asked)
			_, err := w.Redeem(secret, asked)
			if test.ok {
				assert.NoError(t, err)
			} else {
				assert.ErrorIs(t, err, ledger.ErrNoTicket)
			}
		})
	}
	_, err := w.Redeem("made up", wire)
	assert.ErrorIs(t, err, ledger.ErrNoTicket)
}

func TestATicketLivesUntilAResponseOtherThan401AndFourRetriesAtMost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	wire := ledger.Wire{Kind: ledger.Top, Method: "GET", Target: target(t, "https://good.test/")}
	secret := w.Issue(ledger.Pass{Wire: wire, Session: w.session})
	redeem := func() error { _, err := w.Redeem(secret, wire); return err }
	require.NoError(t, redeem())
	w.Delivered(secret, 401)
	require.NoError(t, redeem(), "Chromium sends it again with credentials")
	w.Delivered(secret, 200)
	require.ErrorIs(t, redeem(), ledger.ErrNoTicket, "a replay")

	secret = w.Issue(ledger.Pass{Wire: wire, Session: w.session})
	for range 5 {
		require.NoError(t, redeem())
	}
	require.ErrorIs(t, redeem(), ledger.ErrNoTicket, "the fifth retry")
}

func TestRedeemTellsTheListInForceNow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	wire := ledger.Wire{Kind: ledger.Top, Method: "GET", Target: target(t, "https://good.test/")}
	secret := w.Issue(ledger.Pass{Wire: wire, Session: w.session, Initiator: gate.Agent})
	w.ClearAllowlist(w.session)
	r, err := w.Redeem(secret, wire)
	require.NoError(t, err)
	assert.True(t, r.Gated)
	assert.Equal(t, 0, r.List.Len())
}

func TestPrivateAddressesAreReachableOnlyWhereAPersonSaidSo(t *testing.T) {
	t.Parallel()
	l := ledger.New(ledger.Config{})
	router := target(t, "http://192.168.1.1/")
	host, port := router.Host(), router.Port()
	assert.False(t, l.LocalReachable(host, port, "", 0), "nobody said anything")

	mine := l.AddTab("", "person")
	l.Opening(mine, router)
	assert.True(t, l.LocalReachable(host, port, host, port), "from the place a person is opening")
	assert.False(t, l.LocalReachable(host, port, "evil.test", 443), "from elsewhere")
	assert.False(t, l.LocalReachable(host, port, "", 0), "from nowhere in particular")
	assert.False(t, l.LocalReachable(host, 8080, host, port), "another port")
	l.Shown(mine, router, true)
	assert.True(t, l.LocalReachable(host, port, host, port), "from the place a person's tab shows")
	l.RemoveTab(mine)
	assert.False(t, l.LocalReachable(host, port, host, port), "no tab shows it any more")

	s := l.BeginSession("test", nil)
	l.Approve(s, list(t, "192.168.1.1"), []gate.Host{host})
	assert.True(t, l.LocalReachable(host, port, "", 0), "a session's person approved it")
	l.Approve(s, list(t, "good.test"), nil)
	assert.False(t, l.LocalReachable(host, port, "", 0), "the list no longer covers it")
}

func TestApprovalsEndWithTheSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.Lease(w.session, w.tab, 0)
	require.NoError(t, err)
	w.EndSession(w.session)
	assert.Equal(t, 0, w.Allowlist(w.session).Len())
	assert.False(t, w.Approve(w.session, list(t, "good.test"), nil), "an ended session gets nothing")
	tab, _ := w.Tab(w.tab)
	assert.Empty(t, tab.Holder)
}

func TestALeaseIsExclusiveUntilItExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := ledger.New(ledger.Config{LeaseTTL: time.Minute})
		a, b := l.BeginSession("a", nil), l.BeginSession("b", nil)
		tab := l.AddTab(a, "target")
		_, err := l.Lease(a, tab, 0)
		require.NoError(t, err)
		var held *ledger.LeaseError
		_, err = l.Lease(b, tab, 0)
		require.ErrorAs(t, err, &held)
		assert.Equal(t, "another_session", held.Holder)
		assert.Equal(t, time.Minute, held.ExpiresIn)
		time.Sleep(30 * time.Second)
		_, err = l.Lease(a, tab, 0)
		require.NoError(t, err, "renewed by use")
		time.Sleep(time.Minute)
		_, err = l.Lease(b, tab, 0)
		require.NoError(t, err, "free after it expired")
		assert.False(t, l.Release(a, tab))
		assert.True(t, l.Release(b, tab))
		_, err = l.Lease(a, l.AddTab("", "person"), 0)
		require.ErrorAs(t, err, &held)
		assert.Equal(t, "user", held.Holder)
	})
}

func TestADenialIsKeptByTheTabAndToldToItsSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.NoteDenial(ledger.Denial{Tab: w.tab, URL: "https://u:p@evil.test/a?token=secret#f", Host: "evil.test", Initiator: gate.Page, Rule: gate.RuleNotCovered})
	tab, ok := w.Tab(w.tab)
	require.True(t, ok)
	require.NotNil(t, tab.LastDenied)
	assert.NotContains(t, tab.LastDenied.URL, "secret")
	assert.NotContains(t, tab.LastDenied.URL, "u:p")
	require.Len(t, w.denials, 1)
}

func TestAFloodOfNavigationsIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := ledger.New(ledger.Config{})
		tab := l.AddTab(l.BeginSession("test", nil), "target")
		at := target(t, "https://good.test/")
		first := l.Open(tab, gate.Page)
		for range 100 {
			nav := l.Open(tab, gate.Page)
			l.Issue(ledger.Pass{Wire: ledger.Wire{Kind: ledger.Top, Method: "GET", Target: at}, Hop: l.AddHop(nav, at)})
		}
		time.Sleep(3 * time.Minute)
		l.Issue(ledger.Pass{})
		assert.Equal(t, ledger.Disagreed, l.Settle(t.Context(), first, ledger.Ending{}).Verdict, "what is forgotten is refused")
	})
}

func BenchmarkHop(b *testing.B) {
	l := ledger.New(ledger.Config{})
	s := l.BeginSession("bench", nil)
	tab := l.AddTab(s, "target")
	at := target(b, "https://good.test/")
	wire := ledger.Wire{Kind: ledger.Top, Method: "GET", Target: at}
	b.ReportAllocs()
	for b.Loop() {
		nav := l.Open(tab, gate.Agent)
		hop := l.AddHop(nav, at)
		l.Witness(hop, ledger.Fetch, letThrough)
		secret := l.Issue(ledger.Pass{Wire: wire, Hop: hop, Session: s, Initiator: gate.Agent})
		if _, err := l.Redeem(secret, wire); err != nil {
			b.Fatal(err)
		}
		l.Witness(hop, ledger.Proxy, letThrough)
		l.Delivered(secret, 200)
		if o := l.Settle(b.Context(), nav, ledger.Ending{Committed: at}); o.Verdict != ledger.Allowed {
			b.Fatal(o)
		}
	}
}
