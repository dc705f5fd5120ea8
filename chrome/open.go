package chrome

import (
	"context"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"sallyport/gate"
	"sallyport/ledger"
)

// closeWait bounds how long a tab may take to close.
const closeWait = 3 * time.Second

// openTab makes a blank tab. It never hands Chromium a URL: the tab is watched
// before anything loads in it.
func (in *instance) openTab(ctx context.Context, s ledger.SessionID) (ledger.TabID, error) {
	if err := in.do(func() { in.creating++ }); err != nil {
		return "", err
	}
	var made target.CreateTargetResult
	var err error
	if gone := in.unlessGone(func() { made, err = in.createTarget() }); gone != nil {
		return "", gone
	}
	attached := make(chan error, 1)
	var id ledger.TabID
	if gone := in.do(func() {
		in.creating--
		if err == nil {
			id = in.claim(made.TargetID, s, func(err error) { attached <- err })
		}
		if in.creating == 0 {
			in.releaseUnclaimed()
		}
	}); gone != nil {
		return "", gone
	}
	if err != nil {
		return "", in.orGone(fmt.Errorf("opening a tab: %w", err))
	}
	select {
	case err := <-attached:
		if err != nil {
			return "", in.orGone(fmt.Errorf("watching a new tab: %w", err))
		}
		return id, nil
	case <-in.gone:
		return "", ErrGone
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// createTarget gives Chromium as long as a page may take to load.
func (in *instance) createTarget() (target.CreateTargetResult, error) {
	ctx, cancel := context.WithTimeoutCause(in.ctx, in.cfg.NavigateTimeout, errNavigateTimeout)
	defer cancel()
	yes := true
	return chromedp.CallBrowser(ctx, target.CreateTarget, target.CreateTargetParams{
		URL: "about:blank", NewWindow: &yes, Background: &yes, Width: int64(in.cfg.Width), Height: int64(in.cfg.Height),
	})
}

// orGone prefers the plain truth when the browser is what failed.
func (in *instance) orGone(err error) error {
	select {
	case <-in.gone:
		return ErrGone
	case <-in.browser.LostConnection: // known to chromedp first
		return ErrGone
	default:
		return err
	}
}

// claim gives the session the tab that was made for it.
func (in *instance) claim(id target.ID, s ledger.SessionID, done func(error)) ledger.TabID {
	info := &target.Info{TargetID: id, Type: "page", URL: "about:blank"}
	in.settleClaims(id)
	t := in.tabs[id]
	if t == nil {
		t = newTab(info)
	}
	in.adopt(t, info, s, done)
	return t.id
}

// releaseUnclaimed gives the person the tabs that came up while we made ours.
func (in *instance) releaseUnclaimed() {
	for _, info := range in.unclaimed {
		if t := in.tabs[info.TargetID]; t != nil && t.undecided {
			in.adopt(t, info, "", nil)
		}
	}
	in.unclaimed = nil
}

// closeTab closes a tab and waits until it is gone.
func (in *instance) closeTab(ctx context.Context, id ledger.TabID) error {
	var t *tab
	if err := in.do(func() {
		if t = in.byID[id]; t != nil {
			t.closing = true
		}
	}); err != nil {
		return err
	}
	if t == nil {
		return ErrUnknownTab
	}
	ctx, cancel := context.WithTimeout(ctx, closeWait)
	defer cancel()
	var err error
	if gone := in.unlessGone(func() { err = in.closeTarget(in.ctx, t.target) }); gone != nil {
		return gone
	}
	if err != nil {
		return in.orGone(fmt.Errorf("closing %s: %w", id, err))
	}
	select {
	case <-t.destroyed:
		return nil
	case <-in.gone:
		return ErrGone
	case <-ctx.Done():
		return fmt.Errorf("closing %s: the page did not let go within %s", id, closeWait)
	}
}

// endSession closes the session's tabs, but for what a person has navigated
// since, which becomes the person's.
func (in *instance) endSession(s ledger.SessionID) {
	var closing []*tab
	_ = in.do(func() {
		for _, t := range in.tabs {
			switch {
			case t.owner != s || t.id == "":
			case t.shown.initiator == gate.User:
				in.giveToPerson(t)
			default:
				t.closing = true
				closing = append(closing, t)
			}
		}
	})
	for _, t := range closing {
		in.async(func(ctx context.Context) { _ = in.closeTarget(ctx, t.target) })
	}
}
