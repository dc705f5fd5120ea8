package ledger

import (
	"fmt"
	"time"
)

// LeaseError says that a tab is not the caller's to drive.
type LeaseError struct {
	Tab       TabID
	Holder    string        // "another_session" or "user"
	ExpiresIn time.Duration // of the other session's lease; 0 for the person's tabs
}

func (e *LeaseError) Error() string {
	if e.Holder == "user" {
		return fmt.Sprintf("%s is the person's tab; open one of your own", e.Tab)
	}
	return fmt.Sprintf("%s is leased by another session for %s", e.Tab, e.ExpiresIn.Round(time.Second))
}

// Lease takes the tab for the session, or renews what it holds. ttl 0 means the
// default. Errors are *LeaseError; an unknown tab is the caller's to check.
func (l *Ledger) Lease(id SessionID, tabID TabID, ttl time.Duration) (time.Duration, error) {
	if ttl == 0 {
		ttl = l.leaseTTL
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.tabs[tabID]
	if t == nil || t.Owner == "" {
		return 0, &LeaseError{Tab: tabID, Holder: "user"}
	}
	left := time.Until(t.expires)
	held := t.holder != "" && left > 0
	if held && t.holder != id {
		return 0, &LeaseError{Tab: tabID, Holder: "another_session", ExpiresIn: left}
	}
	if t.holder != id || !held {
		l.audit.put(Record{Event: EventLease, Session: id, Tab: tabID, TTL: ttl.String()})
	}
	t.holder, t.expires = id, time.Now().Add(ttl) // monotonic: only compared with time.Now
	return ttl, nil
}

// Release gives the tab back. It reports whether the session held it.
func (l *Ledger) Release(id SessionID, tabID TabID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.tabs[tabID]
	if t == nil || t.holder != id || time.Until(t.expires) <= 0 {
		return false
	}
	t.holder = ""
	l.audit.put(Record{Event: EventLeaseGone, Session: id, Tab: tabID})
	return true
}
