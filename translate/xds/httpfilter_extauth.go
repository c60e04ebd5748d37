package xds

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authzv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

const extAuthName = "gatefold/" + string(ir.FieldExtAuth)

// extAuthFilter returns the HTTP filter for the policy field extAuth.
func extAuthFilter() httpFilter {
	return httpFilter{
		name: extAuthName, chain: emptyChain, joined: true,
		service: extAuthz, before: beforeAuth, behind: behindAuth, context: authContext,
	}
}

// extAuthz returns the configuration of the authorization filter, or nil without extAuth. The configuration always
// names a service, because Envoy crashes if the filter runs without one.
func extAuthz(extras *ir.Extras) message {
	if extras.ExtAuth == nil {
		return nil
	}
	service := extras.ExtAuth.Extension
	config := &authzv3.ExtAuthz{
		TransportApiVersion: corev3.ApiVersion_V3,
		FailureModeAllow:    service.Auth.FailOpen,
		StatusOnError:       &typev3.HttpStatus{Code: typev3.StatusCode(service.Auth.StatusOnError)},
		StatPrefix:          service.Auth.StatPrefix,
		WithRequestBody:     authBody(cmp.Or(extras.ExtAuth.Body, service.Auth.Body)),
		// Without these two settings, the service could write line breaks and content-length.
		ValidateMutations:          true,
		DecoderHeaderMutationRules: serviceRules(),
	}
	if service.Auth.HTTP != nil {
		config.Services = &authzv3.ExtAuthz_HttpService{HttpService: httpService(service)}
	} else {
		config.Services = &authzv3.ExtAuthz_GrpcService{GrpcService: grpcService(service.Service)}
	}
	if service.Auth.HTTP != nil && service.Auth.HTTP.AllToBackend {
		config.DecoderHeaderMutationRules = serviceRules(ownHeaders()...)
	}
	if service.Auth.Percent < 100 {
		config.FilterEnabled = percentage(service.Auth.Percent)
	}
	config.AllowedHeaders = nameMatchers(service.Auth.Headers)
	return config
}

// ownHeaders returns regular expressions for headers that describe the answer of the service itself, such as
// Content-Type or Date. These headers would be wrong in the request to the backend.
func ownHeaders() []string { return []string{"content-.*", "date", "server"} }

// nameMatchers returns a list with a matcher for each header name. It returns nil if there are no names.
func nameMatchers(names []string) *matcherv3.ListStringMatcher {
	if len(names) == 0 {
		return nil
	}
	list := &matcherv3.ListStringMatcher{}
	for _, name := range names {
		list.Patterns = append(list.Patterns, stringMatcher(ir.StringMatch{Value: name, IgnoreCase: true}))
	}
	return list
}

// authTimeout is how long Envoy waits for the answer of an authorization service that it calls by HTTP, if the
// service has no timeout of its own.
const authTimeout = 2 * time.Second

// httpService returns how Envoy calls an authorization service by HTTP.
func httpService(from *ir.Extension) *authzv3.HttpService {
	http, timeout := from.Auth.HTTP, authTimeout
	if from.Service.Timeout != nil {
		timeout = *from.Service.Timeout
	}
	to := &authzv3.HttpService{
		ServerUri: &corev3.HttpUri{ // the request has the client's Host
			Uri: "http://" + extAuthName, HttpUpstreamType: &corev3.HttpUri_Cluster{Cluster: from.Service.Cluster}, Timeout: durationpb.New(timeout),
		},
		PathPrefix:           http.Prefix,
		AuthorizationRequest: &authzv3.AuthorizationRequest{},
		AuthorizationResponse: &authzv3.AuthorizationResponse{
			AllowedUpstreamHeaders:        nameMatchers(http.ToBackend),
			AllowedClientHeaders:          clientHeaders(http.ToClient),
			AllowedClientHeadersOnSuccess: nameMatchers(http.OnSuccess),
			DynamicMetadataFromHeaders:    nameMatchers(answeredHeaders(from.Auth)),
		},
	}
	if http.AllToBackend {
		to.AuthorizationResponse.AllowedUpstreamHeaders = &matcherv3.ListStringMatcher{Patterns: []*matcherv3.StringMatcher{
			{MatchPattern: &matcherv3.StringMatcher_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: ".*"}}},
		}}
	}
	for _, header := range http.Add {
		to.AuthorizationRequest.HeadersToAdd = append(to.AuthorizationRequest.HeadersToAdd, &corev3.HeaderValue{Key: header.Name, Value: header.Value})
	}
	if from.Service.Retry != nil {
		to.RetryPolicy = httpCallRetry(from.Service.Retry)
	}
	return to
}

