package chrome

import (
	"context"
	"strings"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/chromedp"

	"sallyport/gate"
)

// openFile lets a person look at a file of their own: Fetch pauses those too, and
// they have no host to judge. In a session's tab it takes the person's act, or a
// file that they have put there: to reload it, say.
func (in *instance) openFile(t *tab, p *pause) {
	if t.gated() && !strings.HasPrefix(t.shown.url, "file:") {
		who, known := in.initiatorOf(t, p)
		if !known {
			in.park(t, p)
			return
		}
		if who != gate.User {
			in.fail(p)
			return
		}
	}
	in.async(func(ctx context.Context) {
		_, err := chromedp.CallBrowser(ctx, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: p.event.RequestID})
		if err != nil {
			in.log.Debug("continuing to a file", "error", err)
		}
	})
}
