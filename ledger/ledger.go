package ledger

import (
	"crypto/rand"
	"encoding/base32"
	"log/slog"
	"strings"
	"sync"
	"time"

	"sallyport/gate"
)

// Config is what a Ledger needs.
type Config struct {
	// Log gets disagreements and lifecycle lines. Nil discards.
	Log *slog.Logger
	// SettleWait bounds how long Settle waits for evidence. Zero means 2 s.
	SettleWait time.Duration
	// LeaseTTL is how long a lease lasts that no call renews. Zero means 60 s.
	LeaseTTL time.Duration
	// Audit is the audit log. Nil is none.
	Audit *Audit
}

// Ledger is the shared state. All methods may be called from any goroutine.
type Ledger struct {
	log        *slog.Logger
	settleWait time.Duration
	leaseTTL   time.Duration
	audit      *Audit // nil is none

	mu          sync.Mutex // guards all below
	armed       bool
	changed     chan struct{} // closed and replaced when evidence comes in
	sessions    map[SessionID]*session
	tabs        map[TabID]*tab
	navigations map[NavigationID]*navigation
	hops        map[HopID]*hop
	tickets     map[Ticket]*ticket
	strays      []Stray
	lastID      uint64
	tended      time.Time // when old records were last forgotten
}

// New returns an empty ledger.
func New(c Config) *Ledger {
	l := &Ledger{
		log:         c.Log,
		settleWait:  c.SettleWait,
		leaseTTL:    c.LeaseTTL,
		audit:       c.Audit,
		changed:     make(chan struct{}),
		sessions:    map[SessionID]*session{},
		tabs:        map[TabID]*tab{},
		navigations: map[NavigationID]*navigation{},
		hops:        map[HopID]*hop{},
		tickets:     map[Ticket]*ticket{},
	}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	if l.settleWait == 0 {
		l.settleWait = 2 * time.Second
	}
	if l.leaseTTL == 0 {
		l.leaseTTL = time.Minute
	}
	return l
}

// Arm says whether the DevTools layer is watching every document. Until it is,
// the proxy lets none through.
func (l *Ledger) Arm(armed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed = armed
}

// Armed reports what Arm last said.
func (l *Ledger) Armed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.armed
}

// nextID makes the number of a navigation or a hop. The lock must be held.
func (l *Ledger) nextID() uint64 {
	l.lastID++
	return l.lastID
}

// wake lets every Settle look again. The lock must be held.
func (l *Ledger) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// randomName makes n lower-case base-32 characters.
func randomName(n int) string {
	raw := make([]byte, n)
	rand.Read(raw)
	return strings.ToLower(base32.StdEncoding.EncodeToString(raw))[:n]
}

// origin is a host and a port, whatever the scheme.
type origin struct {
	host gate.Host
	port uint16
}

func originOf(t gate.Target) origin { return origin{t.Host(), t.Port()} }
