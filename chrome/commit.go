package chrome

import (
	"context"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"

	"sallyport/gate"
	"sallyport/ledger"
)

// committed judges the document that a session's tab now shows.
func (in *instance) committed(t *tab, f *cdp.Frame) {
	loader := string(f.LoaderID)
	nav := t.navs[loader]
	d := document{url: withoutUserinfo(f.URL + f.URLFragment), loader: loader, initiator: gate.Page, at: time.Now()}
	d.target, _ = gate.Parse(d.url) // zero for what has no host
	switch {
	case nav != nil:
		d.initiator = nav.initiator
	case t.facts[loader] != nil && t.facts[loader].gesture, personsScheme(f.URL):
		d.initiator = gate.User
	}
	d.agreed = d.initiator == gate.User
	before := t.shown
	t.shown = d
	t.agentSince = false
	if d.initiator == gate.User && before.url == "about:blank" && !t.touched && !d.target.IsZero() {
		in.giveToPerson(t) // a person who types in a blank tab makes it theirs
	}
	byPerson := d.initiator == gate.User || !t.gated()
	in.ledger.Shown(t.id, d.target, byPerson)
	in.ledger.Describe(t.id, d.url, in.title(t))
	entry := d.url
	if f.UnreachableURL != "" {
		entry = withoutUserinfo(f.UnreachableURL) // the history has it for the error page
	}
	in.readHistory(t, strings.TrimPrefix(entry, "view-source:"), d.initiator, 0)
	if t.agent != nil {
		t.agent.follow(d)
	}

	switch {
	case !t.gated():
	case f.UnreachableURL != "":
		// Chromium's own error page: the load failed, which its call tells.
	case nav != nil:
		in.settle(t, nav.id, d, ledger.Ending{Committed: d.target})
	case d.initiator == gate.User:
	default:
		in.unexplained(t, d)
	}
}

// withoutUserinfo takes credentials out of a URL that Chromium reports.
func withoutUserinfo(url string) string {
	if !strings.Contains(url, "@") {
		return url
	}
	if at, err := gate.Parse(url); err == nil {
		return at.URL()
	}
	return url
}

func (in *instance) title(t *tab) string {
	known, _ := in.ledger.Tab(t.id)
	return known.Title
}

// personsScheme reports a document that only the browser's own controls can put
// in a tab: pages may not navigate to it, and no tool does.
func personsScheme(url string) bool {
	scheme, _, _ := strings.Cut(url, ":")
	switch scheme {
	case "http", "https", "about", "blob", "chrome-error", "javascript", "":
		return false
	}
	return true
}

// unexplained judges a commit that no pause announced: what inherits its origin
// by its creator, whatever else is a disagreement.
func (in *instance) unexplained(t *tab, d document) {
	if strings.HasPrefix(d.url, "about:") || strings.HasPrefix(d.url, "chrome-error:") || d.url == "" {
		in.settled(t, d, ledger.Outcome{Verdict: ledger.Allowed}, 0)
		return
	}
	if d.target.IsZero() && in.covers(t, d.place()) {
		in.settled(t, d, ledger.Outcome{Verdict: ledger.Allowed}, 0)
		return
	}
	if t.gated() {
		in.log.Error("a document came from nowhere", "tab", t.id, "url", gate.Redact(d.url))
		nav := in.ledger.Open(t.id, gate.Page)
		in.settle(t, nav, d, ledger.Ending{Committed: d.target, Opaque: d.target.IsZero()})
	}
}

// settle asks the ledger for the verdict, off the loop, and acts on it.
func (in *instance) settle(t *tab, nav ledger.NavigationID, d document, end ledger.Ending) {
	in.async(func(ctx context.Context) {
		outcome := in.ledger.Settle(ctx, nav, end)
		status := in.ledger.Status(nav)
		in.mailbox.post(func() {
			if t.shown.loader == d.loader {
				t.shown.status = status
			}
			in.settled(t, d, outcome, status)
		})
	})
}

func (in *instance) settled(t *tab, d document, o ledger.Outcome, status int) {
	if o.Verdict == ledger.Disagreed && d.initiator != gate.User && t.gated() {
		in.purge(t, d, o)
		return
	}
	if o.Verdict == ledger.Allowed && t.shown.loader == d.loader {
		t.shown.agreed = true
	}
	if a := t.agent; a != nil && a.loader == d.loader {
		a.settled(d, o, status)
	}
}

// purgeWait bounds how long a tab may take to leave a document that the gates
// disagree about. Then it is closed.
const purgeWait = 5 * time.Second

// purge sends the tab to about:blank, and answers the agent's call, if it is
// about this document, only when the document is gone.
func (in *instance) purge(t *tab, d document, o ledger.Outcome) {
	a := t.agent
	if a != nil && a.loader != d.loader {
		a = nil
	}
	if a != nil {
		a.failing = true
	}
	in.async(func(ctx context.Context) {
		c, cancel := context.WithTimeout(ctx, purgeWait)
		defer cancel()
		r, err := call(c, t, page.Navigate, page.NavigateParams{URL: "about:blank"})
		if err != nil || r.ErrorText != "" {
			in.log.Error("closing a tab that would not leave a document the gates disagree about", "tab", t.id)
			_ = in.do(func() { t.closing = true }) // not the person's stop button
			_ = in.closeTarget(ctx, t.target)
		}
		in.mailbox.post(func() {
			if a != nil {
				a.finish(NavigateResult{}, &DisagreeError{URL: gate.Redact(d.url), Proxy: o.Proxy, Fetch: o.Fetch})
			}
		})
	})
}

// failed hears that a document's request ended without a commit.
func (in *instance) failed(t *tab, loader, errorText string) {
	nav := t.navs[loader]
	if nav == nil || nav.initiator != gate.Page || !t.gated() {
		return
	}
	denied := nav.denied // it is told already
	in.async(func(ctx context.Context) {
		o := in.ledger.Settle(ctx, nav.id, ledger.Ending{Error: errorText})
		in.mailbox.post(func() { in.stranded(t, nav) })
		if denied || o.Verdict == ledger.Allowed || o.Rule == gate.RulePattern {
			return // the network's fault, not a refusal
		}
		in.ledger.NoteDenial(ledger.Denial{Tab: t.id, Navigation: nav.id, URL: o.At.URL(), Host: o.At.Host(), Initiator: nav.initiator, Rule: o.Rule, At: time.Now()})
	})
}

// strandedWait is how long a page that tried to leave while it loaded, and could
// not, has to become ready all the same.
const strandedWait = time.Second

// stranded sees to it that a call does not wait for a page that will never be
// ready: with its own navigation a page ends its own parsing, and where a frame
// of it still loads Chromium does not even say that it has stopped.
func (in *instance) stranded(t *tab, nav *navigation) {
	if t.agent == nil || nav.initiator != gate.Page {
		return
	}
	loader := t.shown.loader
	in.after(strandedWait, func() { in.ready(t, loader) })
}

// ready hears DOMContentLoaded.
func (in *instance) ready(t *tab, loader string) {
	if a := t.agent; a != nil {
		a.ready(loader)
	}
}

// giveToPerson makes a session's tab the person's.
func (in *instance) giveToPerson(t *tab) {
	t.owner = ""
	in.ledger.GiveToPerson(t.id)
	if t.agent != nil {
		t.agent.finish(NavigateResult{}, &NetError{Code: "net::ERR_ABORTED", Detail: "the person took this tab"})
	}
}
