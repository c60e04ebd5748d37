package translate

import (
	discoveryv1 "k8s.io/api/discovery/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
)

// inputs are what a Translator reads: the objects by kind, the Quarantine, the Discoveries and the Holders.
type inputs struct {
	classes, gateways, listenerSets, grants *objects
	// routes has the routes of all kinds that are served (route.Kinds).
	routes *objects

	*backendObjects

	namespaces, trafficPolicies, backendPolicies *objects
	extensions, secrets, configMaps, tlsPolicies *objects
	byKind                                       kinds
	// grantIndex has the keys of the ReferenceGrants of each namespace.
	grantIndex *memo.Index[string, manifest.Key]
	// clientIndex has the keys of the Gateways that name a client certificate for backends.
	clientIndex *memo.Index[manifest.Key, manifest.Key]
	// invalid has the invalid objects of all kinds that the store reports.
	invalid *memo.Input[manifest.Key, *store.Invalid]

	quarantine  *quarantineInputs
	discoveries *discoveryInputs
	holders     *holdersInput
}

func newInputs(e *memo.Engine) *inputs {
	in := &inputs{backendObjects: &backendObjects{}, byKind: kinds{}, quarantine: newQuarantineInputs(e), discoveries: newDiscoveryInputs(e), holders: newHoldersInput(e)}
	in.invalid = memo.NewInput[manifest.Key](e, "invalid", deepEqual[*store.Invalid])
	kind := func(group, name string) *objects {
		input := newObjects(e, name)
		in.byKind[[2]string{group, name}] = input
		return input
	}
	in.classes = kind(gwv1.GroupName, "GatewayClass")
	in.gateways = kind(gwv1.GroupName, "Gateway")
	in.listenerSets = kind(gwv1.GroupName, kindListenerSet)
	in.routes = newObjects(e, "routes")
	for _, served := range route.Kinds() {
		in.byKind[[2]string{gwv1.GroupName, served.Name}] = in.routes
	}
	in.grants = kind(gwv1.GroupName, "ReferenceGrant")
	in.namespaces = kind("", "Namespace")
	in.services = kind("", "Service")
	in.secrets = kind("", "Secret")
	in.configMaps = kind("", "ConfigMap")
	in.tlsPolicies = kind(gwv1.GroupName, kindBackendTLSPolicy)
	in.slices = kind(discoveryv1.GroupName, "EndpointSlice")
	in.staticBackends = kind(api.Group, api.KindBackend)
	in.trafficPolicies = kind(api.Group, api.KindTrafficPolicy)
	in.backendPolicies = kind(api.Group, api.KindBackendConfigPolicy)
	in.extensions = kind(api.Group, api.KindGatewayExtension)
	in.clientIndex = memo.NewIndex(e, in.gateways, hasClient, manifest.CompareKeys)
	in.sliceIndex = memo.NewIndex(e, in.slices, serviceOfSlice, manifest.CompareKeys)
	in.grantIndex = memo.NewIndex(e, in.grants, func(key manifest.Key, _ *manifest.Object) []string {
		return []string{key.Namespace}
	}, manifest.CompareKeys)
	return in
}

// serviceOfSlice returns the key of the Service that an EndpointSlice belongs to. It returns nil for a slice
// without the label kubernetes.io/service-name.
func serviceOfSlice(key manifest.Key, slice *manifest.Object) []manifest.Key {
	name := slice.Value.GetLabels()[discoveryv1.LabelServiceName]
	if name == "" {
		return nil
	}
	return []manifest.Key{{Kind: "Service", Namespace: key.Namespace, Name: name}}
}

// set stores a valid object and removes the invalid version of the object, if any. An object whose kind no rule
// reads is not stored.
func (in *inputs) set(object *manifest.Object) {
	in.invalid.Delete(object.Key)
	if input, ok := in.byKind[[2]string{object.Key.Group, object.Key.Kind}]; ok {
		input.Set(object.Key, object)
	}
}

// has reports whether there is an object with a key, valid or not.
func (in *inputs) has(key manifest.Key) bool {
	_, invalid := in.invalid.Peek(key)
	return invalid || in.object(key) != nil
}

// object returns the object with a key. If there is no such object, or if no rule reads objects of that kind,
// the result is nil.
func (in *inputs) object(key manifest.Key) *manifest.Object {
	input, known := in.byKind[[2]string{key.Group, key.Kind}]
	if !known {
		return nil
	}
	object, _ := input.Peek(key)
	return object
}

// remove removes an object and its invalid version.
func (in *inputs) remove(key manifest.Key) {
	in.invalid.Delete(key)
	if input, ok := in.byKind[[2]string{key.Group, key.Kind}]; ok {
		input.Delete(key)
	}
}

// hasClient is the key function of in.clientIndex. If the Gateway names a client certificate for connections to
// backends, the result is the key of the Gateway. Otherwise the result is nil.
func hasClient(key manifest.Key, object *manifest.Object) []manifest.Key {
	gateway, _ := manifest.As[*gwv1.Gateway](object)
	if tls := gateway.Spec.TLS; tls == nil || tls.Backend == nil || tls.Backend.ClientCertificateRef == nil {
		return nil
	}
	return []manifest.Key{key}
}
