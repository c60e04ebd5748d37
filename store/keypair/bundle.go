package keypair

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"time"
)

// Authorities is the key of CA certificates in the data of a ConfigMap or Secret.
const Authorities Part = "ca.crt"

// maxAuthorities is the maximum number of certificates in a bundle. The bundles of operating systems have about
// 150.
const maxAuthorities = 500

// Bundle is a list of CA certificates.
type Bundle struct {
	certificates []*x509.Certificate
}

// ReadBundle parses the CA certificates in a PEM text. It returns a Fault and no Bundle if the text has no
// certificate, or more than maxAuthorities. It also returns a Fault if a certificate cannot be parsed or is cut
// off, because Envoy would reject such a text.
func ReadBundle(text []byte) (*Bundle, *Fault) {
	const hint = "write the CA certificates in PEM"
	bundle, begun := &Bundle{}, bytes.Count(text, []byte("-----BEGIN CERTIFICATE-----"))
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := ParseCertificate(block.Bytes)
		if err != nil {
			return nil, &Fault{Authorities, fmt.Sprintf("certificate %d %v", len(bundle.certificates)+1, err), hint}
		}
		if bundle.certificates = append(bundle.certificates, certificate); len(bundle.certificates) > maxAuthorities {
			return nil, &Fault{Authorities, fmt.Sprintf("there are more than %d certificates", maxAuthorities), "leave out those that are not needed"}
		}
	}
	if len(bundle.certificates) == 0 {
		return nil, &Fault{Authorities, "there is no certificate in PEM", hint}
	}
	if n := len(bundle.certificates); begun > n { // pem.Decode skips text that is no PEM
		return nil, &Fault{Authorities, fmt.Sprintf("%d of %d certificates are cut off, or are not in PEM", begun-n, begun), hint}
	}
	return bundle, nil
}

// Add appends the certificates of another bundle.
func (b *Bundle) Add(other *Bundle) { b.certificates = append(b.certificates, other.certificates...) }

// NotAfter returns the time at which the last of the certificates expires.
func (b *Bundle) NotAfter() (last time.Time) {
	for _, c := range b.certificates {
		if c.NotAfter.After(last) {
			last = c.NotAfter
		}
	}
	return last
}

// PEM returns the certificates as PEM, without any text between them.
func (b *Bundle) PEM() []byte {
	var out bytes.Buffer
	for _, c := range b.certificates {
		out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
	}
	return out.Bytes()
}
