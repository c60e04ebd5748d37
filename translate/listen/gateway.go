// Package listen reads Gateways and ListenerSets. It validates listeners, resolves the conflicts between
// listeners, and decides which routes attach to a listener. Its functions are pure.
package listen

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/policy"
	"github.com/gatefold/gatefold/translate/route"
)

// Gateway is a Gateway whose listeners are validated, with the listeners of its ListenerSets.
type Gateway struct {
	Origin *ir.Origin
	// Name is "namespace/name", as in Envoy's node.cluster.
	Name       string
	Generation int64
	// Addresses are the IP addresses to bind, sorted.
	Addresses []string
	// Listeners are the Gateway's own listeners, then those of its ListenerSets in the order of CompareSets.
	Listeners []*Listener
	// The map spans has the listeners of each object. The map hosts has the served listener of each port and
	// hostname. The map shared has the wildcards that cover the hostname of a served listener. The methods index
	// and indexHosts compute these maps.
	spans  map[manifest.Key]span
	hosts  map[Place]*Listener
	shared map[Place]bool
	// allowsSets is false if spec.allowedListeners accepts no ListenerSets (None, the default).
	allowsSets bool
	// Settings are the settings from the Gateway's annotations.
	Settings ir.Settings
	// Insecure is true if a port requests client certificates, but accepts clients without a valid one.
	Insecure bool
	frontend *frontend
	// Client is the certificate to present to backends, nil if there is none.
	Client *Client
	// Unusable is the reason why nothing is served: an address cannot be used, the address pool has no address
	// left, the Gateway refers to parameters (which are not supported), or the Gateway is invalid. Unusable is zero
	// if the Gateway can be served.
	Unusable manifest.Verdict[gwv1.GatewayConditionReason]
	Problems []manifest.Problem
}

// Listener is one listener of a Gateway or a ListenerSet.
type Listener struct {
	// Owner is the object that defines the listener, and Index is the index in that object's list. No two served
	// listeners of an object have the same Name.
	Owner manifest.Key
	// Outside is true if path policies are in force and the Owner is not of the platform team (the flag --cluster-paths).
	Outside  bool
	Index    int
	Name     string
	Hostname string // "" is every host
	Port     int32
	Protocol gwv1.ProtocolType
	// rank decides which Gateway gets a port that several Gateways request. It is the origin of the Gateway or of
	// the Owner, whichever comes later in the conflict resolution order.
	rank *ir.Origin
	// Passthrough is true if the listener forwards TLS to the backends without termination.
	Passthrough bool
	// Kinds are the kinds of route that may attach.
	Kinds []gwv1.RouteGroupKind
	// Certificates are the usable Secrets of a listener that terminates TLS.
	Certificates []manifest.Key
	// TLS are the TLS options of the listener.
	TLS ir.TLS
	// From and Selector select the namespaces whose routes may attach.
	From     gwv1.FromNamespaces
	Selector *metav1.LabelSelector

	Accepted   manifest.Verdict[gwv1.ListenerConditionReason]
	Conflicted manifest.Verdict[gwv1.ListenerConditionReason]
	Resolved   manifest.Verdict[gwv1.ListenerConditionReason]
	// Taken is the reason why the port cannot be bound: another Gateway has the port, or the listener's Gateway is
	// unusable. It is zero if the port can be bound.
	Taken manifest.Verdict[gwv1.ListenerConditionReason]
}

// Serves reports whether the listener can be configured in Envoy.
func (l *Listener) Serves() bool {
	return l.Accepted.Good() && l.Conflicted.Good() && l.Taken.Good() && l.Certified()
}

// specReader reads the spec of a Gateway, or the listeners of a ListenerSet, and stores the result in the
// embedded Gateway.
type specReader struct {
	*Gateway
	bound Bound // the hosts that the Gateway's or ListenerSet's namespace may serve
}

