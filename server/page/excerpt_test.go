package page

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// object reads an object for a test.
func object[T metav1.Object](t *testing.T, key manifest.Key, into T, text string) *manifest.Object {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
	return &manifest.Object{Key: key, Value: into}
}

// No text that may be a credential is in the YAML of an object, wherever somebody wrote it.
func TestCredentialsAreNotInTheYAML(t *testing.T) {
	const secret = "s3cr3tvalue"
	route := object(t, manifest.Key{Kind: "HTTPRoute", Namespace: "a", Name: "r"}, new(api.HTTPRoute), `
metadata:
  name: r
  namespace: a
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"data": "s3cr3tvalue"}'
    other: s3cr3tvalue
    gatefold.io/route-weight: "7"
  managedFields: [{manager: s3cr3tvalue}]
spec:
  hostnames: [shop.example.com]
  rules:
  - matches:
    - headers: [{name: x-api-key, value: s3cr3tvalue}, {name: authorization, value: s3cr3tvalue}]
      queryParams: [{name: token, value: s3cr3tvalue}]
    filters:
    - type: RequestHeaderModifier
      requestHeaderModifier:
        set: [{name: Authorization, value: Basic s3cr3tvalue}, {name: x-plain, value: Bearer s3cr3tvalue}, {name: Cookie, value: s3cr3tvalue}]
        add: [{name: x-url, value: "https://user:s3cr3tvalue@example.com/"}, {name: x-link, value: "/a?access_token=s3cr3tvalue&b=1?token=s3cr3tvalue#id_token=s3cr3tvalue"}]
    - type: RequestRedirect
      requestRedirect: {path: {type: ReplaceFullPath, replaceFullPath: "/a?api_key=s3cr3tvalue"}}
`)
	configMap := object(t, manifest.Key{Kind: "ConfigMap", Namespace: "a", Name: "c"}, new(corev1.ConfigMap), `
metadata: {name: c, namespace: a}
data: {jwks: s3cr3tvalue}
binaryData: {raw: czNjcjN0dmFsdWU=}
`)
	policy := object(t, manifest.Key{Group: api.Group, Kind: "TrafficPolicy", Namespace: "a", Name: "p"}, new(api.TrafficPolicy), `
metadata: {name: p, namespace: a}
spec:
  basicAuth: {users: ["alice:{SHA}s3cr3tvalue"]}
`)
	for _, o := range []*manifest.Object{route, configMap, policy} {
		text, _ := excerpt(o)
		if text == "" || strings.Contains(text, secret) || strings.Contains(text, "czNjcjN0dmFsdWU") {
			t.Errorf("%s is shown as\n%s", o.Key, text)
		}
	}
	text, _ := excerpt(route)
	for _, shown := range []string{"shop.example.com", "gatefold.io/route-weight: \"7\"", "name: Authorization", "other: '[not shown]'", "&b=1"} {
		if !strings.Contains(text, shown) {
			t.Errorf("%q is not shown:\n%s", shown, text)
		}
	}
}

// What an object refers to is read from its fields, with the defaults of the Gateway API.
func TestReferences(t *testing.T) {
	gateway := object(t, manifest.Key{Group: gwv1.GroupName, Kind: "Gateway", Namespace: "a", Name: "g"}, new(gwv1.Gateway), `
spec:
  gatewayClassName: gatefold
  listeners: [{name: s, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: cert}]}}]
`)
	route := object(t, manifest.Key{Group: gwv1.GroupName, Kind: "HTTPRoute", Namespace: "a", Name: "r"}, new(api.HTTPRoute), `
spec:
  parentRefs: [{name: g}, {kind: HTTPRoute, group: gateway.networking.k8s.io, name: up, namespace: b}]
  rules:
  - backendRefs: [{name: web, port: 80}, {group: gateway.kgateway.dev, kind: Backend, name: cart, namespace: c}]
    filters: [{type: ExtensionRef, extensionRef: {group: gateway.kgateway.dev, kind: TrafficPolicy, name: p}}]
`)
	policy := object(t, manifest.Key{Group: api.Group, Kind: "TrafficPolicy", Namespace: "a", Name: "p"}, new(api.TrafficPolicy), `
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}]
  extAuth: {extensionRef: {name: e}}
`)
	var got []string
	all := []*manifest.Object{gateway, route, policy}
	f := newFolder(all, "all")
	for _, o := range all {
		to, _ := f.references(o, maxReferences)
		for _, r := range to {
			got = append(got, r.Field+" "+r.To.String())
		}
	}
	want := []string{
		"spec.listeners[0].tls.certificateRefs[0] Secret a/cert", "spec.gatewayClassName GatewayClass gatefold",
		"spec.parentRefs[0] Gateway a/g", "spec.parentRefs[1] HTTPRoute b/up",
		"spec.rules[0].filters[0].extensionRef TrafficPolicy a/p", "spec.rules[0].backendRefs[0] Service a/web", "spec.rules[0].backendRefs[1] Backend c/cart",
		"spec.targetRefs[0] HTTPRoute a/r", "spec.extAuth.extensionRef GatewayExtension a/e",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if from, _ := f.from(route.Key, maxReferences); len(from) != 1 || from[0].From != policy.Key {
		t.Errorf("the route is referred to by %v", from)
	}
}
