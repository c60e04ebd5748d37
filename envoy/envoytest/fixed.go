package envoytest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"testing"
	"time"
)

// FixedAuthority returns an authority with a key that is derived from its name. Its certificate is the same at
// every call and on every machine, so that files of test data can contain it. The key is not secret: use it
// only in tests.
func FixedAuthority(t testing.TB, name string) *Authority {
	t.Helper()
	sum := sha256.Sum256([]byte("gatefold test authority " + name))
	sum[0] = 0 // smaller than the order of the curve
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), sum[:])
	if err != nil {
		t.Fatal(err)
	}
	a := &Authority{t: t, key: key, fixed: true}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority " + name},
		NotBefore: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2126, 1, 1, 0, 0, 0, 0, time.UTC),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.certificate = a.sign(nil, template, template, &key.PublicKey)
	a.PEM = encode("CERTIFICATE", a.certificate.Raw)
	return a
}
