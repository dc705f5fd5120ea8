package chrome

import (
	"context"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"sallyport/gate"
)

// challenged answers a document that wants a password. An agent or a page gets
// the server's own 401 page: a dialog would hold the call up until its time is
// over. A person gets the dialog.
func (in *instance) challenged(e *fetch.EventAuthRequired) {
	answer := fetch.AuthChallengeResponseResponseDefault
	if t := in.tabs[target.ID(e.FrameID)]; t != nil && t.gated() && !in.personLoads(t, e.Request.URL) {
		answer = fetch.AuthChallengeResponseResponseCancelAuth
	}
	in.async(func(ctx context.Context) {
		_, err := chromedp.CallBrowser(ctx, fetch.ContinueWithAuth, fetch.ContinueWithAuthParams{
			RequestID:             e.RequestID,
			AuthChallengeResponse: &fetch.AuthChallengeResponse{Response: answer},
		})
		if err != nil {
			in.log.Debug("answering a challenge", "error", err)
		}
	})
}

// personLoads reports whether a person's navigation loads the URL in the tab.
func (in *instance) personLoads(t *tab, url string) bool {
	at, err := gate.Parse(url)
	if err != nil {
		return false
	}
	for _, n := range t.navs {
		if n.initiator == gate.User && n.last.Same(at) {
			return true
		}
	}
	return false
}
