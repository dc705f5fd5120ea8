package mcpfront

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"
)

// maxWaiting is how many notices wait for a client that does not read; it is
// told of no more until it reads again.
const maxWaiting = 100

var errFull = errors.New("the client does not read its notifications")

// writer puts messages out, each whole, one at a time. Notices that were posted
// before an answer leave before it.
type writer struct {
	// lock is full while out is written to. It is a channel and not a Mutex: under
	// synctest, a wait for a Mutex would stop the clock of the tests.
	lock chan struct{}
	out  io.Writer

	mu      sync.Mutex // guards below
	closed  bool
	waiting [][]byte
	kick    chan struct{} // 1: there is something to flush
}

func newWriter(out io.Writer) *writer {
	return &writer{lock: make(chan struct{}, 1), out: out, kick: make(chan struct{}, 1)}
}

// write puts one message out. It may block for as long as the client doesn't read.
func (w *writer) write(message any) error {
	line, err := encode(message)
	if err != nil {
		return err
	}
	w.lock <- struct{}{}
	defer func() { <-w.lock }()
	if err := w.flush(); err != nil {
		return err
	}
	return w.put(line)
}

// post leaves a notice to be written. It never blocks: who tells of a refusal is
// the browser, which must not stand still since a client does not read.
func (w *writer) post(message any) error {
	line, err := encode(message)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) >= maxWaiting {
		return errFull
	}
	w.waiting = append(w.waiting, line)
	select {
	case w.kick <- struct{}{}:
	default:
	}
	return nil
}

// run writes what was posted until done is closed.
func (w *writer) run(done <-chan struct{}) error {
	for {
		select {
		case <-done:
			return nil
		case <-w.kick:
			w.lock <- struct{}{}
			err := w.flush()
			<-w.lock
			if err != nil {
				return err
			}
		}
	}
}

// flush is called with lock held.
func (w *writer) flush() error {
	w.mu.Lock()
	lines := w.waiting
	w.waiting = nil
	w.mu.Unlock()
	for _, line := range lines {
		if err := w.put(line); err != nil {
			return err
		}
	}
	return nil
}

// put is called with lock held.
func (w *writer) put(line []byte) error {
	w.mu.Lock()
	closed := w.closed
	w.mu.Unlock()
	if closed {
		return nil
	}
	_, err := w.out.Write(append(line, '\n'))
	return err
}

// wait returns when what began to be written before has been written.
func (w *writer) wait() {
	w.lock <- struct{}{} // waiters are served in their order
	<-w.lock
}

// close makes sure that nothing more begins to be written: out is its owner's
// again.
func (w *writer) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
}

// encode is JSON without the escapes that only HTML needs.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
