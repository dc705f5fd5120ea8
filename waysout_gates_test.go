package main

import (
	"context"
	"io"
	"net"
	"net/netip"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/chrome"
	"sallyport/fixtures"
	"sallyport/gate"
	"sallyport/mcpfront"
	"sallyport/proxy"
)

// open is the policy of a gate that lets everything through.
func open(gate.Query) gate.Decision { return gate.Decision{Allowed: true, Rule: gate.RulePattern} }

// corpusIn is a run of the corpus in process, where a test can open a gate.
func corpusIn(t *testing.T, change func(*proxy.Config, *chrome.Config)) *corpusRun {
	t.Helper()
	g := newGates(t, change)
	front := mcpfront.New(mcpfront.Config{Ledger: g.Ledger, Browser: g.browser, Log: testLog(t)})
	fromAgent, toFront := io.Pipe()
	fromFront, toAgent := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- front.Serve(context.Background(), fromAgent, toAgent); toAgent.Close() }()
	a := newAgent(fromFront, toFront, nil)
	t.Cleanup(func() { toFront.Close(); assert.NoError(t, <-served); <-a.done })
	require.NoError(t, a.initialize(t.Context(), "corpus"))
	_, port, err := net.SplitHostPort(g.proxyAddr)
	require.NoError(t, err)
	return &corpusRun{agent: a, web: g.web, proxyPort: port,
		approve: func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }}
}

// TestEitherGateHoldsAlone opens one gate, as a fault in it would, and runs the
// corpus: what the other does not hold by itself says why. A sample of the cases in
// an ordinary run, all of them with SALLYPORT_TEST_LONG=1.
func TestEitherGateHoldsAlone(t *testing.T) {
	modes := map[string]func(*proxy.Config, *chrome.Config){
		"the DevTools layer alone": func(p *proxy.Config, _ *chrome.Config) { p.Decide = open },
		"the proxy alone":          func(_ *proxy.Config, c *chrome.Config) { c.Decide = open },
	}
	for name, change := range modes {
		t.Run(name, func(t *testing.T) {
			r := corpusIn(t, change)
			r.oneGate = true
			r.run(t, sample(corpusWays(func(w fixtures.WayOut) bool {
				return w.Outcome == "contained" && w.Gate != "front" && w.Why == "" && len(w.Names) == 0
			}), 12))
		})
	}
}

// sample is every nth case, or all of them in a long run.
func sample(ways []fixtures.WayOut, n int) []fixtures.WayOut {
	if os.Getenv("SALLYPORT_TEST_LONG") != "" || *only != "" {
		return ways
	}
	var some []fixtures.WayOut
	for i := 0; i < len(ways); i += n {
		some = append(some, ways[i])
	}
	return some
}

// TestNamesThatLeadHomeAreNotFollowed runs the cases whose names lead where they
// should not, by a name server of the test's own.
func TestNamesThatLeadHomeAreNotFollowed(t *testing.T) {
	ways := corpusWays(func(w fixtures.WayOut) bool { return len(w.Names) > 0 })
	names := map[string][]string{}
	for _, way := range ways {
		for name, answers := range way.Names {
			names[name] = answers
		}
	}
	server := fixtures.StartNames(t, names)
	before := net.DefaultResolver
	net.DefaultResolver = server.Resolver()
	t.Cleanup(func() { net.DefaultResolver = before })
	// Where nobody listens counts as public, so that nothing leaves this machine.
	public := []netip.Prefix{netip.MustParsePrefix("127.7.7.0/24")}
	r := corpusIn(t, func(p *proxy.Config, c *chrome.Config) { p.PublicRanges, c.PublicRanges = public, public })
	r.run(t, ways)
	for name := range names {
		assert.Positive(t, server.Asked(name), "%s was looked up", name)
	}
}