// clientHeaders returns the headers that a client receives when an external service rejects its request. The
// parameter names has the headers that the user lists; headers that a login needs are added. If the list is empty,
// clientHeaders returns nil, which means all headers.
func clientHeaders(names []string) *matcherv3.ListStringMatcher {
	if len(names) == 0 {
		return nil
	}
	all := append(slices.Clone(names), "location", "set-cookie", "www-authenticate", "content-type")
	slices.Sort(all)
	return nameMatchers(slices.Compact(all))
}

// httpCallBackoff is the longest wait before the first retry of a call by HTTP, if the service's retry settings have
// none. The retry must fit into the timeout of the call, but Envoy's default wait is up to a second.
const httpCallBackoff = 25 * time.Millisecond

// httpCallRetry returns the retries of a call by HTTP.
func httpCallRetry(from *ir.ServiceRetry) *corev3.RetryPolicy {
	retry := *from
	retry.Base = cmp.Or(retry.Base, httpCallBackoff)
	return &corev3.RetryPolicy{RetryOn: "5xx", NumRetries: wrapperspb.UInt32(retry.Attempts), RetryBackOff: callBackoff(&retry)}
}

// authBody returns how much of a request body the service receives. nil stays nil.
func authBody(from *ir.RequestBody) *authzv3.BufferSettings {
	if from == nil {
		return nil
	}
	return &authzv3.BufferSettings{MaxRequestBytes: from.Max, AllowPartialMessage: from.Partial, PackAsBytes: from.Bytes}
}

// authContext returns the part of the authorization filter's configuration that Envoy reads from the route: the
// contextExtensions (key-value pairs) that Envoy sends to a gRPC authorization service. All other settings are in the
// filter chain. authContext returns nil if there are no contextExtensions, or if Envoy calls the service by HTTP.
func authContext(extras *ir.Extras) message {
	auth := extras.ExtAuth
	if auth == nil || len(auth.Context) == 0 || auth.Extension.Auth.HTTP != nil {
		return nil
	}
	return &authzv3.ExtAuthzPerRoute{Override: &authzv3.ExtAuthzPerRoute_CheckSettings{
		CheckSettings: &authzv3.CheckSettings{ContextExtensions: auth.Context},
	}}
}

// checkExtAuth rejects what Envoy would reject in the contextExtensions of extAuth. It also warns if they have no
// effect, because the service is called by HTTP.
func checkExtAuth(c *checker, extras *ir.Extras) {
	if extras.ExtAuth == nil {
		return
	}
	context, service := extras.ExtAuth.Context, extras.ExtAuth.Extension
	if len(context) > 0 && service != nil && service.Auth != nil && service.Auth.HTTP != nil {
		c.problems = append(c.problems, manifest.Problem{
			Code: "NoEffect", Severity: manifest.Warning, Object: c.rule.Source.Key, Field: ir.FieldExtAuth.Path() + ".contextExtensions",
			Message: "a service by HTTP does not get contextExtensions", Hint: "send it a header: httpService.authorizationRequest.headersToAdd of the GatewayExtension",
		})
	}
	for _, key := range slices.Sorted(maps.Keys(context)) {
		at := fmt.Sprintf("%s.contextExtensions[%s]", ir.FieldExtAuth.Path(), key)
		c.text(at, key)
		c.text(at, context[key])
	}
}
