package mcpfront

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"

	"sallyport/chrome"
	"sallyport/gate"
	"sallyport/ledger"
)

type tabListResult struct {
	Tabs []tabRow `json:"tabs"`
}

type tabRow struct {
	TabID      ledger.TabID `json:"tab_id"`
	Title      *string      `json:"title"`
	URL        *string      `json:"url"`
	Active     bool         `json:"active"`
	Owner      string       `json:"owner"`
	Lease      string       `json:"lease"`
	Covered    bool         `json:"covered"`
	LastDenied *denialRow   `json:"last_denied,omitempty"`
}

type denialRow struct {
	URL       string         `json:"url"`
	Host      gate.Host      `json:"host"`
	Initiator gate.Initiator `json:"initiator"`
	AtMS      int64          `json:"at_ms"`
}

func (c *connection) tabList(ctx context.Context, request mcp.CallToolRequest) (any, error) {
	if _, err := readArguments(request.Params.Arguments); err != nil {
		return nil, err
	}
	if err := c.Browser.Ensure(ctx); err != nil {
		return nil, err
	}
	if err := c.haveTab(ctx); err != nil {
		return nil, err
	}
	result := tabListResult{Tabs: []tabRow{}}
	list, all := c.Ledger.Allowlist(c.id), c.Ledger.Tabs()
	active := c.active(all)
	for _, t := range all {
		r := c.row(t, list)
		r.Active = t.ID == active
		result.Tabs = append(result.Tabs, r)
	}
	return result, nil
}

// haveTab opens a blank tab for a session that owns none; for two calls at once,
// one.
func (c *connection) haveTab(ctx context.Context) error {
	select {
	case c.opening <- struct{}{}:
		defer func() { <-c.opening }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for _, t := range c.Ledger.Tabs() {
		if t.Owner == c.id {
			return nil
		}
	}
	_, err := c.openTab(ctx)
	return err
}

func (c *connection) openTab(ctx context.Context) (ledger.TabID, error) {
	id, err := c.Browser.OpenTab(ctx, c.id)
	if err != nil {
		return "", err
	}
	if _, err := c.Ledger.Lease(c.id, id, 0); err != nil {
		return "", err
	}
	c.use(id)
	return id, nil
}

// use remembers that the session did something with a tab.
func (c *connection) use(id ledger.TabID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used++
	c.uses[id] = c.used
}

// active names the session's own tab that it opened or navigated last, "" when it
// owns none. Tabs that are gone are forgotten.
func (c *connection) active(all []ledger.Tab) ledger.TabID {
	c.mu.Lock()
	defer c.mu.Unlock()
	var active ledger.TabID
	kept := map[ledger.TabID]uint64{}
	for _, t := range all {
		at, known := c.uses[t.ID]
		if known {
			kept[t.ID] = at
		}
		// Of tabs that pages opened, which nobody used, the newest.
		if t.Owner == c.id && (active == "" || at >= c.uses[active]) {
			active = t.ID
		}
	}
	c.uses = kept
	return active
}

// row tells what this session may know of a tab. Where the person is, it may not.
func (c *connection) row(t ledger.Tab, list gate.Allowlist) tabRow {
	mine := t.Owner == c.id
	r := tabRow{TabID: t.ID, Owner: "another_session", Lease: "free"}
	if at, err := gate.Parse(t.URL); err == nil {
		_, r.Covered = list.Covers(at.Host())
	}
	if mine && !t.Person || r.Covered {
		r.Title, r.URL = &t.Title, &t.URL
	}
	switch t.Owner {
	case c.id:
		r.Owner = "session"
	case "":
		r.Owner, r.Lease = "user", "user"
		return r
	}
	switch t.Holder {
	case c.id:
		r.Lease = "held"
	case "":
	default:
		r.Lease = "another_session"
	}
	if mine {
		if d := t.LastDenied; d != nil {
			r.LastDenied = &denialRow{d.URL, d.Host, d.Initiator, d.At.UnixMilli()}
		}
	}
	return r
}

func (c *connection) tabNew(ctx context.Context, request mcp.CallToolRequest) (any, error) {
	if _, err := readArguments(request.Params.Arguments); err != nil {
		return nil, err
	}
	id, err := c.openTab(ctx)
	if err != nil {
		return nil, err
	}
	return map[string]any{"tab_id": id}, nil
}

func (c *connection) tabClose(ctx context.Context, request mcp.CallToolRequest) (any, error) {
	args, err := readArguments(request.Params.Arguments, "tab_id")
	if err != nil {
		return nil, err
	}
	id, err := args.text("tab_id")
	if err != nil {
		return nil, err
	}
	if err := c.lease(ledger.TabID(id)); err != nil {
		return nil, err
	}
	if err := c.Browser.CloseTab(ctx, ledger.TabID(id)); err != nil {
		return nil, err
	}
	return map[string]any{"closed": true}, nil
}

// lease finds a tab and takes or renews its lease.
func (c *connection) lease(id ledger.TabID) error {
	if _, known := c.Ledger.Tab(id); !known {
		return chrome.ErrUnknownTab
	}
	_, err := c.Ledger.Lease(c.id, id, 0)
	return err
}
