package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"sync"
	"time"
)

const (
	authorityLife = 30 * 24 * time.Hour
	// backdate allows for a clock that is behind.
	backdate = time.Hour
)

// Authority mints leaves. Its methods may be called from any goroutine.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	// leafKey is shared by all leaves: a leaf proves nothing to anybody but the one
	// browser that trusts this authority.
	leafKey *ecdsa.PrivateKey

	mu     sync.Mutex // guards leaves
	leaves map[string]*leaf
}

// NewEphemeral makes an authority with a fresh key, in memory only.
func NewEphemeral() (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the authority's key: %w", err)
	}
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the leaves' key: %w", err)
	}
	serial, err := serialNumber()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "Sallyport, this run only"},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(authorityLife),
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("signing the authority: %w", err)
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		return nil, fmt.Errorf("reading the authority back: %w", err)
	}
	return &Authority{cert: cert, key: key, leafKey: leafKey, leaves: map[string]*leaf{}}, nil
}

// Pin returns the base64 SHA-256 of the authority's public key, which is how
// Chromium is told to trust it.
func (a *Authority) Pin() string {
	sum := sha256.Sum256(a.cert.RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// CertPEM returns the authority's certificate, without its key.
func (a *Authority) CertPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// serialNumber returns 128 random bits, which RFC 5280 4.1.2.2 has room for.
func serialNumber() (*big.Int, error) {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 128))
	if err != nil {
		return nil, fmt.Errorf("making a serial number: %w", err)
	}
	return n, nil
}
