package mcpfront_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/chrome"
	"sallyport/gate"
	"sallyport/ledger"
)

func TestBothErasOfTheProtocolWork(t *testing.T) {
	for _, version := range []string{"2024-11-05", "2025-06-18", "2025-11-25"} {
		f := newFront(t)
		f.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":{},"clientInfo":{"name":"Evil\u202eClient\u0000","version":"1"}}}`)
		got := f.next()
		assert.Equal(t, version, got.Result["protocolVersion"])
		assert.Contains(t, got.Result["instructions"], "browser_set_allowed_domains")
	}
	f := newFront(t)
	f.send(`{"jsonrpc":"2.0","id":2,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"new","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`)
	assert.Nil(t, f.next().Error)
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

func TestAMarkOfTheByteOrderBeforeTheFirstLineIsSkipped(t *testing.T) {
	f := newFront(t)
	f.send("\ufeff" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	assert.Nil(t, f.next().Error)
	f.send("\ufeff" + `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	f.refused(f.next(), -32700, "JSON") // nowhere else
}

func TestArgumentsThatAreNullAreNone(t *testing.T) {
	f := newFront(t)
	f.content(f.do("browser_get_allowed_domains", "null"))
	f.refused(f.do("browser_tab_close", "null"), -32602, "tab_id: is missing")
}

func TestOtherCallsAreAnsweredWhileThePersonThinks(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	yes := make(chan struct{})
	f.browser.ask = func(context.Context, ledger.SessionID, gate.Allowlist) (bool, error) { <-yes; return true, nil }
	f.send(call(1, "browser_set_allowed_domains", `{"domains":["a.test"]}`), `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	assert.Equal(t, 2.0, f.next().ID)
	close(yes)
	assert.Equal(t, 1.0, f.next().ID)
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
	synctest.Test(t, func(t *testing.T) {
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
		began := time.Now()
		answers := map[float64]message{}
		for len(answers) < 23 {
			m := f.next()
			answers[m.ID.(float64)] = m
		}
		assert.Equal(t, 3*time.Second, time.Since(began))
		f.refused(answers[100], -32603, "session_ended")
		f.refused(answers[101], -32603, "session_ended")
		assert.Nil(t, answers[102].Error)
		require.NoError(t, <-f.served)
		f.served <- nil
		count := 0
		f.browser.ended.Range(func(any, any) bool { count++; return true })
		assert.Equal(t, 1, count, "the session ended in the browser too")
	})
}

func TestAPanicInAToolTellsNothing(t *testing.T) {
	f := newFront(t)
	f.browser.ask = func(context.Context, ledger.SessionID, gate.Allowlist) (bool, error) { panic("a secret") }
	m := f.do("browser_set_allowed_domains", `{"domains":["a.test"]}`)
	f.refused(m, -32603, "internal error")
	assert.NotContains(t, m.raw, "secret")
}

func TestLinesThatAreNoMessagesAreNamed(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	for _, test := range []struct {
		line string
		id   any
		code int
		says string
	}{
		{`7`, nil, -32600, "object"},
		{`null`, nil, -32600, "object"},
		{`{}`, nil, -32600, "method"},
		{`{"jsonrpc":"2.0","id":1}`, 1.0, -32600, "method"},
		{`{"jsonrpc":"2.0","id":1,"method":7}`, 1.0, -32600, "method"},
		{`{"jsonrpc":"2.0","ID":1,"method":"ping","id":2,"Method":"tools/list","jsonRPC":"1.0","params":[]}`, 2.0, -32602, "params"},
		{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, 1.0, -32600, "version"},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, nil, -32600, "id"},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, nil, -32600, "id"},
		{`{"jsonrpc":"2.0","id":[1],"method":"ping"}`, nil, -32600, "id"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, 1.0, -32602, "name"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`, 1.0, -32602, "name"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"browser_tab_list","arguments":[]}}`, 1.0, -32602, "arguments"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"browser_tab_list","arguments":7}}`, 1.0, -32602, "arguments"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"browser_tab_list","_meta":7}}`, 1.0, -32602, "_meta"},
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":7}}`, 1.0, -32602, "protocolVersion: must be a string"},
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":[]}}`, 1.0, -32602, "clientInfo: must be an object"},
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":{"name":7}}}`, 1.0, -32602, "clientInfo.name: must be a string"},
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":{"icons":7}}}`, 1.0, -32602, "params: are not as"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"?"}}`, 1.0, -32602, "cursor: must be a nextCursor"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":7}}`, 1.0, -32602, "cursor: must be a nextCursor"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"browser_nope"}}`, 1.0, -32602, "tool 'browser_nope' not found; tools/list"},
		{`{"jsonrpc":"2.0","id":1,"method":"resources/list"}`, 1.0, -32601, "resources"},
	} {
		f.send(test.line)
		m := f.next()
		f.refused(m, test.code, test.says)
		assert.NotRegexp(t, "unmarshal|Go |base64|unparsable", m.Error.Message, "what the code is made of")
		assert.Equal(t, test.id, m.ID, test.line)
	}
	for _, silent := range []string{``, `  `, `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"error":{}}`, `{"jsonrpc":"2.0","method":"notifications/nothing","params":[]}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}`, `{"jsonrpc":"2.0","method":"notifications/cancelled"}`, `{"jsonrpc":"2.0","id":null,"method":"notifications/initialized"}`} {
		f.send(silent)
	}
	f.send(`{"jsonrpc":"2.0","id":12345678901234567890,"method":"ping"}`)
	assert.Contains(t, f.next().raw, `"id":12345678901234567890`, "an id comes back as it was spelled")
}

