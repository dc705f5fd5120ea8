package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	"sallyport/gate"
)

// connectTimeout bounds one attempt to connect to one address.
const connectTimeout = 15 * time.Second

// dialer is the one way to the network: it resolves once, checks the address,
// and dials that very address.
type dialer struct {
	pins   []Pin
	ranges []netip.Prefix
	own    uint16 // our own port
}

// addressError refuses an address of the private network.
type addressError struct {
	host  string
	addr  netip.Addr
	class gate.Class
}

func (e *addressError) Error() string {
	return fmt.Sprintf("%s leads to %s, which is %s, and nobody approved that", e.host, e.addr, e.class)
}

// dial connects to "host:port". private says whether the request may reach
// addresses that are not public.
func (d *dialer) dial(ctx context.Context, addr string, private bool) (net.Conn, error) {
	name, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	port64, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, err
	}
	port := uint16(port64)
	host, _, err := gate.ParseHostPort("https", bracket(name))
	if err != nil {
		return nil, err
	}
	if to, ok := pinned(d.pins, host); ok {
		return d.connect(ctx, host, []netip.AddrPort{to})
	}
	addrs, err := resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	var open []netip.AddrPort
	var refused error
	for _, a := range addrs {
		if class := gate.Classify(a, d.ranges); class != gate.Public && !private {
			refused = &addressError{string(host), a, class}
			continue
		}
		open = append(open, netip.AddrPortFrom(a, port))
	}
	if len(open) == 0 {
		return nil, refused
	}
	return d.connect(ctx, host, open)
}

// connect tries the addresses in turn. Our own port is refused on every address
// of this machine, whoever approved it.
func (d *dialer) connect(ctx context.Context, host gate.Host, to []netip.AddrPort) (net.Conn, error) {
	var failures []error
	for _, at := range to {
		if at.Port() == d.own && ofThisMachine(at.Addr()) {
			return nil, &addressError{string(host), at.Addr(), gate.Reserved}
		}
		one := net.Dialer{Timeout: connectTimeout, KeepAlive: 30 * time.Second}
		c, err := one.DialContext(ctx, "tcp", at.String())
		if err == nil {
			return c, nil
		}
		failures = append(failures, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(failures...)
}

// dialUpstream connects to the upstream proxy, which the configuration names.
func (d *dialer) dialUpstream(ctx context.Context, network, addr string) (net.Conn, error) {
	one := net.Dialer{Timeout: connectTimeout}
	return one.DialContext(ctx, network, addr)
}

func (d *dialer) privateAddrs(ctx context.Context, host gate.Host) ([]netip.Addr, error) {
	if _, ok := pinned(d.pins, host); ok {
		return nil, nil
	}
	addrs, err := resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	var private []netip.Addr
	for _, a := range addrs {
		if gate.Classify(a, d.ranges) != gate.Public {
			private = append(private, a)
		}
	}
	return private, nil
}

// resolve looks a name up. localhost and what is under it never leave this
// machine (RFC 6761 6.3).
func resolve(ctx context.Context, host gate.Host) ([]netip.Addr, error) {
	if addr, literal := host.Addr(); literal {
		return []netip.Addr{addr}, nil
	}
	if host.IsLocalName() {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()}, nil
	}
	// The trailing dot keeps the machine's search domains out of it.
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", string(host)+".")
	if err != nil {
		return nil, err
	}
	for i, a := range addrs {
		addrs[i] = a.Unmap()
	}
	return addrs, nil
}

func ofThisMachine(addr netip.Addr) bool {
	if addr.IsLoopback() || addr.IsUnspecified() {
		return true
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return true // unknown is refused
	}
	for _, a := range own {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr() == addr {
			return true
		}
	}
	return false
}

func bracket(name string) string {
	if addr, err := netip.ParseAddr(name); err == nil && addr.Is6() {
		return "[" + name + "]"
	}
	return name
}
