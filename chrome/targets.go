package chrome

import (
	"context"
	"slices"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/target"

	"sallyport/gate"
	"sallyport/ledger"
)

// heard takes the browser's events. It runs on chromedp's reading goroutine, so
// it only enqueues.
func (in *instance) heard(event any) {
	switch e := event.(type) {
	case *fetch.EventRequestPaused:
		in.mailbox.post(func() { in.paused(e) })
	case *fetch.EventAuthRequired:
		in.mailbox.post(func() { in.challenged(e) })
	case *target.EventTargetCreated:
		in.mailbox.post(func() { in.created(e.TargetInfo) })
	case *target.EventTargetInfoChanged:
		in.mailbox.post(func() { in.described(e.TargetInfo) })
	case *target.EventTargetDestroyed:
		in.mailbox.post(func() { in.destroyed(e.TargetID) })
	case *target.EventTargetCrashed:
		in.mailbox.post(func() { in.crashed(e.TargetID) })
	}
}

// created decides whose a new tab is. Without an opener it is the person's
// (Chromium makes none for a script without activation), unless we are making
// one ourselves; with one it is its opener's, unless a person's activation
// opened it.
func (in *instance) created(info *target.Info) {
	if info.Type != "page" || in.tabs[info.TargetID] != nil {
		return
	}
	t := newTab(info)
	in.tabs[t.target] = t
	opener := in.tabs[info.OpenerID]
	switch {
	case in.promptContexts[info.BrowserContextID], info.Subtype != "":
		// A target of a special kind (a prerendered page) is nobody's tab either. None
		// should come up with the features that are off.
		t.prompt = true
	case info.OpenerID == "" && in.creating > 0:
		t.undecided = true
		in.unclaimed = append(in.unclaimed, info)
	case info.OpenerID == "", opener == nil && !in.departed[info.OpenerID], opener != nil && opener.persons(), opener != nil && opener.opened.take():
		in.adopt(t, info, "", nil)
	default:
		t.undecided = true
		in.after(openWait, func() { in.decidePopup(t, opener, info) })
	}
}

// decidePopup settles whose a popup is: the opener's event of a person's
// activation has come by now, or there was none.
func (in *instance) decidePopup(t, opener *tab, info *target.Info) {
	switch {
	case !t.undecided || in.tabs[t.target] != t:
	case opener == nil:
		// Its session's tab is gone already, so nobody can own it.
		t.closing = true
		in.async(func(ctx context.Context) { _ = in.closeTarget(ctx, t.target) })
	case opener.undecided:
		in.after(openWait, func() { in.decidePopup(t, opener, info) })
	case opener.opened.take():
		in.adopt(t, info, "", nil)
	default:
		in.adopt(t, info, opener.owner, nil)
	}
}

// adopt gives the tab an owner and a name, and answers what waited for it. done,
// if any, is called once a session's tab is watched.
func (in *instance) adopt(t *tab, info *target.Info, owner ledger.SessionID, done func(error)) {
	t.undecided = false
	t.owner = owner
	in.tabs[t.target] = t
	t.id = in.ledger.AddTab(owner, string(t.target))
	in.byID[t.id] = t
	in.ledger.Describe(t.id, info.URL, info.Title)
	in.log.Debug("tab opened", "tab", t.id, "owner", owner)
	if t.gated() {
		in.attach(t, done)
		if in.cfg.opened != nil {
			in.cfg.opened()
		}
	}
	parked := t.parked
	t.parked = nil
	for _, p := range parked {
		in.judge(t, p)
	}
}

// described follows a tab's URL and title.
func (in *instance) described(info *target.Info) {
	t := in.tabs[info.TargetID]
	if t == nil {
		in.created(info)
		return
	}
	if t.undecided || t.prompt {
		return
	}
	in.ledger.Describe(t.id, withoutUserinfo(info.URL), info.Title)
	if t.gated() || t.shown.url == info.URL {
		return
	}
	// In the person's tabs there is no session of ours to tell a commit by.
	t.shown.url = info.URL
	at, _ := gate.Parse(info.URL)
	t.shown.target = at
	in.ledger.Shown(t.id, at, true)
}

// destroyed forgets a tab. The last of a session's windows that the person
// closes is the stop button: the session's list is cleared.
func (in *instance) destroyed(id target.ID) {
	t := in.tabs[id]
	if t == nil {
		return
	}
	delete(in.tabs, id)
	close(t.destroyed)
	in.settleClaims(id)
	if t.id == "" {
		return
	}
	delete(in.byID, t.id)
	in.ledger.RemoveTab(t.id)
	if t.gated() {
		in.departed[id] = true // a popup of its may still come up
		in.after(departedFor, func() { delete(in.departed, id) })
	}
	if t.cancel != nil {
		// It waits for the detached target, so not on the loop.
		in.async(func(context.Context) { t.cancel() })
	}
	if t.agent != nil {
		t.agent.finish(NavigateResult{}, ErrUnknownTab)
	}
	if !t.gated() || t.closing {
		return
	}
	for _, other := range in.tabs {
		if other.owner == t.owner {
			return
		}
	}
	in.log.Info("the person closed the session's last tab; its allowlist is cleared", "session", t.owner)
	in.ledger.ClearAllowlist(t.owner)
}

// departedFor is how long a popup may come up after the session's tab that opened
// it has gone.
const departedFor = 30 * time.Second

func (in *instance) settleClaims(id target.ID) {
	in.unclaimed = slices.DeleteFunc(in.unclaimed, func(info *target.Info) bool { return info.TargetID == id })
}

func (in *instance) crashed(id target.ID) {
	t := in.tabs[id]
	if t == nil || t.agent == nil {
		return
	}
	t.agent.finish(NavigateResult{}, &NetError{Code: "net::ERR_FAILED", Detail: "the tab's renderer crashed; navigate again, or open another tab", URL: gate.Redact(t.agent.target.URL())})
}

// allowPrompt says that a browser context is an approval window's: its one page
// loads nothing.
func (in *instance) allowPrompt(id cdp.BrowserContextID) error {
	return in.do(func() { in.promptContexts[id] = true })
}
