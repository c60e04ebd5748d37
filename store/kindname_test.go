package store

import "testing"

func TestKindsAreFoundAsKubectlFindsThem(t *testing.T) {
	for word, want := range map[string]string{
		"HTTPRoute": "HTTPRoute", "httproutes": "HTTPRoute", "GatewayClasses": "GatewayClass", "gc": "GatewayClass",
		"gateways.gateway.networking.k8s.io": "Gateway", "gtw": "Gateway", "trafficpolicies": "TrafficPolicy",
		"svc": "Service", "endpointslices": "EndpointSlice", "btlspolicy": "BackendTLSPolicy", "secrets": "Secret",
		"XListenerSet": "ListenerSet", "xlistenersets.gateway.networking.x-k8s.io": "ListenerSet", "xlistenersets.example.com": "? ListenerSet",
		"gateway.example.com": "? Gateway", "htproute": "? HTTPRoute", "pod": "?", "": "?",
	} {
		found, like, ok := FindKind(word)
		got := found.Kind
		if !ok {
			got = "?"
			if like != "" {
				got += " " + like
			}
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
	seen := map[string]string{}
	for _, k := range kinds {
		for _, word := range k.words() {
			if other := seen[word]; other != "" {
				t.Errorf("%q is both %s and %s", word, other, k.name)
			}
			seen[word] = k.name
		}
	}
}
