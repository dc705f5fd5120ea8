package ledger

import (
	"cmp"
	"slices"
	"time"

	"sallyport/gate"
)

// Navigation is a copy of what the ledger knows of one navigation.
type Navigation struct {
	ID        NavigationID
	Tab       TabID
	Session   SessionID
	Initiator gate.Initiator
	Opened    time.Time
	Hops      []Hop
}

// Hop is one request of a Navigation. A nil layer has written nothing.
type Hop struct {
	Target   gate.Target
	Internal bool
	Fetch    *Evidence
	Proxy    *Evidence
}

// Recent returns copies of the navigations that are still remembered, oldest
// first.
func (l *Ledger) Recent() []Navigation {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]Navigation, 0, len(l.navigations))
	for _, n := range l.navigations {
		c := Navigation{ID: n.id, Tab: n.tab, Session: n.session, Initiator: n.initiator, Opened: n.opened}
		for _, h := range n.hops {
			c.Hops = append(c.Hops, Hop{Target: h.target, Internal: h.internal, Fetch: clone(h.fetch), Proxy: clone(h.proxy)})
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Navigation) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

func clone(e *Evidence) *Evidence {
	if e == nil {
		return nil
	}
	c := *e
	return &c
}
