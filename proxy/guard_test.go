package proxy_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/proxy"
)

// TestAPanicWhileDecidingRefusesThatRequestAlone does it in both kinds of tunnels:
// in one of HTTP/1.1 nobody else would stop a panic from ending the process.
func TestAPanicWhileDecidingRefusesThatRequestAlone(t *testing.T) {
	for protocol, h2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		t.Run(protocol, func(t *testing.T) {
			var log bytes.Buffer
			w := newWorld(t, func(c *proxy.Config) {
				c.Log = slog.New(slog.NewTextHandler(&log, nil))
				c.Decide = func(q gate.Query) gate.Decision {
					if q.Target.URL() == "https://good.test/never" {
						panic("a fault that a test made")
					}
					return gate.Decide(q)
				}
			})
			w.client.Transport.(*http.Transport).ForceAttemptHTTP2 = h2
			ticket, _, nav := w.ticket(t, "https://good.test/never", gate.Agent)
			response, _ := w.do(t, document(t, "https://good.test/never", ticket))
			assert.Equal(t, protocol, response.Proto)
			assert.Equal(t, http.StatusNoContent, response.StatusCode, "so that the page stays")
			outcome := w.Settle(t.Context(), nav, ledger.Ending{Error: "net::ERR_ABORTED"})
			assert.Equal(t, ledger.Failed, outcome.Verdict)
			assert.Equal(t, "net::ERR_FAILED", outcome.Error)
			assert.Equal(t, "denied", outcome.Proxy)
			response, _ = w.do(t, document(t, "https://good.test/never", ticket))
			assert.Equal(t, http.StatusForbidden, response.StatusCode, "the ticket is spent")
			ticket, _, _ = w.ticket(t, "https://good.test/never", gate.User)
			_, body := w.do(t, document(t, "https://good.test/never", ticket))
			assert.Contains(t, body, "A fault of Sallyport&#39;s", "a person is told")
			ticket, _, _ = w.ticket(t, "https://good.test/", gate.Agent)
			response, _ = w.do(t, document(t, "https://good.test/", ticket))
			assert.Equal(t, http.StatusOK, response.StatusCode, "others go on")
			hits := w.web.Hits("good.test")
			require.Len(t, hits, 1)
			assert.Equal(t, "/", hits[0].Path)
			assert.Contains(t, log.String(), "guard_test.go", "the log has the stack")
		})
	}
}
