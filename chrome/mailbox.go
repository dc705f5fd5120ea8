package chrome

import "sync"

// mailbox is an unbounded queue of things to do, in order. chromedp's listeners
// may only enqueue (a command inside one deadlocks), and must not wait for room.
type mailbox struct {
	mu    sync.Mutex
	items []func()
	ready chan struct{} // one token: there may be items
}

func newMailbox() *mailbox { return &mailbox{ready: make(chan struct{}, 1)} }

func (m *mailbox) post(f func()) {
	m.mu.Lock()
	m.items = append(m.items, f)
	m.mu.Unlock()
	select {
	case m.ready <- struct{}{}:
	default:
	}
}

func (m *mailbox) take() []func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	items := m.items
	m.items = nil
	return items
}
