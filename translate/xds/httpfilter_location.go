package xds

import (
	"fmt"

	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	headerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"

	"github.com/gatefold/gatefold/translate/ir"
)

const locationName = "envoy.filters.http.header_mutation/location"

// locationFilter returns the filter that removes the scheme's default port from the Location of a redirect. The
// Gateway API demands this (HTTPRequestRedirectFilter.port), but a route of Envoy cannot do it: with a port in the
// route, Envoy always writes the port, and without a port, Envoy keeps the port of the request's host. Envoy 1.39 and
// older get no such filter, and write the port.
func locationFilter() httpFilter {
	return httpFilter{name: locationName, chain: emptyMutation, route: portlessLocation}
}

// portlessLocation returns the configuration of locationFilter, or nil if extras.Portless is nil.
func portlessLocation(extras *ir.Extras) message {
	if extras.Portless == nil {
		return nil
	}
	// The first slash after a port ends the host: no host contains ":443/".
	value := fmt.Sprintf("response.headers['location'].replace(':%d/', '/', 1)", extras.Portless.Port)
	if scheme := extras.Portless.PortLessIn; scheme != "" {
		value = fmt.Sprintf("response.headers['location'].startsWith('%s:') ? %s : response.headers['location']", scheme, value)
	}
	return &headerv3.HeaderMutationPerRoute{Mutations: &headerv3.Mutations{
		ResponseMutations: []*mutationv3.HeaderMutation{{Action: &mutationv3.HeaderMutation_Append{Append: &corev3.HeaderValueOption{
			Header: &corev3.HeaderValue{Key: "location", Value: "%CEL(" + value + ")%"}, AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS,
		}}}},
		Formatters: []*corev3.TypedExtensionConfig{celFormatter()},
	}}
}
