package xds

import (
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/config/ratelimit/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	procv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	chainv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/filter_chain/v3"
	ratefilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ratelimit/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatefold/gatefold/translate/ir"
)

// Each filter that calls an external service is in a chain of filters of its own: see httpFilter.service.

const (
	extProcName         = "gatefold/" + string(ir.FieldExtProc)
	globalRateLimitName = "gatefold/" + string(ir.FieldGlobalRateLimit)
)

// extProcFilter returns the HTTP filter for the policy field extProc.
func extProcFilter() httpFilter {
	return httpFilter{name: extProcName, chain: emptyChain, joined: true, service: extProcessor, upgradeService: upgradeProcessor}
}

// globalRateLimitFilter returns the HTTP filter for the policy field rateLimit.global.
func globalRateLimitFilter() httpFilter {
	return httpFilter{name: globalRateLimitName, chain: emptyChain, joined: true, service: globalLimit}
}

// emptyChain returns a filter chain without filters. It is the configuration, in the listener, of each filter
// that calls an external service (see httpFilter.service).
func emptyChain() message { return &chainv3.FilterChainConfig{} }

// extProcessor returns the configuration of the filter for extProc, or nil without extProc. If the external
// service changes a request, Envoy keeps the route that it chose before. Otherwise Envoy could choose another
// route, whose policies would not be applied to the request.
func extProcessor(extras *ir.Extras) message {
	if extras.ExtProc == nil {
		return nil
	}
	service := extras.ExtProc.Extension
	mode := extras.ExtProc.Mode
	if mode == nil {
		mode = service.Processor.Mode
	}
	config := &procv3.ExternalProcessor{
		GrpcService:       grpcService(service.Service),
		FailureModeAllow:  service.Processor.FailOpen,
		ProcessingMode:    processingMode(mode),
		MessageTimeout:    optionalDuration(service.Processor.MessageTimeout),
		MaxMessageTimeout: optionalDuration(service.Processor.MaxMessageTimeout),
		StatPrefix:        service.Processor.StatPrefix,
		AllowModeOverride: service.Processor.Chooses,
		RouteCacheAction:  procv3.ExternalProcessor_RETAIN,
		MutationRules:     serviceRules(),
	}
	for i := range service.Processor.Choices {
		config.AllowedOverrideModes = append(config.AllowedOverrideModes, processingMode(&service.Processor.Choices[i]))
	}
	return config
}

// upgradeProcessor returns the configuration of extProcessor for WebSockets, or nil without extProc. The processor
// gets no body that Envoy would have to buffer, because a WebSocket has no end. It also cannot change the mode for a
// request.
func upgradeProcessor(extras *ir.Extras) message {
	config, ok := extProcessor(extras).(*procv3.ExternalProcessor)
	if !ok {
		return nil
	}
	config.AllowModeOverride, config.AllowedOverrideModes = false, nil
	if mode := config.ProcessingMode; mode != nil {
		mode.RequestBodyMode, mode.ResponseBodyMode = unbuffered(mode.RequestBodyMode), unbuffered(mode.ResponseBodyMode)
	}
	return config
}

// unbuffered returns NONE for a mode that makes Envoy buffer a body. Any other mode is returned unchanged.
func unbuffered(mode procv3.ProcessingMode_BodySendMode) procv3.ProcessingMode_BodySendMode {
	if mode == procv3.ProcessingMode_BUFFERED || mode == procv3.ProcessingMode_BUFFERED_PARTIAL {
		return procv3.ProcessingMode_NONE
	}
	return mode
}

// processingMode converts a mode of a processor. nil stays nil.
func processingMode(from *ir.ProcessingMode) *procv3.ProcessingMode {
	if from == nil {
		return nil
	}
	headers := func(mode string) procv3.ProcessingMode_HeaderSendMode {
		return procv3.ProcessingMode_HeaderSendMode(procv3.ProcessingMode_HeaderSendMode_value[mode])
	}
	body := func(mode string) procv3.ProcessingMode_BodySendMode {
		return procv3.ProcessingMode_BodySendMode(procv3.ProcessingMode_BodySendMode_value[mode])
	}
	return &procv3.ProcessingMode{
		RequestHeaderMode: headers(from.RequestHeaders), ResponseHeaderMode: headers(from.ResponseHeaders),
		RequestBodyMode: body(from.RequestBody), ResponseBodyMode: body(from.ResponseBody),
		RequestTrailerMode: headers(from.RequestTrailers), ResponseTrailerMode: headers(from.ResponseTrailers),
	}
}

