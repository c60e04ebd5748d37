package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatefold/gatefold/store/manifest"
)

const policyHead = "apiVersion: gateway.kgateway.dev/v1alpha1\nkind: TrafficPolicy\nmetadata: {name: a}\n"

// flowPolicy is an invalid policy on one line.
const flowPolicy = "{apiVersion: gateway.kgateway.dev/v1alpha1, kind: TrafficPolicy, metadata: {name: a}, spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}], oops: 1}}"

// TestTargetsAreReadOfInvalidPolicies breaks a policy in many ways: what it is for is read in full, or it is lost, and then
// its words count.
func TestTargetsAreReadOfInvalidPolicies(t *testing.T) {
	const ref = "{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}"
	for _, test := range []struct{ name, text, want string }{
		{"an unknown field", policyHead + "spec: {targetRefs: [" + ref + "], oops: 1}\n", "HTTPRoute default/r"},
		{"a section", policyHead + "spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r, sectionName: s}], oops: 1}\n", "HTTPRoute default/r#s"},
		{"a section of the wrong type", policyHead + "spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r, sectionName: [s]}]}\n", "HTTPRoute default/r"},
		{"a misspelt section", policyHead + "spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r, sectonName: s}]}\n", "HTTPRoute default/r"},
		{"no group", policyHead + "spec: {targetRefs: [{kind: HTTPRoute, name: r}]}\n", "HTTPRoute default/r"},
		{"no kind", policyHead + "spec: {targetRefs: [{name: r}]}\n", "lost"},
		{"a kind in another case", policyHead + "spec: {targetRefs: [{kind: httpRoutes, name: r}]}\n", "lost"},
		{"a misspelt kind", policyHead + "spec: {targetRefs: [{kind: HtpRoute, name: r}]}\n", "lost"},
		{"a name that is a number", policyHead + "spec: {targetRefs: [{kind: HTTPRoute, name: 5}]}\n", "HTTPRoute default/5"},
		{"a ref in place of a list", policyHead + "spec: {targetRefs: " + ref + "}\n", "lost"},
		{"targetRef", policyHead + "spec: {targetRef: " + ref + "}\n", "HTTPRoute default/r"},
		{"targetrefs", policyHead + "spec: {targetrefs: [" + ref + "]}\n", "lost"},
		{"targetRefs beside spec", policyHead + "targetRefs: [" + ref + "]\nspec: {timeouts: {request: 1s}}\n", "lost"},
		{"targetRefs too deep", policyHead + "spec: {timeouts: {request: 1s, targetRefs: [" + ref + "]}}\n", "lost"},
		{"a misspelt spec", policyHead + "spce: {targetRefs: [" + ref + "]}\n", "lost"},
		{"a key twice", policyHead + "spec: {targetRefs: [" + ref + "], timeouts: {request: 1s, request: 2s}}\n", "HTTPRoute default/r"},
		{"spec twice", policyHead + "spec: {timeouts: {request: 1s}}\nspec: {targetRefs: [" + ref + "]}\n", "HTTPRoute default/r"},
		{"targetRefs twice", policyHead + "spec: {targetRefs: [{kind: Gateway, name: g}], targetRefs: [" + ref + "]}\n", "Gateway default/g HTTPRoute default/r"},
		{"behind many mistakes", policyHead + "spec: {" + strings.Repeat("a: 1, ", 30) + "targetRefs: [" + ref + "]}\n", "HTTPRoute default/r"},
		{"a version that is not there", strings.Replace(policyHead, "v1alpha1", "v1beta1", 1) + "spec: {targetRefs: [" + ref + "]}\n", "HTTPRoute default/r"},
		{"a misspelt group", strings.Replace(policyHead, "kgateway.dev", "kgatewy.dev", 1) + "spec: {targetRefs: [" + ref + "]}\n", "HTTPRoute default/r"},
		{"a misspelt kind of policy", strings.Replace(policyHead, "TrafficPolicy", "TraficPolicy", 1) + "spec: {targetRefs: [" + ref + "]}\n", "HTTPRoute default/r"},
		{"no version", "kind: TrafficPolicy\nmetadata: {name: a}\nspec: {targetRefs: [" + ref + "]}\n", "HTTPRoute default/r"},
		{"an invalid name", strings.Replace(policyHead, "name: a", "name: ../../A", 1) + "spec: {targetRefs: [" + ref + "]}\n", "HTTPRoute default/r"},
		{"no name", strings.Replace(policyHead, "name: a", "nam: a", 1) + "spec: {targetRefs: [" + ref + "]}\n", "HTTPRoute default/r"},
		{"a long name", strings.Replace(policyHead, "name: a", "name: "+strings.Repeat("a", 300), 1) + "spec: {targetRefs: [" + ref + "]}\n", "HTTPRoute default/r"},
		{"an invalid label", strings.Replace(policyHead, "name: a", "name: a, labels: {a: b c}", 1) + "spec: {targetRefs: [" + ref + "]}\n", "HTTPRoute default/r"},
		{"labels of the wrong type", strings.Replace(policyHead, "name: a", "name: a, labels: [a]", 1) + "spec: {targetRefs: [" + ref + "]}\n", "HTTPRoute default/r"},
		{"an item of a list", "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: gateway.kgateway.dev/v1alpha1, kind: TrafficPolicy, metadata: {name: a}, spec: {targetRefs: [" + ref + "], x: 1}}\n", "HTTPRoute default/r"},
		{"an item of a list with a key twice", "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: gateway.kgateway.dev/v1alpha1, kind: TrafficPolicy, metadata: {name: a}, spec: {targetRefs: [" + ref + "], x: 1, x: 2}}\n", "HTTPRoute default/r"},
		{"two objects in one document", strings.ReplaceAll(route("b", "/1"), "---\n", "") + policyHead + "spec: {targetRefs: [" + ref + "]}\n", "lost"},
		{"a selector", policyHead + "spec: {targetSelectors: [{group: gateway.networking.k8s.io, kind: HTTPRoute, matchLabels: {team: x}}], oops: 1}\n", "each HTTPRoute in namespace default with team=x"},
		{"a selector with a label that is no text", policyHead + "spec: {targetSelectors: [{kind: HTTPRoute, matchLabels: {team: x, tier: 1}}], oops: 1}\n", "lost"},
		{"a selector with labels that cannot be read", policyHead + "spec: {targetSelectors: [{kind: HTTPRoute, matchLabels: {team: x, tier: [1], area: }}], oops: 1}\n", "lost"},
		{"a selector without labels", policyHead + "spec: {targetSelectors: [{kind: Gateway, matchLabels: [x]}]}\n", "lost"},
		{"a selector among refs", policyHead + "spec: {targetRefs: [{kind: Gateway, matchLabels: {a: b}}]}\n", "lost"},
		{"a name that is a boolean", policyHead + "spec: {targetRefs: [{kind: HTTPRoute, name: on}]}\n", "HTTPRoute default/on"},
		{"a name that cannot be read", policyHead + "spec: {targetRefs: [{kind: HTTPRoute, name: null}]}\n", "lost"},
		{"a name in a list", policyHead + "spec: {targetRefs: [{kind: HTTPRoute, name: [r]}]}\n", "lost"},
		{"a name in a mapping", policyHead + "spec: {targetRefs: [{kind: HTTPRoute, name: {value: r}}]}\n", "lost"},
		{"refs in a mapping", policyHead + "spec: {targetRefs: {first: " + ref + "}}\n", "lost"},
		{"refs as text", policyHead + "spec: {targetRefs: [HTTPRoute/r]}\n", "lost"},
		{"targets", policyHead + "spec: {targets: [" + ref + "]}\n", "lost"},
		{"target", policyHead + "spec: {target: " + ref + "}\n", "lost"},
		{"no kind of policy", strings.Replace(policyHead, "kind: TrafficPolicy\n", "", 1) + "spec: {targetRefs: [" + ref + "]}\n", "HTTPRoute default/r"},
		{"an empty kind of policy", strings.Replace(policyHead, "TrafficPolicy", "", 1) + "spec: {targetRefs: [" + ref + "]}\n", "HTTPRoute default/r"},
		{"an old kind of policy", strings.Replace(policyHead, "TrafficPolicy", "RoutePolicy", 1) + "spec: {targetRefs: [" + ref + "]}\n", "HTTPRoute default/r"},
		{"a short group", strings.Replace(policyHead, "gateway.kgateway.dev", "kgateway.dev", 1) + "spec: {targetRefs: [" + ref + "]}\n", "HTTPRoute default/r"},
		{"a group in capitals", strings.Replace(policyHead, "gateway.kgateway.dev", "Gateway.KGateway.Dev", 1) + "spec: {targetRefs: [" + ref + "]}\n", "HTTPRoute default/r"},
		{"a list in a list", "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: List, items: [" + flowPolicy + "]}\n", "HTTPRoute default/r"},
		{"a list in small letters", "apiVersion: v1\nkind: list\nitems: [" + flowPolicy + "]\n", "HTTPRoute default/r"},
		{"a list without items", "apiVersion: v1\nkind: List\nitem: [" + flowPolicy + "]\n", "HTTPRoute default/r"},
		{"items that are no list", "apiVersion: v1\nkind: List\nitems: " + flowPolicy + "\n", "HTTPRoute default/r"},
		{"items without a kind", "apiVersion: gateway.kgateway.dev/v1alpha1\nkind: TrafficPolicyList\nitems: [{metadata: {name: a}, spec: {targetRefs: [" + ref + "]}}]\n", "HTTPRoute default/r"},
		{"a list as document", "- " + flowPolicy + "\n", "HTTPRoute default/r"},
		{"one of two names", policyHead + "spec: {targetRefs: [" + ref + ", {kind: HTTPRoute}]}\n", "HTTPRoute default/r lost"},
		{"no targets", policyHead + "spec: {oops: 1}\n", ""},
		{"too many targets", policyHead + "spec: {targetRefs: [" + manyRefs(2000) + "]}\n", "each HTTPRoute in namespace default each GRPCRoute in namespace default each Gateway in namespace default each ListenerSet in namespace default each TCPRoute in namespace default each TLSRoute in namespace default each UDPRoute in namespace default"},
	} {
		i := invalidOf(t, test.text)
		var got []string
		for _, target := range i.Targets {
			got = append(got, target.words(i.Key.Namespace))
		}
		if i.Lost {
			got = append(got, "lost")
		}
		if text := strings.Join(got, " "); text != test.want {
			t.Errorf("%s: got %q, want %q", test.name, text, test.want)
		}
	}
	if i := invalidOf(t, policyHead+"spec: {targetRefs: ["+manyRefs(1000)+"]}\n"); len(i.Targets) != 1000 || i.Targets[999].Name != "r999" {
		t.Errorf("%d targets are read", len(i.Targets))
	}
}

