package ledger

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"sallyport/gate"
)

// AuditConfig is what an Audit needs.
type AuditConfig struct {
	// Path is the file. It is made with mode 0600.
	Path string
	// Full keeps query strings and fragments. Userinfo is never written.
	Full bool
	// MaxSize is when a file is full, in bytes: it becomes Path.1, what was Path.1
	// becomes Path.2, and so on. Zero means 64 MB.
	MaxSize int64
	// Keep is how many full files stay. Zero means 5.
	Keep int
	// Required makes Ready an error while the log can't be written.
	Required bool
	Log      *slog.Logger // nil discards
}

// Audit is the audit log: JSON lines, one record each, in one chain of hashes.
// Several processes may write to one file: each line is put after whatever is
// there. A nil *Audit records nothing.
type Audit struct {
	cfg AuditConfig
	log *slog.Logger

	mu      sync.Mutex // guards below
	pending []Record
	lost    int // records that found no room in pending
	closed  bool

	wake   chan struct{} // holds one token while there may be something to write
	done   chan struct{} // closed when the writer has ended
	broken atomic.Bool   // the last write failed
	head   string        // hash of the newest line written; the writer's alone
}

// maxPending bounds what waits for a slow disk; what comes beyond is counted.
const maxPending = 10000

// OpenAudit starts the log, and writes its first line before it returns, so that
// a path that can't be written is an error here.
func OpenAudit(c AuditConfig) (*Audit, error) {
	if c.MaxSize == 0 {
		c.MaxSize = 64 << 20
	}
	if c.Keep == 0 {
		c.Keep = 5
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	a := &Audit{cfg: c, log: c.Log, wake: make(chan struct{}, 1), done: make(chan struct{})}
	if err := a.write([]Record{{Event: EventStarted, At: time.Now()}}); err != nil {
		return nil, err
	}
	go a.work()
	return a, nil
}

// Close writes what waits and returns when the writer has ended.
func (a *Audit) Close() {
	if a == nil {
		return
	}
	a.put(Record{Event: EventEnded})
	a.mu.Lock()
	closed := a.closed
	a.closed = true
	a.mu.Unlock()
	if !closed {
		close(a.wake)
	}
	<-a.done
}

// Ready reports whether a navigation may begin: false while the log is required
// and can't be written.
func (a *Audit) Ready() bool {
	if a == nil || !a.broken.Load() {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.nudge() // it may be over by now
	return !a.cfg.Required
}

// put adds a record. It never blocks and never fails: the writer says what went
// wrong.
func (a *Audit) put(r Record) {
	if a == nil {
		return
	}
	r.At = time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return
	case len(a.pending) >= maxPending:
		a.lost++
	default:
		r.Lost, a.lost = a.lost, 0
		a.pending = append(a.pending, r)
	}
	a.nudge()
}

// nudge lets the writer look. The lock must be held.
func (a *Audit) nudge() {
	if a.closed {
		return
	}
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// show writes a target's URL as this log shows them.
func (a *Audit) show(url string) string {
	if a == nil || url == "" || a.cfg.Full {
		return url
	}
	return gate.Redact(url)
}

// work writes what put has left, until Close.
func (a *Audit) work() {
	defer close(a.done)
	for range a.wake {
		a.flush()
	}
	a.flush() // what came with the last token
	a.log.Info("audit log closed", "path", a.cfg.Path, "head", a.head)
}

// flush writes what waits. What can't be written waits on, for as long as there
// is room.
func (a *Audit) flush() {
	a.mu.Lock()
	batch := a.pending
	a.pending = nil
	a.mu.Unlock()
	if len(batch) == 0 {
		return
	}
	err := a.write(batch)
	if was := a.broken.Swap(err != nil); err != nil && !was {
		a.log.Error("the audit log can't be written; records wait until it can", "path", a.cfg.Path, "required", a.cfg.Required, "error", err)
	} else if err == nil && was {
		a.log.Info("the audit log can be written again", "path", a.cfg.Path)
	}
	if err == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if over := len(batch) + len(a.pending) - maxPending; over > 0 {
		a.lost += min(over, len(a.pending))
		a.pending = a.pending[:max(0, len(a.pending)-over)]
	}
	a.pending = append(batch, a.pending...)
}
