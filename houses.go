package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"sallyport/certs"
	"sallyport/chrome"
	"sallyport/ledger"
	"sallyport/mcpfront"
	"sallyport/proxy"
)

// The end takes 5 s at most, counted from the end of input or the signal. Calls
// may use 3 s of that, so the houses get what is left, and leastStop at least.
// Whatever has not ended by then is left to the kernel, which ends Chromium with
// us, and to the next start, which removes what it left behind.
const (
	stopWithin = 4500 * time.Millisecond
	leastStop  = 1500 * time.Millisecond
)

// houses are all parts of a running Sallyport, joined.
type houses struct {
	audit   *ledger.Audit // nil is none
	ledger  *ledger.Ledger
	proxy   *proxy.Proxy
	browser *chrome.Browser
	front   *mcpfront.Server

	endProxy context.CancelFunc
	served   chan error // the proxy's end
}

// openHouses builds them in the order of the arrows. Chromium starts later, at the
// first call that needs it.
func openHouses(c Config, log *slog.Logger) (h *houses, err error) {
	audit, err := openAudit(c.Ledger, log)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			audit.Close()
		}
	}()
	h = &houses{ledger: ledger.New(ledger.Config{Log: log, LeaseTTL: c.Lease.TTL, Audit: audit}), audit: audit, served: make(chan error, 1)}
	authority, err := certs.NewEphemeral()
	if err != nil {
		return nil, err
	}
	roots, err := readAll(c.Proxy.ExtraRoots)
	if err != nil {
		return nil, err
	}
	h.proxy, err = proxy.New(proxy.Config{
		Ledger: h.ledger, Authority: authority, Pins: c.Proxy.pins, PublicRanges: c.Proxy.ranges,
		Upstream: c.Proxy.upstream, ExtraRoots: roots, Log: log,
	})
	if err != nil {
		return nil, err
	}
	display := chrome.DisplayAnswers()
	h.browser, err = chrome.New(chrome.Config{
		Ledger: h.ledger, ProxyAddr: h.proxy.Addr(), Pin: authority.Pin(),
		Path: c.Browser.Path, Profile: c.Browser.Profile, Headless: c.Browser.Headless || !display, Display: display,
		Width: c.Browser.width, Height: c.Browser.height, Args: c.Browser.Args,
		PromptTimeout: c.Prompt.Timeout, NavigateTimeout: c.Navigate.Timeout,
		PrivateAddrs: h.proxy.PrivateAddrs, PublicRanges: c.Proxy.ranges, Log: log,
	})
	if err != nil {
		h.proxy.Close()
		return nil, err
	}
	h.front = mcpfront.New(mcpfront.Config{Ledger: h.ledger, Browser: h.browser, Version: version, Log: log})
	ctx, cancel := context.WithCancel(context.Background())
	h.endProxy = cancel
	go func() { h.served <- h.proxy.Serve(ctx) }()
	return h, nil
}

// close stops them in reverse, within a time.
func (h *houses) close(within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		err := h.browser.Close(ctx)
		h.endProxy()
		if served := <-h.served; err == nil {
			err = served
		}
		h.audit.Close()
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return fmt.Errorf("not everything ended within %s", within.Round(time.Millisecond))
	}
}

// openAudit starts the audit log, if there is to be one.
func openAudit(c LedgerConfig, log *slog.Logger) (*ledger.Audit, error) {
	if c.Path == "" {
		return nil, nil
	}
	audit, err := ledger.OpenAudit(ledger.AuditConfig{
		Path: c.Path, Full: !c.Redact, MaxSize: c.maxSize, Keep: c.Keep, Required: c.Required, Log: log,
	})
	if err != nil {
		return nil, fmt.Errorf("ledger.path: %w", err)
	}
	return audit, nil
}

// readAll reads the files of proxy.extra_roots.
func readAll(files []string) ([][]byte, error) {
	var all [][]byte
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("proxy.extra_roots: %w", err)
		}
		all = append(all, raw)
	}
	return all, nil
}

// runMCP serves one session on stdio.
func runMCP(ctx context.Context, c Config, s streams) error {
	log := newLog(c, s.err)
	c.unfinished(log)
	h, err := openHouses(c, log)
	if err != nil {
		return err
	}
	in := &timedInput{Reader: s.in}
	defer context.AfterFunc(ctx, in.end)()
	err = h.front.Serve(ctx, in, s.out)
	if stopped := h.close(in.left()); stopped != nil {
		log.Error("stopping", "error", stopped)
	}
	return err
}

// timedInput remembers when the input ended, or the signal came.
type timedInput struct {
	io.Reader
	once  sync.Once
	ended time.Time // set by once
}

func (t *timedInput) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	if err != nil {
		t.end()
	}
	return n, err
}

func (t *timedInput) end() { t.once.Do(func() { t.ended = time.Now() }) }

// left is how long stopping may still take.
func (t *timedInput) left() time.Duration {
	t.end()
	return max(leastStop, stopWithin-time.Since(t.ended))
}

func newLog(c Config, w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.Log.level}
	if c.Log.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
