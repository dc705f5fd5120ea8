package gate

import (
	"encoding/binary"
	"net/netip"
)

// Class tells addresses that anyone can reach from those of a private network.
type Class uint8

const (
	Public    Class = iota
	Loopback        // 127/8, ::1
	Private         // RFC 1918, unique-local, CGNAT, benchmark and other ranges of somebody's own
	LinkLocal       // 169.254/16, fe80::/10
	Metadata        // where clouds keep a machine's credentials
	Reserved        // unspecified, multicast, broadcast, documentation
)

var classNames = [...]string{"public", "loopback", "private", "link-local", "metadata", "reserved"}

func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return "unknown"
}

var metadata = []netip.Addr{
	netip.MustParseAddr("169.254.169.254"),
	netip.MustParseAddr("169.254.170.2"),
	netip.MustParseAddr("fd00:ec2::254"),
	netip.MustParseAddr("100.100.100.200"),
	netip.MustParseAddr("192.0.0.192"),
}

// private and reserved are of the IANA special-purpose registries; whatever is
// not globally reachable is somebody's own.
var private = prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "198.18.0.0/15", "192.0.0.0/24", "fc00::/7", "fec0::/10")

var reserved = prefixes("0.0.0.0/8", "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"::/128", "100::/64", "2001:db8::/32", "3fff::/20", "ff00::/8", "5f00::/16")

func prefixes(all ...string) []netip.Prefix {
	parsed := make([]netip.Prefix, len(all))
	for i, p := range all {
		parsed[i] = netip.MustParsePrefix(p)
	}
	return parsed
}

// Classify tells the class of addr. Mapped and translated forms (IPv4-mapped and
// -compatible, NAT64, 6to4, Teredo) have the class of the address inside. Ranges
// in public count as Public whatever they are.
func Classify(addr netip.Addr, public []netip.Prefix) Class {
	addr = embedded(addr.WithZone("").Unmap())
	if !addr.IsValid() {
		return Reserved
	}
	for _, known := range metadata {
		if addr == known {
			return Metadata
		}
	}
	switch {
	case contains(public, addr):
		return Public
	case addr.IsLoopback():
		return Loopback
	case addr.IsLinkLocalUnicast():
		return LinkLocal
	case contains(private, addr):
		return Private
	case contains(reserved, addr):
		return Reserved
	}
	return Public
}

func contains(all []netip.Prefix, addr netip.Addr) bool {
	for _, p := range all {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	nat64Local = netip.MustParsePrefix("64:ff9b:1::/48")
	sixToFour  = netip.MustParsePrefix("2002::/16")
	teredo     = netip.MustParsePrefix("2001::/32")
	compatible = netip.MustParsePrefix("::/96")
)

// embedded returns the IPv4 address that an IPv6 address leads to, or addr.
func embedded(addr netip.Addr) netip.Addr {
	if !addr.Is6() {
		return addr
	}
	b := addr.As16()
	last := netip.AddrFrom4([4]byte(b[12:]))
	switch {
	case nat64.Contains(addr), nat64Local.Contains(addr):
		return last
	case sixToFour.Contains(addr):
		return netip.AddrFrom4([4]byte(b[2:6]))
	case teredo.Contains(addr):
		// RFC 4380 4: the client's address stands there with its bits inverted.
		var inner [4]byte
		binary.BigEndian.PutUint32(inner[:], ^binary.BigEndian.Uint32(b[12:]))
		return netip.AddrFrom4(inner)
	case compatible.Contains(addr) && addr != netip.IPv6Loopback() && addr != netip.IPv6Unspecified():
		return last
	}
	return addr
}

// LocalSpelling reports whether h alone, without a look-up, says that it is not
// public: localhost, *.localhost, or a literal that is not of class Public.
func LocalSpelling(h Host, public []netip.Prefix) bool {
	if addr, literal := h.Addr(); literal {
		return Classify(addr, public) != Public
	}
	return h.IsLocalName()
}
