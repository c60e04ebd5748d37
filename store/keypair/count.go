package keypair

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// The cost of crypto/x509 grows faster than the size of its input: it multiplies the numbers of an RSA key to check
// them. So everything that goes to crypto/x509 is counted first (docs/design/safety.md). All calls are in this
// file, and TestEveryCallIsCounted finds any other.

const (
	// maxKeyBlock is the maximum size of a key, in bytes of DER. An RSA key of maxRSA bits has 4,700 bytes.
	maxKeyBlock = 8 << 10
	// maxCertificateBlock is the maximum size of one certificate, in bytes of DER.
	maxCertificateBlock = 16 << 10
	// primes is the number of primes of an RSA key that Envoy accepts, and numbers is how many numbers PKCS #1 has for
	// such a key after the version: n, e, d, the primes, the exponents and the coefficient.
	primes, numbers = 2, 8
)

// errUnreadable is the error of a key that has none of the known forms.
var errUnreadable = errors.New("cannot be read")

// ParseCertificate parses a certificate in DER. It returns an error if the certificate has more than
// maxCertificateBlock bytes, or if crypto/x509 cannot parse it.
func ParseCertificate(der []byte) (*x509.Certificate, error) {
	if err := countCertificate(der); err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, errUnreadable
	}
	return certificate, nil
}

// ParsePublicKey parses a public key in DER: PKIX, or PKCS #1 if pkcs1 is true. It returns an error if the key has more
// than maxKeyBlock bytes, or if crypto/x509 cannot parse it.
func ParsePublicKey(der []byte, pkcs1 bool) (any, error) {
	switch {
	case len(der) > maxKeyBlock:
		return nil, tooLarge(len(der), maxKeyBlock)
	case pkcs1:
		return x509.ParsePKCS1PublicKey(der)
	}
	return x509.ParsePKIXPublicKey(der)
}

// TLSCertificate returns the certificate chain and private key of two PEM texts for a server in Go, as
// tls.X509KeyPair does. It returns an error if a certificate or key is larger than Read accepts.
func TLSCertificate(certificates, key []byte) (tls.Certificate, error) {
	for _, text := range [][]byte{certificates, key} {
		for {
			var block *pem.Block
			if block, text = pem.Decode(text); block == nil {
				break
			}
			if err := countBlock(block); err != nil {
				return tls.Certificate{}, fmt.Errorf("a PEM block %s: %w", block.Type, err)
			}
		}
	}
	return tls.X509KeyPair(certificates, key)
}

// countBlock counts a PEM block with a certificate or a private key. It returns nil for other blocks.
func countBlock(block *pem.Block) error {
	switch {
	case block.Type == "CERTIFICATE":
		return countCertificate(block.Bytes)
	case isPrivate(block):
		return countKey(block.Bytes)
	}
	return nil
}

// isPrivate reports whether a PEM block has a private key, by its label.
func isPrivate(block *pem.Block) bool {
	return block.Type == "PRIVATE KEY" || strings.HasSuffix(block.Type, " PRIVATE KEY")
}

func tooLarge(size, most int) error {
	return fmt.Errorf("has %d bytes; up to %d are taken", size, most)
}

// countCertificate returns an error for a certificate that is too large to be parsed.
func countCertificate(der []byte) error {
	if len(der) > maxCertificateBlock {
		return tooLarge(len(der), maxCertificateBlock)
	}
	return nil
}

// countKey returns an error for a private key that is too large to be parsed: one of more than maxKeyBlock bytes, and an
// RSA key of more than maxRSA bits or of other than two primes. It reads the lengths in the DER, and computes nothing.
// It returns errUnreadable if the DER is not PKCS #8, PKCS #1 or SEC 1.
func countKey(der []byte) error {
	if len(der) > maxKeyBlock {
		return tooLarge(len(der), maxKeyBlock)
	}
	key, err := elements(der)
	if err != nil || len(key) < 2 || key[0].Tag != asn1.TagInteger {
		return errUnreadable
	}
	switch key[1].Tag {
	case asn1.TagInteger:
		return countNumbers(key[1:])
	case asn1.TagOctetString: // SEC 1
		return nil
	}
	if len(key) < 3 || key[2].Tag != asn1.TagOctetString { // PKCS #8: version, algorithm, key
		return errUnreadable
	}
	if rsa, err := elements(key[2].Bytes); err == nil && len(rsa) > 1 && rsa[1].Tag == asn1.TagInteger {
		return countNumbers(rsa[1:])
	}
	return nil
}

// elements returns the elements of a SEQUENCE in DER, without decoding them. It returns an error for anything else.
func elements(der []byte) (all []asn1.RawValue, err error) {
	var sequence asn1.RawValue
	if _, err := asn1.Unmarshal(der, &sequence); err != nil {
		return nil, err
	}
	if sequence.Tag != asn1.TagSequence || !sequence.IsCompound {
		return nil, errUnreadable
	}
	for rest := sequence.Bytes; len(rest) > 0; {
		var element asn1.RawValue
		if rest, err = asn1.Unmarshal(rest, &element); err != nil {
			return nil, err
		}
		all = append(all, element)
	}
	return all, nil
}

// countNumbers returns an error for an RSA key that is too large to be parsed. The parameter key has the elements of the
// key in PKCS #1, after its version.
func countNumbers(key []asn1.RawValue) error {
	if bits := new(big.Int).SetBytes(key[0].Bytes).BitLen(); bits > maxRSA {
		return fmt.Errorf("is an RSA key of %d bits; from %d to %d are taken", bits, minRSA, maxRSA)
	}
	if len(key) > numbers {
		return fmt.Errorf("is an RSA key of more than %d primes", primes)
	}
	return nil
}

// parseKey parses a private key in PKCS #8, PKCS #1 or SEC 1. It does not use the PEM label, because labels are
// often wrong. It returns an error if the key is too large (countKey) or cannot be read.
func parseKey(der []byte) (crypto.Signer, error) {
	if err := countKey(der); err != nil {
		return nil, err
	}
	if key, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		if signer, ok := key.(crypto.Signer); ok {
			return signer, nil
		}
	}
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key, nil
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key, nil
	}
	return nil, errUnreadable
}
