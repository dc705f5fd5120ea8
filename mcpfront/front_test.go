package mcpfront_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/chrome"
	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/mcpfront"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// fakeBrowser stands in for Chromium and the person: what it answers is set by
// each test.
type fakeBrowser struct {
	mcpfront.Reader // none: a test that reads has a browser of its own
	ledger          *ledger.Ledger
	ask             func(context.Context, ledger.SessionID, gate.Allowlist) (bool, error)
	navigate        func(context.Context, chrome.NavigateRequest) (chrome.NavigateResult, error)
	local           func(context.Context) error
	ensure          func() error
	pending         atomic.Bool
	ended           sync.Map
	endedAsk        chan struct{}
	once            sync.Once
	endings         atomic.Int32 // of questions
}

func (f *fakeBrowser) Ask(ctx context.Context, s ledger.SessionID, list gate.Allowlist) (bool, error) {
	return f.ask(ctx, s, list)
}
func (f *fakeBrowser) Pending(ledger.SessionID) bool { return f.pending.Load() }
func (f *fakeBrowser) Ensure(context.Context) error  { return f.ensure() }
func (f *fakeBrowser) OpenTab(_ context.Context, s ledger.SessionID) (ledger.TabID, error) {
	return f.ledger.AddTab(s, "target"), nil
}
func (f *fakeBrowser) CloseTab(_ context.Context, id ledger.TabID) error {
	f.ledger.RemoveTab(id)
	return nil
}
func (f *fakeBrowser) CheckLocal(ctx context.Context, _ ledger.SessionID, _ gate.Target) error {
	return f.local(ctx)
}
func (f *fakeBrowser) Navigate(ctx context.Context, r chrome.NavigateRequest) (chrome.NavigateResult, error) {
	return f.navigate(ctx, r)
}
func (f *fakeBrowser) EndQuestions(ledger.SessionID) {
	f.endings.Add(1)
	f.once.Do(func() { close(f.endedAsk) })
}
func (f *fakeBrowser) EndSession(s ledger.SessionID) { f.ended.Store(s, true) }

// front is a server with one connection that a test writes to and reads from.
type front struct {
	t       *testing.T
	ledger  *ledger.Ledger
	browser *fakeBrowser
	in      *io.PipeWriter
	out     *bufio.Reader
	served  chan error
	end     context.CancelFunc // of Serve's ctx
}

// newFake returns a browser in which everything works and the person says yes.
func newFake(l *ledger.Ledger) *fakeBrowser {
	b := &fakeBrowser{ledger: l, endedAsk: make(chan struct{})}
	b.ensure = func() error { return nil }
	b.local = func(context.Context) error { return nil }
	b.ask = func(_ context.Context, s ledger.SessionID, list gate.Allowlist) (bool, error) {
		if l.Allowlist(s).Equal(list) {
			return false, nil
		}
		l.Approve(s, list, nil)
		return true, nil
	}
	b.navigate = func(_ context.Context, r chrome.NavigateRequest) (chrome.NavigateResult, error) {
		return chrome.NavigateResult{FinalURL: r.Target.URL(), Status: 200, CommittedAt: 1719791234123}, nil
	}
	return b
}

func newFront(t *testing.T) *front {
	t.Helper()
	l := ledger.New(ledger.Config{})
	return newFrontOn(t, l, newFake(l))
}

// newFrontOn is one more session of the same ledger and browser.
func newFrontOn(t *testing.T, l *ledger.Ledger, b *fakeBrowser) *front {
	t.Helper()
	ctx, end := context.WithCancel(context.Background())
	f := &front{t: t, ledger: l, browser: b, served: make(chan error, 1), end: end}
	server := mcpfront.New(mcpfront.Config{Ledger: l, Browser: b, Version: "test"})
	toServer, in := io.Pipe()
	fromServer, out := io.Pipe()
	f.in, f.out = in, bufio.NewReader(fromServer)
	go func() { f.served <- server.Serve(ctx, toServer, out); out.Close() }()
	t.Cleanup(func() {
		end()
		in.Close()
		go io.Copy(io.Discard, f.out)
		assert.NoError(t, <-f.served)
	})
	return f
}

func (f *front) send(lines ...string) {
	f.t.Helper()
	for _, line := range lines {
		_, err := io.WriteString(f.in, line+"\n")
		require.NoError(f.t, err)
	}
}

type message struct {
	ID     any            `json:"id"`
	Method string         `json:"method"`
	Params map[string]any `json:"params"`
	Result map[string]any `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data"`
	} `json:"error"`
	raw string
}

func (f *front) next() message {
	f.t.Helper()
	line, err := f.out.ReadString('\n')
	require.NoError(f.t, err)
	m := message{raw: line}
	require.NoError(f.t, json.Unmarshal([]byte(line), &m), line)
	return m
}

func call(id int, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments)
}

// do calls a tool and returns its answer.
func (f *front) do(tool, arguments string) message {
	f.t.Helper()
	f.send(call(1, tool, arguments))
	return f.next()
}

func (f *front) content(m message) map[string]any {
	f.t.Helper()
	require.Nil(f.t, m.Error, m.raw)
	structured := m.Result["structuredContent"].(map[string]any)
	text := m.Result["content"].([]any)[0].(map[string]any)["text"].(string)
	var again map[string]any
	require.NoError(f.t, json.Unmarshal([]byte(text), &again))
	assert.Equal(f.t, structured, again, "both forms of the result are the same")
	return structured
}

func (f *front) initialize(client string) message {
	f.t.Helper()
	name, err := json.Marshal(client)
	require.NoError(f.t, err)
	f.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":` + string(name) + `,"version":"1"}}}`)
	return f.next()
}

// session is the front's, which owns a tab.
func (f *front) session() ledger.SessionID {
	f.t.Helper()
	t, ok := f.ledger.Tab(ledger.TabID(f.tab()))
	require.True(f.t, ok)
	return t.Owner
}

// rows are browser_tab_list's, oldest first.
func (f *front) rows() []map[string]any {
	f.t.Helper()
	var rows []map[string]any
	for _, row := range f.content(f.do("browser_tab_list", "{}"))["tabs"].([]any) {
		rows = append(rows, row.(map[string]any))
	}
	return rows
}

func (f *front) row(tab string) map[string]any {
	f.t.Helper()
	for _, row := range f.rows() {
		if row["tab_id"] == tab {
			return row
		}
	}
	f.t.Fatalf("%s is not listed", tab)
	return nil
}

// tab is the session's own.
func (f *front) tab() string {
	f.t.Helper()
	for _, row := range f.rows() {
		if row["owner"] == "session" {
			return row["tab_id"].(string)
		}
	}
	f.t.Fatal("no tab")
	return ""
}

func (f *front) refused(m message, code int, text string) any {
	f.t.Helper()
	require.NotNil(f.t, m.Error, m.raw)
	assert.Equal(f.t, code, m.Error.Code)
	assert.Contains(f.t, m.Error.Message, text)
	return m.Error.Data
}
