// Package backend resolves backend references, and returns the clusters of backends: Services with their
// EndpointSlices, ExternalName Services and Backend objects.
package backend

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
	"github.com/gatefold/gatefold/translate/ir"
)

// Key identifies a backend: one port of a Service, a Backend object (port 0), or the combined backends of a
// UDPRoute (see Blend). The fields other than Object and Port say how Envoy connects to the backend. Each
// combination of them has a cluster of its own.
type Key struct {
	Object manifest.Key
	Port   int32
	// GRPC is true if Envoy always sends HTTP/2 to the backend. If it is false, the backend's appProtocol decides.
	GRPC bool
	// UDP is true if the backend receives datagrams. It is then a part of the cluster of a UDPRoute.
	UDP bool
	// Raw is true if the backend receives the client's own TLS (TLSRoute, mode Passthrough), without TLS by Envoy.
	Raw bool
	// Client is "namespace/name" of the Secret with the certificate that Envoy sends to a backend with TLS. It is
	// "" if Envoy sends none.
	Client string
}

// Cluster returns the name of the backend's cluster, such as "Service/default/echo/8080" or
// "Backend/default/echo". It has the suffix "/grpc" if GRPC is set, and "/udp" if UDP is set and Object is not
// a UDPRoute. The functions Raw and As add further suffixes.
func (k Key) Cluster() string {
	name := k.Object.Kind + "/" + k.Object.Namespace + "/" + k.Object.Name
	if k.Port != 0 {
		name += fmt.Sprint("/", k.Port)
	}
	if k.GRPC {
		name += "/grpc"
	}
	if k.UDP && k.Object.Kind != "UDPRoute" {
		name += "/udp"
	}
	if k.Raw {
		name = Raw(name)
	}
	return As(name, k.Client)
}

// Raw returns the name of a cluster to which Envoy passes clients' TLS connections without terminating TLS. The
// parameter cluster is the name of the ordinary cluster of the same backend. No BackendTLSPolicy applies to a
// cluster that Raw names.
func Raw(cluster string) string { return cluster + "/raw" }

// As returns the name of the cluster for Gateways that present a client certificate to backends. The parameter
// cluster is the name of the ordinary cluster, and client is the "namespace/name" of the Secret with the
// certificate. If client is "", As returns the ordinary name.
func As(cluster, client string) string {
	if client == "" {
		return cluster
	}
	return cluster + "/as/" + client
}

// String returns the name of the cluster.
func (k Key) String() string { return k.Cluster() }

// CompareKeys orders keys by object, port, protocol (GRPC, UDP, Raw) and client. It returns -1, 0 or 1, as
// cmp.Compare does.
func CompareKeys(a, b Key) int {
	return cmp.Or(manifest.CompareKeys(a.Object, b.Object), cmp.Compare(a.Port, b.Port), ir.TrueFirst(!a.GRPC, !b.GRPC), ir.TrueFirst(!a.UDP, !b.UDP),
		ir.TrueFirst(!a.Raw, !b.Raw), cmp.Compare(a.Client, b.Client))
}

// Resolution is the result of resolving a backend reference. Reason is "" if the reference leads to a backend. If it
// does not, Reason is the reason of the condition ResolvedRefs, and Message and Hint say more.
type Resolution struct {
	// Key is the backend, and Cluster is the name of its cluster. They are nil and "" if Reason is set.
	Key     *Key
	Cluster string
	// DNSName is the DNS name of all endpoints of a Backend (see Named). It is "" if an endpoint has an IP address,
	// if the endpoints have more than one name, and for a Service.
	DNSName string
	Reason  gwv1.RouteConditionReason
	Message string
	Hint    string
}

// OK reports whether the reference leads to a backend.
func (r Resolution) OK() bool { return r.Reason == "" }

// To returns the Resolution of a reference that leads to the backend with the given key.
func To(key Key) Resolution { return Resolution{Key: &key, Cluster: key.Cluster()} }

// Unique sorts keys in place, and returns them without duplicates.
func Unique(keys []*Key) []*Key {
	slices.SortFunc(keys, func(a, b *Key) int { return CompareKeys(*a, *b) })
	return slices.CompactFunc(keys, func(a, b *Key) bool { return *a == *b })
}

// Changed returns copies of the keys. The function change modifies each copy.
func Changed(keys []*Key, change func(*Key)) []*Key {
	out := make([]*Key, len(keys))
	for i, key := range keys {
		copied := *key
		change(&copied)
		out[i] = &copied
	}
	return out
}

// Reference is a backend reference with its defaults filled in, and the kind and namespace of the object that
// contains it.
type Reference struct {
	// From is the kind and namespace of the object with the reference. From.Name is "": the name does not change how
	// the reference is resolved, so all objects of one kind and namespace share one Resolution. To is the key of the
	// object that the reference names.
	From manifest.Key
	To   manifest.Key
	// Port is 0 if the reference has none.
	Port int32
	// GRPC is true if Envoy must send gRPC, and so HTTP/2, to the backend.
	GRPC bool
	// UDP is true if the backend receives datagrams.
	UDP bool
}

