package schema

import (
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kind is a kind of objects that gatefold reads, with its scope (namespaced or not), versions and schema.
// crdKinds and coreKinds list the scope and versions in Go, so that gatefold need not read the CRDs for them. A
// test compares the lists with the CRDs.
type kind struct {
	schema.GroupKind
	namespaced bool
	versions   []string // the versions that can be used; the storage version first

	crd  map[string]crdVersion // the CRD by version; nil for a kind of Kubernetes
	core func() *checker       // for a kind of Kubernetes, returns its checker
	// patch changes the schema of the CRD before it is compiled.
	patch func(*apiextensions.JSONSchemaProps)

	unserved *notServed
	checks   map[string]func() *checker // by version; each is compiled on its first call
}

// crdVersion is a version of a CRD in an embedded file. read parses the file on its first call.
type crdVersion struct {
	file string
	read func() version
}

// prepare sets k.checks, which has a function for each version of the kind. The function returns the checker of
// the version. prepare itself compiles no schema, so that it is fast: each function compiles the schema of its
// version when the function is called for the first time.
func (k *kind) prepare() {
	k.checks = map[string]func() *checker{}
	for _, name := range k.versions {
		build := k.core
		if k.crd != nil {
			build = func() *checker { return compileVersion(k.crd[name].read(), k.patch) }
		}
		k.checks[name] = sync.OnceValue(func() *checker {
			c := build()
			c.finish(k)
			return c
		})
	}
}

const gatewayGroup = "gateway.networking.k8s.io"

// crdKinds returns the kinds that have a CRD.
func crdKinds() []*kind {
	of := func(group, name string, versions ...string) *kind {
		k := &kind{
			GroupKind:  schema.GroupKind{Group: group, Kind: name},
			namespaced: true, versions: versions, crd: map[string]crdVersion{},
		}
		for _, v := range versions {
			file := "crds/" + group + "_" + name + "_" + v + ".json"
			k.crd[v] = crdVersion{file: file, read: sync.OnceValue(func() version { return readVersion(file) })}
		}
		return k
	}
	gateway := func(name string, versions ...string) *kind {
		return of(gatewayGroup, name, versions...)
	}
	own := func(name string) *kind { return of("gateway.kgateway.dev", name, "v1alpha1") }
	class := gateway("GatewayClass", "v1", "v1beta1")
	class.namespaced = false
	httpRoute := gateway("HTTPRoute", "v1", "v1beta1")
	gateways := gateway("Gateway", "v1", "v1beta1")
	httpRoute.patch = func(root *apiextensions.JSONSchemaProps) { patchHTTPRoute(root, gateways.crd["v1"].read()) }
	return []*kind{
		class,
		gateways,
		gateway("ListenerSet", "v1"),
		httpRoute,
		gateway("GRPCRoute", "v1"),
		gateway("TLSRoute", "v1", "v1alpha2", "v1alpha3"),
		gateway("TCPRoute", "v1", "v1alpha2"),
		gateway("UDPRoute", "v1", "v1alpha2"),
		gateway("ReferenceGrant", "v1beta1", "v1"),
		gateway("BackendTLSPolicy", "v1", "v1alpha3"),
		own("Backend"),
		own("TrafficPolicy"),
		own("BackendConfigPolicy"),
		own("GatewayExtension"),
	}
}

// coreKinds returns the kinds of Kubernetes itself.
func coreKinds() []*kind {
	core := func(group, name string, namespaced bool, build func() *checker) *kind {
		return &kind{
			GroupKind:  schema.GroupKind{Group: group, Kind: name},
			namespaced: namespaced, versions: []string{"v1"}, core: build,
		}
	}
	return []*kind{
		core("", "Namespace", false, namespaceChecker),
		core("", "Service", true, serviceChecker),
		core("discovery.k8s.io", "EndpointSlice", true, endpointSliceChecker),
		core("", "Secret", true, secretChecker),
		core("", "ConfigMap", true, configMapChecker),
	}
}
