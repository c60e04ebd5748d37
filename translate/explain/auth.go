package explain

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// policyAuthWords returns, as text, what extAuth of the policies does, or TurnedOff if a policy turns it off.
func policyAuthWords(extras *ir.Extras) string {
	if extras.ExtAuth == nil {
		return TurnedOff
	}
	return authWords(extras.ExtAuth)
}

// authWords returns, as text, which authorization service Envoy calls, for which share of the requests, and what
// happens if the service does not answer. For an HTTP service, the text also has the result of httpAuthWords.
// authWords returns "" if auth is nil.
func authWords(auth *ir.ExtAuth) string {
	if auth == nil {
		return ""
	}
	service := auth.Extension
	share := "a request"
	if service.Auth.Percent < 100 {
		share = fmt.Sprintf("%d%% of the requests", service.Auth.Percent)
	}
	words := fmt.Sprintf("%s is asked whether %s may pass; %s", service.Service.Cluster, share,
		outageWords(service.Auth.FailOpen, service.Auth.StatusOnError))
	if service.Auth.HTTP == nil {
		return words
	}
	return strings.Join(append([]string{words}, httpAuthWords(service.Auth)...), "; ")
}

// httpAuthWords returns, as texts, what Envoy sends to an HTTP authorization service, and which headers of its
// answer the backend gets.
func httpAuthWords(auth *ir.AuthService) []string {
	sent := append([]string{"method", "path", "host", "authorization"}, auth.Headers...)
	for _, header := range auth.HTTP.Add {
		sent = append(sent, strings.ToLower(header.Name))
	}
	words := "it is sent " + strings.Join(sent, ", ")
	if auth.HTTP.Prefix != "" {
		words = fmt.Sprintf("it is sent %s, with %s before the path", strings.Join(sent, ", "), auth.HTTP.Prefix)
	}
	out := []string{words}
	switch {
	case auth.HTTP.AllToBackend:
		out = append(out, "the backend gets all headers of an answer of 200")
	case len(auth.HTTP.ToBackend) > 0:
		out = append(out, fmt.Sprintf("the backend gets %s of an answer of 200, never the client's", strings.Join(auth.HTTP.ToBackend, ", ")))
	}
	return out
}

// authGate returns what extAuth does with a request. The gate is empty if Envoy certainly lets the request
// pass. It has a status if Envoy itself rejects the request. Otherwise the list gate.unless says in which cases the
// request is rejected. If Envoy asks an HTTP service, authGate also sets r.answered to the headers that the service
// sets for the backend.
func authGate(rule *ir.Rule, r *request) gate {
	auth := rule.Action.AuthInForce()
	if auth == nil {
		return gate{}
	}
	if climbs(auth, r) {
		return gate{status: http.StatusForbidden, why: fmt.Sprintf("Envoy rejects the path %q by %s: it has a step .. that could lead out of %s",
			r.path, partsOf(&rule.Action, auth.PartKind()), auth.Extension.Auth.HTTP.Prefix)}
	}
	out := decision(rule, r, auth)
	if http := auth.Extension.Auth.HTTP; http != nil && r.asks(auth) {
		r.answered = http.ToBackend
	}
	return out
}

// asks reports whether Envoy may ask the authorization service about the request: extAuth applies to more than 0% of
// the requests, and Envoy can reach the service.
func (r *request) asks(auth *ir.ExtAuth) bool {
	return auth.Extension.Auth.Percent > 0 && unreachable(r.clusters, auth.Extension) == ""
}

// decision returns what extAuth does with a request, as a gate. authGate calls it after the check of the request's
// path (climbs). The gate is empty if the request certainly passes. It has a status if Envoy itself rejects the
// request. Otherwise the list gate.unless says in which cases the request is rejected.
func decision(rule *ir.Rule, r *request, auth *ir.ExtAuth) gate {
	service := auth.Extension
	name, percent := service.Service.Cluster, service.Auth.Percent
	large, reason := r.exceeds(auth), unreachable(r.clusters, service)
	switch {
	case percent == 0:
		return gate{}
	case large > 0 && percent == 100:
		return gate{status: http.StatusRequestEntityTooLarge, why: fmt.Sprintf("the request has a body of %d bytes, and %s takes %d", r.bodyBytes(), partsOf(&rule.Action, auth.PartKind()), large)}
	case reason == "":
		lines := []string{fmt.Sprintf("extAuth: %s denies it%s", name, orNoAnswer(service.Auth.FailOpen, service.Auth.StatusOnError))}
		return gate{unless: append(lines, overfull("extAuth", service, r)...)}
	case service.Auth.FailOpen:
		return gate{}
	case percent < 100:
		return gate{unless: []string{fmt.Sprintf("extAuth: it is one of the %d%% about which Envoy cannot ask %s (%d): %s", percent, name, service.Auth.StatusOnError, reason)}}
	}
	return outage(&rule.Action, auth.ExtensionUse, service.Auth.StatusOnError, reason)
}

// climbs reports whether a path has a ".." segment that Envoy does not resolve: for example, its slashes are
// percent-encoded. The authorization service could resolve this segment, and would then decide about a path
// outside of its prefix. climbs returns false if the service has no prefix.
func climbs(auth *ir.ExtAuth, r *request) bool {
	http := auth.Extension.Auth.HTTP
	if http == nil || http.Prefix == "" {
		return false
	}
	path := strings.NewReplacer("%2f", "/", "%2F", "/", "%5c", "/", "%5C", "/", "\\", "/", "%2e", ".", "%2E", ".", "%3b", ";", "%3B", ";").Replace(r.path)
	for step := range strings.SplitSeq(path, "/") {
		if before, _, _ := strings.Cut(step, ";"); before == ".." {
			return true
		}
	}
	return false
}

// exceeds reports whether the request's body is too long for extAuth: if it is longer than the body limit, exceeds
// returns this limit in bytes. Otherwise the result is 0. It is also 0 if Envoy sends the service no body, or only
// the beginning of a body.
func (r *request) exceeds(auth *ir.ExtAuth) uint32 {
	body := cmp.Or(auth.Body, auth.Extension.Auth.Body)
	if body == nil || body.Partial || r.upgrades() || r.bodyBytes() <= int64(body.Max) {
		return 0
	}
	return body.Max
}

// replaceIdentity removes the request headers that an HTTP authorization service sets. If Envoy calls the service,
// replaceIdentity then sets these headers to unknownAnswer, the placeholder for values of the service's answer.
func replaceIdentity(r *request, headers headerFields, extras *ir.Extras) {
	auth := extras.ExtAuth
	if auth == nil || auth.Extension.Auth.HTTP == nil {
		return
	}
	for _, name := range auth.Extension.Auth.HTTP.ToBackend {
		headers.remove(name)
		if r.asks(auth) {
			headers.set(name, unknownAnswer)
		}
	}
}