func TestOneIdIsOneCallAtATime(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	yes := make(chan struct{})
	f.browser.ask = func(context.Context, ledger.SessionID, gate.Allowlist) (bool, error) { <-yes; return true, nil }
	named := func(id string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"browser_set_allowed_domains","arguments":{"domains":["a.test"]}}}`
	}
	f.send(named(`"a"`), named(`"\u0061"`))
	f.refused(f.next(), -32600, "id")
	close(yes)
	f.content(f.next())
	f.send(named(`"a"`))
	f.content(f.next())
}

func TestCallsThatDoNotLetGoAreAnsweredOverTheirHeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tab := navigable(t)
		stuck := make(chan struct{})
		f.browser.ensure = func() error { <-stuck; return nil }
		f.send(call(1, "browser_navigate", to(tab, "https://a.test/")))
		began := time.Now()
		f.in.Close()
		f.refused(f.next(), -32603, "session_ended")
		require.NoError(t, <-f.served)
		f.served <- nil
		assert.Equal(t, 3500*time.Millisecond, time.Since(began))
		close(stuck)
		synctest.Wait()
		_, err := f.out.ReadByte()
		assert.ErrorIs(t, err, io.EOF, "nothing is written after Serve returned")
	})
}

func TestTheEndOfTheContextEndsASessionWhoseInputBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tab := navigable(t)
		f.browser.navigate = func(ctx context.Context, _ chrome.NavigateRequest) (chrome.NavigateResult, error) {
			<-ctx.Done()
			return chrome.NavigateResult{}, &chrome.NetError{Code: "net::ERR_ABORTED", Detail: "it was stopped"}
		}
		f.send(call(1, "browser_navigate", to(tab, "https://a.test/")))
		synctest.Wait()
		began := time.Now()
		f.end()
		f.refused(f.next(), -32603, "session_ended")
		require.NoError(t, <-f.served)
		f.served <- nil
		assert.Zero(t, time.Since(began))
	})
}

func TestAClientThatDoesNotReadEndsNothingButItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFront(t)
		f.initialize("c")
		tab := f.tab()
		for range 300 { // a pipe holds nothing, so these wait; the browser must not
			f.ledger.NoteDenial(ledger.Denial{Tab: ledger.TabID(tab), URL: "https://evil.test/", Host: "evil.test", Initiator: gate.Page})
		}
		f.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		began := time.Now()
		f.in.Close()
		assert.ErrorContains(t, <-f.served, "does not read")
		f.served <- nil
		assert.Equal(t, 4*time.Second, time.Since(began))
	})
}

func TestACallThatAsksAtTheVeryEndLeavesNoWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFront(t)
		ended := make(chan struct{})
		f.browser.ask = func(ctx context.Context, _ ledger.SessionID, _ gate.Allowlist) (bool, error) {
			<-f.browser.endedAsk // the question is put after the questions were ended
			<-ctx.Done()
			close(ended)
			return false, context.Cause(ctx)
		}
		f.send(call(1, "browser_set_allowed_domains", `{"domains":["a.test"]}`))
		began := time.Now()
		f.in.Close()
		f.refused(f.next(), -32603, "session_ended")
		<-ended
		require.NoError(t, <-f.served)
		f.served <- nil
		assert.Zero(t, time.Since(began))
		assert.Equal(t, int32(2), f.browser.endings.Load(), "and is ended once more")
	})
}
