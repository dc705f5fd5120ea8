package chrome

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// startTimeout bounds a Chromium that comes up and then says nothing.
const startTimeout = 30 * time.Second

// launch starts one Chromium with both listeners in place before anything can
// load: until Arm the proxy lets no document through.
func launch(c *Config) (*instance, error) {
	path, err := FindProgram(c.Path)
	if err != nil {
		return nil, &StartError{err, "install Chromium (on Debian: sudo apt-get install chromium), or set browser.path"}
	}
	p, err := openProfile(c.Profile)
	if err != nil {
		return nil, &StartError{err, "close the other Sallyport, or set browser.profile to another directory"}
	}
	if c.StallWait == 0 {
		c.StallWait = stallWait
	}
	in := newInstance(c, p)
	if err := in.start(path); err != nil {
		in.stop(context.Background())
		c.Log.Error("Chromium did not start", "error", err)
		return nil, &StartError{brief(err), "run: sallyport doctor"}
	}
	return in, nil
}

// brief keeps the line of Chromium's many that says why: the first of its errors.
func brief(err error) error {
	lines := strings.Split(err.Error(), "\n")
	for _, line := range lines[1:] {
		if _, why, is := strings.Cut(line, ":ERROR:"); is {
			return errors.New(lines[0] + " " + why)
		}
	}
	return errors.New(strings.TrimSuffix(lines[0], ":") + ", and said nothing")
}

func (in *instance) start(path string) error {
	output := &logWriter{log: in.log}
	options := append(launchOptions(in.cfg, path, in.profile.dir), chromedp.CombinedOutput(output))
	allocator, cancelAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	debug := func(format string, args ...any) { in.log.Debug("chromedp", "says", fmt.Sprintf(format, args...)) }
	ctx, cancel := chromedp.NewContext(allocator, chromedp.WithLogf(debug), chromedp.WithErrorf(debug))
	in.ctx = ctx
	in.cancel = func() { cancel(); cancelAllocator() }

	failed := time.AfterFunc(startTimeout, in.cancel)
	defer failed.Stop()
	// The first call starts the process; its life is bound to ctx.
	if err := chromedp.ListenBrowser(ctx, func(event any) { in.hear(event, in.heard) }); err != nil {
		return fmt.Errorf("starting %s: %w", path, err)
	}
	in.browser = chromedp.FromContext(ctx).Browser
	go in.loop()
	in.wg.Go(in.watch)
	in.wg.Go(func() {
		<-in.browser.LostConnection
		in.lost()
	})
	return in.arm()
}

// arm turns on what the gate needs, Fetch first.
func (in *instance) arm() error {
	on := true
	documents := []*fetch.RequestPattern{{URLPattern: "*", ResourceType: network.ResourceTypeDocument}}
	if _, err := chromedp.CallBrowser(in.ctx, fetch.Enable, fetch.EnableParams{Patterns: documents, HandleAuthRequests: &on}); err != nil {
		return fmt.Errorf("enabling Fetch: %w", err)
	}
	discover := target.SetDiscoverTargetsParams{Discover: true}
	if _, err := chromedp.CallBrowser(in.ctx, target.SetDiscoverTargets, discover); err != nil {
		return fmt.Errorf("discovering tabs: %w", err)
	}
	in.ledger.Arm(true)
	return nil
}

// logWriter sends Chromium's own output to the log, a line at a time.
type logWriter struct {
	log *slog.Logger
}

func (w *logWriter) Write(p []byte) (int, error) {
	w.log.Debug("chromium says", "text", string(p))
	return len(p), nil
}
