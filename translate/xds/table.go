package xds

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of envoy.config.route.v3 that are read by hand.
const (
	virtualHostName    protowire.Number = 1
	virtualHostDomains protowire.Number = 2
	routeMatchField    protowire.Number = 1
	routeNameField     protowire.Number = 14
)

// Part identifies a part of an xDS resource that Envoy may reject: a route of a virtual host, a virtual host
// without its routes (Route is ""), or a Requirement of the resource JWTFilter.
type Part struct{ Host, Route, Requirement string }

// Type returns the type URL of the resource that contains the part.
func (p Part) Type() string {
	if p.Requirement != "" {
		return FilterType
	}
	return RouteType
}

func (p Part) String() string {
	if p.Requirement != "" {
		return fmt.Sprintf("GatewayExtension %s", p.Requirement)
	}
	if p.Route == "" {
		return fmt.Sprintf("host %q", p.Host)
	}
	return fmt.Sprintf("route %q of host %q", strings.TrimPrefix(p.Route, "HTTPRoute/"), p.Host)
}

// Piece is a Part (a route, virtual host or Requirement) together with its encoding, Body.
type Piece struct {
	Part
	Body []byte
}

// Sum returns a hash of the part's encoding.
func (p Piece) Sum() [sha256.Size]byte { return sha256.Sum256(p.Body) }

// Fault says that an Envoy rejects a Part. Sum is the hash of the encoding that the Envoy rejected. If the part
// has changed since then, the Fault no longer applies.
type Fault struct {
	Sum [sha256.Size]byte
	// Match is true if replacing the part does not help: the Envoy also rejects the replacement, which has the same
	// match or domains and answers 500.
	Match bool
}

// hostParts is a virtual host, decoded one level deep. It has a list of routes or, if it is compiled (see
// CompiledHost), a matcher.
type hostParts struct {
	name, domains []byte // domains is the encoded field
	frame         []byte // all fields except routes and matcher
	routes        [][]byte
	matcher       []byte
}

// Pieces returns the parts of an encoded RouteConfiguration: each virtual host without its routes, followed by
// these routes. In a compiled host, a route can be in several leaves (see Leaf). Pieces lists it once.
func Pieces(table []byte) (all []Piece) {
	eachHost(table, func(h hostParts) {
		name := string(h.name)
		all = append(all, Piece{Part{Host: name}, h.frame})
		known := map[string]bool{}
		h.eachRoute(func(body []byte) {
			if route := nameOf(body); h.matcher == nil || !known[route] {
				known[route] = true
				all = append(all, Piece{Part{Host: name, Route: route}, body})
			}
		})
	})
	return all
}

// eachHost calls yield with each virtual host of an encoded RouteConfiguration, decoded one level deep.
func eachHost(table []byte, yield func(hostParts)) {
	eachField(table, func(number protowire.Number, _, value []byte) {
		if number == routeConfigurationVirtualHosts {
			yield(readHost(value))
		}
	})
}

// readHost decodes a virtual host.
func readHost(body []byte) (h hostParts) {
	eachField(body, func(number protowire.Number, field, value []byte) {
		switch number {
		case virtualHostRoutes:
			h.routes = append(h.routes, value)
			return
		case virtualHostMatcher:
			h.matcher = value
			return
		case virtualHostName:
			h.name = value
		case virtualHostDomains:
			h.domains = append(h.domains, field...)
		}
		h.frame = append(h.frame, field...)
	})
	return h
}

// eachRoute calls yield with each encoded route of a virtual host. For a compiled host (see CompiledHost) these
// are the routes of each leaf, so that a route in several leaves is yielded several times.
func (h hostParts) eachRoute(yield func(body []byte)) {
	for _, body := range h.routes {
		yield(body)
	}
	if h.matcher == nil {
		return
	}
	editAt(h.matcher, leafPath(), func(list []byte) []byte {
		eachField(list, func(number protowire.Number, _, value []byte) {
			if number == routeListRoutes {
				yield(value)
			}
		})
		return list
	})
}

// leafPath returns protobuf field numbers. They lead from the matcher of a compiled virtual host to the RouteList
// of each Leaf.
func leafPath() []protowire.Number {
	return []protowire.Number{matcherTree, treePrefixes, prefixEntries, entryValue, onMatchAction, extensionConfig, anyValue}
}

// eachField does the same as tryFields. It panics if the message cannot be read, which is a bug.
func eachField(body []byte, yield func(number protowire.Number, field, value []byte)) {
	if !tryFields(body, yield) {
		panic("xds: a RouteConfiguration that cannot be read")
	}
}

// tryFields calls yield with every field of an encoded message: the number, the encoding of the whole field, and the
// value. The value is nil for a field that is encoded without a length. tryFields returns false, and stops, where the
// message cannot be read.
func tryFields(body []byte, yield func(number protowire.Number, field, value []byte)) bool {
	for len(body) > 0 {
		number, kind, tag := protowire.ConsumeTag(body)
		size := protowire.ConsumeFieldValue(number, kind, body[max(tag, 0):])
		if tag < 0 || size < 0 {
			return false
		}
		var value []byte
		if kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(body[tag:])
		}
		yield(number, body[:tag+size:tag+size], value)
		body = body[tag+size:]
	}
	return true
}

