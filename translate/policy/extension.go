package policy

import (
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/translate/ir"
)

// LowerExtension gives what a GatewayExtension comes to, without the cluster of its
// service, and the service; both nil where it has none that is supported. Problems
// name fields, the caller adds the object. With an error among them the extension
// must not be used.
func LowerExtension(spec *api.GatewayExtensionSpec) (*ir.Extension, *api.GRPCService, []store.Problem) {
	switch {
	case spec.ExtAuth != nil:
		return lowerAuthService(spec.ExtAuth)
	case spec.ExtProc != nil:
		return lowerProcessor(spec.ExtProc)
	case spec.RateLimit != nil:
		return lowerLimiter(spec.RateLimit)
	case spec.JWT != nil:
		return nil, nil, []store.Problem{unsupported("spec.jwt", "jwt", "check tokens in a service of your own, by extAuth")}
	}
	return nil, nil, []store.Problem{unsupported("spec.oauth2", "oauth2", "have logins done by a service of your own, by extAuth")}
}

func lowerAuthService(from *api.ExtAuthProvider) (*ir.Extension, *api.GRPCService, []store.Problem) {
	if from.GRPCService == nil {
		return nil, nil, []store.Problem{unsupported("spec.extAuth.httpService", "httpService", "use grpcService")}
	}
	var problems []store.Problem
	if from.ClearRouteCache {
		problems = append(problems, unsupported("spec.extAuth.clearRouteCache", "clearRouteCache", anotherRoute))
	}
	return &ir.Extension{
		Service: grpcService(from.GRPCService),
		Auth: &ir.AuthService{
			FailOpen: from.FailOpen, StatusOnError: uint32(from.StatusOnError), Headers: from.HeadersToForward,
			Body: requestBody(from.WithRequestBody), Percent: number(from.PercentageEnabled, 100), StatPrefix: api.Text(from.StatPrefix),
		},
	}, from.GRPCService, problems
}

// anotherRoute is why a service cannot have the route of a request chosen anew: the
// filters of a request are those of the route that it came in by.
const anotherRoute = "take it out: the request would go to another route without that route's policies"

func lowerProcessor(from *api.ExtProcProvider) (*ir.Extension, *api.GRPCService, []store.Problem) {
	var problems []store.Problem
	if action := api.Text(from.RouteCacheAction); action != "" && action != "Retain" {
		problems = append(problems, unsupported("spec.extProc.routeCacheAction", action, anotherRoute))
	}
	if from.MetadataOptions != nil {
		problems = append(problems, unsupported("spec.extProc.metadataOptions", "metadataOptions", "take it out"))
	}
	to := &ir.ProcessorService{
		FailOpen: from.FailOpen == nil || *from.FailOpen, Mode: processingMode(from.ProcessingMode),
		Chooses:        from.AllowProcessingModeOverride,
		MessageTimeout: api.Duration(from.MessageTimeout), MaxMessageTimeout: api.Duration(from.MaxMessageTimeout),
		StatPrefix: api.Text(from.StatPrefix),
	}
	for i := range from.AllowedProcessingModeOverrides {
		to.Choices = append(to.Choices, *processingMode(&from.AllowedProcessingModeOverrides[i]))
	}
	return &ir.Extension{Service: grpcService(&from.GRPCService), Processor: to}, &from.GRPCService, problems
}

func lowerLimiter(from *api.RateLimitProvider) (*ir.Extension, *api.GRPCService, []store.Problem) {
	var problems []store.Problem
	if from.GRPCService.RequestTimeout != nil {
		problems = append(problems, warning("spec.rateLimit.grpcService.requestTimeout",
			"a rate limit does not heed requestTimeout", "set spec.rateLimit.timeout"))
	}
	return &ir.Extension{
		Service: grpcService(&from.GRPCService),
		Limiter: &ir.LimitService{
			Domain: from.Domain, FailOpen: from.FailOpen == nil || *from.FailOpen,
			Timeout: api.Duration(from.Timeout), Headers: api.Text(from.XRateLimitHeaders) == "DraftVersion03",
		},
	}, &from.GRPCService, problems
}

func grpcService(from *api.GRPCService) ir.Service {
	to := ir.Service{Authority: api.Text(from.Authority), Timeout: api.Duration(from.RequestTimeout)}
	if retry := from.Retry; retry != nil && retry.Attempts > 0 {
		to.Retry = &ir.ServiceRetry{Attempts: uint32(retry.Attempts)}
		if backoff := retry.Backoff; backoff != nil {
			to.Retry.Base = *api.Duration(&backoff.BaseInterval)
			if most := api.Duration(backoff.MaxInterval); most != nil {
				to.Retry.Max = *most
			}
		}
	}
	return to
}
