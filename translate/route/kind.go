package route

import (
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// Kind describes a kind of route, such as HTTPRoute. Attachment and status read only this description, and
// otherwise treat all kinds of route alike.
type Kind struct {
	Name string // the kind, in the Gateway API's group
	// Protocols are the protocols of listeners that routes of the kind may attach to.
	Protocols []gwv1.ProtocolType
	// Tables is true if the rules become HTTP routes of Envoy's virtual hosts, and not a stream (ir.Stream).
	Tables bool
	// Hosts is true if routes of the kind can have hostnames. Routes of other kinds serve a whole port.
	Hosts bool
	read  func(*manifest.Object) (gwv1.CommonRouteSpec, []gwv1.Hostname)
}

// Kinds returns the kinds of route that gatefold serves.
func Kinds() []Kind {
	var all []Kind
	for _, name := range []string{"HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute"} {
		kind, ok := kindNamed(name)
		if !ok {
			panic("no route kind " + name)
		}
		all = append(all, kind)
	}
	return all
}

// kindNamed returns the Kind with the given name, such as "HTTPRoute". ok is false if gatefold does not serve such
// routes.
func kindNamed(name string) (kind Kind, ok bool) {
	kind.Name = name
	switch name {
	case "HTTPRoute":
		kind.Protocols, kind.Tables, kind.Hosts, kind.read = []gwv1.ProtocolType{gwv1.HTTPProtocolType, gwv1.HTTPSProtocolType}, true, true, readHTTP
	case "GRPCRoute":
		kind.Protocols, kind.Tables, kind.Hosts, kind.read = []gwv1.ProtocolType{gwv1.HTTPProtocolType, gwv1.HTTPSProtocolType}, true, true, readGRPC
	case "TLSRoute":
		kind.Protocols, kind.Hosts, kind.read = []gwv1.ProtocolType{gwv1.TLSProtocolType}, true, readTLS
	case "TCPRoute":
		kind.Protocols, kind.read = []gwv1.ProtocolType{gwv1.TCPProtocolType}, readTCP
	case "UDPRoute":
		kind.Protocols, kind.read = []gwv1.ProtocolType{gwv1.UDPProtocolType}, readUDP
	default:
		return Kind{}, false
	}
	return kind, true
}

func readHTTP(o *manifest.Object) (gwv1.CommonRouteSpec, []gwv1.Hostname) {
	from, _ := manifest.As[*api.HTTPRoute](o)
	return from.Spec.CommonRouteSpec, from.Spec.Hostnames
}

func readGRPC(o *manifest.Object) (gwv1.CommonRouteSpec, []gwv1.Hostname) {
	from, _ := manifest.As[*gwv1.GRPCRoute](o)
	return from.Spec.CommonRouteSpec, from.Spec.Hostnames
}

func readTLS(o *manifest.Object) (gwv1.CommonRouteSpec, []gwv1.Hostname) {
	from, _ := manifest.As[*gwv1.TLSRoute](o)
	return from.Spec.CommonRouteSpec, from.Spec.Hostnames
}

func readTCP(o *manifest.Object) (gwv1.CommonRouteSpec, []gwv1.Hostname) {
	from, _ := manifest.As[*gwv1.TCPRoute](o)
	return from.Spec.CommonRouteSpec, nil
}

func readUDP(o *manifest.Object) (gwv1.CommonRouteSpec, []gwv1.Hostname) {
	from, _ := manifest.As[*gwv1.UDPRoute](o)
	return from.Spec.CommonRouteSpec, nil
}

// KindOf returns the Kind of the key's group and kind. ok is false if gatefold does not serve such routes.
func KindOf(key manifest.Key) (kind Kind, ok bool) {
	if key.Group != gwv1.GroupName {
		return Kind{}, false
	}
	return kindNamed(key.Kind)
}

// IsRoute reports whether the key is that of a route that gatefold serves.
func IsRoute(key manifest.Key) bool {
	_, served := KindOf(key)
	return served
}

// KindsOf returns the kinds of route that may attach to a listener of a protocol, in the order of Kinds. It returns
// nil if there are none.
func KindsOf(protocol gwv1.ProtocolType) []gwv1.RouteGroupKind {
	var out []gwv1.RouteGroupKind
	for _, kind := range Kinds() {
		if slices.Contains(kind.Protocols, protocol) {
			group := gwv1.Group(gwv1.GroupName)
			out = append(out, gwv1.RouteGroupKind{Group: &group, Kind: gwv1.Kind(kind.Name)})
		}
	}
	return out
}

// Common contains the fields that all kinds of route have.
type Common struct {
	Kind       Kind
	Key        manifest.Key
	Generation int64
	Parents    []gwv1.ParentReference
	// Hostnames are those of spec.hostnames, in lower case. Hosts is the set of these hostnames. If there are no
	// hostnames, Hosts has every host (Gateway API, HTTPRouteSpec.hostnames).
	Hostnames []string
	Hosts     ir.Hosts
	// Granted is true if the annotation gatefold.io/hostnames of the Namespace limits Hosts. What is left of Hosts is
	// then granted to the route. Read does not set Granted.
	Granted bool
	// Platform is true if path policies are in force and the route is of the platform team (the flag --cluster-paths).
	Platform bool
	// AsksForDefaults is true if the route asks for default Gateways, which are not served: the schema has a warning.
	AsksForDefaults bool
}

// Read returns the fields of a route that all kinds of route have. It panics if the object is not a route that
// gatefold serves.
func Read(o *manifest.Object) Common {
	kind, ok := KindOf(o.Key)
	if !ok {
		panic("route: not a kind of route that is served: " + o.Key.String())
	}
	spec, hostnames := kind.read(o)
	out := Common{Kind: kind, Key: o.Key, Generation: o.Value.GetGeneration(), Parents: spec.ParentRefs, Platform: o.Source == manifest.ClusterPaths}
	out.AsksForDefaults = spec.UseDefaultGateways != "" && spec.UseDefaultGateways != gwv1.GatewayDefaultScopeNone
	for _, hostname := range hostnames {
		out.Hostnames = append(out.Hostnames, strings.ToLower(string(hostname)))
	}
	if out.Hosts = ir.HostsOf(out.Hostnames...); len(hostnames) == 0 {
		out.Hosts = ir.EveryHost()
	}
	return out
}
