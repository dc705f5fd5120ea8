package main

import (
	"context"
	"flag"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/fixtures"
)

// only runs the cases whose id begins with it.
var only = flag.String("way", "", "run the cases of the corpus whose id begins with this")

// TestNothingGetsOut drives the corpus (in an ordinary run, what the tool itself
// refuses and a sample of the rest) against the built product, on a
// Chromium with windows and with a person who approves by mouse. What needs a name
// server of the test's own runs in process (waysout_names_test.go).
func TestNothingGetsOut(t *testing.T) {
	web := fixtures.Start(t)
	display := fixtures.NeedDisplay(t)
	log := filepath.Join(t.TempDir(), "audit.jsonl")
	p := startProduct(t, web, display.Environ(), "--ledger-path", log)
	p.firstTab(t) // Chromium runs
	r := &corpusRun{agent: p.agent, web: web, proxyPort: p.proxyPort(t),
		approve: func(ctx context.Context) error { return display.Person().Answer(ctx, true) }}
	front := corpusWays(func(w fixtures.WayOut) bool { return len(w.Names) == 0 && w.Gate == "front" })
	rest := corpusWays(func(w fixtures.WayOut) bool { return len(w.Names) == 0 && w.Gate != "front" })
	r.run(t, append(front, sample(rest, 5)...))
	p.stdin.Close()
	p.expectEnd(t)
	seen := readSightings(t, log)
	for id, got := range r.results {
		assert.Equal(t, got.way.Gate, seen.gateOf(got), "which gate refused %s", id)
	}
	checkTable(t, r, seen)
}

// corpusWays are the cases of the corpus that are wanted.
func corpusWays(wanted func(fixtures.WayOut) bool) []fixtures.WayOut {
	var ways []fixtures.WayOut
	for _, way := range fixtures.WaysOut() {
		if strings.HasPrefix(way.ID, *only) && wanted(way) {
			ways = append(ways, way)
		}
	}
	return ways
}

// proxyPort reads the port of the product's proxy off its Chromium.
func (p *product) proxyPort(t *testing.T) string {
	t.Helper()
	for _, pid := range p.browsers() {
		out, _ := exec.Command("ps", "-ww", "-o", "args=", "-p", pid).Output()
		if found := regexp.MustCompile(`--proxy-server=127\.0\.0\.1:(\d+)`).FindSubmatch(out); found != nil {
			return string(found[1])
		}
	}
	require.FailNow(t, "no Chromium names its proxy")
	return ""
}
