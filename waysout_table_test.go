package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/fixtures"
	"sallyport/ledger"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const tableFile = "docs/ways-out.md"

// sightings are what the audit log of a run says, by tab.
type sightings map[string][]ledger.Record

func readSightings(t *testing.T, log string) sightings {
	t.Helper()
	seen := sightings{}
	require.NoError(t, ledger.ReadAudit(log, func(r ledger.Record) error {
		seen[string(r.Tab)] = append(seen[string(r.Tab)], r)
		return nil
	}))
	return seen
}

// refusal is the last hop of a case that did not open: the one that counts.
func (s sightings) refusal(got *caseResult) (hop ledger.HopRecord, found bool) {
	for _, r := range s[got.tab] {
		if r.Event == ledger.EventNavigation && r.Verdict != ledger.Allowed && len(r.Hops) > 0 {
			hop, found = r.Hops[len(r.Hops)-1], true
			if hop.Fetch != nil && !hop.Fetch.Allowed || hop.Proxy != nil && !hop.Proxy.Allowed {
				return hop, true // rather than what merely failed
			}
		}
	}
	return hop, found
}

// purged reports that the tab showed a document that no gate had passed.
func (s sightings) purged(got *caseResult) bool {
	return slices.ContainsFunc(s[got.tab], func(r ledger.Record) bool {
		return r.Event == ledger.EventNavigation && r.Verdict == ledger.Disagreed && len(r.Hops) == 0
	})
}

// gateOf is who refused, by the evidence.
func (s sightings) gateOf(got *caseResult) string {
	way := got.way
	switch {
	case way.Outcome == "opens":
		return ""
	case wires(way):
		return "proxy" // nothing else was asked
	case way.Gate == "front":
		return s.frontOf(got)
	}
	hop, found := s.refusal(got)
	switch {
	case s.purged(got):
		return "ledger"
	case !found && way.Gate == "proxy" && way.Code == "":
		return "proxy" // no document: the audit log has no line of it
	case !found:
		return "chromium"
	case hop.Fetch != nil && !hop.Fetch.Allowed:
		return "fetch"
	case hop.Proxy != nil && (!hop.Proxy.Allowed || hop.Proxy.Failure != ""):
		return "proxy"
	}
	return "chromium"
}

// frontOf is "front" where no navigation was even begun. Early cases share a tab,
// so that only their own answers can tell.
func (s sightings) frontOf(got *caseResult) string {
	if slices.Contains([]string{"-32602", "-32010", "net::ERR_DISALLOWED_URL_SCHEME"}, got.code) {
		return "front"
	}
	return "unknown"
}

func wires(way fixtures.WayOut) bool {
	return slices.ContainsFunc(way.Steps, func(s fixtures.WayStep) bool { return s.Wire != nil })
}

// saidBy is one layer's part of a row.
func saidBy(e *ledger.EvidenceRecord) string {
	switch {
	case e == nil:
		return "–"
	case !e.Allowed:
		return "refused: " + strings.ReplaceAll(string(e.Rule), "_", " ")
	case e.Failure != "":
		return "failed: " + e.Failure
	}
	return "allowed"
}

// row is a case in the table.
func (s sightings) row(got *caseResult) string {
	way := got.way
	fetch, proxy, ends := "–", "–", way.Outcome
	if code := got.code; code != "" {
		ends += ", " + code
	}
	switch hop, found := s.refusal(got); {
	case wires(way):
		proxy, ends = fmt.Sprintf("answers %d", got.status), way.Outcome
	case way.Gate == "front":
		ends += " (no request)"
	case way.Outcome == "opens" && got.code == "":
		fetch, proxy = "allowed", "allowed"
	case found:
		fetch, proxy = saidBy(hop.Fetch), saidBy(hop.Proxy)
	case way.Gate == "proxy":
		proxy = "refused"
	case way.Gate == "ledger":
		ends += " (the tab is emptied)"
	case way.Outcome != "opens":
		ends += " (Chromium makes no request)"
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s | %s | %s |", way.ID, escape(way.Says), ends, fetch, proxy, escape(way.Why))
}

func escape(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

const tableTop = `# Ways out, and what each gate saw of them

Made by ` + "`make ways-out`" + ` from the corpus in ` + "`fixtures/waysout`" + `, driven against the built product on a real Chromium; don't edit it. A dash means that a
layer saw nothing of the hop that counts. Where the last column is empty, either gate holds the case alone: a test opens the one, and then the other, and
runs the corpus again. To add a case, add an object to one of the files; ` + "`fixtures/waysout.go`" + ` says what its fields mean.

| case | what it is | how it ends | the DevTools layer | the proxy | why one gate alone can't hold it |
|---|---|---|---|---|---|
`

// checkTable compares the table in the docs with what was seen, or rewrites it.
func checkTable(t *testing.T, r *corpusRun, seen sightings) {
	t.Helper()
	if *only != "" || os.Getenv("SALLYPORT_TEST_LONG") == "" || t.Failed() {
		return // the table is of all cases
	}
	var table strings.Builder
	table.WriteString(tableTop)
	for _, way := range fixtures.WaysOut() {
		if got := r.results[way.ID]; got != nil {
			table.WriteString(seen.row(got) + "\n")
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(tableFile, []byte(table.String()), 0o644))
		return
	}
	written, err := os.ReadFile(tableFile)
	require.NoError(t, err)
	assert.Equal(t, string(written), table.String(), "the table in %s is not what was seen; make ways-out writes it anew", tableFile)
}
