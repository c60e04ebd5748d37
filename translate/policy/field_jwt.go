package policy

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// jwtAuthOff reports whether the field turns the check of tokens off.
func jwtAuthOff(s *api.TrafficPolicySpec) bool { return s.JWTAuth.Disable != nil }

// jwtAuthIn sets the namespace of references in the policy field jwtAuth (see Field.inNamespace).
func jwtAuthIn(spec *api.TrafficPolicySpec, namespace string) {
	auth := *spec.JWTAuth
	if auth.ExtensionRef != nil {
		auth.ExtensionRef = auth.ExtensionRef.In(namespace)
	}
	spec.JWTAuth = &auth
}

// lowerJWTAuth converts the policy field jwtAuth (see Field.lower).
func lowerJWTAuth(from *api.TrafficPolicySpec, extras *ir.Extras) []manifest.Problem {
	if auth := from.JWTAuth; auth.ExtensionRef != nil {
		extras.JWTAuth = &ir.JWTAuth{ExtensionUse: extensionUse(ir.FieldJWTAuth, auth.ExtensionRef)}
	}
	return nil
}

// LowerJWT converts the field jwt of a GatewayExtension. It does not set the clusters from which Envoy fetches
// remote keys. The function configMap returns the keys (as text) in a ConfigMap of the extension's namespace, or
// why there are none. The problems name fields; the caller adds the object. If a problem is an error, the
// extension must not be used.
func LowerJWT(key manifest.Key, from *api.JWT, configMap func(name string) (text string, fault *CredentialFault)) (*ir.JWT, []manifest.Problem) {
	mode := api.Text(from.ValidationMode)
	to := &ir.JWT{
		Name: key.Namespace + "/" + key.Name, Failed: mode == api.AllowMissingOrFailedToken,
		Missing: mode == api.AllowMissingToken || mode == api.AllowMissingOrFailedToken,
	}
	var problems []manifest.Problem
	for i := range from.Providers {
		provider, found := lowerJWTProvider(&from.Providers[i], configMap)
		to.Providers = append(to.Providers, *provider)
		for _, problem := range found {
			problem.Field = strings.TrimSuffix(fmt.Sprintf("spec.jwt.providers[%d].%s", i, problem.Field), ".")
			problems = append(problems, problem)
		}
	}
	return to, problems
}

// JWKSFault is the code of problems with keys that cannot be used.
const JWKSFault = "InvalidKeys"

// lowerJWTProvider converts one provider. Problems name fields of the provider.
func lowerJWTProvider(from *api.JWTProvider, configMap func(string) (string, *CredentialFault)) (*ir.JWTProvider, []manifest.Problem) {
	to := &ir.JWTProvider{
		Name: from.Name, Issuer: api.Text(from.Issuer), Audiences: from.Audiences, Forward: isTrue(from.ForwardToken),
		Header: "authorization", Prefix: "Bearer ",
	}
	var problems []manifest.Problem
	if source := from.TokenSource; source != nil {
		to.Header, to.Prefix, to.Query = "", "", api.Text(source.QueryParameter)
		if source.Header != nil {
			to.Header, to.Prefix = strings.ToLower(source.Header.Header), api.Text(source.Header.Prefix)
		}
	}
	if to.Query != "" && !to.Forward {
		problems = append(problems, manifest.Problem{
			Code: "UnsupportedValue", Severity: manifest.Error, Field: "tokenSource.queryParameter",
			Message: "Envoy cannot take a token out of the query without decoding the other parameters, so that %26 in one of them would begin another",
			Hint:    "write forwardToken: true, or have clients send the token in a header",
		})
	}
	for _, claim := range from.ClaimsToHeaders {
		to.Claims = append(to.Claims, ir.ClaimHeader{Claim: claim.Name, Header: strings.ToLower(claim.Header)})
	}
	if skew := api.ParseDuration(from.ClockSkew); skew != nil {
		to.ClockSkew = *skew
		if *skew%time.Second != 0 {
			problems = append(problems, manifest.Problem{
				Code: "UnsupportedValue", Severity: manifest.Error, Field: "clockSkew",
				Message: fmt.Sprintf("%s is not a whole number of seconds", *skew), Hint: "write whole seconds, such as 60s",
			})
		}
	}
	if cache := from.Cache; cache != nil {
		to.Cache = &ir.JWTCache{Size: number(cache.Size, 0), MaxTokenSize: number(cache.MaxTokenSize, 0)}
	}
	problems = append(problems, anyToken(from)...)
	return to, append(problems, lowerKeys(&from.JWKS, to, configMap)...)
}

