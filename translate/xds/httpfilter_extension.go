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

// The filters of fields that need a service have a chain of filters in their place: see
// httpFilter.service.

const (
	extProcName         = "gatefold/" + string(ir.FieldExtProc)
	globalRateLimitName = "gatefold/" + string(ir.FieldGlobalRateLimit)
)

func extProcFilter() httpFilter {
	return httpFilter{name: extProcName, chain: emptyChain, joined: true, service: extProcessor, upgradeService: upgradeProcessor}
}

func globalRateLimitFilter() httpFilter {
	return httpFilter{name: globalRateLimitName, chain: emptyChain, joined: true, service: globalLimit}
}

func emptyChain() message { return &chainv3.FilterChainConfig{} }

// extProcessor returns the filter of a processor. It never lets Envoy choose the route again: the
// request would meet the new route without that route's policies.
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

// upgradeProcessor returns the processor for WebSockets. It gets no body that it would have to wait
// for, because a WebSocket has no end, and cannot ask for one.
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

// unbuffered returns NONE for a mode that waits for the end of a body.
func unbuffered(mode procv3.ProcessingMode_BodySendMode) procv3.ProcessingMode_BodySendMode {
	if mode == procv3.ProcessingMode_BUFFERED || mode == procv3.ProcessingMode_BUFFERED_PARTIAL {
		return procv3.ProcessingMode_NONE
	}
	return mode
}

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

// callRetries are the failures of a call after which it is repeated: none of them
// is an answer.
const callRetries = "connect-failure,refused-stream,reset,unavailable"

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

func checkExtProc(c *checker, extras *ir.Extras) {
	if extras.ExtProc != nil {
		c.processingMode(ir.FieldExtProc.Path()+".processingMode", extras.ExtProc.Mode)
	}
}

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

// processingMode rejects what Envoy rejects of a mode.
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
