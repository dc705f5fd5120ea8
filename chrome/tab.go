package chrome

import (
	"context"
	"slices"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"sallyport/gate"
	"sallyport/ledger"
)

// tab is what the loop knows of one tab.
type tab struct {
	id     ledger.TabID
	target target.ID
	owner  ledger.SessionID // empty: the person's
	// prompt marks a tab of an approval window's context: nothing may load there.
	prompt bool
	// undecided is true until it is known whose the tab is; pauses wait for it.
	undecided bool

	ctx    context.Context // attached DevTools session; nil for the person's tabs
	cancel context.CancelFunc

	facts  map[string]*facts      // by loader
	navs   map[string]*navigation // by loader
	order  []string               // loaders of both, oldest first
	parked []*pause               // paused requests that wait for a fact
	opened openings               // popups that a person's activation opened

	agent     *agentCall // the browser_navigate call under way
	shown     document
	entries   map[int64]gate.Initiator // who made each history entry
	history   []*historyRecord         // the history as of the last commit
	closing   bool                     // being closed by us
	destroyed chan struct{}            // closed when the tab is gone
	refs      refs                     // of the document that was last read
	touched   bool                     // an agent or a page has loaded something here
	// agentSince is true once an agent has navigated the tab after the document
	// that it shows was put there.
	agentSince bool
}

// facts is what Chromium's events tell of one load, besides the request itself.
type facts struct {
	sent    bool // Network.requestWillBeSent came
	started bool // Page.frameStartedNavigating came
	gesture bool // hasUserGesture
	history bool // it goes to an entry of the history
}

// navigation is one attempt to load a document in the tab.
type navigation struct {
	id        ledger.NavigationID
	initiator gate.Initiator
	last      gate.Target
	lastHop   ledger.HopID
	denied    bool
}

// document is what the tab shows.
type document struct {
	url       string
	target    gate.Target // zero for what is not http or https
	loader    string
	initiator gate.Initiator
	status    int
	at        time.Time
	agreed    bool // the gates agree that it may be here, or a person put it here
}

type historyRecord struct {
	id  int64
	url string
}

// pause is one request that Chromium holds until we answer.
type pause struct {
	event  *fetch.EventRequestPaused
	target gate.Target // zero when the URL is none of ours
	loader string
	waited bool
}

// rememberedLoads bounds what a tab remembers of loads that are over.
const rememberedLoads = 64

func newTab(info *target.Info) *tab {
	return &tab{
		target:    info.TargetID,
		facts:     map[string]*facts{},
		navs:      map[string]*navigation{},
		entries:   map[int64]gate.Initiator{},
		destroyed: make(chan struct{}),
		shown:     document{url: "about:blank", initiator: gate.Page},
	}
}

func (t *tab) gated() bool { return t.owner != "" }

// persons reports a tab that is known to be the person's.
func (t *tab) persons() bool { return t.owner == "" && !t.undecided && !t.prompt }

// factsOf returns the record for a loader, a new one if need be.
func (t *tab) factsOf(loader string) *facts {
	f := t.facts[loader]
	if f == nil {
		f = &facts{}
		t.facts[loader] = f
		t.remember(loader)
	}
	return f
}

func (t *tab) remember(loader string) {
	if slices.Contains(t.order, loader) {
		return
	}
	t.order = append(t.order, loader)
	if len(t.order) > rememberedLoads {
		oldest := t.order[0]
		t.order = t.order[1:]
		delete(t.facts, oldest)
		delete(t.navs, oldest)
	}
}

// call runs a command in the tab.
func call[P, R any](ctx context.Context, t *tab, command cdp.Command[P, R], params P) (R, error) {
	if t.ctx == nil {
		var zero R
		return zero, ErrUnknownTab
	}
	c, cancel := context.WithCancel(t.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	return chromedp.Call(c, command, params)
}