func manyRefs(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r%d}", i))
	}
	return strings.Join(all, ", ")
}

// TestOtherKindsCloseNothing has objects beside policies that are as invalid, and policies
// of others.
func TestOtherKindsCloseNothing(t *testing.T) {
	for _, text := range []string{
		"kind: [\n", "apiVersion: example.com/v1\nkind: TrafficPolicy\nmetadata: {name: a}\nspec: {targetRefs: [{kind: HTTPRoute, name: r}], x: 1, x: 2}\n",
		"apiVersion: v1\nkind: Service\nmetadata: {name: a, name: b}\nspec: {targetRefs: [{kind: HTTPRoute, name: r}]}\n",
	} {
		if c := newStore(t, Options{}).Apply(treeOf(map[string]string{"x.yaml": text})); len(c.Invalid) > 0 || len(c.Problems) == 0 {
			t.Errorf("%s of\n%s", told(c), text)
		}
	}
}

// TestConsequences reads what the first error of an invalid policy says of traffic, as its
// file changes.
func TestConsequences(t *testing.T) {
	sound := policyHead + "spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}], timeouts: {request: 1s}}\n"
	broken := strings.Replace(sound, "1s", "soon", 1)
	s := newStore(t, Options{})
	for i, step := range []struct {
		files map[string]string
		want  string
	}{
		{map[string]string{"x.yaml": broken}, "; its target HTTPRoute default/r is not in the folder, or not valid"},
		{map[string]string{"x.yaml": broken, "y.yaml": route("r", "/")}, "; HTTPRoute default/r answers 500 until it is fixed"},
		{map[string]string{"x.yaml": strings.Replace(broken, "name: r}", "name: r}, {group: gateway.networking.k8s.io, kind: HTTPRoute, name: s}", 1), "y.yaml": route("r", "/")},
			"; HTTPRoute default/r answers 500 until it is fixed; its target HTTPRoute default/s is not in the folder, or not valid"},
		{map[string]string{"x.yaml": strings.Replace(broken, "name: r}", "name: r, sectionName: s}", 1), "y.yaml": route("r", "/")},
			"; HTTPRoute default/r answers 500 until it is fixed"},
		{map[string]string{"x.yaml": strings.Replace(broken, "name: r}", "name: r, sectionName: s}", 1), "y.yaml": strings.Replace(route("r", "/"), "  - matches", "  - name: s\n    matches", 1)},
			"; HTTPRoute default/r#s answers 500 until it is fixed"},
		{map[string]string{"x.yaml": broken, "y.yaml": sound}, "; its definition in y.yaml is in force"},
		{map[string]string{"x.yaml": sound}, ""},
		{map[string]string{"x.yaml": broken}, "; its last valid version is still in force"},
		{map[string]string{"x.yaml": broken + "---\n" + route("r", "/")}, "; its last valid version is still in force"},
		{map[string]string{"x.yaml": strings.Replace(broken, "name: a", "name: A_", 1), "y.yaml": route("r", "/")}, "; the last valid version of what it was is still in force"},
		{map[string]string{"x.yaml": strings.Replace(broken, "name: a", "name: ", 1), "y.yaml": route("r", "/")}, "; the last valid version of what it was is still in force"},
		{map[string]string{"x.yaml": strings.NewReplacer("name: a", "name: ", "name: r", "name: other").Replace(broken), "y.yaml": route("r", "/")}, "; its target HTTPRoute default/other is not in the folder, or not valid"},
		{map[string]string{"x.yaml": strings.Replace(broken, "name: a", "name: ", 1), "y.yaml": route("r", "/") + "---\n" + strings.ReplaceAll(sound, "name: r", "name: other")}, "; HTTPRoute default/r answers 500 until it is fixed"},
		{map[string]string{"y.yaml": route("r", "/")}, ""},
		{map[string]string{"x.yaml": policyHead + "spec: {oops: 1}\n"}, "; a rule that names it by ExtensionRef answers an error until it is fixed"},
		{map[string]string{"x.yaml": policyHead + "spec: {targetRefs: [null]}\n"}, "; its targets cannot be read: what was served before stays open"},
	} {
		var got []string
		for _, p := range s.Apply(treeOf(step.files)).Problems {
			if _, text, ok := strings.Cut(p.Message, "; "); ok {
				got = append(got, "; "+text)
			}
		}
		if text := strings.Join(slices.Compact(got), ""); text != step.want {
			t.Errorf("step %d: got %q, want %q", i, text, step.want)
		}
	}
}

