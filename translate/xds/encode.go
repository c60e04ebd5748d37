package xds

import (
	"iter"
	"slices"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatefold/gatefold/translate/ir"
)

// Numbers of the fields of envoy.config.route.v3 that are encoded by hand.
const (
	virtualHostRoutes              protowire.Number = 3
	routeConfigurationVirtualHosts protowire.Number = 2
)

// Host is an encoded envoy.config.route.v3.VirtualHost, as byte slices that follow each other. Slices that an
// edit does not change are shared with earlier versions of the host, and are not hashed again.
type Host struct {
	parts [][]byte
	sum   Sum
}

// HostOf returns a Host that has one part: the parameter body, which is a whole encoded VirtualHost.
func HostOf(body []byte) Host { return Host{parts: [][]byte{body}, sum: sumOf(body)} }

// Same reports whether both hosts have the same bytes.
func (h Host) Same(other Host) bool { return h.sum == other.sum }

// Parts yields the byte slices that follow each other. A host that is a list of routes is one part; a compiled one has
// its frame and its leaves.
func (h Host) Parts() iter.Seq[[]byte] { return slices.Values(h.parts) }

// Bytes returns the whole encoded message.
func (h Host) Bytes() []byte { return slices.Concat(h.parts...) }

// Len returns the size of the message in bytes.
func (h Host) Len() (size int) {
	for _, part := range h.parts {
		size += len(part)
	}
	return size
}

// VirtualHost encodes the virtual host of one domain, for example "shop.example.com", "*.example.com" or "*". The
// parameter routes has the results of Route, in the order in which Envoy tries them. Without routes the domain
// answers 404. After an edit, only the changed routes must be encoded again.
//
// The parameter extras, which may be nil, has settings that apply to all routes of the virtual host. If a route has
// such a setting of its own, the route's setting replaces the virtual host's. A policy field in extras has an effect
// only if HeldByHost is true for the field.
func VirtualHost(domain string, extras *ir.Extras, routes [][]byte) Host {
	return HostOf(appendRepeated(hostFrame(domain, extras), virtualHostRoutes, routes))
}

// hostFrame encodes a virtual host without its routes. The parameter extras is as in VirtualHost.
func hostFrame(domain string, extras *ir.Extras) []byte {
	return marshal(&routev3.VirtualHost{Name: domain, Domains: []string{domain}, TypedPerFilterConfig: filters(extras, ofHost)})
}

// RouteConfiguration returns the RouteConfiguration with the given name and virtual hosts, as a resource. By its
// settings, Envoy ignores the port of a request's host. Envoy also does not check whether clusters exist, so that
// the removal of a cluster never makes Envoy reject a RouteConfiguration. The version is computed from the name, the
// settings and the hashes of the virtual hosts.
func RouteConfiguration(name string, hosts []Host) Resource {
	head, tail := marshal(&routev3.RouteConfiguration{Name: name}), marshal(routeSettings())
	size := len(head) + len(tail)
	sums := newSums("RouteConfiguration", head, tail)
	for _, host := range hosts {
		size += host.Len() + perEntryOverhead
		sums.add(host.sum)
	}
	body := append(make([]byte, 0, size), head...)
	for _, host := range hosts {
		body = appendHeader(body, routeConfigurationVirtualHosts, host.Len())
		for _, part := range host.parts {
			body = append(body, part...)
		}
	}
	return Resource{Type: RouteType, Name: name, Version: sums.sum().String(), Body: append(body, tail...)}
}

// routeSettings returns the fields of a RouteConfiguration that follow the virtual hosts in the encoding.
func routeSettings() *routev3.RouteConfiguration {
	return &routev3.RouteConfiguration{
		ValidateClusters:         wrapperspb.Bool(false),
		IgnorePortInHostMatching: true,
	}
}

// Misdirected encodes a virtual host that answers 421, because the host belongs to another listener. The client
// should then use another connection for the host (RFC 9110, section 15.5.20).
func Misdirected(domain string) Host {
	return HostOf(marshal(&routev3.VirtualHost{Name: domain, Domains: []string{domain}, Routes: []*routev3.Route{{
		Name:   "misdirected",
		Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
		Action: &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: 421}},
	}}}))
}
