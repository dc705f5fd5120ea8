package chrome

import (
	"errors"
	"fmt"
	"net/netip"

	"sallyport/gate"
	"sallyport/ledger"
)

// Question is what the approval window shows.
type Question struct {
	Client string // the name that the client gives itself: a claim

	// The delta of the lists. In the first question Local is empty.
	Added, Kept, Removed []gate.Pattern

	// Local makes it the second question: these hosts lead to private addresses.
	Local []LocalHost
}

// domains are the patterns that an approval would put in force.
func (q Question) domains() []string {
	var all []string
	for _, p := range append(append([]gate.Pattern{}, q.Added...), q.Kept...) {
		all = append(all, p.String())
	}
	return all
}

// LocalHost is a covered host and the private addresses that it leads to.
type LocalHost struct {
	Host  gate.Host
	Addrs []netip.Addr
}

// Answer is what came of a question.
type Answer string

const (
	Allowed  Answer = "allowed"
	Declined Answer = "declined" // by the button, Escape, closing or tampering with the window
	Expired  Answer = "expired"
)

// Errors of Ask.
var (
	ErrDeclined     = errors.New("user_declined")
	ErrExpired      = errors.New("approval_expired")
	ErrSessionEnded = errors.New("session_ended")
	// ErrGone: Chromium died or the person closed it. It may wrap a cause.
	ErrGone = errors.New("browser_gone")
	// ErrUnknownTab: there is no such tab any more.
	ErrUnknownTab = errors.New("unknown tab_id")
)

// UnavailableError says that nobody can be asked, and what to do.
type UnavailableError struct{ Hint string }

func (e *UnavailableError) Error() string { return "approval_unavailable" }

// StartError says why Chromium could not be started, and what to do.
type StartError struct {
	Err  error
	Hint string
}

func (e *StartError) Error() string { return "starting Chromium: " + e.Err.Error() }
func (e *StartError) Unwrap() error { return e.Err }

// NavigateRequest is a call of browser_navigate whose arguments were checked:
// the target is covered by List.
type NavigateRequest struct {
	Session     ledger.SessionID
	Tab         ledger.TabID
	Target      gate.Target
	List        gate.Allowlist // in force when the call was read
	WaitForLoad bool           // answer at DOMContentLoaded, not at commit
}

// NavigateResult is a navigation that worked.
type NavigateResult struct {
	FinalURL    string
	Status      int   // 0 where the document had none
	CommittedAt int64 // Unix milliseconds
}

// DeniedError refuses a host that today's list does not cover, wherever on the
// way it came up.
type DeniedError struct {
	RequestedURL string
	Blocked      gate.Target // the hop refused
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("%s is not approved", e.Blocked.Host())
}

// NetError is a navigation that the network, or the private-network guard, ended.
type NetError struct {
	Code   string // "net::ERR_..."
	Detail string // a sentence
	URL    string // redacted
}

func (e *NetError) Error() string { return e.Detail }

// DisagreeError is a navigation of which the two gates tell different stories.
type DisagreeError struct {
	URL   string // redacted
	Proxy string // "allowed", "denied", "unseen"
	Fetch string
}

func (e *DisagreeError) Error() string { return "gates_disagree" }
