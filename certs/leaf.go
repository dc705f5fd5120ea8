package certs

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"sync"
	"time"
)

const (
	leafLife  = 7 * 24 * time.Hour
	renewLeft = 24 * time.Hour
	maxLeaves = 4096
	// maxCommonName is the bound of X.520; a longer name stands in the SAN alone.
	maxCommonName = 64
)

// leaf is minted once, however many connections ask for it at a time.
type leaf struct {
	once sync.Once
	cert *tls.Certificate
	err  error
}

// Leaf returns a certificate for a host name or an IP literal (without
// brackets). It mints one unless it has one that lasts.
func (a *Authority) Leaf(host string) (*tls.Certificate, error) {
	a.mu.Lock()
	l := a.leaves[host]
	if l == nil {
		if len(a.leaves) >= maxLeaves {
			clear(a.leaves) // rather mint again than remember without a bound
		}
		l = &leaf{}
		a.leaves[host] = l
	}
	a.mu.Unlock()
	l.once.Do(func() { l.cert, l.err = a.mint(host) })
	if l.err == nil && time.Until(l.cert.Leaf.NotAfter) > renewLeft {
		return l.cert, nil
	}
	a.mu.Lock()
	if a.leaves[host] == l {
		delete(a.leaves, host)
	}
	a.mu.Unlock()
	if l.err != nil {
		return nil, l.err
	}
	return a.Leaf(host)
}

func (a *Authority) mint(host string) (*tls.Certificate, error) {
	serial, err := serialNumber()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial,
		NotBefore:    now.Add(-backdate),
		NotAfter:     now.Add(leafLife),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if len(host) <= maxCommonName {
		template.Subject = pkix.Name{CommonName: host}
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.cert, a.leafKey.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("issuing a leaf for %s: %w", host, err)
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		return nil, fmt.Errorf("reading the leaf for %s back: %w", host, err)
	}
	// Chromium finds the pinned key only when the authority is in the chain.
	return &tls.Certificate{Certificate: [][]byte{raw, a.cert.Raw}, PrivateKey: a.leafKey, Leaf: cert}, nil
}
