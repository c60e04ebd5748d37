package xds

import (
	"fmt"
	"slices"

	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	headerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"

	"github.com/gatefold/gatefold/translate/ir"
)

const locationName = "envoy.filters.http.header_mutation/location"

// locationFilter returns the filter that corrects answers of Envoy itself: redirects, and answers to preflight requests
// (preflightHeaders). It removes the scheme's default port from the Location of a redirect. The Gateway API demands this (HTTPRequestRedirectFilter.port), but a route of Envoy cannot do it: with a port in the
// route, Envoy always writes the port, and without a port, Envoy keeps the port of the request's host. Envoy 1.39 and
// older get no such filter, and write the port.
func locationFilter() httpFilter {
	return httpFilter{name: locationName, chain: emptyMutation, route: ownAnswers}
}

// ownAnswers returns the configuration of locationFilter, or nil if no answer of Envoy has to be corrected.
func ownAnswers(extras *ir.Extras) message {
	mutations := slices.Concat(portlessLocation(extras.Portless), preflightHeaders(extras.CORS.OrNone(), extras.CORS.OrNone().Alone || extras.Preflight))
	if len(mutations) == 0 {
		return nil
	}
	return &headerv3.HeaderMutationPerRoute{Mutations: &headerv3.Mutations{
		ResponseMutations: mutations, Formatters: []*corev3.TypedExtensionConfig{celFormatter()},
	}}
}

// portlessLocation returns what removes the port from the Location of a redirect. The parameter to may be nil.
func portlessLocation(to *ir.Redirect) []*mutationv3.HeaderMutation {
	if to == nil {
		return nil
	}
	// The first slash after a port ends the host: no host contains ":443/".
	value := fmt.Sprintf("response.headers['location'].replace(':%d/', '/', 1)", to.Port)
	if to.PortLessIn != "" {
		value = fmt.Sprintf("response.headers['location'].startsWith('%s:') ? %s : response.headers['location']", to.PortLessIn, value)
	}
	return []*mutationv3.HeaderMutation{appended("location", "%CEL("+value+")%", corev3.HeaderValueOption_OVERWRITE_IF_EXISTS)}
}

// keptHeader has the value of a header for a moment, between two mutations of preflightHeaders.
const keptHeader = "x-gatefold-kept"

// preflightHeaders returns what removes headers from Envoy's answers to preflight requests: those for an origin that is
// not allowed have no header of CORS, and those without Access-Control-Request-Headers have no empty
// Access-Control-Allow-Headers (Gateway API, HTTPCORSFilter.allowOrigins and allowHeaders). Envoy's filter writes them.
// Answers of backends keep theirs. The parameter alone says whether Envoy answers for every origin (ir.CORS.Alone).
func preflightHeaders(cors ir.CORS, alone bool) (out []*mutationv3.HeaderMutation) {
	var names []string
	if alone {
		names = []string{"access-control-allow-credentials", "access-control-allow-methods", "access-control-max-age"}
	}
	if alone || slices.Contains(cors.Headers, "*") {
		names = append(names, "access-control-allow-headers")
	}
	for _, name := range names { // a mutation can add a header under a condition, and not remove it
		value := fmt.Sprintf("%%CEL('%s' in response.headers && (response.code_details != 'cors_response' || 'access-control-allow-origin' in response.headers)"+
			" ? response.headers['%[1]s'] : '')%%", name)
		out = append(out, removed(keptHeader), appended(keptHeader, value, corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD),
			removed(name), appended(name, "%RESP("+keptHeader+")%", corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD), removed(keptHeader))
	}
	return out
}

// appended returns the mutation that writes a header, if the value is not empty.
func appended(name, value string, action corev3.HeaderValueOption_HeaderAppendAction) *mutationv3.HeaderMutation {
	return &mutationv3.HeaderMutation{Action: &mutationv3.HeaderMutation_Append{Append: &corev3.HeaderValueOption{
		Header: &corev3.HeaderValue{Key: name, Value: value}, AppendAction: action,
	}}}
}

// removed returns the mutation that removes a header.
func removed(name string) *mutationv3.HeaderMutation {
	return &mutationv3.HeaderMutation{Action: &mutationv3.HeaderMutation_Remove{Remove: name}}
}
