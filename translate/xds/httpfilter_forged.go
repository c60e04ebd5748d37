package xds

import (
	"fmt"
	"strings"

	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	headerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"

	"github.com/gatefold/gatefold/translate/ir"
)

// forgedFilter returns the filter that removes identity headers (ir.Identity) from a client's request, and from its
// trailers: some backends read both as one. It is the first filter, because later filters set these headers. Virtual
// hosts and routes configure it, and Envoy applies both, after the configuration of the chain.
func forgedFilter() httpFilter {
	return httpFilter{name: "gatefold/identities", since: 1, always: true, chain: removeUserTrailer, route: removeForged}
}

// removeUserTrailer returns the configuration of forgedFilter in the filter chain of the listener. With it, the filter
// removes ir.UserHeader from the trailers of every request: dropClaims removes it only from the headers.
func removeUserTrailer() message {
	return &headerv3.HeaderMutation{Mutations: &headerv3.Mutations{
		RequestTrailersMutations: []*mutationv3.HeaderMutation{removal(ir.UserHeader)},
	}}
}

// removeForged returns the configuration of forgedFilter, or nil if extras.Forged is empty.
func removeForged(extras *ir.Extras) message {
	if len(extras.Forged) == 0 {
		return nil
	}
	mutations := &headerv3.Mutations{}
	for _, name := range extras.Forged {
		mutations.RequestMutations = append(mutations.RequestMutations, removal(name))
		mutations.RequestTrailersMutations = append(mutations.RequestTrailersMutations, removal(name))
	}
	return &headerv3.HeaderMutationPerRoute{Mutations: mutations}
}

// checkIdentities rejects identity headers (ir.Identity) with an unsuitable name: the name of a header that a filter
// must not set, or a name with an underscore. gatefold removes identity headers from the requests of clients, so
// checkIdentities also rejects the name of a header that clients need to send.
func checkIdentities(c *checker, extras *ir.Extras) {
	read := map[string]bool{}
	if extras.APIKeyAuth != nil {
		for _, source := range extras.APIKeyAuth.Sources {
			read[source.Header] = true
		}
	}
	reject := func(field, fault, hint string) {
		c.reject(field, fault, hint)
		c.problems[len(c.problems)-1].Code = "UnsupportedValue"
	}
	for _, identity := range extras.Identities() {
		switch name := identity.Name; {
		case isProtected(name):
			c.changedName(identity.Field, name, false)
		case ir.IsClientHeader(name):
			reject(identity.Field, fmt.Sprintf("clients send header %q themselves, and gatefold removes an identity header from what clients send to the host", name),
				"choose a name that no client has a use for, such as x-gateway-client")
		case strings.Contains(name, "_"):
			reject(identity.Field, fmt.Sprintf("%q has an underscore: Envoy drops such headers, and backends take them for the same name with -", name), "write - in its place")
		case read[name]:
			reject(identity.Field, fmt.Sprintf("header %q is where the policy reads keys, and gatefold removes an identity header from what clients send", name),
				"choose another name")
		default:
			c.changedName(identity.Field, name, false)
		}
	}
}