// globalLimit returns the configuration of the filter of rateLimit.global, or nil without that field.
func globalLimit(extras *ir.Extras) message {
	if extras.GlobalLimit == nil {
		return nil
	}
	service := extras.GlobalLimit.Extension
	config := &ratefilterv3.RateLimit{
		Domain:          service.Limiter.Domain,
		Timeout:         optionalDuration(service.Limiter.Timeout),
		FailureModeDeny: !service.Limiter.FailOpen,
		RateLimitService: &ratelimitv3.RateLimitServiceConfig{
			GrpcService: grpcService(service.Service), TransportApiVersion: corev3.ApiVersion_V3,
		},
	}
	if service.Limiter.Headers {
		config.EnableXRatelimitHeaders = ratefilterv3.RateLimit_DRAFT_VERSION_03
	}
	for _, descriptor := range extras.GlobalLimit.Descriptors {
		limit := &routev3.RateLimit{}
		for _, entry := range descriptor {
			limit.Actions = append(limit.Actions, limitAction(entry))
		}
		config.RateLimits = append(config.RateLimits, limit)
	}
	return config
}

// limitAction returns how Envoy computes an entry of a descriptor.
func limitAction(entry ir.LimitEntry) *routev3.RateLimit_Action {
	switch {
	case entry.Address:
		return &routev3.RateLimit_Action{ActionSpecifier: &routev3.RateLimit_Action_RemoteAddress_{
			RemoteAddress: &routev3.RateLimit_Action_RemoteAddress{},
		}}
	case entry.Header != "":
		return &routev3.RateLimit_Action{ActionSpecifier: &routev3.RateLimit_Action_RequestHeaders_{
			RequestHeaders: &routev3.RateLimit_Action_RequestHeaders{HeaderName: entry.Header, DescriptorKey: entry.Key},
		}}
	}
	return &routev3.RateLimit_Action{ActionSpecifier: &routev3.RateLimit_Action_GenericKey_{
		GenericKey: &routev3.RateLimit_Action_GenericKey{DescriptorKey: entry.Key, DescriptorValue: entry.Value},
	}}
}

// callRetries are the failures after which Envoy repeats a call by gRPC: the service could not be reached, it did not
// answer, or its answer is the gRPC status UNAVAILABLE.
const callRetries = "connect-failure,refused-stream,reset,unavailable"

// grpcService returns how Envoy calls a service by gRPC.
func grpcService(from ir.Service) *corev3.GrpcService {
	service := &corev3.GrpcService{
		TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{
			EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: from.Cluster, Authority: from.Authority},
		},
		Timeout: optionalDuration(from.Timeout),
	}
	if from.Retry != nil {
		service.RetryPolicy = &corev3.RetryPolicy{
			NumRetries: wrapperspb.UInt32(from.Retry.Attempts), RetryOn: callRetries, RetryBackOff: callBackoff(from.Retry),
		}
	}
	return service
}

// callBackoff returns the wait between retries of a call. If Base is 0, it returns nil, which means Envoy's default,
// and Max has no effect. If Max is 0, the longest wait is ten times Base. Waits are limited to what Envoy accepts
// (leastBackoff, longestBackoff).
func callBackoff(from *ir.ServiceRetry) *corev3.BackoffStrategy {
	if from.Base == 0 {
		return nil
	}
	base := max(from.Base, leastBackoff)
	to := &corev3.BackoffStrategy{BaseInterval: durationpb.New(base), MaxInterval: durationpb.New(min(base, longestBackoff/backoffGrowth) * backoffGrowth)}
	if from.Max > 0 {
		to.MaxInterval = durationpb.New(max(base, min(from.Max, longestBackoff)))
	}
	return to
}

// checkExtProc rejects what Envoy would reject in extProc.
func checkExtProc(c *checker, extras *ir.Extras) {
	if extras.ExtProc != nil {
		c.processingMode(ir.FieldExtProc.Path()+".processingMode", extras.ExtProc.Mode)
	}
}

// checkGlobalRateLimit rejects what Envoy would reject in rateLimit.global.
func checkGlobalRateLimit(c *checker, extras *ir.Extras) {
	if extras.GlobalLimit == nil {
		return
	}
	for i, descriptor := range extras.GlobalLimit.Descriptors {
		for j, entry := range descriptor {
			at := fmt.Sprintf("%s.descriptors[%d].entries[%d]", ir.FieldGlobalRateLimit.Path(), i, j)
			c.text(at, entry.Key)
			c.text(at, entry.Value)
		}
	}
}

const streamedBoth = "FULL_DUPLEX_STREAMED"

// processingMode rejects a mode that Envoy would reject. The parameter mode may be nil.
func (c *checker) processingMode(field string, mode *ir.ProcessingMode) {
	if mode == nil {
		return
	}
	for _, side := range []struct{ name, body, trailers string }{
		{"request", mode.RequestBody, mode.RequestTrailers},
		{"response", mode.ResponseBody, mode.ResponseTrailers},
	} {
		if side.body == streamedBoth && side.trailers != "SEND" {
			c.reject(field+"."+side.name+"TrailerMode", streamedBoth+" wants the trailers too", "set "+side.name+"TrailerMode: SEND")
		}
	}
}
