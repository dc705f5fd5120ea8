package chrome

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
)

// Browser keeps one Chromium running: it starts it at the first call that needs
// it, and again after it died. All methods may be called from any goroutine.
type Browser struct {
	cfg       Config
	log       *slog.Logger
	ledger    *ledger.Ledger
	approvals *approvals

	starting sync.Mutex // held while Chromium starts or is cleared away

	mu     sync.Mutex // guards below
	in     *instance
	closed bool
	public map[publicName]bool // names that were seen to lead to public addresses only

	wg sync.WaitGroup
}

type publicName struct {
	session ledger.SessionID
	host    gate.Host
}

// New returns a Browser that has not started Chromium yet.
func New(c Config) (*Browser, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Ledger == nil || c.ProxyAddr == "" || c.Pin == "" {
		return nil, errors.New("chrome: Ledger, ProxyAddr and Pin are needed")
	}
	if c.Width == 0 || c.Height == 0 {
		c.Width, c.Height = 1280, 900
	}
	if c.NavigateTimeout == 0 {
		c.NavigateTimeout = 30 * time.Second
	}
	if c.Witness == nil {
		c.Witness = c.Ledger.Witness
	}
	if c.Decide == nil {
		c.Decide = gate.Decide
	}
	if c.PrivateAddrs == nil {
		return nil, errors.New("chrome: PrivateAddrs is needed")
	}
	b := &Browser{cfg: c, log: c.Log, ledger: c.Ledger, public: map[publicName]bool{}}
	b.approvals = newApprovals(approvalsConfig{
		Ledger:       c.Ledger,
		Open:         b.openWindow,
		PrivateAddrs: c.PrivateAddrs,
		Timeout:      c.PromptTimeout,
		Log:          c.Log,
	})
	b.cfg.opened = b.approvals.Raise
	return b, nil
}

// Ensure starts Chromium unless it runs. Errors are *StartError, or ErrGone
// after Close.
func (b *Browser) Ensure(ctx context.Context) error {
	_, err := b.current()
	return err
}

// current returns the running Chromium, a new one if need be.
func (b *Browser) current() (*instance, error) {
	if in := b.running(); in != nil && closed(in.gone) {
		<-in.mourned // a call that follows at once gets the next one, too
	}
	b.starting.Lock()
	defer b.starting.Unlock()
	b.mu.Lock()
	in, closed := b.in, b.closed
	b.mu.Unlock()
	if closed {
		return nil, ErrGone
	}
	if in != nil {
		return in, nil
	}
	started := time.Now()
	in, err := launch(&b.cfg)
	if err != nil {
		return nil, err
	}
	b.log.Info("Chromium started", "pid", in.browser.Process().Pid, "took", time.Since(started).Round(time.Millisecond))
	b.mu.Lock()
	b.in = in
	b.mu.Unlock()
	b.wg.Go(func() { b.mourn(in) })
	return in, nil
}

// mourn waits for Chromium's end. Approvals were given in that browser, so they
// end with it.
func (b *Browser) mourn(in *instance) {
	<-in.gone
	b.starting.Lock()
	defer b.starting.Unlock()
	b.mu.Lock()
	closing := b.closed
	b.in = nil
	clear(b.public)
	close(in.mourned)
	b.mu.Unlock()
	b.ledger.ClearAllowlists()
	for _, t := range b.ledger.Tabs() {
		b.ledger.RemoveTab(t.ID)
	}
	b.approvals.Gone()
	if !closing {
		b.log.Warn("Chromium is gone; the next call starts it again, and sessions must ask for their domains again")
	}
	if err := in.stop(context.Background()); err != nil {
		b.log.Warn("clearing up after Chromium", "error", err)
	}
}

// running returns the Chromium there is, without starting one.
func (b *Browser) running() *instance {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.in
}

// Close ends Chromium and waits until nothing of it is left, or ctx ends.
func (b *Browser) Close(ctx context.Context) error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.starting.Lock()
	in := b.running()
	b.starting.Unlock()
	var err error
	if in != nil {
		err = in.stop(ctx)
	}
	b.approvals.Close()
	b.wg.Wait()
	return err
}

