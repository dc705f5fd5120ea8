package gate

import (
	"net/netip"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// Host is a host in normal form: lower-case ASCII without a trailing dot, or an
// IP literal in canonical form (IPv6 without brackets, IPv4-mapped IPv6
// as IPv4). The zero Host is no host. Only this package makes Hosts.
type Host string

const (
	maxName  = 253 // RFC 1035 2.3.4, without the root's dot
	maxLabel = 63
)

// hostOf normalises what the URL parser found.
func hostOf(parsed string) (Host, bool) {
	if inner, ok := strings.CutPrefix(parsed, "["); ok {
		addr, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		if err != nil || addr.Zone() != "" {
			return "", false
		}
		return Host(addr.Unmap().String()), true
	}
	name := strings.TrimSuffix(parsed, ".")
	if !validName(name) {
		return "", false
	}
	return Host(name), true
}

// validName reports whether Chromium would take the name and a resolver could.
// Chromium percent-encodes other characters, and nothing is named so.
func validName(name string) bool {
	if name == "" || len(name) > maxName {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > maxLabel {
			return false
		}
		for i := range len(label) {
			c := label[i]
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
	}
	return true
}

// Addr returns the address that an IP literal names.
func (h Host) Addr() (netip.Addr, bool) {
	// A name never starts with a digit in its last label, nor holds a colon: spare
	// the parser what can't be an address.
	if h == "" || !strings.ContainsRune(string(h), ':') && (h[len(h)-1] < '0' || h[len(h)-1] > '9') {
		return netip.Addr{}, false
	}
	addr, err := netip.ParseAddr(string(h))
	return addr, err == nil
}

// IsLocalName reports whether h is localhost or below it.
func (h Host) IsLocalName() bool {
	return h == "localhost" || strings.HasSuffix(string(h), ".localhost")
}

// Unicode returns h as a person reads it, which is h itself unless it holds
// punycode labels.
func (h Host) Unicode() string {
	if !strings.Contains(string(h), "xn--") {
		return string(h)
	}
	shown, err := idna.Display.ToUnicode(string(h))
	if err != nil {
		return string(h)
	}
	return shown
}

// RegistrableDomain returns the eTLD+1 of h, or h itself for an IP literal and
// for a name without one. It informs only; matching is on the host.
func (h Host) RegistrableDomain() string {
	if _, literal := h.Addr(); literal {
		return string(h)
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(string(h))
	if err != nil {
		return string(h)
	}
	return domain
}
