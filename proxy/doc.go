// Package proxy is gate one: the only way out of Chromium. It intercepts every
// tunnel, lets no document through without a ticket of the DevTools layer,
// judges what the wire itself shows by the same policy, and dials no private
// address that no person approved.
//
// It meets the DevTools layer in the ledger only.
package proxy
