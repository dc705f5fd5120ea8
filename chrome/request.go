package chrome

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// Request makes a blank page ask for URLs as subresources, and returns when each
// was answered or refused: doctor's way to see which way they go.
func (b *Browser) Request(ctx context.Context, urls ...string) error {
	in, err := b.current()
	if err != nil {
		return err
	}
	made, err := chromedp.CallBrowser(in.ctx, target.CreateTarget, target.CreateTargetParams{URL: "about:blank"})
	if err != nil {
		return in.orGone(fmt.Errorf("opening a page: %w", err))
	}
	page, cancel := chromedp.NewContext(in.ctx, chromedp.WithTargetID(made.TargetID))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	list, err := json.Marshal(urls)
	if err != nil {
		return err
	}
	wait := true
	_, err = chromedp.Call(page, runtime.Evaluate, runtime.EvaluateParams{
		Expression:   "Promise.allSettled(" + string(list) + ".map(u => fetch(u, {mode: 'no-cors'})))",
		AwaitPromise: &wait,
	})
	if err != nil {
		return in.orGone(fmt.Errorf("asking from a page: %w", err))
	}
	return nil
}
