package xds

import (
	"fmt"
	"strings"

	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	keyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/api_key_auth/v3"
	basicv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/basic_auth/v3"
	headerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"

	"github.com/gatefold/gatefold/translate/ir"
)

// realm is what browsers show in the dialog for name and password. Without it, Envoy writes the whole URL of
// the request.
const realm = "restricted"

// basicAuthFilter returns the HTTP filter for the policy field basicAuth.
func basicAuthFilter() httpFilter {
	return httpFilter{name: "envoy.filters.http.basic_auth", since: 1, chain: basicAuthOff, route: basicAuth}
}

// basicAuthOff returns the configuration of basicAuthFilter in the filter chain of the listener, without users.
// Envoy requires a file of users, and accepts a file with only a comment.
func basicAuthOff() message {
	return &basicv3.BasicAuth{Users: inline([]byte("#")), ForwardUsernameHeader: ir.UserHeader}
}

// basicAuth returns the configuration of basicAuthFilter, or nil without basicAuth.
func basicAuth(extras *ir.Extras) message {
	if extras.BasicAuth == nil {
		return nil
	}
	var lines []string
	for _, user := range extras.BasicAuth.List {
		lines = append(lines, user.Name+":"+string(user.Secret))
	}
	return &basicv3.BasicAuthPerRoute{Users: inline([]byte(strings.Join(lines, "\n"))), Realm: realm}
}

// dropPasswordFilter returns the filter that removes the password from the request to the backend, because
// basicAuthFilter does not remove it.
func dropPasswordFilter() httpFilter {
	return httpFilter{name: "envoy.filters.http.header_mutation/" + string(ir.FieldBasicAuth), since: 1, chain: emptyMutation, route: dropPassword}
}

// dropPassword returns the configuration of dropPasswordFilter, or nil without basicAuth.
func dropPassword(extras *ir.Extras) message {
	if extras.BasicAuth == nil {
		return nil
	}
	return &headerv3.HeaderMutationPerRoute{Mutations: &headerv3.Mutations{RequestMutations: []*mutationv3.HeaderMutation{
		{Action: &mutationv3.HeaderMutation_Remove{Remove: "authorization"}},
	}}}
}

// apiKeyAuthFilter returns the HTTP filter for the policy field apiKeyAuth.
func apiKeyAuthFilter() httpFilter {
	return httpFilter{name: "envoy.filters.http.api_key_auth", since: 1, chain: func() message { return &keyv3.ApiKeyAuth{} }, route: apiKeyAuth}
}

// apiKeyAuth returns the configuration of apiKeyAuthFilter, or nil without apiKeyAuth.
func apiKeyAuth(extras *ir.Extras) message {
	from := extras.APIKeyAuth
	if from == nil {
		return nil
	}
	to := &keyv3.ApiKeyAuthPerRoute{Forwarding: &keyv3.Forwarding{Header: from.ClientHeader, HideCredentials: !from.Forward}}
	for _, client := range from.List {
		to.Credentials = append(to.Credentials, &keyv3.Credential{Key: string(client.Secret), Client: client.Name})
	}
	for _, source := range from.Sources {
		to.KeySources = append(to.KeySources, &keyv3.KeySource{Header: source.Header, Query: source.Query, Cookie: source.Cookie})
	}
	return to
}

// checkAPIKeyAuth rejects what Envoy would reject in apiKeyAuth.
func checkAPIKeyAuth(c *checker, extras *ir.Extras) {
	from := extras.APIKeyAuth
	if from == nil {
		return
	}
	at := ir.FieldAPIKeyAuth.Path()
	for i, source := range from.Sources {
		c.text(fmt.Sprintf("%s.keySources[%d]", at, i), source.Header+source.Query+source.Cookie)
	}
}
