package proxy

import (
	"net/http"
	"runtime/debug"

	"sallyport/gate"
	"sallyport/ledger"
)

// ruleFault refuses what this gate could not decide on.
const ruleFault gate.Rule = "fault"

// guard runs one step of deciding on a request. A panic in it refuses the request:
// nobody else would say so in the log, and in an HTTP/1.1 tunnel, which goproxy
// serves on a goroutine of its own, it would end the process.
func (p *Proxy) guard(r *http.Request, x *exchange, step func() *http.Response) (response *http.Response) {
	defer func() {
		if fault := recover(); fault != nil {
			p.log.Error("deciding on a request panicked; it is refused", "url", gate.Redact(r.URL.String()), "panic", fault, "stack", string(debug.Stack()))
			response = p.faulted(r, x)
		}
	}()
	return step()
}

// faulted records and answers a request that a fault of ours ended.
func (p *Proxy) faulted(r *http.Request, x *exchange) *http.Response {
	response := p.page(r, page{Status: http.StatusInternalServerError, Title: "A fault of Sallyport's",
		Text: "Sallyport could not decide on this request, so it was not sent. Its log says why."})
	if x.redeemed.Hop != 0 {
		p.ledger.Witness(x.redeemed.Hop, ledger.Proxy, ledger.Evidence{Rule: ruleFault, Failure: "net::ERR_FAILED",
			Detail: "Sallyport's proxy could not decide on it, so it was not sent; Sallyport's log says why"})
		if x.redeemed.Gated && x.redeemed.Initiator != gate.User {
			response = noContent(r)
		}
	}
	p.ledger.Delivered(x.ticket, response.StatusCode)
	return response
}
