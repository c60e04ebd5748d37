package route

import (
	"net/http"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/policy"
)

// externalAuth sets a.action.ExternalAuth from the filter ExternalAuth: an external service decides about the
// requests of a rule (GEP-1494). The filter replaces the field extAuth of policies. externalAuth returns false if the
// service cannot be used. The rule then answers 500. The parameter field is the path of the filter.
func externalAuth(a *actionBuilder, field string, f *gwv1.HTTPRouteFilter) bool {
	from := f.ExternalAuth
	calls := from.ExternalAuthProtocol == gwv1.HTTPRouteExternalAuthGRPCProtocol
	if calls && a.object.Source == manifest.OtherFile {
		a.problem(manifest.Error, policy.ServiceNotAllowed, field+".externalAuth.protocol",
			"a service for gRPC comes from files of --cluster-paths alone, as it could change the answers to other users of the listener; the rule answers 500",
			"use protocol HTTP, or have the platform define a GatewayExtension in a file of --cluster-paths, if it trusts the service")
		a.flat.Unserved(field + ".externalAuth.protocol: GRPC is for files of --cluster-paths")
		a.reportOnly(func(unused *actionBuilder) {
			unused.resolved(field+".externalAuth.backendRef", a.resolve(from.BackendRef, calls))
		})
		return false
	}
	cluster, _ := a.resolved(field+".externalAuth.backendRef", a.resolve(from.BackendRef, calls))
	if cluster == "" {
		return false
	}
	a.action.ExternalAuth = &ir.ExtAuth{ExtensionUse: ir.ExtensionUse{
		Field: ir.FieldExtAuth, Filter: true,
		Extension: &ir.Extension{Service: ir.Service{Cluster: cluster}, Auth: authService(from)},
	}}
	if auth := a.action.ExternalAuth.Extension.Auth; auth.HTTP != nil && auth.HTTP.AllToBackend {
		a.problem(manifest.Warning, "ForgeableHeaders", field+".externalAuth.http.allowedResponseHeaders",
			"the backend receives every header of the service's answer, and of any other header the copy that a client sends",
			"list the headers that the service writes: a client's copies of those are removed")
	}
	return true
}

// authService converts the settings of a filter ExternalAuth, except its backendRef. FailOpen is always false
// (GEP-1494: "this filter MUST fail closed").
func authService(from *gwv1.HTTPExternalAuthFilter) *ir.AuthService {
	to := &ir.AuthService{StatusOnError: http.StatusForbidden, Percent: 100}
	if body := from.ForwardBody; body != nil && body.MaxSize > 0 {
		to.Body = &ir.RequestBody{Max: uint32(body.MaxSize)}
	}
	if from.GRPCAuthConfig != nil {
		to.Headers = policy.HeaderNames(from.GRPCAuthConfig.AllowedRequestHeaders)
	}
	if from.ExternalAuthProtocol != gwv1.HTTPRouteExternalAuthHTTPProtocol {
		return to
	}
	to.HTTP = &ir.HTTPAuth{AllToBackend: true}
	if from.HTTPAuthConfig != nil {
		to.Headers = policy.HeaderNames(from.HTTPAuthConfig.AllowedRequestHeaders)
		to.HTTP.ToBackend = policy.HeaderNames(from.HTTPAuthConfig.AllowedResponseHeaders)
		to.HTTP.AllToBackend = len(to.HTTP.ToBackend) == 0
		to.HTTP.Prefix = from.HTTPAuthConfig.Path
	}
	return to
}
