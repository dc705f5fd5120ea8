package chrome

import (
	"context"
	"sync"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
)

// resolveWait bounds the look-ups after the person has said yes.
const resolveWait = 5 * time.Second

// resolve looks the exact names up, not before they are approved. It returns the
// hosts that are local by their spelling, and those that turn out to be private.
func (a *approvals) resolve(ctx context.Context, s ledger.SessionID, patterns []gate.Pattern) (spelled []gate.Host, found []LocalHost) {
	ctx, cancel := context.WithTimeout(ctx, resolveWait)
	defer cancel()
	answers := make([]*LocalHost, len(patterns))
	var wg sync.WaitGroup
	for i, p := range patterns {
		switch {
		case p.Wildcard(), a.Ledger.LocalApproved(s, p.Host()):
		case p.Local():
			spelled = append(spelled, p.Host())
		default:
			wg.Go(func() {
				private, err := a.PrivateAddrs(ctx, p.Host())
				if err == nil && len(private) > 0 {
					answers[i] = &LocalHost{p.Host(), private}
				}
			})
		}
	}
	wg.Wait()
	for _, one := range answers {
		if one != nil {
			found = append(found, *one)
		}
	}
	return spelled, found
}

func hostsOf(local []LocalHost) []gate.Host {
	hosts := make([]gate.Host, len(local))
	for i, l := range local {
		hosts[i] = l.Host
	}
	return hosts
}
