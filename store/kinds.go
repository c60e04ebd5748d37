package store

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sschema "k8s.io/apimachinery/pkg/runtime/schema"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// kind is one kind of object that gatefold reads: a line of the table kinds.
type kind struct {
	group, name string
	// versions are the versions that a file may use. They have the same fields, and different validation. All
	// are read as the first version, and new returns a value of that version's type.
	versions []string
	cluster  bool // its objects have no namespace
	new      func() metav1.Object
}

const gatewayGroup = "gateway.networking.k8s.io"

// kinds is the table of the kinds that gatefold reads. To add a kind, add it here and its schema in package
// schema.
var kinds = []kind{
	{gatewayGroup, "GatewayClass", []string{"v1", "v1beta1"}, true, func() metav1.Object { return new(gwv1.GatewayClass) }},
	{gatewayGroup, "Gateway", []string{"v1", "v1beta1"}, false, func() metav1.Object { return new(gwv1.Gateway) }},
	{gatewayGroup, "ListenerSet", []string{"v1"}, false, func() metav1.Object { return new(gwv1.ListenerSet) }},
	{gatewayGroup, "HTTPRoute", []string{"v1", "v1beta1"}, false, func() metav1.Object { return new(api.HTTPRoute) }},
	{gatewayGroup, "GRPCRoute", []string{"v1"}, false, func() metav1.Object { return new(gwv1.GRPCRoute) }},
	{gatewayGroup, "TLSRoute", []string{"v1", "v1alpha2", "v1alpha3"}, false, func() metav1.Object { return new(gwv1.TLSRoute) }},
	{gatewayGroup, "TCPRoute", []string{"v1", "v1alpha2"}, false, func() metav1.Object { return new(gwv1.TCPRoute) }},
	{gatewayGroup, "UDPRoute", []string{"v1", "v1alpha2"}, false, func() metav1.Object { return new(gwv1.UDPRoute) }},
	{gatewayGroup, "ReferenceGrant", []string{"v1", "v1beta1"}, false, func() metav1.Object { return new(gwv1.ReferenceGrant) }},
	{gatewayGroup, kindBackendTLSPolicy, []string{"v1", "v1alpha3"}, false, func() metav1.Object { return new(gwv1.BackendTLSPolicy) }},
	{api.Group, api.KindBackend, []string{api.Version}, false, func() metav1.Object { return new(api.Backend) }},
	{api.Group, api.KindTrafficPolicy, []string{api.Version}, false, func() metav1.Object { return new(api.TrafficPolicy) }},
	{api.Group, api.KindBackendConfigPolicy, []string{api.Version}, false, func() metav1.Object { return new(api.BackendConfigPolicy) }},
	{api.Group, api.KindGatewayExtension, []string{api.Version}, false, func() metav1.Object { return new(api.GatewayExtension) }},
	{"", "Namespace", []string{"v1"}, true, func() metav1.Object { return new(corev1.Namespace) }},
	{"", "Service", []string{"v1"}, false, func() metav1.Object { return new(corev1.Service) }},
	{"discovery.k8s.io", "EndpointSlice", []string{"v1"}, false, func() metav1.Object { return new(discoveryv1.EndpointSlice) }},
	{"", "Secret", []string{"v1"}, false, func() metav1.Object { return new(corev1.Secret) }},
	{"", "ConfigMap", []string{"v1"}, false, func() metav1.Object { return new(corev1.ConfigMap) }},
}

// apiVersions returns the accepted values of apiVersion for the kind.
func (k *kind) apiVersions() []string {
	var all []string
	for _, version := range k.versions {
		all = append(all, k8sschema.GroupVersion{Group: k.group, Version: version}.String())
	}
	return all
}

// kindOf returns the line of the table for a kind, nil if there is none.
func kindOf(gk k8sschema.GroupKind) *kind {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.group == gk.Group && k.name == gk.Kind })
	if i < 0 {
		return nil
	}
	return &kinds[i]
}

