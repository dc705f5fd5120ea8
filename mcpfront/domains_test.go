package mcpfront_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"sallyport/chrome"
	"sallyport/gate"
	"sallyport/ledger"
)

func TestWhatThePersonDidIsTold(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	for message, err := range map[string]error{
		"user_declined":        chrome.ErrDeclined,
		"approval_expired":     chrome.ErrExpired,
		"approval_unavailable": &chrome.UnavailableError{Hint: "start it with a display"},
		"browser_gone":         chrome.ErrGone,
		"session_ended":        chrome.ErrSessionEnded,
	} {
		f.browser.ask = func(context.Context, ledger.SessionID, gate.Allowlist) (bool, error) { return true, err }
		m := f.do("browser_set_allowed_domains", `{"domains":["a.test"]}`)
		data, _ := f.refused(m, -32603, message).(map[string]any)
		assert.Equal(t, message, m.Error.Message, "the name is the whole message")
		switch message {
		case "user_declined", "approval_expired":
			assert.Equal(t, "unchanged", data["allowlist"])
			assert.NotEmpty(t, data["reason"])
		case "session_ended":
			assert.Nil(t, data)
		default:
			assert.NotEmpty(t, data["hint"])
		}
		assert.Equal(t, []any{}, f.content(f.do("browser_get_allowed_domains", `{}`))["allowed_domains"])
	}
	f.browser.ask = func(context.Context, ledger.SessionID, gate.Allowlist) (bool, error) {
		return false, &chrome.StartError{Err: chrome.ErrGone, Hint: "set browser.path"}
	}
	f.refused(f.do("browser_set_allowed_domains", `{"domains":["a.test"]}`), -32603, "set browser.path")
}

func TestTheListIsTheSessionsOwnAndIsShownInItsNormalForm(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	set := f.content(f.do("browser_set_allowed_domains", `{"domains":["B.test.","*.a.test","b.test","2130706433"]}`))
	assert.Equal(t, []any{"b.test", "*.a.test", "127.0.0.1"}, set["allowed_domains"])
	f.browser.pending.Store(true)
	assert.Equal(t, map[string]any{"allowed_domains": set["allowed_domains"], "pending": true}, f.content(f.do("browser_get_allowed_domains", `{}`)))
	other := newFrontOn(t, f.ledger, f.browser)
	assert.Equal(t, []any{}, other.content(other.do("browser_get_allowed_domains", `{}`))["allowed_domains"])
}

func TestProgressGoesOutAtOnceAndThenEveryTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFront(t)
		f.browser.ask = func(context.Context, ledger.SessionID, gate.Allowlist) (bool, error) {
			time.Sleep(25 * time.Second) // of the bubble
			return true, nil
		}
		began := time.Now()
		f.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"browser_set_allowed_domains","arguments":{"domains":["a.test"]},"_meta":{"progressToken":"tok"}}}`)
		for i, after := range []time.Duration{0, 10 * time.Second, 20 * time.Second} {
			m := f.next()
			assert.Equal(t, "notifications/progress", m.Method)
			assert.Equal(t, "tok", m.Params["progressToken"])
			assert.Equal(t, float64(i+1), m.Params["progress"])
			assert.Equal(t, after, time.Since(began))
		}
		assert.Equal(t, true, f.content(f.next())["prompted"])
		time.Sleep(time.Minute)
		f.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		assert.Equal(t, 2.0, f.next().ID, "none after the answer")
	})
}

func TestTheSecondQuestionMakesProgressToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tab := navigable(t)
		f.browser.local = func(context.Context) error {
			f.browser.pending.Store(true)
			time.Sleep(15 * time.Second) // of the bubble
			f.browser.pending.Store(false)
			return nil
		}
		f.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"browser_navigate","arguments":` + to(tab, "https://a.test/") + `,"_meta":{"progressToken":7}}}`)
		assert.Equal(t, 7.0, f.next().Params["progressToken"])
		f.content(f.next())
	})
}

func TestAClientThatGaveUpJoinsAgainOrHearsOfTheApproval(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	asked, left := make(chan struct{}, 2), make(chan struct{})
	f.browser.ask = func(ctx context.Context, s ledger.SessionID, list gate.Allowlist) (bool, error) {
		asked <- struct{}{}
		<-ctx.Done()
		f.ledger.Approve(s, list, nil) // the window stayed
		close(left)
		return false, context.Cause(ctx)
	}
	f.send(call(5, "browser_set_allowed_domains", `{"domains":["a.test"]}`))
	<-asked
	f.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`)
	<-left
	f.browser.ask = func(_ context.Context, s ledger.SessionID, list gate.Allowlist) (bool, error) {
		return !f.ledger.Allowlist(s).Equal(list), nil
	}
	assert.Equal(t, false, f.content(f.do("browser_set_allowed_domains", `{"domains":["a.test"]}`))["prompted"])
}
