package gate

import (
	"strconv"
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// Target is an http or https URL in canonical form. The zero Target is none.
// It never holds userinfo. Compare Targets with Same.
type Target struct {
	url     string // canonical, with fragment, without userinfo
	request int    // length of url without the fragment
	scheme  string
	host    Host
	port    uint16
}

// maxURL is the longest URL an agent may hand in, in bytes.
const maxURL = 8 << 10

// parser is safe for concurrent use: it keeps nothing between calls.
var parser = whatwg.NewParser(whatwg.WithPreParseHostFunc(sound),
	// Chromium escapes these two besides; spelled otherwise, its request would not be
	// known for the one that was asked for.
	whatwg.WithPathPercentEncodeSet(whatwg.PathPercentEncodeSet.Set('^', '|')))

// Parse reads a URL as Chromium does. Errors are *MalformedError.
func Parse(raw string) (Target, error) {
	u, err := parser.Parse(raw)
	if err != nil {
		return Target{}, malformed(raw, "Chromium would not accept it; check the host and the port")
	}
	scheme := u.Scheme()
	if scheme != "http" && scheme != "https" {
		return Target{}, malformed(raw, "its scheme is "+strconv.Quote(scheme)+"; only https:// and http:// can be opened")
	}
	host, ok := hostOf(u.Hostname())
	if !ok {
		return Target{}, malformed(raw, "its host is not a valid name or address")
	}
	if u.Port() == "0" {
		return Target{}, malformed(raw, "nothing listens on port 0") // the parser reads it as the scheme's own
	}
	u.SetUsername("")
	u.SetPassword("")
	return Target{
		url:     u.Href(false),
		request: len(u.Href(true)),
		scheme:  scheme,
		host:    host,
		port:    uint16(u.DecodedPort()),
	}, nil
}

// ParseAgent is Parse for what an agent hands in: it also refuses whatever a
// careful caller would not write, and drops the root's dot after a name, which
// means the same host and which Go's TLS takes from no client. Errors are
// *MalformedError.
func ParseAgent(raw string) (Target, error) {
	if reason := careless(raw); reason != "" {
		return Target{}, malformed(raw, reason)
	}
	t, err := Parse(raw)
	if err != nil {
		return t, err
	}
	name := t.scheme + "://" + string(t.host)
	rest, dotted := strings.CutPrefix(t.url, name+".")
	if !dotted {
		return t, nil
	}
	return Parse(name + rest)
}

// careless names what is wrong with the spelling of a URL; "" when nothing is.
func careless(raw string) string {
	if len(raw) > maxURL {
		return "it is longer than 8 KiB"
	}
	if raw == "" {
		return "it is empty; write it in full, such as https://example.com/"
	}
	if strings.TrimSpace(raw) != raw {
		return "it begins or ends with a space; remove it"
	}
	for _, r := range raw {
		switch {
		case r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0:
			return "it holds a control character; remove it"
		case r == '\\':
			return "it holds a backslash; write / instead"
		}
	}
	return carelessAuthority(raw)
}

func carelessAuthority(raw string) string {
	scheme, rest, found := strings.Cut(raw, ":")
	if !found || scheme == "" || strings.ContainsAny(scheme, "/?#") {
		return "it has no scheme; begin it with https://"
	}
	if !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return "its scheme is " + strconv.Quote(scheme) + "; only https:// and http:// can be opened"
	}
	authority, ok := strings.CutPrefix(rest, "//")
	if !ok {
		return "it lacks // after the scheme; write " + strings.ToLower(scheme) + "://"
	}
	if end := strings.IndexAny(authority, "/?#"); end >= 0 {
		authority = authority[:end]
	}
	switch {
	case strings.Contains(authority, "@"):
		return "it holds a user name or password before the host; remove them"
	case authority == "" || strings.HasPrefix(authority, ":"):
		return "it has no host"
	}
	return ""
}

// ParseHostPort reads the authority of a CONNECT request, or a Host header;
// scheme gives the port when there is none.
func ParseHostPort(scheme, authority string) (Host, uint16, error) {
	if strings.ContainsAny(authority, "/?#@\\") {
		return "", 0, malformed(authority, "it is no host and port")
	}
	t, err := Parse(scheme + "://" + authority + "/")
	if err != nil {
		return "", 0, err
	}
	return t.host, t.port, nil
}

// URL returns the canonical form, with the fragment.
func (t Target) URL() string { return t.url }

// Request returns the canonical form without the fragment: what travels.
func (t Target) Request() string { return t.url[:t.request] }

// Scheme returns "http" or "https".
func (t Target) Scheme() string { return t.scheme }

// Host returns the host in normal form.
func (t Target) Host() Host { return t.host }

// Port returns the port, the scheme's own when the URL names none.
func (t Target) Port() uint16 { return t.port }

// Sendable returns t with the percent signs of its path that begin no escape
// written as escapes, which is what they mean: net/http takes no such path, from a
// client or to a server, and Chromium sends them as they are.
func (t Target) Sendable() Target {
	path, rest := t.url, ""
	if i := strings.IndexAny(t.url, "?#"); i >= 0 {
		path, rest = t.url[:i], t.url[i:]
	}
	if !strings.Contains(path, "%") {
		return t
	}
	var out strings.Builder
	for i := range len(path) {
		out.WriteByte(path[i])
		if path[i] == '%' && (i+2 >= len(path) || !isHex(path[i+1]) || !isHex(path[i+2])) {
			out.WriteString("25")
		}
	}
	out.WriteString(rest)
	sendable, err := Parse(out.String())
	if err != nil {
		return t
	}
	return sendable
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// IsZero reports whether t is no target.
func (t Target) IsZero() bool { return t.url == "" }

// Same reports whether both are the same request (fragments don't count).
func (t Target) Same(u Target) bool { return t.Request() == u.Request() }

// MalformedError says why a URL is no target.
type MalformedError struct {
	URL    string // redacted
	Reason string // which rule, in words
}

func (e *MalformedError) Error() string { return "url is malformed: " + e.Reason }

func malformed(raw, reason string) error {
	return &MalformedError{URL: Redact(raw), Reason: reason}
}
