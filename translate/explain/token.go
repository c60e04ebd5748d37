package explain

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	_ "crypto/sha256" // hash functions for tokens
	_ "crypto/sha512" // hash functions for tokens
	"encoding/base64"
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/gatefold/gatefold/translate/ir"
)

// token is a decoded JWT.
type token struct {
	alg, kid  string
	issuer    string
	audiences []string
	nbf, exp  float64 // 0 if the token has no such claim
	payload   map[string]any
	signed    string
	signature []byte
}

// readToken decodes a token. It does not verify the signature. The result why is, as text, what Envoy finds wrong
// with the form, alg, kid or claims of the token, "" if nothing is wrong.
func readToken(text string) (t *token, why string) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return nil, "the token does not have three parts"
	}
	var head map[string]any
	t = &token{signed: parts[0] + "." + parts[1]}
	if !decodeObject(parts[0], &head) || !decodeObject(parts[1], &t.payload) {
		return nil, "the token is no JWT: a part is not JSON in base64url"
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return nil, "the signature of the token is not base64url"
	}
	t.signature = signature
	alg, isText := head["alg"].(string)
	kid, given := head["kid"]
	t.alg = alg
	var kidIsText bool
	if t.kid, kidIsText = kid.(string); !isText || given && !kidIsText {
		return nil, "alg or kid of the token is no text"
	}
	if _, known := hashes()[alg]; !known && alg != "EdDSA" && !strings.HasPrefix(alg, "HS") {
		return nil, "Envoy does not know the alg of the token"
	}
	return t, t.readClaims()
}

// decodeObject decodes a JSON object in base64url. It returns false for other texts.
func decodeObject(part string, to *map[string]any) bool {
	content, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && json.Unmarshal(content, to) == nil && *to != nil
}

// readClaims reads the claims that Envoy itself compares (iss, aud, nbf and exp) from t.payload into the other fields
// of t. The result why says what is wrong with the claims. It is "" if nothing is wrong.
func (t *token) readClaims() (why string) {
	for _, name := range []string{"iss", "sub", "jti"} {
		if value, given := t.payload[name]; given {
			if _, isText := value.(string); !isText {
				return name + " of the token is no text"
			}
		}
	}
	t.issuer, _ = t.payload["iss"].(string)
	for _, time := range []struct {
		name string
		to   *float64
	}{{"iat", new(float64)}, {"nbf", &t.nbf}, {"exp", &t.exp}} {
		value, given := t.payload[time.name]
		number, isNumber := value.(float64)
		if given && (!isNumber || number < 0) {
			return time.name + " of the token is not a number of seconds, or is negative"
		}
		*time.to = math.Trunc(number)
	}
	switch aud := t.payload["aud"].(type) {
	case nil:
	case string:
		t.audiences = []string{aud}
	case []any:
		for _, one := range aud {
			text, isText := one.(string)
			if !isText {
				return "aud of the token is neither a text nor a list of texts"
			}
			t.audiences = append(t.audiences, text)
		}
	default:
		return "aud of the token is neither a text nor a list of texts"
	}
	return ""
}

// defaultSkew is Envoy's default for ClockSkew.
const defaultSkew = time.Minute

// fault returns why a provider does not accept a token, nil if it accepts the token. If only Envoy can verify
// the signature, it returns a fault with unknown set. The checks are in Envoy's order.
func (t *token) fault(p *ir.JWTProvider, now time.Time) *tokenFault {
	skew := defaultSkew
	if p.ClockSkew > 0 {
		skew = p.ClockSkew
	}
	seconds := float64(now.Unix())
	switch {
	case p.Issuer != "" && t.issuer != p.Issuer:
		return &tokenFault{why: "the token is of another issuer", foreign: true}
	case t.nbf > seconds+skew.Seconds():
		return &tokenFault{why: "the token is not valid yet"}
	case t.exp > 0 && seconds > t.exp+skew.Seconds():
		return &tokenFault{why: "the token has expired"}
	case !t.isFor(p.Audiences):
		return &tokenFault{why: "the token is for another audience", audience: true}
	case p.Remote != nil:
		return &tokenFault{unknown: true, why: "the keys of provider " + p.Name + " are at its server, and only Envoy can compare the signature"}
	case !t.verify(p.Keys):
		return &tokenFault{why: "no key of provider " + p.Name + " fits the signature of the token"}
	}
	return nil
}

// isFor reports whether a token is for one of the audiences. It returns true if there are no audiences. Envoy
// compares audiences without http:// or https://, and without a slash at the end.
func (t *token) isFor(audiences []string) bool {
	bare := func(audience string) string {
		if rest, found := strings.CutPrefix(audience, "https://"); found {
			audience = rest
		} else {
			audience = strings.TrimPrefix(audience, "http://")
		}
		return strings.TrimSuffix(audience, "/")
	}
	for _, wanted := range audiences {
		for _, audience := range t.audiences {
			if bare(wanted) == bare(audience) {
				return true
			}
		}
	}
	return len(audiences) == 0
}

