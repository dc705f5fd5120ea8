package mcpfront

import (
	"context"
	"errors"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"sallyport/chrome"
	"sallyport/gate"
	"sallyport/ledger"
)

type navigateResult struct {
	Navigated     bool   `json:"navigated"`
	FinalURL      string `json:"final_url"`
	HTTPStatus    *int   `json:"http_status"`
	CommittedAtMS int64  `json:"committed_at_ms"`
}

func (c *connection) navigate(ctx context.Context, request mcp.CallToolRequest) (any, error) {
	args, err := readArguments(request.Params.Arguments, "tab_id", "url", "wait_for_load")
	if err != nil {
		return nil, err
	}
	id, err := args.text("tab_id")
	if err != nil {
		return nil, err
	}
	raw, err := args.text("url")
	if err != nil {
		return nil, err
	}
	wait, err := args.truth("wait_for_load", true)
	if err != nil {
		return nil, err
	}
	target, err := gate.ParseAgent(raw)
	if err != nil {
		return nil, err
	}
	tab := ledger.TabID(id)
	if err := c.lease(tab); err != nil {
		return nil, err
	}
	list := inflightFrom(ctx).list
	if _, covered := list.Covers(target.Host()); !covered {
		c.Ledger.NoteDenial(ledger.Denial{Tab: tab, URL: target.URL(), Host: target.Host(), Initiator: gate.Agent, Rule: gate.RuleNotCovered, At: time.Now()})
		return nil, &approvalError{raw, target, target, list}
	}
	if err := c.Browser.Ensure(ctx); err != nil {
		return nil, err
	}
	if err := c.checkLocal(ctx, request, target); err != nil {
		c.noteLocal(tab, target, err)
		return nil, err
	}
	c.use(tab)
	got, err := c.Browser.Navigate(ctx, chrome.NavigateRequest{Session: c.id, Tab: tab, Target: target, List: list, WaitForLoad: wait})
	var denied *chrome.DeniedError
	switch {
	case errors.As(err, &denied):
		return nil, &approvalError{raw, target, denied.Blocked, c.Ledger.Allowlist(c.id)}
	case err != nil:
		return nil, err
	}
	_ = c.lease(tab) // the call renews it when it ends too
	result := navigateResult{Navigated: true, FinalURL: got.FinalURL, CommittedAtMS: got.CommittedAt}
	if got.Status != 0 {
		result.HTTPStatus = &got.Status
	}
	return result, nil
}

// noteLocal records a refusal that came before there was a navigation.
func (c *connection) noteLocal(tab ledger.TabID, target gate.Target, err error) {
	var refused *chrome.NetError
	if !errors.As(err, &refused) {
		return
	}
	rule := ledger.RuleAddress
	if refused.Code == "net::ERR_DISALLOWED_URL_SCHEME" {
		rule = gate.RulePlainHTTP
	}
	c.Ledger.NoteDenial(ledger.Denial{Tab: tab, URL: target.URL(), Host: target.Host(), Initiator: gate.Agent, Rule: rule, At: time.Now()})
}

// checkLocal may ask the person, too.
func (c *connection) checkLocal(ctx context.Context, request mcp.CallToolRequest, target gate.Target) error {
	defer c.progress(ctx, request, func() bool { return c.Browser.Pending(c.id) })()
	return c.Browser.CheckLocal(ctx, c.id, target)
}
