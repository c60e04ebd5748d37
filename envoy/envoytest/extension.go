package envoytest

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	processorv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	limiterv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Extension is a gRPC server with three external services for Envoy. Except for rate limits and the header
// x-flaky, each answer depends only on the request:
//
//   - Authorization allows requests with "x-token: good". It then sets x-user (the name of the server) and
//     x-asked (see asked) in the request, and x-checked in the response. Other requests get 401. The first
//     check with each value of x-flaky fails with an error.
//   - ExternalProcessor sets x-processed in requests and responses to the name of the server. For a request
//     body it sets x-body to the length. A request with the header x-refuse gets 403.
//   - RateLimitService allows limitOfEach requests for each descriptor, and sets x-limit in the response.
type Extension struct {
	authv3.UnimplementedAuthorizationServer
	processorv3.UnimplementedExternalProcessorServer
	limiterv3.UnimplementedRateLimitServiceServer

	name   string
	server *grpc.Server
	calls  atomic.Int64

	mu   sync.Mutex
	seen map[string]int // calls by rate limit descriptor or by x-flaky
}

// limitOfEach is how many requests an Extension allows for each descriptor.
const limitOfEach = 2

// StartExtension starts an Extension on "ip:port". It stops when the test ends.
func StartExtension(t testing.TB, name, address string) *Extension {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	e := &Extension{name: name, server: grpc.NewServer(), seen: map[string]int{}}
	authv3.RegisterAuthorizationServer(e.server, e)
	processorv3.RegisterExternalProcessorServer(e.server, e)
	limiterv3.RegisterRateLimitServiceServer(e.server, e)
	served := make(chan error, 1)
	go func() { served <- e.server.Serve(listener) }()
	t.Cleanup(func() {
		e.Close()
		if err := <-served; err != nil {
			t.Errorf("extension %s: %v", name, err)
		}
	})
	return e
}

// Close stops the server and closes all connections. A second call does nothing.
func (e *Extension) Close() { e.server.Stop() }

// Calls returns how often the three services were called in total.
func (e *Extension) Calls() int64 { return e.calls.Load() }

// Check implements the service Authorization.
func (e *Extension) Check(_ context.Context, r *authv3.CheckRequest) (*authv3.CheckResponse, error) {
	e.calls.Add(1)
	headers := r.GetAttributes().GetRequest().GetHttp().GetHeaders()
	if flaky := headers["x-flaky"]; flaky != "" && e.count("flaky "+flaky) == 1 {
		return nil, status.Error(codes.Unavailable, "not now")
	}
	if headers["x-token"] != "good" {
		return &authv3.CheckResponse{
			Status: status.New(codes.Unauthenticated, "").Proto(),
			HttpResponse: &authv3.CheckResponse_DeniedResponse{DeniedResponse: &authv3.DeniedHttpResponse{
				Status: &typev3.HttpStatus{Code: typev3.StatusCode_Unauthorized},
			}},
		}, nil
	}
	return &authv3.CheckResponse{
		Status: status.New(codes.OK, "").Proto(),
		HttpResponse: &authv3.CheckResponse_OkResponse{OkResponse: &authv3.OkHttpResponse{
			Headers:              setHeaders("x-user", e.name, "x-asked", asked(r)),
			ResponseHeadersToAdd: setHeaders("x-checked", e.name),
		}},
	}, nil
}

// count adds one to the calls with this key and returns their number.
func (e *Extension) count(key string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen[key]++
	return e.seen[key]
}

// asked returns a text that describes a CheckRequest: its context extensions, the length of the body, and the
// header x-secret. It returns "nothing" if all are missing.
func asked(r *authv3.CheckRequest) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(r.GetAttributes().GetContextExtensions())) {
		parts = append(parts, key+"="+r.GetAttributes().GetContextExtensions()[key])
	}
	http := r.GetAttributes().GetRequest().GetHttp()
	if n := len(http.GetBody()) + len(http.GetRawBody()); n > 0 {
		parts = append(parts, fmt.Sprint("body=", n))
	}
	if secret, ok := http.GetHeaders()["x-secret"]; ok {
		parts = append(parts, "secret="+secret)
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ",")
}

// setHeaders returns headers. The parameter pairs lists names and values in turn: name, value, name, value.
func setHeaders(pairs ...string) []*corev3.HeaderValueOption {
	var out []*corev3.HeaderValueOption
	for pair := range slices.Chunk(pairs, 2) {
		out = append(out, &corev3.HeaderValueOption{
			Header:       &corev3.HeaderValue{Key: pair[0], Value: pair[1]},
			AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
		})
	}
	return out
}

