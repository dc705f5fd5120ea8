package chrome

import (
	"context"
	"strings"
	"time"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"sallyport/gate"
	"sallyport/ledger"
)

// paused takes every document request that Chromium is about to make: in every
// tab, in frames, at every redirect hop. Each is judged afresh.
func (in *instance) paused(e *fetch.EventRequestPaused) {
	p := &pause{event: e, loader: string(e.NetworkID)}
	p.target, _ = gate.Parse(e.Request.URL + e.Request.URLFragment) // the zero target is refused in judge
	if t := in.tabs[target.ID(e.FrameID)]; t != nil {
		in.judge(t, p)
		return
	}
	// A frame, or a tab whose creation has not been told yet. A main frame's name
	// is its target's.
	in.placing = append(in.placing, p)
	if len(in.placing) == 1 {
		in.place()
	}
}

// place asks which of the pauses are tabs' own. One question is under way at a
// time, for all that have come until then: a page may have many frames.
func (in *instance) place() {
	asking := len(in.placing)
	in.async(func(ctx context.Context) {
		found, err := chromedp.CallBrowser(ctx, target.GetTargets, target.GetTargetsParams{})
		in.mailbox.post(func() {
			asked := in.placing[:asking]
			in.placing = in.placing[asking:]
			if len(in.placing) > 0 {
				in.place()
			}
			for _, p := range asked {
				if err != nil {
					in.fail(p)
				} else {
					in.placed(p, found.TargetInfos)
				}
			}
		})
	})
}

func (in *instance) placed(p *pause, infos []*target.Info) {
	id := target.ID(p.event.FrameID)
	for _, info := range infos {
		if info.TargetID == id && info.Type == "page" {
			in.created(info)
		}
	}
	if t := in.tabs[id]; t != nil {
		in.judge(t, p)
		return
	}
	in.proceed(p, ledger.Pass{Wire: ledger.Wire{Kind: ledger.Frame, Method: p.event.Request.Method, Target: p.target}, Initiator: gate.Page})
}

// judge decides on a top-level document.
func (in *instance) judge(t *tab, p *pause) {
	switch {
	case t.prompt:
		in.log.Warn("request of an approval window refused", "url", gate.Redact(p.event.Request.URL))
		in.fail(p)
		return
	case t.undecided:
		t.parked = append(t.parked, p)
		return
	case strings.HasPrefix(p.event.Request.URL, "file:"):
		in.openFile(t, p)
		return
	}
	nav := t.navs[p.loader]
	if nav == nil {
		who := gate.User
		if t.gated() {
			var known bool
			if who, known = in.initiatorOf(t, p); !known {
				in.park(t, p)
				return
			}
		}
		nav = in.begin(t, p, who)
	}
	in.decide(t, nav, p)
}

// park holds a pause until a fact comes in, or until it has waited long enough.
func (in *instance) park(t *tab, p *pause) {
	t.parked = append(t.parked, p)
	in.after(factWait, func() {
		for i, other := range t.parked {
			if other == p {
				t.parked = append(t.parked[:i], t.parked[i+1:]...)
				p.waited = true
				in.judge(t, p)
				return
			}
		}
	})
}

// unpark looks again at what waited for facts of one load.
func (in *instance) unpark(t *tab, loader string) {
	if t.undecided {
		return
	}
	var ready []*pause
	kept := t.parked[:0]
	for _, p := range t.parked {
		if p.loader == loader {
			ready = append(ready, p)
		} else {
			kept = append(kept, p)
		}
	}
	t.parked = kept
	for _, p := range ready {
		if _, known := in.initiatorOf(t, p); known {
			in.judge(t, p)
		} else {
			t.parked = append(t.parked, p)
		}
	}
}

// begin records a navigation.
func (in *instance) begin(t *tab, p *pause, who gate.Initiator) *navigation {
	nav := &navigation{initiator: who}
	if a := t.agent; who == gate.Agent && a != nil {
		a.loader = p.loader
		nav.id = a.nav
	} else {
		nav.id = in.ledger.Open(t.id, who)
	}
	t.navs[p.loader] = nav
	t.remember(p.loader)
	return nav
}