// Read validates the spec of a Gateway. If spec.addresses is empty or an entry has no value, the Gateway gets the
// addresses in defaults: the addresses of the address pool, or all interfaces. The parameter follow resolves
// references to certificates. The result is complete only after the caller has called Gateway.Join.
func Read(object *manifest.Object, defaults []string, follow References) *Gateway {
	gateway, _ := manifest.As[*gwv1.Gateway](object)
	r := &specReader{bound: follow.Bound, Gateway: &Gateway{
		Origin:     route.OriginOf(object),
		Name:       object.Key.Namespace + "/" + object.Key.Name,
		Generation: gateway.Generation,
	}}
	r.addresses(gateway.Spec.Addresses, defaults)
	r.readParameters(gateway.Spec.Infrastructure)
	r.readSettings(gateway.Annotations)
	r.Problems = append(r.Problems, policy.CheckStrategy(object.Key, gateway.Annotations)...)
	for i := range gateway.Spec.Listeners {
		r.Listeners = append(r.Listeners, r.listener(i, &gateway.Spec.Listeners[i], follow.Certificate))
	}
	r.readFrontend(gateway.Spec.TLS, follow)
	r.readClient(gateway.Spec.TLS, follow)
	r.readAllowedListeners(gateway)
	return r.Gateway
}

// problem adds a problem of the Gateway, with severity Error.
func (g *Gateway) problem(code, field, message, hint string) {
	g.Problems = append(g.Problems, manifest.Problem{
		Code: code, Severity: manifest.Error, Object: g.Origin.Key, Field: field, Message: message, Hint: hint,
	})
}

// problemOf adds a problem of the object that defines the listener, with severity Error.
func (g *Gateway) problemOf(l *Listener, code, field, message, hint string) {
	g.problem(code, field, message, hint)
	g.Problems[len(g.Problems)-1].Object = l.Owner
}

// addresses sets r.Addresses to the IP addresses of the spec. If the spec has no addresses, or an entry has no
// value, it also adds the addresses in defaults (docs/design/gateways.md). If an address cannot be used, addresses
// reports the problem and sets Unusable. It does the same if defaults is empty but needed.
func (r *specReader) addresses(list []gwv1.GatewaySpecAddress, defaults []string) {
	open := len(list) == 0
	for i, address := range list {
		field := fmt.Sprintf("spec.addresses[%d]", i)
		if isOpen(address) {
			open = true
			continue
		}
		if address.Type != nil && *address.Type != gwv1.IPAddressType {
			r.rejectAddress(field+".type", fmt.Sprintf("address type %s is not supported", *address.Type))
			continue
		}
		ip, err := netip.ParseAddr(address.Value)
		if err != nil {
			r.rejectAddress(field+".value", fmt.Sprintf("%q is not an IP address", address.Value))
			continue
		}
		// Envoy binds an IPv4-mapped IPv6 address as IPv4, so it is written as IPv4.
		r.Addresses = append(r.Addresses, ip.Unmap().String())
	}
	if open {
		r.Addresses = append(r.Addresses, defaults...)
		if len(defaults) == 0 {
			r.reportUnassigned()
		}
	}
	slices.Sort(r.Addresses)
	r.Addresses = slices.Compact(r.Addresses)
}

// Bound returns the addresses that the Gateway binds. It returns nil if the Gateway cannot be served.
func (g *Gateway) Bound() []string {
	if !g.Unusable.Good() {
		return nil
	}
	return g.Addresses
}

// reportUnassigned reports that the address pool has no address for the Gateway, and sets Unusable.
func (r *specReader) reportUnassigned() {
	message := "no address of --address-pool is left"
	r.problem(string(gwv1.GatewayReasonAddressNotAssigned), "spec.addresses", message, "give gatefold a larger pool, or name an address here")
	if r.Unusable.Good() {
		r.Unusable = manifest.Because(gwv1.GatewayReasonAddressNotAssigned, message)
	}
}