// anyToken returns a warning if a provider accepts tokens of any issuer, and another one if it accepts tokens
// for any audience.
func anyToken(from *api.JWTProvider) (problems []manifest.Problem) {
	if api.Text(from.Issuer) == "" {
		problems = append(problems, openToken("issuer", "tokens of any issuer are accepted, if they are signed with one of the keys", "write the iss of the provider's tokens"))
	}
	if len(from.Audiences) == 0 {
		problems = append(problems, openToken("audiences", "tokens that the provider issued for other services are accepted, too", "write the aud of tokens that are for this service"))
	}
	return problems
}

// openToken returns the warning that a provider accepts too many tokens, because one of its fields is not set. The
// parameter field is the path of this field in the provider.
func openToken(field, message, hint string) manifest.Problem {
	return manifest.Problem{Code: "AnyToken", Severity: manifest.Warning, Field: field, Message: message, Hint: hint}
}

// lowerKeys converts the keys of a provider, and stores them in the parameter provider. The keys are in the
// GatewayExtension, in a ConfigMap (read by the function configMap, see LowerJWT), or at a URL from which Envoy
// fetches them. lowerKeys returns a problem if there are no usable keys or the URL is invalid, and a warning for each
// key that is left out.
func lowerKeys(from *api.JWKS, provider *ir.JWTProvider, configMap func(string) (string, *CredentialFault)) []manifest.Problem {
	if from.Remote != nil {
		return lowerRemoteKeys(from.Remote, provider)
	}
	text, field, where := api.Text(from.Local.Inline), "jwks.local.inline", ""
	var fault *CredentialFault
	if ref := from.Local.ConfigMapRef; ref != nil {
		field, where = "jwks.local.configMapRef", fmt.Sprintf("entry %s of ConfigMap %s: ", api.JWKSEntry, ref.Name)
		text, fault = configMap(string(ref.Name))
	}
	var skipped []string
	if fault == nil {
		provider.Keys, skipped, fault = ReadJWKS(text)
		if fault != nil {
			fault.Message = where + fault.Message
		}
	}
	if fault != nil {
		return []manifest.Problem{{Code: JWKSFault, Severity: manifest.Error, Field: field, Message: fault.Message, Hint: fault.Hint}}
	}
	var problems []manifest.Problem
	for _, why := range skipped {
		problems = append(problems, warning(field, where+why, "remove the key, or write one that Envoy knows"))
	}
	return problems
}

// lowerRemoteKeys sets the URL from which Envoy fetches the keys of a provider, and how Envoy fetches them. It
// returns a problem if the URL is invalid.
func lowerRemoteKeys(from *api.RemoteJWKS, to *ir.JWTProvider) []manifest.Problem {
	remote := &ir.RemoteKeys{
		URL: from.URL, CacheFor: 5 * time.Minute, Timeout: 5 * time.Second, Async: from.AsyncFetch != nil,
	}
	to.Remote = remote
	if cached := api.ParseDuration(from.CacheDuration); cached != nil {
		remote.CacheFor = *cached
	}
	if timeout := api.ParseDuration(from.Timeout); timeout != nil {
		remote.Timeout = *timeout
	}
	if async := from.AsyncFetch; async != nil {
		remote.RefetchAfter = api.ParseDuration(async.FailedRefetchDuration)
	}
	if retry := from.RetryPolicy; retry != nil {
		remote.Retry = &ir.ServiceRetry{Attempts: number(retry.NumRetries, 1)}
		if backoff := retry.BackOff; backoff != nil {
			remote.Retry.Base = *api.ParseDuration(&backoff.BaseInterval)
			if most := api.ParseDuration(backoff.MaxInterval); most != nil {
				remote.Retry.Max = *most
			}
		}
	}
	at, err := url.Parse(from.URL)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" || at.User != nil || at.Fragment != "" {
		return []manifest.Problem{{
			Code: "UnsupportedValue", Severity: manifest.Error, Field: "jwks.remote.url",
			Message: "it is no URL of a server by http or https", Hint: "write one such as https://idp.example/keys",
		}}
	}
	return nil
}
