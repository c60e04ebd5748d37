package server

import (
	"bytes"
	"slices"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/gatefold/gatefold/translate/xds"
)

// Field numbers of envoy.config.route.v3.
const (
	tableHosts  protowire.Number = 2
	hostName    protowire.Number = 1
	hostDomains protowire.Number = 2
	hostRoutes  protowire.Number = 3
	routeMatch  protowire.Number = 1
	routeName   protowire.Number = 14
)

// table is a RouteConfiguration taken apart into what Envoy can refuse by
// itself. Its bytes are those of the encoding.
type table struct {
	name  string
	hosts []host
}

// host is a virtual host; frame is all of it but its routes. It has a list of them
// or, when it is compiled, a matcher.
type host struct {
	name, frame []byte
	domains     []byte // the field
	routes      []piece
	matcher     []byte
}

// piece is a route.
type piece struct{ name, body []byte }

// unit names a part of a table: the route of a virtual host, or, with no route,
// the host without its routes.
type unit struct{ host, route string }

// readTable takes a RouteConfiguration apart. It is of our own making: bytes
// that are none are a mistake of ours.
func readTable(e *entry) *table {
	t := &table{name: e.Name}
	_, hosts, _ := split(e.Body, tableHosts)
	for _, body := range hosts {
		t.hosts = append(t.hosts, readHost(body))
	}
	return t
}

func readHost(body []byte) host {
	var h host
	var routes [][]byte
	fields(body, func(number protowire.Number, field, value []byte) {
		switch number {
		case hostRoutes:
			routes = append(routes, value)
			return
		case hostMatcher:
			h.matcher = value
			return
		case hostName:
			h.name = value
		case hostDomains:
			h.domains = append(h.domains, field...)
		}
		h.frame = append(h.frame, field...)
	})
	h.routes = pieces(routes)
	return h
}

// pieces finds the names of routes.
func pieces(routes [][]byte) []piece {
	all := make([]piece, len(routes))
	for i, route := range routes {
		all[i].body = route
		fields(route, func(number protowire.Number, _, value []byte) {
			if number == routeName {
				all[i].name = value
			}
		})
	}
	return all
}

// fields gives every field of a message, whole and its value; the value of one
// that has no length is nil.
func fields(body []byte, yield func(number protowire.Number, field, value []byte)) {
	for len(body) > 0 {
		number, kind, tag := protowire.ConsumeTag(body)
		size := protowire.ConsumeFieldValue(number, kind, body[max(tag, 0):])
		if tag < 0 || size < 0 {
			panic("server: a RouteConfiguration that cannot be read")
		}
		var value []byte
		if kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(body[tag:])
		}
		yield(number, body[:tag+size:tag+size], value)
		body = body[tag+size:]
	}
}

// split gives the elements of a repeated field, and the fields on both sides.
func split(body []byte, field protowire.Number) (before []byte, elements [][]byte, after []byte) {
	fields(body, func(number protowire.Number, whole, value []byte) {
		switch {
		case number == field:
			elements = append(elements, value)
		case elements == nil:
			before = append(before, whole...)
		default:
			after = append(after, whole...)
		}
	})
	return before, elements, after
}

// entry encodes the table, under the version that translate gives to it.
func (t *table) entry() *entry {
	hosts := make([]xds.Host, len(t.hosts))
	for i, h := range t.hosts {
		inner := slices.Clone(h.frame)
		for _, r := range h.routes {
			inner = appendMessage(inner, hostRoutes, r.body)
		}
		if h.matcher != nil {
			inner = appendMessage(inner, hostMatcher, h.matcher)
		}
		hosts[i] = xds.HostOf(inner)
	}
	r := xds.RouteConfiguration(t.name, hosts)
	return newEntry(&r)
}

func appendMessage(to []byte, field protowire.Number, body []byte) []byte {
	return append(appendLength(to, field, len(body)), body...)
}

// units gives all parts in the order in which Envoy reads them, with their bytes.
func (t *table) units(yield func(unit, []byte) bool) {
	for _, h := range t.hosts {
		if !yield(unit{host: string(h.name)}, h.frame) {
			return
		}
		for _, r := range h.routes {
			if !yield(unit{string(h.name), string(r.name)}, r.body) {
				return
			}
		}
	}
}

// news gives the units of t that are not in before, or not with these bytes.
func (t *table) news(before *table) []unit {
	known := map[unit][]byte{}
	if before != nil {
		for u, body := range before.units {
			known[u] = body
		}
	}
	var out []unit
	for u, body := range t.units {
		if old, ok := known[u]; !ok || !bytes.Equal(old, body) {
			out = append(out, u)
		}
	}
	return out
}

// find gives the bytes of a unit, nil when it is not there.
func (t *table) find(u unit) []byte {
	for at, body := range t.units {
		if at == u {
			return body
		}
	}
	return nil
}

// closed gives the host that answers 500 to everything.
func (h host) closed() host {
	frame := appendMessage(nil, hostName, h.name)
	frame = append(frame, h.domains...)
	all := &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}}
	return host{name: h.name, frame: frame, domains: h.domains, routes: []piece{{body: encode(&routev3.Route{Match: all, Action: answers500()})}}}
}

// closed gives the route that answers 500 to the same requests.
func (p piece) closed() piece {
	body := appendMessage(nil, routeName, p.name)
	fields(p.body, func(number protowire.Number, field, _ []byte) {
		if number == routeMatch {
			body = append(body, field...)
		}
	})
	return piece{name: p.name, body: append(body, encode(&routev3.Route{Action: answers500()})...)}
}

func answers500() *routev3.Route_DirectResponse {
	return &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: 500}}
}

// probeMark is in Envoy's words about the route that probe adds.
const probeMark = "gatefold-probe"

// probe gives the table up to and with a unit, and then a route that no Envoy
// takes. It reads a table from its beginning and tells of the first fault, so
// that its words are of the probe's route when there is no other one up to the
// unit. As it refuses the table in any case, what it serves does not change.
// include says whether the unit itself is in it.
func (t *table) probe(last unit, include bool) *entry {
	out := *t
	out.hosts = nil
	bad := piece{body: encode(&routev3.Route{
		Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: "(" + probeMark}}},
		Action: answers500(),
	})}
	for _, h := range t.hosts {
		if string(h.name) != last.host {
			out.hosts = append(out.hosts, h)
			continue
		}
		if last.route == "" && !include {
			break
		}
		routes := h.routes[:0:0]
		for _, r := range h.routes {
			here := string(r.name) == last.route
			if last.route == "" || here && !include {
				break
			}
			if routes = append(routes, r); here {
				break
			}
		}
		h.routes = append(routes, bad)
		out.hosts = append(out.hosts, h)
		return out.entry()
	}
	name := []byte(probeMark)
	domains := appendMessage(nil, hostDomains, []byte(probeMark+".invalid"))
	out.hosts = append(out.hosts, host{name: name, frame: append(appendMessage(nil, hostName, name), domains...), routes: []piece{bad}})
	return out.entry()
}

func encode(message proto.Message) []byte {
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err != nil {
		panic(err) // of our own making
	}
	return body
}
