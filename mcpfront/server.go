package mcpfront

import (
	"context"
	"log/slog"
	"time"

	"sallyport/chrome"
	"sallyport/gate"
	"sallyport/ledger"
)

// Browser is what the tools need of the chrome house.
type Browser interface {
	Ask(ctx context.Context, s ledger.SessionID, list gate.Allowlist) (prompted bool, err error)
	Pending(s ledger.SessionID) bool
	Ensure(ctx context.Context) error
	OpenTab(ctx context.Context, s ledger.SessionID) (ledger.TabID, error)
	CloseTab(ctx context.Context, tab ledger.TabID) error
	CheckLocal(ctx context.Context, s ledger.SessionID, t gate.Target) error
	Navigate(ctx context.Context, r chrome.NavigateRequest) (chrome.NavigateResult, error)
	Reader
	// EndQuestions closes the session's approval window; EndSession its tabs too.
	EndQuestions(s ledger.SessionID)
	EndSession(s ledger.SessionID)
}

// Reader is what the tools that read need of it.
type Reader interface {
	ReadText(ctx context.Context, r chrome.ReadRequest, offset, most int) (chrome.PageText, error)
	ReadSnapshot(ctx context.Context, r chrome.ReadRequest, most int) (chrome.Snapshot, error)
	Screenshot(ctx context.Context, r chrome.ReadRequest, p chrome.PictureRequest) (chrome.Screenshot, error)
	WaitFor(ctx context.Context, r chrome.ReadRequest, a chrome.Awaited, most time.Duration) (chrome.Waited, error)
}

// Config is what a Server needs.
type Config struct {
	Ledger  *ledger.Ledger
	Browser Browser
	Version string
	Log     *slog.Logger // nil discards
	// Progress is how often a client that gave a token hears that the person has
	// not answered yet. Zero means 10 s.
	Progress time.Duration
	// Drain is how long calls may take after the end of input. Zero means 3 s.
	Drain time.Duration
}

// Server serves sessions, each with Serve.
type Server struct{ Config }

// New returns a Server.
func New(c Config) *Server {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Progress == 0 {
		c.Progress = 10 * time.Second
	}
	if c.Drain == 0 {
		c.Drain = 3 * time.Second
	}
	return &Server{c}
}

const instructions = `Sallyport is a browser in which a person approves the sites that you may visit.
1. Call browser_set_allowed_domains early, with the smallest list that your task needs; a window asks the person.
2. Wait for the answer: without an error the list is in force. If you gave up waiting, call again with the same list: it joins the open window, or reports the approval.
3. Call browser_tab_list for a tab_id, then browser_navigate for each URL, and browser_page_text or browser_snapshot to read what is there.
4. When you need another domain later, call browser_set_allowed_domains again with the whole new list; the person is asked about what is new.
5. A refusal (-32010) names what would cover it. Ask for that, or do without; don't look for detours.`
