package mcpfront

import (
	"context"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"

	"sallyport/chrome"
	"sallyport/gate"
	"sallyport/ledger"
)

// Codes of the seed, beside JSON-RPC's own.
const (
	codeApprovalRequired = -32010
	codeTabLeased        = -32011
)

// seedHint is the seed's own sentence; what would cover the host follows it.
const seedHint = "Call browser_set_allowed_domains with the domain, then retry."

// argumentError is a call that does not fit its tool.
type argumentError struct{ message string }

func (e *argumentError) Error() string { return e.message }

// approvalError is a URL whose host the list does not cover.
type approvalError struct {
	requested string // as the client spelled it
	target    gate.Target
	blocked   gate.Target
	list      gate.Allowlist
}

func (e *approvalError) Error() string { return "domain_approval_required" }

// unreadableError is a tab whose live document the list does not cover.
type unreadableError struct {
	*chrome.UnreadableError
	list gate.Allowlist
}

// details is the one table from an error to what the client is told. known is
// false for an error that nobody foresaw: the client learns no more of it.
func details(err error) (d mcp.JSONRPCErrorDetails, known bool) {
	make := mcp.NewJSONRPCErrorDetails
	var (
		argument    *argumentError
		approval    *approvalError
		unreadable  *unreadableError
		malformed   *gate.MalformedError
		pattern     *gate.PatternError
		list        *gate.ListError
		lease       *ledger.LeaseError
		network     *chrome.NetError
		disagree    *chrome.DisagreeError
		unavailable *chrome.UnavailableError
		start       *chrome.StartError
		cooldown    *chrome.CooldownError
	)
	switch {
	case errors.As(err, &argument), errors.As(err, &malformed), errors.As(err, &pattern), errors.As(err, &list):
		return make(mcp.INVALID_PARAMS, err.Error(), nil), true
	case errors.Is(err, chrome.ErrUnknownTab):
		return make(mcp.INVALID_PARAMS, "unknown tab_id; get one from browser_tab_list", nil), true
	case errors.Is(err, chrome.ErrUnknownRef):
		return make(mcp.INVALID_PARAMS, "ref: "+chrome.ErrUnknownRef.Error(), nil), true
	case errors.As(err, &unreadable):
		return make(codeApprovalRequired, "domain_approval_required", unreadable.data()), true
	case errors.As(err, &approval):
		return make(codeApprovalRequired, approval.Error(), approval.data()), true
	case errors.As(err, &lease):
		data := map[string]any{"tab_id": lease.Tab, "holder": lease.Holder}
		if lease.ExpiresIn > 0 {
			data["expires_in_ms"] = lease.ExpiresIn.Milliseconds()
		}
		return make(codeTabLeased, "tab_leased", data), true
	case errors.As(err, &network):
		return make(mcp.INTERNAL_ERROR, network.Detail, network.Code), true
	case errors.As(err, &disagree):
		return make(mcp.INTERNAL_ERROR, "gates_disagree", map[string]any{"url": disagree.URL, "proxy": disagree.Proxy, "fetch": disagree.Fetch}), true
	case errors.As(err, &unavailable):
		return make(mcp.INTERNAL_ERROR, "approval_unavailable", map[string]any{"hint": unavailable.Hint}), true
	case errors.As(err, &cooldown):
		return make(mcp.INTERNAL_ERROR, "prompt_cooldown", map[string]any{
			"retry_after_ms": cooldown.RetryAfter.Milliseconds() + 1,
			"hint":           "the person has declined several times; do without, or ask again later for less",
		}), true
	case errors.As(err, &start):
		return make(mcp.INTERNAL_ERROR, start.Error()+"; "+start.Hint, map[string]any{"hint": start.Hint}), true
	}
	return named(err)
}

// named is the part of the table for errors that are a name and no more.
func named(err error) (mcp.JSONRPCErrorDetails, bool) {
	make := mcp.NewJSONRPCErrorDetails
	unchanged := func(reason string) map[string]any {
		return map[string]any{"reason": reason, "allowlist": "unchanged", "hint": "the allowlist is as it was; ask again only if the task needs it"}
	}
	switch {
	case errors.Is(err, chrome.ErrDeclined):
		return make(mcp.INTERNAL_ERROR, "user_declined", unchanged("the person chose not to allow this, or closed the window")), true
	case errors.Is(err, chrome.ErrExpired):
		return make(mcp.INTERNAL_ERROR, "approval_expired", unchanged("the person did not answer in time")), true
	case errors.Is(err, chrome.ErrSessionEnded):
		return make(mcp.INTERNAL_ERROR, "session_ended", nil), true
	case errors.Is(err, chrome.ErrGone):
		return make(mcp.INTERNAL_ERROR, "browser_gone", map[string]any{"hint": "the browser ended; call browser_set_allowed_domains again, then browser_tab_list"}), true
	case errors.Is(err, context.DeadlineExceeded):
		return make(mcp.INTERNAL_ERROR, "it took too long; try again", nil), true
	}
	return make(mcp.INTERNAL_ERROR, "internal error", nil), false
}

// covering says what would cover a host.
func covering(host gate.Host) string {
	hint := seedHint + " "
	for i, pattern := range gate.Suggest(host) {
		if i > 0 {
			hint += " or "
		}
		hint += `"` + pattern + `"`
	}
	return hint + " would cover " + string(host) + ". Without the person's approval, leave it; don't look for detours."
}

func (e *unreadableError) data() map[string]any {
	host := e.At.Host()
	hint := e.Why
	if host != "" {
		hint = covering(host) + " " + hint
	}
	data := map[string]any{
		"requested_url":      e.URL,
		"registrable_domain": host.RegistrableDomain(),
		"hint":               hint,
		"host":               host,
		"allowed_domains":    e.list.Strings(),
	}
	if e.URL == "" {
		data["requested_url"] = nil
	}
	return data
}

func (e *approvalError) data() map[string]any {
	host := e.blocked.Host()
	hint := covering(host)
	data := map[string]any{
		"requested_url":      e.requested,
		"registrable_domain": host.RegistrableDomain(),
		"hint":               hint,
		"host":               host,
		"allowed_domains":    e.list.Strings(),
	}
	if !e.blocked.Same(e.target) {
		data["blocked_url"] = e.blocked.URL()
	}
	return data
}
