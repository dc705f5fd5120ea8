package proxy

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/elazarl/goproxy"

	"sallyport/certs"
	"sallyport/gate"
	"sallyport/ledger"
)

// Ledger is what the proxy needs of the ledger.
type Ledger interface {
	Armed() bool
	Redeem(ledger.Ticket, ledger.Wire) (ledger.Redemption, error)
	Delivered(ledger.Ticket, int)
	Witness(ledger.HopID, ledger.Layer, ledger.Evidence)
	NoteStray(ledger.Wire)
	LocalReachable(host gate.Host, port uint16, fromHost gate.Host, fromPort uint16) bool
}

// Config is what a Proxy needs.
type Config struct {
	Ledger    Ledger
	Authority *certs.Authority
	// Pins lead names to fixed addresses, which then count as public.
	Pins []Pin
	// PublicRanges count as public whatever they are.
	PublicRanges []netip.Prefix
	// Upstream is an HTTP proxy to send everything through. Nil is none; the
	// environment is not read.
	Upstream *url.URL
	// ExtraRoots are PEM files' contents, trusted beside the system's roots.
	ExtraRoots [][]byte
	Log        *slog.Logger // nil discards
	// Decide is the policy. Nil means gate.Decide; tests open this gate with it, to
	// see that the other holds alone.
	Decide func(gate.Query) gate.Decision
}

// Proxy is gate one. New, then Serve.
type Proxy struct {
	ledger   Ledger
	log      *slog.Logger
	ranges   []netip.Prefix
	listener *listener
	dialer   *dialer
	server   *http.Server
	upstream *url.URL
	decide   func(gate.Query) gate.Decision
	public   *http.Transport // dials public addresses only
	private  *http.Transport // for requests that may reach private ones
}

// New binds a free port of loopback.
func New(c Config) (*Proxy, error) {
	if c.Ledger == nil || c.Authority == nil {
		return nil, errors.New("proxy: Ledger and Authority are needed")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Decide == nil {
		c.Decide = gate.Decide
	}
	roots, err := rootPool(c.ExtraRoots)
	if err != nil {
		return nil, err
	}
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("binding the proxy's port: %w", err)
	}
	p := &Proxy{
		ledger:   c.Ledger,
		log:      c.Log,
		ranges:   c.PublicRanges,
		listener: newListener(inner),
		upstream: c.Upstream,
		decide:   c.Decide,
	}
	own := inner.Addr().(*net.TCPAddr).AddrPort().Port()
	p.dialer = &dialer{pins: c.Pins, ranges: c.PublicRanges, own: own}
	p.public = newTransport(p.dialer, false, c.Upstream, roots)
	p.private = newTransport(p.dialer, true, c.Upstream, roots)
	p.server = &http.Server{
		Handler:           flushing(p.handler(c.Authority)),
		ReadHeaderTimeout: 30 * time.Second,
		ErrorLog:          slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
	}
	if c.Upstream != nil {
		c.Log.Warn("the upstream proxy resolves names: private addresses are told by their spelling only", "upstream", c.Upstream.Host)
	}
	return p, nil
}

func rootPool(extra [][]byte) (*x509.CertPool, error) {
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("reading the system's roots: %w", err)
	}
	for _, pem := range extra {
		if !roots.AppendCertsFromPEM(pem) {
			return nil, errors.New("proxy.extra_roots: a file holds no certificate")
		}
	}
	return roots, nil
}

// handler builds goproxy around this gate. Of goproxy's defaults none is kept
// that reads the environment, trusts anybody, or tunnels blindly.
func (p *Proxy) handler(a *certs.Authority) http.Handler {
	g := goproxy.NewProxyHttpServer()
	g.Tr = p.public
	g.ConnectDial = nil
	g.KeepAcceptEncoding = true
	g.KeepDestinationHeaders = true
	g.AllowHTTP2 = true
	g.Logger = printfLogger{p.log}
	g.NonproxyHandler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "This is Sallyport's proxy. It answers its own browser only.", http.StatusBadRequest)
	})
	// The one handler for every CONNECT: without an action goproxy would tunnel.
	g.OnRequest().HandleConnectFunc(func(authority string, ctx *goproxy.ProxyCtx) (*goproxy.ConnectAction, string) {
		return p.connect(a, authority, ctx)
	})
	g.OnRequest().DoFunc(p.receive)
	return g
}

// printfLogger brings goproxy's lines to the log.
type printfLogger struct{ log *slog.Logger }

func (l printfLogger) Printf(format string, args ...any) {
	l.log.Debug("goproxy says", "text", fmt.Sprintf(format, args...))
}

// Addr returns the address that Chromium is told to use.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Serve answers until ctx ends. Then it closes every connection, tunnels too,
// which http.Server would leave open.
func (p *Proxy) Serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		p.server.Close()
		p.listener.closeAll()
	})
	defer stop()
	err := p.server.Serve(p.listener)
	p.listener.closeAll()
	p.public.CloseIdleConnections()
	p.private.CloseIdleConnections()
	if ctx.Err() != nil || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serving the proxy: %w", err)
}

// Close releases the port of a Proxy that is not served.
func (p *Proxy) Close() error {
	p.listener.closeAll()
	return p.listener.Close()
}

// PrivateAddrs resolves a name that is covered already and returns those of its
// addresses that are not public: none for a pinned name, and none where an
// upstream proxy resolves.
func (p *Proxy) PrivateAddrs(ctx context.Context, host gate.Host) ([]netip.Addr, error) {
	if p.upstream != nil {
		return nil, nil
	}
	return p.dialer.privateAddrs(ctx, host)
}
