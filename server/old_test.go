package server_test

import (
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/delta/deltatest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/status"
)

// oldNode is an Envoy 1.MINOR.
func oldNode(id string, minor uint32) *corev3.Node {
	return &corev3.Node{Id: id, Cluster: "shop/a", UserAgentName: "envoy",
		UserAgentVersionType: &corev3.Node_UserAgentBuildVersion{UserAgentBuildVersion: &corev3.BuildVersion{Version: &typev3.SemanticVersion{MajorNumber: 1, MinorNumber: minor}}}}
}

// An Envoy older than those that gatefold is tested with is served, and the Gateway and a
// figure tell of it while it is connected.
func TestAnOldEnvoyIsToldOf(t *testing.T) {
	r := start(t, server.Options{})
	r.Publish(translate.Result{Delta: deltatest.Updates("Cluster web@1", "Listener http@1"), Status: []status.Update{deltatest.PendingGateway("shop/a", 1)}})
	c := r.connect("")
	c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: cds, Node: oldNode("museum", 37)})
	c.ask(lds)
	c.take("Cluster web@1")
	c.take("Listener http@1")
	r.until("the verdict names it", func() bool {
		return strings.Contains(r.programmedOf("shop/a", "").Message, `Older than Envoy 1.40, which gatefold is tested with: "museum" (1.37.0).`)
	})
	const figure = "gatefold_xds_unsupported_envoys "
	if text := r.get(t, "/metrics"); !strings.Contains(text, figure+"1\n") {
		t.Error("the figure does not count it")
	}
	c.close()
	r.until("it is gone", func() bool { return len(r.audience("shop/a")) == 0 })
	if text := r.get(t, "/metrics"); !strings.Contains(text, figure+"0\n") {
		t.Error("the figure counts it still")
	}
}

// An Envoy older than the oldest supported one is refused in both protocols, and is told why;
// the page of refused Envoys and a figure show it.
func TestATooOldEnvoyIsRefused(t *testing.T) {
	r := start(t, server.Options{})
	r.publish("Cluster web@1", "Listener http@1")
	const reason = "Envoy 1.36.0 is older than 1.37, the oldest version that gatefold serves"
	refused := func(err error) {
		t.Helper()
		if grpcstatus.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), reason) {
			t.Errorf("it is told %v", err)
		}
	}
	c := r.open("")
	c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: cds, Node: oldNode("museum", 36)})
	_, err := c.stream.Recv()
	refused(err)
	old := r.world()
	old.node = oldNode("museum", 36)
	old.send(&discoveryv3.DiscoveryRequest{TypeUrl: cds})
	if response, more := <-old.got; more {
		t.Errorf("it is sent %v", response)
	}
	if page := r.get(t, "/api/v1/transport"); !strings.Contains(page, reason) || !strings.Contains(page, `"museum"`) || !strings.Contains(page, `"times": 2`) {
		t.Errorf("the page of the transport does not tell: %s", page)
	}
	if text := r.get(t, "/metrics"); !strings.Contains(text, `gatefold_xds_refused_total{cause="version"} 2`+"\n") {
		t.Error("the figure does not count it")
	}
}
