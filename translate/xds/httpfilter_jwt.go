package xds

import (
	"bytes"
	"fmt"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	jwtv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/jwt_authn/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// jwtFilter returns the HTTP filter for the policy field jwtAuth.
func jwtFilter() httpFilter {
	return httpFilter{name: JWTFilter, since: 1, resource: true, route: jwtAuth}
}

// jwtAuth returns the configuration of jwtFilter for a route or virtual host. It returns nil if no policy sets the
// field jwtAuth.
func jwtAuth(extras *ir.Extras) message {
	if extras.JWTAuth == nil {
		return nil
	}
	return &jwtv3.PerRouteConfig{RequirementSpecifier: &jwtv3.PerRouteConfig_RequirementName{RequirementName: extras.JWTAuth.Extension.JWT.Name}}
}

// NamesRequirement reports whether an encoded RouteConfiguration may name a Requirement in a route or virtual
// host. The result can also be true because a text in the RouteConfiguration contains the name of the message
// type.
func NamesRequirement(table []byte) bool {
	return bytes.Contains(table, []byte((&jwtv3.PerRouteConfig{}).ProtoReflect().Descriptor().FullName()))
}

// jwtDiscovery returns the setting by which Envoy fetches the configuration of jwtFilter, on the same stream as the
// listener.
func jwtDiscovery() *hcmv3.HttpFilter_ConfigDiscovery {
	return &hcmv3.HttpFilter_ConfigDiscovery{ConfigDiscovery: &corev3.ExtensionConfigSource{
		ConfigSource: adsSource(), TypeUrls: []string{pack(&jwtv3.JwtAuthentication{}).GetTypeUrl()},
	}}
}

// RequirementOf returns the Requirement for one GatewayExtension. The parameter from says which tokens the
// GatewayExtension accepts. If a policy refers to the GatewayExtension, the Envoy routes with that policy refer to
// the Requirement by its name.
func RequirementOf(from *ir.JWT) Requirement {
	return Requirement{Part: Part{Requirement: from.Name}, Body: marshal(jwtMessage(from))}
}

// CheckJWT returns what Envoy would reject in the field jwt of a GatewayExtension. The parameter key is the key of
// the GatewayExtension. The problems name its fields.
func CheckJWT(key manifest.Key, from *ir.JWT) []manifest.Problem {
	c := checker{rule: &ir.Rule{Source: &ir.Origin{Key: key}}}
	for i, p := range from.Providers {
		at := fmt.Sprintf("spec.jwt.providers[%d]", i)
		for j, claim := range p.Claims {
			c.changedName(fmt.Sprintf("%s.claimsToHeaders[%d].header", at, j), claim.Header, false)
			c.text(fmt.Sprintf("%s.claimsToHeaders[%d].name", at, j), claim.Claim)
		}
		if p.Header != "" && !p.Forward { // Envoy removes the header
			c.changedName(at+".tokenSource.header.header", p.Header, true)
		}
		c.text(at+".name", p.Name)
		c.text(at+".issuer", p.Issuer)
		c.headerValue(at+".tokenSource.header.prefix", p.Prefix)
		c.text(at+".tokenSource.queryParameter", p.Query)
		for j, audience := range p.Audiences {
			c.text(fmt.Sprintf("%s.audiences[%d]", at, j), audience)
		}
		if p.Remote != nil {
			c.text(at+".jwks.remote.url", p.Remote.URL)
		}
	}
	if len(c.problems) == 0 {
		c.message(jwtMessage(from))
	}
	return c.problems
}

// jwtMessage returns a JwtAuthentication message with the providers of a GatewayExtension, and one requirement with
// the GatewayExtension's name. A request with a valid token of any of the providers meets the requirement. If
// from.Missing is true, a request without a token meets it, too. If from.Failed is true, every request meets it.
func jwtMessage(from *ir.JWT) *jwtv3.JwtAuthentication {
	to := &jwtv3.JwtAuthentication{Providers: map[string]*jwtv3.JwtProvider{}, RequirementMap: map[string]*jwtv3.JwtRequirement{}}
	var enough []*jwtv3.JwtRequirement
	for i := range from.Providers {
		name := from.Name + "/" + from.Providers[i].Name
		to.Providers[name] = jwtProvider(&from.Providers[i])
		enough = append(enough, &jwtv3.JwtRequirement{RequiresType: &jwtv3.JwtRequirement_ProviderName{ProviderName: name}})
	}
	switch {
	case from.Failed:
		enough = append(enough, &jwtv3.JwtRequirement{RequiresType: &jwtv3.JwtRequirement_AllowMissingOrFailed{AllowMissingOrFailed: &emptypb.Empty{}}})
	case from.Missing:
		enough = append(enough, &jwtv3.JwtRequirement{RequiresType: &jwtv3.JwtRequirement_AllowMissing{AllowMissing: &emptypb.Empty{}}})
	}
	to.RequirementMap[from.Name] = enough[0]
	if len(enough) > 1 {
		to.RequirementMap[from.Name] = &jwtv3.JwtRequirement{RequiresType: &jwtv3.JwtRequirement_RequiresAny{
			RequiresAny: &jwtv3.JwtRequirementOrList{Requirements: enough},
		}}
	}
	return to
}

func jwtProvider(from *ir.JWTProvider) *jwtv3.JwtProvider {
	to := &jwtv3.JwtProvider{
		Issuer: from.Issuer, Audiences: from.Audiences, Forward: from.Forward, PayloadInMetadata: "payload",
		ClockSkewSeconds: uint32(from.ClockSkew.Seconds()), RequireExpiration: false,
	}
	if from.Header != "" {
		to.FromHeaders = []*jwtv3.JwtHeader{{Name: from.Header, ValuePrefix: from.Prefix}}
	} else {
		to.FromParams = []string{from.Query}
	}
	for _, claim := range from.Claims {
		to.ClaimToHeaders = append(to.ClaimToHeaders, &jwtv3.JwtClaimToHeader{HeaderName: strings.ToLower(claim.Header), ClaimName: claim.Claim})
	}
	if cache := from.Cache; cache != nil {
		to.JwtCacheConfig = &jwtv3.JwtCacheConfig{JwtCacheSize: cache.Size, JwtMaxTokenSize: cache.MaxTokenSize}
	}
	if from.Remote == nil {
		to.JwksSourceSpecifier = &jwtv3.JwtProvider_LocalJwks{LocalJwks: inline([]byte(from.Keys))}
	} else {
		to.JwksSourceSpecifier = &jwtv3.JwtProvider_RemoteJwks{RemoteJwks: remoteKeys(from.Remote)}
	}
	return to
}

// remoteKeys returns how Envoy fetches keys.
func remoteKeys(from *ir.RemoteKeys) *jwtv3.RemoteJwks {
	to := &jwtv3.RemoteJwks{
		HttpUri: &corev3.HttpUri{
			Uri: from.URL, HttpUpstreamType: &corev3.HttpUri_Cluster{Cluster: from.Cluster}, Timeout: durationpb.New(from.Timeout),
		},
		CacheDuration: durationpb.New(from.CacheFor),
	}
	if from.Async { // FastListener: the listener and its other routes do not wait for the keys
		to.AsyncFetch = &jwtv3.JwksAsyncFetch{FastListener: true}
		if from.RefetchAfter != nil {
			to.AsyncFetch.FailedRefetchDuration = durationpb.New(*from.RefetchAfter)
		}
	}
	if retry := from.Retry; retry != nil {
		to.RetryPolicy = &corev3.RetryPolicy{NumRetries: wrapperspb.UInt32(retry.Attempts), RetryBackOff: callBackoff(retry)}
	}
	return to
}
