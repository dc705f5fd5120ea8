package chrome

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// The viewport is 520 by 640; Chromium's own frame takes the rest.
const (
	promptWidth  = 520
	promptHeight = 640 + 90
)

func (w *promptWindow) create(ctx context.Context, content promptPage) error {
	url, err := content.dataURL()
	if err != nil {
		return err
	}
	yes := true
	made, err := chromedp.CallBrowser(w.in.ctx, target.CreateTarget, target.CreateTargetParams{
		URL: url, BrowserContextID: w.context, NewWindow: &yes, Width: promptWidth, Height: promptHeight,
	})
	if err != nil {
		return fmt.Errorf("opening the approval window: %w", err)
	}
	w.target, w.frame = made.TargetID, cdp.FrameID(made.TargetID)
	w.ctx, w.cancel = chromedp.NewContext(w.in.ctx, chromedp.WithTargetID(w.target), chromedp.WithDetachOnCancel(), chromedp.WithListener(w.heard))
	if err := chromedp.Do(w.ctx); err != nil {
		return fmt.Errorf("watching the approval window: %w", err)
	}
	if err := w.settle(ctx); err != nil {
		return err
	}
	world := "sallyport" + rand.Text()
	if _, err := chromedp.Call(w.ctx, runtime.AddBinding, runtime.AddBindingParams{Name: w.binding, ExecutionContextName: world}); err != nil {
		return fmt.Errorf("binding the approval window: %w", err)
	}
	isolated, err := chromedp.Call(w.ctx, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: w.frame, WorldName: world})
	if err != nil {
		return fmt.Errorf("isolating the approval window's script: %w", err)
	}
	w.world = isolated.ExecutionContextID
	return w.place(ctx)
}

// place puts the window where all of it is on the screen: what is below the edge,
// on a small screen or a magnified one, are the buttons.
func (w *promptWindow) place(ctx context.Context) error {
	raw, err := w.value("[screen.availLeft, screen.availTop, screen.availWidth, screen.availHeight]")
	if err != nil {
		return fmt.Errorf("looking at the screen: %w", err)
	}
	var screen [4]int64
	if err := json.Unmarshal(raw, &screen); err != nil {
		return fmt.Errorf("looking at the screen: %w", err)
	}
	held, err := chromedp.CallBrowser(w.in.ctx, browser.GetWindowForTarget, browser.GetWindowForTargetParams{TargetID: w.target})
	if err != nil {
		return fmt.Errorf("placing the approval window: %w", err)
	}
	at := placed(screen)
	_, err = chromedp.CallBrowser(w.in.ctx, browser.SetWindowBounds, browser.SetWindowBoundsParams{WindowID: held.WindowID, Bounds: &at})
	if err != nil {
		return fmt.Errorf("placing the approval window: %w", err)
	}
	return nil
}

// placed is the window's place on a screen, of which the left, the top, the width
// and the height are free: a little above the middle.
func placed(screen [4]int64) browser.Bounds {
	width, height := min(promptWidth, screen[2]), min(promptHeight, screen[3])
	left, top := screen[0]+(screen[2]-width)/2, screen[1]+(screen[3]-height)/3
	return browser.Bounds{Left: &left, Top: &top, Width: width, Height: height}
}

// focus brings the window to the front until its page says that it has the
// focus. A window manager may refuse; the window then waits for a click.
func (w *promptWindow) focus(ctx context.Context, focused bool) error {
	for range 20 {
		if focused {
			return nil
		}
		if _, err := chromedp.Call(w.ctx, page.BringToFront, cdp.Empty{}); err != nil {
			return fmt.Errorf("bringing the approval window to the front: %w", err)
		}
		if err := rest(ctx, 50*time.Millisecond); err != nil {
			return err
		}
		var err error
		if focused, err = w.evaluate("document.hasFocus()"); err != nil {
			return fmt.Errorf("looking at the approval window: %w", err)
		}
	}
	w.in.log.Warn("the window manager does not give the approval window the focus")
	return nil
}

// Bounds of raising the window again.
const (
	raiseSoon  = 300 * time.Millisecond // after a window opened, so that it is there
	raiseApart = 2 * time.Second        // leaves time to answer, however many windows open
)

// raiseAfter is how long to wait before the window may be raised.
func (w *promptWindow) raiseAfter() time.Duration {
	return max(raiseSoon, raiseApart-time.Since(w.raised))
}

// raise brings the window above what was opened since. Its quiet time begins anew.
func (w *promptWindow) raise() {
	w.raised = time.Now()
	if _, err := w.evaluate("raised()"); err != nil {
		w.in.log.Debug("raising the approval window", "error", err)
		return
	}
	if _, err := chromedp.Call(w.ctx, page.BringToFront, cdp.Empty{}); err != nil {
		w.in.log.Debug("raising the approval window", "error", err)
	}
}

// Raise brings the window back above what was opened since. It does not block.
func (w *promptWindow) Raise() {
	select {
	case w.buried <- struct{}{}:
	default:
	}
}
