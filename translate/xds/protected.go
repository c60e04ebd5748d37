package xds

import (
	"slices"
	"strings"

	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
)

// envoyPrefix is the beginning of headers that control Envoy, such as x-envoy-upstream-alt-stat-name, and of
// headers that Envoy writes itself.
const envoyPrefix = "x-envoy-"

// protectedHeaders returns the names, in lower case, of the headers that no filter, policy or external service may
// set, add or remove. These headers say where a message ends and what a connection is used for, and Envoy writes them
// itself. With a wrong value, the next message on the connection, perhaps of another user, could become part of the
// message before (RFC 9112, sections 6 and 11). The hop-by-hop headers are those of RFC 9110, section 7.6.1.
//
// Proxy-Authenticate and Proxy-Authorization are not included. They do not describe messages or connections,
// and a backend may be a proxy itself.
func protectedHeaders() []string {
	return []string{
		"content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection",
		"te", "trailer", "upgrade", "http2-settings", "expect",
	}
}

// isProtected reports whether a header is one of protectedHeaders. It ignores case, and "_" counts as "-",
// because servers that pass headers as variables (CGI, WSGI) do not distinguish them.
func isProtected(name string) bool {
	return slices.Contains(protectedHeaders(), strings.ReplaceAll(strings.ToLower(name), "_", "-"))
}

// isEnvoyHeader reports whether the name of a header begins with envoyPrefix. It ignores case, and "_" counts
// as "-".
func isEnvoyHeader(name string) bool {
	return strings.HasPrefix(strings.ReplaceAll(strings.ToLower(name), "_", "-"), envoyPrefix)
}

// serviceRules returns rules for the headers that an external service may change. Together with Envoy's defaults, the
// rules forbid changes of protected headers, headers of Envoy, the host, and all pseudo headers except the path.
// Method and status are forbidden because they describe where a message ends: after HEAD and 204 no body follows.
// Envoy ignores forbidden changes and applies the other changes. The parameter more has regular expressions for
// further forbidden names.
func serviceRules(more ...string) *mutationv3.HeaderMutationRules {
	names := append([]string{":method", ":status", ":scheme", ":authority", ":protocol"}, more...)
	for _, name := range protectedHeaders() {
		names = append(names, strings.ReplaceAll(name, "-", "[-_]"))
	}
	return &mutationv3.HeaderMutationRules{DisallowExpression: &matcherv3.RegexMatcher{
		Regex: "(?i)(?:" + strings.Join(names, "|") + ")",
	}}
}
