package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/chrome"
	"sallyport/fixtures"
	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/proxy"
)

// hinge is the one address at which proxies come and go.
type hinge struct {
	net.Listener
	to atomic.Pointer[string]
}

func newHinge(t *testing.T) *hinge {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	h := &hinge{Listener: l}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { h.join(c) })
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return h
}

// join carries bytes until either side ends.
func (h *hinge) join(c net.Conn) {
	defer c.Close()
	to, err := net.Dial("tcp", *h.to.Load())
	if err != nil {
		return
	}
	defer to.Close()
	go func() { _, _ = io.Copy(to, c); to.Close(); c.Close() }()
	_, _ = io.Copy(c, to)
}

// startProxy starts one that takes the place of the one before.
func (h *hinge) startProxy(t *testing.T, c proxy.Config) (stop func()) {
	t.Helper()
	p, err := proxy.New(c)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- p.Serve(ctx) }()
	addr := p.Addr()
	h.to.Store(&addr)
	stop = sync.OnceFunc(func() { cancel(); assert.NoError(t, <-served) })
	t.Cleanup(stop)
	return stop
}

// TestAProxyThatIsStartedAgainServesTheSameBrowser ends gate one, with warm
// connections and with a load under way, and starts another at its address with
// the same ledger.
func TestAProxyThatIsStartedAgainServesTheSameBrowser(t *testing.T) {
	h := newHinge(t)
	nobody := "127.0.0.1:1"
	h.to.Store(&nobody)
	var config proxy.Config
	g := newGates(t, func(p *proxy.Config, c *chrome.Config) {
		c.ProxyAddr = h.Addr().String()
		config = *p
	}, "good.test")
	stop := h.startProxy(t, config)
	_, err := g.navigate(t, "https://good.test/")
	require.NoError(t, err)

	stop()
	stop = h.startProxy(t, config)
	_, err = g.navigate(t, "https://good.test/two.html")
	require.NoError(t, err, "connections that were warm are no obstacle")

	under := make(chan error, 1)
	go func() { _, err := g.navigate(t, "https://good.test/-/stall"); under <- err }()
	_, err = g.web.WaitHit(t.Context(), "good.test", "/-/stall")
	require.NoError(t, err)
	stop()
	select {
	case err := <-under:
		assert.NotEqual(t, "net::ERR_TIMED_OUT", netCode(t, err), "it is told, not waited out")
	case <-time.After(wait):
		require.Fail(t, "the load under way hangs")
	}
	begun := time.Now()
	_, err = g.navigate(t, "https://good.test/down")
	assert.NotEmpty(t, netCode(t, err))
	assert.Less(t, time.Since(begun), wait)
	for _, hit := range g.web.Hits("good.test") {
		assert.NotEqual(t, "/down", hit.Path)
	}

	h.startProxy(t, config)
	_, err = g.navigate(t, "https://good.test/again")
	require.NoError(t, err)
	_, err = g.navigate(t, g.web.URL("good.test", fixtures.Query("/-/status/302", "to", "https://evil.test/")))
	var denied *chrome.DeniedError
	assert.ErrorAs(t, err, &denied)
	assert.Zero(t, g.web.Connections("evil.test"))
}

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

// TestAFullDiskRefusesNavigationsWhereTheLogIsRequired leads the audit log to a
// device that is always full, and back.
func TestAFullDiskRefusesNavigationsWhereTheLogIsRequired(t *testing.T) {
	dir := t.TempDir()
	file, path := filepath.Join(dir, "log"), filepath.Join(dir, "audit.jsonl")
	leadTo := func(to string) {
		require.NoError(t, os.Symlink(to, path+".new"))
		require.NoError(t, os.Rename(path+".new", path))
	}
	leadTo(file)
	var log lockedBuffer
	audit, err := ledger.OpenAudit(ledger.AuditConfig{Path: path, Required: true, Log: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	t.Cleanup(audit.Close)
	g := newGates(t, func(p *proxy.Config, c *chrome.Config) {
		l := ledger.New(ledger.Config{Audit: audit})
		p.Ledger, c.Ledger = l, l
	}, "good.test")
	page := g.web.URL("good.test", fixtures.Query("/-/js", "how", "location", "after", "1500", "to", "https://good.test/left"))
	_, err = g.navigate(t, page)
	require.NoError(t, err)

	leadTo("/dev/full")
	g.BeginSession("while it is full", nil) // something to write
	require.Eventually(t, func() bool { return !g.Recording() }, wait, tick)
	for range 3 {
		assert.Equal(t, "net::ERR_FAILED", netCode(t, g.visit(t, "https://good.test/full")))
	}
	assert.Equal(t, gate.Page, g.denied(t, "https://good.test/left").Initiator, "the page's own navigation as well")
	g.shows(t, page)
	for _, hit := range g.web.Hits("good.test") {
		assert.NotContains(t, []string{"/full", "/left"}, hit.Path)
	}
	assert.Equal(t, 1, strings.Count(log.String(), "can't be written"), "said once: %s", log.String())
	assert.Contains(t, log.String(), "no space left on device")

	leadTo(file)
	require.Eventually(t, g.Recording, wait, tick, "asking is enough to try again")
	_, err = g.navigate(t, "https://good.test/two.html")
	require.NoError(t, err)
	audit.Close()
	written, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(written), "unrecorded", "what waited was written")
}
