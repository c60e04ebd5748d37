package differ

import (
	"encoding/base64"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// addCredentials adds Secrets for basicAuth and apiKeyAuth, some of which cannot be used.
func (w *world) addCredentials() {
	alice, bob := "alice:{SHA}L55TUjtiq8FBorTWAZ0jy6g129A=", "bob:{SHA}6btjr8IXqwjeiaZ8HfkV3IpHKzg="
	secrets := map[string]object{
		"people": {".htpasswd": "# people\n" + alice + "\n\n" + bob + "\n", "bcrypt": "alice:$2y$05$x"},
		"keys":   {"acme": " k-acme\n", "umbrella": "k+umbrella=", "unused": ""},
		"twice":  {"acme": "k-acme", "umbrella": "k-acme"},
	}
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		secret := w.add("v1", "Secret", name, nil)
		secret["metadata"].(object)["labels"] = object{"keys": name}
		secret["stringData"] = secrets[name]
	}
}

func (w *world) basicAuth() object {
	switch w.IntN(6) {
	case 0, 1:
		return object{"disable": object{}}
	case 2:
		return object{"users": list{"alice:{SHA}L55TUjtiq8FBorTWAZ0jy6g129A="}}
	}
	ref := object{"name": one(w.Rand, "people", "people", "people", "people", "people", "people", "people", "missing")}
	w.maybe(3, ref, "namespace", w.space)
	w.maybe(8, ref, "key", one(w.Rand, "bcrypt", "none"))
	return object{"secretRef": ref}
}

func (w *world) apiKeyAuth() object {
	if w.IntN(6) == 0 {
		return object{"disable": object{}}
	}
	out := object{}
	if w.IntN(3) == 0 {
		out["secretSelector"] = object{"matchLabels": object{"keys": one(w.Rand, "keys", "keys", "keys", "keys", "keys", "none")}}
	} else {
		out["secretRef"] = object{"name": one(w.Rand, "keys", "keys", "keys", "keys", "keys", "keys", "twice", "missing")}
	}
	w.maybe(1, out, "keySources", some(w.Rand, object{"header": "Authorization"}, object{"header": "x-key", "query": "key"}, object{"cookie": "key"}, object{"query": "key"}, object{"header": "x-side"}))
	if w.IntN(3) == 0 {
		delete(out, "keySources")
	}
	w.maybe(2, out, "forwardCredential", true)
	w.maybe(2, out, "clientIdHeader", one(w.Rand, "X-Client", "X-Client", "x-side", "X-User", "x-city"))
	return out
}

// identify adds a password or a key to a question, mostly a good one.
func identify(r *rand.Rand, q *question) {
	basic := func(text string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(text)) }
	alice := basic("alice:correct horse")
	key := one(r, "k-acme", "k-acme", "k+umbrella=", "nobody", "K-ACME", "", "Bearer k-acme", "bearer k-acme", " k-acme")
	switch r.IntN(6) {
	case 0, 1:
		q.add("authorization", one(r, alice, alice, basic("bob:s3cret:with:colon"), basic("alice:wrong"), basic("nobody:correct horse"), basic("alice"), "basic "+alice[6:], "Basic  "+alice[6:],
			strings.TrimRight(alice, "="), alice+"=", "Basic !", "Basic ", "Basic", alice+",", "BASIC "+alice[6:]))
	case 2:
		q.add(one(r, "api-key", "api-key", "x-key", "authorization", "x-side"), key)
	case 3:
		q.target += one(r, "?", "?a=1&", "?b&", "?KEY=x&") + one(r, "key", "key", "key", "%6bey") + "=" + strings.NewReplacer(" ", "%20", "+", one(r, "+", "%2B", "%2b"), "=", one(r, "=", "%3D")).Replace(key) + one(r, "", "", "&c=%2F", "&key=k-acme", "&")
	case 4:
		q.add("cookie", one(r, "", "a=1; ", "a=1;", "keys=k-acme; ")+"key="+one(r, key, `"`+key+`"`)+one(r, "", "; b=2", ";b=2; key=k-acme"))
	case 5:
		q.add(one(r, "x-client", "x-side", "x-user", "x-city", "x-envoy-basic-auth-user"), "root")
	}
}
