package proxy

import (
	"bufio"
	"net"
	"net/http"
)

// Hijack hands the connection over: goproxy asks for it by type assertion.
func (w *flushWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(w.ResponseWriter).Hijack()
}
