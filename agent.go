package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// agent is a small MCP client: the scripted agent of `sallyport demo`, and that
// of the tests. It speaks to a real server over any pair of streams.
type agent struct {
	mu       sync.Mutex // guards below
	out      io.Writer
	nextID   int
	waiting  map[int]chan agentAnswer
	notified func(method string, params json.RawMessage)
	ended    bool
	done     chan struct{} // closed at end of input
}

type agentAnswer struct {
	Result json.RawMessage `json:"result"`
	Error  *agentError     `json:"error"`
}

// agentError is a JSON-RPC error object.
type agentError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (e *agentError) Error() string { return fmt.Sprintf("%d %s %s", e.Code, e.Message, e.Data) }

// newAgent reads answers from in until its end. notified may be nil.
func newAgent(in io.Reader, out io.Writer, notified func(string, json.RawMessage)) *agent {
	a := &agent{out: out, waiting: map[int]chan agentAnswer{}, notified: notified, done: make(chan struct{})}
	go a.read(in)
	return a
}

func (a *agent) read(in io.Reader) {
	defer close(a.done)
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		var m struct {
			agentAnswer
			ID     *int            `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			continue
		}
		if m.Method != "" {
			if a.notified != nil {
				a.notified(m.Method, m.Params)
			}
			continue
		}
		a.answer(m.ID, m.agentAnswer)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	for _, c := range a.waiting {
		close(c)
	}
	a.waiting = nil
}

func (a *agent) answer(id *int, got agentAnswer) {
	if id == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.waiting[*id]; c != nil {
		delete(a.waiting, *id)
		c <- got
	}
}

// start sends a request and returns where its answer will be.
func (a *agent) start(method string, params any) (int, <-chan agentAnswer, error) {
	c := make(chan agentAnswer, 1) // one answer, so that read never blocks
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return 0, nil, io.ErrUnexpectedEOF
	}
	a.nextID++
	id := a.nextID
	a.waiting[id] = c
	return id, c, a.write(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

// write sends one message. The lock must be held.
func (a *agent) write(message any) error {
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = a.out.Write(append(line, '\n'))
	return err
}

// notify sends a notification.
func (a *agent) notify(method string, params any) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.write(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}

// call sends a request and waits for its result. An error answer is *agentError.
func (a *agent) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	_, c, err := a.start(method, params)
	if err != nil {
		return nil, err
	}
	select {
	case got, ok := <-c:
		switch {
		case !ok:
			return nil, io.ErrUnexpectedEOF
		case got.Error != nil:
			return nil, got.Error
		}
		return got.Result, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// initialize opens the session under a client's name.
func (a *agent) initialize(ctx context.Context, client string) error {
	_, err := a.call(ctx, "initialize", map[string]any{
		"protocolVersion": "2025-11-25",
		"capabilities":    map[string]any{},
		"clientInfo":      map[string]any{"name": client, "version": "1"},
	})
	if err != nil {
		return err
	}
	return a.notify("notifications/initialized", map[string]any{})
}

// tool calls a tool and returns its structured result.
func (a *agent) tool(ctx context.Context, name string, arguments any) (map[string]any, error) {
	raw, err := a.call(ctx, "tools/call", map[string]any{"name": name, "arguments": arguments})
	if err != nil {
		return nil, err
	}
	return structured(raw)
}

func structured(raw json.RawMessage) (map[string]any, error) {
	var result struct {
		StructuredContent map[string]any `json:"structuredContent"`
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return nil, fmt.Errorf("reading a tool's result: %w", err)
	}
	return result.StructuredContent, nil
}
