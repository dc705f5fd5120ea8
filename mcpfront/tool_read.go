package mcpfront

import (
	"context"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"

	"sallyport/chrome"
	"sallyport/ledger"
)

// Bounds of what the reading tools return, in characters.
const (
	usualChars = 20_000
	mostChars  = 200_000
)

type pageTextResult struct {
	URL        string `json:"url"`
	Title      string `json:"title"`
	Text       string `json:"text"`
	TotalChars int    `json:"total_chars"`
	NextOffset *int   `json:"next_offset"`
}

func (c *connection) pageText(ctx context.Context, request mcp.CallToolRequest) (any, error) {
	args, r, err := c.readCall(ctx, request, "offset", "max_chars")
	if err != nil {
		return nil, err
	}
	offset, err := args.number("offset", 0, 0, 1<<30)
	if err != nil {
		return nil, err
	}
	most, err := args.number("max_chars", usualChars, 1, mostChars)
	if err != nil {
		return nil, err
	}
	got, err := c.Browser.ReadText(ctx, r, offset, most)
	if err != nil {
		return nil, c.readError(err)
	}
	result := pageTextResult{URL: got.URL, Title: got.Title, Text: got.Text, TotalChars: got.Total}
	if got.Next > 0 {
		result.NextOffset = &got.Next
	}
	return result, nil
}

type snapshotResult struct {
	URL       string `json:"url"`
	Title     string `json:"title"`
	Snapshot  string `json:"snapshot"`
	Truncated bool   `json:"truncated"`
}

func (c *connection) snapshot(ctx context.Context, request mcp.CallToolRequest) (any, error) {
	args, r, err := c.readCall(ctx, request, "max_chars")
	if err != nil {
		return nil, err
	}
	most, err := args.number("max_chars", usualChars, 1, mostChars)
	if err != nil {
		return nil, err
	}
	got, err := c.Browser.ReadSnapshot(ctx, r, most)
	if err != nil {
		return nil, c.readError(err)
	}
	return snapshotResult{got.URL, got.Title, got.Text, got.Truncated}, nil
}

// readCall is what all the reading tools begin with.
func (c *connection) readCall(ctx context.Context, request mcp.CallToolRequest, names ...string) (arguments, chrome.ReadRequest, error) {
	var r chrome.ReadRequest
	args, err := readArguments(request.Params.Arguments, append([]string{"tab_id"}, names...)...)
	if err != nil {
		return nil, r, err
	}
	id, err := args.text("tab_id")
	if err != nil {
		return nil, r, err
	}
	tab := ledger.TabID(id)
	if err := c.lease(tab); err != nil {
		return nil, r, err
	}
	c.use(tab)
	return args, chrome.ReadRequest{Session: c.id, Tab: tab}, nil
}

// readError gives the session's list to what the client is told.
func (c *connection) readError(err error) error {
	var unreadable *chrome.UnreadableError
	if errors.As(err, &unreadable) {
		return &unreadableError{unreadable, c.Ledger.Allowlist(c.id)}
	}
	return err
}
