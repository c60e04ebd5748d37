package differ

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"strings"
)

// tokenKey returns a key that tokens are signed with.
func tokenKey(name string) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed([]byte(strings.Repeat(name, ed25519.SeedSize)[:ed25519.SeedSize]))
}

// publicJWK returns the public part of a key as a JWK.
func publicJWK(name string) string {
	x := base64.RawURLEncoding.EncodeToString(tokenKey(name).Public().(ed25519.PublicKey))
	return `{"kty":"OKP","crv":"Ed25519","kid":"` + name + `","x":"` + x + `"}`
}

// addTokens adds extensions that accept tokens, some of which cannot be used.
func (w *world) addTokens() {
	keys := w.add("v1", "ConfigMap", "jwks", nil)
	keys["data"] = object{"jwks": `{"keys":[` + publicJWK("b") + `]}`}
	local := object{"local": object{"inline": publicJWK("a")}}
	provider := func(name string, more ...any) object {
		out := object{"name": name, "issuer": "https://idp.example", "audiences": list{"shop", "https://api.example/"}, "jwks": local}
		for i := 0; i < len(more); i += 2 {
			out[more[i].(string)] = more[i+1]
		}
		return out
	}
	of := func(name, mode string, providers ...any) {
		spec := object{"providers": providers}
		if mode != "" {
			spec["validationMode"] = mode
		}
		w.users(w.add(kgateway, "GatewayExtension", name, object{"jwt": spec}))
	}
	claims := list{object{"name": "sub", "header": "X-User"}, object{"name": "address.city", "header": "x-city"}, object{"name": "level", "header": "x-level"}}
	of("tokens", "", provider("corp", "claimsToHeaders", claims, "clockSkew", "30s"))
	of("tokens-missing", "AllowMissing", provider("corp", "forwardToken", true, "cache", object{"size": 10, "maxTokenSize": 1000}))
	of("tokens-failed", "AllowMissingOrFailed", provider("corp", "claimsToHeaders", claims))
	of("tokens-query", "", provider("corp", "tokenSource", object{"queryParameter": "token"}, "forwardToken", true))
	of("tokens-header", "", provider("corp", "tokenSource", object{"header": object{"header": "X-Token", "prefix": "Token "}}))
	of("tokens-two", "", provider("corp", "claimsToHeaders", claims), provider("second", "issuer", "https://second.example", "jwks", object{"local": object{"configMapRef": object{"name": "jwks"}}}))
	of("tokens-down", "", provider("corp", "jwks", object{"remote": object{
		"url": "https://idp.example/keys", "backendRef": object{"group": "gateway.kgateway.dev", "kind": "Backend", "name": "down"},
		"cacheDuration": "1m", "timeout": "1s", "asyncFetch": object{"failedRefetchDuration": "1s"},
		"retryPolicy": object{"numRetries": 1, "backOff": object{"baseInterval": "1ms", "maxInterval": "2ms"}},
	}}))
	of("tokens-damaged", "", provider("corp", "jwks", object{"local": object{"inline": "x"}}))
}

func (w *world) jwtAuth() object {
	if w.IntN(6) == 0 {
		return object{"disable": object{}}
	}
	ref := object{"name": one(w.Rand, "tokens", "tokens", "tokens-missing", "tokens-missing", "tokens-missing", "tokens-failed", "tokens-failed", "tokens-failed", "tokens-failed", "tokens-query", "tokens-header", "tokens-two", "tokens-two", "tokens-down", "tokens-damaged", "nothing")}
	w.maybe(3, ref, "namespace", w.namespace)
	return object{"extensionRef": ref}
}

// tokenOf returns a token with claims over those of a good one; nil takes a claim out.
func tokenOf(key, kid string, claims object) string {
	payload := object{"iss": "https://idp.example", "aud": "shop", "sub": "alice", "exp": 4102444800}
	for name, value := range claims {
		if payload[name] = value; value == nil {
			delete(payload, name)
		}
	}
	encode := func(of object) string {
		text, err := json.Marshal(of)
		if err != nil {
			panic(err)
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	signed := encode(object{"alg": "EdDSA", "kid": kid}) + "." + encode(payload)
	return signed + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(tokenKey(key), []byte(signed)))
}

// showToken adds a token to a question, mostly a good one.
func showToken(r *rand.Rand, q *question) {
	good := tokenOf("a", "a", nil)
	token := one(r, good, good, good, tokenOf("b", "a", nil), tokenOf("b", "b", object{"iss": "https://second.example"}), tokenOf("a", "b", nil),
		tokenOf("a", "a", object{"exp": 1000000000}), tokenOf("a", "a", object{"exp": nil, "aud": list{"x", "http://api.example"}}), tokenOf("a", "a", object{"nbf": 4102444799}),
		tokenOf("a", "a", object{"aud": "bank"}), tokenOf("a", "a", object{"aud": nil}), tokenOf("a", "a", object{"iss": "https://other.example"}),
		tokenOf("a", "a", object{"address": object{"city": "Rome"}, "level": 7}), tokenOf("a", "a", object{"exp": "x"}), good+"x", "a.b.c", "nonsense")
	switch r.IntN(5) {
	case 0:
		q.target += one(r, "?", "?a=1&") + "token=" + token
	case 1:
		q.add("x-token", one(r, "Token ", "Token ", "token ", "")+token)
	default:
		q.add("authorization", one(r, "Bearer ", "Bearer ", "Bearer ", "Bearer ", "bearer ", "x Bearer ", "Bearer  ", "Bearer\t")+token)
	}
	if r.IntN(8) == 0 {
		q.add("authorization", "Bearer "+good)
	}
	if r.IntN(3) == 0 {
		q.add(one(r, "x-user", "x-city", "X-Level"), "root")
	}
}
