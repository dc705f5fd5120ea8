package ledger

import "sallyport/gate"

// SessionID names one MCP connection. The empty SessionID is nobody: as an
// owner it means the person.
type SessionID string

type session struct {
	client string
	list   gate.Allowlist
	local  map[gate.Host]bool // names and literals approved knowing that they are private
	notify func(Denial)
}

// BeginSession records a new session. notify is called, outside the lock, for
// each refusal in one of its tabs; nil is fine.
func (l *Ledger) BeginSession(client string, notify func(Denial)) SessionID {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := SessionID("session_" + randomName(8))
	l.sessions[id] = &session{client: client, local: map[gate.Host]bool{}, notify: notify}
	l.audit.put(Record{Event: EventSession, Session: id})
	return id
}

// NameClient keeps the name that the client gives itself.
func (l *Ledger) NameClient(id SessionID, client string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.sessions[id]; s != nil {
		s.client = client
		l.audit.put(Record{Event: EventNamed, Session: id, Client: client})
	}
}

// Client returns the name that the client of id gave itself.
func (l *Ledger) Client(id SessionID) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.sessions[id]; s != nil {
		return s.client
	}
	return ""
}

// EndSession forgets the session: its list, its leases, its approvals. Its tabs
// stay in the ledger, gated by an empty list, until the browser closes them.
func (l *Ledger) EndSession(id SessionID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.navigations {
		if n.session == id {
			l.recordUnfinished(n)
		}
	}
	if l.sessions[id] != nil {
		l.audit.put(Record{Event: EventSessionEnded, Session: id})
	}
	delete(l.sessions, id)
	for _, t := range l.tabs {
		if t.holder == id {
			t.holder = ""
		}
	}
}

// Allowlist returns the list in force; the empty one for an unknown session.
func (l *Ledger) Allowlist(id SessionID) gate.Allowlist {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.allowlist(id)
}

func (l *Ledger) allowlist(id SessionID) gate.Allowlist {
	if s := l.sessions[id]; s != nil {
		return s.list
	}
	return gate.Allowlist{}
}

// Approve puts a list in force that a person approved, whole. local names the
// hosts whose private address the person was shown and approved. It reports
// false when the session has ended.
func (l *Ledger) Approve(id SessionID, list gate.Allowlist, local []gate.Host) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.sessions[id]
	if s == nil {
		return false
	}
	s.list = list
	for _, h := range local {
		s.local[h] = true
	}
	return true
}

// ApproveLocal adds a host that a person approved knowing that it is private. It
// reports false when the session has ended, or its list covers the host no more.
func (l *Ledger) ApproveLocal(id SessionID, host gate.Host) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.sessions[id]
	if s == nil {
		return false
	}
	if _, covered := s.list.Covers(host); !covered {
		return false
	}
	s.local[host] = true
	return true
}

// ClearAllowlists takes every list and every private approval away: the browser
// in which they were given is gone.
func (l *Ledger) ClearAllowlists() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.sessions {
		s.clear()
	}
}

// ClearAllowlist is ClearAllowlists for one session.
func (l *Ledger) ClearAllowlist(id SessionID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.sessions[id]; s != nil {
		s.clear()
	}
}

func (s *session) clear() {
	s.list = gate.Allowlist{}
	s.local = map[gate.Host]bool{}
}

// LocalApproved reports whether a person approved h for this session knowing
// that it is private, and the list still covers it.
func (l *Ledger) LocalApproved(id SessionID, h gate.Host) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.localApproved(id, h)
}

func (l *Ledger) localApproved(id SessionID, h gate.Host) bool {
	s := l.sessions[id]
	if s == nil || !s.local[h] {
		return false
	}
	_, covered := s.list.Covers(h)
	return covered
}

// LocalReachable decides for a request that is no gated document (an image, a
// script, a socket, a frame): may it reach host and port although the address is
// private? It may when a live session's person approved that very host, or when
// a person's navigation opened host and port in a tab that shows it and the
// request comes from that same place. fromHost and fromPort are its Origin's or
// Referer's; an empty fromHost is none.
func (l *Ledger) LocalReachable(host gate.Host, port uint16, fromHost gate.Host, fromPort uint16) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := range l.sessions {
		if l.localApproved(id, host) {
			return true
		}
	}
	at := origin{host, port}
	if (origin{fromHost, fromPort}) != at {
		return false
	}
	for _, t := range l.tabs {
		if t.shownByPerson == at || t.openingByPerson == at {
			return true
		}
	}
	return false
}
