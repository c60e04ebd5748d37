package xds

import (
	"fmt"
	"slices"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatefold/gatefold/translate/ir"
)

// Field numbers of envoy.config.route.v3 that are appended by hand.
const (
	virtualHostRoutes              protowire.Number = 3
	routeConfigurationVirtualHosts protowire.Number = 2
	perEntryOverhead                                = 8 // tag and length
)

// Host is an encoded envoy.config.route.v3.VirtualHost. It is kept in parts, so that
// those that an edit left alone are neither copied nor hashed before the table is joined.
type Host struct {
	parts [][]byte
	sum   Sum
}

// HostOf makes a Host of an encoded message.
func HostOf(body []byte) Host { return Host{parts: [][]byte{body}, sum: sumOf(body)} }

// Same reports whether both are the same bytes.
func (h Host) Same(other Host) bool { return h.sum == other.sum }

// Bytes joins the parts to the message.
func (h Host) Bytes() []byte { return slices.Concat(h.parts...) }

// Len is the size of the message in bytes.
func (h Host) Len() (size int) {
	for _, part := range h.parts {
		size += len(part)
	}
	return size
}

// VirtualHost encodes the virtual host of one domain, such
// as "shop.example.com", "*.example.com" or "*". routes are encodings from
// Route in the order in which they are tried; none at all is a domain that
// answers 404. extras hold for every route that does not replace them; nil is
// none, and of them the host takes what HeldByHost names. Only the frame is
// encoded here: the routes are copied, so that an edit of one route encodes one
// route.
func VirtualHost(domain string, extras *ir.Extras, routes [][]byte) Host {
	return HostOf(appendRepeated(hostFrame(domain, extras), virtualHostRoutes, routes))
}

// hostFrame is a virtual host without its routes.
func hostFrame(domain string, extras *ir.Extras) []byte {
	return marshal(&routev3.VirtualHost{Name: domain, Domains: []string{domain}, TypedPerFilterConfig: filters(extras, hostName)})
}

// RouteConfiguration joins virtual hosts to the resource of that
// name. Hosts are compared without their port and clusters are
// not validated: their removal must never reject a table. The version is made of the
// sums of the parts.
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

// routeSettings are the fields that follow the virtual hosts on the wire.
func routeSettings() *routev3.RouteConfiguration {
	return &routev3.RouteConfiguration{
		ValidateClusters:         wrapperspb.Bool(false),
		IgnorePortInHostMatching: true,
	}
}

// appendRepeated appends encoded messages as elements of a repeated field.
func appendRepeated(body []byte, field protowire.Number, elements [][]byte) []byte {
	size := len(body)
	for _, element := range elements {
		size += len(element) + perEntryOverhead
	}
	grown := append(make([]byte, 0, size), body...)
	for _, element := range elements {
		grown = append(appendHeader(grown, field, len(element)), element...)
	}
	return grown
}

// appendHeader appends what stands before an encoded message of that size.
func appendHeader(body []byte, field protowire.Number, size int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(body, field, protowire.BytesType), uint64(size))
}

// marshal encodes a message of our own making: equal messages, equal bytes. Text
// from the user that cannot be encoded is found by check before.
func marshal(message proto.Message) []byte {
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err != nil {
		panic(fmt.Sprintf("xds: encode %T: %v", message, err))
	}
	return body
}

// pack puts a message into an Any.
func pack(message proto.Message) *anypb.Any {
	return &anypb.Any{
		TypeUrl: "type.googleapis.com/" + string(message.ProtoReflect().Descriptor().FullName()),
		Value:   marshal(message),
	}
}
