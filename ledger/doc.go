// Package ledger holds what the two gates share, and nothing else does:
// sessions, allowlists, tabs, leases, navigations, tickets, evidence, verdicts.
//
// The proxy and the DevTools layer never speak to each other. Each writes what
// it saw and decided about a hop as evidence here; [Ledger.Settle] concludes
// only when both have written. What is missing is never filled in: a hop that
// one layer let through and the other did not see is a disagreement, and a
// disagreement refuses.
//
// Locks are held over maps only, never over I/O, a channel send or a call into
// another package but gate.
package ledger
