package store

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
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

// Targets returns the objects that a policy names in targetRefs. It returns nil for other kinds.
func Targets(o *manifest.Object) (keys []manifest.Key) {
	for _, ref := range refsOf(o) {
		keys = append(keys, manifest.Key{Group: string(ref.Group), Kind: string(ref.Kind), Namespace: o.Key.Namespace, Name: string(ref.Name)})
	}
	return keys
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

// Sections returns the names of the sections of an object that a policy can target, as sectionsOf does.
func Sections(o *manifest.Object) []string { return sectionsOf(o) }

// NamesSection reports whether a policy targets a section of an object of its namespace, by targetRefs or
// targetSelectors.
func NamesSection(policy, o *manifest.Object, section string) bool {
	return slices.ContainsFunc(refsOf(policy), func(ref api.PolicyTarget) bool {
		return string(ref.Group) == o.Key.Group && string(ref.Kind) == o.Key.Kind && string(ref.Name) == o.Key.Name && api.Text(ref.SectionName) == section
	}) || slices.ContainsFunc(selectorsOf(policy), func(selector api.PolicySelector) bool {
		return api.Text(selector.SectionName) == section && selects(selector, o)
	})
}

// sectionsOf returns the names of the sections of an object that a policy can target: the rules of a route, the listeners
// of a Gateway or ListenerSet, the ports of a Service. It returns nil for other kinds.
func sectionsOf(o *manifest.Object) (names []string) {
	switch object := o.Value.(type) {
	case *gwv1.Gateway:
		names = namesOfSections(object.Spec.Listeners, func(l gwv1.Listener) string { return string(l.Name) })
	case *gwv1.ListenerSet:
		names = namesOfSections(object.Spec.Listeners, func(l gwv1.ListenerEntry) string { return string(l.Name) })
	case *corev1.Service:
		names = namesOfSections(object.Spec.Ports, func(p corev1.ServicePort) string { return p.Name })
	case *api.HTTPRoute:
		names = namesOfSections(object.Spec.Rules, func(r api.HTTPRouteRule) string { return api.Text(r.Name) })
	case *gwv1.GRPCRoute:
		names = namesOfSections(object.Spec.Rules, func(r gwv1.GRPCRouteRule) string { return api.Text(r.Name) })
	case *gwv1.TCPRoute:
		names = namesOfSections(object.Spec.Rules, func(r gwv1.TCPRouteRule) string { return api.Text(r.Name) })
	case *gwv1.TLSRoute:
		names = namesOfSections(object.Spec.Rules, func(r gwv1.TLSRouteRule) string { return api.Text(r.Name) })
	case *gwv1.UDPRoute:
		names = namesOfSections(object.Spec.Rules, func(r gwv1.UDPRouteRule) string { return api.Text(r.Name) })
	}
	return names
}

// namesOfSections returns the name of each section.
func namesOfSections[T any](sections []T, nameOf func(T) string) []string {
	names := make([]string, 0, len(sections))
	for _, section := range sections {
		names = append(names, nameOf(section))
	}
	return names
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
