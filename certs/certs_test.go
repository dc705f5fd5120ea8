package certs_test

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/certs"
)

func authority(t testing.TB) (*certs.Authority, *x509.CertPool) {
	t.Helper()
	a, err := certs.NewEphemeral()
	require.NoError(t, err)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(a.CertPEM()))
	return a, pool
}

func TestALeafIsGoodForItsHostOnly(t *testing.T) {
	t.Parallel()
	a, pool := authority(t)
	long := strings.Repeat("a.", 100) + "test"
	for _, host := range []string{"good.test", "127.0.0.1", "::1", "xn--bcher-kva.test", "under_score.test", long} {
		leaf, err := a.Leaf(host)
		require.NoError(t, err, host)
		_, err = leaf.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: host})
		assert.NoError(t, err, host)
		_, err = leaf.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: "evil.test"})
		assert.Error(t, err, host)
		assert.Less(t, time.Until(leaf.Leaf.NotAfter), 397*24*time.Hour)
		assert.True(t, leaf.Leaf.NotBefore.Before(time.Now()), "backdated")
		assert.Len(t, leaf.Certificate, 2, "the authority is in the chain, where Chromium looks for the pin")
	}
}

func TestThePinIsThatOfTheAuthoritysKey(t *testing.T) {
	t.Parallel()
	a, _ := authority(t)
	block, _ := pem.Decode(a.CertPEM())
	cert, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	assert.Equal(t, base64.StdEncoding.EncodeToString(sum[:]), a.Pin())
	b, _ := authority(t)
	assert.NotEqual(t, a.Pin(), b.Pin(), "each run has its own")
}

func TestManyAskingAtOnceGetOneLeaf(t *testing.T) {
	t.Parallel()
	a, _ := authority(t)
	serials := make(chan string, 32)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			leaf, err := a.Leaf("good.test")
			if assert.NoError(t, err) {
				serials <- leaf.Leaf.SerialNumber.String()
			}
		})
	}
	wg.Wait()
	close(serials)
	first := <-serials
	for s := range serials {
		assert.Equal(t, first, s)
	}
}

func BenchmarkMint(b *testing.B) {
	a, _ := authority(b)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		if _, err := a.Leaf("host" + strconv.Itoa(n) + ".test"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLeafKnown(b *testing.B) {
	a, _ := authority(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Leaf("good.test"); err != nil {
			b.Fatal(err)
		}
	}
}