// Refer returns a reference with its defaults filled in (Gateway API: group "", kind Service, the object's
// namespace). The parameter from is the object that contains the reference. The caller sets GRPC and UDP.
func Refer(from manifest.Key, ref gwv1.BackendObjectReference) Reference {
	to := manifest.Key{Kind: "Service", Namespace: from.Namespace, Name: string(ref.Name)}
	if ref.Group != nil {
		to.Group = string(*ref.Group)
	}
	if ref.Kind != nil {
		to.Kind = string(*ref.Kind)
	}
	if ref.Namespace != nil && *ref.Namespace != "" {
		to.Namespace = string(*ref.Namespace)
	}
	from.Name = ""
	r := Reference{From: from, To: to}
	if ref.Port != nil {
		r.Port = *ref.Port
	}
	return r
}

// String returns a text such as "HTTPRoute of shop → Service shop/cart:80".
func (r Reference) String() string {
	out := r.From.Kind + " of " + r.From.Namespace + " → " + r.To.String()
	if r.Port != 0 {
		out += fmt.Sprint(":", r.Port)
	}
	return out
}

// Known reports whether the reference's kind can be a backend.
func (r Reference) Known() bool { return r.IsService() || r.IsBackend() }

// IsService reports whether the reference is to a Service.
func (r Reference) IsService() bool { return r.To.Group == "" && r.To.Kind == "Service" }

// IsBackend reports whether the reference is to a Backend object.
func (r Reference) IsBackend() bool { return r.To.Group == api.Group && r.To.Kind == api.KindBackend }

// UnknownKind returns the Resolution of a reference to a kind that cannot be a backend.
func (r Reference) UnknownKind() Resolution {
	hint := fmt.Sprintf("refer to a Service, or to a Backend of group %s", api.Group)
	switch { // a reference to routes needs both group and kind (EP-10943)
	case r.To.Kind == "Service" && (r.To.Group == "core" || r.To.Group == "v1"):
		hint = `write group: "", which is the group of Services, or leave group out`
	case r.To.Kind == api.KindBackend:
		hint = "write group: " + api.Group
	case r.From.Kind != "HTTPRoute" || strings.HasSuffix(r.To.Kind, "Route") && r.To.Kind != "HTTPRoute":
		// only HTTPRoutes can be children of another route (GEP-1058: of the same type)
	case r.To.Group == "delegation.kgateway.dev":
		hint = "to hand requests to routes by label, write kind: label"
	case r.To.Kind == "HTTPRoute":
		hint = "to hand requests to an HTTPRoute, add group: " + gwv1.GroupName
	case r.To.Group == gwv1.GroupName:
		hint = "to hand requests to an HTTPRoute, add kind: HTTPRoute"
	}
	return Resolution{
		Reason:  gwv1.RouteReasonInvalidKind,
		Message: fmt.Sprintf("kind %s of group %q is not a backend", r.To.Kind, r.To.Group),
		Hint:    hint,
	}
}

// NotGranted returns the Resolution of a reference into another namespace that no ReferenceGrant permits.
func (r Reference) NotGranted() Resolution {
	return Resolution{
		Reason:  gwv1.RouteReasonRefNotPermitted,
		Message: fmt.Sprintf("%s is in another namespace, and no ReferenceGrant there permits it", r.To),
		Hint: fmt.Sprintf("add a ReferenceGrant in namespace %s: from %s of namespace %s, to %s",
			r.To.Namespace, r.From.Kind, r.From.Namespace, r.To.Kind),
	}
}

// ClosedBy returns the Resolution of a reference to a Service to which a policy applies that gatefold does not serve.
func (r Reference) ClosedBy(policy manifest.Key) Resolution {
	return Resolution{
		Reason:  gwv1.RouteReasonRefNotPermitted,
		Message: fmt.Sprintf("%s names %s, which gatefold does not serve and which may protect it", r.To, policy),
		Hint:    fmt.Sprintf("write what %s does as a TrafficPolicy, or give it the annotation %s: \"true\"", policy, schema.IgnoreAnnotation),
	}
}

// notFound returns a Resolution with the reason BackendNotFound.
func (r Reference) notFound(message, hint string) Resolution {
	return Resolution{Reason: gwv1.RouteReasonBackendNotFound, Message: message, Hint: hint}
}

// Twin returns the key of the object that the author of a wrong reference may have meant. This object has the same
// name and is of the other kind of backend: a Backend if the reference is to a Service, and a Service in all other
// cases.
func (r Reference) Twin() manifest.Key {
	to := manifest.Key{Kind: "Service", Namespace: r.To.Namespace, Name: r.To.Name}
	if r.IsService() {
		to.Group, to.Kind = api.Group, api.KindBackend
	}
	return to
}

