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

// FixedAuthority returns the authority of a name, the same at every call and on every machine,
// so that test data may hold its certificate. The key is derived from the name: it is only for
// tests.
func FixedAuthority(t testing.TB, name string) *Authority {
	t.Helper()
	sum := sha256.Sum256([]byte("gatefold test authority " + name))
	sum[0] = 0 // below the order of the curve
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
