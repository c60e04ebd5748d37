package translate_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/xds"
)

// TestIncrementalEqualsColdOfGuards does what TestIncrementalEqualsCold does, for policies that say
// who may pass: what they refer to comes, changes and goes, while the routes stay.
func TestIncrementalEqualsColdOfGuards(t *testing.T) {
	var filters, secrets, forged, unasked, discovered atomic.Int32
	first, seeds := testsize.Seed(t), testsize.Of(t, 4)
	for seed := first; seed < first+uint64(seeds); seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 9))
			w, files := newWorld(t), map[string]string{"base.yaml": guarded}
			for range 30 {
				randomGuardEdit(r, files)
			}
			for range 80 {
				for range 1 + r.IntN(3) {
					randomGuardEdit(r, files)
				}
				w.apply(tree(files))
				if r.IntN(3) == 0 {
					w.discover(randomDiscoveries(r))
				}
				w.checkCold(t)
				if slices.ContainsFunc(w.problems, func(p manifest.Problem) bool { return p.Code == "IssuerNotAsked" }) {
					unasked.Add(1)
				}
				for _, u := range w.resources {
					switch body := string(u.Resource.Body); {
					case u.Type == xds.FilterType && len(xds.Requirements(u.Resource.Body)) > 0:
						filters.Add(1)
					case u.Type == xds.SecretType && strings.Contains(u.Name, "oauth2"):
						secrets.Add(1)
					case u.Type == xds.RouteType && strings.Contains(body, "gatefold/identities"):
						forged.Add(1)
					}
					if strings.Contains(string(u.Resource.Body), "https://idp.test/discovered") {
						discovered.Add(1)
					}
				}
			}
		})
	}
	t.Cleanup(func() { // when the seeds have ended
		for what, n := range map[string]*atomic.Int32{
			"filters with requirements": &filters, "secrets of oauth2": &secrets, "tables that remove identity headers": &forged,
			"issuers that were not asked": &unasked, "tables with endpoints of issuers": &discovered,
		} {
			if n.Load() == 0 {
				t.Errorf("no %s: the edits prove little", what)
			}
		}
	})
}

// guarded has routes of two namespaces on one Gateway, one of which hands a path on.
const guarded = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: one}
spec:
  gatewayClassName: gatefold
  listeners: [{name: l0, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r1}
spec:
  parentRefs: [{name: one}]
  hostnames: [a.example.com]
  rules:
  - {name: s0, backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: s1}]}
  - {matches: [{path: {value: /c}}], backendRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: c1}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: c1}
spec:
  rules: [{matches: [{path: {value: /c/d}}], backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: s1}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r2, namespace: shop}
