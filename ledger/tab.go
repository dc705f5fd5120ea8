package ledger

import (
	"cmp"
	"slices"
	"time"

	"sallyport/gate"
)

// TabID is a tab's public name: "tab_" and 8 random characters, never used again.
type TabID string

// Denial is a refusal that a tab remembers.
type Denial struct {
	Tab TabID
	// Navigation is 0 for what was refused before there was one.
	Navigation NavigationID
	URL        string // redacted
	Host       gate.Host
	Initiator  gate.Initiator
	Rule       gate.Rule
	At         time.Time
}

// Tab is a copy of what the ledger knows of one tab.
type Tab struct {
	ID         TabID
	Target     string // the browser's own name for it
	Owner      SessionID
	URL        string
	Title      string
	LastDenied *Denial
	Holder     SessionID     // of an unexpired lease
	ExpiresIn  time.Duration // of that lease
	// Person is true while the tab shows a document that a person's navigation
	// put there.
	Person bool
}

type tab struct {
	Tab
	order           uint64
	holder          SessionID
	expires         time.Time
	shownByPerson   origin // where the document is that a person put there
	openingByPerson origin // where a person's navigation under way leads
}

// AddTab records a tab. owner "" is the person.
func (l *Ledger) AddTab(owner SessionID, target string) TabID {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := TabID("tab_" + randomName(8))
	l.tabs[id] = &tab{Tab: Tab{ID: id, Target: target, Owner: owner, URL: "about:blank"}, order: l.nextID()}
	if owner != "" {
		l.audit.put(Record{Event: EventTab, Session: owner, Tab: id})
	}
	return id
}

// RemoveTab forgets a tab that is gone.
func (l *Ledger) RemoveTab(id TabID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tabGone(id)
	delete(l.tabs, id)
}

// tabGone records that a session has lost a tab. The lock must be held.
func (l *Ledger) tabGone(id TabID) {
	if t := l.tabs[id]; t != nil && t.Owner != "" {
		l.audit.put(Record{Event: EventTabGone, Session: t.Owner, Tab: id})
	}
}

// GiveToPerson makes the tab the person's, for good.
func (l *Ledger) GiveToPerson(id TabID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.tabs[id]; t != nil {
		l.tabGone(id)
		t.Owner, t.holder = "", ""
	}
}

// Tab returns a copy of one tab.
func (l *Ledger) Tab(id TabID) (Tab, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.tabs[id]
	if t == nil {
		return Tab{}, false
	}
	return t.copy(), true
}

// Tabs returns copies of all tabs, oldest first.
func (l *Ledger) Tabs() []Tab {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]*tab, 0, len(l.tabs))
	for _, t := range l.tabs {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *tab) int { return cmp.Compare(a.order, b.order) })
	copies := make([]Tab, len(all))
	for i, t := range all {
		copies[i] = t.copy()
	}
	return copies
}

func (t *tab) copy() Tab {
	c := t.Tab
	if left := time.Until(t.expires); t.holder != "" && left > 0 {
		c.Holder, c.ExpiresIn = t.holder, left
	}
	if t.LastDenied != nil {
		d := *t.LastDenied
		c.LastDenied = &d
	}
	return c
}

// Describe keeps the tab's live URL and title.
func (l *Ledger) Describe(id TabID, url, title string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.tabs[id]; t != nil {
		t.URL, t.Title = url, title
	}
}

// Opening says that a person's navigation in the tab leads to target.
func (l *Ledger) Opening(id TabID, target gate.Target) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.tabs[id]; t != nil {
		t.openingByPerson = originOf(target)
	}
}

// Shown says which document the tab shows now, and whether a person's
// navigation put it there. The zero target is for what has no host.
func (l *Ledger) Shown(id TabID, target gate.Target, byPerson bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.tabs[id]
	if t == nil {
		return
	}
	t.Person = byPerson
	t.openingByPerson, t.shownByPerson = origin{}, origin{}
	if byPerson && !target.IsZero() {
		t.shownByPerson = originOf(target)
	}
}

// NoteDenial keeps a refusal as the tab's last one and tells its session.
func (l *Ledger) NoteDenial(d Denial) {
	full := d.URL
	d.URL = gate.Redact(d.URL)
	l.mu.Lock()
	t := l.tabs[d.Tab]
	var notify func(Denial)
	if t != nil {
		l.audit.put(Record{Event: EventRefused, Session: t.Owner, Tab: d.Tab, Navigation: d.Navigation, Initiator: d.Initiator, URL: l.audit.show(full), Rule: d.Rule})
		t.LastDenied = &d
		if s := l.sessions[t.Owner]; s != nil {
			notify = s.notify
		}
	}
	l.mu.Unlock()
	l.log.Info("navigation refused", "tab", d.Tab, "url", d.URL, "host", d.Host, "initiator", d.Initiator, "rule", d.Rule)
	if notify != nil {
		notify(d)
	}
}
