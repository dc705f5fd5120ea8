package proxy

import (
	"crypto/tls"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/elazarl/goproxy"

	"sallyport/certs"
	"sallyport/gate"
	"sallyport/ledger"
)

// tunnel is what a CONNECT named, and what its handshake then said.
type tunnel struct {
	host gate.Host
	port uint16
	// otherSNI is set when the handshake named another host.
	otherSNI atomic.Bool
}

// exchange is one request, inside a tunnel or by itself.
type exchange struct {
	tunnel *tunnel // nil for plain HTTP
	target gate.Target
	method string
	wrong  string // why it is answered 421; "" when it is not

	// Of a document, once its ticket is redeemed.
	ticket   ledger.Ticket
	redeemed ledger.Redemption
}

// connect intercepts every tunnel. What names no host is rejected.
func (p *Proxy) connect(a *certs.Authority, authority string, ctx *goproxy.ProxyCtx) (*goproxy.ConnectAction, string) {
	host, port, err := gate.ParseHostPort("https", authority)
	if err != nil {
		p.log.Warn("tunnel refused", "authority", authority, "error", err)
		return &goproxy.ConnectAction{Action: goproxy.ConnectReject}, authority
	}
	t := &tunnel{host: host, port: port}
	ctx.UserData = t
	return &goproxy.ConnectAction{
		Action: goproxy.ConnectMitm,
		TLSConfig: func(string, *goproxy.ProxyCtx) (*tls.Config, error) {
			return t.config(a), nil
		},
	}, authority
}

// config answers the handshake for the host that the CONNECT named, whatever the
// handshake names: the refusal then is a 421, which the caller can read.
func (t *tunnel) config(a *certs.Authority) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if sni := strings.TrimSuffix(strings.ToLower(hello.ServerName), "."); sni != "" && sni != string(t.host) {
				t.otherSNI.Store(true)
			}
			return a.Leaf(string(t.host))
		},
	}
}

// receive sees every request first: it learns where it goes, and hands it to
// RoundTrip, which alone answers.
func (p *Proxy) receive(r *http.Request, ctx *goproxy.ProxyCtx) (*http.Request, *http.Response) {
	x := &exchange{method: r.Method}
	x.tunnel, _ = ctx.UserData.(*tunnel)
	ctx.UserData = x
	ctx.RoundTripper = goproxy.RoundTripperFunc(func(r *http.Request, _ *goproxy.ProxyCtx) (*http.Response, error) {
		// Never an error: goproxy would just hang up.
		return p.guard(r, x, func() *http.Response { return p.answer(r, x) }), nil
	})
	return r, p.guard(r, x, func() *http.Response {
		x.target, x.wrong = wireTarget(r, x.tunnel)
		return nil
	})
}

// wireTarget reads where a request goes off the wire, and says what is wrong
// when the wire names two places.
func wireTarget(r *http.Request, t *tunnel) (gate.Target, string) {
	raw := r.URL.Scheme + "://" + r.URL.Host + r.URL.RequestURI()
	if strings.HasPrefix(r.RequestURI, "/") {
		raw = r.URL.Scheme + "://" + r.URL.Host + r.RequestURI // as sent, before Go's own reading of it
	}
	target, err := gate.Parse(raw)
	if err != nil {
		return gate.Target{}, "the request's URL cannot be read"
	}
	if r.Host != "" {
		host, port, err := gate.ParseHostPort(target.Scheme(), r.Host)
		if err != nil || host != target.Host() || port != target.Port() {
			return target, "the request's Host is another than its URL's"
		}
	}
	switch {
	case t == nil:
	case target.Host() != t.host || target.Port() != t.port:
		return target, "the request names another host than its tunnel"
	case t.otherSNI.Load():
		return target, "the handshake named another host than its tunnel"
	}
	return target, ""
}
