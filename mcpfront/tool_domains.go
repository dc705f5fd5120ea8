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
	stop := c.progress(ctx, request)
	prompted, err := c.Browser.Ask(ctx, c.id, list)
	stop()
	if err != nil {
		return nil, err
	}
	return allowedResult{list.Strings(), prompted}, nil
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