spec:
  parentRefs: [{name: one, namespace: default}]
  hostnames: [a.example.com, b.example.com]
  rules: [{name: s0, matches: [{path: {value: /shop}}], backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: s1}]}]
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: s1}
spec: {type: Static, static: {hosts: [{host: 192.0.2.1, port: 80}]}}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: s1, namespace: shop}
spec: {type: Static, static: {hosts: [{host: 192.0.2.2, port: 80}]}}
`

// randomDiscoveries returns what is known of issuers at some moment.
func randomDiscoveries(r *rand.Rand) translate.Discoveries {
	set := translate.Discoveries{}
	for _, issuer := range []string{"https://idp.test/a", "https://idp.test/b"} {
		switch r.IntN(4) {
		case 0:
		case 1:
			set[issuer] = ir.IssuerAnswer{Fault: pick(r, "status 503", "status 404"), Hint: pick(r, "", "wait")}
		default:
			set[issuer] = ir.IssuerAnswer{
				Authorization: "https://idp.test/discovered/" + pick(r, "a", "b"), Token: "https://idp.test/" + pick(r, "a", "b"), EndSession: pick(r, "", "https://idp.test/e"),
			}
		}
	}
	return set
}

// randomGuardEdit writes or removes one file.
func randomGuardEdit(r *rand.Rand, files map[string]string) {
	kinds := []func(*rand.Rand) (string, string){randomGuard, randomGuard, randomProvider, randomProvider, randomClientKeys, randomTokenKeys}
	name, text := kinds[r.IntN(len(kinds))](r)
	if r.IntN(8) == 0 {
		delete(files, name)
		return
	}
	files[name] = text
}

func randomGuard(r *rand.Rand) (string, string) {
	ref := func(mostly string) string {
		return "{extensionRef: {name: " + pick(r, mostly, mostly, "jwt", "oauth2", "ext-auth") + "}}\n"
	}
	body := "spec:\n  targetRefs: [{group: gateway.networking.k8s.io, " + pick(r, "kind: HTTPRoute, name: r1", "kind: HTTPRoute, name: r1, sectionName: s0", "kind: HTTPRoute, name: r1, sectionName: s0", "kind: HTTPRoute, name: c1",
		"kind: HTTPRoute, name: r2", "kind: HTTPRoute, name: r2", "kind: Gateway, name: one") + "}]\n"
	body += pick(r, "", "  jwtAuth: "+ref("jwt"), "  jwtAuth: "+ref("jwt"), "  jwtAuth: {disable: {}}\n", "  oauth2: "+ref("oauth2"), "  oauth2: "+ref("oauth2"), "  extAuth: "+ref("ext-auth"))
	body += pick(r, "", "", "  acl: {defaultAction: "+pick(r, "allow", "deny")+", rules: [{cidrs: [10."+pick(r, "1", "2")+".0.0/16], action: "+pick(r, "allow", "deny")+"}]}\n")
	body += pick(r, "", "", "", "", "  rbac: {policy: {matchExpressions: [\"request.method == '"+pick(r, "GET", "PUT")+"'\"]}}\n", "  rbac: {policy: {matchExpressions: [\"request.metho\"]}}\n")
	body += pick(r, "", "", "", "", "  basicAuth: {secretRef: {name: keys}}\n", "  basicAuth: {disable: {}}\n")
	body += pick(r, "", "", "", "  apiKeyAuth: {secretSelector: {matchLabels: {keys: partners}}, clientIdHeader: "+pick(r, "x-one", "x-two", "authorization")+"}\n")
	return document("gateway.kgateway.dev/v1alpha1", "TrafficPolicy", guardNamespace(r), pick(r, "p1", "p2", "p3"), body)
}

// randomProvider returns a GatewayExtension for jwtAuth, oauth2 or extAuth.
func randomProvider(r *rand.Rand) (string, string) {
	ref := "backendRef: {group: gateway.kgateway.dev, kind: Backend, name: " + pick(r, "s1", "s1", "s1", "s2") + "}"
	keys := pick(r, "local: {inline: '"+randomJWK(r)+"'}", "local: {configMapRef: {name: keys}}", "local: {configMapRef: {name: keys}}", "remote: {url: 'https://idp.test/keys', "+ref+"}")
	jwt := fmt.Sprintf("jwt: {validationMode: %s, providers: [{name: one, issuer: %s, audiences: [shop], claimsToHeaders: [{name: sub, header: %s}], jwks: {%s}}]}",
		pick(r, "Strict", "AllowMissing"), pick(r, "a", "b"), pick(r, "x-one", "x-user"), keys)
	specs := map[string]string{
		"jwt":      jwt,
		"oauth2":   "oauth2: {" + ref + ", " + randomEndpoints(r) + ", credentials: {clientID: shop, clientSecretRef: {name: keys}}}",
		"ext-auth": "extAuth: {httpService: {" + ref + ", pathPrefix: " + pick(r, "/a", "/b") + ", authorizationResponse: {headersToBackend: [x-user]}}}",
	}
	name := pick(r, "jwt", "oauth2", "ext-auth")
	return document("gateway.kgateway.dev/v1alpha1", "GatewayExtension", guardNamespace(r), name, "spec: {"+specs[name]+"}\n")
}

func randomEndpoints(r *rand.Rand) string {
	issuer := "issuerURI: https://idp.test/" + pick(r, "a", "a", "b")
	return pick(r, issuer, issuer+", scopes: [openid]", issuer+", tokenEndpoint: https://idp.test/token",
		"authorizationEndpoint: https://idp.test/"+pick(r, "a", "b")+", tokenEndpoint: https://idp.test/token")
}

func randomJWK(r *rand.Rand) string {
	return `{"kty": "OKP", "crv": "Ed25519", "x": "` + pick(r, "Fkm2znxu6QlD6Jog47YgQ1QT5X_v-hvPPZcxbXIqV44", "Fkm2znxu6QlD6Jog47YgQ1QT5X_v-hvPPZcxbXIqV44", "4Hv0hPS3FYsXXm0srWq1ios4C-zfafQoX6j9dbAfF2A", "4Hv0hPS3FYsXXm0srWq1ios4C-zfafQoX6j9dbAfF2A", "short") + `"}`
}

// randomTokenKeys returns a ConfigMap with the keys that tokens are signed with.
func randomTokenKeys(r *rand.Rand) (string, string) {
	return document("v1", "ConfigMap", guardNamespace(r), "keys", "data: {"+pick(r, "jwks", "jwks", "jwks", "jwks", "other")+": '"+randomJWK(r)+"'}\n")
}

// randomClientKeys returns a Secret of passwords and a client's secret, or one of API keys.
func randomClientKeys(r *rand.Rand) (string, string) {
	if r.IntN(3) == 0 {
		return document("v1", "Secret", guardNamespace(r), pick(r, "a", "b"), "  labels: {keys: "+pick(r, "partners", "others")+"}\nstringData: {"+pick(r, "a: k1", "b: k2", "a: k2, b: k1")+"}\n")
	}
	return document("v1", "Secret", guardNamespace(r), "keys", "stringData: {"+pick(r, "client-secret: s1", "client-secret: s1, .htpasswd: 'alice:{SHA}L55TUjtiq8FBorTWAZ0jy6g129A='", "client-secret: s2", ".htpasswd: x")+"}\n")
}

func guardNamespace(r *rand.Rand) string {
	return pick(r, "default", "default", "default", "default", "shop")
}

// TestAnOverriddenPolicyEqualsCold adds a policy that changes no rule, because an older policy of the route wins.
// explain must still list it for the route.
func TestAnOverriddenPolicyEqualsCold(t *testing.T) {
	w := newWorld(t)
	policy := func(name, created, timeout string) string {
		return fmt.Sprintf(`apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: %s, creationTimestamp: %q}
spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}], timeouts: {request: %s}}
`, name, created, timeout)
	}
	files := map[string]string{
		"gateway.yaml": `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw}
spec: {gatewayClassName: gatefold, listeners: [{name: http, port: 8080, protocol: HTTP}]}
`,
		"route.yaml": `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r}
spec: {parentRefs: [{name: gw}], rules: [{filters: [{type: RequestRedirect, requestRedirect: {hostname: x.test}}]}]}
`,
		"older.yaml": policy("older", "2024-01-01T00:00:00Z", "5s"),
	}
	w.apply(tree(files))
	w.checkCold(t)
	files["younger.yaml"] = policy("younger", "2025-01-01T00:00:00Z", "6s")
	w.apply(tree(files))
	w.checkCold(t)
	if text := viewText(w.view()); !strings.Contains(text, "younger") {
		t.Errorf("the view does not list the overridden policy:\n%s", text)
	}
}
