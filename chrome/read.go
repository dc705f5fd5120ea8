package chrome

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"

	"sallyport/gate"
	"sallyport/ledger"
)

// ReadRequest says which tab is read, and for whom.
type ReadRequest struct {
	Session ledger.SessionID
	Tab     ledger.TabID
}

// UnreadableError is a tab whose live document today's list does not cover.
type UnreadableError struct {
	URL string      // of the document, redacted; empty where a person went
	At  gate.Target // where it is; zero for what has no host, and where a person went
	Why string      // a sentence, and the next step
}

func (e *UnreadableError) Error() string { return e.Why }

// Bounds of a reading.
const (
	readWait    = 10 * time.Second // for a page to answer
	settleWait  = 3 * time.Second  // for a document that was just committed to have its verdict
	settleAgain = 50 * time.Millisecond
	readTries   = 3 // for a document that stays while it is read
)

var (
	errReadTimeout = &NetError{Code: "net::ERR_TIMED_OUT", Detail: "the page did not answer within 10 s: it may be busy, or show a dialog; try again, or navigate"}
	errUnsettled   = &NetError{Code: "net::ERR_ABORTED", Detail: "the tab is between two documents; try again"}
)

// reader reads one document: the one that was live, and approved, when it began.
type reader struct {
	in     *instance
	tab    *tab
	frame  *cdp.Frame // the main frame
	views  []*view    // of the frames that may be read
	closes []func()
}

// readLive runs read on the tab's live document. The document is checked in the
// browser before and after: what was read of another one is thrown away.
func readLive[R any](ctx context.Context, b *Browser, r ReadRequest, read func(context.Context, *reader) (R, error)) (R, error) {
	var none R
	in := b.running()
	if in == nil {
		return none, ErrUnknownTab
	}
	ctx, cancel := context.WithTimeoutCause(ctx, readWait, errReadTimeout)
	defer cancel()
	for range readTries {
		before, err := in.live(ctx, r)
		if err != nil {
			return none, in.readError(ctx, err)
		}
		got, err := do(ctx, before, read)
		after, liveErr := in.live(ctx, r)
		switch {
		case liveErr != nil:
			return none, in.readError(ctx, liveErr)
		case after.frame.LoaderID != before.frame.LoaderID:
			continue
		case err != nil:
			return none, in.readError(ctx, err)
		}
		return got, nil
	}
	return none, errUnsettled
}

func do[R any](ctx context.Context, r *reader, read func(context.Context, *reader) (R, error)) (R, error) {
	defer r.close()
	return read(ctx, r)
}

// readError is what a failed reading is told as.
func (in *instance) readError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return in.orGone(err)
}

// live asks the browser for the tab's document, and refuses one that today's list
// does not cover, or that the gates have not agreed about.
func (in *instance) live(ctx context.Context, r ReadRequest) (*reader, error) {
	for begun := time.Now(); ; {
		t, err := in.ownTab(r)
		if err != nil {
			return nil, err
		}
		tree, err := call(ctx, t, page.GetFrameTree, cdp.Empty{})
		if err != nil {
			return nil, err
		}
		settled, err := in.mayRead(t, tree.FrameTree.Frame)
		if err != nil {
			return nil, err
		}
		if settled {
			return &reader{in: in, tab: t, frame: tree.FrameTree.Frame}, nil
		}
		if time.Since(begun) > settleWait {
			return nil, errUnsettled
		}
		select {
		case <-time.After(settleAgain):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (in *instance) ownTab(r ReadRequest) (*tab, error) {
	var found *tab
	if err := in.do(func() {
		if t := in.byID[r.Tab]; t != nil && t.owner == r.Session {
			found = t
		}
	}); err != nil {
		return nil, err
	}
	if found == nil {
		return nil, ErrUnknownTab
	}
	return found, nil
}

// mayRead judges a live document. settled is false while its verdict is out.
func (in *instance) mayRead(t *tab, f *cdp.Frame) (settled bool, err error) {
	at := document{url: f.URL + f.URLFragment}
	at.target, _ = gate.Parse(at.url) // zero for what has no host
	covered, persons := in.covers(t, at.place()), false
	if gone := in.do(func() {
		known := t.shown.loader == string(f.LoaderID)
		settled = known && t.shown.agreed
		persons = !known || t.shown.initiator == gate.User
	}); gone != nil {
		return false, gone
	}
	if !covered {
		return false, unreadable(f, at.place(), persons)
	}
	return settled, nil
}

// unreadable says what the tab shows. Where the person is, is nobody's business.
func unreadable(f *cdp.Frame, at gate.Target, persons bool) *UnreadableError {
	e := &UnreadableError{URL: gate.Redact(withoutUserinfo(f.URL)), At: at}
	switch {
	case persons && !at.IsZero():
		return &UnreadableError{Why: "The person has taken this tab to a site that is not approved for this session. Leave it to them, or use another tab."}
	case f.UnreachableURL != "" || strings.HasPrefix(f.URL, "chrome-error:"):
		e.URL = gate.Redact(withoutUserinfo(f.UnreachableURL))
		e.Why = "The tab shows the browser's own error page, since its last load failed: there is nothing of a site to read. Call browser_navigate."
	case strings.HasPrefix(f.URL, "about:"):
		e.Why = "The tab is blank: there is nothing to read. Call browser_navigate."
	case at.IsZero():
		e.Why = "The tab shows a document that belongs to no site. Call browser_navigate."
	default:
		e.Why = "The tab shows a site that is not approved for this session now."
	}
	return e
}

// saneURL is a document's URL as a result shows it.
func saneURL(url string) string { return withoutUserinfo(url) }

// decode reads what the script beside the page returned.
func decode[R any](raw []byte, err error) (R, error) {
	var got R
	if err != nil {
		return got, err
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		return got, fmt.Errorf("reading what the page's script said: %w", err)
	}
	return got, nil
}

var errNoScript = errors.New("the reading script is not there")
