package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"syscall"
	"time"

	"sallyport/gate"
)

// newTransport verifies every certificate and dials through d. Two of them keep
// a connection that was dialled by leave from serving a request without one.
func newTransport(d *dialer, private bool, upstream *url.URL, roots *x509.CertPool) *http.Transport {
	t := &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return d.dial(ctx, addr, private)
		},
		TLSClientConfig:       &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:   20 * time.Second,
		ResponseHeaderTimeout: 5 * time.Minute, // a browser's own patience
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConnsPerHost:   16,
		ForceAttemptHTTP2:     true, // a dialer of our own turns it off otherwise
		DisableCompression:    true, // bodies pass as they are
	}
	if upstream != nil {
		t.Proxy = http.ProxyURL(upstream)
		t.DialContext = d.dialUpstream
	}
	return t
}

// forward sends a request on. It returns a response or a failure.
func (p *Proxy) forward(r *http.Request, target gate.Target, private bool) (*http.Response, *failure) {
	if p.upstream != nil && !private && gate.LocalSpelling(target.Host(), p.ranges) {
		return nil, refusedAddress(string(target.Host()), "")
	}
	cleanRequest(r)
	transport := p.public
	if private {
		transport = p.private
	}
	response, err := roundTrip(transport, r)
	if err != nil {
		f := failureOf(err)
		p.log.Debug("upstream failed", "url", gate.Redact(target.URL()), "code", f.code, "error", err)
		return nil, f
	}
	cleanResponse(response)
	return response, nil
}

// roundTrip tries a second time where a browser without a proxy would: a server
// may close a connection that is used again just as the request is on its way.
func roundTrip(transport *http.Transport, r *http.Request) (*http.Response, error) {
	reused := false
	trace := &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { reused = c.Reused }}
	response, err := transport.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
	again := reused && (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.ContentLength == 0 &&
		(errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF))
	if again {
		return transport.RoundTrip(r)
	}
	return response, err
}

// hopByHop are the headers that mean one connection only (RFC 9110 7.6.1).
var hopByHop = []string{"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Transfer-Encoding", "Upgrade"}

func cleanRequest(r *http.Request) {
	websocket := isUpgrade(r.Header)
	removeHopByHop(r.Header)
	if websocket {
		r.Header.Set("Connection", "Upgrade")
		r.Header.Set("Upgrade", "websocket")
	}
	if _, named := r.Header["User-Agent"]; !named {
		r.Header["User-Agent"] = []string{""} // or Go would name itself
	}
	r.Close = false
}

func cleanResponse(r *http.Response) {
	if r.StatusCode != http.StatusSwitchingProtocols {
		removeHopByHop(r.Header)
	}
	r.Header.Del("Alt-Svc") // it would invite Chromium to go another way
	r.Close = false
}

func removeHopByHop(h http.Header) {
	for _, list := range h["Connection"] {
		for name := range strings.SplitSeq(list, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hopByHop {
		h.Del(name)
	}
}

func isUpgrade(h http.Header) bool {
	return strings.EqualFold(h.Get("Upgrade"), "websocket") && strings.Contains(strings.ToLower(h.Get("Connection")), "upgrade")
}
