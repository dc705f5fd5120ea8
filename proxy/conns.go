package proxy

import (
	"bufio"
	"net"
	"net/http"
	"sync"
)

// listener remembers its connections: those that goproxy hijacked outlive
// http.Server's Close.
type listener struct {
	net.Listener
	mu     sync.Mutex // guards below
	conns  map[net.Conn]struct{}
	closed bool
}

func newListener(inner net.Listener) *listener {
	return &listener{Listener: inner, conns: map[net.Conn]struct{}{}}
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tracked := &conn{Conn: c, of: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		c.Close()
		return nil, net.ErrClosed
	}
	l.conns[tracked] = struct{}{}
	return tracked, nil
}

func (l *listener) closeAll() {
	l.mu.Lock()
	l.closed = true
	open := make([]net.Conn, 0, len(l.conns))
	for c := range l.conns {
		open = append(open, c)
	}
	l.mu.Unlock()
	for _, c := range open {
		c.Close()
	}
}

type conn struct {
	net.Conn
	of *listener
}

func (c *conn) Close() error {
	c.of.mu.Lock()
	delete(c.of.conns, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// flushing sends each write on at once: goproxy would hold a plain HTTP body
// back until its end.
func flushing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&flushWriter{w}, r)
	})
}

type flushWriter struct{ http.ResponseWriter }

func (w *flushWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	if err == nil {
		err = http.NewResponseController(w.ResponseWriter).Flush()
	}
	return n, err
}

func (w *flushWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

func (w *flushWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Hijack hands the connection over: goproxy asks for it by type assertion.
func (w *flushWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(w.ResponseWriter).Hijack()
}
