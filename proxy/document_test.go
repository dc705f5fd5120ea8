package proxy_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/proxy"
)

func TestADocumentWithoutAValidTicketIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := "https://good.test/"
	tests := map[string]func(*testing.T) *http.Request{
		"over TLS without a ticket":    func(t *testing.T) *http.Request { return document(t, good, "") },
		"over plain HTTP":              func(t *testing.T) *http.Request { return document(t, "http://good.test/", "") },
		"with a ticket that is no one": func(t *testing.T) *http.Request { return document(t, good, "guessed") },
		"with a ticket for another URL": func(t *testing.T) *http.Request {
			ticket, _, _ := w.ticket(t, "https://good.test/other", gate.Agent)
			return document(t, good, ticket)
		},
		"as a frame with a top's ticket": func(t *testing.T) *http.Request {
			ticket, _, _ := w.ticket(t, good, gate.Agent)
			r := document(t, good, ticket)
			r.Header.Set("Sec-Fetch-Dest", "iframe")
			return r
		},
		"as a prerender": func(t *testing.T) *http.Request {
			r := document(t, good, "")
			r.Header.Set("Sec-Purpose", "prefetch;prerender")
			return r
		},
		"as a navigation of no known destination": func(t *testing.T) *http.Request {
			r := document(t, good, "")
			r.Header.Set("Sec-Fetch-Dest", "empty")
			return r
		},
	}
	for name, request := range tests {
		t.Run(name, func(t *testing.T) {
			response, body := w.do(t, request(t))
			assert.Equal(t, http.StatusForbidden, response.StatusCode)
			assert.Equal(t, "no-store", response.Header.Get("Cache-Control"))
			assert.NotContains(t, body, "<script")
			assert.Zero(t, w.web.Connections("good.test"), "the site saw nothing")
		})
	}
}

func TestATicketIsStrippedAndItsDocumentForwardedWithEvidence(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ticket, _, nav := w.ticket(t, "https://good.test/", gate.Agent)
	response, _ := w.do(t, document(t, "https://good.test/", ticket))
	assert.Equal(t, http.StatusOK, response.StatusCode)
	hits := w.web.Hits("good.test")
	require.Len(t, hits, 1)
	assert.Empty(t, hits[0].Header.Get(ledger.TicketHeader))
	at, _ := gate.Parse("https://good.test/")
	assert.Equal(t, ledger.Allowed, w.Settle(t.Context(), nav, ledger.Ending{Committed: at}).Verdict)
	assert.Equal(t, http.StatusOK, w.Status(nav))

	response, _ = w.do(t, document(t, "https://good.test/", ticket))
	assert.Equal(t, http.StatusForbidden, response.StatusCode, "a replay")
}

func TestATicketIsStrippedFromWhatIsNoDocumentToo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://good.test/x.js", nil)
	require.NoError(t, err)
	r.Header.Set("Sec-Fetch-Dest", "script")
	r.Header.Set("Sec-Fetch-Mode", "no-cors")
	response, _ := w.do(t, r)
	assert.NotEqual(t, http.StatusForbidden, response.StatusCode, "subresources are not gated")
	r.Header.Set(ledger.TicketHeader, "guessed")
	response, _ = w.do(t, r)
	assert.Equal(t, http.StatusForbidden, response.StatusCode, "what carries a ticket is judged as a document")
	for _, hit := range w.web.Hits("good.test") {
		assert.Empty(t, hit.Header.Get(ledger.TicketHeader))
	}
}

func TestTheListIsAskedAgainOnTheWire(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ticket, _, nav := w.ticket(t, "https://evil.test/", gate.Agent)
	response, _ := w.do(t, document(t, "https://evil.test/", ticket))
	assert.Equal(t, http.StatusNoContent, response.StatusCode, "Chromium keeps the page that is there")
	assert.Zero(t, w.web.Connections("evil.test"))
	assert.Equal(t, ledger.Denied, w.Settle(t.Context(), nav, ledger.Ending{Error: "net::ERR_ABORTED"}).Verdict)

	ticket, _, _ = w.ticket(t, "https://evil.test/", gate.User)
	response, _ = w.do(t, document(t, "https://evil.test/", ticket))
	assert.Equal(t, http.StatusOK, response.StatusCode, "a person's navigation is never refused by the list")
}

