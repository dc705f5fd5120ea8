package mcpfront

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"sallyport/chrome"
	"sallyport/gate"
	"sallyport/ledger"
)

// errCancelled is the cause of a call that its client took back.
var errCancelled = errors.New("the client cancelled the call")

// connection is one session under way.
type connection struct {
	*Server
	id      ledger.SessionID
	mcp     *server.MCPServer
	session *mcpSession

	write sync.Mutex // one message at a time, whole
	out   io.Writer
	broke func(error) // ends the session when out can't be written

	mu      sync.Mutex // guards below
	calls   map[string]context.CancelCauseFunc
	lastTab ledger.TabID

	running sync.WaitGroup
}

// slot carries what a handler's error becomes past mcp-go, which would make
// -32603 without data of it.
type slot struct {
	list   gate.Allowlist // in force when the call was read
	answer *mcp.JSONRPCErrorDetails
}

type slotKey struct{}

// Serve runs one session over a pair of streams. It returns nil once the input
// has ended, every call is answered, and the session is over in the ledger and
// in the browser. When ctx ends, calls answer session_ended at once; a read that
// blocks is then left behind.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	c := &connection{Server: s, out: out, broke: end, calls: map[string]context.CancelCauseFunc{}}
	c.id = s.Ledger.BeginSession("", c.refused)
	c.session = newMCPSession(string(c.id), func(name string) { s.Ledger.NameClient(c.id, name) })
	s.Ledger.NameClient(c.id, cleanName(""))
	c.mcp = newMCPServer(s.Version)
	c.addTools()
	if err := c.mcp.RegisterSession(ctx, c.session); err != nil {
		return fmt.Errorf("registering the session: %w", err)
	}
	calls, endCalls := context.WithCancelCause(context.WithoutCancel(ctx))
	defer endCalls(nil)
	err := c.read(ctx, calls, in)

	s.Browser.EndQuestions(c.id)
	c.drain(ctx, endCalls)
	s.Ledger.EndSession(c.id)
	s.Browser.EndSession(c.id)
	c.mcp.UnregisterSession(context.WithoutCancel(ctx), c.session.SessionID())
	return err
}

// drain gives calls under way their time, then ends them.
func (c *connection) drain(ctx context.Context, endCalls context.CancelCauseFunc) {
	done := make(chan struct{})
	go func() { c.running.Wait(); close(done) }()
	patience, cancel := context.WithTimeout(ctx, c.Drain)
	defer cancel()
	select {
	case <-done:
	case <-patience.Done():
		endCalls(chrome.ErrSessionEnded)
		<-done
	}
}

// read takes lines until the input or ctx ends. What came in before the end is
// served.
func (c *connection) read(ctx, calls context.Context, in io.Reader) error {
	type input struct {
		line []byte
		err  error
	}
	lines := make(chan input)
	go func() {
		r := bufio.NewReaderSize(in, 64<<10)
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
	}()
	for {
		select {
		case <-ctx.Done():
			if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
				return cause
			}
			return nil
		case got := <-lines:
			switch {
			case errors.Is(got.err, errLongLine):
				c.fail(nil, mcp.INVALID_REQUEST, got.err.Error())
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

// take serves one line. Calls run at the same time as each other.
func (c *connection) take(calls context.Context, line []byte) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return
	}
	if line[0] == '[' && json.Valid(line) {
		c.fail(nil, mcp.INVALID_REQUEST, "batches are not part of this protocol; send one message a line")
		return
	}
	var head struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			RequestID json.RawMessage            `json:"requestId"`
			Meta      map[string]json.RawMessage `json:"_meta"`
		} `json:"params"`
	}
	if !json.Valid(line) {
		c.fail(nil, mcp.PARSE_ERROR, "the line is not JSON")
		return
	}
	_ = json.Unmarshal(line, &head) // params of other types are mcp-go's to refuse
	c.nameFrom(head.Params.Meta)
	switch {
	case head.Method == "" && head.ID != nil && !json.Valid(head.ID):
		return
	case head.Method == "notifications/cancelled":
		c.cancel(string(head.Params.RequestID))
	case head.Method == "" && isAnswer(line):
		// The client's answer to a request: this server makes none.
	case head.ID == nil || string(head.ID) == "null":
		c.mcp.HandleMessage(c.mcp.WithContext(calls, c.session), line)
	default:
		c.serve(calls, string(head.ID), head.ID, line)
	}
}

func isAnswer(line []byte) bool {
	var parts map[string]json.RawMessage
	if json.Unmarshal(line, &parts) != nil {
		return false
	}
	return parts["result"] != nil || parts["error"] != nil
}

// nameFrom takes the client's name from a message of the stateless protocol.
func (c *connection) nameFrom(meta map[string]json.RawMessage) {
	var info mcp.Implementation
	if raw := meta[mcp.MetaKeyClientInfo]; raw != nil && json.Unmarshal(raw, &info) == nil {
		c.Ledger.NameClient(c.id, cleanName(info.Name))
	}
}

// serve runs one call and writes its answer, unless the client took it back.
func (c *connection) serve(calls context.Context, key string, id json.RawMessage, line []byte) {
	ctx, cancel := context.WithCancelCause(calls)
	c.mu.Lock()
	_, busy := c.calls[key]
	if !busy {
		c.calls[key] = cancel
	}
	c.mu.Unlock()
	if busy {
		cancel(nil)
		c.fail(id, mcp.INVALID_REQUEST, "a call with this id is still under way")
		return
	}
	held := &slot{list: c.Ledger.Allowlist(c.id)}
	c.running.Go(func() {
		answer := c.mcp.HandleMessage(c.mcp.WithContext(context.WithValue(ctx, slotKey{}, held), c.session), line)
		if failed, ok := answer.(mcp.JSONRPCError); ok && held.answer != nil {
			failed.Error = *held.answer
			answer = failed
		}
		c.mu.Lock()
		cancelled := errors.Is(context.Cause(ctx), errCancelled)
		delete(c.calls, key)
		c.mu.Unlock()
		if !cancelled && answer != nil {
			c.send(answer)
		}
		cancel(nil)
	})
}

// cancel takes a call back. Ids that are not under way are not remembered.
func (c *connection) cancel(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.calls[key]; cancel != nil {
		cancel(errCancelled)
	}
}

// fail answers a message that never became a call. A nil id is null.
func (c *connection) fail(id json.RawMessage, code int, message string) {
	if id == nil {
		id = json.RawMessage("null")
	}
	c.send(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": message}})
}

// send writes one message, whole.
func (c *connection) send(message any) {
	line, err := encode(message)
	if err != nil {
		c.Log.Error("encoding a message", "error", err)
		return
	}
	c.write.Lock()
	defer c.write.Unlock()
	if _, err := c.out.Write(append(line, '\n')); err != nil {
		c.broke(fmt.Errorf("writing to the client: %w", err))
	}
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
