package chrome

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
)

// window is one approval window on the screen. Ask may be called again on the
// same window, for the second question. It returns ctx's cause when ctx ends.
type window interface {
	Ask(ctx context.Context, q Question) (Answer, error)
	Raise() // above what was opened since; it does not block
	Close()
}

type approvalsConfig struct {
	Ledger       *ledger.Ledger
	Open         func(ctx context.Context) (window, error)
	PrivateAddrs func(context.Context, gate.Host) ([]netip.Addr, error)
	Timeout      time.Duration // from when it is shown; 0 means 5 minutes
	Rotate       time.Duration // while others wait; 0 means 60 s
	Cooldown     time.Duration // after three declines in a row; 0 means 30 s
	Log          *slog.Logger
}

// approvals is the queue of questions for the person: one window at a time, in
// the order of asking. A question lives on when the call that asked it does not.
type approvals struct {
	approvalsConfig

	mu       sync.Mutex // guards below
	declines map[ledger.SessionID]declines
	queue    []*question
	asking   *question // the one on the screen
	shown    window    // that it is in; nil until it is there
	running  bool      // a goroutine works on the queue
	closed   bool
	wg       sync.WaitGroup
}

// question is one request of a session, and all the calls that wait for it.
type question struct {
	session ledger.SessionID
	list    gate.Allowlist
	local   []LocalHost // of the second question alone
	left    time.Duration

	ctx    context.Context
	cancel context.CancelCauseFunc

	done     chan struct{} // closed when it is settled
	prompted bool
	err      error
}

var (
	errRotate  = errors.New("others wait")
	errTimeout = errors.New("prompt.timeout has passed")
)

func newApprovals(c approvalsConfig) *approvals {
	if c.Timeout == 0 {
		c.Timeout = 5 * time.Minute
	}
	if c.Rotate == 0 {
		c.Rotate = time.Minute
	}
	if c.Cooldown == 0 {
		c.Cooldown = 30 * time.Second
	}
	return &approvals{approvalsConfig: c, declines: map[ledger.SessionID]declines{}}
}

// Ask brings a list before the person and waits until it is in force.
func (a *approvals) Ask(ctx context.Context, s ledger.SessionID, list gate.Allowlist) (prompted bool, err error) {
	return a.wait(ctx, a.enqueue(s, list, nil))
}

// AskLocal asks the second question alone, for a name that is covered already.
func (a *approvals) AskLocal(ctx context.Context, s ledger.SessionID, host gate.Host, addrs []netip.Addr) error {
	_, err := a.wait(ctx, a.enqueue(s, gate.Allowlist{}, []LocalHost{{host, addrs}}))
	return err
}

// wait leaves the question alone when the caller's patience ends.
func (a *approvals) wait(ctx context.Context, q *question) (bool, error) {
	select {
	case <-q.done:
		return q.prompted, q.err
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// enqueue joins the same request where it waits or is on the screen already.
func (a *approvals) enqueue(s ledger.SessionID, list gate.Allowlist, local []LocalHost) *question {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range append([]*question{a.asking}, a.queue...) {
		if q != nil && q.same(s, list, local) {
			a.raise()
			return q
		}
	}
	q := &question{session: s, list: list, local: local, left: a.Timeout, done: make(chan struct{})}
	q.ctx, q.cancel = context.WithCancelCause(context.Background())
	if a.closed {
		q.settle(false, ErrGone)
		return q
	}
	if err := a.tooSoon(s); err != nil {
		q.settle(false, err)
		return q
	}
	a.queue = append(a.queue, q)
	if !a.running {
		a.running = true
		a.wg.Go(a.work)
	}
	return q
}

func (q *question) same(s ledger.SessionID, list gate.Allowlist, local []LocalHost) bool {
	if q.session != s || len(q.local) != len(local) || !q.list.Equal(list) {
		return false
	}
	return len(local) == 0 || q.local[0].Host == local[0].Host
}

func (q *question) settle(prompted bool, err error) {
	q.prompted, q.err = prompted, err
	q.cancel(nil)
	close(q.done)
}

// work asks one question after the other until none is left.
func (a *approvals) work() {
	for {
		a.mu.Lock()
		if len(a.queue) == 0 {
			a.running = false
			a.mu.Unlock()
			return
		}
		q := a.queue[0]
		a.queue = a.queue[1:]
		a.asking = q
		a.mu.Unlock()

		prompted, err := a.put(q)

		a.mu.Lock()
		a.asking = nil
		if errors.Is(err, errRotate) && !a.closed && q.ctx.Err() == nil {
			a.queue = append(a.queue, q)
		} else {
			a.answered(q.session, err)
			q.settle(prompted, err)
		}
		a.mu.Unlock()
	}
}

// put shows one question, and puts in force what the person approved.
func (a *approvals) put(q *question) (prompted bool, err error) {
	if err := context.Cause(q.ctx); err != nil {
		return false, err
	}
	before := a.Ledger.Allowlist(q.session)
	if len(q.local) == 0 && before.Equal(q.list) && before.Len() > 0 {
		return false, nil
	}
	w, err := a.Open(q.ctx)
	if err != nil {
		if cause := context.Cause(q.ctx); cause != nil {
			err = cause
		}
		return false, err
	}
	defer w.Close()
	a.show(w)
	defer a.show(nil)
	ctx, cancel := a.patience(q)
	defer cancel()
	local, err := a.converse(ctx, w, q, before)
	if err != nil {
		return true, err
	}
	if len(q.local) > 0 {
		return true, a.approveLocal(q)
	}
	if !a.Ledger.Approve(q.session, q.list, local) {
		return true, ErrSessionEnded
	}
	a.Log.Info("the person approved", "session", q.session, "domains", q.list.Strings())
	return true, nil
}

func (a *approvals) show(w window) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.shown = w
}

// Raise brings the window on the screen, if there is one, above what was opened
// since.
func (a *approvals) Raise() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.raise()
}

