package chrome

import (
	"context"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"sallyport/gate"
)

// attach opens a DevTools session to a session's tab, for the events that tell
// who caused a load and what was committed. done, if any, gets the error.
func (in *instance) attach(t *tab, done func(error)) {
	ctx, cancel := chromedp.NewContext(in.ctx,
		chromedp.WithTargetID(t.target),
		chromedp.WithDetachOnCancel(), // leaving a tab must not close it
		chromedp.WithListener(func(event any) { in.hear(event, func(event any) { in.heardIn(t, event) }) }),
	)
	t.ctx, t.cancel = ctx, cancel
	in.async(func(context.Context) {
		err := chromedp.Do(ctx)
		if err == nil {
			err = watchFields(ctx)
		}
		if err == nil {
			in.watchDownloads(t)
			err = in.lookAtOnce(t)
		}
		if err != nil {
			in.log.Debug("attaching to a tab", "tab", t.id, "error", err)
		}
		if done != nil {
			done(err)
		}
	})
}

// lookAtOnce judges the document that was there before we listened: a popup may
// have committed one.
func (in *instance) lookAtOnce(t *tab) error {
	tree, err := chromedp.Call(t.ctx, page.GetFrameTree, cdp.Empty{})
	if err != nil {
		return err
	}
	return in.do(func() {
		if t.shown.loader == "" {
			in.committed(t, tree.FrameTree.Frame)
		}
	})
}

// heardIn takes the events of one tab. It only enqueues.
func (in *instance) heardIn(t *tab, event any) {
	main := string(t.target)
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if string(e.FrameID) == main && e.Type == network.ResourceTypeDocument {
			in.mailbox.post(func() { in.sent(t, e) })
		}
	case *network.EventLoadingFailed:
		if e.Type == network.ResourceTypeDocument {
			in.mailbox.post(func() { in.failed(t, string(e.RequestID), e.ErrorText) })
		}
	case *page.EventFrameStartedNavigating:
		if string(e.FrameID) == main {
			in.mailbox.post(func() { in.started(t, e) })
		}
	case *page.EventWindowOpen:
		if e.UserGesture { // it may come before the new tab's event or after it
			in.mailbox.post(t.opened.add)
		}
	case *page.EventFrameNavigated:
		if string(e.Frame.ID) == main {
			in.mailbox.post(func() { in.committed(t, e.Frame) })
		}
	case *page.EventNavigatedWithinDocument:
		if string(e.FrameID) == main {
			in.mailbox.post(func() { in.moved(t, e.URL) })
		}
	case *page.EventLifecycleEvent:
		if string(e.FrameID) == main && e.Name == "DOMContentLoaded" {
			in.mailbox.post(func() { in.ready(t, string(e.LoaderID)) })
		}
	case *page.EventFrameStoppedLoading:
		// A page that tried to leave while it loaded, and was refused, is stopped
		// without a DOMContentLoaded.
		if string(e.FrameID) == main {
			in.mailbox.post(func() { in.ready(t, t.shown.loader) })
		}
	case *page.EventJavascriptDialogOpening:
		in.mailbox.post(func() { in.dialog(t, e) })
	}
}

func (in *instance) sent(t *tab, e *network.EventRequestWillBeSent) {
	f := t.factsOf(string(e.RequestID))
	if f.sent {
		return // a redirect hop: it inherits
	}
	f.sent, f.gesture = true, e.HasUserGesture
	in.unpark(t, string(e.RequestID))
}

func (in *instance) started(t *tab, e *page.EventFrameStartedNavigating) {
	f := t.factsOf(string(e.LoaderID))
	f.started = true
	switch e.NavigationType {
	case page.FrameStartedNavigatingNavigationTypeHistoryDifferentDocument, page.FrameStartedNavigatingNavigationTypeHistorySameDocument,
		page.FrameStartedNavigatingNavigationTypeRestore, page.FrameStartedNavigatingNavigationTypeRestoreWithPost:
		f.history = true
	}
	in.unpark(t, string(e.LoaderID))
}

// moved follows a document that changes its own URL.
func (in *instance) moved(t *tab, url string) {
	t.shown.url = url
	if at, err := gate.Parse(url); err == nil {
		t.shown.target = at
	}
	if t.agent != nil {
		t.agent.moved(t.shown)
	}
	who := gate.Page
	if in.personsDocument(t) {
		who = gate.User
	}
	in.readHistory(t, url, who, 0)
}

// dialog answers what would hold an agent's navigation up: a page that asks
// whether to leave, and an alert while it loads.
func (in *instance) dialog(t *tab, e *page.EventJavascriptDialogOpening) {
	if t.agent == nil && !t.closing {
		return
	}
	accept := e.Type == page.DialogTypeBeforeunload
	in.async(func(ctx context.Context) {
		_, err := call(ctx, t, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: accept})
		if err != nil {
			in.log.Debug("answering a dialog", "tab", t.id, "error", err)
		}
	})
}

// A commit is told by the page's process, and the history is the browser's own: it
// may be read too early, or not at all ("Not attached to an active page"). The
// waits double.
const (
	historyTries = 6
	historyWait  = 20 * time.Millisecond
)

// readHistory learns who made the entry that the tab is at now: whoever put the
// first document there, which is known by its URL. An entry that is not the one
// expected is nobody's for now, and so not the person's. Whether one that is known
// is the new one (a reload) or the one before (a form's result, at the URL of its
// form) can't be told, so a person's is looked for until a new one comes up.
func (in *instance) readHistory(t *tab, url string, who gate.Initiator, try int) {
	in.async(func(ctx context.Context) {
		h, err := call(ctx, t, page.GetNavigationHistory, cdp.Empty{})
		in.mailbox.post(func() {
			if (err != nil || !t.learnHistory(h, url, who)) && who == gate.User && try+1 < historyTries {
				in.after(historyWait<<try, func() { in.readHistory(t, url, who, try+1) })
			}
		})
	})
}

// learnHistory keeps what the history is, and reports whether a new entry for the
// URL is among it.
func (t *tab) learnHistory(h page.GetNavigationHistoryResult, url string, who gate.Initiator) (learnt bool) {
	t.history = t.history[:0]
	for i, e := range h.Entries {
		t.history = append(t.history, &historyRecord{id: e.ID, url: e.URL})
		if i != int(h.CurrentIndex) || withoutUserinfo(strings.TrimPrefix(e.URL, "view-source:")) != url {
			continue
		}
		if _, known := t.entries[e.ID]; !known {
			t.entries[e.ID] = who
			learnt = true
		}
	}
	return learnt
}

// closeTarget closes a tab.
func (in *instance) closeTarget(ctx context.Context, id target.ID) error {
	ctx, cancel := context.WithTimeout(ctx, closeWait)
	defer cancel()
	_, err := chromedp.CallBrowser(ctx, target.CloseTarget, target.CloseTargetParams{TargetID: id})
	return err
}