// rejectAddress reports an address that cannot be used, and sets Unusable.
func (r *specReader) rejectAddress(field, message string) {
	r.problem("UnsupportedAddress", field, message, "use type IPAddress with an address of the machine that Envoy runs on")
	if r.Unusable.Good() {
		r.Unusable = manifest.Because(gwv1.GatewayReasonUnsupportedAddress, message)
	}
}

// readParameters rejects a Gateway with a reference to parameters of an unknown kind: the Gateway may be unsafe without
// its parameters. What kgateway's parameters say is about how a cluster runs Envoy (schema.IgnoresParameters); the store
// reports their fields.
func (r *specReader) readParameters(from *gwv1.GatewayInfrastructure) {
	if from == nil || from.ParametersRef == nil || IgnoresParameters(from.ParametersRef.Group, from.ParametersRef.Kind) {
		return
	}
	message := fmt.Sprintf("parameters of kind %s of group %q are not supported", from.ParametersRef.Kind, from.ParametersRef.Group)
	r.problem(string(gwv1.GatewayReasonInvalidParameters), "spec.infrastructure.parametersRef", message, "remove it: gatefold takes no parameters; annotations of the Gateway set what there is")
	if r.Unusable.Good() {
		r.Unusable = manifest.Because(gwv1.GatewayReasonInvalidParameters, message)
	}
}

// IgnoresParameters reports whether Gateways are served without the parameters of a kind (schema.IgnoresParameters).
func IgnoresParameters(group gwv1.Group, kind gwv1.Kind) bool {
	return schema.IgnoresParameters(apischema.GroupKind{Group: string(group), Kind: string(kind)})
}

// unusable returns the value of Listener.Taken for a Gateway that cannot be served. Its reason is Invalid if
// g.Unusable has the reason InvalidParameters. Otherwise its reason is PortUnavailable.
func (g *Gateway) unusable() manifest.Verdict[gwv1.ListenerConditionReason] {
	if g.Unusable.Reason == gwv1.GatewayReasonInvalidParameters {
		return manifest.Because(gwv1.ListenerReasonInvalid, g.Unusable.Message)
	}
	return manifest.Because(gwv1.ListenerReasonPortUnavailable, g.Unusable.Message)
}

// listener validates the listener with index i in its object, and reports its problems.
func (r *specReader) listener(i int, from *gwv1.Listener, certificate func(gwv1.SecretObjectReference) Certificate) *Listener {
	l := &Listener{Owner: r.Origin.Key, Outside: r.Origin.Outside, Index: i, Name: string(from.Name), Port: from.Port, Protocol: from.Protocol, rank: r.Origin, From: gwv1.NamespacesFromSame}
	if from.Hostname != nil {
		l.Hostname = strings.ToLower(string(*from.Hostname))
	}
	if !r.Unusable.Good() {
		l.Taken = r.unusable()
	}
	if from.TLS != nil && from.TLS.Mode != nil {
		l.Passthrough = l.Protocol == gwv1.TLSProtocolType && *from.TLS.Mode == gwv1.TLSModePassthrough
	}
	field := l.field()
	r.checkProtocol(field, l)
	r.checkHostname(field, l)
	r.checkKinds(field, l, from.AllowedRoutes)
	if from.AllowedRoutes != nil && from.AllowedRoutes.Namespaces != nil {
		r.readNamespaces(field, l, from.AllowedRoutes.Namespaces)
	}
	if l.endsTLS() {
		r.readTLS(field+".tls", l, from.TLS, certificate)
	}
	return l
}

