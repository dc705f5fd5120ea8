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
	c.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/message", "params": map[string]any{
		"level":  "warning",
		"logger": "sallyport",
		"data":   map[string]any{"event": "navigation_refused", "tab_id": d.Tab, "url": d.URL, "host": d.Host, "initiator": d.Initiator},
	}})
}

// progress tells a client that asked for it that the person still thinks, until
// the function that it returns is called; nothing is sent after that.
func (c *connection) progress(ctx context.Context, request mcp.CallToolRequest) (stop func()) {
	if request.Params.Meta == nil || request.Params.Meta.ProgressToken == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(c.Progress)
		defer tick.Stop()
		for n := 1; ctx.Err() == nil; n++ {
			c.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/progress", "params": map[string]any{
				"progressToken": request.Params.Meta.ProgressToken,
				"progress":      n,
				"message":       "waiting for the person to answer the approval window",
			}})
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	}()
	return func() { cancel(); <-stopped }
}
