// Package gate decides which top-level documents may be loaded. Whatever no
// pattern names is refused.
//
// It is pure: no I/O, no clock, no goroutine, no mutable state. Both gates (the
// proxy and the DevTools layer) and the MCP front ask it the same question with
// [Decide], so that they cannot hold two opinions of one URL.
//
// Every URL is parsed once, by WHATWG rules, into a [Target]; the canonical
// string of a Target is what Chromium is given, and what the two gates compare
// with what they then see.
package gate
