package mcpfront

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"sallyport/chrome"
	"sallyport/ledger"
)

// grace is how long calls have to return once they were told to, and then how
// long the client has to take the answers that are left.
const grace = 500 * time.Millisecond

// connection is one session under way.
type connection struct {
	*Server
	id      ledger.SessionID
	mcp     *server.MCPServer
	session *mcpSession
	out     *writer
	broke   func(error) // ends the session when out can't be written

	// asking ends with the input: nobody hears what the person would answer.
	asking  context.Context
	opening chan struct{} // 1: one call at a time makes the session's first tab

	initialized bool // by an initialize that was answered; the reading loop's alone

	mu    sync.Mutex // guards below
	calls map[string]*inflight
	uses  map[ledger.TabID]uint64 // when a tab was opened or navigated last
	used  uint64

	running sync.WaitGroup
}

// Serve runs one session over a pair of streams. It returns once the input has
// ended, every call is answered, and the session is over in the ledger and in the
// browser; the error is nil unless a stream failed. When ctx ends, calls answer
// session_ended at once. What then still blocks (a read of in, a write to a client
// that does not read, a browser that does not let go) is left behind.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	asking, endAsking := context.WithCancelCause(context.WithoutCancel(ctx))
	calls, endCalls := context.WithCancelCause(context.WithoutCancel(ctx))
	defer endCalls(nil)
	c := &connection{
		Server: s, out: newWriter(out), broke: end, asking: asking, opening: make(chan struct{}, 1),
		calls: map[string]*inflight{}, uses: map[ledger.TabID]uint64{}, mcp: newMCPServer(s.Version),
	}
	c.session = newMCPSession(func(name string) { s.Ledger.NameClient(c.id, name) })
	c.id = s.Ledger.BeginSession(cleanName(""), c.refused)
	c.session.id = string(c.id)
	c.addTools()
	done := make(chan struct{})
	go func() {
		if err := c.out.run(done); err != nil {
			end(writing(err))
		}
	}()
	err := c.mcp.RegisterSession(ctx, c.session)
	if err == nil {
		err = c.read(ctx, calls, in)
	}

	endAsking(chrome.ErrSessionEnded)
	s.Browser.EndQuestions(c.id)
	err = errors.Join(err, c.drain(ctx, endCalls))
	close(done)
	c.out.close()
	s.Ledger.EndSession(c.id)
	s.Browser.EndSession(c.id)
	c.mcp.UnregisterSession(context.WithoutCancel(ctx), c.session.SessionID())
	return err
}

func writing(err error) error { return fmt.Errorf("writing to the client: %w", err) }

// errUnread is a client that takes no answers.
var errUnread = errors.New("the client does not read its answers")

// drain gives calls under way their time, then ends them. A call that does not
// return even then is answered over its head.
func (c *connection) drain(ctx context.Context, endCalls context.CancelCauseFunc) error {
	done := make(chan struct{})
	go func() { c.running.Wait(); close(done) }()
	patience, cancel := context.WithTimeout(ctx, c.Drain)
	defer cancel()
	select {
	case <-done:
		return nil
	case <-patience.Done():
	}
	endCalls(chrome.ErrSessionEnded)
	if closedWithin(done, grace) {
		return nil
	}
	answered := make(chan struct{})
	go func() { c.answerAll(chrome.ErrSessionEnded); close(answered) }()
	if !closedWithin(answered, grace) {
		return errUnread
	}
	return nil
}

func closedWithin(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// read takes lines until the input or ctx ends. What came in before the end is
// served.
func (c *connection) read(ctx, calls context.Context, in io.Reader) error {
	lines := make(chan input)
	go readLines(ctx, in, lines)
	for {
		select {
		case <-ctx.Done():
			if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
				return cause
			}
			return nil
		case got := <-lines:
			switch {
			case errors.Is(got.err, errLongLine):
				c.fail(invalid{code: mcp.INVALID_REQUEST, message: got.err.Error()})
			case errors.Is(got.err, io.EOF):
				return nil
			case got.err != nil:
				return fmt.Errorf("reading from the client: %w", got.err)
			default:
				c.take(calls, got.line)
			}
		}
	}
}

// input is what one read of a line came to.
type input struct {
	line []byte
	err  error
}

// readLines hands lines on until in ends, or nobody wants them any more.
func readLines(ctx context.Context, in io.Reader, lines chan<- input) {
	r := bufio.NewReaderSize(in, 64<<10)
	skipMark(r)
	for {
		line, err := readLine(r)
		select {
		case lines <- input{line, err}:
		case <-ctx.Done():
			return
		}
		if err != nil && !errors.Is(err, errLongLine) {
			return
		}
	}
}
