// Package chrome is gate two: it starts a real Chromium, watches its tabs, and
// judges every top-level document that Chromium's DevTools Fetch layer pauses,
// in every tab and at every redirect hop. It also asks the person, in a window
// of that same Chromium.
//
// It meets the proxy in the ledger only: to each document that it lets through
// it adds a ticket, which the proxy redeems.
package chrome
