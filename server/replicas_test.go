package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/translate/cases"
)

// apply writes files, or removes those without text, as one edit.
func (f *folded) apply(files map[string]string) {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, text := range files {
		if f.files[name] = []byte(text); text == "" {
			delete(f.files, name)
		}
	}
	f.Publish(f.translator.Apply(f.store.Apply(cases.Tree(f.files))))
}

// shopFiles are a route to a Service with endpoints, and the Service.
func shopFiles(name string, port int) map[string]string {
	return map[string]string{
		name + ".yaml": fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %[1]s}
spec:
  parentRefs: [{name: eg}]
  rules:
  - matches: [{path: {value: /%[1]s}}]
    backendRefs: [{name: %[1]s, port: 80}]
`, name),
		name + "-service.yaml": fmt.Sprintf(`apiVersion: v1
kind: Service
metadata: {name: %[1]s}
spec: {ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %[1]s-1, labels: {kubernetes.io/service-name: %[1]s}}
addressType: IPv4
ports: [{port: %[2]d}]
endpoints: [{addresses: [127.0.0.1]}]
`, name, port),
	}
}

// served returns every resource of the Gateway by type and name: its version and content.
func (f *folded) served() map[string]string {
	f.t.Helper()
	var page admin.XDS
	f.read(f.t, "/api/v1/xds", &page)
	all := map[string]string{}
	for _, gateway := range page.Gateways {
		for typ, resources := range gateway.Resources {
			for _, r := range resources {
				all[typ+" "+r.Name] = r.Version + "\n" + string(r.Config)
			}
		}
	}
	return all
}

// pushes returns what the server has sent, by its metrics.
func (f *folded) pushes(t *testing.T) (sent string) {
	t.Helper()
	for line := range strings.Lines(f.get(t, "/metrics")) {
		if strings.HasPrefix(line, "gatefold_xds_pushes_total") && !strings.HasSuffix(line, " 0\n") {
			sent += line
		}
	}
	return sent
}

// Replicas that serve the same folder serve the same bytes and versions, whatever they
// went through: one saw edits come and go, the other began with what was left. An Envoy
// that moves from one to the other is sent nothing, and follows the other from then on.
func TestAnEnvoyMovesBetweenReplicasAndIsSentNothing(t *testing.T) {
	first, second := startFolded(t, server.Options{}), startFolded(t, server.Options{})
	port := envoytest.FreePort(t)
	envoytest.Echo(t, "echo", fmt.Sprintf("127.0.0.1:%d", port))
	shop, cart := shopFiles("shop", port), shopFiles("cart", port)

	first.apply(shopFiles("shop", 1))
	first.apply(shopFiles("old", 2))
	first.apply(cart)
	first.route("moved", "one.example", "")
	first.apply(map[string]string{"old.yaml": "", "old-service.yaml": ""})
	first.apply(shop)
	first.route("moved", "two.example", "")

	second.files["gateway.yaml"], second.files["moved.yaml"] = first.files["gateway.yaml"], first.files["moved.yaml"]
	for name, text := range shop {
		second.files[name] = []byte(text)
	}
	second.apply(cart)

	one, other := first.served(), second.served()
	for name, now := range one {
		if other[name] != now {
			t.Errorf("%s is not the same on both", name)
		}
	}
	if len(one) != len(other) || len(one) < 6 {
		t.Fatalf("%d and %d resources", len(one), len(other))
	}

	cable := newCable(t, first.xds.String())
	envoytest.Start(t, envoytest.Options{XDSAddress: cable.Addr().String(), NodeCluster: "default/eg"})
	settled := func(f *folded) {
		f.t.Helper()
		f.until("it holds all", func() bool { return f.one("default/eg", seen.settled) })
	}
	settled(first)
	answers := func(path string) {
		t.Helper()
		envoytest.Wait(t, path+" to be served", func() error {
			response, err := envoytest.Try(envoytest.Request{Address: first.address, Path: path})
			if err == nil && response.Status != 200 {
				err = fmt.Errorf("status %d", response.Status)
			}
			return err
		})
	}
	answers("/shop")

	cable.move(second.xds.String())
	settled(second)
	if sent := second.pushes(t); sent != "" {
		t.Errorf("it was sent\n%s", sent)
	}
	second.apply(map[string]string{"cart.yaml": strings.ReplaceAll(cart["cart.yaml"], "/cart", "/basket")})
	answers("/basket")
	if sent := second.pushes(t); sent != "gatefold_xds_pushes_total{type=\"RouteConfiguration\"} 1\n" {
		t.Errorf("after an edit of a route it was sent\n%s", sent)
	}
}