// unknownKind returns the problem of a kind or version that is not in the table. ok is false if the kind
// belongs to another program and so is no mistake.
func unknownKind(gvk k8sschema.GroupVersionKind) (p manifest.Problem, ok bool) {
	if k := kindOf(gvk.GroupKind()); k != nil {
		return manifest.Problem{
			Code: "UnknownVersion", Severity: manifest.Error, Field: "apiVersion",
			Message: gvk.Kind + " has no version " + quote(gvk.Version),
			Hint:    "write apiVersion: " + strings.Join(k.apiVersions(), " or "),
		}, true
	}
	p = manifest.Problem{Code: "UnknownKind", Severity: manifest.Error, Field: "kind"}
	if like := similarKind(gvk); like != nil {
		p.Message = "there is no kind " + quote(gvk.Kind) + " in " + quote(gvk.GroupVersion().String())
		p.Hint = "did you mean kind: " + like.name + "?"
		if like.group != gvk.Group {
			p.Field = "apiVersion"
			p.Hint = "did you mean apiVersion: " + like.apiVersions()[0] + " with kind: " + like.name + "?"
		}
		return p, true
	}
	if gvk.Group == gatewayGroup || meansKgateway(gvk.Group) {
		p.Message = "there is no kind " + quote(gvk.Kind) + " in " + gvk.Group
		p.Hint = "its kinds are " + strings.Join(kindNames(gvk.Group), ", ")
		if gvk.Group != gatewayGroup && gvk.Group != api.Group {
			p.Message = "gatefold does not serve the kind " + quote(gvk.Kind) + " in " + quote(gvk.Group)
			p.Hint = "write an object of " + api.Group + ": " + strings.Join(kindNames(api.Group), ", ")
		}
		return p, true
	}
	return manifest.Problem{}, false
}

// similarKind returns the kind of the table that a user probably meant by gvk, or nil. There are two cases:
//   - The kind is in the group of gvk, and its name differs in at most two letters; three in a group that has a name,
//     where every unknown kind is a mistake.
//   - The kind is in another group, which is similar to that of gvk (nearGroup), and its name differs in at most two
//     letters; or the group of gvk is one of ours, or nearly one (isOwnGroup), or of Kubernetes, and the name is the same.
func similarKind(gvk k8sschema.GroupVersionKind) *kind {
	ours := len(kindNames(gvk.Group)) > 0 || isOwnGroup(gvk.Group) || kubernetesGroup(gvk.Group)
	var best *kind
	least := 0
	for i := range kinds {
		k := &kinds[i]
		d := manifest.Distance(strings.ToLower(k.name), strings.ToLower(gvk.Kind))
		most := maxMisspelt
		switch {
		case k.group == gvk.Group && gvk.Group != "":
			most++
		case k.group == gvk.Group || nearGroup(k.group, gvk.Group):
		case ours:
			most = 0
		default:
			continue
		}
		if near := d <= most && d < len(gvk.Kind); near && (best == nil || d < least) {
			best, least = k, d
		}
	}
	return best
}

// maxMisspelt is the largest number of letters in which a kind may differ from one that is meant.
const maxMisspelt = 2

// nearGroup reports whether a group that a user wrote is probably meant as a group of the table: it is similar, or one is
// a part of the other, such as kgateway.dev and gateway.kgateway.dev.
func nearGroup(group, written string) bool {
	written = strings.ToLower(written)
	switch {
	case group == "" || written == "":
		return group == written || written == "core"
	case strings.HasSuffix(group, "."+written) && strings.Contains(written, "."), strings.HasSuffix(written, "."+group):
		return true
	}
	_, domain, _ := strings.Cut(group, ".")
	return manifest.Distance(group, written) <= 3 || manifest.Distance(domain, written) <= maxMisspelt
}

// kubernetesGroup reports whether a group belongs to Kubernetes. None of them but those of the table has a kind with
// a name of the table.
func kubernetesGroup(group string) bool {
	return strings.HasSuffix(group, "k8s.io") || slices.Contains([]string{"apps", "batch", "core", "extensions", "gateway", "networking", "policy"}, group)
}

// meansKgateway reports whether a group contains "kgateway", or is an earlier group of Gloo Gateway.
func meansKgateway(group string) bool {
	group = strings.ToLower(group)
	return strings.Contains(group, "kgateway") || group == "gateway.solo.io" || group == "gateway.gloo.solo.io"
}

// kindNames returns the names of the kinds of a group in the table.
func kindNames(group string) []string {
	var names []string
	for _, k := range kinds {
		if k.group == group {
			names = append(names, k.name)
		}
	}
	return names
}
