package schema

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/gatefold/gatefold/store/api"
)

// compared returns the findings of Kgateway about an object, as code, field and hint.
func compared(t *testing.T, text string) (found []Finding) {
	t.Helper()
	k, err := FindKgateway("kgateway-2.5")
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	object["metadata"].(map[string]any)["namespace"] = "default"
	gvk := gvkOf(object)
	own := kinds(t).Check(gvk, runtime.DeepCopyJSON(object))
	return k.Compare(gvk.GroupKind(), object, own)
}

// TestCompare writes what gatefold takes and a cluster does not.
func TestCompare(t *testing.T) {
	const (
		policy = "apiVersion: gateway.kgateway.dev/v1alpha1\nkind: TrafficPolicy\nmetadata: {name: a}\n" +
			"spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}], "
		config  = "apiVersion: gateway.kgateway.dev/v1alpha1\nkind: BackendConfigPolicy\nmetadata: {name: a}\nspec: "
		gateway = "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: a, annotations: {%}}\n" +
			"spec: {gatewayClassName: a, listeners: [{name: a, port: 80, protocol: HTTP}]}"
		route = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: a, annotations: {%}}\nspec: "
		check = "{healthCheck: {interval: 1s, timeout: 1s, healthyThreshold: 1, unhealthyThreshold: 1, "
	)
	with := func(text, annotation string) string { return strings.Replace(text, "%", annotation, 1) }
	for _, c := range []struct{ object, want string }{
		{policy + "timeouts: {request: 1s}, retry: {statusCodes: [503], perTryTimeout: 1s}}", ""},
		{policy + "basicAuth: {secretRef: {name: a}}}", ""}, // defaults of gatefold are not what is written
		{policy + "basicAuth: {secretRef: {name: a, kind: Secret}}}", "NotInKgateway spec.basicAuth.secretRef.kind"},
		{policy + "hashPolicies: [{sourceIP: {}}]}", "NotInKgateway spec.hashPolicies"},
		{policy + "rbac: {policy: {matchExpressions: ['true'], blockedCIDRs: ['::/0']}}}", "NotInKgateway spec.rbac.policy.blockedCIDRs"},
		{policy + "rbac: {policy: {blockedCIDRs: ['::/0']}}}", "NotInKgateway spec.rbac.policy.matchExpressions NotInKgateway spec.rbac.policy.blockedCIDRs"},
		{policy + "compression: {zz: 1}, zz: 1}", ""}, // kgateway has the one, and gatefold reports the other
		{strings.Replace(policy, "HTTPRoute", "TCPRoute", 1) + "acl: {defaultAction: deny}}", "NotInKgateway spec.targetRefs[0].kind"},
		{strings.Replace(policy, "HTTPRoute", "ListenerSet", 1) + "acl: {defaultAction: deny}}", ""},
		{policy + "acl: {defaultAction: deny, denyResponse: {addBlockedByHeader: x}}}", "NotInKgateway spec.acl.denyResponse.addBlockedByHeader"},
		{config + check + "http: {path: /, expectedStatuses: [200]}}}", "NotInKgateway spec.healthCheck.http.expectedStatuses"},
		{config + check + "tcp: {}}}", "NotInKgateway spec.healthCheck.tcp"},
		{config + check + "grpc: {}}, connectTimeout: 5s, tcpKeepalive: {keepAliveTime: 10s}}", ""},
		{"apiVersion: gateway.kgateway.dev/v1alpha1\nkind: GatewayExtension\nmetadata: {name: a}\nspec: {extAuth: {percentageEnabled: 5, grpcService: {backendRef: {name: a, port: 1}}}}", "NotInKgateway spec.extAuth.percentageEnabled"},
		{"apiVersion: gateway.kgateway.dev/v1alpha1\nkind: GatewayExtension\nmetadata: {name: a}\nspec: {jwt: {providers: [{name: a, clockSkew: 1000ms, jwks: {local: {inline: x}}}]}}", "NotInKgateway spec.jwt.providers[0].clockSkew"},
		{"apiVersion: gateway.kgateway.dev/v1alpha1\nkind: Backend\nmetadata: {name: a}\nspec: {static: {appProtocol: grpc, hosts: [{host: a, port: 1}]}}\nstatus: {a: 1}", ""},
		{with(gateway, "gatefold.io/access-log: json, kgateway.dev/inherited-policy-priority: DeepMergePreferParent"),
			"NoEffectInKgateway metadata.annotations[gatefold.io/access-log] NoEffectInKgateway metadata.annotations[kgateway.dev/inherited-policy-priority]"},
		{strings.Replace(with(gateway, ""), "protocol: HTTP", "protocol: HTTPS, tls: {options: {gatefold.io/min-tls-version: '1.3', kgateway.dev/alpn-protocols: h2}}", 1),
			"NoEffectInKgateway spec.listeners[0].tls.options[gatefold.io/min-tls-version]"},
		{with(route, "kgateway.dev/inherited-policy-priority: DeepMergePreferParent, gatefold.io/closed: 'a: b'") + "{rules: [{name: a}]}", "NotInKgateway metadata.annotations[gatefold.io/closed]"},
		{with(route, "") + "{rules: [{allowedRoutes: {}, matches: [{path: {type: PathPostfix, value: /a}}]}]}",
			"NotInKgateway spec.rules[0].allowedRoutes NotInKgateway spec.rules[0].matches[0].path.type"},
		{with(route, "") + "{rules: [{backendRefs: [{name: a, group: delegation.kgateway.dev, kind: label, namespace: ''}]}]}", "NotInKgateway spec.rules[0].backendRefs[0].namespace"},
		{"apiVersion: v1\nkind: Namespace\nmetadata: {name: a, annotations: {gatefold.io/paths: a/}}", "NoEffectInKgateway metadata.annotations[gatefold.io/paths]"},
	} {
		var got []string
		for _, f := range compared(t, c.object) {
			got = append(got, f.Code+" "+f.Field)
			if !f.Warning || f.Hint == "" {
				t.Errorf("%+v", f)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s:\n%s\n%s", c.object, got, c.want)
		}
	}
	if _, err := FindKgateway("kgateway-1"); err == nil || !strings.Contains(err.Error(), "kgateway-2.5") {
		t.Error(err)
	}
}