func TestTheCacheControlThatTheRequestHadIsRestored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, before := range []string{"", "max-age=0"} {
		at, _ := gate.Parse("https://good.test/")
		hop := w.AddHop(w.Open(w.tab, gate.Agent), at)
		ticket := w.Issue(ledger.Pass{Wire: ledger.Wire{Kind: ledger.Top, Method: "GET", Target: at}, Hop: hop, Initiator: gate.Agent, Session: w.session, CacheControl: &before})
		r := document(t, "https://good.test/", ticket)
		r.Header.Set("Cache-Control", "no-cache")
		w.do(t, r)
		hits := w.web.Hits("good.test")
		assert.Equal(t, before, hits[len(hits)-1].Header.Get("Cache-Control"))
	}
}

func TestBasicAuthenticationMayRepeatTheTicket(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ticket, _, _ := w.ticket(t, "https://good.test/-/basic", gate.Agent)
	response, _ := w.do(t, document(t, "https://good.test/-/basic", ticket))
	require.Equal(t, http.StatusUnauthorized, response.StatusCode)
	r := document(t, "https://good.test/-/basic", ticket)
	r.SetBasicAuth("user", "pass")
	response, _ = w.do(t, r)
	assert.Equal(t, http.StatusOK, response.StatusCode)
}

func TestAFailureIsToldUnderChromiumsName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	list, err := gate.ParseAllowlist([]string{"expired.test", "selfsigned.test", "wrongname.test", "notyet.test", "reset.test", "empty.test", "closed.test", "badtls.test", "garbage.test", "nodns.test"})
	require.NoError(t, err)
	w.Approve(w.session, list, nil)
	tests := map[string]string{
		"expired.test":    "net::ERR_CERT_DATE_INVALID",
		"notyet.test":     "net::ERR_CERT_DATE_INVALID",
		"selfsigned.test": "net::ERR_CERT_AUTHORITY_INVALID",
		"wrongname.test":  "net::ERR_CERT_COMMON_NAME_INVALID",
		"reset.test":      "net::ERR_CONNECTION_RESET",
		"empty.test":      "net::ERR_EMPTY_RESPONSE",
		"closed.test":     "net::ERR_CONNECTION_REFUSED",
		"badtls.test":     "net::ERR_SSL_PROTOCOL_ERROR",
		"nodns.test":      "net::ERR_NAME_NOT_RESOLVED",
	}
	for host, code := range tests {
		t.Run(host, func(t *testing.T) {
			url := "https://" + host + "/"
			ticket, _, nav := w.ticket(t, url, gate.Agent)
			response, _ := w.do(t, document(t, url, ticket))
			assert.Equal(t, http.StatusNoContent, response.StatusCode)
			o := w.Settle(t.Context(), nav, ledger.Ending{Error: "net::ERR_ABORTED"})
			assert.Equal(t, code, o.Error)

			ticket, _, _ = w.ticket(t, url, gate.User)
			response, body := w.do(t, document(t, url, ticket))
			assert.GreaterOrEqual(t, response.StatusCode, 502, "a person gets a page")
			assert.Contains(t, body, code)
		})
	}
}

func TestADownloadIsKeptFromAgents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ticket, _, nav := w.ticket(t, "https://good.test/-/download", gate.Agent)
	response, _ := w.do(t, document(t, "https://good.test/-/download", ticket))
	assert.Equal(t, http.StatusNoContent, response.StatusCode)
	assert.Equal(t, "net::ERR_ABORTED", w.Settle(t.Context(), nav, ledger.Ending{Error: "net::ERR_ABORTED"}).Error)
	ticket, _, _ = w.ticket(t, "https://good.test/-/download", gate.User)
	response, _ = w.do(t, document(t, "https://good.test/-/download", ticket))
	assert.Equal(t, http.StatusOK, response.StatusCode, "a person's goes on")
}

func TestBeforeTheOtherGateIsUpDocumentsWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Arm(false)
	response, body := w.do(t, document(t, "https://good.test/", ""))
	assert.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	assert.Contains(t, body, `http-equiv="refresh"`)
}

func TestNoServiceWorkerIsInstalled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://good.test/-/sw.js", nil)
	require.NoError(t, err)
	r.Header.Set("Sec-Fetch-Dest", "serviceworker")
	response, _ := w.do(t, r)
	assert.Equal(t, http.StatusForbidden, response.StatusCode)
	assert.Zero(t, w.web.Connections("good.test"))
}

