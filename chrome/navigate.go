package chrome

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"

	"sallyport/gate"
	"sallyport/ledger"
)

// agentCall is one browser_navigate under way. The loop alone touches it, but for
// done.
type agentCall struct {
	tab       *tab
	target    gate.Target
	nav       ledger.NavigationID
	loader    string // of the document the call waits for; empty until known
	wait      bool   // for DOMContentLoaded
	fragment  bool   // the call is for a fragment of the document that is there
	failing   bool   // the gates disagree; it is answered when the tab is clean
	committed bool   // a document of this call is in the tab
	loaded    map[string]bool
	result    *NavigateResult // once its verdict is in
	done      chan agentResult
	over      bool
}

type agentResult struct {
	NavigateResult
	err error
}

var errNavigateTimeout = errors.New("navigate.timeout has passed")

// navigate runs one call. It returns when the document is committed (and ready,
// if that was asked) and its verdict is in.
func (in *instance) navigate(ctx context.Context, r NavigateRequest) (NavigateResult, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, in.cfg.NavigateTimeout, errNavigateTimeout)
	defer cancel()
	var a *agentCall
	if err := in.do(func() { a = in.beginAgent(r) }); err != nil {
		return NavigateResult{}, err
	}
	if a == nil {
		return NavigateResult{}, ErrUnknownTab
	}
	select {
	case got := <-a.done:
		return got.NavigateResult, got.err
	case <-in.gone:
		return NavigateResult{}, ErrGone
	case <-ctx.Done():
	}
	return in.abandon(ctx, a)
}

// beginAgent issues Page.navigate, in place of any call under way in the tab.
func (in *instance) beginAgent(r NavigateRequest) *agentCall {
	t := in.byID[r.Tab]
	if t == nil || t.owner != r.Session {
		return nil
	}
	if before := t.agent; before != nil {
		before.finish(NavigateResult{}, &NetError{Code: "net::ERR_ABORTED", Detail: "another browser_navigate on this tab took its place"})
		in.record(before, "net::ERR_ABORTED")
	}
	a := &agentCall{
		tab:    t,
		target: r.Target,
		nav:    in.ledger.Open(t.id, gate.Agent),
		wait:   r.WaitForLoad,
		loaded: map[string]bool{},
		done:   make(chan agentResult, 1), // one answer, so that finish never blocks
	}
	t.agent = a
	t.agentSince = true
	in.async(func(ctx context.Context) {
		got, err := call(ctx, t, page.Navigate, page.NavigateParams{URL: r.Target.URL()})
		in.mailbox.post(func() { in.issuedAgent(a, got, err) })
	})
	return a
}

// issuedAgent takes what Page.navigate returned: a load that was committed or is
// about to be, one that ended without a document, or none at all (a fragment).
func (in *instance) issuedAgent(a *agentCall, got page.NavigateResult, err error) {
	switch {
	case a.over:
	case err != nil && errors.Is(in.orGone(err), ErrGone):
		a.finish(NavigateResult{}, ErrGone)
	case err != nil:
		a.finish(NavigateResult{}, &NetError{Code: "net::ERR_FAILED", Detail: "Chromium did not take the navigation: " + err.Error(), URL: gate.Redact(a.target.URL())})
	case got.ErrorText != "" || got.IsDownload:
		text := got.ErrorText
		if text == "" {
			text = "net::ERR_ABORTED"
		}
		in.concludeAgent(a, text, got.IsDownload)
	case got.LoaderID == "":
		in.awaitFragment(a)
	case a.loader == "":
		// Chromium committed something of its own making without a pause.
		a.loader = string(got.LoaderID)
		if a.tab.shown.loader == a.loader {
			in.settle(a.tab, a.nav, a.tab.shown, ledger.Ending{Committed: a.tab.shown.target})
		}
	}
}

// fragmentWait bounds how long a page may take to a fragment of itself.
const fragmentWait = time.Second

// awaitFragment is for a call that stays in the document. The page may prevent it,
// so what counts is that the tab then shows it.
func (in *instance) awaitFragment(a *agentCall) {
	a.fragment = true
	if a.moved(a.tab.shown) {
		return
	}
	in.after(fragmentWait, func() {
		a.finish(NavigateResult{}, &NetError{Code: "net::ERR_ABORTED", URL: gate.Redact(a.target.URL()),
			Detail: gate.Redact(a.target.URL()) + ": the page kept the tab where it is (net::ERR_ABORTED)"})
	})
}

// moved hears what the tab shows after a document has changed its own URL.
func (a *agentCall) moved(d document) bool {
	if !a.fragment || d.target.URL() != a.target.URL() {
		return false
	}
	a.finish(NavigateResult{FinalURL: d.url, Status: d.status, CommittedAt: time.Now().UnixMilli()}, nil)
	return true
}

// concludeAgent answers a call whose load ended without a document.
func (in *instance) concludeAgent(a *agentCall, errorText string, download bool) {
	in.async(func(ctx context.Context) {
		o := in.ledger.Settle(ctx, a.nav, ledger.Ending{Error: errorText})
		in.mailbox.post(func() {
			if o.Verdict == ledger.Failed && o.Detail == "" {
				o.Detail = failureSentence(o.Error, download)
			}
			if o.Verdict == ledger.Disagreed {
				in.purge(a.tab, document{url: a.target.URL(), loader: a.loader}, o)
				return
			}
			a.finish(NavigateResult{}, a.failure(o))
		})
	})
}

