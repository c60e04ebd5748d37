package adapter

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// resource is a kind that the adapter serves.
type resource struct {
	group, kind, plural, singular string

	versions   []string // the preferred version first
	namespaced bool
	// filed is true if the objects are stored in the folder, where gatefold reads them.
	filed bool
	// told is true if Options.Changed is called for changes of the objects.
	told bool
	// given is true if the objects are not stored by clients: Pods and CRDs.
	given bool
	// checks has the schema of each version. It is nil for kinds without a CRD.
	checks map[string]*check
}

// builtin returns the kinds without a CRD that the adapter serves. A real cluster has more of these kinds,
// which the conformance suite does not need.
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

// find returns the resource with this group, version and plural name, or nil if there is none.
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
