package ledger

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"time"

	"sallyport/gate"
)

// TicketHeader is the request header that carries a ticket from Chromium's
// DevTools layer to the proxy. The proxy strips it from every request.
const TicketHeader = "Sallyport-Ticket"

// maxRedemptions bounds how often Chromium's network stack may send a ticket
// again by itself: HTTP authentication, a reset of a reused connection.
const maxRedemptions = 5

// Ticket is a secret that stands for one hop.
type Ticket string

// Kind tells a tab's own document from one in a frame.
type Kind string

const (
	Top   Kind = "top"
	Frame Kind = "frame"
)

// ErrNoTicket is the answer to a ticket that stands for nothing, or for another
// request than the one that carried it.
var ErrNoTicket = errors.New("no ticket for this document")

// Wire is what the proxy sees of a document request.
type Wire struct {
	Kind   Kind // empty where the wire does not tell (plain HTTP)
	Method string
	Target gate.Target
}

// Pass is what a ticket is made for.
type Pass struct {
	Wire
	Hop       HopID // 0 for frames
	Initiator gate.Initiator
	Session   SessionID // owner of the tab; empty is the person
	// CacheControl is what the request said before the DevTools layer added
	// no-cache to it; nil means that nothing was added.
	CacheControl *string
}

// Redemption is what the proxy learns from a ticket.
type Redemption struct {
	Pass
	Gated bool
	List  gate.Allowlist // in force now
	// Local is true when the person approved the host knowing that it is private.
	Local bool
}

type ticket struct {
	Pass
	issued    time.Time
	used      int
	delivered bool
}

// Issue makes a ticket for one request.
func (l *Ledger) Issue(p Pass) Ticket {
	raw := make([]byte, 24)
	rand.Read(raw)
	secret := Ticket(base64.RawURLEncoding.EncodeToString(raw))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tickets[secret] = &ticket{Pass: p, issued: time.Now()}
	l.tend()
	return secret
}

// Redeem trades a ticket for what it stands for, if the request is the one that
// it was made for. Errors are ErrNoTicket.
func (l *Ledger) Redeem(secret Ticket, w Wire) (Redemption, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.tickets[secret]
	switch {
	case t == nil, t.delivered, t.used >= maxRedemptions,
		w.Kind != "" && w.Kind != t.Kind,
		w.Method != t.Method,
		!w.Target.Same(t.Target):
		return Redemption{}, ErrNoTicket
	}
	t.used++
	return Redemption{
		Pass:  t.Pass,
		Gated: t.Kind == Top && t.Session != "",
		List:  l.allowlist(t.Session),
		Local: l.localApproved(t.Session, t.Target.Host()),
	}, nil
}

// Delivered says that a response head with this status went to Chromium. After
// any but 401, which Chromium may answer by sending the request again, the
// ticket is spent.
func (l *Ledger) Delivered(secret Ticket, status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.tickets[secret]; t != nil && status != 401 {
		t.delivered = true
	}
}