// raise is for when the lock is held.
func (a *approvals) raise() {
	if a.shown != nil {
		a.shown.Raise()
	}
}

// approveLocal puts the answer to a second question in force. The list may have
// been taken away meanwhile: then it is worth nothing.
func (a *approvals) approveLocal(q *question) error {
	for _, one := range q.local {
		if !a.Ledger.ApproveLocal(q.session, one.Host) {
			return ErrSessionEnded
		}
		a.Log.Info("the person approved a private address", "session", q.session, "host", one.Host)
	}
	return nil
}

// patience bounds one showing of the window: by what is left of the timeout, and,
// as soon as another question waits, by the rotation.
func (a *approvals) patience(q *question) (context.Context, func()) {
	shown := time.Now()
	ctx, cancel := context.WithTimeoutCause(q.ctx, q.left, errTimeout)
	ctx, rotate := context.WithCancelCause(ctx)
	tick := time.NewTicker(a.Rotate / 60)
	a.wg.Go(func() {
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if time.Since(shown) >= a.Rotate && a.othersWait() {
					rotate(errRotate)
				}
			}
		}
	})
	return ctx, func() {
		q.left -= time.Since(shown)
		rotate(nil)
		cancel()
	}
}

func (a *approvals) othersWait() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.queue) > 0
}

// converse asks the first question and, where a name leads to a private address,
// the second. It returns the hosts approved as private.
func (a *approvals) converse(ctx context.Context, w window, q *question, before gate.Allowlist) ([]gate.Host, error) {
	client := a.Ledger.Client(q.session)
	if len(q.local) > 0 {
		if err := a.ask(ctx, w, q.session, Question{Client: client, Local: q.local}); err != nil {
			return nil, err
		}
		return hostsOf(q.local), nil
	}
	added, kept, removed := before.Delta(q.list)
	if err := a.ask(ctx, w, q.session, Question{Client: client, Added: added, Kept: kept, Removed: removed}); err != nil {
		return nil, err
	}
	spelled, found := a.resolve(ctx, q.session, append(added, kept...))
	if len(found) > 0 {
		if err := a.ask(ctx, w, q.session, Question{Client: client, Local: found}); err != nil {
			return nil, err
		}
	}
	return append(spelled, hostsOf(found)...), nil
}

// ask shows one question; both it and what came of it go to the audit log.
func (a *approvals) ask(ctx context.Context, w window, s ledger.SessionID, q Question) error {
	a.Ledger.Asked(s, q.domains(), hostsOf(q.Local))
	answer, err := w.Ask(ctx, q)
	err = verdictOf(ctx, answer, err)
	a.Ledger.Answered(s, err)
	if err != nil && !errors.Is(err, errRotate) {
		a.Log.Info("the person did not approve", "session", s, "why", err)
	}
	return err
}

// verdictOf turns an answer that is no approval into its error.
func verdictOf(ctx context.Context, answer Answer, err error) error {
	cause := context.Cause(ctx)
	switch {
	case answer == Allowed && err == nil:
		return nil // an answer that is given counts, whatever else ended meanwhile
	case errors.Is(cause, errTimeout):
		return ErrExpired
	case cause != nil:
		return cause
	case err != nil:
		return err
	case answer == Expired:
		return ErrExpired
	}
	return ErrDeclined
}

// Pending reports whether a question of the session waits for the person.
func (a *approvals) Pending(s ledger.SessionID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range append([]*question{a.asking}, a.queue...) {
		if q != nil && q.session == s {
			return true
		}
	}
	return false
}

// EndSession closes the session's window at once.
func (a *approvals) EndSession(s ledger.SessionID) {
	a.end(ErrSessionEnded, func(q *question) bool { return q.session == s })
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.declines, s)
}

// Gone ends every question: the browser in which they were asked is no more.
func (a *approvals) Gone() {
	a.end(ErrGone, func(*question) bool { return true })
}

func (a *approvals) end(cause error, which func(*question) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	kept := a.queue[:0]
	for _, q := range a.queue {
		if which(q) {
			q.settle(false, cause)
		} else {
			kept = append(kept, q)
		}
	}
	a.queue = kept
	if a.asking != nil && which(a.asking) {
		a.asking.cancel(cause)
	}
}

// Close ends every question and waits for what works on them.
func (a *approvals) Close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.Gone()
	a.wg.Wait()
}
