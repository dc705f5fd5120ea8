package mcpfront_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/gate"
	"sallyport/ledger"
)

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

func denyIn(f *front, tab string) {
	f.ledger.NoteDenial(ledger.Denial{Tab: ledger.TabID(tab), URL: "https://evil.test/", Host: "evil.test", Initiator: gate.Page})
}

func TestNoRefusalIsToldBeforeInitializeNorBelowTheLevel(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	tab := f.tab()
	denyIn(f, tab)
	f.initialize("c") // the next message is its answer
	f.send(`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"error"}}`)
	assert.Equal(t, 2.0, f.next().ID)
	denyIn(f, tab)
	f.send(`{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"loud"}}`)
	f.refused(f.next(), -32602, "loud")
	f.send(`{"jsonrpc":"2.0","id":4,"method":"logging/setLevel","params":{"level":"debug"}}`)
	assert.Equal(t, 4.0, f.next().ID)
	denyIn(f, tab)
	m := f.next()
	assert.Equal(t, "notifications/message", m.Method)
	assert.Equal(t, map[string]any{"level": "warning", "logger": "sallyport", "data": map[string]any{
		"event": "navigation_refused", "tab_id": tab, "url": "https://evil.test/", "host": "evil.test", "initiator": "page"}}, m.Params)
}

func TestARefusalComesBeforeTheAnswerThatItIsOf(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	f.initialize("c")
	tab := f.tab()
	f.send(call(5, "browser_navigate", to(tab, "https://evil.test/?q=1")))
	m := f.next()
	assert.Equal(t, "notifications/message", m.Method)
	assert.Equal(t, "agent", m.Params["data"].(map[string]any)["initiator"])
	f.refused(f.next(), -32010, "domain_approval_required")
	denied := f.row(tab)["last_denied"].(map[string]any)
	assert.Equal(t, "agent", denied["initiator"])
	assert.Positive(t, denied["at_ms"])
}

func TestAClientIsNamedAsItSaysButCleanly(t *testing.T) {
	t.Parallel()
	for said, shown := range map[string]string{
		"Inspector":                     "Inspector",
		"Evil\u202eClient\x00\x1b[31m":  "EvilClient[31m",
		"two\n lines\u2028and a\u200bn": "two linesand an",
		strings.Repeat("é", 100):        strings.Repeat("é", 63) + "…",
		" \u0007":                       "an agent without a name",
	} {
		f := newFront(t)
		f.initialize(said)
		assert.Equal(t, shown, f.ledger.Client(f.session()))
	}
	f := newFront(t)
	assert.Equal(t, "an agent without a name", f.ledger.Client(f.session()))
	f.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"new\u0007","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`)
	require.Nil(t, f.next().Error)
	assert.Equal(t, "new", f.ledger.Client(f.session()))
}

func TestAClientKeepsItsFirstName(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	f.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":7}}`)
	f.refused(f.next(), -32602, "")
	require.Nil(t, f.initialize("first").Error, "an initialize that was refused is none")
	f.refused(f.initialize("Your bank"), -32600, "this session is initialized already")
	f.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"Your bank","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`)
	require.Nil(t, f.next().Error)
	assert.Equal(t, "first", f.ledger.Client(f.session()))
}
