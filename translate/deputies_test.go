package translate_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/backend"
)

// teamBackends are Backends of a team, one for each host, and a route that uses them all.
func teamBackends(port int, hosts ...string) string {
	var text, refs strings.Builder
	for i, host := range hosts {
		fmt.Fprintf(&text, "apiVersion: gateway.kgateway.dev/v1alpha1\nkind: Backend\nmetadata: {name: b%d, namespace: shop}\nspec: {type: Static, static: {hosts: [{host: %q, port: %d}]}}\n---\n", i, host, port)
		fmt.Fprintf(&refs, "{group: gateway.kgateway.dev, kind: Backend, name: b%d}, ", i)
	}
	return text.String() + `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: shop}
spec: {parentRefs: [{name: eg, namespace: infra}], rules: [{backendRefs: [` + refs.String() + `]}]}
`
}

// gatewayAt is a Gateway with a listener, and with fields of its spec.
func gatewayAt(namespace, spec string) string {
	return fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: eg, namespace: %s}\nspec: {gatewayClassName: gatefold, %s}\n---\n", namespace, spec)
}

func listenersOf(port int, protocol string) string {
	return fmt.Sprintf("listeners: [{name: l, port: %d, protocol: %s, allowedRoutes: {namespaces: {from: All}}}]", port, protocol)
}

// everywhere are listeners on all interfaces.
func everywhere(port int, protocol string) string {
	return "addresses: [{value: 0.0.0.0}], " + listenersOf(port, protocol)
}

// refusedHosts returns how many endpoints are refused.
func refusedHosts(problems []manifest.Problem) (n int) {
	for _, p := range problems {
		if p.Code == "EndpointRefused" {
			n++
		}
	}
	return n
}

// TestListenersAreNoEndpoints edits the listeners of the platform: an endpoint of a team that is one of them, however it
// is written, is refused while it is one. Incremental equals cold after each edit.
func TestListenersAreNoEndpoints(t *testing.T) {
	machine := netip.MustParseAddr("10.0.0.5")
	allowed, err := backend.ParseEndpoints("10.0.0.6:80")
	if err != nil {
		t.Fatal(err)
	}
	w := newFenced(t, translate.Options{Guard: backend.Guard{
		Machine: []netip.Addr{machine, netip.MustParseAddr("10.0.0.6")}, Hosts: map[string][]netip.Addr{"box": {machine}}, Allow: []backend.Endpoints{allowed},
	}})
	spaces := declared(map[string]string{"infra": "", "shop": "80-90", "blog": "80-90"}) + "---\n"
	all := teamBackends(80, "127.0.0.1", "127.0.0.9", "localhost", "a.localhost", "0x7f000001", "0.0.0.0", "::1", "::", "10.0.0.5", "box", "2002:a00:5::", // refused
		"10.0.0.6", "10.0.0.7", "example.com", "10.0.0.50")
	files := map[string]string{"team/r.yaml": all}
	for i, step := range []struct {
		platform, team string
		want           int
	}{
		{gatewayAt("infra", everywhere(80, "HTTP")), "", 11},
		{gatewayAt("infra", everywhere(81, "HTTP")), "", 0},
		{gatewayAt("infra", everywhere(80, "TCP")), "", 0}, // the route is not attached: no cluster
		{gatewayAt("infra", "addresses: [{value: 10.0.0.7}], "+listenersOf(80, "HTTP")), "", 1},
		{gatewayAt("infra", "addresses: [{value: 127.0.0.1}], "+listenersOf(80, "HTTP")), "", 6},
		{gatewayAt("infra", "addresses: [{value: example.com, type: Hostname}], "+listenersOf(80, "HTTP")), "", 0}, // not served
		{gatewayAt("infra", everywhere(82, "HTTP")) + gatewayAt("shop", everywhere(80, "UDP")), "", 0},
		{gatewayAt("infra", everywhere(82, "HTTP")) + gatewayAt("shop", everywhere(80, "HTTP")), "", 11},
		{gatewayAt("infra", everywhere(82, "HTTP")), gatewayAt("shop", everywhere(80, "HTTP")), 0}, // its own
		{gatewayAt("infra", everywhere(82, "HTTP")), gatewayAt("blog", everywhere(80, "HTTP")), 11},
		{gatewayAt("infra", everywhere(80, "HTTP")), gatewayAt("blog", everywhere(80, "HTTP")), 11}, // once for each endpoint
	} {
		files["platform/p.yaml"], files["team/g.yaml"] = spaces+step.platform, step.team
		problems := w.apply(tree(files))
		if got := refusedHosts(problems); got != step.want {
			t.Errorf("step %d: %d endpoints are refused, not %d: %s", i, got, step.want, messagesText(problems))
		}
		w.checkCold(t)
	}
	files["platform/r.yaml"], files["platform/p.yaml"] = all, spaces+gatewayAt("infra", everywhere(80, "HTTP"))
	delete(files, "team/r.yaml")
	delete(files, "team/g.yaml")
	if problems := w.apply(tree(files)); refusedHosts(problems) != 0 {
		t.Error("endpoints of cluster paths are refused", messagesText(problems))
	}
	w.checkCold(t)
	open := newWorld(t)
	files["all.yaml"] = gatewayAt("infra", everywhere(80, "HTTP")) + all
	if problems := open.apply(tree(map[string]string{"all.yaml": files["all.yaml"]})); refusedHosts(problems) != 0 {
		t.Error("endpoints are refused without path policies", messagesText(problems))
	}
}

