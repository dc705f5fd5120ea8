package proxy

import (
	"net/http"
	"strings"

	"sallyport/gate"
	"sallyport/ledger"
)

// frameDests are the values of Sec-Fetch-Dest for documents inside documents.
var frameDests = map[string]bool{"iframe": true, "frame": true, "embed": true, "object": true, "fencedframe": true}

// documentKind reports whether a request looks like a document's, and of which
// kind where the wire tells.
func documentKind(h http.Header) (ledger.Kind, bool) {
	dest := h.Get("Sec-Fetch-Dest")
	switch {
	case dest == "document":
		return ledger.Top, true
	case frameDests[dest]:
		return ledger.Frame, true
	case h.Get("Sec-Fetch-Mode") == "navigate":
		return "", true
	case dest == "" && h.Get("Sec-Fetch-Mode") == "" && h.Get("Sec-Fetch-Site") == "":
		// Chromium says nothing on plain HTTP to hosts that are not local.
		return "", h.Get("Upgrade-Insecure-Requests") != "" || strings.Contains(h.Get("Accept"), "text/html")
	}
	return "", false
}

// answer is the gate: it returns the response to one request, always.
func (p *Proxy) answer(r *http.Request, x *exchange) *http.Response {
	ticket := ledger.Ticket(r.Header.Get(ledger.TicketHeader))
	r.Header.Del(ledger.TicketHeader) // valid or not, it goes no further
	if x.wrong != "" {
		p.log.Warn("misdirected request refused", "why", x.wrong, "url", gate.Redact(x.target.URL()))
		response := p.page(r, page{Status: http.StatusMisdirectedRequest, Title: "Wrong door", Text: x.wrong + "."})
		response.Close = true
		return response
	}
	if r.Header.Get("Sec-Fetch-Dest") == "serviceworker" {
		return p.page(r, page{Status: http.StatusForbidden, Title: "No service workers", Text: "Sallyport installs none, so that no page is shown that its gates cannot see."})
	}
	if strings.HasPrefix(r.Header.Get("Sec-Purpose"), "prefetch") {
		return p.page(r, page{Status: http.StatusForbidden, Title: "No prefetching", Text: "Sallyport fetches nothing on suspicion: a host is asked when somebody goes there."})
	}
	kind, isDocument := documentKind(r.Header)
	if !isDocument && ticket == "" {
		return p.pass(r, x)
	}
	if !p.ledger.Armed() {
		return p.page(r, page{Status: http.StatusServiceUnavailable, Title: "One moment", Text: "Sallyport is just starting. This page tries again by itself.", Reload: true})
	}
	wire := ledger.Wire{Kind: kind, Method: x.method, Target: x.target}
	redeemed, err := p.ledger.Redeem(ticket, wire)
	if err != nil {
		p.ledger.NoteStray(wire)
		return p.page(r, page{Status: http.StatusForbidden, Title: "Not opened", URL: x.target.URL(),
			Text: "This document came to Sallyport's proxy without passing the browser's own gate first, so it was not loaded. Load the page again."})
	}
	x.ticket, x.redeemed = ticket, redeemed
	return p.document(r, x)
}

// pass lets what is no document go: an image, a script, a socket.
func (p *Proxy) pass(r *http.Request, x *exchange) *http.Response {
	response, f := p.forward(r, x.target, p.reachable(r, x.target))
	if f != nil {
		return p.failurePage(r, x.target, f)
	}
	return response
}

// document judges a document that has a ticket, and writes what it decided
// before any byte of an answer can reach Chromium.
func (p *Proxy) document(r *http.Request, x *exchange) *http.Response {
	ticket, redeemed := x.ticket, x.redeemed
	restore(r.Header, redeemed.CacheControl)
	if redeemed.Kind == ledger.Frame {
		response := p.pass(r, x)
		p.ledger.Delivered(ticket, response.StatusCode)
		return response
	}
	d := p.decide(gate.Query{
		Target:    x.target,
		Initiator: redeemed.Initiator,
		Gated:     redeemed.Gated,
		List:      redeemed.List,
		Local:     redeemed.Local || gate.LocalSpelling(x.target.Host(), p.ranges),
	})
	evidence := ledger.Evidence{Allowed: d.Allowed, Rule: d.Rule}
	p.ledger.Witness(redeemed.Hop, ledger.Proxy, evidence)
	if !d.Allowed {
		p.ledger.Delivered(ticket, http.StatusNoContent)
		return noContent(r)
	}
	response, f := p.forward(r, x.target, redeemed.Local || redeemed.Initiator == gate.User || !redeemed.Gated)
	if f == nil && redeemed.Gated && redeemed.Initiator != gate.User && isAttachment(response.Header) {
		response.Body.Close()
		f = &failure{code: "net::ERR_ABORTED", detail: "this is a download, and downloads are not available to agents", status: http.StatusNoContent}
	}
	if f != nil {
		response = p.failed(r, x, f, &evidence)
	}
	evidence.Status = response.StatusCode
	p.ledger.Witness(redeemed.Hop, ledger.Proxy, evidence)
	p.ledger.Delivered(ticket, response.StatusCode)
	return response
}

// failed turns a failure into evidence and an answer. For an agent it is 204 No
// Content: Chromium then keeps the page that is there, and the tool's own answer
// carries the cause. So it is for a page whose navigation was refused.
func (p *Proxy) failed(r *http.Request, x *exchange, f *failure, evidence *ledger.Evidence) *http.Response {
	evidence.Failure, evidence.Detail = f.code, f.detail
	if f.refused {
		evidence.Allowed, evidence.Rule = false, ledger.RuleAddress
	}
	gated := x.redeemed.Gated && x.redeemed.Initiator != gate.User
	if gated && (x.redeemed.Initiator == gate.Agent || f.refused || f.status == http.StatusNoContent) {
		return noContent(r)
	}
	return p.failurePage(r, x.target, f)
}

// restore takes away the no-cache that the DevTools layer added.
func restore(h http.Header, before *string) {
	switch {
	case before == nil:
	case *before == "":
		h.Del("Cache-Control")
	default:
		h.Set("Cache-Control", *before)
	}
}

// reachable asks whether a request that is no gated document may reach a private
// address. same-origin in Sec-Fetch-Site, which no page can write, says where it
// comes from when Origin and Referer are withheld.
func (p *Proxy) reachable(r *http.Request, t gate.Target) bool {
	fromHost, fromPort := t.Host(), t.Port()
	if r.Header.Get("Sec-Fetch-Site") != "same-origin" {
		fromHost, fromPort = "", 0
		for _, name := range []string{"Origin", "Referer"} {
			if from, err := gate.Parse(r.Header.Get(name)); err == nil {
				fromHost, fromPort = from.Host(), from.Port()
				break
			}
		}
	}
	return p.ledger.LocalReachable(t.Host(), t.Port(), fromHost, fromPort)
}

func isAttachment(h http.Header) bool {
	disposition, _, _ := strings.Cut(h.Get("Content-Disposition"), ";")
	return strings.EqualFold(strings.TrimSpace(disposition), "attachment")
}
