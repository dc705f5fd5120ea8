package mcpfront

import (
	"context"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"sallyport/ledger"
)

// refused tells the client of a refusal in one of its tabs.
func (c *connection) refused(d ledger.Denial) {
	if !c.session.Initialized() || !mcp.LoggingLevelWarning.ShouldSendTo(c.session.GetLogLevel()) {
		return
	}
	err := c.out.post(map[string]any{"jsonrpc": "2.0", "method": "notifications/message", "params": map[string]any{
		"level":  "warning",
		"logger": "sallyport",
		"data":   map[string]any{"event": "navigation_refused", "tab_id": d.Tab, "url": d.URL, "host": d.Host, "initiator": d.Initiator},
	}})
	if err != nil {
		c.Log.Warn("telling the client of a refusal", "tab", d.Tab, "error", err)
	}
}

// progress tells a client that asked for it that the person still thinks: at once
// and then again and again, as often as waiting says so, until the function that
// it returns is called. Nothing is sent after that.
func (c *connection) progress(ctx context.Context, request mcp.CallToolRequest, waiting func() bool) (stop func()) {
	if request.Params.Meta == nil || request.Params.Meta.ProgressToken == nil {
		return func() {}
	}
	sent := 0
	tell := func() {
		if ctx.Err() != nil || !waiting() {
			return
		}
		sent++
		c.write(map[string]any{"jsonrpc": "2.0", "method": "notifications/progress", "params": map[string]any{
			"progressToken": request.Params.Meta.ProgressToken,
			"progress":      sent,
			"message":       "waiting for the person to answer the approval window",
		}})
	}
	tell()
	ctx, cancel := context.WithCancel(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(c.Progress)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				tell()
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-stopped }
}