// TestDatagramListenersAreNoEndpoints compares the protocol, too.
func TestDatagramListenersAreNoEndpoints(t *testing.T) {
	w := newFenced(t, translate.Options{})
	team := func(protocol string) string {
		return fmt.Sprintf(`apiVersion: v1
kind: Service
metadata: {name: s, namespace: shop}
spec: {ports: [{port: 53, protocol: %[1]s}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: s-1, namespace: shop, labels: {kubernetes.io/service-name: s}}
addressType: IPv4
ports: [{port: 53, protocol: %[1]s}]
endpoints: [{addresses: [127.0.0.1]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: %[1]sRoute
metadata: {name: r, namespace: shop}
spec: {parentRefs: [{name: eg, namespace: infra}], rules: [{backendRefs: [{name: s, port: 53}]}]}
`, protocol)
	}
	listeners := func(udp, tcp int) string {
		return declared(map[string]string{"infra": "", "shop": ""}) + "---\n" + gatewayAt("infra", fmt.Sprintf(
			"listeners: [{name: u, port: %d, protocol: UDP, allowedRoutes: {namespaces: {from: All}}}, {name: t, port: %d, protocol: TCP, allowedRoutes: {namespaces: {from: All}}}]", udp, tcp))
	}
	for _, step := range []struct {
		protocol string
		udp, tcp int
		want     int
	}{{"UDP", 53, 54, 1}, {"UDP", 55, 53, 0}, {"TCP", 53, 54, 0}, {"TCP", 54, 53, 1}} {
		problems := w.apply(tree(map[string]string{"platform/p.yaml": listeners(step.udp, step.tcp), "team/t.yaml": team(step.protocol)}))
		if got := refusedHosts(problems); got != step.want {
			t.Errorf("%+v: %d: %s", step, got, messagesText(problems))
		}
		w.checkCold(t)
	}
}

// TestBackendsOfNamespaces edits gatefold.io/backends: the endpoints of the namespace follow at once.
func TestBackendsOfNamespaces(t *testing.T) {
	w := newFenced(t, translate.Options{Guard: backend.Guard{Hosts: map[string][]netip.Addr{"box": {netip.MustParseAddr("10.3.0.9")}}}})
	files := map[string]string{"team/r.yaml": teamBackends(8080, "10.3.0.1", "10.4.0.1", "db.svc.example", "svc.example", "localhost", "fd00::1", "box")}
	for annotation, want := range map[string]int{
		"10.3.0.0/16": 5, "10.3.0.0/16:8000-8999, *.svc.example:8080": 4, "10.3.0.0/16:80": 7, "0.0.0.0/0, ::/0, *.svc.example, svc.example": 0,
		"[fd00::/8]:8080 10.4.0.1 localhost": 4, "127.0.0.0/8": 6, "box": 6,
	} {
		files["platform/p.yaml"] = fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: infra}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop, annotations: {gatefold.io/backends: %q}}\n---\n", annotation) +
			gatewayAt("infra", listenersOf(80, "HTTP"))
		if problems := w.apply(tree(files)); refusedHosts(problems) != want {
			t.Errorf("%s: %d, not %d: %s", annotation, refusedHosts(problems), want, messagesText(problems))
		}
		w.checkCold(t)
	}
}

// TestMirrorsDoNotMultiply refuses a mirror of the platform to a listener: its copies would be copied again. Without path
// policies, nothing is refused.
func TestMirrorsDoNotMultiply(t *testing.T) {
	text := func(port int) string {
		return gatewayAt("infra", everywhere(80, "HTTP")) + fmt.Sprintf(`apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: b, namespace: infra}
spec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: %d}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: infra}
spec:
  parentRefs: [{name: eg}]
  rules: [{filters: [{type: RequestMirror, requestMirror: {backendRef: {group: gateway.kgateway.dev, kind: Backend, name: b}}}], backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: b}]}]
`, port)
	}
	w := newFenced(t, translate.Options{})
	for _, step := range []struct{ port, want int }{{81, 0}, {80, 1}, {82, 0}} {
		problems := w.apply(tree(map[string]string{"platform/p.yaml": declared(map[string]string{"infra": ""}) + "---\n" + text(step.port)}))
		if got := refusedHosts(problems); got != step.want || strings.Contains(w.xdsText(), "requestMirrorPolicies") != (step.want == 0) {
			t.Errorf("%+v: %d: %s", step, got, messagesText(problems))
		}
		w.checkCold(t)
	}
	if problems := newWorld(t).apply(tree(map[string]string{"p.yaml": text(80)})); refusedHosts(problems) != 0 {
		t.Error(messagesText(problems))
	}
}
