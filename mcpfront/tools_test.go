package mcpfront_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/gate"
	"sallyport/ledger"
)

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
