package xds

import (
	"slices"

	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	headerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	rbacfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"github.com/gatefold/gatefold/translate/ir"
)

// The filters before and after an authorization by HTTP keep clients from writing the headers that the service
// writes. Envoy itself replaces a client's header only if the answer has this header.

// beforeAuth returns the filters before an authorization by HTTP. One filter rejects paths that could leave the
// service's prefix, if there is a prefix. Another filter removes the client's copies of headers that only the
// service may write, if there are such headers. beforeAuth returns nil for a gRPC service.
func beforeAuth(extras *ir.Extras) []innerFilter {
	auth := extras.ExtAuth.Extension.Auth
	if auth.HTTP == nil {
		return nil
	}
	var out []innerFilter
	if auth.HTTP.Prefix != "" {
		out = append(out, innerFilter{extAuthName + "/path", climbingRejected()})
	}
	var changes []*mutationv3.HeaderMutation
	for _, name := range auth.HTTP.ToBackend {
		if !auth.Receives(name) {
			changes = append(changes, removal(name))
		}
	}
	return appendMutation(out, extAuthName+"/clean", changes)
}

// behindAuth returns the filter that runs after an HTTP authorization service (extAuth) has answered. It is about
// request headers that Envoy passes from the client to the service, and that the service may also set for the
// backend. For these headers, the backend gets only the values in the service's answer. behindAuth returns nil for a
// gRPC service, or if there are no such headers.
func behindAuth(extras *ir.Extras) []innerFilter {
	auth := extras.ExtAuth.Extension.Auth
	if auth.HTTP == nil {
		return nil
	}
	var changes []*mutationv3.HeaderMutation
	for _, name := range answeredHeaders(auth) {
		changes = append(changes, removal(name), &mutationv3.HeaderMutation{Action: &mutationv3.HeaderMutation_Append{Append: &corev3.HeaderValueOption{
			Header:       &corev3.HeaderValue{Key: name, Value: "%DYNAMIC_METADATA(envoy.filters.http.ext_authz:" + name + ")%"},
			AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
		}}})
	}
	return appendMutation(nil, extAuthName+"/answer", changes)
}

// answeredHeaders returns the names of the headers that the service writes for the backend (ir.HTTPAuth.ToBackend)
// and also receives from the client.
func answeredHeaders(auth *ir.AuthService) (names []string) {
	for _, name := range auth.HTTP.ToBackend {
		if auth.Receives(name) {
			names = append(names, name)
		}
	}
	return names
}

func removal(name string) *mutationv3.HeaderMutation {
	return &mutationv3.HeaderMutation{Action: &mutationv3.HeaderMutation_Remove{Remove: name}}
}

// appendMutation appends a filter that changes request headers, unless there are no changes.
func appendMutation(filters []innerFilter, name string, changes []*mutationv3.HeaderMutation) []innerFilter {
	if len(changes) == 0 {
		return filters
	}
	return append(slices.Clip(filters), innerFilter{name, &headerv3.HeaderMutation{Mutations: &headerv3.Mutations{RequestMutations: changes}}})
}

// climbingPath matches paths with a segment "..", even if slashes or dots are percent-encoded. Envoy resolves
// ".." only between plain slashes. With any other spelling, the request to the service could leave the prefix
// of its paths (ir.HTTPAuth.Prefix).
const climbingPath = `(?i)(?:.*(?:/|\\|%2f|%5c))?(?:\.|%2e){2}(?:(?:/|\\|%2f|%5c|;|%3b).*)?`

// climbingRejected returns the configuration of a filter that rejects paths that match climbingPath.
func climbingRejected() message {
	return &rbacfilterv3.RBAC{Rules: &rbacv3.RBAC{
		Action: rbacv3.RBAC_DENY,
		Policies: map[string]*rbacv3.Policy{"climbing-path": {
			Permissions: []*rbacv3.Permission{{Rule: &rbacv3.Permission_UrlPath{UrlPath: &matcherv3.PathMatcher{
				Rule: &matcherv3.PathMatcher_Path{Path: &matcherv3.StringMatcher{
					MatchPattern: &matcherv3.StringMatcher_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: climbingPath}},
				}},
			}}}},
			Principals: []*rbacv3.Principal{{Identifier: &rbacv3.Principal_Any{Any: true}}},
		}},
	}}
}
