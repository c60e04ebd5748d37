package importer

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// TestMisspeltTargetsAreLost spells the targets of a policy in odd ways. gatefold closes what may be meant, so an import
// must not take the policy for one without targets.
func TestMisspeltTargetsAreLost(t *testing.T) {
	const ref = "{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}"
	for text, want := range map[string]bool{
		"spec: {targetRefs: [" + ref + "]}":                                              false,
		"spec: {targetSelectors: [{kind: HTTPRoute, matchLabels: {a: b}}]}":              false,
		"spec: {targetPort: 80, targetRefs: [" + ref + "]}":                              false,
		"spec: {targetSelector: [{kind: HTTPRoute, matchLabels: {a: b}}]}":               true,
		"spec: {targetrefs: [" + ref + "]}":                                              true,
		"spec: {tragetRefs: [" + ref + "], targetRefs: [" + ref + "]}":                   true,
		"spec: {targetRefs: " + ref + "}":                                                true,
		"spec: {targetRefs: [{kind: HTTPRoute, name: gone, Name: r}]}":                   true,
		"spec: {targetSelectors: [{kind: HTTPRoute, matchLabels: {a: yes}}]}":            true,
		"spec: {targets: [" + ref + "]}":                                                 true,
		"spec: {parentRefs: [" + ref + "]}":                                              true,
		"Spec: {targetRefs: [" + ref + "]}":                                              true,
		"spce: {targetRefs: [" + ref + "]}":                                              true,
		"spec: {targetRefs: [" + ref + ", {name: r}]}":                                   true,
		"spec: {targetRefs: [" + ref + "], attachTo: {targetRefs: [{kind: HTTPRoute}]}}": true,
		"spec: {targetRefs: [" + ref + "], attachTo: {targetRefs: 5}}":                   true,
		"metadata: {targetRefs: [" + ref + "]}":                                          true,
		"spec: {targetRefs: [" + ref + "], rbac: {targetRefs: " + ref + "}}":             true,
	} {
		o := &item{key: manifest.Key{Group: api.Group, Kind: api.KindTrafficPolicy, Namespace: "default"}}
		if err := yaml.Unmarshal([]byte(text), &o.fields); err != nil {
			t.Fatal(err)
		}
		if targets, lost := o.targetsOf(); lost != want || !want && len(targets) != 1 {
			t.Errorf("%s: lost %v, %d targets", text, lost, len(targets))
		}
	}
}

// TestUnknownPriorityIsDifferent holds that import says what gatefold makes of a priority that kgateway does not know.
func TestUnknownPriorityIsDifferent(t *testing.T) {
	for value, want := range map[string]int{"ShallowMergePreferParent": 0, "PreferParent": 1, "": 1} {
		object := &item{key: manifest.Key{Kind: "Gateway", Namespace: "infra", Name: "eg"}}
		object.fields = map[string]any{"metadata": map[string]any{"annotations": map[string]any{api.AnnotationPolicyPriority: value}}}
		r := &report{}
		clean(r, object)
		if len(r.verdicts) != want || want == 1 && r.verdicts[0].Class != Different {
			t.Errorf("%q: %+v", value, r.verdicts)
		}
	}
}
