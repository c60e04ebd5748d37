package page

import "testing"

// Every node.cluster without a slash means all Gateways, such as that of `gatefold bootstrap`.
func TestAClusterWithoutASlashIsForAllGateways(t *testing.T) {
	for name, want := range map[string]string{"": "all Gateways", "all": "all Gateways", "gatefold": "all Gateways", "shop/edge": "shop/edge"} {
		if got := gatewayWords(name); got != want {
			t.Errorf("%q is for %s, want %s", name, got, want)
		}
	}
}
