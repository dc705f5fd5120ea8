package mcpfront

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"

	"sallyport/gate"
)

type allowedResult struct {
	AllowedDomains []string `json:"allowed_domains"`
	Prompted       bool     `json:"prompted"`
}

func (c *connection) setAllowedDomains(ctx context.Context, request mcp.CallToolRequest) (any, error) {
	args, err := readArguments(request.Params.Arguments, "domains")
	if err != nil {
		return nil, err
	}
	entries, err := args.texts("domains")
	if err != nil {
		return nil, err
	}
	list, err := gate.ParseAllowlist(entries)
	if err != nil {
		return nil, err
	}
	prompted, err := c.ask(ctx, request, list)
	if err != nil {
		return nil, err
	}
	return allowedResult{list.Strings(), prompted}, nil
}

// ask waits for the person, but not past the end of input.
func (c *connection) ask(ctx context.Context, request mcp.CallToolRequest, list gate.Allowlist) (bool, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.asking, func() { cancel(context.Cause(c.asking)) })()
	defer c.progress(ctx, request, func() bool { return !c.Ledger.Allowlist(c.id).Equal(list) })()
	prompted, err := c.Browser.Ask(ctx, c.id, list)
	if c.asking.Err() != nil && err != nil {
		// The question may have been put after the session's were ended.
		c.Browser.EndQuestions(c.id)
		return false, context.Cause(c.asking)
	}
	return prompted, err
}

type pendingResult struct {
	AllowedDomains []string `json:"allowed_domains"`
	Pending        bool     `json:"pending"`
}

func (c *connection) getAllowedDomains(_ context.Context, request mcp.CallToolRequest) (any, error) {
	if _, err := readArguments(request.Params.Arguments); err != nil {
		return nil, err
	}
	return pendingResult{c.Ledger.Allowlist(c.id).Strings(), c.Browser.Pending(c.id)}, nil
}