// Ask brings the list before the person, and returns when it is in force. ctx
// ends the waiting only, not the question. prompted is false when the list was
// in force already. Errors: ErrDeclined, ErrExpired, ErrSessionEnded, ErrGone,
// *UnavailableError, *StartError.
func (b *Browser) Ask(ctx context.Context, s ledger.SessionID, list gate.Allowlist) (prompted bool, err error) {
	if b.ledger.Allowlist(s).Equal(list) && list.Len() > 0 {
		return false, nil
	}
	if err := b.askable(); err != nil {
		return false, err
	}
	return b.approvals.Ask(ctx, s, list)
}

func (b *Browser) askable() error {
	if b.cfg.Person != nil || b.cfg.Display && !b.cfg.Headless {
		return nil
	}
	hint := "nobody can be asked without a display; start Sallyport in a desktop session (DISPLAY or WAYLAND_DISPLAY set)"
	if HasDisplay() && !b.cfg.Display {
		hint = "DISPLAY names a display that does not answer, so nobody can be asked; start Sallyport in a desktop session"
	}
	if b.cfg.Headless && b.cfg.Display {
		hint = "nobody can be asked in a headless browser; remove browser.headless from the configuration"
	}
	return &UnavailableError{Hint: hint}
}

// Pending reports whether a question of the session waits for the person.
func (b *Browser) Pending(s ledger.SessionID) bool { return b.approvals.Pending(s) }

// openWindow opens the approval window for the queue of questions.
func (b *Browser) openWindow(ctx context.Context) (window, error) {
	if b.cfg.Person != nil {
		return personWindow{b.cfg.Person}, nil
	}
	in, err := b.current()
	if err != nil {
		return nil, err
	}
	return in.openPrompt(ctx)
}

// personWindow lets a Go test answer.
type personWindow struct {
	answer func(context.Context, Question) Answer
}

func (w personWindow) Ask(ctx context.Context, q Question) (Answer, error) {
	answer := w.answer(ctx, q)
	return answer, ctx.Err()
}

func (personWindow) Raise() {}
func (personWindow) Close() {}

// OpenTab opens a blank tab that the session owns, without taking the focus.
func (b *Browser) OpenTab(ctx context.Context, s ledger.SessionID) (ledger.TabID, error) {
	in, err := b.current()
	if err != nil {
		return "", err
	}
	return in.openTab(ctx, s)
}

// CloseTab closes a tab and waits until it is gone.
func (b *Browser) CloseTab(ctx context.Context, id ledger.TabID) error {
	in := b.running()
	if in == nil {
		return ErrUnknownTab
	}
	return in.closeTab(ctx, id)
}

// Navigate loads a target in a session's tab. ctx ending stops the load. Errors:
// *DeniedError, *NetError, *DisagreeError, ErrUnknownTab, ErrGone.
func (b *Browser) Navigate(ctx context.Context, r NavigateRequest) (NavigateResult, error) {
	in := b.running()
	if in == nil {
		return NavigateResult{}, ErrUnknownTab
	}
	return in.navigate(ctx, r)
}

// EndQuestions closes the session's approval window at once; its waiters get
// ErrSessionEnded.
func (b *Browser) EndQuestions(s ledger.SessionID) { b.approvals.EndSession(s) }

// EndSession closes the session's window and its tabs.
func (b *Browser) EndSession(s ledger.SessionID) {
	b.approvals.EndSession(s)
	b.mu.Lock()
	for name := range b.public {
		if name.session == s {
			delete(b.public, name)
		}
	}
	b.mu.Unlock()
	if in := b.running(); in != nil {
		in.endSession(s)
	}
}

// Pid returns Chromium's process id; 0 while there is none.
func (b *Browser) Pid() int {
	if in := b.running(); in != nil {
		return in.browser.Process().Pid
	}
	return 0
}