// Process implements the service ExternalProcessor. It returns when Envoy ends the stream.
func (e *Extension) Process(stream processorv3.ExternalProcessor_ProcessServer) error {
	e.calls.Add(1)
	for {
		request, err := stream.Recv()
		if err != nil {
			return nil //nolint:nilerr // Envoy has ended the stream
		}
		if err := stream.Send(e.processed(request)); err != nil {
			return err
		}
	}
}

// processed returns the answer to one message of Envoy.
func (e *Extension) processed(r *processorv3.ProcessingRequest) *processorv3.ProcessingResponse {
	changed := &processorv3.HeadersResponse{Response: &processorv3.CommonResponse{
		HeaderMutation: &processorv3.HeaderMutation{SetHeaders: rawHeaders("x-processed", e.name)},
	}}
	switch step := r.GetRequest().(type) {
	case *processorv3.ProcessingRequest_RequestHeaders:
		for _, header := range step.RequestHeaders.GetHeaders().GetHeaders() {
			if header.GetKey() == "x-refuse" {
				return &processorv3.ProcessingResponse{Response: &processorv3.ProcessingResponse_ImmediateResponse{
					ImmediateResponse: &processorv3.ImmediateResponse{Status: &typev3.HttpStatus{Code: typev3.StatusCode_Forbidden}},
				}}
			}
		}
		return &processorv3.ProcessingResponse{Response: &processorv3.ProcessingResponse_RequestHeaders{RequestHeaders: changed}}
	case *processorv3.ProcessingRequest_ResponseHeaders:
		return &processorv3.ProcessingResponse{Response: &processorv3.ProcessingResponse_ResponseHeaders{ResponseHeaders: changed}}
	case *processorv3.ProcessingRequest_RequestBody:
		body := &processorv3.BodyResponse{Response: &processorv3.CommonResponse{HeaderMutation: &processorv3.HeaderMutation{
			SetHeaders: rawHeaders("x-body", fmt.Sprint(len(step.RequestBody.GetBody()))),
		}}}
		return &processorv3.ProcessingResponse{Response: &processorv3.ProcessingResponse_RequestBody{RequestBody: body}}
	case *processorv3.ProcessingRequest_ResponseBody:
		return &processorv3.ProcessingResponse{Response: &processorv3.ProcessingResponse_ResponseBody{ResponseBody: &processorv3.BodyResponse{}}}
	}
	return &processorv3.ProcessingResponse{}
}

// rawHeaders returns a list with one header in the form that ext_proc requires: the value is bytes.
func rawHeaders(name, value string) []*corev3.HeaderValueOption {
	return []*corev3.HeaderValueOption{{
		Header:       &corev3.HeaderValue{Key: name, RawValue: []byte(value)},
		AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
	}}
}

// ShouldRateLimit implements the service RateLimitService.
func (e *Extension) ShouldRateLimit(_ context.Context, r *limiterv3.RateLimitRequest) (*limiterv3.RateLimitResponse, error) {
	e.calls.Add(1)
	out := &limiterv3.RateLimitResponse{OverallCode: limiterv3.RateLimitResponse_OK}
	var keys []string
	for _, descriptor := range r.GetDescriptors() {
		var entries []string
		for _, entry := range descriptor.GetEntries() {
			entries = append(entries, entry.GetKey()+"="+entry.GetValue())
		}
		key := r.GetDomain() + ":" + strings.Join(entries, ",")
		keys = append(keys, key)
		seen := e.count(key)
		code := limiterv3.RateLimitResponse_OK
		if seen > limitOfEach {
			code = limiterv3.RateLimitResponse_OVER_LIMIT
			out.OverallCode = code
		}
		out.Statuses = append(out.Statuses, &limiterv3.RateLimitResponse_DescriptorStatus{
			Code:           code,
			CurrentLimit:   &limiterv3.RateLimitResponse_RateLimit{RequestsPerUnit: limitOfEach, Unit: limiterv3.RateLimitResponse_RateLimit_HOUR},
			LimitRemaining: uint32(max(0, limitOfEach-seen)),
		})
	}
	out.ResponseHeadersToAdd = []*corev3.HeaderValue{{Key: "x-limit", Value: strings.Join(keys, ";")}}
	return out, nil
}
