package ledger

import (
	"net/netip"
	"time"

	"sallyport/gate"
)

// NavigationID names one attempt to load a top-level document.
type NavigationID uint64

// HopID names one request of a navigation.
type HopID uint64

// Layer is one of the two gates.
type Layer string

const (
	Proxy Layer = "proxy"
	Fetch Layer = "fetch"
)

// Evidence is what one layer saw and decided about one hop.
type Evidence struct {
	Allowed bool
	Rule    gate.Rule
	// Status is that of the response head; 0 while there is none.
	Status int
	// Failure is Chromium's name for what went wrong ("net::ERR_..."), and
	// Detail a sentence about it. Empty while nothing did.
	Failure string
	Detail  string
	// Address is what the proxy dialled. The zero Addr is none.
	Address netip.Addr
}

// RuleAddress refuses a private address that no person approved.
const RuleAddress gate.Rule = "private_address"

// RuleNoTicket refuses a document without a ticket.
const RuleNoTicket gate.Rule = "no_ticket"

type navigation struct {
	id        NavigationID
	tab       TabID
	session   SessionID
	initiator gate.Initiator
	opened    time.Time
	hops      []*hop
	recorded  bool // in the audit log
}

type hop struct {
	id       HopID
	nav      NavigationID
	target   gate.Target
	internal bool // Chromium answered it itself
	fetch    *Evidence
	proxy    *Evidence
}

// Stray is a document request that came to the proxy without a ticket.
type Stray struct {
	Wire
	At time.Time
}

const (
	maxStrays      = 100             // enough for every load under way
	keepNavigation = 2 * time.Minute // after its verdict, or its start
	maxNavigations = 4096            // a flood forgets the oldest
)

// Open records a navigation in a tab.
func (l *Ledger) Open(tab TabID, initiator gate.Initiator) NavigationID {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := NavigationID(l.nextID())
	var owner SessionID
	if t := l.tabs[tab]; t != nil {
		owner = t.Owner
	}
	l.navigations[id] = &navigation{id: id, tab: tab, session: owner, initiator: initiator, opened: time.Now()}
	return id
}

// AddHop records the next request of a navigation. It reports 0 for a
// navigation that the ledger has forgotten.
func (l *Ledger) AddHop(nav NavigationID, target gate.Target) HopID {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.navigations[nav]
	if n == nil {
		return 0
	}
	h := &hop{id: HopID(l.nextID()), nav: nav, target: target}
	n.hops = append(n.hops, h)
	l.hops[h.id] = h
	return h.id
}

// MarkInternal says that Chromium answered the last hop by itself (HSTS, an
// upgrade to HTTPS), so that the proxy can know nothing of it.
func (l *Ledger) MarkInternal(hop HopID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.hops[hop]; h != nil {
		h.internal = true
		l.wake()
	}
}

// Witness writes what one layer saw of one hop, over what it wrote before.
func (l *Ledger) Witness(hop HopID, layer Layer, e Evidence) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.hops[hop]
	if h == nil {
		return
	}
	if layer == Proxy {
		h.proxy = &e
	} else {
		h.fetch = &e
	}
	l.wake()
}

// NoteStray records a document that had no ticket.
func (l *Ledger) NoteStray(w Wire) {
	l.mu.Lock()
	l.strays = append(l.strays, Stray{w, time.Now()})
	if len(l.strays) > maxStrays {
		l.strays = l.strays[len(l.strays)-maxStrays:]
	}
	l.audit.put(Record{Event: EventStray, URL: l.audit.show(w.Target.URL())})
	l.mu.Unlock()
	l.log.Warn("document without a ticket refused", "method", w.Method, "url", gate.Redact(w.Target.URL()))
}

// tend forgets what nobody can ask for any more. The lock must be held.
func (l *Ledger) tend() {
	if time.Since(l.tended) < time.Second {
		return
	}
	l.tended = time.Now()
	limit := l.tended.Add(-keepNavigation)
	if len(l.navigations) > maxNavigations || len(l.tickets) > maxNavigations {
		limit = l.tended.Add(-10 * time.Second)
	}
	for id, n := range l.navigations {
		if n.opened.Before(limit) {
			l.forget(id, n)
		}
	}
	for secret, t := range l.tickets {
		if t.delivered || t.issued.Before(limit) {
			delete(l.tickets, secret)
		}
	}
}

func (l *Ledger) forget(id NavigationID, n *navigation) {
	l.recordUnfinished(n)
	for _, h := range n.hops {
		delete(l.hops, h.id)
	}
	delete(l.navigations, id)
}