func failureSentence(code string, download bool) string {
	switch {
	case download:
		return "this is a download, and downloads are not available to agents; the tab stays where it was"
	case code == "net::ERR_ABORTED":
		return "the server answered without a document (204, or a download), or the load was stopped; the tab stays where it was"
	case code == "net::ERR_DISALLOWED_URL_SCHEME":
		return "plain HTTP to a public origin is refused; use https://"
	case code == "net::ERR_TOO_MANY_REDIRECTS":
		return "the server redirects in circles"
	}
	return "Chromium could not load it"
}

// failure turns an outcome that is no success into the error of the call.
func (a *agentCall) failure(o ledger.Outcome) error {
	at := o.At
	if at.IsZero() {
		at = a.target
	}
	url := gate.Redact(at.URL())
	switch o.Verdict {
	case ledger.Denied:
		return &DeniedError{RequestedURL: a.target.URL(), Blocked: o.At}
	case ledger.Failed:
		code := o.Error
		if code == "" {
			code = "net::ERR_FAILED"
		}
		return &NetError{Code: code, Detail: fmt.Sprintf("%s: %s (%s)", url, o.Detail, code), URL: url}
	}
	return &DisagreeError{URL: url, Proxy: o.Proxy, Fetch: o.Fetch}
}

// follow hears of a commit in the tab. When the page itself moves on before it is
// ready, the call answers for where it went; when a person does, it does not.
func (a *agentCall) follow(d document) {
	switch {
	case a.failing:
	case d.loader == a.loader:
		a.committed = true
	case !a.committed:
	case d.initiator == gate.User && a.result != nil:
		a.finish(*a.result, nil)
	case d.initiator == gate.User:
		a.finish(NavigateResult{}, &NetError{Code: "net::ERR_ABORTED", Detail: "the person took the tab elsewhere", URL: gate.Redact(a.target.URL())})
	default:
		a.loader, a.result = d.loader, nil
	}
}

// settled hears the verdict on the document that the call waits for.
func (a *agentCall) settled(d document, o ledger.Outcome, status int) {
	if a.failing {
		return
	}
	if o.Verdict != ledger.Allowed {
		a.finish(NavigateResult{}, a.failure(o))
		return
	}
	a.result = &NavigateResult{FinalURL: d.url, Status: status, CommittedAt: d.at.UnixMilli()}
	if !a.wait || a.loaded[d.loader] {
		a.finish(*a.result, nil)
	}
}

func (a *agentCall) ready(loader string) {
	a.loaded[loader] = true
	if a.result != nil && loader == a.loader {
		a.finish(*a.result, nil)
	}
}

// finish answers the call, once.
func (a *agentCall) finish(r NavigateResult, err error) {
	if a.over {
		return
	}
	a.over = true
	if a.tab.agent == a {
		a.tab.agent = nil
	}
	a.done <- agentResult{r, err}
}

// abandon stops a call's load: its client cancelled it, or its time is up.
func (in *instance) abandon(ctx context.Context, a *agentCall) (NavigateResult, error) {
	err := context.Cause(ctx)
	code := "net::ERR_ABORTED"
	if errors.Is(err, errNavigateTimeout) {
		code = "net::ERR_TIMED_OUT"
		err = in.timedOut(a)
	}
	current := false
	if gone := in.do(func() {
		current = a.tab.agent == a
		a.finish(NavigateResult{}, err)
	}); gone != nil {
		return NavigateResult{}, gone
	}
	in.record(a, code)
	if current {
		// Before the answer, so that it can't stop the next load.
		if gone := in.unlessGone(func() { in.stopLoading(a.tab); in.unhang(a.tab) }); gone != nil {
			return NavigateResult{}, gone
		}
	}
	got := <-a.done
	return got.NavigateResult, got.err
}

// timedOut says how far a call came: a page may be there, and only not be ready.
func (in *instance) timedOut(a *agentCall) error {
	url, what := gate.Redact(a.target.URL()), "no answer within %s (net::ERR_TIMED_OUT); the tab can be used again"
	_ = in.do(func() {
		if a.result != nil {
			what = "the page came, but was not ready within %s (net::ERR_TIMED_OUT); it is in the tab as far as it came, or call again with wait_for_load false"
		}
	})
	return &NetError{Code: "net::ERR_TIMED_OUT", URL: url, Detail: url + ": " + fmt.Sprintf(what, in.cfg.NavigateTimeout)}
}

// record has the ledger conclude a navigation that nobody waits for any more.
func (in *instance) record(a *agentCall, code string) {
	in.async(func(ctx context.Context) { in.ledger.Settle(ctx, a.nav, ledger.Ending{Error: code}) })
}

// hungAfter is how long a page may take to say that it is there.
const hungAfter = 2 * time.Second

// unhang ends the renderer of a page that answers nothing (an endless loop, alert
// after alert): no navigation would ever get past it. The tab stays.
func (in *instance) unhang(t *tab) {
	ctx, cancel := context.WithTimeout(in.ctx, hungAfter)
	defer cancel()
	if _, err := call(ctx, t, runtime.Evaluate, runtime.EvaluateParams{Expression: "0"}); err == nil || ctx.Err() == nil {
		return
	}
	in.log.Warn("ending the renderer of a page that does not answer", "tab", t.id)
	end, cancel := context.WithTimeout(in.ctx, time.Second)
	defer cancel()
	if _, err := call(end, t, page.Crash, cdp.Empty{}); err != nil {
		in.log.Debug("ending a renderer", "tab", t.id, "error", err)
	}
}

func (in *instance) stopLoading(t *tab) {
	ctx, cancel := context.WithTimeout(in.ctx, time.Second)
	defer cancel()
	if _, err := call(ctx, t, page.StopLoading, cdp.Empty{}); err != nil {
		in.log.Debug("stopping a load", "tab", t.id, "error", err)
	}
}
