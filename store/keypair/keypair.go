// Package keypair reads a certificate with its private key, for example from a Secret of type
// kubernetes.io/tls. Envoy accepts everything that this package accepts.
package keypair

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
)

// Limits of keys and certificates.
const (
	minRSA   = 2048 // bits; BoringSSL in Envoy rejects shorter keys
	maxRSA   = 8192 // bits; with a longer key, each handshake takes 100 ms or more
	maxChain = 16   // certificates
)

// Part is the name of a PEM text in the data of a Secret or ConfigMap.
type Part string

// The parts of a Pair.
const (
	Certificate Part = "tls.crt"
	Key         Part = "tls.key"
)

// Fault is what is wrong with a pair or bundle. Its texts contain nothing of the key or certificates.
type Fault struct {
	Part          Part
	Message, Hint string
}

// Pair is a certificate chain and the private key of its first certificate.
type Pair struct {
	// Chain has the certificates in DER, the server's own certificate first.
	Chain [][]byte
	// Leaf is the first certificate of Chain.
	Leaf *x509.Certificate
	key  []byte // PKCS #8 in DER; nil if the function Leaf returned the pair
}

// Read parses the PEM of a certificate chain and of its private key. It returns a Fault and no Pair if a text
// is no PEM, if a certificate or the key cannot be read, or if the key belongs to another certificate. It also
// returns a Fault if the type or size of the key, or the number of certificates, is not supported. It does not
// check whether the certificate has expired.
func Read(certificates, key []byte) (*Pair, *Fault) {
	pair, fault := readChain(certificates)
	if fault != nil {
		return nil, fault
	}
	private, fault := readKey(key)
	if fault != nil {
		return nil, fault
	}
	if fault := judge(private, pair.Leaf); fault != nil {
		return nil, fault
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil { // impossible: judge rejects other kinds of keys
		return nil, &Fault{Key, "the private key is of a kind that cannot be used", keyHint}
	}
	pair.key = der
	return pair, nil
}

// Leaf returns a Pair with the certificates of a PEM text and without a key. It returns nil if the text has no
// certificate, more than maxChain, or a certificate that cannot be read.
func Leaf(certificates []byte) *Pair {
	pair, fault := readChain(certificates)
	if fault != nil {
		return nil
	}
	return pair
}

const (
	pemHint = "write PEM: the certificate of the server first, then those that signed it"
	keyHint = "write one private key in PEM, not encrypted: RSA of 2048 bits or more, ECDSA P-256, P-384 or P-521, or Ed25519"
)

// readChain returns a Pair with the certificates of a PEM text and without a key. It returns a Fault if there
// is no certificate, or more than maxChain, or one that cannot be read.
func readChain(text []byte) (*Pair, *Fault) {
	pair := &Pair{}
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
			return nil, &Fault{Certificate, fmt.Sprintf("certificate %d %v", len(pair.Chain)+1, err), pemHint}
		}
		if pair.Chain = append(pair.Chain, block.Bytes); len(pair.Chain) > maxChain {
			return nil, &Fault{Certificate, fmt.Sprintf("there are more than %d certificates", maxChain),
				"leave out those that did not sign the first"}
		}
		if pair.Leaf == nil {
			pair.Leaf = certificate
		}
	}
	if len(pair.Chain) == 0 {
		return nil, &Fault{Certificate, "there is no certificate in PEM", pemHint}
	}
	return pair, nil
}

// readKey returns the first private key of a PEM text. It returns a Fault if there is no private key, or if the
// key is encrypted, too large (countKey) or cannot be read.
func readKey(text []byte) (crypto.Signer, *Fault) {
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return nil, &Fault{Key, "there is no private key in PEM", keyHint}
		}
		switch {
		case block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "":
			return nil, &Fault{Key, "the private key is encrypted", "decrypt it: openssl pkey -in OLD -out NEW"}
		case !isPrivate(block):
			continue
		}
		key, err := parseKey(block.Bytes)
		if err != nil {
			return nil, &Fault{Key, "the private key " + err.Error(), keyHint}
		}
		return key, nil
	}
}

// judge returns a Fault if the kind or size of a private key is not supported, or if the key does not belong to
// the certificate leaf. It returns nil if Envoy can use the two together.
func judge(key crypto.Signer, leaf *x509.Certificate) *Fault {
	switch k := key.(type) {
	case *rsa.PrivateKey:
		if bits := k.N.BitLen(); bits < minRSA || bits > maxRSA {
			return &Fault{Key, fmt.Sprintf("the RSA key has %d bits; from %d to %d are taken", bits, minRSA, maxRSA), keyHint}
		}
	case *ecdsa.PrivateKey:
		if k.Curve != elliptic.P256() && k.Curve != elliptic.P384() && k.Curve != elliptic.P521() {
			return &Fault{Key, "the ECDSA key is on curve " + k.Params().Name + ", which Envoy does not take", keyHint}
		}
	case ed25519.PrivateKey:
	default:
		return &Fault{Key, "the private key is of a kind that Envoy does not take", keyHint}
	}
	public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !public.Equal(leaf.PublicKey) {
		return &Fault{Key, "the private key is not that of the first certificate of tls.crt",
			"take both from one place, and put the server's own certificate first"}
	}
	return nil
}

// CertificatePEM returns the chain as PEM, without any text between the certificates.
func (p *Pair) CertificatePEM() []byte {
	var out bytes.Buffer
	for _, der := range p.Chain {
		out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	return out.Bytes()
}

// KeyPEM returns the private key as PEM. If the function Leaf made the pair, there is no key, and the PEM block
// is empty.
func (p *Pair) KeyPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: p.key})
}

// sumPrefix is the number of hex digits that Sum returns.
const sumPrefix = 12

// Sum returns the first sumPrefix digits of the SHA-256 of the server's own certificate, in hex. It is not
// secret.
func (p *Pair) Sum() string {
	sum := sha256.Sum256(p.Leaf.Raw)
	return hex.EncodeToString(sum[:])[:sumPrefix]
}

// Names returns the DNS names and IP addresses of the certificate.
func (p *Pair) Names() []string {
	names := append([]string{}, p.Leaf.DNSNames...)
	for _, ip := range p.Leaf.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}