func TestARequestThatNamesAnotherHostThanItsTunnelIsMisdirected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tests := map[string]struct{ authority, sni, request string }{
		"the inner Host":         {"good.test:443", "good.test", "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n"},
		"the inner port":         {"good.test:443", "good.test", "GET / HTTP/1.1\r\nHost: good.test:8443\r\n\r\n"},
		"an absolute URL":        {"good.test:443", "good.test", "GET https://evil.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n"},
		"the SNI":                {"good.test:443", "evil.test", "GET / HTTP/1.1\r\nHost: good.test\r\n\r\n"},
		"plain HTTP in a tunnel": {"good.test:80", "", "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n"},
		"both Host and the SNI":  {"good.test:443", "evil.test", "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := w.tunnel(t, test.authority, test.sni)
			_, err := io.WriteString(c, test.request)
			require.NoError(t, err)
			response, err := http.ReadResponse(bufio.NewReader(c), nil)
			require.NoError(t, err)
			assert.Equal(t, http.StatusMisdirectedRequest, response.StatusCode)
			assert.True(t, response.Close)
			assert.Zero(t, w.web.Connections("evil.test"))
			assert.Zero(t, w.web.Connections("good.test"))
		})
	}
}

func TestPrivateAddressesNeedAPerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *proxy.Config) { c.Pins = nil }) // so that loopback counts as itself
	base := "http://" + w.web.Addr()
	list, err := gate.ParseAllowlist([]string{"127.0.0.1"})
	require.NoError(t, err)
	w.Approve(w.session, list, nil)

	ticket, _, nav := w.ticket(t, base+"/", gate.Agent)
	response, _ := w.do(t, document(t, base+"/", ticket))
	assert.Equal(t, http.StatusNoContent, response.StatusCode)
	assert.Equal(t, "net::ERR_BLOCKED_BY_LOCAL_NETWORK_ACCESS_CHECKS", w.Settle(t.Context(), nav, ledger.Ending{}).Error)
	assert.Zero(t, w.web.Connections(""), "nothing was dialled")

	w.Approve(w.session, list, []gate.Host{"127.0.0.1"})
	ticket, _, _ = w.ticket(t, base+"/", gate.Agent)
	response, _ = w.do(t, document(t, base+"/", ticket))
	assert.Equal(t, http.StatusOK, response.StatusCode)

	w.ClearAllowlist(w.session)
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/x.png", nil)
	r.Header.Set("Sec-Fetch-Dest", "image")
	r.Header.Set("Origin", "https://evil.test")
	response, _ = w.do(t, r)
	assert.Equal(t, http.StatusForbidden, response.StatusCode, "a pooled connection serves nobody without leave")

	ticket, _, _ = w.ticket(t, base+"/", gate.User)
	response, _ = w.do(t, document(t, base+"/", ticket))
	assert.Equal(t, http.StatusOK, response.StatusCode, "a person may go there")
}

func TestOurOwnPortIsRefusedToEverybody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := "http://" + w.proxy.Addr() + "/"
	list, err := gate.ParseAllowlist([]string{"127.0.0.1"})
	require.NoError(t, err)
	w.Approve(w.session, list, []gate.Host{"127.0.0.1"})
	for _, who := range []gate.Initiator{gate.Agent, gate.User} {
		ticket, _, nav := w.ticket(t, own, who)
		w.do(t, document(t, own, ticket))
		assert.Equal(t, "net::ERR_BLOCKED_BY_LOCAL_NETWORK_ACCESS_CHECKS", w.Settle(t.Context(), nav, ledger.Ending{}).Error)
	}
}

func TestServerSentEventsAndBodiesStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, scheme := range []string{"https", "http"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+"://good.test/-/trickle", nil)
		require.NoError(t, err)
		r.Header.Set("Sec-Fetch-Dest", "empty")
		response, err := w.client.Do(r)
		require.NoError(t, err)
		first := make([]byte, 1)
		_, err = io.ReadFull(response.Body, first)
		assert.NoError(t, err, "the first byte comes though the body never ends")
		response.Body.Close()
	}
}

func TestRefusalsAreJSONForThoseWhoAskForIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := document(t, "https://good.test/", "")
	r.Header.Set("Accept", "application/json")
	response, body := w.do(t, r)
	assert.Equal(t, http.StatusForbidden, response.StatusCode)
	assert.True(t, strings.HasPrefix(body, "{"), body)
}

func BenchmarkProxiedRequest(b *testing.B) {
	w := newWorld(b)
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "https://good.test/-/bytes?n=1024", nil)
	require.NoError(b, err)
	r.Header.Set("Sec-Fetch-Dest", "empty")
	b.ReportAllocs()
	for b.Loop() {
		w.do(b, r)
	}
}

func FuzzParsePin(f *testing.F) {
	for _, seed := range []string{"good.test=127.0.0.1:443", "*.test=[::1]:80", "a=b", "=", "a=1.2.3.4:0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, entry string) {
		pin, err := proxy.ParsePin(entry)
		if err != nil {
			return
		}
		again, err := proxy.ParsePin(pin.String())
		if err != nil || again != pin {
			t.Fatalf("%q became %q, which reads as %v, %v", entry, pin, again, err)
		}
	})
}
