package translate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
)

// hintWorld has a Gateway of two protocols in infra, a Service and a Backend.
const hintWorld = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg, namespace: infra}
spec:
  gatewayClassName: gatefold
  listeners:
  - {name: http, port: 8080, protocol: HTTP}
  - {name: special, port: 8080, protocol: HTTP, hostname: a.example.com}
  - {name: tcp, port: 8081, protocol: TCP}
  - {name: grpc, port: 8082, protocol: HTTP, allowedRoutes: {kinds: [{kind: GRPCRoute}]}}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: static, namespace: infra}
spec: {type: Static, static: {hosts: [{host: 127.9.0.1, port: 3000}]}}
---
apiVersion: v1
kind: Service
metadata: {name: service, namespace: infra}
spec: {ports: [{port: 80}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: NAMESPACE}
spec: {hostnames: HOSTNAMES, parentRefs: [PARENT], rules: [{backendRefs: [BACKEND]}]}
`

const (
	toHTTP    = "{name: eg, namespace: infra, sectionName: http}"
	toService = "{name: service, port: 80}"
)

// A problem says what to do, where the folder shows what was meant.
func TestHintsTellWhatWasMeant(t *testing.T) {
	const wide = "[]"
	for _, c := range []struct{ name, hostnames, namespace, parent, backend, code, message, hint string }{
		{"a host of another listener", "[a.example.com]", "infra", "{name: eg, sectionName: http}", toService,
			"ShadowedByListener", "a.example.com is the host of listener special", "attach it to that listener"},
		{"a listener of another protocol", wide, "infra", "{name: eg, sectionName: tcp}", toService,
			"NotAllowedByListeners", "serves HTTPRoute: tcp is of protocol TCP", "a listener of protocol HTTP"},
		{"a listener of other kinds", wide, "infra", "{name: eg, sectionName: grpc}", toService,
			"NotAllowedByListeners", "allows kind HTTPRoute", "add HTTPRoute to allowedRoutes.kinds"},
		{"a listener of another namespace", wide, "shop", toHTTP, toService,
			"NotAllowedByListeners", "allows HTTPRoute of namespace shop", "listener http takes routes of namespace infra (Same): set allowedRoutes.namespaces"},
		{"a Gateway of another namespace", wide, "shop", "{name: eg}", toService,
			"NoMatchingParent", "Gateway shop/eg does not exist", "there is Gateway infra/eg: add namespace: infra"},
		{"no Gateway of that name", wide, "shop", "{name: other}", toService,
			"NoMatchingParent", "Gateway shop/other does not exist", "create "},
		{"a Backend taken for a Service", wide, "infra", toHTTP, "{name: static, port: 80}",
			"BackendNotFound", "Service infra/static does not exist", "add group: gateway.kgateway.dev, kind: Backend"},
		{"a Service taken for a Backend", wide, "infra", toHTTP, "{group: gateway.kgateway.dev, kind: Backend, name: service}",
			"BackendNotFound", "Backend infra/service does not exist", "leave group and kind out"},
		{"a misspelt Gateway", wide, "infra", "{name: ge}", toService,
			"NoMatchingParent", "Gateway infra/ge does not exist", `create Gateway infra/ge, or fix the name; did you mean "eg"?`},
		{"a misspelt listener", wide, "infra", "{name: eg, sectionName: htp}", toService,
			"NoMatchingParent", "no listener named htp", `did you mean "http"? its listeners are: http (port 8080)`},
		{"a misspelt Service", wide, "infra", toHTTP, "{name: servcie, port: 80}",
			"BackendNotFound", "Service infra/servcie does not exist", `did you mean "service"?`},
		{"neither", wide, "infra", toHTTP, "{name: none, port: 80}",
			"BackendNotFound", "Service infra/none does not exist", "create "},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			text := strings.NewReplacer("HOSTNAMES", c.hostnames, "NAMESPACE", c.namespace, "PARENT", c.parent, "BACKEND", c.backend).Replace(hintWorld)
			problems := w.apply(tree(map[string]string{"all.yaml": text}))
			w.checkCold(t)
			for _, p := range problems {
				if p.Code == c.code && p.Object.Name == "r" {
					if !strings.Contains(p.Message, c.message) || !strings.Contains(p.Hint, c.hint) {
						t.Errorf("%s: %q, hint %q", p.Code, p.Message, p.Hint)
					}
					return
				}
			}
			t.Errorf("no %s in %+v", c.code, problems)
		})
	}
}

// A route of which one host is left to it serves, and is not warned of.
func TestARouteThatServesSomeHostIsNotShadowed(t *testing.T) {
	w := newWorld(t)
	text := strings.NewReplacer("HOSTNAMES", "[a.example.com, b.example.com]", "NAMESPACE", "infra",
		"PARENT", toHTTP, "BACKEND", toService).Replace(hintWorld)
	for _, p := range w.apply(tree(map[string]string{"all.yaml": text})) {
		if p.Code == "ShadowedByListener" {
			t.Error(p)
		}
	}
}

// The hint follows the Gateway that it names.
func TestTheHintToAGatewayElsewhereGoesWithIt(t *testing.T) {
	w := newWorld(t)
	gateway := func(namespace string) string {
		return "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: eg, namespace: " + namespace + "}\n" +
			"spec: {gatewayClassName: gatefold, listeners: [{name: http, port: 8080, protocol: HTTP}]}\n"
	}
	files := map[string]string{"route.yaml": "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\n" +
		"metadata: {name: r, namespace: shop}\nspec: {parentRefs: [{name: eg}]}\n"}
	for _, step := range []struct {
		namespaces []string
		hint       string
	}{
		{nil, "create "},
		{[]string{"b"}, "namespace: b"},
		{[]string{"a", "b"}, "namespace: a"},
		{[]string{"b"}, "namespace: b"},
		{nil, "create "},
	} {
		files["a.yaml"], files["b.yaml"] = "# none\n", "# none\n"
		for _, namespace := range step.namespaces {
			files[namespace+".yaml"] = gateway(namespace)
		}
		files["keep.yaml"] = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"
		problems := w.apply(tree(files))
		w.checkCold(t)
		found := false
		for _, p := range problems {
			found = found || p.Code == "NoMatchingParent" && strings.Contains(p.Hint, step.hint)
		}
		if !found {
			t.Errorf("with %v: no hint %q in %+v", step.namespaces, step.hint, problems)
		}
	}
}

// Among many names the one that was meant is found next to the wrong one, and only a
// failing reference is looked at again when names of its kind and namespace change.
func TestANearNameAmongManyIsFound(t *testing.T) {
	w := newWorld(t)
	backend := func(namespace, name string) string {
		return "apiVersion: gateway.kgateway.dev/v1alpha1\nkind: Backend\nmetadata: {name: " + name + ", namespace: " + namespace + "}\n" +
			"spec: {type: Static, static: {hosts: [{host: 127.9.0.1, port: 3000}]}}\n"
	}
	files := map[string]string{"route.yaml": "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\n" +
		"metadata: {name: r, namespace: shop}\n" +
		"spec: {parentRefs: [{name: eg}], rules: [{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: cart-svc}]}]}\n"}
	for i := range 300 {
		files[fmt.Sprintf("%d.yaml", i)] = backend("shop", fmt.Sprintf("a-%d", i)) + "---\n" + backend("shop", fmt.Sprintf("z-%d", i))
	}
	files["cart.yaml"] = backend("shop", "cart-service")
	hint := func(problems []manifest.Problem) string {
		for _, p := range problems {
			if p.Code == "BackendNotFound" {
				return p.Hint
			}
		}
		return ""
	}
	if got, want := hint(w.apply(tree(files))), `create Backend shop/cart-svc, or fix the name; did you mean "cart-service"?`; got != want {
		t.Errorf("%q, not %q", got, want)
	}
	files["more.yaml"] = backend("team", "cart-svd")
	w.apply(tree(files))
	if slices.ContainsFunc(w.rebuilt, func(rule string) bool { return strings.HasPrefix(rule, "near ") }) {
		t.Errorf("a name of another namespace: %v", w.rebuilt)
	}
	files["more.yaml"] = backend("shop", "cart-svd")
	if got := hint(w.apply(tree(files))); !strings.Contains(got, `"cart-svd"`) {
		t.Errorf("after a nearer one came: %q", got)
	}
	w.checkCold(t)
}
