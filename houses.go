package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"sallyport/certs"
	"sallyport/chrome"
	"sallyport/ledger"
	"sallyport/mcpfront"
	"sallyport/proxy"
)

// stopWithin bounds the end: whatever has not ended by then is left to the
// kernel, which ends Chromium with us.
const stopWithin = 4 * time.Second

// houses are all parts of a running Sallyport, joined.
type houses struct {
	ledger  *ledger.Ledger
	proxy   *proxy.Proxy
	browser *chrome.Browser
	front   *mcpfront.Server

	endProxy context.CancelFunc
	served   chan error // the proxy's end
}

// openHouses builds them in the order of the arrows. Chromium starts later, at the
// first call that needs it.
func openHouses(c Config, log *slog.Logger) (*houses, error) {
	h := &houses{ledger: ledger.New(ledger.Config{Log: log, LeaseTTL: c.Lease.TTL}), served: make(chan error, 1)}
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
	h.browser, err = chrome.New(chrome.Config{
		Ledger: h.ledger, ProxyAddr: h.proxy.Addr(), Pin: authority.Pin(),
		Path: c.Browser.Path, Profile: c.Browser.Profile, Headless: c.Browser.Headless || !chrome.HasDisplay(), Display: chrome.HasDisplay(),
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

// close stops them in reverse.
func (h *houses) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		err := h.browser.Close(ctx)
		h.endProxy()
		if served := <-h.served; err == nil {
			err = served
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return fmt.Errorf("stopping: not everything ended within %s", stopWithin)
	}
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
func runMCP(ctx context.Context, c Config, stdin io.Reader, stdout, stderr io.Writer) error {
	log := newLog(c, stderr)
	c.unfinished(log)
	h, err := openHouses(c, log)
	if err != nil {
		return err
	}
	err = h.front.Serve(ctx, stdin, stdout)
	if stopped := h.close(); stopped != nil {
		log.Error("stopping", "error", stopped)
	}
	return err
}

func newLog(c Config, w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.Log.level}
	if c.Log.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
