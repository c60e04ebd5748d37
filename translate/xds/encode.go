package xds

import (
	"fmt"

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

// VirtualHost encodes the envoy.config.route.v3.VirtualHost of one domain, such
// as "shop.example.com", "*.example.com" or "*". routes are encodings from
// Route in the order in which they are tried; none at all is a domain that
// answers 404. extras hold for every route that does not replace them; nil is
// none, and of them the host takes what HeldByHost names. Only the frame is
// encoded here: the routes are copied, so that an edit of one route encodes one
// route.
func VirtualHost(domain string, extras *ir.Extras, routes [][]byte) []byte {
	frame := &routev3.VirtualHost{Name: domain, Domains: []string{domain}, TypedPerFilterConfig: filters(extras, onHost)}
	return appendRepeated(marshal(frame), virtualHostRoutes, routes)
}

// RouteConfiguration joins encodings from VirtualHost to the resource of that
// name. Hosts are compared without their port and clusters are
// not validated: their removal must never reject a table.
func RouteConfiguration(name string, virtualHosts [][]byte) Resource {
	body := marshal(&routev3.RouteConfiguration{Name: name})
	body = appendRepeated(body, routeConfigurationVirtualHosts, virtualHosts)
	body = append(body, marshal(routeSettings())...)
	return newResource(routeType, name, body)
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
		grown = protowire.AppendTag(grown, field, protowire.BytesType)
		grown = protowire.AppendBytes(grown, element)
	}
	return grown
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