// editAt returns a copy of an encoded message (the parameter body) in which nested messages are changed. The
// parameter path has the field numbers that lead to them, the outermost first. A repeated field on the path means all
// of its elements. The function replace returns the new encoding of a nested message.
func editAt(body []byte, path []protowire.Number, replace func([]byte) []byte) []byte {
	if len(path) == 0 {
		return replace(body)
	}
	out := make([]byte, 0, len(body))
	eachField(body, func(number protowire.Number, field, value []byte) {
		if number == path[0] {
			out = append(out, wrap(number, editAt(value, path[1:], replace))...)
		} else {
			out = append(out, field...)
		}
	})
	return out
}

// nameOf returns the name of an encoded route.
func nameOf(route []byte) (name string) {
	eachField(route, func(number protowire.Number, _, value []byte) {
		if number == routeNameField {
			name = string(value)
		}
	})
	return name
}

// Without returns a copy of a RouteConfiguration after the Faults are applied. A part with a Fault answers 500, or
// is left out if Fault.Match is true. A Fault applies only if its Sum is the hash of the part. The map found has
// the parts whose Faults applied.
//
// If all routes of a Leaf are left out, Envoy answers 404 for the paths of the Leaf. This answer is right. A Leaf
// has all routes that can match its paths, up to the first covering route (see Covers). A covering route is never
// left out, because it matches by its path alone, and Envoy accepts every path that checkMatch accepts. So a Leaf
// whose routes are all left out had no covering route: it had all routes that can match its paths, and no other
// route can match.
func Without(table *Resource, faults map[Part]Fault) (out Resource, found map[Part]bool) {
	found = map[Part]bool{}
	var hosts []Host
	eachHost(table.Body, func(h hostParts) {
		at := Part{Host: string(h.name)}
		switch fault, ok := faults[at]; {
		case !ok || fault.Sum != sha256.Sum256(h.frame):
			hosts = append(hosts, h.without(faults, found))
			return
		case !fault.Match:
			hosts = append(hosts, h.closed())
		}
		found[at] = true
	})
	return RouteConfiguration(table.Name, hosts), found
}

// without returns the virtual host after the Faults of its routes are applied: a route with a Fault answers 500, or
// is left out if Fault.Match is true (see Without). The Parts of these routes are added to the map found.
func (h hostParts) without(faults map[Part]Fault, found map[Part]bool) Host {
	keep := func(body []byte) []byte {
		at := Part{Host: string(h.name), Route: nameOf(body)}
		fault, ok := faults[at]
		if !ok || fault.Sum != sha256.Sum256(body) {
			return body
		}
		found[at] = true
		if fault.Match {
			return nil
		}
		return closedRoute(at.Route, body)
	}
	return h.edited(keep)
}

// edited returns the virtual host with each encoded route replaced by the result of the function edit. If edit
// returns nil, the route is left out.
func (h hostParts) edited(edit func(body []byte) []byte) Host {
	inner := slices.Clone(h.frame)
	for _, body := range h.routes {
		if kept := edit(body); kept != nil {
			inner = append(inner, wrap(virtualHostRoutes, kept)...)
		}
	}
	if h.matcher == nil {
		return HostOf(inner)
	}
	return HostOf(append(inner, wrap(virtualHostMatcher, editAt(h.matcher, leafPath(), func(list []byte) []byte {
		out := make([]byte, 0, len(list))
		eachField(list, func(number protowire.Number, field, value []byte) {
			if number != routeListRoutes {
				out = append(out, field...)
			} else if kept := edit(value); kept != nil {
				out = append(out, wrap(number, kept)...)
			}
		})
		return out
	}))...))
}

// closed returns a virtual host that answers 500 to every request. It has the name and domains of h.
func (h hostParts) closed() Host {
	all := &routev3.Route{
		Name:   "rejected",
		Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
		Action: answers500(),
	}
	frame := append(wrap(virtualHostName, h.name), h.domains...)
	return HostOf(append(frame, wrap(virtualHostRoutes, marshal(all))...))
}

// closedRoute returns a route that answers 500. It has the given name, and the match of the encoded route.
func closedRoute(name string, route []byte) []byte {
	body := text(routeNameField, name)
	eachField(route, func(number protowire.Number, field, _ []byte) {
		if number == routeMatchField {
			body = append(body, field...)
		}
	})
	return append(body, marshal(&routev3.Route{Action: answers500()})...)
}

func answers500() *routev3.Route_DirectResponse {
	return &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: http.StatusInternalServerError}}
}

// ProbeMark is a text in Envoy's message about the last route of a Probe (see Probe).
const ProbeMark = "gatefold-probe"

// Probe returns a RouteConfiguration by which gatefold tests whether an Envoy accepts routes and virtual hosts. The
// parameter name is the name of the RouteConfiguration, and the parameter pieces has the tested parts. After them
// comes a last route that every Envoy rejects. Envoy reports only the first fault that it reads. So its message
// contains ProbeMark, a text of the last route, only if Envoy accepts all of the parts. Envoy rejects a Probe in any
// case, and continues to serve its current configuration.
func Probe(name string, pieces []Piece) Resource {
	bad := &routev3.Route{
		Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: "(" + ProbeMark}}},
		Action: answers500(),
	}
	var hosts []Host
	last := marshal(&routev3.VirtualHost{Name: ProbeMark, Domains: []string{ProbeMark + ".invalid"}})
	for _, p := range pieces {
		if p.Route == "" {
			hosts = append(hosts, HostOf(p.Body))
		} else {
			last = append(last, wrap(virtualHostRoutes, p.Body)...)
		}
	}
	return RouteConfiguration(name, append(hosts, HostOf(append(last, marshal(&routev3.VirtualHost{Routes: []*routev3.Route{bad}})...))))
}