// TestOnlyHere compares the hints with the fields and annotations that kgateway does not have: each has one, and no other
// has.
func TestOnlyHere(t *testing.T) {
	k, err := FindKgateway("kgateway-2.5")
	if err != nil {
		t.Fatal(err)
	}
	for kind, hints := range k.hints.Fields {
		gk := schema.GroupKind{Group: gatewayGroup, Kind: kind}
		if own := (schema.GroupKind{Group: api.Group, Kind: kind}); k.checkers[own] != nil {
			gk = own
		}
		here := kinds(t).kinds[gk]
		for path := range hints {
			if here.checks[here.versions[0]]().root.at(path) == nil {
				t.Errorf("%s: there is no %s %s", onlyHereFile, kind, path)
			}
		}
	}
	for gk := range k.checkers {
		if here := kinds(t).kinds[gk]; here != nil {
			k.wantHints(t, gk.Kind, "spec", here.checks[here.versions[0]]().root.at("spec"))
		}
	}
	for _, a := range Annotations() {
		everywhere := !slices.ContainsFunc(a.Kinds, func(kind string) bool { return !k.reads(a.Name, kind) })
		if (k.hints.Annotations[a.Name] == "") != everywhere {
			t.Errorf("%s: %s: %q", onlyHereFile, a.Name, k.hints.Annotations[a.Name])
		}
	}
}

// wantHints wants a hint for each field below a schema of gatefold that kgateway does not have.
func (k *Kgateway) wantHints(t *testing.T, kind, path string, n *node) {
	t.Helper()
	gk := schema.GroupKind{Group: api.Group, Kind: kind}
	if k.checkers[gk] == nil {
		gk.Group = gatewayGroup
	}
	if k.checkers[gk]().root.at(path) == nil {
		if k.hints.Fields[kind][path] == "" {
			t.Errorf("%s has no hint for %s %s", onlyHereFile, kind, path)
		}
		return
	}
	for name, field := range n.fields {
		k.wantHints(t, kind, path+"."+name, field)
	}
	if n.items != nil {
		k.wantHints(t, kind, path+"[]", n.items)
	}
	if n.values != nil {
		k.wantHints(t, kind, path+"{}", n.values)
	}
}
