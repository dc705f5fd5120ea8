package chrome

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"sallyport/ledger"
)

// instance is one running Chromium.
//
// Everything it knows of tabs is touched by one goroutine only, loop, which does
// what the mailbox holds, in order. DevTools events become items of the mailbox;
// DevTools commands run on goroutines of their own and post what came of them.
// So there is no lock to hold over a command, and no listener that can block.
type instance struct {
	cfg     *Config
	log     *slog.Logger
	ledger  *ledger.Ledger
	profile *profile

	ctx     context.Context // chromedp's; ends with the browser
	cancel  func()
	browser *chromedp.Browser

	mailbox  *mailbox
	gone     chan struct{} // closed when the browser is gone
	mourned  chan struct{} // closed when Browser knows, too
	idle     chan struct{} // closed when the loop has ended
	goneOnce sync.Once
	stopOnce sync.Once
	wg       sync.WaitGroup

	// Below: touched by loop alone.
	tabs           map[target.ID]*tab
	byID           map[ledger.TabID]*tab
	promptContexts map[cdp.BrowserContextID]bool
	departed       map[target.ID]bool // sessions' tabs that closed just now
	placing        []*pause           // pauses of frames, or of tabs not told yet
	creating       int                // createTarget commands of ours under way
	unclaimed      []*target.Info     // new tabs that may turn out to be ours
}

func newInstance(c *Config, p *profile) *instance {
	return &instance{
		cfg:            c,
		log:            c.Log,
		ledger:         c.Ledger,
		profile:        p,
		mailbox:        newMailbox(),
		gone:           make(chan struct{}),
		mourned:        make(chan struct{}),
		idle:           make(chan struct{}),
		cancel:         func() {},
		tabs:           map[target.ID]*tab{},
		byID:           map[ledger.TabID]*tab{},
		departed:       map[target.ID]bool{},
		promptContexts: map[cdp.BrowserContextID]bool{},
	}
}

// loop runs until the browser is gone. A panic in a decision ends the browser:
// nothing is left open, and nothing hangs.
func (in *instance) loop() {
	defer close(in.idle)
	defer func() {
		if r := recover(); r != nil {
			in.log.Error("deciding on a browser event panicked; ending the browser", "panic", r, "stack", string(debug.Stack()))
			go in.cancel()
		}
	}()
	for {
		select {
		case <-in.mailbox.ready:
			for _, f := range in.mailbox.take() {
				f()
			}
		case <-in.gone:
			return
		}
	}
}

// do runs f on the loop and waits for it. It returns ErrGone when the browser
// goes first.
func (in *instance) do(f func()) error {
	done := make(chan struct{})
	in.mailbox.post(func() { defer close(done); f() })
	select {
	case <-done:
		return nil
	case <-in.gone:
		return ErrGone
	}
}

// unlessGone runs commands and waits for them, but no longer than the browser
// lasts: while a listener stands still chromedp holds a lock that no context ends.
func (in *instance) unlessGone(commands func()) error {
	done := make(chan struct{})
	in.wg.Go(func() { defer close(done); commands() })
	select {
	case <-done:
		return nil
	case <-in.gone:
		return ErrGone
	}
}

// async runs a command on a goroutine of its own.
func (in *instance) async(f func(ctx context.Context)) {
	in.wg.Go(func() { f(in.ctx) })
}

// after runs f on the loop when d has passed, unless the browser goes first.
func (in *instance) after(d time.Duration, f func()) {
	in.wg.Go(func() {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			in.mailbox.post(f)
		case <-in.gone:
		}
	})
}

// lost is called once the connection to Chromium has ended, for whatever reason.
func (in *instance) lost() {
	in.goneOnce.Do(func() {
		in.ledger.Arm(false)
		close(in.gone)
	})
}

// stop ends Chromium, politely first, and takes a temporary profile away.
func (in *instance) stop(ctx context.Context) error {
	var err error
	in.stopOnce.Do(func() {
		in.ledger.Arm(false)
		if in.browser != nil && !closed(in.gone) {
			polite, cancel := context.WithTimeout(in.ctx, 2*time.Second)
			_ = chromedp.Cancel(polite) // what does not end politely is killed next
			cancel()
		}
		in.cancel()
		in.lost()
		in.awaitIdle()
		if err = in.profile.close(); err != nil {
			err = fmt.Errorf("removing the temporary profile: %w", err)
		}
	})
	return err
}

// awaitIdle leaves a loop or a command that stalls behind: waiting for it would
// stall as well.
func (in *instance) awaitIdle() {
	if in.browser == nil {
		return // nothing was begun
	}
	idle := make(chan struct{})
	go func() {
		<-in.idle
		in.wg.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-time.After(idleWait):
		in.log.Error("not everything of the browser has ended")
	}
}

// idleWait bounds how long what is under way may take to notice that the browser
// is gone.
const idleWait = 2 * time.Second
