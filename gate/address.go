package gate

import "net/netip"

// Class tells addresses that anyone can reach from those of a private network.
type Class uint8

const (
	Public Class = iota
	Loopback
	Private   // RFC 1918, unique-local, CGNAT 100.64/10, benchmark 198.18/15, and other ranges that are not global
	LinkLocal // 169.254/16, fe80::/10
	Metadata  // cloud metadata: 169.254.169.254, fd00:ec2::254, 100.100.100.200, ...
	Reserved  // unspecified, multicast, broadcast, documentation, ...
)

func (c Class) String() string { panic("todo") } // lower-case word

// Classify tells the class of addr. Mapped and translated forms (::ffff:0:0/96,
// 64:ff9b::/96, 64:ff9b:1::/48, 2002::/16, Teredo) have the class of the address
// inside. Ranges in public count as Public whatever they are.
func Classify(addr netip.Addr, public []netip.Prefix) Class { panic("todo") }

// LocalSpelling reports whether h alone, without a look-up, says that it is not
// public: localhost, *.localhost, or a literal that is not of class Public.
func LocalSpelling(h Host, public []netip.Prefix) bool { panic("todo") }
