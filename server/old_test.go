package server

import (
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
)

func TestAnEnvoyIsOldBelowTheOldestSupported(t *testing.T) {
	for version, old := range map[string]bool{
		"1.39.9": true, "0.99.0": true, "1.40.0": false, "1.41.1": false, "2.0.0": false, "": false, "unknown": false,
	} {
		if tooOld(version) != old {
			t.Errorf("%q: %t, want %t", version, !old, old)
		}
	}
}

// An older Envoy is served, and the Gateway and a figure tell of it while it is
// connected.
func TestAnOldEnvoyIsToldOf(t *testing.T) {
	r := start(t, Options{})
	r.publish("Cluster web@1", "Listener http@1")
	c := r.connect("")
	c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: cds, Node: &corev3.Node{Id: "museum", Cluster: "shop/a",
		UserAgentVersionType: &corev3.Node_UserAgentBuildVersion{UserAgentBuildVersion: &corev3.BuildVersion{Version: &typev3.SemanticVersion{MajorNumber: 1, MinorNumber: 30}}}}})
	c.ask(lds)
	c.take("Cluster web@1")
	c.take("Listener http@1")
	r.until("the verdict names it", func() bool {
		return strings.Contains(r.verdict("shop/a").message, `Older than Envoy 1.40, which gatefold supports: "museum" (1.30.0).`)
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
