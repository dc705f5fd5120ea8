package main

import (
	"fmt"
	"strings"
)

// sentences say of each setting what it does, for --help and for README's table.
var sentences = map[string]string{
	"browser.path":        "the Chromium to start; empty looks for one in PATH",
	"browser.profile":     "\"ephemeral\", or a directory that keeps your sign-ins",
	"browser.headless":    "no windows, so nobody can be asked: for the few who only list tabs",
	"browser.window":      "size of the agents' windows",
	"browser.args":        "more arguments for Chromium, from a safe list",
	"proxy.upstream":      "URL of an HTTP proxy to go through",
	"proxy.extra_roots":   "PEM files of authorities to trust as well",
	"proxy.resolve":       "\"host=address:port\" or \"*.host=address:port\": leads a name to an address, whatever port the URL names; the name then counts as public",
	"proxy.public_ranges": "CIDRs that count as public, for machines whose DNS hands out fake addresses",
	"prompt.timeout":      "how long you have to answer, from when the window is shown",
	"navigate.timeout":    "how long a page has to load",
	"lease.ttl":           "how long a session keeps a tab that it does not use",
	"ledger.path":         "file for the audit log: what sessions asked, what you answered, what each gate saw of every navigation in their tabs, and none in yours; empty is off",
	"ledger.redact":       "leave query strings out of the audit log",
	"ledger.max_size":     "size at which the audit log begins a new file",
	"ledger.keep":         "how many full files of the audit log stay",
	"ledger.required":     "refuse agents' navigations while the audit log can't be written",
	"log.level":           "what goes to stderr: debug, info, warn or error",
	"log.format":          "how it is written there: text or json",
	"host.socket":         "where the shared host listens (no effect yet)",
	"probe.listen":        "where the standalone proxy listens (no effect yet)",
	"probe.domains":       "patterns that the standalone proxy lets through, never an MCP session (no effect yet)",
	"probe.mode":          "enforce refuses what no pattern names, observe only logs it (no effect yet)",
	"probe.ca_dir":        "directory of the standalone proxy's authority; empty is one of Sallyport's own (no effect yet)",
	"metrics.listen":      "where metrics are served; empty is off (no effect yet)",
}

// table is README's: each setting with its default.
func (s *settings) table() string {
	var b strings.Builder
	b.WriteString("| key | default | |\n|---|---|---|\n")
	for _, key := range s.names() {
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", key, text(s.keys[key]), sentences[key])
	}
	return b.String()
}
