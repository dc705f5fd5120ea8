package gate

import "net/netip"

// Host is a host in normal form: lower-case ASCII without a trailing dot, or an
// IP literal in canonical form (IPv6 without brackets, IPv4-mapped IPv6
// as IPv4). The zero Host is no host. Only this package makes Hosts.
type Host string

// Addr returns the address that an IP literal names.
func (h Host) Addr() (netip.Addr, bool) { panic("todo") }

// IsLocalName reports whether h is localhost or below it.
func (h Host) IsLocalName() bool { panic("todo") }

// Unicode returns h as a person reads it, which is h itself unless it holds
// punycode labels.
func (h Host) Unicode() string { panic("todo") }

// RegistrableDomain returns the eTLD+1 of h, or h itself for an IP literal and
// for a name without one. It informs only; matching is on the host.
func (h Host) RegistrableDomain() string { panic("todo") }

// Target is an http or https URL in canonical form. The zero Target is none.
// It never holds userinfo. Targets are comparable with Same.
type Target struct {
	url     string // canonical, with fragment, without userinfo
	request int    // len of url without the fragment
	scheme  string
	host    Host
	port    uint16
}

// Parse reads a URL as Chromium does. Errors are *MalformedError.
func Parse(raw string) (Target, error) { panic("todo") }

// ParseAgent is Parse for what an agent hands in: it also refuses whatever a
// careful caller would not write (CONTRACT: no scheme, other schemes, no host,
// control characters, backslash, leading or trailing space, userinfo, over
// 8 KiB, a host Chromium would not accept). Errors are *MalformedError.
func ParseAgent(raw string) (Target, error) { panic("todo") }

// ParseHostPort reads the authority of a CONNECT request, or a Host header;
// scheme gives the port when there is none.
func ParseHostPort(scheme, authority string) (Host, uint16, error) { panic("todo") }

func (t Target) URL() string     { return t.url }             // with fragment
func (t Target) Request() string { return t.url[:t.request] } // without: what travels on the wire
func (t Target) Scheme() string  { return t.scheme }
func (t Target) Host() Host      { return t.host }
func (t Target) Port() uint16    { return t.port }
func (t Target) IsZero() bool    { return t.url == "" }

// Same reports whether both are the same request (fragments don't count).
func (t Target) Same(u Target) bool { return t.Request() == u.Request() }

// Redact returns any URL or text made of one, fit for logs: no userinfo, no
// query values, no fragment. Of what does not parse it keeps the scheme only.
func Redact(raw string) string { panic("todo") }

// MalformedError says why a URL is no target.
type MalformedError struct {
	URL    string // redacted
	Reason string // which rule, in words: "it has no scheme; begin it with https://"
}

func (e *MalformedError) Error() string { return "url is malformed: " + e.Reason }
