package ledger

import (
	"context"

	"sallyport/gate"
)

// Verdict is what the ledger concludes of a navigation.
type Verdict string

const (
	Allowed   Verdict = "allowed"
	Denied    Verdict = "denied"    // today's list does not cover a hop
	Failed    Verdict = "failed"    // the network, or the private-network guard, ended it
	Disagreed Verdict = "disagreed" // the layers tell different stories
)

// Ending is how a navigation ended in the browser.
type Ending struct {
	// Committed is the document that the tab shows now. The zero Target means
	// that nothing was committed.
	Committed gate.Target
	// Opaque says that the tab shows a document all the same: one without a host of
	// its own, such as a blob's.
	Opaque bool
	// Error is Chromium's own, "net::ERR_...", where nothing was committed.
	Error string
}

// nothing reports that no document came of it.
func (e Ending) nothing() bool { return e.Committed.IsZero() && !e.Opaque }

// Outcome is a verdict and what it rests on.
type Outcome struct {
	Verdict Verdict
	// At is the hop that decided. The zero Target means that there was no hop.
	At     gate.Target
	Rule   gate.Rule
	Error  string // "net::ERR_...", for Failed
	Detail string // a sentence about Error
	// What each layer said of that hop: "allowed", "denied", "unseen".
	Proxy, Fetch string
}

// Settle concludes. It waits, bounded, for both layers' evidence of every hop
// that must have been on the network. It returns Disagreed rather than guess.
func (l *Ledger) Settle(ctx context.Context, nav NavigationID, end Ending) Outcome {
	ctx, cancel := context.WithTimeout(ctx, l.settleWait)
	defer cancel()
	for {
		l.mu.Lock()
		changed := l.changed
		o, complete := l.conclude(nav, end)
		complete = complete || ctx.Err() != nil
		if complete {
			l.record(l.navigations[nav], o)
		}
		l.mu.Unlock()
		if complete {
			l.report(nav, o)
			return o
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

func (l *Ledger) report(nav NavigationID, o Outcome) {
	if o.Verdict == Disagreed {
		l.log.Error("the gates disagree", "navigation", nav, "url", gate.Redact(o.At.URL()), "proxy", o.Proxy, "fetch", o.Fetch)
		return
	}
	l.log.Debug("navigation settled", "navigation", nav, "verdict", o.Verdict, "url", gate.Redact(o.At.URL()), "rule", o.Rule, "error", o.Error)
}

// conclude reads the evidence there is. complete is false while evidence that
// could change the outcome may still come in.
func (l *Ledger) conclude(nav NavigationID, end Ending) (o Outcome, complete bool) {
	n := l.navigations[nav]
	if n == nil {
		return Outcome{Verdict: Disagreed, At: end.Committed, Proxy: "unseen", Fetch: "unseen"}, true
	}
	if len(n.hops) == 0 {
		return l.concludeUnseen(n, end), true
	}
	for i, h := range n.hops {
		last := i == len(n.hops)-1
		// Whatever is followed by another hop was answered with a redirect; the last
		// one was on the network only if something was committed.
		networked := !h.internal && (!last || !end.nothing())
		o, done, decided := l.judge(n, h, networked)
		if decided {
			return o, done
		}
	}
	h := n.hops[len(n.hops)-1]
	o = h.outcome(Allowed)
	switch {
	case end.nothing():
		o.Verdict, o.Error = Failed, end.Error
	case !end.Committed.Same(h.target):
		o.Verdict, o.At = Disagreed, end.Committed
		o.Proxy, o.Fetch = "unseen", "unseen"
	}
	return o, true
}

// judge looks at one hop. decided is true when the hop settles the navigation,
// and done when no further evidence can change that.
func (l *Ledger) judge(n *navigation, h *hop, networked bool) (o Outcome, done, decided bool) {
	switch {
	case h.fetch == nil:
		return h.outcome(Disagreed), false, true
	case !h.fetch.Allowed:
		return h.refused(*h.fetch), true, true
	case h.proxy == nil && networked:
		return h.outcome(Disagreed), false, true
	case h.proxy == nil:
		return Outcome{}, true, false
	case h.proxy.Allowed && h.proxy.Failure != "":
		o = h.outcome(Failed)
		o.Error, o.Detail = h.proxy.Failure, h.proxy.Detail
		return o, true, true
	case h.proxy.Allowed:
		return Outcome{}, true, false
	}
	if h.proxy.Rule == gate.RuleNotCovered {
		// The list may have been narrowed between the two looks at it.
		if _, covered := l.allowlist(n.session).Covers(h.target.Host()); covered {
			return h.outcome(Disagreed), true, true
		}
	}
	return h.refused(*h.proxy), true, true
}

// refused turns a layer's refusal into the outcome that the rule stands for.
func (h *hop) refused(e Evidence) Outcome {
	o := h.outcome(Failed)
	o.Rule, o.Detail = e.Rule, e.Detail
	switch e.Rule {
	case gate.RuleNotCovered:
		o.Verdict = Denied
	case gate.RuleMalformed:
		o.Error, o.Detail = "net::ERR_UNSAFE_REDIRECT", "it was sent on to what is no web page"
	case gate.RulePlainHTTP:
		o.Error = "net::ERR_DISALLOWED_URL_SCHEME"
	case RuleAddress:
		o.Error = "net::ERR_BLOCKED_BY_LOCAL_NETWORK_ACCESS_CHECKS"
	default:
		o.Verdict = Disagreed
		if e.Failure != "" {
			o.Verdict, o.Error = Failed, e.Failure
		}
	}
	return o
}

func (h *hop) outcome(v Verdict) Outcome {
	o := Outcome{Verdict: v, At: h.target, Proxy: said(h.proxy), Fetch: said(h.fetch)}
	if h.fetch != nil {
		o.Rule = h.fetch.Rule
	}
	return o
}

// concludeUnseen is for a navigation that the DevTools layer never saw a request
// of. A document that came to the proxy meanwhile without a ticket says that the
// layer was blind.
func (l *Ledger) concludeUnseen(n *navigation, end Ending) Outcome {
	for _, s := range l.strays {
		if s.At.After(n.opened) && (end.nothing() || s.Target.Same(end.Committed)) {
			return Outcome{Verdict: Disagreed, At: s.Target, Rule: RuleNoTicket, Proxy: "denied", Fetch: "unseen"}
		}
	}
	if end.nothing() {
		return Outcome{Verdict: Failed, Error: end.Error, Proxy: "unseen", Fetch: "unseen"}
	}
	return Outcome{Verdict: Disagreed, At: end.Committed, Proxy: "unseen", Fetch: "unseen"}
}

func said(e *Evidence) string {
	switch {
	case e == nil:
		return "unseen"
	case e.Allowed:
		return "allowed"
	}
	return "denied"
}

// Status returns the response status that the proxy delivered for the last hop.
func (l *Ledger) Status(nav NavigationID) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.navigations[nav]
	if n == nil || len(n.hops) == 0 {
		return 0
	}
	if p := n.hops[len(n.hops)-1].proxy; p != nil {
		return p.Status
	}
	return 0
}
