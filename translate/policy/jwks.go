package policy

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"

	"github.com/gatefold/gatefold/store/keypair"
)

// jwk is a key (RFC 7517), with the members that Envoy reads, and those by which a secret key is recognized.
type jwk struct {
	Kty string `json:"kty"`
	Kid string `json:"kid,omitempty"`
	Alg string `json:"alg,omitempty"`
	Use string `json:"use,omitempty"`
	Crv string `json:"crv,omitempty"`
	N   string `json:"n,omitempty"`
	E   string `json:"e,omitempty"`
	X   string `json:"x,omitempty"`
	Y   string `json:"y,omitempty"`
	// D and K are set only in secret keys.
	D string `json:"d,omitempty"`
	K string `json:"k,omitempty"`
}

// minRSABits is the smallest size of an RSA key (RFC 7518, section 3.3), and maxRSABits the largest that gatefold
// takes.
const minRSABits, maxRSABits = 2048, 16384

// ReadJWKS reads public keys from a text, which is a JWKS, a single JWK, or a public key as PEM. It returns the
// usable keys as a JWKS. The result skipped says which keys are left out, and why. If the text is none of these, if
// there are no usable keys, or if a key is secret, ReadJWKS returns only a fault, which says why. No message contains
// any part of a key.
func ReadJWKS(text string) (jwks string, skipped []string, fault *CredentialFault) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "-----BEGIN") {
		key, fault := readPEM(text)
		if fault != nil {
			return "", nil, fault
		}
		return encodeJWKS([]jwk{*key}), nil, nil
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	var one map[string]json.RawMessage
	err := json.Unmarshal([]byte(text), &one)
	if _, several := one["keys"]; err == nil && several {
		err = json.Unmarshal([]byte(text), &set)
	} else {
		set.Keys = []json.RawMessage{json.RawMessage(text)}
	}
	if err != nil {
		return "", nil, &CredentialFault{Message: "it is neither a JWKS nor a public key as PEM", Hint: `write {"keys": [...]}, or a PEM that begins with -----BEGIN PUBLIC KEY-----`}
	}
	var keys []jwk
	for i, raw := range set.Keys {
		key, why, secret := readJWK(raw)
		if secret {
			return "", nil, &CredentialFault{
				Message: fmt.Sprintf("key %d of it is secret: whoever reads it can issue tokens", i+1),
				Hint:    "write public keys alone, issue a new key, and sign tokens by RS256, ES256 or EdDSA",
			}
		}
		if why != "" {
			skipped = append(skipped, fmt.Sprintf("key %d is left out: %s", i+1, why))
			continue
		}
		keys = append(keys, *key)
	}
	if len(keys) == 0 {
		message := "it has no key"
		if len(skipped) > 0 {
			message += " that Envoy can verify with: " + skipped[0]
		}
		return "", nil, &CredentialFault{Message: message, Hint: "write a key with kty RSA, EC or OKP"}
	}
	return encodeJWKS(keys), skipped, nil
}

// encodeJWKS returns keys as a JWKS in JSON.
func encodeJWKS(keys []jwk) string {
	text, err := json.Marshal(map[string][]jwk{"keys": keys})
	if err != nil {
		panic("policy: texts are no JSON: " + err.Error())
	}
	return string(text)
}

// readJWK decodes and checks one key. There are three cases:
//   - The key can be used: secret is false, and fault is "".
//   - The key is private or symmetric: secret is true, and fault is "".
//   - The key cannot be used for another reason: secret is false, and fault has the reason.
//
// Only in the first case may the caller use the returned *jwk. In the other cases it may be nil.
func readJWK(raw json.RawMessage) (key *jwk, fault string, secret bool) {
	key = &jwk{}
	if json.Unmarshal(raw, key) != nil {
		return nil, "it is no JSON object with texts", false
	}
	switch {
	case key.D != "" || key.K != "" || key.Kty == "oct":
		return nil, "", true
	case key.Use != "" && key.Use != "sig":
		return nil, "it is not for signatures", false
	}
	key.Use = ""
	switch key.Kty {
	case "RSA":
		fault = key.checkRSA()
	case "EC":
		fault = key.checkEC()
	case "OKP":
		fault = key.checkOKP()
	default:
		fault = "kty is not RSA, EC or OKP"
	}
	return key, fault, false
}

// checkRSA returns why an RSA key cannot be used. If the key can be used, checkRSA returns "", and removes the
// members of other kinds of keys.
func (k *jwk) checkRSA() (why string) {
	n, e := decodeNumber(k.N), decodeNumber(k.E)
	switch {
	case len(k.N) > maxNumber:
		return fmt.Sprintf("n is longer than %d bits, and RSA needs %d to %d", maxRSABits, minRSABits, maxRSABits)
	case n == nil || e == nil || !e.IsInt64() || e.Int64() < 3 || e.Bit(0) == 0:
		return "n or e is no number in base64url"
	case n.BitLen() < minRSABits || n.BitLen() > maxRSABits:
		return fmt.Sprintf("n has %d bits, and RSA needs %d to %d", n.BitLen(), minRSABits, maxRSABits)
	case k.Alg != "" && !strings.HasPrefix(k.Alg, "RS") && !strings.HasPrefix(k.Alg, "PS"), k.Alg != "" && !knownSize(k.Alg[2:]):
		return "alg is not RS256, RS384, RS512, PS256, PS384 or PS512"
	}
	k.Crv, k.X, k.Y = "", "", ""
	return ""
}

