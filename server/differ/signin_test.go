package differ

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"math/rand/v2"
)

// addProviders adds GatewayExtensions for oauth2, some of which cannot be used.
func (w *world) addProviders() {
	w.add("v1", "Secret", "signin", nil)["stringData"] = object{"client-secret": "s3cret"}
	provider := func(name string, more object) {
		spec := object{
			"backendRef":            object{"group": "gateway.kgateway.dev", "kind": "Backend", "name": one(w.Rand, "guard", "down", "shut")},
			"authorizationEndpoint": "https://idp.test/authorize", "tokenEndpoint": "https://idp.test/token",
			"credentials": object{"clientID": "shop", "clientSecretRef": object{"name": "signin"}},
		}
		maps.Copy(spec, more)
		maps.DeleteFunc(spec, func(_ string, value any) bool { return value == nil }) // a field without a value is an error
		w.add(kgateway, "GatewayExtension", name, object{"oauth2": spec})
	}
	provider("login", object{"denyRedirect": object{"headers": list{object{"name": "X-In", "value": "a"}, object{"name": "accept", "type": "RegularExpression", "value": "text/.*"}}}})
	provider("login-all", object{
		"endSessionEndpoint": "https://idp.test/end", "redirectURI": "https://%REQ(:authority)%/a/b", "logoutPath": "/b", "forwardAccessToken": true, "scopes": list{"openid", "profile"},
		"cookies": object{
			"domain": "a.test", "sameSite": one(w.Rand, "Lax", "Strict", "None"), "names": object{"accessToken": "a", "idToken": "sticky"},
			"disableAccessTokenSetCookie": true, "disableIDTokenSetCookie": true, "disableRefreshTokenSetCookie": true,
		},
	})
	provider("login-issuer", object{"issuerURI": "https://idp.test", "tokenEndpoint": nil})
}

func (w *world) oauth2() object {
	return object{"extensionRef": object{"name": one(w.Rand, "login", "login", "login", "login-all", "login-all", "login-all", "login-issuer", "missing")}}
}

// signIn makes a question one of somebody who signs in or out, or claims to have done so.
func signIn(r *rand.Rand, q *question, namespace string) {
	sum := sha256.Sum256([]byte(namespace + "/" + one(r, "login", "login-all")))
	suffix := "-" + hex.EncodeToString(sum[:8])
	switch r.IntN(6) {
	case 0:
		q.target = one(r, "/oauth2/redirect", "/a/b", "/oauth2/redirect/") + one(r, "", "?code=a&state=b", "?error=x", "?code=a&state=eyJ1cmwiOiJhIn0")
	case 1:
		q.target = one(r, "/logout", "/b", "/logout?a=b", "/logout/")
	case 2:
		q.add("cookie", "OauthHMAC"+suffix+"=Zm9yZ2Vk; OauthExpires"+suffix+"="+one(r, "4102444800", "1", "x"))
	case 3:
		q.add("cookie", "RefreshToken"+suffix+"=forged")
	case 4:
		q.add("cookie", "OauthNonce"+suffix+one(r, "", ".a")+"=a.b; OauthCodeVerifier"+suffix+"=c")
	case 5:
		q.add("cookie", "OauthHMAC"+suffix+"=Zm9yZ2Vk")
	}
}
