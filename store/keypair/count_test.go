package keypair

import (
	"bytes"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"math/big"
	"strings"
	"testing"
	"time"
)

// hugeRSA returns a key in PKCS #1 with numbers of the given number of bits. crypto/x509 would take minutes for a million.
func hugeRSA(bits uint, more ...any) []byte {
	huge := new(big.Int).SetBit(new(big.Int).SetBit(new(big.Int), int(bits)-1, 1), 0, 1)
	half := new(big.Int).Rsh(huge, bits/2)
	var body []byte
	for _, number := range append([]any{0, huge, 65537, huge, half, half, half, half, half}, more...) {
		body = append(body, must(asn1.Marshal(number))...)
	}
	return must(asn1.Marshal(asn1.RawValue{Class: asn1.ClassUniversal, Tag: asn1.TagSequence, IsCompound: true, Bytes: body}))
}

// inPKCS8 returns a key in PKCS #1 as PKCS #8.
func inPKCS8(pkcs1 []byte) []byte {
	type algorithm struct {
		ID   asn1.ObjectIdentifier
		Null asn1.RawValue
	}
	return must(asn1.Marshal(struct {
		Version   int
		Algorithm algorithm
		Key       []byte
	}{0, algorithm{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}, asn1.NullRawValue}, pkcs1}))
}

// A key is counted before crypto/x509 sees it: by its bytes, by the bits of its modulus, and by its primes.
func TestKeysAreCountedFirst(t *testing.T) {
	p256 := ecKey(elliptic.P256())
	leaf := certify(p256, "leaf", time.Now().Add(time.Hour))
	real8192 := rsaKey(2048).(*rsa.PrivateKey)
	type prime struct{ R, D, T *big.Int }
	third := []prime{{big.NewInt(7), big.NewInt(3), big.NewInt(1)}}
	for name, test := range map[string]struct {
		der   []byte
		words string
	}{
		"a million bits":                    {hugeRSA(1_000_000), "bytes; up to 8192 are taken"},
		"a million bits, PKCS #8":           {inPKCS8(hugeRSA(1_000_000)), "bytes; up to 8192 are taken"},
		"four million bits":                 {hugeRSA(4_000_000), "bytes; up to 8192 are taken"},
		"8193 bits":                         {hugeRSA(8193), "an RSA key of 8193 bits; from 2048 to 8192"},
		"8193 bits, PKCS #8":                {inPKCS8(hugeRSA(8193)), "an RSA key of 8193 bits; from 2048 to 8192"},
		"12,000 bits in a key of 8 KB":      {hugeRSA(12_000), "an RSA key of 12000 bits"},
		"three primes":                      {hugeRSA(2048, third), "more than 2 primes"},
		"three primes, PKCS #8":             {inPKCS8(hugeRSA(2048, third)), "more than 2 primes"},
		"three primes, all that is written": {must(asn1.Marshal(asn1.RawValue{Tag: asn1.TagSequence, IsCompound: true, Bytes: bytes.Repeat([]byte{2, 1, 1}, 12)})), "more than 2 primes"},
		"a curve's key of a megabyte": {must(asn1.Marshal(struct {
			V int
			K []byte
		}{1, make([]byte, 1<<20)})), "bytes; up to 8192 are taken"},
		"a sequence of nothing":               {[]byte{0x30, 0}, "cannot be read"},
		"PKCS #8 whose key is no key":         {inPKCS8([]byte{4, 0}), "cannot be read"},
		"a key with garbage behind":           {append(x509.MarshalPKCS1PrivateKey(real8192), make([]byte, 8<<10)...), "bytes; up to 8192 are taken"},
		"numbers that are no key, below 8 KB": {hugeRSA(8192), "cannot be read"},
	} {
		for _, label := range []string{"PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"} {
			_, fault := Read([]byte(leaf), []byte(encode(label, test.der)))
			if fault == nil || fault.Part != Key || !strings.Contains(fault.Message, test.words) {
				t.Errorf("%s, as %s: %+v, want %s", name, label, fault, test.words)
			}
		}
		if _, err := TLSCertificate([]byte(leaf), []byte(encode("RSA PRIVATE KEY", test.der))); err == nil {
			t.Errorf("%s: a server in Go takes it", name)
		}
	}
}

// A certificate is counted by itself: text and other blocks beside it are free.
func TestCertificatesAreCountedFirst(t *testing.T) {
	key := ecKey(elliptic.P256())
	leaf := certify(key, "leaf", time.Now().Add(time.Hour))
	huge := encode("CERTIFICATE", make([]byte, maxCertificateBlock+1))
	beside := strings.Repeat("words of a bundle\n", 4000) + encode("X509 CRL", make([]byte, 100_000))
	if _, fault := Read([]byte(beside+leaf), []byte(pkcs8(key))); fault != nil {
		t.Errorf("with other text: %+v", fault)
	}
	if _, fault := ReadBundle([]byte(beside + strings.Repeat(leaf, 200) + beside)); fault != nil {
		t.Errorf("a bundle with other text: %+v", fault)
	}
	if _, fault := Read([]byte(leaf+huge), []byte(pkcs8(key))); fault == nil || !strings.Contains(fault.Message, "certificate 2 has 16385 bytes; up to 16384 are taken") {
		t.Errorf("a chain: %+v", fault)
	}
	if _, fault := ReadBundle([]byte(leaf + huge)); fault == nil || !strings.Contains(fault.Message, "certificate 2 has 16385 bytes; up to 16384 are taken") {
		t.Errorf("a bundle: %+v", fault)
	}
	if Leaf([]byte(huge)) != nil {
		t.Error("Leaf takes it")
	}
	if _, err := TLSCertificate([]byte(huge), []byte(pkcs8(key))); err == nil || !strings.Contains(err.Error(), "16385 bytes") {
		t.Errorf("a server in Go: %v", err)
	}
}

func TestParsePublicKey(t *testing.T) {
	for _, pkcs1 := range []bool{false, true} {
		if _, err := ParsePublicKey(hugeRSA(1_000_000), pkcs1); err == nil || !strings.Contains(err.Error(), "bytes; up to 8192 are taken") {
			t.Errorf("%v", err)
		}
	}
}
