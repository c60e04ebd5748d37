package store

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// Targets returns the targets of a valid policy: those in targetRefs, then those in targetSelectors. It returns nil for
// other kinds.
func Targets(o *manifest.Object) (targets []Target) {
	add := func(group gwv1.Group, kind gwv1.Kind, section *gwv1.SectionName) *Target {
		targets = append(targets, Target{GroupKind: apischema.GroupKind{Group: string(group), Kind: string(kind)}, Section: api.Text(section)})
		return &targets[len(targets)-1]
	}
	switch policy := o.Value.(type) {
	case *api.TrafficPolicy:
		for _, ref := range policy.Spec.TargetRefs {
			add(ref.Group, ref.Kind, ref.SectionName).Name = string(ref.Name)
		}
		for _, selector := range policy.Spec.TargetSelectors {
			add(selector.Group, selector.Kind, selector.SectionName).Labels = selector.MatchLabels
		}
	case *api.BackendConfigPolicy:
		for _, ref := range policy.Spec.TargetRefs {
			add(ref.Group, ref.Kind, nil).Name = string(ref.Name)
		}
		for _, selector := range policy.Spec.TargetSelectors {
			add(selector.Group, selector.Kind, nil).Labels = selector.MatchLabels
		}
	case *gwv1.BackendTLSPolicy:
		for _, ref := range policy.Spec.TargetRefs {
			add(ref.Group, ref.Kind, ref.SectionName).Name = string(ref.Name)
		}
	}
	return targets
}

// NamedTargets returns the objects that a policy names in targetRefs. It returns nil for other kinds.
func NamedTargets(o *manifest.Object) (keys []manifest.Key) {
	for _, t := range Targets(o) {
		if t.Name != "" {
			keys = append(keys, t.Key(o.Key.Namespace))
		}
	}
	return keys
}

// hasSelectors reports whether an object is a policy with targetSelectors.
func hasSelectors(o *manifest.Object) bool {
	return slices.ContainsFunc(Targets(o), func(t Target) bool { return t.Name == "" })
}

// Sections returns the names of the sections of an object that a policy can target, as sectionsOf does.
func Sections(o *manifest.Object) []string { return sectionsOf(o) }

// NamesSection reports whether a policy targets a section of an object of its namespace, by targetRefs or
// targetSelectors.
func NamesSection(policy, o *manifest.Object, section string) bool {
	return slices.ContainsFunc(Targets(policy), func(t Target) bool {
		return t.Section == section && t.Selects(o.Key, o.Value.GetLabels())
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
	return slices.ContainsFunc(Targets(policy), func(own Target) bool {
		return own.GroupKind == t.GroupKind && own.Name == t.Name && maps.Equal(own.Labels, t.Labels) && (own.Section == "" || own.Section == t.Section)
	})
}
