package gate

import "strings"

// unreadable stands for what no parser could take apart safely.
const unreadable = "(unreadable URL)"

// Redact returns a URL fit for logs and errors: no userinfo, no query, no
// fragment. Of what is not http or https it keeps the scheme only, since the rest
// may be anything.
func Redact(raw string) string {
	u, err := parser.Parse(raw)
	if err != nil {
		return unreadable
	}
	if scheme := u.Scheme(); scheme != "http" && scheme != "https" {
		if raw == "about:blank" {
			return raw
		}
		return scheme + ":…"
	}
	u.SetUsername("")
	u.SetPassword("")
	shown := u.Href(true)
	if before, _, found := strings.Cut(shown, "?"); found {
		return before + "?…"
	}
	return shown
}
