package chrome

import (
	"context"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"

	"sallyport/gate"
)

// downloadWillBegin is the tab's own event, which cdproto leaves out since it is
// deprecated. Its heir, of the browser, comes only after
// Browser.setDownloadBehavior, and with that Chromium takes "Save page as" away
// from the person (TestAPersonSavesPagesAndDownloads).
var downloadWillBegin = cdp.Event[browser.EventDownloadWillBegin]{Method: "Page.downloadWillBegin"}

// watchDownloads listens until the tab is gone.
func (in *instance) watchDownloads(t *tab) {
	downloads := chromedp.Events(t.ctx, downloadWillBegin)
	in.async(func(context.Context) {
		for e, err := range downloads {
			if err != nil {
				return // with the tab, or with the browser
			}
			in.mailbox.post(func() { in.downloading(t, e) })
		}
	})
}

// downloading ends a download that an agent or a page started in a session's
// tab. What a person started goes on.
func (in *instance) downloading(t *tab, e browser.EventDownloadWillBegin) {
	if !t.gated() || in.personLoads(t, e.URL) {
		return
	}
	in.log.Info("download in a session's tab denied", "tab", t.id, "url", gate.Redact(e.URL))
	in.async(func(ctx context.Context) {
		_, err := chromedp.CallBrowser(ctx, browser.CancelDownload, browser.CancelDownloadParams{GUID: e.GUID})
		if err != nil {
			in.log.Warn("cancelling a download", "error", err)
		}
	})
}
