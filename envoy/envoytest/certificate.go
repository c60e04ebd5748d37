package envoytest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Authority is a CA that signs certificates for one test.
type Authority struct {
	t           testing.TB
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	fixed       bool // the certificates that it issues are valid as long as the authority's own certificate
	// PEM is the CA certificate of the authority.
	PEM []byte
}

// NewAuthority returns an authority with a new random key.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t, key: newKey(t)}
	template := newTemplate(t)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	template.Subject = pkix.Name{CommonName: "authority of " + t.Name()}
	a.certificate = a.sign(rand.Reader, template, template, &a.key.PublicKey)
	a.PEM = encode("CERTIFICATE", a.certificate.Raw)
	return a
}

// Issue returns a new certificate for a server or client, and its private key, both as PEM. The names are IP
// addresses, URIs or DNS names.
func (a *Authority) Issue(names ...string) (certificate, key []byte) {
	a.t.Helper()
	template := newTemplate(a.t)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	if a.fixed {
		template.NotBefore, template.NotAfter = a.certificate.NotBefore, a.certificate.NotAfter
	}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, name := range names {
		uri, err := url.Parse(name)
		switch ip := net.ParseIP(name); {
		case ip != nil:
			template.IPAddresses = append(template.IPAddresses, ip)
		case err == nil && strings.Contains(name, "://"):
			template.URIs = append(template.URIs, uri)
		default:
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	own := newKey(a.t)
	leaf := a.sign(rand.Reader, template, a.certificate, &own.PublicKey)
	der, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		a.t.Fatal(err)
	}
	return encode("CERTIFICATE", leaf.Raw), encode("PRIVATE KEY", der)
}

// Pair does the same as Issue and returns the result as a tls.Certificate.
func (a *Authority) Pair(names ...string) tls.Certificate {
	a.t.Helper()
	pair, err := tls.X509KeyPair(a.Issue(names...))
	if err != nil {
		a.t.Fatal(err)
	}
	return pair
}

// Pool returns a pool with only the certificate of this authority.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// sign returns a certificate made from template and signed with the authority's key. The parameter parent is
// the signer's certificate, and public is the key in the new certificate. With a nil random, equal arguments
// give the same signature.
func (a *Authority) sign(random io.Reader, template, parent *x509.Certificate, public *ecdsa.PublicKey) *x509.Certificate {
	a.t.Helper()
	der, err := x509.CreateCertificate(random, template, parent, public, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return certificate
}

// newKey returns a new random ECDSA key.
func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// newTemplate returns a template with a random serial number for a certificate that is valid for a day.
func newTemplate(t testing.TB) *x509.Certificate {
	t.Helper()
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100))
	if err != nil {
		t.Fatal(err)
	}
	return &x509.Certificate{
		SerialNumber: serial, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
}

// encode returns a PEM block of a type, such as "CERTIFICATE", with the content der.
func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// Replace writes a file and renames it to path. Envoy notices the change of a watched file only after a rename.
func Replace(t testing.TB, path string, text []byte) {
	t.Helper()
	temporary := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
	if err := os.WriteFile(temporary, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temporary, path); err != nil {
		t.Fatal(err)
	}
}

// PEM returns a certificate as PEM.
func PEM(certificate *x509.Certificate) []byte { return encode("CERTIFICATE", certificate.Raw) }
