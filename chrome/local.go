package chrome

import (
	"context"
	"errors"
	"fmt"

	"sallyport/gate"
	"sallyport/ledger"
)

// CheckLocal is asked of a covered target before it is loaded: is the host on a
// private network, and does the person know? It may ask the second question. The
// name is resolved here, so not before it is covered. Errors are *NetError, and
// those of Ask.
func (b *Browser) CheckLocal(ctx context.Context, s ledger.SessionID, t gate.Target) error {
	local, err := b.local(ctx, s, t)
	switch {
	case errors.Is(err, ErrDeclined), errors.Is(err, ErrExpired):
		return &NetError{Code: "net::ERR_BLOCKED_BY_LOCAL_NETWORK_ACCESS_CHECKS", URL: gate.Redact(t.URL()),
			Detail: fmt.Sprintf("%s leads to a private address, and the person did not approve that (net::ERR_BLOCKED_BY_LOCAL_NETWORK_ACCESS_CHECKS)", t.Host())}
	case err != nil:
		return err
	case t.Scheme() == "http" && !local:
		return &NetError{Code: "net::ERR_DISALLOWED_URL_SCHEME", URL: gate.Redact(t.URL()),
			Detail: fmt.Sprintf("%s: plain HTTP to a public origin is refused; use https:// (net::ERR_DISALLOWED_URL_SCHEME)", gate.Redact(t.URL()))}
	}
	return nil
}

func (b *Browser) local(ctx context.Context, s ledger.SessionID, t gate.Target) (bool, error) {
	host := t.Host()
	if b.ledger.LocalApproved(s, host) {
		return true, nil
	}
	if gate.LocalSpelling(host, b.cfg.PublicRanges) {
		// The person approved a pattern that says so by itself, and was warned.
		return b.ledger.ApproveLocal(s, host), nil
	}
	name := publicName{s, host}
	b.mu.Lock()
	known := b.public[name]
	b.mu.Unlock()
	if known {
		return false, nil
	}
	private, err := b.cfg.PrivateAddrs(ctx, host)
	if err != nil {
		return false, nil // the load will say what is wrong with the name
	}
	if len(private) == 0 {
		b.mu.Lock()
		b.public[name] = true
		b.mu.Unlock()
		return false, nil
	}
	if err := b.approvals.AskLocal(ctx, s, host, private); err != nil {
		return false, err
	}
	return true, nil
}
