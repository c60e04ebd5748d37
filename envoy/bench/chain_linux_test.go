package bench

import (
	"fmt"
	"strings"
	"testing"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/translate/xds"
)

// The chain of filters is measured in one Envoy with two listeners of one route: one has the
// filters that gatefold puts there, all turned off, the other the router alone.
const (
	wholePort  = firstPort
	routerPort = firstPort + 1
)

// measureChain takes the CPU time of Envoy's worker thread for a request through either listener.
func measureChain(t *testing.T, r *run) {
	address := envoytest.LoopbackAddress()
	s, filters := newSender(t), 0
	for _, update := range translated(t, map[string][]byte{"folder.yaml": chainFolder(startUpstream(t))}, address).Delta {
		body := update.Resource.Body
		if update.Type == xds.ListenerType && strings.HasSuffix(update.Name, fmt.Sprint(routerPort)) {
			body, filters = routerAlone(t, body)
		}
		s.hold(update.Type, update.Name, body)
	}
	if filters == 0 {
		t.Fatal("no filter was left out: nothing is compared")
	}
	envoy := envoytest.Start(t, envoytest.Options{XDSAddress: s.address})
	world, q := &lookup{}, &request{}
	for form, port := range []int{wholePort, routerPort} {
		at := fmt.Sprintf("%s:%d", address, port)
		envoy.WaitListener(at)
		world.envoys[form], q.load[form] = envoy, newLoad(at, "/", "", "200")
	}
	for range 3 * r.lookupRounds {
		for form := range forms {
			world.measure(t, q, form, r.lookupTime)
		}
	}
	r.table.add(row{
		Part: "chain", Case: fmt.Sprintf("no policies, %d filters turned off", filters), Measure: "worker CPU for a request, µs",
		Value: q.cpu(0), Base: q.cpu(1), Against: "the router alone", MaxRatio: 1.03,
	})
}

// routerAlone returns a listener without its filters but the router, and how many those are.
func routerAlone(t *testing.T, body []byte) (stripped []byte, filters int) {
	t.Helper()
	listener, manager := &listenerv3.Listener{}, &hcmv3.HttpConnectionManager{}
	if err := proto.Unmarshal(body, listener); err != nil {
		t.Fatal(err)
	}
	at := listener.FilterChains[0].Filters[0].GetTypedConfig()
	if err := at.UnmarshalTo(manager); err != nil {
		t.Fatal(err)
	}
	filters = len(manager.HttpFilters) - 1
	manager.HttpFilters = manager.HttpFilters[filters:]
	if err := at.MarshalFrom(manager); err != nil {
		t.Fatal(err)
	}
	return mustMarshal(listener), filters
}

// chainFolder has a Gateway with two ports, and one route for both.
func chainFolder(upstream int) []byte {
	return fmt.Appendf(nil, `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec:
  gatewayClassName: gatefold
  listeners:
  - {name: whole, port: %d, protocol: HTTP}
  - {name: router, port: %d, protocol: HTTP}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: up}
spec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: %d}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r}
spec:
  parentRefs: [{name: eg}]
  rules: [{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: up}]}]
`, wholePort, routerPort, upstream)
}
