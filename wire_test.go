package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"sallyport/fixtures"
)

// sendWire sends a case's request straight to the proxy and returns the status of
// its answer.
func sendWire(proxyPort string, w fixtures.WayWire, fill func(string) string) (int, error) {
	c, err := net.Dial("tcp", "127.0.0.1:"+proxyPort)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return 0, err
	}
	if w.Connect != "" {
		if c, err = throughTunnel(c, w, fill); err != nil {
			return 0, err
		}
	}
	if w.Authority != "" {
		return overHTTP2(c, fill(w.Authority))
	}
	if _, err := io.WriteString(c, fill(strings.Join(w.Request, "\r\n"))+"\r\n\r\n"); err != nil {
		return 0, err
	}
	return statusFrom(bufio.NewReader(c))
}

// throughTunnel opens a tunnel, and speaks TLS inside. Whose certificate the proxy
// shows is not what these cases are about.
func throughTunnel(c net.Conn, w fixtures.WayWire, fill func(string) string) (net.Conn, error) {
	to := fill(w.Connect)
	if _, err := fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", to, to); err != nil {
		return nil, err
	}
	status, err := statusFrom(bufio.NewReader(c))
	if err != nil || status != http.StatusOK {
		return nil, fmt.Errorf("CONNECT %s: %d, %w", to, status, err)
	}
	host, _, _ := net.SplitHostPort(to)
	if w.SNI != "" {
		host = fill(w.SNI)
	}
	protocols := []string{"http/1.1"}
	if w.Authority != "" {
		protocols = []string{"h2"}
	}
	return tls.Client(c, &tls.Config{ServerName: host, InsecureSkipVerify: true, NextProtos: protocols}), nil
}

func statusFrom(in *bufio.Reader) (int, error) {
	response, err := http.ReadResponse(in, nil)
	if err != nil {
		return 0, err
	}
	response.Body.Close()
	return response.StatusCode, nil
}

// overHTTP2 asks for / with an :authority, on a connection that is there.
func overHTTP2(c net.Conn, authority string) (int, error) {
	transport := &http.Transport{
		DialTLSContext: func(context.Context, string, string) (net.Conn, error) { return c, nil },
		Protocols:      new(http.Protocols),
	}
	transport.Protocols.SetHTTP2(true)
	response, err := transport.RoundTrip(must(http.NewRequest(http.MethodGet, "https://"+authority+"/", nil)))
	if err != nil {
		return 0, err
	}
	response.Body.Close()
	return response.StatusCode, nil
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