// A target with a name is for one object; a selector is for objects of its kind by their labels.
func TestTargetSelects(t *testing.T) {
	route := apischema.GroupKind{Group: gatewayGroup, Kind: "HTTPRoute"}
	labels := map[string]string{"app": "cart", "empty": ""}
	for name, test := range map[string]struct {
		target Target
		want   bool
	}{
		"by name":                          {Target{GroupKind: route, Name: "cart"}, true},
		"by name, of a section":            {Target{GroupKind: route, Name: "cart", Section: "rule"}, true},
		"another name":                     {Target{GroupKind: route, Name: "shop"}, false},
		"another kind":                     {Target{GroupKind: apischema.GroupKind{Group: gatewayGroup, Kind: "GRPCRoute"}, Name: "cart"}, false},
		"another group":                    {Target{GroupKind: apischema.GroupKind{Kind: "HTTPRoute"}, Name: "cart"}, false},
		"all of the kind":                  {Target{GroupKind: route}, true},
		"all of another kind":              {Target{GroupKind: apischema.GroupKind{Kind: "Service"}}, false},
		"a label":                          {Target{GroupKind: route, Labels: map[string]string{"app": "cart"}}, true},
		"a label of another kind":          {Target{GroupKind: apischema.GroupKind{Kind: "Service"}, Labels: map[string]string{"app": "cart"}}, false},
		"labels without a value":           {Target{GroupKind: route, Labels: map[string]string{"empty": ""}}, true},
		"no label, which is not no value":  {Target{GroupKind: route, Labels: map[string]string{"app": "cart", "tier": ""}}, false},
		"an expression":                    {Target{GroupKind: route, Labels: map[string]string{"app": "cart"}, Expressions: "!tier"}, true},
		"an expression that does not hold": {Target{GroupKind: route, Labels: map[string]string{"app": "cart"}, Expressions: "tier"}, false},
	} {
		if got := test.target.Selects(manifest.Key{Group: gatewayGroup, Kind: "HTTPRoute", Namespace: "shop", Name: "cart"}, labels); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