// Missing returns the Resolution of a reference to an object that does not exist or is not valid; the message says which
// of them. The parameter twin is true if a backend of the other kind (Service or Backend) has the same name; the hint
// then suggests that backend. Otherwise the parameter hint is used.
func (r Reference) Missing(twin bool, message, hint string) Resolution {
	switch {
	case twin && r.IsService():
		hint = fmt.Sprintf("there is a Backend of that name: add group: %s, kind: Backend", api.Group)
	case twin:
		hint = "there is a Service of that name: leave group and kind out, and add its port"
	}
	return r.notFound(message, hint)
}

// ToService returns the Resolution of a reference to an existing Service. The reason is BackendNotFound if the
// reference has no port, or if the Service does not have that port with the right protocol: UDP if r.UDP is true, and
// TCP otherwise. But an ExternalName Service without ports accepts every port. The reason is UnsupportedProtocol for
// gRPC to a port for WebSockets.
func (r Reference) ToService(service *corev1.Service) Resolution {
	if r.Port == 0 {
		return r.notFound("a reference to a Service needs a port", "add port: "+portList(service))
	}
	for _, port := range service.Spec.Ports {
		if port.Port == r.Port && carries(port.Protocol, r.UDP) {
			if r.GRPC && port.AppProtocol != nil && speaksWebSocket(*port.AppProtocol) {
				return r.noCalls(*port.AppProtocol)
			}
			return To(Key{Object: r.To, Port: r.Port, GRPC: r.GRPC, UDP: r.UDP})
		}
	}
	if service.Spec.Type == corev1.ServiceTypeExternalName && len(service.Spec.Ports) == 0 {
		return To(Key{Object: r.To, Port: r.Port, GRPC: r.GRPC, UDP: r.UDP})
	}
	message, hint := fmt.Sprintf("%s has no port %d", r.To, r.Port), "its ports are: "+portList(service)
	switch otherProtocol := slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == r.Port }); {
	case r.UDP:
		return r.notFound(message+" of protocol UDP", hint+"; protocol is TCP unless it is written")
	case otherProtocol:
		return r.notFound(message+" of protocol TCP", hint)
	}
	return r.notFound(message, hint)
}

// noCalls returns the Resolution for gRPC to a port whose protocol excludes HTTP/2 (Gateway API,
// GRPCBackendRef: UnsupportedProtocol).
func (r Reference) noCalls(protocol string) Resolution {
	return Resolution{
		Reason:  gwv1.RouteReasonUnsupportedProtocol,
		Message: fmt.Sprintf("port %d of %s has appProtocol %s, which takes no gRPC", r.Port, r.To, protocol),
		Hint:    "refer to a port that speaks gRPC, or correct its appProtocol: kubernetes.io/h2c",
	}
}

// portList returns the ports of a Service as text, such as "80, 53/UDP". The protocol is left out for TCP. It
// returns "none" if the Service has no ports.
func portList(service *corev1.Service) string {
	var ports []string
	for _, port := range service.Spec.Ports {
		text := fmt.Sprint(port.Port)
		if !carries(port.Protocol, false) {
			text += "/" + string(port.Protocol)
		}
		ports = append(ports, text)
	}
	return cmp.Or(strings.Join(ports, ", "), "none")
}

// ToBackend resolves a reference to an existing Backend object.
func (r Reference) ToBackend() Resolution {
	return To(Key{Object: r.To, GRPC: r.GRPC, UDP: r.UDP})
}

// Named returns a copy of r in which DNSName is set from the Backend b. If all endpoints of b have the same DNS
// name, DNSName is that name; otherwise it is "". If b is nil or has no static hosts, Named returns r unchanged.
func (r Resolution) Named(b *api.Backend) Resolution {
	if b == nil || b.Spec.Static == nil {
		return r
	}
	for i, host := range b.Spec.Static.Hosts {
		if _, err := netip.ParseAddr(host.Host); err == nil || i > 0 && host.Host != r.DNSName {
			r.DNSName = ""
			return r
		}
		r.DNSName = host.Host
	}
	return r
}

// FromBackend returns the cluster of a Backend object, with its static hosts as endpoints. The cluster's protocol is
// that of appProtocol, even if key.GRPC is true.
func FromBackend(key Key, b *api.Backend) *ir.Cluster {
	cluster := &ir.Cluster{Name: key.Cluster(), Discovery: ir.Static, Objects: []manifest.Key{key.Object}}
	if b.Spec.Static == nil {
		return cluster
	}
	for _, host := range b.Spec.Static.Hosts {
		cluster.Endpoints = append(cluster.Endpoints, ir.Endpoint{Host: host.Host, Port: uint32(host.Port)})
	}
	if p := b.Spec.Static.AppProtocol; p != nil {
		cluster.HTTP2 = speaksHTTP2(string(*p))
	}
	return finish(cluster)
}
