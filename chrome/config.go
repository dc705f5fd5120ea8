package chrome

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
)

// Config is what a Browser needs.
type Config struct {
	Ledger *ledger.Ledger
	// ProxyAddr is the proxy's "127.0.0.1:port"; Pin the base64 SHA-256 of the
	// public key that its authority signs with.
	ProxyAddr string
	Pin       string

	Path     string   // of the Chromium program; empty looks in the usual places
	Profile  string   // "ephemeral" (or empty), or a directory
	Headless bool     // no window, so nobody can be asked
	Display  bool     // there is a display
	Width    int      // of the sessions' window; 0 means 1280
	Height   int      // 0 means 900
	Args     []string // further arguments, already checked

	PromptTimeout   time.Duration // 0 means 5 minutes, from when the window is shown
	NavigateTimeout time.Duration // 0 means 30 s
	StallWait       time.Duration // how long the loop may stand still before the browser is ended; 0 means 10 s

	// PrivateAddrs resolves a covered name and returns the addresses that are not
	// public; empty when there are none, or when the configuration pinned it.
	PrivateAddrs func(context.Context, gate.Host) ([]netip.Addr, error)
	PublicRanges []netip.Prefix

	// Person answers in place of the window. It is for Go tests inside this module
	// and nothing else sets it; a test holds that.
	Person func(context.Context, Question) Answer
	// Witness takes this layer's evidence. Nil means Ledger's own; tests blind the
	// layer with it.
	Witness func(ledger.HopID, ledger.Layer, ledger.Evidence)
	// Decide is the policy. Nil means gate.Decide; tests open this gate with it, to
	// see that the other holds alone.
	Decide func(gate.Query) gate.Decision
	// Hear takes each DevTools event and what hands it on. Nil hands it on at once;
	// tests lose, delay and reorder events with it.
	Hear func(event any, handOn func())

	Log *slog.Logger // nil discards

	opened func() // a window of a session's came up; New's own
}
