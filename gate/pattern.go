package gate

import (
	"net/netip"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/publicsuffix"
)

// Pattern is one entry of an allowlist: an exact host, "*.host", or an IP
// literal. Patterns are comparable. The zero Pattern matches nothing.
type Pattern struct {
	host     Host
	wildcard bool
}

// ParsePattern reads one entry. Errors are *PatternError.
func ParsePattern(entry string) (Pattern, error) {
	if reason := misspelt(entry); reason != "" {
		return Pattern{}, &PatternError{entry, reason}
	}
	name, wildcard := strings.CutPrefix(entry, "*.")
	if strings.Contains(name, "*") {
		return Pattern{}, &PatternError{entry, `has a * that does not stand alone in front; write "*.example.com"`}
	}
	// A bare IPv6 literal is what people write; the URL parser wants brackets.
	authority := name
	if addr, err := netip.ParseAddr(name); err == nil && addr.Is6() {
		authority = "[" + name + "]"
	}
	host, _, err := ParseHostPort("https", authority)
	if err != nil {
		return Pattern{}, &PatternError{entry, `is not a valid host; write "example.com", "*.example.com" or an IP address`}
	}
	p := Pattern{host, wildcard}
	if wildcard {
		if reason := tooWide(host); reason != "" {
			return Pattern{}, &PatternError{entry, reason}
		}
	}
	return p, nil
}

// misspelt names what makes an entry something else than a host.
func misspelt(entry string) string {
	switch {
	case entry == "":
		return `is empty; write a host such as "example.com"`
	case entry == "*", entry == "*.":
		return `would cover everything; name the hosts, such as "example.com" or "*.example.com"`
	case strings.ContainsFunc(entry, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return `holds a space or a control character; write "example.com"`
	case strings.Contains(entry, "://"):
		_, rest, _ := strings.Cut(entry, "://")
		return "has a scheme; write " + bareHost(rest)
	case strings.Contains(entry, "@"):
		return "has a user name; write " + bareHost(entry[strings.LastIndex(entry, "@")+1:])
	case strings.ContainsAny(entry, "/?#\\"):
		return "has a path; write " + bareHost(entry)
	case strings.ContainsRune(entry, '%'):
		return `is percent-encoded; write "example.com"`
	case hasPort(entry):
		return "has a port, and every port of a host is covered; write " + bareHost(entry)
	}
	return ""
}

// hasPort tells "good.test:443" and "[::1]:443" from a bare IPv6 literal.
func hasPort(entry string) bool {
	if _, err := netip.ParseAddr(strings.Trim(entry, "[]")); err == nil {
		return false
	}
	return strings.Contains(entry, ":")
}

// bareHost suggests the entry that was meant. It must not ask ParsePattern, which
// asks it: what an agent sends would then decide how deep the two go.
func bareHost(rest string) string {
	rest = rest[strings.LastIndex(rest, "@")+1:]
	if end := strings.IndexAny(rest, "/?#\\"); end >= 0 {
		rest = rest[:end]
	}
	if colon := strings.LastIndex(rest, ":"); colon >= 0 && !strings.HasSuffix(rest, "]") {
		rest = rest[:colon]
	}
	name, wildcard := strings.CutPrefix(rest, "*.")
	host, _, err := ParseHostPort("https", name)
	if err != nil {
		return `"example.com"`
	}
	return strconv.Quote(Pattern{host, wildcard}.String())
}

// tooWide says why a wildcard on h is refused; "" when it is not.
func tooWide(h Host) string {
	if _, literal := h.Addr(); literal {
		return "is a wildcard on an IP address; name the addresses one by one"
	}
	suffix, icann := publicsuffix.PublicSuffix(string(h))
	if suffix != string(h) || h == "localhost" {
		return ""
	}
	if icann || !strings.Contains(suffix, ".") {
		return "would cover every site under " + suffix + `; name the site, such as "*.example.` + suffix + `"`
	}
	return ""
}

// String returns the normal form; an IPv6 literal stands in brackets.
func (p Pattern) String() string {
	name := string(p.host)
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	if p.wildcard {
		return "*." + name
	}
	return name
}

// Host returns the host, without the "*.".
func (p Pattern) Host() Host { return p.host }

// Wildcard reports whether the pattern covers the names below its host.
func (p Pattern) Wildcard() bool { return p.wildcard }

// Unicode returns String as a person reads it.
func (p Pattern) Unicode() string {
	if p.wildcard {
		return "*." + p.host.Unicode()
	}
	if strings.Contains(string(p.host), ":") {
		return p.String()
	}
	return p.host.Unicode()
}

// Covers says in plain words what the pattern covers.
func (p Pattern) Covers() string {
	switch _, literal := p.host.Addr(); {
	case p.host == "":
		return "nothing"
	case p.wildcard:
		return "all names under " + p.host.Unicode() + ", but not itself"
	case literal:
		return "this address only"
	}
	return "this name only, none under it"
}

// Matches reports whether the pattern covers h.
func (p Pattern) Matches(h Host) bool {
	if p.host == "" || h == "" {
		return false
	}
	if !p.wildcard {
		return h == p.host
	}
	below, ok := strings.CutSuffix(string(h), string(p.host))
	return ok && len(below) > 1 && below[len(below)-1] == '.'
}

// Local reports whether the pattern names this machine or a private network by
// its spelling alone.
func (p Pattern) Local() bool { return LocalSpelling(p.host, nil) }

// SharedSuffix reports whether a wildcard stands directly on a private public
// suffix (*.github.io), where strangers can have names; and the suffix.
func (p Pattern) SharedSuffix() (string, bool) {
	if !p.wildcard {
		return "", false
	}
	suffix, icann := publicsuffix.PublicSuffix(string(p.host))
	if icann || suffix != string(p.host) || !strings.Contains(suffix, ".") {
		return "", false
	}
	return suffix, true
}

// PatternError says what is wrong with an entry and the form it should have.
type PatternError struct {
	Entry  string
	Reason string
}

func (e *PatternError) Error() string { return "domains: " + strconv.Quote(e.Entry) + " " + e.Reason }

// Below returns the wildcard on h without asking whether a person could judge
// it: for settings that approve nothing.
func Below(h Host) Pattern { return Pattern{host: h, wildcard: true} }