// decide asks the policy about one hop, writes this layer's evidence, and lets
// the request go with a ticket, or fails it.
func (in *instance) decide(t *tab, nav *navigation, p *pause) {
	if nav.lastHop != 0 && upgraded(nav.last, p.target) {
		in.ledger.MarkInternal(nav.lastHop)
	}
	if nav.initiator == gate.User && nav.lastHop != 0 && t.gated() && nav.last.Host() != p.target.Host() && t.borrowed(p) && !in.personsDocument(t) {
		nav.initiator = gate.Page
	}
	hop := in.ledger.AddHop(nav.id, p.target)
	nav.lastHop, nav.last = hop, p.target

	list := in.ledger.Allowlist(t.owner)
	d := in.cfg.Decide(gate.Query{
		Target:    p.target,
		Initiator: nav.initiator,
		Gated:     t.gated(),
		List:      list,
		Local: gate.LocalSpelling(p.target.Host(), in.cfg.PublicRanges) ||
			in.ledger.LocalApproved(t.owner, p.target.Host()),
	})
	if d.Rule == gate.RulePlainHTTP {
		// Chromium may know that this host is https only, and redirect by itself
		// before anything is sent. If it does send plain HTTP, the proxy refuses it.
		d.Allowed = true
	}
	evidence := ledger.Evidence{Allowed: d.Allowed, Rule: d.Rule}
	if d.Allowed && t.gated() && nav.initiator != gate.User {
		if refusal := in.besides(t, p); refusal != nil {
			evidence = *refusal
			d = gate.Decision{Rule: evidence.Rule}
		}
	}
	in.cfg.Witness(hop, ledger.Fetch, evidence)
	if !d.Allowed {
		nav.denied = true
		in.fail(p)
		in.stranded(t, nav)
		in.ledger.NoteDenial(ledger.Denial{Tab: t.id, Navigation: nav.id, URL: p.event.Request.URL, Host: p.target.Host(), Initiator: nav.initiator, Rule: d.Rule, At: time.Now()})
		return
	}
	if nav.initiator == gate.User {
		in.ledger.Opening(t.id, p.target)
	} else {
		t.touched = true
	}
	pass := ledger.Pass{
		Wire:      ledger.Wire{Kind: ledger.Top, Method: p.event.Request.Method, Target: p.target},
		Hop:       hop,
		Initiator: nav.initiator,
		Session:   t.owner,
	}
	if t.gated() && nav.initiator != gate.User {
		cacheControl, _ := header(p.event.Request.Headers, "Cache-Control")
		pass.CacheControl = &cacheControl
	}
	in.proceed(p, pass)
}

// Refusals that are not about the host.
const (
	rulePostHistory gate.Rule = "post_history" // an entry that a POST made, to an agent or a page
	ruleUnrecorded  gate.Rule = "unrecorded"   // the audit log is required, and can't be written
)

// besides refuses what the list allows, for reasons that lie in the navigation or
// in ourselves. Nil is no refusal.
func (in *instance) besides(t *tab, p *pause) *ledger.Evidence {
	switch {
	case in.repeatsPost(t, p):
		return &ledger.Evidence{Rule: rulePostHistory, Failure: "net::ERR_ABORTED",
			Detail: "going back to the result of a form would send the form again"}
	case !in.ledger.Recording():
		return &ledger.Evidence{Rule: ruleUnrecorded, Failure: "net::ERR_FAILED",
			Detail: "the audit log can't be written, and ledger.required refuses navigations until it can; tell the person who runs Sallyport"}
	}
	return nil
}

func (in *instance) repeatsPost(t *tab, p *pause) bool {
	f := t.facts[p.loader]
	return f != nil && f.history && p.event.Request.Method == "POST"
}

// upgraded reports whether the second URL is the first one made https, which is
// how HSTS and Chromium's own upgrades look.
func upgraded(from, to gate.Target) bool {
	return from.Scheme() == "http" && to.Scheme() == "https" && from.Host() == to.Host()
}

// proceed lets a request go on with a ticket for it.
func (in *instance) proceed(p *pause, pass ledger.Pass) {
	if p.target.IsZero() {
		in.fail(p)
		return
	}
	pass.Target = p.target.Sendable()
	ticket := in.ledger.Issue(pass)
	headers := make([]*fetch.HeaderEntry, 0, len(p.event.Request.Headers)+2)
	for name, value := range p.event.Request.Headers {
		text, ok := value.(string)
		if !ok || strings.EqualFold(name, ledger.TicketHeader) || pass.CacheControl != nil && strings.EqualFold(name, "Cache-Control") {
			continue
		}
		headers = append(headers, &fetch.HeaderEntry{Name: name, Value: text})
	}
	headers = append(headers, &fetch.HeaderEntry{Name: ledger.TicketHeader, Value: string(ticket)})
	if pass.CacheControl != nil {
		// So that no cache answers without the network, where the proxy looks too.
		headers = append(headers, &fetch.HeaderEntry{Name: "Cache-Control", Value: "no-cache"})
	}
	params := fetch.ContinueRequestParams{RequestID: p.event.RequestID, Headers: headers}
	if !pass.Target.Same(p.target) {
		params.URL = pass.Target.Request() // the page does not see it
	}
	in.async(func(ctx context.Context) {
		_, err := chromedp.CallBrowser(ctx, fetch.ContinueRequest, params)
		if err != nil {
			in.log.Debug("continuing a request", "error", err)
		}
	})
}

// fail ends a request so that the page that is there stays: with Aborted no
// error page is committed.
func (in *instance) fail(p *pause) {
	in.async(func(ctx context.Context) {
		_, err := chromedp.CallBrowser(ctx, fetch.FailRequest, fetch.FailRequestParams{RequestID: p.event.RequestID, ErrorReason: network.ErrorReasonAborted})
		if err != nil {
			in.log.Debug("failing a request", "error", err)
		}
	})
}

func header(headers network.Headers, name string) (string, bool) {
	for key, value := range headers {
		if strings.EqualFold(key, name) {
			text, ok := value.(string)
			return text, ok
		}
	}
	return "", false
}
