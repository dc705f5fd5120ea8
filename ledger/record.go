package ledger

import (
	"time"

	"sallyport/gate"
)

// Record is one line of the audit log. Fields that an event has no use for are
// left out. A line stands in one chain with those before it: see Seq and Prev.
type Record struct {
	Seq  uint64    `json:"seq"`  // counts from 1, without a gap
	Prev string    `json:"prev"` // SHA-256 of the line before, in hex; of nothing for the first
	At   time.Time `json:"at"`
	// Event is what happened: one of the Event constants.
	Event string `json:"event"`

	Session    SessionID      `json:"session,omitempty"`
	Client     string         `json:"client,omitempty"` // as it calls itself
	Tab        TabID          `json:"tab,omitempty"`
	Navigation NavigationID   `json:"navigation,omitempty"`
	Initiator  gate.Initiator `json:"initiator,omitempty"`
	URL        string         `json:"url,omitempty"` // where the verdict fell
	Hops       []HopRecord    `json:"hops,omitempty"`
	Verdict    Verdict        `json:"verdict,omitempty"`
	Rule       gate.Rule      `json:"rule,omitempty"`
	Answer     string         `json:"answer,omitempty"` // "allowed" or "not allowed"
	Error      string         `json:"error,omitempty"`  // "net::ERR_...", "unfinished", or why a question ended
	Domains    []string       `json:"domains,omitempty"`
	Private    []gate.Host    `json:"private,omitempty"` // hosts approved as private
	TTL        string         `json:"ttl,omitempty"`     // of a lease

	// Lost counts records that the log could not take before this one.
	Lost int `json:"lost,omitempty"`
	// Cut counts bytes of an unfinished line that was taken away before this one.
	Cut int64 `json:"cut,omitempty"`
}

// The events.
const (
	EventStarted      = "started"       // the log was opened
	EventEnded        = "ended"         // the log was closed in good order
	EventSession      = "session"       // a session began
	EventNamed        = "named"         // its client said what it is called
	EventSessionEnded = "session_ended" // and ended
	EventAsked        = "asked"         // the approval window was shown
	EventAnswered     = "answered"      // and answered, or ended otherwise
	EventTab          = "tab"           // a session got a tab
	EventTabGone      = "tab_gone"      // a session's tab closed, or became the person's
	EventLease        = "lease"         // a lease was taken
	EventLeaseGone    = "lease_gone"    // a lease was given back
	EventNavigation   = "navigation"    // a navigation in a session's tab has its verdict
	EventRefused      = "refused"       // a document was refused
	EventStray        = "stray"         // a document without a ticket came to the proxy
)

// HopRecord is one request of a navigation in a Record.
type HopRecord struct {
	URL string `json:"url"`
	// Internal is true when Chromium answered the hop itself (HSTS, an upgrade).
	Internal bool `json:"internal,omitempty"`
	// A layer that is left out has seen nothing.
	Fetch *EvidenceRecord `json:"fetch,omitempty"`
	Proxy *EvidenceRecord `json:"proxy,omitempty"`
}

// EvidenceRecord is what one layer saw of a hop.
type EvidenceRecord struct {
	Allowed bool      `json:"allowed"`
	Rule    gate.Rule `json:"rule,omitempty"`
	Status  int       `json:"status,omitempty"`
	Failure string    `json:"failure,omitempty"`
}

// record writes a navigation's verdict. The lock must be held.
func (l *Ledger) record(n *navigation, o Outcome) {
	if l.audit == nil || n == nil || n.recorded {
		return
	}
	n.recorded = true
	r := Record{
		Event: EventNavigation, Session: n.session, Tab: n.tab, Navigation: n.id, Initiator: n.initiator,
		URL: l.audit.show(o.At.URL()), Verdict: o.Verdict, Rule: o.Rule, Error: o.Error,
	}
	for _, h := range n.hops {
		r.Hops = append(r.Hops, HopRecord{URL: l.audit.show(h.target.URL()), Internal: h.internal, Fetch: h.fetch.record(), Proxy: h.proxy.record()})
	}
	l.audit.put(r)
}

// recordUnfinished records a navigation that nobody waits for any more, and that
// went out or was refused. The lock must be held.
func (l *Ledger) recordUnfinished(n *navigation) {
	if len(n.hops) > 0 {
		l.record(n, Outcome{Verdict: Failed, At: n.hops[len(n.hops)-1].target, Error: "unfinished"})
	}
}

// Asked records that the person was shown a question about domains, or about
// hosts that turned out to be private.
func (l *Ledger) Asked(id SessionID, domains []string, private []gate.Host) {
	l.audit.put(Record{Event: EventAsked, Session: id, Client: l.Client(id), Domains: domains, Private: private})
}

// Answered records what came of it: nil is an approval.
func (l *Ledger) Answered(id SessionID, err error) {
	r := Record{Event: EventAnswered, Session: id, Answer: "allowed"}
	if err != nil {
		r.Answer, r.Error = "not allowed", err.Error()
	}
	l.audit.put(r)
}

// Recording reports whether a navigation may begin: false while the audit log is
// required and can't be written.
func (l *Ledger) Recording() bool { return l.audit.Ready() }

func (e *Evidence) record() *EvidenceRecord {
	if e == nil {
		return nil
	}
	return &EvidenceRecord{Allowed: e.Allowed, Rule: e.Rule, Status: e.Status, Failure: e.Failure}
}
