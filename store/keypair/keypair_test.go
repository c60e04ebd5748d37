package keypair

import (
	"bytes"
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"
)

// must returns a value that cannot fail to be made.
func must[V any](value V, err error) V {
	if err != nil {
		panic(err)
	}
	return value
}

func ecKey(curve elliptic.Curve) crypto.Signer { return must(ecdsa.GenerateKey(curve, rand.Reader)) }
func rsaKey(bits int) crypto.Signer            { return must(rsa.GenerateKey(rand.Reader, bits)) }

// certify returns a certificate of a key, signed by itself, in PEM.
func certify(key crypto.Signer, name string, until time.Time) string {
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotAfter: until}
	return encode("CERTIFICATE", must(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)))
}

func encode(label string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: label, Bytes: der}))
}

func pkcs8(key crypto.Signer) string {
	return encode("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(key)))
}

func TestRead(t *testing.T) {
	later, past := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	p256, r2048 := ecKey(elliptic.P256()), rsaKey(2048)
	other := ecKey(elliptic.P256())
	leaf, ca := certify(p256, "leaf", later), certify(other, "ca", later)
	sec1 := encode("EC PRIVATE KEY", must(x509.MarshalECPrivateKey(p256.(*ecdsa.PrivateKey))))
	pkcs1 := encode("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(r2048.(*rsa.PrivateKey)))
	locked := strings.Replace(sec1, "\n", "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n", 1)
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		certificates, key string
		part              Part   // at fault, "" when it is taken
		words             string // of the message, or the name of the leaf
	}{
		"P-256, PKCS #8":                   {leaf, pkcs8(p256), "", "leaf"},
		"P-256, SEC 1":                     {leaf, sec1, "", "leaf"},
		"a wrong label":                    {leaf, strings.ReplaceAll(sec1, "EC PRIVATE KEY", "RSA PRIVATE KEY"), "", "leaf"},
		"parameters before the key":        {leaf, encode("EC PARAMETERS", []byte{6, 1, 1}) + sec1, "", "leaf"},
		"RSA of 2048 bits, PKCS #1":        {certify(r2048, "leaf", later), pkcs1, "", "leaf"},
		"Ed25519":                          {certify(edwards, "leaf", later), pkcs8(edwards), "", "leaf"},
		"expired, which a clock tells":     {certify(p256, "leaf", past), pkcs8(p256), "", "leaf"},
		"a chain":                          {leaf + ca, pkcs8(p256), "", "leaf"},
		"words and a key in the chain":     {"subject: leaf\n" + leaf + pkcs8(other) + ca, pkcs8(p256), "", "leaf"},
		"several keys, the first counts":   {leaf, pkcs8(p256) + pkcs8(other), "", "leaf"},
		"several keys, another is first":   {leaf, pkcs8(other) + pkcs8(p256), Key, "is not that of the first certificate"},
		"a chain from its other end":       {ca + leaf, pkcs8(p256), Key, "is not that of the first certificate"},
		"the key of another":               {leaf, pkcs8(other), Key, "is not that of the first certificate"},
		"a key of another kind":            {leaf, pkcs1, Key, "is not that of the first certificate"},
		"RSA of 1024 bits":                 {certify(rsaKey(1024), "leaf", later), pkcs8(rsaKey(1024)), Key, "has 1024 bits; from 2048 to 8192"},
		"P-224":                            {leaf, pkcs8(ecKey(elliptic.P224())), Key, "curve P-224"},
		"encrypted, PKCS #8":               {leaf, encode("ENCRYPTED PRIVATE KEY", []byte("x")), Key, "is encrypted"},
		"encrypted, as OpenSSL used to":    {leaf, locked, Key, "is encrypted"},
		"no key":                           {leaf, "", Key, "no private key in PEM"},
		"a certificate for a key":          {leaf, leaf, Key, "no private key in PEM"},
		"a public key":                     {leaf, encode("PUBLIC KEY", must(x509.MarshalPKIXPublicKey(p256.Public()))), Key, "no private key in PEM"},
		"a key cut off":                    {leaf, encode("PRIVATE KEY", []byte{0x30, 0x81}), Key, "cannot be read"},
		"a key for key exchange":           {leaf, encode("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(must(ecdh.X25519().GenerateKey(rand.Reader))))), Key, "cannot be read"},
		"no certificate":                   {"", pkcs8(p256), Certificate, "no certificate in PEM"},
		"DER":                              {"\x30\x82", pkcs8(p256), Certificate, "no certificate in PEM"},
		"a key for a certificate":          {pkcs8(p256), pkcs8(p256), Certificate, "no certificate in PEM"},
		"a certificate cut off":            {encode("CERTIFICATE", []byte{0x30, 0x81}), pkcs8(p256), Certificate, "certificate 1 cannot be read"},
		"garbage behind a certificate":     {leaf + encode("CERTIFICATE", []byte("x")), pkcs8(p256), Certificate, "certificate 2 cannot be read"},
		"a chain of 16":                    {leaf + strings.Repeat(ca, maxChain-1), pkcs8(p256), "", "leaf"},
		"a chain of 17":                    {leaf + strings.Repeat(ca, maxChain), pkcs8(p256), Certificate, "more than 16 certificates"},
		"both at fault, certificate first": {"x", "x", Certificate, "no certificate in PEM"},
	} {
		t.Run(name, func(t *testing.T) {
			pair, fault := Read([]byte(test.certificates), []byte(test.key))
			switch {
			case test.part == "" && fault != nil:
				t.Errorf("refused: %+v", *fault)
			case test.part == "":
				taken(t, pair, test.certificates, test.words)
			case fault == nil || pair != nil:
				t.Errorf("it is taken; want %s: %s", test.part, test.words)
			case fault.Part != test.part || !strings.Contains(fault.Message, test.words) || fault.Hint == "":
				t.Errorf("%+v; want %s: %s", *fault, test.part, test.words)
			}
		})
	}
}

// taken wants a pair whose texts can be read again, and are what was written without
// what stood between.
func taken(t *testing.T, pair *Pair, certificates, name string) {
	t.Helper()
	if names := pair.Names(); len(names) != 1 || names[0] != name {
		t.Errorf("it is for %q, want %s", names, name)
	}
	if want := strings.Count(certificates, "BEGIN CERTIFICATE"); len(pair.Chain) != want || bytes.Count(pair.CertificatePEM(), []byte("BEGIN CERTIFICATE")) != want {
		t.Errorf("%d certificates, want %d", len(pair.Chain), want)
	}
	if bytes.Contains(pair.CertificatePEM(), []byte("PRIVATE")) || bytes.Contains(pair.CertificatePEM(), []byte("subject")) {
		t.Error("the chain shows what stood between")
	}
	again, fault := Read(pair.CertificatePEM(), pair.KeyPEM())
	if fault != nil {
		t.Fatalf("what it gives is refused: %+v", *fault)
	}
	if again.Sum() != pair.Sum() || len(pair.Sum()) != sumPrefix || !bytes.Equal(again.KeyPEM(), pair.KeyPEM()) {
		t.Error("what it gives is another pair")
	}
}

func TestReadBundle(t *testing.T) {
	key, later := ecKey(elliptic.P256()), time.Now().Add(time.Hour).Truncate(time.Second).UTC()
	one, two := certify(key, "one", later), certify(key, "two", later.Add(time.Hour))
	for name, test := range map[string]struct {
		text, words string // of the message; "" when it is taken
		count       int
	}{
		"two, and words between": {one + "# two\n" + two, "", 2},
		"a key between":          {one + pkcs8(key) + two, "", 2},
		"nothing":                {"", "no certificate in PEM", 0},
		"a key":                  {pkcs8(key), "no certificate in PEM", 0},
		"garbage behind":         {one + encode("CERTIFICATE", []byte("x")), "certificate 2 cannot be read", 0},
		"one cut off":            {one + two[:len(two)/2], "1 of 2 certificates are cut off", 0},
		"too many":               {strings.Repeat(one, maxAuthorities+1), "more than 500 certificates", 0},
	} {
		t.Run(name, func(t *testing.T) {
			bundle, fault := ReadBundle([]byte(test.text))
			if test.words != "" {
				if fault == nil || fault.Part != Authorities || !strings.Contains(fault.Message, test.words) {
					t.Errorf("%+v, want %s", fault, test.words)
				}
				return
			}
			if fault != nil {
				t.Fatalf("refused: %+v", *fault)
			}
			if got := bundle.PEM(); bytes.Count(got, []byte("BEGIN")) != test.count || bytes.Contains(got, []byte("PRIVATE")) {
				t.Errorf("%s; want %d certificates and nothing else", got, test.count)
			}
		})
	}
}
