package mcpfront_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

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
	ledger   *ledger.Ledger
	ask      func(context.Context, ledger.SessionID, gate.Allowlist) (bool, error)
	navigate func(context.Context, chrome.NavigateRequest) (chrome.NavigateResult, error)
	local    error
	ended    sync.Map
	endedAsk chan struct{}
	once     sync.Once
}

func (f *fakeBrowser) Ask(ctx context.Context, s ledger.SessionID, list gate.Allowlist) (bool, error) {
	return f.ask(ctx, s, list)
}
func (f *fakeBrowser) Pending(ledger.SessionID) bool { return false }
func (f *fakeBrowser) Ensure(context.Context) error  { return nil }
func (f *fakeBrowser) OpenTab(_ context.Context, s ledger.SessionID) (ledger.TabID, error) {
	return f.ledger.AddTab(s, "target"), nil
}
func (f *fakeBrowser) CloseTab(_ context.Context, id ledger.TabID) error {
	f.ledger.RemoveTab(id)
	return nil
}
func (f *fakeBrowser) CheckLocal(context.Context, ledger.SessionID, gate.Target) error {
	return f.local
}
func (f *fakeBrowser) Navigate(ctx context.Context, r chrome.NavigateRequest) (chrome.NavigateResult, error) {
	return f.navigate(ctx, r)
}
func (f *fakeBrowser) EndQuestions(ledger.SessionID) { f.once.Do(func() { close(f.endedAsk) }) }
func (f *fakeBrowser) EndSession(s ledger.SessionID) { f.ended.Store(s, true) }

// front is a server with one connection that a test writes to and reads from.
type front struct {
	t       *testing.T
	ledger  *ledger.Ledger
	browser *fakeBrowser
	in      *io.PipeWriter
	out     *bufio.Reader
	served  chan error
}

