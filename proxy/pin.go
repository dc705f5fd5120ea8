package proxy

import (
	"fmt"
	"net/netip"
	"strings"

	"sallyport/gate"
)

// Pin leads a name, or every name under one, to a fixed address and port,
// whatever port the URL names.
type Pin struct {
	pattern gate.Pattern
	to      netip.AddrPort
}

// ParsePin reads "host=address:port" or "*.host=address:port".
func ParsePin(entry string) (Pin, error) {
	name, to, found := strings.Cut(entry, "=")
	if !found {
		return Pin{}, fmt.Errorf("%q is no pin; write \"host=address:port\"", entry)
	}
	at, err := netip.ParseAddrPort(to)
	if err != nil || at.Port() == 0 {
		return Pin{}, fmt.Errorf("%q pins to no address and port; write \"host=192.0.2.1:443\"", entry)
	}
	pattern, err := gate.ParsePattern(strings.TrimPrefix(name, "*."))
	if err != nil {
		return Pin{}, fmt.Errorf("%q pins no host: %w", entry, err)
	}
	if strings.HasPrefix(name, "*.") {
		// A pin approves nothing, so it may be wider than a pattern: "*.test".
		return Pin{pattern: gate.Below(pattern.Host()), to: at}, nil
	}
	return Pin{pattern: pattern, to: at}, nil
}

// String returns the entry in normal form.
func (p Pin) String() string { return p.pattern.String() + "=" + p.to.String() }

// pinned finds the pin of a host: an exact one before a wildcard, the nearest
// wildcard before one above it.
func pinned(pins []Pin, host gate.Host) (netip.AddrPort, bool) {
	best, found := Pin{}, false
	for _, p := range pins {
		if !p.pattern.Matches(host) {
			continue
		}
		if !p.pattern.Wildcard() {
			return p.to, true
		}
		if !found || len(p.pattern.Host()) > len(best.pattern.Host()) {
			best, found = p, true
		}
	}
	return best.to, found
}
