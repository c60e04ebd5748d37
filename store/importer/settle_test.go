package importer

import (
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
)

// TestFieldsThatProtectNothing has a policy with a field that gatefold does not serve. The targets are closed unless the
// field is known to protect nothing.
func TestFieldsThatProtectNothing(t *testing.T) {
	const route = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: r}\n" +
		"spec: {parentRefs: [{name: g, sectionName: http}], hostnames: [a], rules: [{matches: [{path: {value: /}}], backendRefs: [{name: web, port: 80}]}]}\n---\n"
	for field, settings := range map[string]string{
		"spec.compression":               "compression: {responseCompression: {}}",
		"spec.tracing":                   "tracing: {disable: {}}, csrf: {}",
		"spec.retry.retryHostPredicates": "retry: {retryHostPredicates: [PreviousHosts]}",
		"spec.faultInjection":            "faultInjection: {abort: {httpStatus: 403, percentage: 100}}",
		"spec.apiKeyAuthentication":      "apiKeyAuthentication: {secretRef: {name: s}}",
		"spec.retry.other":               "retry: {other: 1}",
	} {
		objects := readWith(t, Cluster, route+"apiVersion: gateway.kgateway.dev/v1alpha1\nkind: TrafficPolicy\nmetadata: {name: p}\n"+
			"spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}], "+settings+"}\n")
		policy := objects.objects.all[1]
		problem := manifest.Problem{Code: schema.NotServed, Severity: manifest.Error, Object: policy.key, Field: field, Hint: "remove it: it counts"}
		if !objects.Settle([]manifest.Problem{problem}, func(string) bool { return false }) {
			t.Errorf("%s: nothing changed", field)
		}
		harmless := schema.ProtectsNothing("TrafficPolicy", field)
		last := objects.verdicts[len(objects.verdicts)-1]
		if harmless != strings.Contains(routesOf(objects), "-> web") || harmless != (last.Class == Different) || harmless == last.Protects {
			t.Errorf("%s: %s, %+v", field, routesOf(objects), last)
		}
		if _, empty := policy.spec()["retry"]; empty && harmless {
			t.Errorf("%s: what is empty without the field is written: %v", field, policy.spec())
		}
	}
}
