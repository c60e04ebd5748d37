package adapter

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// resource is a kind that is served.
type resource struct {
	group, kind, plural, singular string

	versions   []string // served ones, the preferred first
	namespaced bool
	// filed is true if its objects are gatefold's to read.
	filed bool
	// told is true if Changed hears of its objects.
	told bool
	// given is true if its objects are not stored but come from elsewhere: Pods
	// and CRDs.
	given bool
	// checks holds the schema of each version; nil for the kinds of the core.
	checks map[string]*check
}

// builtin gives the kinds that are in every cluster.
func builtin() []*resource {
	v1 := []string{"v1"}
	return []*resource{
		{kind: "Namespace", plural: "namespaces", singular: "namespace", versions: v1, filed: true},
		{kind: "Service", plural: "services", singular: "service", versions: v1, namespaced: true, filed: true, told: true},
		{kind: "Secret", plural: "secrets", singular: "secret", versions: v1, namespaced: true, filed: true},
		{kind: "ConfigMap", plural: "configmaps", singular: "configmap", versions: v1, namespaced: true, filed: true},
		{kind: "Pod", plural: "pods", singular: "pod", versions: v1, namespaced: true, given: true},
		{kind: "ServiceAccount", plural: "serviceaccounts", singular: "serviceaccount", versions: v1, namespaced: true},
		{group: "apps", kind: "Deployment", plural: "deployments", singular: "deployment", versions: v1, namespaced: true, told: true},
		{
			group: "discovery.k8s.io", kind: "EndpointSlice", plural: "endpointslices", singular: "endpointslice",
			versions: v1, namespaced: true, filed: true,
		},
		{
			group: "apiextensions.k8s.io", kind: "CustomResourceDefinition", plural: "customresourcedefinitions",
			singular: "customresourcedefinition", versions: v1, given: true,
		},
	}
}

// find gives the resource that a path speaks of.
func (a *Adapter) find(group, version, plural string) *resource {
	for _, r := range a.resources {
		if r.group == group && r.plural == plural && slices.Contains(r.versions, version) {
			return r
		}
	}
	return nil
}

func (r *resource) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.group, Resource: r.plural}
}

func (r *resource) groupKind() schema.GroupKind {
	return schema.GroupKind{Group: r.group, Kind: r.kind}
}

func (r *resource) apiVersion(version string) string {
	return schema.GroupVersion{Group: r.group, Version: version}.String()
}
