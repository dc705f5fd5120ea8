package chrome

import (
	"strings"
	"time"

	"sallyport/gate"
)

// factWait bounds how long a paused request waits for the events that tell who
// caused it. They usually come first; what has not come by then is not counted
// as a person's doing.
const factWait = 700 * time.Millisecond

// initiatorOf says who caused a load in a session's tab. known is false while a
// fact that could show a person's hand may still come in.
func (in *instance) initiatorOf(t *tab, p *pause) (who gate.Initiator, known bool) {
	if a := t.agent; a != nil && a.loader == "" && a.target.Same(p.target) && p.event.Request.Method == "GET" {
		return gate.Agent, true
	}
	f := t.facts[p.loader]
	if f == nil {
		f = &facts{}
	}
	switch {
	case f.gesture:
		return gate.User, true
	case !p.waited && !(f.sent && f.started):
		return "", false
	case f.history:
		return t.entryInitiator(p.target), true
	case in.personsDocument(t):
		return gate.User, true
	}
	// A reload too: a covered document needs nobody's leave for it, and has none for
	// where it is then sent on to.
	return gate.Page, true
}

// borrowed reports that a load has its initiator from a history entry, not from an
// act: a person put that entry there, and nobody knows who goes back to it. So it
// is good for the entry's own host, and for no redirect away from it.
func (t *tab) borrowed(p *pause) bool {
	f := t.facts[p.loader]
	return f != nil && !f.gesture && f.history
}

// entryInitiator is who put the document of a history entry there. Several
// entries can have one URL, and Chromium does not say which one it goes to: all
// of them must be the person's.
func (t *tab) entryInitiator(to gate.Target) gate.Initiator {
	found := false
	for _, record := range t.history {
		at, err := gate.Parse(record.url)
		if err != nil || !at.Same(to) {
			continue
		}
		if t.entries[record.id] != gate.User {
			return gate.Page
		}
		found = true
	}
	if found {
		return gate.User
	}
	return gate.Page
}

// personsDocument reports whether the tab shows what a person put there and the
// list does not cover: what that document loads (a sign-in chain, say) is the
// person's too, until the agent next navigates the tab.
//
// What has no host of its own (about:blank, a data: document) is nobody's place to
// act from; a blob: document is where its origin is.
func (in *instance) personsDocument(t *tab) bool {
	at := t.shown.place()
	return t.shown.initiator == gate.User && !t.agentSince && !at.IsZero() && !in.covers(t, at)
}

// place is where a document's origin is; the zero Target for one without.
func (d document) place() gate.Target {
	if inner, isBlob := strings.CutPrefix(d.url, "blob:"); isBlob {
		at, _ := gate.Parse(inner) // zero for an opaque origin
		return at
	}
	return d.target
}

// covers reports whether today's list of the tab's session covers a document.
func (in *instance) covers(t *tab, at gate.Target) bool {
	if at.IsZero() {
		return false
	}
	_, ok := in.ledger.Allowlist(t.owner).Covers(at.Host())
	return ok
}

// openings counts popups that a person's activation opened in a tab and whose
// target has not come up yet.
type openings struct{ at []time.Time }

// openWait bounds how long a popup's target and its opener's event may be apart.
const openWait = 500 * time.Millisecond

func (g *openings) add() { g.at = append(g.at, time.Now()) }

// take uses up one activation, if there is a fresh one.
func (g *openings) take() bool {
	for len(g.at) > 0 {
		first := g.at[0]
		g.at = g.at[1:]
		if time.Since(first) < 4*openWait {
			return true
		}
	}
	return false
}
