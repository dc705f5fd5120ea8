package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
)

// failure is why a request got no response, under Chromium's name.
type failure struct {
	code    string // "net::ERR_..."
	detail  string // a sentence's end: "the name could not be resolved"
	status  int    // of the page that says so
	refused bool   // by the private-network guard
}

const blockedAddress = "net::ERR_BLOCKED_BY_LOCAL_NETWORK_ACCESS_CHECKS"

func refusedAddress(host, detail string) *failure {
	if detail == "" {
		detail = host + " is on a private network, and nobody approved that"
	}
	return &failure{blockedAddress, detail, http.StatusForbidden, true}
}

func badGateway(code, detail string) *failure {
	return &failure{code: "net::" + code, detail: detail, status: http.StatusBadGateway}
}

// failureOf finds Chromium's name for an error of the transport.
func failureOf(err error) *failure {
	var address *addressError
	if errors.As(err, &address) {
		return refusedAddress(address.host, address.Error())
	}
	if f := certificateFailure(err); f != nil {
		return f
	}
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &dns):
		return badGateway("ERR_NAME_NOT_RESOLVED", "the name could not be resolved")
	case errors.Is(err, syscall.ECONNREFUSED):
		return badGateway("ERR_CONNECTION_REFUSED", "the server refused the connection")
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return badGateway("ERR_CONNECTION_RESET", "the server reset the connection")
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return badGateway("ERR_ADDRESS_UNREACHABLE", "the address cannot be reached")
	case errors.Is(err, syscall.ETIMEDOUT), isTimeout(err) && errors.As(err, &op) && op.Op == "dial":
		return &failure{code: "net::ERR_CONNECTION_TIMED_OUT", detail: "the server did not take the connection in time", status: http.StatusGatewayTimeout}
	case errors.Is(err, context.Canceled):
		return badGateway("ERR_ABORTED", "the load was stopped")
	case isTimeout(err), errors.Is(err, context.DeadlineExceeded), strings.Contains(err.Error(), "timeout"):
		return &failure{code: "net::ERR_TIMED_OUT", detail: "the server did not answer in time", status: http.StatusGatewayTimeout}
	case isTLS(err):
		return badGateway("ERR_SSL_PROTOCOL_ERROR", "the server does not speak TLS as it should")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), strings.Contains(err.Error(), "server closed"):
		return badGateway("ERR_EMPTY_RESPONSE", "the server closed the connection without an answer")
	case strings.Contains(err.Error(), "malformed HTTP"):
		return badGateway("ERR_INVALID_HTTP_RESPONSE", "the server's answer is not HTTP")
	}
	return badGateway("ERR_FAILED", "the server could not be reached")
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout() || errors.Is(err, os.ErrDeadlineExceeded)
}

func isTLS(err error) bool {
	var record tls.RecordHeaderError
	var alert tls.AlertError
	return errors.As(err, &record) || errors.As(err, &alert) || strings.Contains(err.Error(), "tls: ") ||
		strings.Contains(err.Error(), "HTTP response to HTTPS client")
}

// certificateFailure names what is wrong with a certificate; nil when nothing is.
func certificateFailure(err error) *failure {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verification *tls.CertificateVerificationError
	switch {
	case errors.As(err, &host):
		return badGateway("ERR_CERT_COMMON_NAME_INVALID", "the server's certificate is for another name")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return badGateway("ERR_CERT_DATE_INVALID", "the server's certificate has expired, or is not valid yet")
	case errors.As(err, &authority):
		return badGateway("ERR_CERT_AUTHORITY_INVALID", "nobody trusted signed the server's certificate")
	case errors.As(err, &invalid), errors.As(err, &verification):
		return badGateway("ERR_CERT_INVALID", "the server's certificate is not valid")
	}
	return nil
}
