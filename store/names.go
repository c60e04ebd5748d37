package store

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// Targets returns the objects that a policy names in targetRefs. It returns nil for other kinds.
func Targets(o *manifest.Object) (keys []manifest.Key) {
	for _, ref := range refsOf(o) {
		keys = append(keys, manifest.Key{Group: string(ref.Group), Kind: string(ref.Kind), Namespace: o.Key.Namespace, Name: string(ref.Name)})
	}
	return keys
}

// Extensions returns the objects that a route names in filters of the type ExtensionRef. It returns nil for other kinds.
func Extensions(o *manifest.Object) (keys []manifest.Key) {
	add := func(ref *gwv1.LocalObjectReference) {
		if ref != nil {
			keys = append(keys, manifest.Key{Group: string(ref.Group), Kind: string(ref.Kind), Namespace: o.Key.Namespace, Name: string(ref.Name)})
		}
	}
	switch route := o.Value.(type) {
	case *api.HTTPRoute:
		for _, rule := range route.Spec.Rules {
			for _, filter := range rule.Filters {
				add(filter.ExtensionRef)
			}
			for _, backend := range rule.BackendRefs {
				for _, filter := range backend.Filters {
					add(filter.ExtensionRef)
				}
			}
		}
	case *gwv1.GRPCRoute:
		for _, rule := range route.Spec.Rules {
			for _, filter := range rule.Filters {
				add(filter.ExtensionRef)
			}
			for _, backend := range rule.BackendRefs {
				for _, filter := range backend.Filters {
					add(filter.ExtensionRef)
				}
			}
		}
	}
	return keys
}
