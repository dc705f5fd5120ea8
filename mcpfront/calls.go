package mcpfront

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"sallyport/gate"
)

// errCancelled is the cause of a call that its client took back.
var errCancelled = errors.New("the client cancelled the call")

// inflight is a call that was read and not yet answered.
type inflight struct {
	id     json.RawMessage
	cancel context.CancelCauseFunc
	list   gate.Allowlist // in force when the call was read
	// failure carries what a tool's error becomes past mcp-go, which would make
	// -32603 without data of it.
	failure *mcp.JSONRPCErrorDetails
}

type inflightKey struct{}

func inflightFrom(ctx context.Context) *inflight {
	if call, ok := ctx.Value(inflightKey{}).(*inflight); ok {
		return call
	}
	return &inflight{}
}

// take serves one line. It never blocks, so that the next can be read.
func (c *connection) take(calls context.Context, line []byte) {
	m, fault := parseMessage(line)
	switch {
	case fault != nil:
		c.fail(*fault)
	case m == nil:
	case m.method == "notifications/cancelled":
		c.cancel(m.params["requestId"])
	case m.id == nil && m.line == nil:
	case m.id == nil:
		c.handleMessage(calls, m.line)
	case m.method == string(mcp.MethodInitialize) && c.initialized:
		c.fail(invalid{m.id, mcp.INVALID_REQUEST, "this session is initialized already"})
	default:
		c.serve(calls, m)
	}
}

// serve runs one call and writes its answer, unless the client took it back.
func (c *connection) serve(calls context.Context, m *incoming) {
	ctx, cancel := context.WithCancelCause(calls)
	call := &inflight{id: m.id, cancel: cancel, list: c.Ledger.Allowlist(c.id)}
	name := key(m.id)
	c.mu.Lock()
	_, busy := c.calls[name]
	if !busy {
		c.calls[name] = call
	}
	c.mu.Unlock()
	if busy {
		cancel(nil)
		c.fail(invalid{m.id, mcp.INVALID_REQUEST, "id: a call with this id is still under way"})
		return
	}
	ctx = context.WithValue(ctx, inflightKey{}, call)
	answer := func() mcp.JSONRPCMessage { return c.handleMessage(ctx, m.line) }
	if m.method == string(mcp.MethodInitialize) || m.method == string(mcp.MethodSetLogLevel) {
		// Both change what the lines behind them mean, and neither waits for anything.
		made := answer()
		answer = func() mcp.JSONRPCMessage { return made }
		_, well := made.(mcp.JSONRPCResponse)
		c.initialized = c.initialized || well && m.method == string(mcp.MethodInitialize)
	}
	c.running.Go(func() {
		defer cancel(nil)
		made := answer()
		if c.settle(name, call) && !errors.Is(context.Cause(ctx), errCancelled) {
			c.write(complete(made, call))
		}
	})
}

// handleMessage is mcp-go's, and the one place that recovers.
func (c *connection) handleMessage(ctx context.Context, line []byte) (answer mcp.JSONRPCMessage) {
	defer func() {
		if r := recover(); r != nil {
			c.Log.Error("a call panicked", "panic", r, "stack", string(debug.Stack()))
			answer = mcp.JSONRPCError{JSONRPC: mcp.JSONRPC_VERSION, Error: mcp.NewJSONRPCErrorDetails(mcp.INTERNAL_ERROR, "internal error", nil)}
		}
	}()
	return c.mcp.HandleMessage(c.mcp.WithContext(ctx, c.session), line)
}

// complete gives an answer of mcp-go's our error, the id as the client spelled
// it (mcp-go reads numbers as float64), and the standard's codes.
func complete(answer mcp.JSONRPCMessage, call *inflight) mcp.JSONRPCMessage {
	id := mcp.NewRequestId(call.id)
	switch a := answer.(type) {
	case mcp.JSONRPCResponse:
		a.ID = id
		return a
	case mcp.JSONRPCError:
		a.ID = id
		switch {
		case call.failure != nil:
			a.Error = *call.failure
		case a.Error.Code == mcp.INVALID_REQUEST && strings.HasPrefix(a.Error.Message, "unparsable"):
			// Of what params.go does not check; the rest of the message is Go's.
			a.Error.Code, a.Error.Message = mcp.INVALID_PARAMS, "params: are not as this method takes them"
		case strings.HasSuffix(a.Error.Message, ": "+server.ErrToolNotFound.Error()):
			a.Error.Message = strings.TrimSuffix(a.Error.Message, ": "+server.ErrToolNotFound.Error()) + "; tools/list has them all"
		}
		return a
	}
	return mcp.NewJSONRPCError(id, mcp.INTERNAL_ERROR, "internal error", nil)
}

// settle takes a call off the list. It reports false when it was answered already.
func (c *connection) settle(name string, call *inflight) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[name] != call {
		return false
	}
	delete(c.calls, name)
	return true
}

// answerAll answers the calls under way for them, and waits for all answers to be out.
func (c *connection) answerAll(why error) {
	d, _ := details(why)
	c.mu.Lock()
	left := c.calls
	c.calls = map[string]*inflight{}
	c.mu.Unlock()
	for _, call := range left {
		c.write(mcp.JSONRPCError{JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(call.id), Error: d})
	}
	c.out.wait()
}

// cancel takes a call back. Ids that are not under way are not remembered.
func (c *connection) cancel(id json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call := c.calls[key(id)]; call != nil {
		call.cancel(errCancelled)
	}
}

// fail answers a message that never became a call.
func (c *connection) fail(f invalid) {
	id := mcp.NewRequestId(nil)
	if f.id != nil {
		id = mcp.NewRequestId(f.id)
	}
	c.running.Go(func() { c.write(mcp.NewJSONRPCError(id, f.code, f.message, nil)) })
}

// write puts one message out. A client that can't be written to is gone.
func (c *connection) write(message any) {
	if err := c.out.write(message); err != nil {
		c.broke(writing(err))
	}
}