func newFront(t *testing.T) *front {
	t.Helper()
	l := ledger.New(ledger.Config{})
	b := &fakeBrowser{ledger: l, endedAsk: make(chan struct{})}
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
	f := &front{t: t, ledger: l, browser: b, served: make(chan error, 1)}
	server := mcpfront.New(mcpfront.Config{Ledger: l, Browser: b, Version: "test", Drain: 300 * time.Millisecond, Progress: 20 * time.Millisecond})
	toServer, in := io.Pipe()
	fromServer, out := io.Pipe()
	f.in, f.out = in, bufio.NewReader(fromServer)
	go func() { f.served <- server.Serve(context.Background(), toServer, out); out.Close() }()
	t.Cleanup(func() {
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

func (f *front) tab() string {
	f.t.Helper()
	for _, row := range f.content(f.do("browser_tab_list", "{}"))["tabs"].([]any) {
		if tab := row.(map[string]any); tab["owner"] == "session" {
			return tab["tab_id"].(string)
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

func TestTheToolsAreThoseOfTheGoldenFile(t *testing.T) {
	f := newFront(t)
	f.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	var got bytes.Buffer
	raw, err := json.Marshal(f.next().Result)
	require.NoError(t, err)
	require.NoError(t, json.Indent(&got, raw, "", "  "))
	golden := filepath.Join("testdata", "tools.golden.json")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(golden, append(got.Bytes(), '\n'), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.JSONEq(t, string(want), got.String())
}

func TestBothErasOfTheProtocolWork(t *testing.T) {
	f := newFront(t)
	for _, version := range []string{"2024-11-05", "2025-06-18", "2025-11-25"} {
		f.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":{},"clientInfo":{"name":"Evil\u202eClient\u0000","version":"1"}}}`)
		got := f.next()
		assert.Equal(t, version, got.Result["protocolVersion"])
		assert.Contains(t, got.Result["instructions"], "browser_set_allowed_domains")
	}
	f.send(`{"jsonrpc":"2.0","id":2,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"new","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`)
	assert.Nil(t, f.next().Error)
}

func TestNavigateFollowsTheContract(t *testing.T) {
	f := newFront(t)
	tab := f.tab()
	at := func(url string) string { return fmt.Sprintf(`{"tab_id":%q,"url":%q}`, tab, url) }

	data := f.refused(f.do("browser_navigate", at("https://www.example.com/pricing")), -32010, "domain_approval_required").(map[string]any)
	assert.Equal(t, "https://www.example.com/pricing", data["requested_url"])
	assert.Equal(t, "example.com", data["registrable_domain"])
	assert.Equal(t, "www.example.com", data["host"])
	assert.Equal(t, []any{}, data["allowed_domains"])
	assert.NotContains(t, data, "blocked_url")
	assert.True(t, strings.HasPrefix(data["hint"].(string), "Call browser_set_allowed_domains with the domain, then retry."))
	assert.Contains(t, data["hint"], `"www.example.com" or "*.example.com"`)

	set := f.content(f.do("browser_set_allowed_domains", `{"domains":["example.com","*.news.example.com"]}`))
	assert.Equal(t, map[string]any{"allowed_domains": []any{"example.com", "*.news.example.com"}, "prompted": true}, set)
	set = f.content(f.do("browser_set_allowed_domains", `{"domains":["*.news.example.com","EXAMPLE.com."]}`))
	assert.Equal(t, false, set["prompted"])

	page := f.content(f.do("browser_navigate", at("https://example.com/pricing")))
	assert.Equal(t, map[string]any{"navigated": true, "final_url": "https://example.com/pricing", "http_status": 200.0, "committed_at_ms": 1719791234123.0}, page)

	evil, err := gate.Parse("https://evil.test/x")
	require.NoError(t, err)
	for name, test := range map[string]struct {
		err  error
		code int
		text string
		data any
	}{
		"a hop that leaves the list": {&chrome.DeniedError{RequestedURL: "https://example.com/", Blocked: evil}, -32010, "domain_approval_required", nil},
		"a network failure":          {&chrome.NetError{Code: "net::ERR_NAME_NOT_RESOLVED", Detail: "the name could not be resolved"}, -32603, "could not be resolved", "net::ERR_NAME_NOT_RESOLVED"},
		"gates that disagree":        {&chrome.DisagreeError{URL: "https://example.com/", Proxy: "unseen", Fetch: "allowed"}, -32603, "gates_disagree", map[string]any{"url": "https://example.com/", "proxy": "unseen", "fetch": "allowed"}},
		"a browser that is gone":     {chrome.ErrGone, -32603, "browser_gone", nil},
		"something unforeseen":       {io.ErrClosedPipe, -32603, "internal error", nil},
	} {
		t.Run(name, func(t *testing.T) {
			f.browser.navigate = func(context.Context, chrome.NavigateRequest) (chrome.NavigateResult, error) {
				return chrome.NavigateResult{}, test.err
			}
			data := f.refused(f.do("browser_navigate", at("https://example.com/")), test.code, test.text)
			if test.data != nil {
				assert.Equal(t, test.data, data)
			}
			if test.code == -32010 {
				assert.Equal(t, "https://evil.test/x", data.(map[string]any)["blocked_url"])
				assert.Equal(t, "evil.test", data.(map[string]any)["host"])
			}
		})
	}
	f.browser.local = &chrome.NetError{Code: "net::ERR_DISALLOWED_URL_SCHEME", Detail: "plain HTTP"}
	assert.Equal(t, "net::ERR_DISALLOWED_URL_SCHEME", f.refused(f.do("browser_navigate", at("http://example.com/")), -32603, "plain HTTP"))
}

func TestArgumentsAreCheckedAndNamed(t *testing.T) {
	f := newFront(t)
	tab := f.tab()
	for _, test := range []struct{ tool, arguments, says string }{
		{"browser_navigate", `{}`, "tab_id"},
		{"browser_navigate", `{"tab_id":"` + tab + `"}`, "url"},
		{"browser_navigate", `{"tab_id":7,"url":"https://a.test"}`, "tab_id"},
		{"browser_navigate", `{"tab_id":null,"url":"https://a.test"}`, "tab_id"},
		{"browser_navigate", `{"tab_id":"` + tab + `","url":"https://a.test","wait_for_load":"yes"}`, "wait_for_load"},
		{"browser_navigate", `{"tab_id":"` + tab + `","url":"https://a.test","extra":1}`, "extra"},
		{"browser_navigate", `{"tab_id":"` + tab + `","URL":"https://a.test"}`, "URL"},
		{"browser_navigate", `{"tab_id":"` + tab + `","url":"a.test"}`, "scheme"},
		{"browser_navigate", `{"tab_id":"` + tab + `","url":"https://good.test@evil.test/"}`, "user name"},
		{"browser_navigate", `{"tab_id":"tab_zzzzzzzz","url":"https://a.test"}`, "unknown tab_id"},
		{"browser_set_allowed_domains", `{}`, "domains"},
		{"browser_set_allowed_domains", `{"domains":[]}`, "domains"},
		{"browser_set_allowed_domains", `{"domains":["*.*.example.com"]}`, "*.*.example.com"},
		{"browser_set_allowed_domains", `{"domains":[1]}`, "domains[0]"},
		{"browser_set_allowed_domains", `{"domains":"a.test"}`, "domains"},
		{"browser_get_allowed_domains", `{"x":1}`, "x"},
		{"browser_tab_close", `{"tab_id":"nope"}`, "unknown tab_id"},
		{"browser_nothing", `{}`, "browser_nothing"},
	} {
		f.refused(f.do(test.tool, test.arguments), -32602, test.says)
	}
	f.send(`{"jsonrpc":"2.0","id":9,"method":"no/such"}`)
	f.refused(f.next(), -32601, "")
}

func TestThePersonsTabsAreNotTheSessions(t *testing.T) {
	f := newFront(t)
	tab := f.tab()
	person := f.ledger.AddTab("", "person")
	f.ledger.Describe(person, "https://bank.test/account", "My account")
	other := f.ledger.AddTab(f.ledger.BeginSession("other", nil), "other")
	rows := map[string]map[string]any{}
	for _, row := range f.content(f.do("browser_tab_list", "{}"))["tabs"].([]any) {
		rows[row.(map[string]any)["tab_id"].(string)] = row.(map[string]any)
	}
	assert.Nil(t, rows[string(person)]["url"])
	assert.Nil(t, rows[string(person)]["title"])
	assert.Equal(t, "user", rows[string(person)]["owner"])
	assert.Equal(t, "another_session", rows[string(other)]["owner"])
	assert.Nil(t, rows[string(other)]["url"])
	assert.Equal(t, "held", rows[tab]["lease"])
	assert.Equal(t, true, rows[tab]["active"])
	data := f.refused(f.do("browser_navigate", `{"tab_id":"`+string(person)+`","url":"https://a.test/"}`), -32011, "tab_leased")
	assert.Equal(t, map[string]any{"tab_id": string(person), "holder": "user"}, data)
	f.refused(f.do("browser_tab_close", `{"tab_id":"`+string(person)+`"}`), -32011, "tab_leased")

	at, err := gate.Parse("https://bank.test/account")
	require.NoError(t, err)
	f.ledger.Describe(ledger.TabID(tab), at.URL(), "My account")
	f.ledger.Shown(ledger.TabID(tab), at, true)
	for _, row := range f.content(f.do("browser_tab_list", "{}"))["tabs"].([]any) {
		assert.Nil(t, row.(map[string]any)["url"], "nor where a person took the session's own tab")
	}
	assert.Equal(t, map[string]any{"closed": true}, f.content(f.do("browser_tab_close", `{"tab_id":"`+tab+`"}`)))
}

func TestAGarbageLineIsAnsweredAndTheLoopGoesOn(t *testing.T) {
	f := newFront(t)
	long := `{"jsonrpc":"2.0","id":5,"method":"ping","params":{"x":"` + strings.Repeat("a", 4<<20) + `"}}`
	for line, code := range map[string]int{"garbage": -32700, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`: -32600, long: -32600, "{": -32700} {
		f.send(line)
		got := f.next()
		require.NotNil(t, got.Error)
		assert.Equal(t, code, got.Error.Code)
		assert.Nil(t, got.ID)
	}
	f.send(`{"jsonrpc":"2.0","id":"six","method":"ping"}`)
	assert.Equal(t, "six", f.next().ID)
	large := `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"` + strings.Repeat("a", 4<<20-200) + `"}}`
	f.send(large)
	assert.Equal(t, 7.0, f.next().ID, "just under 4 MiB is a message like others")
}

func TestProgressComesBeforeItsAnswerAndOtherCallsAreAnsweredMeanwhile(t *testing.T) {
	f := newFront(t)
	yes := make(chan struct{})
	f.browser.ask = func(context.Context, ledger.SessionID, gate.Allowlist) (bool, error) { <-yes; return true, nil }
	f.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"browser_set_allowed_domains","arguments":{"domains":["a.test"]},"_meta":{"progressToken":"tok"}}}`)
	assert.Equal(t, "notifications/progress", f.next().Method)
	f.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	for {
		if m := f.next(); m.Method == "" {
			assert.Equal(t, 2.0, m.ID)
			break
		}
	}
	close(yes)
	for {
		if m := f.next(); m.Method == "" {
			assert.Equal(t, 1.0, m.ID)
			break
		}
	}
	f.send(`{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	assert.Equal(t, 3.0, f.next().ID, "no progress after the answer")
}

func TestACancelledCallIsNotAnswered(t *testing.T) {
	f := newFront(t)
	tab := f.tab()
	f.do("browser_set_allowed_domains", `{"domains":["a.test"]}`)
	stopped := make(chan struct{})
	f.browser.navigate = func(ctx context.Context, _ chrome.NavigateRequest) (chrome.NavigateResult, error) {
		<-ctx.Done()
		close(stopped)
		return chrome.NavigateResult{}, context.Cause(ctx)
	}
	f.send(call(7, "browser_navigate", `{"tab_id":"`+tab+`","url":"https://a.test/"}`),
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`)
	<-stopped
	f.send(`{"jsonrpc":"2.0","id":8,"method":"ping"}`)
	assert.Equal(t, 8.0, f.next().ID)
}

func TestEveryCallIsAnsweredAtTheEndOfInput(t *testing.T) {
	f := newFront(t)
	tab := f.tab()
	f.do("browser_set_allowed_domains", `{"domains":["a.test"]}`)
	f.browser.ask = func(context.Context, ledger.SessionID, gate.Allowlist) (bool, error) {
		<-f.browser.endedAsk
		return false, chrome.ErrSessionEnded
	}
	f.browser.navigate = func(ctx context.Context, _ chrome.NavigateRequest) (chrome.NavigateResult, error) {
		<-ctx.Done()
		return chrome.NavigateResult{}, context.Cause(ctx)
	}
	f.send(call(100, "browser_set_allowed_domains", `{"domains":["b.test"]}`), call(101, "browser_navigate", `{"tab_id":"`+tab+`","url":"https://a.test/"}`))
	for i := range 20 {
		f.send(call(i, "browser_get_allowed_domains", "{}"))
	}
	go func() {
		io.WriteString(f.in, `{"jsonrpc":"2.0","id":102,"method":"ping"}`) // a last line without a newline
		f.in.Close()
	}()
	answers := map[float64]message{}
	for len(answers) < 23 {
		m := f.next()
		answers[m.ID.(float64)] = m
	}
	f.refused(answers[100], -32603, "session_ended")
	f.refused(answers[101], -32603, "session_ended")
	assert.Nil(t, answers[102].Error)
	require.NoError(t, <-f.served)
	f.served <- nil
	count := 0
	f.browser.ended.Range(func(any, any) bool { count++; return true })
	assert.Equal(t, 1, count, "the session ended in the browser too")
}

func TestARefusalInATabIsToldAsALogMessage(t *testing.T) {
	f := newFront(t)
	f.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	f.next()
	tab := f.tab()
	go f.ledger.NoteDenial(ledger.Denial{Tab: ledger.TabID(tab), URL: "https://evil.test/?secret=1", Host: "evil.test", Initiator: gate.Page})
	m := f.next()
	assert.Equal(t, "notifications/message", m.Method)
	assert.NotContains(t, m.raw, "secret")
	denied := f.content(f.do("browser_tab_list", "{}"))["tabs"].([]any)[0].(map[string]any)["last_denied"].(map[string]any)
	assert.Equal(t, "evil.test", denied["host"])
}

func TestAPanicInAToolTellsNothing(t *testing.T) {
	f := newFront(t)
	f.browser.ask = func(context.Context, ledger.SessionID, gate.Allowlist) (bool, error) { panic("a secret") }
	m := f.do("browser_set_allowed_domains", `{"domains":["a.test"]}`)
	f.refused(m, -32603, "internal error")
	assert.NotContains(t, m.raw, "secret")
}

func FuzzLines(f *testing.F) {
	for _, seed := range []string{"garbage", "{}", `{"jsonrpc":"2.0","id":1}`, `{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{"name":"browser_navigate","arguments":[]}}`, "[]", "\x00"} {
		f.Add(seed)
	}
	l := ledger.New(ledger.Config{})
	b := &fakeBrowser{ledger: l, endedAsk: make(chan struct{})}
	b.ask = func(context.Context, ledger.SessionID, gate.Allowlist) (bool, error) {
		return false, chrome.ErrDeclined
	}
	b.navigate = func(context.Context, chrome.NavigateRequest) (chrome.NavigateResult, error) {
		return chrome.NavigateResult{}, chrome.ErrGone
	}
	server := mcpfront.New(mcpfront.Config{Ledger: l, Browser: b, Drain: 100 * time.Millisecond})
	f.Fuzz(func(t *testing.T, line string) {
		line = strings.NewReplacer("\n", "", `"still here"`, "").Replace(line)
		var out bytes.Buffer
		in := strings.NewReader(line + "\n" + `{"jsonrpc":"2.0","id":"still here","method":"ping"}`)
		if err := server.Serve(context.Background(), in, &out); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), `"still here"`) {
			t.Fatalf("%q stopped the loop: %s", line, out.String())
		}
		for got := range strings.Lines(out.String()) {
			if !json.Valid([]byte(got)) {
				t.Fatalf("%q was answered with %q", line, got)
			}
		}
	})
}
