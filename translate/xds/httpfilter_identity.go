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

// The filters around one that asks a service by HTTP keep clients from writing the headers that
// the service writes: Envoy replaces a client's copy only where the answer has the header.

// beforeAuth returns the filters before the authorization. One rejects paths that could leave the
// service's prefix. Another removes the client's copies of headers, so that the service never gets
// them.
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

// behindAuth returns the filter after the authorization. The service got the client's copies of
// these headers, but the backend gets only those of the answer.
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

// answeredHeaders returns the headers of HTTPAuth.ToBackend that the service also receives from the
// client.
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

func appendMutation(filters []innerFilter, name string, changes []*mutationv3.HeaderMutation) []innerFilter {
	if len(changes) == 0 {
		return filters
	}
	return append(slices.Clip(filters), innerFilter{name, &headerv3.HeaderMutation{Mutations: &headerv3.Mutations{RequestMutations: changes}}})
}

// climbingPath matches paths in which a program that decodes slashes finds a step up: Envoy
// itself resolves only those between plain slashes, and would ask for a path of the service's own.
const climbingPath = `(?i)(?:.*(?:/|\\|%2f|%5c))?(?:\.|%2e){2}(?:(?:/|\\|%2f|%5c|;|%3b).*)?`

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
