package policy

import (
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// LowerExtension converts a GatewayExtension, without the cluster of its service, and returns
// the service. Problems name fields; the caller adds the object. If one is an error, the
// extension must not be used.
func LowerExtension(spec *api.GatewayExtensionSpec) (*ir.Extension, *api.GRPCService, []manifest.Problem) {
	switch {
	case spec.ExtAuth != nil:
		return lowerAuthService(spec.ExtAuth), &spec.ExtAuth.GRPCService, nil
	case spec.ExtProc != nil:
		return lowerProcessor(spec.ExtProc), &spec.ExtProc.GRPCService, nil
	}
	return lowerLimiter(spec.RateLimit)
}

func lowerAuthService(from *api.ExtAuthProvider) *ir.Extension {
	return &ir.Extension{
		Service: grpcService(&from.GRPCService),
		Auth: &ir.AuthService{
			FailOpen: from.FailOpen, StatusOnError: uint32(from.StatusOnError), Headers: from.HeadersToForward,
			Body: requestBody(from.WithRequestBody), Percent: number(from.PercentageEnabled, 100), StatPrefix: api.Text(from.StatPrefix),
		},
	}
}

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

func lowerLimiter(from *api.RateLimitProvider) (*ir.Extension, *api.GRPCService, []manifest.Problem) {
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
	}, &from.GRPCService, problems
}

func grpcService(from *api.GRPCService) ir.Service {
	to := ir.Service{Authority: api.Text(from.Authority), Timeout: api.ParseDuration(from.RequestTimeout)}
	if retry := from.Retry; retry != nil && retry.Attempts > 0 {
		to.Retry = &ir.ServiceRetry{Attempts: uint32(retry.Attempts)}
		if backoff := retry.Backoff; backoff != nil {
			to.Retry.Base = *api.ParseDuration(&backoff.BaseInterval)
			if most := api.ParseDuration(backoff.MaxInterval); most != nil {
				to.Retry.Max = *most
			}
		}
	}
	return to
}
