package mcpfront_test

import (
	"context"
	"fmt"
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
	f.browser.local = func(context.Context) error {
		return &chrome.NetError{Code: "net::ERR_DISALLOWED_URL_SCHEME", Detail: "plain HTTP"}
	}
	assert.Equal(t, "net::ERR_DISALLOWED_URL_SCHEME", f.refused(f.do("browser_navigate", at("http://example.com/")), -32603, "plain HTTP"))
}

// navigable returns a front whose session may visit a.test, and its tab.
func navigable(t *testing.T) (*front, string) {
	f := newFront(t)
	tab := f.tab()
	f.content(f.do("browser_set_allowed_domains", `{"domains":["a.test"]}`))
	return f, tab
}

func to(tab, url string) string { return fmt.Sprintf(`{"tab_id":%q,"url":%q}`, tab, url) }

func TestTheChecksComeInTheContractsOrder(t *testing.T) {
	t.Parallel()
	f, tab := navigable(t)
	person := string(f.ledger.AddTab("", "person"))
	reached := ""
	f.browser.ensure = func() error { reached += "ensure "; return nil }
	f.browser.local = func(context.Context) error { reached += "local "; return nil }
	f.browser.navigate = func(context.Context, chrome.NavigateRequest) (chrome.NavigateResult, error) {
		reached += "navigate"
		return chrome.NavigateResult{}, nil
	}
	f.refused(f.do("browser_navigate", `{"tab_id":"tab_zzzzzzzz","url":"nowhere","wait_for_load":1}`), -32602, "wait_for_load")
	f.refused(f.do("browser_navigate", to("tab_zzzzzzzz", "nowhere")), -32602, "url is malformed")
	f.refused(f.do("browser_navigate", to("tab_zzzzzzzz", "https://b.test/")), -32602, "unknown tab_id")
	f.refused(f.do("browser_navigate", to(person, "https://b.test/")), -32011, "tab_leased")
	f.refused(f.do("browser_navigate", to(tab, "http://b.test/")), -32010, "domain_approval_required")
	assert.Empty(t, reached)
	f.content(f.do("browser_navigate", to(tab, "https://a.test/")))
	assert.Equal(t, "ensure local navigate", reached)
}

func TestTheRequestSaysWhatTheCallAsked(t *testing.T) {
	t.Parallel()
	f, tab := navigable(t)
	var got chrome.NavigateRequest
	f.browser.navigate = func(_ context.Context, r chrome.NavigateRequest) (chrome.NavigateResult, error) {
		got = r
		return chrome.NavigateResult{FinalURL: "https://a.test/?x=1&y=<2>", CommittedAt: 5}, nil
	}
	m := f.do("browser_navigate", to(tab, "https://A.test/?x=1&y=2#part"))
	assert.Nil(t, f.content(m)["http_status"], "null where the document had none")
	assert.Equal(t, `{"navigated":true,"final_url":"https://a.test/?x=1&y=<2>","http_status":null,"committed_at_ms":5}`,
		m.Result["content"].([]any)[0].(map[string]any)["text"], "no escapes for HTML")
	assert.Equal(t, ledger.TabID(tab), got.Tab)
	assert.Equal(t, "https://a.test/?x=1&y=2#part", got.Target.URL())
	assert.True(t, got.WaitForLoad, "the default")
	assert.Equal(t, []string{"a.test"}, got.List.Strings())
	f.content(f.do("browser_navigate", `{"tab_id":"`+tab+`","url":"https://a.test/","wait_for_load":false}`))
	assert.False(t, got.WaitForLoad)
}

func TestARefusalNamesTheHopThatWasRefused(t *testing.T) {
	t.Parallel()
	f, tab := navigable(t)
	data := f.refused(f.do("browser_navigate", to(tab, "https://B.test")), -32010, "domain_approval_required").(map[string]any)
	assert.Equal(t, "https://B.test", data["requested_url"], "as it was spelled")
	assert.NotContains(t, data, "blocked_url", "another spelling is no other URL")
	assert.Equal(t, []any{"a.test"}, data["allowed_domains"])
	assert.Contains(t, data["hint"], "detours")

	data = f.refused(f.do("browser_navigate", to(tab, "https://[2001:db8::1]/")), -32010, "domain_approval_required").(map[string]any)
	assert.Equal(t, "2001:db8::1", data["registrable_domain"])
	data = f.refused(f.do("browser_navigate", to(tab, "https://0x7f.1/")), -32010, "domain_approval_required").(map[string]any)
	assert.Equal(t, "127.0.0.1", data["host"])

	hop, err := gate.Parse("https://www.evil.test/x")
	require.NoError(t, err)
	f.browser.navigate = func(context.Context, chrome.NavigateRequest) (chrome.NavigateResult, error) {
		return chrome.NavigateResult{}, &chrome.DeniedError{RequestedURL: "https://a.test/", Blocked: hop}
	}
	data = f.refused(f.do("browser_navigate", to(tab, "https://a.test/")), -32010, "domain_approval_required").(map[string]any)
	assert.Equal(t, "https://a.test/", data["requested_url"])
	assert.Equal(t, "https://www.evil.test/x", data["blocked_url"])
	assert.Equal(t, "www.evil.test", data["host"])
	assert.Equal(t, "evil.test", data["registrable_domain"])
	assert.Contains(t, data["hint"], `"*.evil.test"`)
}

func TestTheListInForceWhenTheLineWasReadCounts(t *testing.T) {
	t.Parallel()
	f, tab := navigable(t)
	let := make(chan struct{})
	f.browser.ensure = func() error { <-let; return nil }
	var list gate.Allowlist
	f.browser.navigate = func(_ context.Context, r chrome.NavigateRequest) (chrome.NavigateResult, error) {
		list = r.List
		return chrome.NavigateResult{}, nil
	}
	f.send(call(7, "browser_navigate", to(tab, "https://a.test/")))
	f.content(f.do("browser_set_allowed_domains", `{"domains":["b.test"]}`))
	close(let)
	f.content(f.next())
	assert.Equal(t, []string{"a.test"}, list.Strings())
}

func TestALeaseIsTheOtherSessionsUntilItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tab := navigable(t)
		other := newFrontOn(t, f.ledger, f.browser)
		data := other.refused(other.do("browser_navigate", to(tab, "https://a.test/")), -32011, "tab_leased")
		assert.Equal(t, map[string]any{"tab_id": tab, "holder": "another_session", "expires_in_ms": 60000.0}, data)
		other.refused(other.do("browser_tab_close", `{"tab_id":"`+tab+`"}`), -32011, "tab_leased")
		assert.Equal(t, "another_session", other.row(tab)["lease"])

		time.Sleep(59 * time.Second) // of the bubble
		f.content(f.do("browser_navigate", to(tab, "https://a.test/")))
		time.Sleep(59 * time.Second)
		other.refused(other.do("browser_navigate", to(tab, "https://a.test/")), -32011, "tab_leased")
		time.Sleep(2 * time.Second)
		assert.Equal(t, "free", f.row(tab)["lease"])
		other.refused(other.do("browser_navigate", to(tab, "https://a.test/")), -32010, "domain_approval_required")
		assert.Equal(t, "another_session", f.row(tab)["lease"], "a lease needs no approval, nor gives one")
		f.refused(f.do("browser_navigate", to(tab, "https://a.test/")), -32011, "tab_leased")
	})
}
