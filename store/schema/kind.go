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

	file string                    // the CRD of the kind; "" for a kind of Kubernetes
	crd  func() map[string]version // reads file on its first call; the versions by name
	core func() *checker           // for a kind of Kubernetes, returns its checker
	// patch changes the schema of the CRD before it is compiled.
	patch func(*apiextensions.JSONSchemaProps)

	unserved *notServed
	checks   map[string]func() *checker // by version; each is compiled on its first call
}

// prepare sets k.checks: for each version of the kind, a function that returns the checker of this version. The
// schema is compiled on the first call of this function, so that prepare itself is fast.
func (k *kind) prepare() {
	k.checks = map[string]func() *checker{}
	for _, name := range k.versions {
		build := k.core
		if k.file != "" {
			build = func() *checker { return compileVersion(k.crd()[name], k.patch) }
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
	of := func(group, name, plural string, versions ...string) *kind {
		file := "crds/" + group + "_" + plural + ".yaml"
		return &kind{
			GroupKind:  schema.GroupKind{Group: group, Kind: name},
			namespaced: true, versions: versions,
			file: file, crd: sync.OnceValue(func() map[string]version { return readCRD(file) }),
		}
	}
	gateway := func(name, plural string, versions ...string) *kind {
		return of(gatewayGroup, name, plural, versions...)
	}
	own := func(name, plural string) *kind { return of("gateway.kgateway.dev", name, plural, "v1alpha1") }
	class := gateway("GatewayClass", "gatewayclasses", "v1", "v1beta1")
	class.namespaced = false
	httpRoute := gateway("HTTPRoute", "httproutes", "v1", "v1beta1")
	gateways := gateway("Gateway", "gateways", "v1", "v1beta1")
	httpRoute.patch = func(root *apiextensions.JSONSchemaProps) { patchHTTPRoute(root, gateways.crd()["v1"]) }
	return []*kind{
		class,
		gateways,
		gateway("ListenerSet", "listenersets", "v1"),
		httpRoute,
		gateway("GRPCRoute", "grpcroutes", "v1"),
		gateway("TLSRoute", "tlsroutes", "v1", "v1alpha2", "v1alpha3"),
		gateway("TCPRoute", "tcproutes", "v1", "v1alpha2"),
		gateway("UDPRoute", "udproutes", "v1", "v1alpha2"),
		gateway("ReferenceGrant", "referencegrants", "v1beta1", "v1"),
		gateway("BackendTLSPolicy", "backendtlspolicies", "v1", "v1alpha3"),
		own("Backend", "backends"),
		own("TrafficPolicy", "trafficpolicies"),
		own("BackendConfigPolicy", "backendconfigpolicies"),
		own("GatewayExtension", "gatewayextensions"),
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