// checkProtocol sets l.Kinds to the kinds of route that the listener's protocol serves (Gateway API,
// ProtocolType). It rejects a listener with an unknown protocol.
func (r *specReader) checkProtocol(field string, l *Listener) {
	if l.Kinds = route.KindsOf(l.Protocol); len(l.Kinds) > 0 {
		return
	}
	message := fmt.Sprintf("protocol %s is not supported", l.Protocol)
	l.Accepted = manifest.Because(gwv1.ListenerReasonUnsupportedProtocol, message)
	hint := "use HTTP, HTTPS, TLS, TCP or UDP; the other listeners of the Gateway are served"
	if upper := strings.ToUpper(string(l.Protocol)); upper == "HTTP3" || upper == "HTTP/3" || upper == "QUIC" {
		hint = "gatefold serves no HTTP/3: write HTTPS, which clients without HTTP/3 use; the other listeners of the Gateway are served"
	} else if like := manifest.Nearest(string(l.Protocol), []string{"HTTP", "HTTPS", "TLS", "TCP", "UDP"}); like != "" {
		hint = "did you mean " + like + "? The other listeners of the Gateway are served"
	}
	r.problem("UnsupportedProtocol", field+".protocol", message, hint)
}

// SpeaksHTTP reports whether the listener serves HTTP requests, and not connections or datagrams.
func (l *Listener) SpeaksHTTP() bool {
	return l.Protocol == gwv1.HTTPProtocolType || l.Protocol == gwv1.HTTPSProtocolType
}

// checkKinds narrows l.Kinds to the kinds that allowedRoutes names. It reports kinds that cannot attach to the
// listener.
func (r *specReader) checkKinds(field string, l *Listener, allowed *gwv1.AllowedRoutes) {
	if allowed == nil || len(allowed.Kinds) == 0 {
		return
	}
	var kinds []gwv1.RouteGroupKind
	for i, kind := range allowed.Kinds {
		known := slices.IndexFunc(l.Kinds, func(k gwv1.RouteGroupKind) bool { return sameKind(k, kind) })
		if known >= 0 {
			kinds = append(kinds, l.Kinds[known])
			continue
		}
		message := fmt.Sprintf("kind %s cannot attach to a listener of protocol %s", kindName(kind), l.Protocol)
		l.Resolved = manifest.Because(gwv1.ListenerReasonInvalidRouteKinds, message)
		r.problem("InvalidRouteKinds", fmt.Sprintf("%s.allowedRoutes.kinds[%d]", field, i), message, "use "+kindNames(route.KindsOf(l.Protocol))+", or leave kinds out")
	}
	l.Kinds = kinds
}

// kindName returns the name of a kind, as text. A group other than the Gateway API's is included.
func kindName(k gwv1.RouteGroupKind) string {
	if k.Group == nil || *k.Group == gwv1.GroupName {
		return string(k.Kind)
	}
	return fmt.Sprintf("%s of group %q", k.Kind, *k.Group)
}

// kindNames returns the names of kinds that a listener may allow, as text.
func kindNames(kinds []gwv1.RouteGroupKind) string {
	var names []string
	for _, kind := range kinds {
		names = append(names, kindName(kind))
	}
	return strings.Join(names, " or ")
}

// sameKind reports whether two kinds are the same. If b has no group, which allowedRoutes permits, only the names
// of the kinds are compared.
func sameKind(a, b gwv1.RouteGroupKind) bool {
	return a.Kind == b.Kind && (b.Group == nil || *a.Group == *b.Group)
}

// readNamespaces sets l.From and l.Selector, the namespaces whose routes may attach. It rejects a listener with
// an invalid selector.
func (r *specReader) readNamespaces(field string, l *Listener, from *gwv1.RouteNamespaces) {
	if from.From != nil {
		l.From = *from.From
	}
	l.Selector = from.Selector
	if l.From != gwv1.NamespacesFromSelector {
		return
	}
	if _, err := metav1.LabelSelectorAsSelector(from.Selector); err != nil {
		message := "the selector cannot be read: " + err.Error()
		l.Accepted = manifest.Because(gwv1.ListenerReasonUnsupportedValue, message)
		r.problem("InvalidValue", field+".allowedRoutes.namespaces.selector", message, "correct its matchLabels and matchExpressions")
	}
}