func knownSize(bits string) bool { return bits == "256" || bits == "384" || bits == "512" }

// curves returns the curves for kty EC by name, each with its alg.
func curves() map[string]struct {
	elliptic.Curve
	alg string
} {
	return map[string]struct {
		elliptic.Curve
		alg string
	}{"P-256": {elliptic.P256(), "ES256"}, "P-384": {elliptic.P384(), "ES384"}, "P-521": {elliptic.P521(), "ES512"}}
}

// checkEC returns why an EC key cannot be used. If the key can be used, checkEC returns "", sets alg, and removes the
// members of other kinds of keys.
func (k *jwk) checkEC() (why string) {
	curve, known := curves()[k.Crv]
	x, y := decodeNumber(k.X), decodeNumber(k.Y)
	switch {
	case !known:
		return "crv is not P-256, P-384 or P-521"
	case k.Alg != "" && k.Alg != curve.alg:
		return "alg is not the one of crv, " + curve.alg
	case x == nil || y == nil || !curve.IsOnCurve(x, y):
		return "x and y are no point of the curve"
	}
	k.Alg, k.N, k.E = curve.alg, "", ""
	return ""
}

// checkOKP returns why an OKP key cannot be used. If the key can be used, checkOKP returns "", sets alg, and removes
// the members of other kinds of keys.
func (k *jwk) checkOKP() (why string) {
	x, err := base64.RawURLEncoding.DecodeString(k.X)
	switch {
	case k.Crv != "Ed25519":
		return "crv is not Ed25519"
	case k.Alg != "" && k.Alg != "EdDSA":
		return "alg is not EdDSA"
	case err != nil || len(x) != ed25519.PublicKeySize:
		return "x is not 32 bytes in base64url"
	}
	k.Alg, k.Y, k.N, k.E = "EdDSA", "", "", ""
	return ""
}

// maxNumber is the maximum length of a number of a key in base64url, about maxRSABits bits.
const maxNumber = 2800

// decodeNumber decodes a number above 0 from base64url. It returns nil for any other text, and for one that is longer
// than maxNumber.
func decodeNumber(text string) *big.Int {
	if len(text) > maxNumber {
		return nil
	}
	content, err := base64.RawURLEncoding.DecodeString(text)
	if n := new(big.Int).SetBytes(content); err == nil && n.Sign() > 0 {
		return n
	}
	return nil
}

// readPEM returns the public key in a PEM with one key. It returns a fault for any other PEM, and for a key
// that cannot be used.
func readPEM(text string) (*jwk, *CredentialFault) {
	block, rest := pem.Decode([]byte(text))
	hint := "write the public key alone: openssl pkey -in KEY -pubout"
	switch {
	case block == nil:
		return nil, &CredentialFault{Message: "the PEM is damaged", Hint: hint}
	case strings.Contains(block.Type, "PRIVATE"):
		return nil, &CredentialFault{Message: "it is a private key: whoever reads it can issue tokens", Hint: hint + "; and issue a new one"}
	case len(strings.TrimSpace(string(rest))) > 0:
		return nil, &CredentialFault{Message: "the PEM has more than one part", Hint: "write several keys as a JWKS"}
	}
	public, err := keypair.ParsePublicKey(block.Bytes, block.Type == "RSA PUBLIC KEY")
	if err != nil {
		return nil, &CredentialFault{Message: "it is no public key", Hint: hint}
	}
	key, fault := keyOfPublic(public)
	if fault != nil {
		return nil, fault
	}
	raw, err := json.Marshal(key)
	if err != nil {
		panic("policy: texts are no JSON: " + err.Error())
	}
	checked, why, _ := readJWK(raw)
	if why != "" {
		return nil, &CredentialFault{Message: why, Hint: "have the provider use another key"}
	}
	return checked, nil
}

// keyOfPublic returns an RSA, P-256 or Ed25519 public key as a JWK, with the alg that kgateway uses for such a key.
// It returns a fault for any other key.
func keyOfPublic(public any) (*jwk, *CredentialFault) {
	encode := base64.RawURLEncoding.EncodeToString
	switch k := public.(type) {
	case *rsa.PublicKey:
		return &jwk{Kty: "RSA", Alg: "RS256", N: encode(k.N.Bytes()), E: encode(big.NewInt(int64(k.E)).Bytes())}, nil
	case *ecdsa.PublicKey:
		if point, err := k.Bytes(); err == nil && k.Curve == elliptic.P256() {
			return &jwk{Kty: "EC", Alg: "ES256", Crv: "P-256", X: encode(point[1:33]), Y: encode(point[33:])}, nil
		}
	case ed25519.PublicKey:
		return &jwk{Kty: "OKP", Alg: "EdDSA", Crv: "Ed25519", X: encode(k)}, nil
	}
	return nil, &CredentialFault{
		Message: "a PEM is for RSA with RS256, P-256 with ES256, and Ed25519", Hint: "write other keys as a JWK with alg",
	}
}
