package policy

import (
	"maps"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// ServiceNotAllowed is the code of a problem: an object uses an external service that only files of the platform
// team (--cluster-paths) may use, and the object is in another file.
const ServiceNotAllowed = "ExtensionNotAllowed"

// LowerExtension converts a GatewayExtension of any kind except jwt. It also returns the reference to the backend
// of the external service; the caller resolves this reference and sets Service.Cluster. The problems name fields;
// the caller adds the object. If a problem is an error, the extension must not be used.
func LowerExtension(key manifest.Key, spec *api.GatewayExtensionSpec) (*ir.Extension, *api.BackendRef, []manifest.Problem) {
	switch {
	case spec.ExtAuth != nil && spec.ExtAuth.HTTPService != nil:
		return lowerHTTPService(spec.ExtAuth), &spec.ExtAuth.HTTPService.BackendRef, nil
	case spec.ExtAuth != nil:
		return &ir.Extension{Service: grpcService(spec.ExtAuth.GRPCService), Auth: lowerAuthService(spec.ExtAuth)}, &spec.ExtAuth.GRPCService.BackendRef, nil
	case spec.ExtProc != nil:
		return lowerProcessor(spec.ExtProc), &spec.ExtProc.GRPCService.BackendRef, nil
	case spec.OAuth2 != nil:
		signIn, problems := lowerSignIn(key, spec.OAuth2)
		return signIn, &spec.OAuth2.BackendRef, problems
	}
	return lowerLimiter(spec.RateLimit)
}

// lowerAuthService converts the settings of extAuth. It does not convert the service that Envoy asks for
// authorization: the callers do.
func lowerAuthService(from *api.ExtAuthProvider) *ir.AuthService {
	return &ir.AuthService{
		FailOpen: from.FailOpen, StatusOnError: uint32(from.StatusOnError), Headers: HeaderNames(from.HeadersToForward),
		Body: requestBody(from.WithRequestBody), Percent: number(from.PercentageEnabled, 100), StatPrefix: api.Text(from.StatPrefix),
	}
}

// lowerHTTPService converts extAuth with a service that Envoy calls by HTTP.
func lowerHTTPService(from *api.ExtAuthProvider) *ir.Extension {
	service := from.HTTPService
	to := &ir.Extension{Service: ir.Service{Timeout: api.ParseDuration(service.RequestTimeout), Retry: callRetry(service.Retry)}, Auth: lowerAuthService(from)}
	http := &ir.HTTPAuth{Prefix: api.Text(service.PathPrefix)}
	if request := service.AuthorizationRequest; request != nil {
		for _, name := range slices.Sorted(maps.Keys(request.HeadersToAdd)) {
			http.Add = append(http.Add, ir.Header{Name: name, Value: request.HeadersToAdd[name]})
		}
	}
	if answer := service.AuthorizationResponse; answer != nil {
		http.ToBackend, http.ToClient = HeaderNames(answer.HeadersToBackend), HeaderNames(answer.HeadersToClient)
		http.OnSuccess = HeaderNames(answer.HeadersToClientOnSuccess)
	}
	to.Auth.HTTP = http
	return to
}

// HeaderNames returns the header names in lower case, sorted and without duplicates.
func HeaderNames(names []string) []string {
	var out []string
	for _, name := range names {
		out = append(out, strings.ToLower(name))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// lowerProcessor converts extProc.
func lowerProcessor(from *api.ExtProcProvider) *ir.Extension {
	to := &ir.ProcessorService{
		FailOpen: from.FailOpen == nil || *from.FailOpen, Mode: processingMode(from.ProcessingMode),
		Chooses:        from.AllowProcessingModeOverride,
		MessageTimeout: api.ParseDuration(from.MessageTimeout), MaxMessageTimeout: api.ParseDuration(from.MaxMessageTimeout),
		StatPrefix: api.Text(from.StatPrefix),
	}
	for i := range from.AllowedProcessingModeOverrides {
		to.Choices = append(to.Choices, *processingMode(&from.AllowedProcessingModeOverrides[i]))
	}
	return &ir.Extension{Service: grpcService(&from.GRPCService), Processor: to}
}

// lowerLimiter converts rateLimit. Its results are those of LowerExtension.
func lowerLimiter(from *api.RateLimitProvider) (*ir.Extension, *api.BackendRef, []manifest.Problem) {
	var problems []manifest.Problem
	if from.GRPCService.RequestTimeout != nil {
		problems = append(problems, warning("spec.rateLimit.grpcService.requestTimeout",
			"a rate limit does not heed requestTimeout", "set spec.rateLimit.timeout"))
	}
	return &ir.Extension{
		Service: grpcService(&from.GRPCService),
		Limiter: &ir.LimitService{
			Domain: from.Domain, FailOpen: from.FailOpen == nil || *from.FailOpen,
			Timeout: api.ParseDuration(from.Timeout), Headers: api.Text(from.XRateLimitHeaders) == "DraftVersion03",
		},
	}, &from.GRPCService.BackendRef, problems
}

// grpcService converts the settings by which Envoy calls an external service by gRPC. The field Cluster of the
// result is not set: the caller resolves the backend.
func grpcService(from *api.GRPCService) ir.Service {
	return ir.Service{Authority: api.Text(from.Authority), Timeout: api.ParseDuration(from.RequestTimeout), Retry: callRetry(from.Retry)}
}

// callRetry converts the retries of calls. It returns nil if there are none.
func callRetry(from *api.ServiceRetry) *ir.ServiceRetry {
	if from == nil || from.Attempts == 0 {
		return nil
	}
	to := &ir.ServiceRetry{Attempts: uint32(from.Attempts)}
	if backoff := from.Backoff; backoff != nil {
		to.Base = *api.ParseDuration(&backoff.BaseInterval)
		if most := api.ParseDuration(backoff.MaxInterval); most != nil {
			to.Max = *most
		}
	}
	return to
}
