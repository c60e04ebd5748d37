package store

import (
	"maps"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// refsOf returns the targetRefs of a policy. It returns nil for other kinds.
func refsOf(o *manifest.Object) []api.PolicyTarget {
	switch policy := o.Value.(type) {
	case *api.TrafficPolicy:
		return policy.Spec.TargetRefs
	case *api.BackendConfigPolicy:
		return policy.Spec.PolicyTargets()
	case *gwv1.BackendTLSPolicy:
		var refs []api.PolicyTarget
		for _, ref := range policy.Spec.TargetRefs {
			refs = append(refs, api.PolicyTarget{Group: ref.Group, Kind: ref.Kind, Name: ref.Name, SectionName: ref.SectionName})
		}
		return refs
	}
	return nil
}

// selectorsOf returns the targetSelectors of a policy. It returns nil for other kinds.
func selectorsOf(o *manifest.Object) []api.PolicySelector {
	switch policy := o.Value.(type) {
	case *api.TrafficPolicy:
		return policy.Spec.TargetSelectors
	case *api.BackendConfigPolicy:
		return policy.Spec.PolicySelectors()
	}
	return nil
}

// selects reports whether an object has the selector's kind and labels. It does not compare namespaces.
func selects(selector api.PolicySelector, o *manifest.Object) bool {
	if string(selector.Group) != o.Key.Group || string(selector.Kind) != o.Key.Kind {
		return false
	}
	labels := o.Value.GetLabels()
	for name, value := range selector.MatchLabels {
		if has, ok := labels[name]; !ok || has != value {
			return false
		}
	}
	return true
}

// isOf reports whether a valid policy has the target t. If t is a section of an object, such as one listener,
// the result is also true if the policy targets the whole object.
func (t Target) isOf(policy *manifest.Object) bool {
	within := func(group gwv1.Group, kind gwv1.Kind, section *gwv1.SectionName) bool {
		return string(group) == t.Group && string(kind) == t.Kind && (section == nil || string(*section) == t.Section)
	}
	return slices.ContainsFunc(refsOf(policy), func(ref api.PolicyTarget) bool {
		return t.Name == string(ref.Name) && within(ref.Group, ref.Kind, ref.SectionName)
	}) || slices.ContainsFunc(selectorsOf(policy), func(selector api.PolicySelector) bool {
		return t.Name == "" && maps.Equal(selector.MatchLabels, t.Labels) && within(selector.Group, selector.Kind, selector.SectionName)
	})
}
