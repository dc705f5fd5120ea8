package chrome

import "net/netip"

func addrs(all ...string) []netip.Addr {
	parsed := make([]netip.Addr, len(all))
	for i, a := range all {
		parsed[i] = netip.MustParseAddr(a)
	}
	return parsed
}
