package mcpfront

import (
	"context"
	"encoding/base64"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"sallyport/chrome"
)

type screenshotResult struct {
	URL       string `json:"url"`
	Title     string `json:"title"`
	Width     int    `json:"width"`
	Height    int    `json:"height"`
	Covered   int    `json:"painted_over"`
	Truncated bool   `json:"truncated"`

	image mcp.ImageContent
}

// block is the picture itself.
func (r screenshotResult) block() mcp.Content { return r.image }

func (c *connection) screenshot(ctx context.Context, request mcp.CallToolRequest) (any, error) {
	args, r, err := c.readCall(ctx, request, "full_page", "ref", "format", "max_width")
	if err != nil {
		return nil, err
	}
	p, err := readPicture(args)
	if err != nil {
		return nil, err
	}
	got, err := c.Browser.Screenshot(ctx, r, p)
	if err != nil {
		return nil, c.readError(err)
	}
	return screenshotResult{
		URL: got.URL, Title: got.Title, Width: got.Width, Height: got.Height, Covered: got.Covered, Truncated: got.Truncated,
		image: mcp.NewImageContent(base64.StdEncoding.EncodeToString(got.Data), got.Type),
	}, nil
}

func readPicture(args arguments) (p chrome.PictureRequest, err error) {
	if p.FullPage, err = args.truth("full_page", false); err != nil {
		return p, err
	}
	if p.Ref, err = args.textOr("ref", ""); err != nil {
		return p, err
	}
	if p.FullPage && p.Ref != "" {
		return p, &argumentError{"ref: can't be given with full_page; leave one out"}
	}
	format, err := args.choice("format", "png", "jpeg")
	if err != nil {
		return p, err
	}
	p.JPEG = format == "jpeg"
	p.MaxWidth, err = args.number("max_width", 0, 16, 4096)
	return p, err
}

type waitResult struct {
	Found bool   `json:"found"`
	URL   string `json:"url"`
}

// Bounds of browser_wait_for.
const (
	usualWait = 10_000 // milliseconds
	mostWait  = 30_000
)

func (c *connection) waitFor(ctx context.Context, request mcp.CallToolRequest) (any, error) {
	args, r, err := c.readCall(ctx, request, "text", "text_gone", "load_state", "timeout_ms")
	if err != nil {
		return nil, err
	}
	awaited, most, err := readAwaited(args)
	if err != nil {
		return nil, err
	}
	got, err := c.Browser.WaitFor(ctx, r, awaited, most)
	if err != nil {
		return nil, c.readError(err)
	}
	_ = c.lease(r.Tab) // the call renews it when it ends too
	return waitResult{got.Found, got.URL}, nil
}

func readAwaited(args arguments) (a chrome.Awaited, most time.Duration, err error) {
	if a.Text, err = args.textOr("text", ""); err != nil {
		return a, 0, err
	}
	if a.Gone, err = args.textOr("text_gone", ""); err != nil {
		return a, 0, err
	}
	if a.State, err = args.choice("load_state", "", "domcontentloaded", "load"); err != nil {
		return a, 0, err
	}
	if a == (chrome.Awaited{}) {
		return a, 0, &argumentError{"text: is missing; give text, text_gone or load_state"}
	}
	ms, err := args.number("timeout_ms", usualWait, 0, mostWait)
	return a, time.Duration(ms) * time.Millisecond, err
}
