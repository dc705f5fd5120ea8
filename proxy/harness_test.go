package proxy_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/certs"
	"sallyport/fixtures"
	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/proxy"
)

// world is the proxy before the fixture web, with a session that may visit
// good.test and a client that trusts the proxy's authority.
type world struct {
	*ledger.Ledger
	web       *fixtures.Web
	proxy     *proxy.Proxy
	authority *certs.Authority
	session   ledger.SessionID
	tab       ledger.TabID
	client    *http.Client
	roots     *x509.CertPool
	pins      []proxy.Pin
}

func newWorld(t testing.TB, change ...func(*proxy.Config)) *world {
	t.Helper()
	web := fixtures.Start(t)
	w := &world{Ledger: ledger.New(ledger.Config{}), web: web}
	var err error
	w.authority, err = certs.NewEphemeral()
	require.NoError(t, err)
	for _, entry := range web.Resolve() {
		pin, err := proxy.ParsePin(entry)
		require.NoError(t, err)
		w.pins = append(w.pins, pin)
	}
	c := proxy.Config{Ledger: w.Ledger, Authority: w.authority, Pins: w.pins, ExtraRoots: [][]byte{web.RootPEM()}}
	for _, f := range change {
		f(&c)
	}
	w.proxy, err = proxy.New(c)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- w.proxy.Serve(ctx) }()
	t.Cleanup(func() { cancel(); require.NoError(t, <-served) })

	w.Arm(true)
	w.session = w.BeginSession("test", nil)
	w.tab = w.AddTab(w.session, "target")
	list, err := gate.ParseAllowlist([]string{"good.test", "*.good.test", "expired.test"})
	require.NoError(t, err)
	w.Approve(w.session, list, nil)
	w.roots = x509.NewCertPool()
	w.roots.AppendCertsFromPEM(w.authority.CertPEM())
	w.client = w.newClient(t)
	return w
}

func (w *world) newClient(t testing.TB) *http.Client {
	transport := &http.Transport{
		Proxy:             http.ProxyURL(&url.URL{Scheme: "http", Host: w.proxy.Addr()}),
		TLSClientConfig:   &tls.Config{RootCAs: w.roots},
		ForceAttemptHTTP2: true,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// ticket issues one for a GET of a top-level document, and its hop.
func (w *world) ticket(t testing.TB, raw string, who gate.Initiator) (ledger.Ticket, ledger.HopID, ledger.NavigationID) {
	t.Helper()
	at, err := gate.Parse(raw)
	require.NoError(t, err)
	nav := w.Open(w.tab, who)
	hop := w.AddHop(nav, at)
	w.Witness(hop, ledger.Fetch, ledger.Evidence{Allowed: true, Rule: gate.RulePattern})
	return w.Issue(ledger.Pass{Wire: ledger.Wire{Kind: ledger.Top, Method: "GET", Target: at}, Hop: hop, Initiator: who, Session: w.session}), hop, nav
}

// document makes a request as Chromium makes one for a document.
func document(t testing.TB, raw string, ticket ledger.Ticket) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, raw, nil)
	require.NoError(t, err)
	r.Header.Set("Accept", "text/html")
	if strings.HasPrefix(raw, "https:") {
		r.Header.Set("Sec-Fetch-Dest", "document")
		r.Header.Set("Sec-Fetch-Mode", "navigate")
	} else {
		r.Header.Set("Upgrade-Insecure-Requests", "1")
	}
	if ticket != "" {
		r.Header.Set(ledger.TicketHeader, string(ticket))
	}
	return r
}

// do sends a request and reads its answer whole.
func (w *world) do(t testing.TB, r *http.Request) (*http.Response, string) {
	t.Helper()
	response, err := w.client.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, string(body)
}

// tunnel opens a CONNECT tunnel by hand and speaks TLS in it under any SNI.
func (w *world) tunnel(t testing.TB, authority, sni string) net.Conn {
	t.Helper()
	c, err := net.DialTimeout("tcp", w.proxy.Addr(), 5*time.Second)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	_, err = io.WriteString(c, "CONNECT "+authority+" HTTP/1.1\r\nHost: "+authority+"\r\n\r\n")
	require.NoError(t, err)
	head := make([]byte, 0, 256)
	one := make([]byte, 1)
	for !strings.HasSuffix(string(head), "\r\n\r\n") {
		_, err := c.Read(one)
		require.NoError(t, err)
		head = append(head, one[0])
	}
	require.Contains(t, string(head), " 200 ")
	if sni == "" {
		return c
	}
	inner := tls.Client(c, &tls.Config{ServerName: sni, InsecureSkipVerify: true}) // the client is the attacker here
	require.NoError(t, inner.HandshakeContext(t.Context()))
	return inner
}