// hashes returns the hash function for each alg of RSA and ECDSA. The algs of EdDSA and HMAC are not in the map.
func hashes() map[string]crypto.Hash {
	return map[string]crypto.Hash{
		"RS256": crypto.SHA256, "RS384": crypto.SHA384, "RS512": crypto.SHA512,
		"PS256": crypto.SHA256, "PS384": crypto.SHA384, "PS512": crypto.SHA512,
		"ES256": crypto.SHA256, "ES384": crypto.SHA384, "ES512": crypto.SHA512,
	}
}

// verificationKey is a key of a JWKS that policy.ReadJWKS has checked.
type verificationKey struct{ Kty, Kid, Alg, Crv, N, E, X, Y string }

// verify reports whether a key of a JWKS verifies the token's signature.
func (t *token) verify(jwks string) bool {
	var set struct{ Keys []verificationKey }
	if json.Unmarshal([]byte(jwks), &set) != nil {
		return false
	}
	for i := range set.Keys {
		key := &set.Keys[i]
		if t.kid != "" && key.Kid != "" && t.kid != key.Kid || key.Alg != "" && key.Alg != t.alg {
			continue
		}
		if key.verifies(t) {
			return true
		}
	}
	return false
}

// verifies reports whether the key verifies the signature of a token.
func (k *verificationKey) verifies(t *token) bool {
	if k.Kty == "OKP" {
		key := decodeBytes(k.X)
		return t.alg == "EdDSA" && len(key) == ed25519.PublicKeySize && ed25519.Verify(key, []byte(t.signed), t.signature)
	}
	hash, known := hashes()[t.alg]
	if !known {
		return false
	}
	h := hash.New()
	h.Write([]byte(t.signed))
	sum := h.Sum(nil)
	switch {
	case k.Kty == "EC" && t.alg[0] == 'E':
		curves := map[string]elliptic.Curve{"P-256": elliptic.P256(), "P-384": elliptic.P384(), "P-521": elliptic.P521()}
		size := len(t.signature) / 2
		public, err := ecdsa.ParseUncompressedPublicKey(curves[k.Crv], k.point(curves[k.Crv]))
		return err == nil && size > 0 && len(t.signature)%2 == 0 &&
			ecdsa.Verify(public, sum, new(big.Int).SetBytes(t.signature[:size]), new(big.Int).SetBytes(t.signature[size:]))
	case k.Kty != "RSA":
		return false
	}
	public := &rsa.PublicKey{N: bigOf(k.N), E: int(bigOf(k.E).Int64())}
	switch t.alg[0] {
	case 'R':
		return rsa.VerifyPKCS1v15(public, hash, sum, t.signature) == nil
	case 'P':
		return rsa.VerifyPSS(public, hash, sum, t.signature, &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash}) == nil
	}
	return false
}

// point returns an elliptic curve key as a point in uncompressed form.
func (k *verificationKey) point(curve elliptic.Curve) []byte {
	size := (curve.Params().BitSize + 7) / 8
	out := make([]byte, 1+2*size)
	out[0] = 4
	bigOf(k.X).FillBytes(out[1 : 1+size])
	bigOf(k.Y).FillBytes(out[1+size:])
	return out
}

// decodeBytes decodes base64url. It returns nil if text is invalid.
func decodeBytes(text string) []byte {
	content, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return content
}

// bigOf returns the number in a base64url text, 0 if the text is invalid.
func bigOf(text string) *big.Int { return new(big.Int).SetBytes(decodeBytes(text)) }

// claim returns a claim as Envoy writes it into a header. path is the name of the claim, or the names of nested
// claims joined with dots, such as "address.city". It returns "" if the token has no such claim.
func (t *token) claim(path string) string {
	var value any = t.payload
	if whole, found := t.payload[path]; found {
		value = whole
	} else {
		for name := range strings.SplitSeq(path, ".") {
			object, isObject := value.(map[string]any)
			if !isObject {
				return ""
			}
			value = object[name]
		}
	}
	switch v := value.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case float64:
		if v < 0 || v != math.Trunc(v) || v >= math.MaxUint64 {
			return strconv.FormatFloat(v, 'f', 6, 64)
		}
		return strconv.FormatUint(uint64(v), 10)
	case map[string]any, []any:
		text, err := json.Marshal(v)
		if err != nil {
			return ""
		}
		return base64.StdEncoding.EncodeToString(text)
	}
	return ""
}
