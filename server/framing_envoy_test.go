package server_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	processorv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	limitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/tenancy"
	"github.com/gatefold/gatefold/translate/cases"
)

// orders is what a hostile service does with a request; the header x-orders has it.
type orders struct {
	Place  string // see the switches
	Name   string
	Value  string
	Status int    // of an answer of the service's own; 0 for 403
	Body   string // of an answer of the service's own
}

// header returns the request header that gives the orders.
func (o orders) header() string {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return "x-orders: " + base64.StdEncoding.EncodeToString(text) + "\r\n"
}

func readOrders(text string) (o orders) {
	if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
		_ = json.Unmarshal(decoded, &o)
	}
	return o
}

// hostileService is an external service of a team that means harm.
type hostileService struct {
	authv3.UnimplementedAuthorizationServer
	processorv3.UnimplementedExternalProcessorServer
	limitv3.UnimplementedRateLimitServiceServer
}

func startHostileService(t testing.TB) (port int) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	service := &hostileService{}
	authv3.RegisterAuthorizationServer(server, service)
	processorv3.RegisterExternalProcessorServer(server, service)
	limitv3.RegisterRateLimitServiceServer(server, service)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().(*net.TCPAddr).Port
}

func options(o orders, raw bool) []*corev3.HeaderValueOption {
	header := &corev3.HeaderValue{Key: o.Name, Value: o.Value}
	if raw {
		header = &corev3.HeaderValue{Key: o.Name, RawValue: []byte(o.Value)}
	}
	action := corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD
	if strings.HasSuffix(o.Place, "append") {
		action = corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD
	}
	return []*corev3.HeaderValueOption{{Header: header, AppendAction: action}}
}

func (*hostileService) Check(_ context.Context, r *authv3.CheckRequest) (*authv3.CheckResponse, error) {
	o := readOrders(r.GetAttributes().GetRequest().GetHttp().GetHeaders()["x-orders"])
	if strings.HasPrefix(o.Place, "denied") {
		return &authv3.CheckResponse{
			Status: status.New(codes.PermissionDenied, "").Proto(),
			HttpResponse: &authv3.CheckResponse_DeniedResponse{DeniedResponse: &authv3.DeniedHttpResponse{
				Status: o.status(), Body: o.Body, Headers: options(o, false),
			}},
		}, nil
	}
	ok := &authv3.OkHttpResponse{}
	switch {
	case o.Place == "request remove":
		ok.HeadersToRemove = []string{o.Name}
	case strings.HasPrefix(o.Place, "request"):
		ok.Headers = options(o, false)
	case strings.HasPrefix(o.Place, "response"):
		ok.ResponseHeadersToAdd = options(o, false)
	}
	return &authv3.CheckResponse{Status: status.New(codes.OK, "").Proto(), HttpResponse: &authv3.CheckResponse_OkResponse{OkResponse: ok}}, nil
}

// status returns that of an answer of the service's own.
func (o orders) status() *typev3.HttpStatus {
	if o.Status == 0 {
		return &typev3.HttpStatus{Code: typev3.StatusCode_Forbidden}
	}
	return &typev3.HttpStatus{Code: typev3.StatusCode(o.Status)}
}

// ShouldRateLimit finds the orders in the descriptor that the policy makes of x-orders.
func (*hostileService) ShouldRateLimit(_ context.Context, r *limitv3.RateLimitRequest) (*limitv3.RateLimitResponse, error) {
	var o orders
	for _, descriptor := range r.GetDescriptors() {
		for _, entry := range descriptor.GetEntries() {
			o = readOrders(entry.GetValue())
		}
	}
	header := []*corev3.HeaderValue{{Key: o.Name, Value: o.Value}}
	if strings.HasSuffix(o.Place, "append") {
		header = []*corev3.HeaderValue{{Key: o.Name, RawValue: []byte(o.Value)}}
	}
	answer := &limitv3.RateLimitResponse{OverallCode: limitv3.RateLimitResponse_OK}
	switch {
	case strings.HasPrefix(o.Place, "denied"):
		answer.OverallCode, answer.ResponseHeadersToAdd, answer.RawBody = limitv3.RateLimitResponse_OVER_LIMIT, header, []byte(o.Body)
	case strings.HasPrefix(o.Place, "request"):
		answer.RequestHeadersToAdd = header
	case strings.HasPrefix(o.Place, "response"):
		answer.ResponseHeadersToAdd = header
	}
	return answer, nil
}

func (*hostileService) Process(stream processorv3.ExternalProcessor_ProcessServer) error {
	var o orders
	for {
		request, err := stream.Recv()
		if err != nil {
			return nil //nolint:nilerr // Envoy has seen enough
		}
		if err := stream.Send(processed(request, &o)); err != nil {
			return err
		}
	}
}

func processed(r *processorv3.ProcessingRequest, o *orders) *processorv3.ProcessingResponse {
	change := func(side string) *processorv3.HeadersResponse {
		mutation := &processorv3.HeaderMutation{}
		switch {
		case o.Place == side+" remove":
			mutation.RemoveHeaders = []string{o.Name}
		case strings.HasPrefix(o.Place, side):
			mutation.SetHeaders = options(*o, true)
		}
		return &processorv3.HeadersResponse{Response: &processorv3.CommonResponse{HeaderMutation: mutation}}
	}
	if step := r.GetRequestHeaders(); step != nil {
		for _, h := range step.GetHeaders().GetHeaders() {
			if h.GetKey() == "x-orders" {
				*o = readOrders(string(h.GetRawValue()))
			}
		}
		if strings.HasPrefix(o.Place, "denied") {
			return &processorv3.ProcessingResponse{Response: &processorv3.ProcessingResponse_ImmediateResponse{ImmediateResponse: &processorv3.ImmediateResponse{
				Status: o.status(), Body: []byte(o.Body), Headers: &processorv3.HeaderMutation{SetHeaders: options(*o, true)},
			}}}
		}
		return &processorv3.ProcessingResponse{Response: &processorv3.ProcessingResponse_RequestHeaders{RequestHeaders: change("request")}}
	}
	return &processorv3.ProcessingResponse{Response: &processorv3.ProcessingResponse_ResponseHeaders{ResponseHeaders: change("response")}}
}

// hostileFolder has a route /calm beside one for each kind of external service, all of the
// attacker's team; every route goes to the same backend.
func hostileFolder(backend, service int) map[string]string {
	ref := "{group: gateway.kgateway.dev, kind: Backend, name: %s}"
	var rules, policies strings.Builder
	for name, field := range map[string]string{
		"auth": "extAuth: {extensionRef: {name: auth}}",
		"proc": "extProc: {extensionRef: {name: proc}}",
		"rate": "rateLimit: {global: {extensionRef: {name: rate}, descriptors: [{entries: [{type: Header, header: x-orders}]}]}}",
	} {
		fmt.Fprintf(&rules, "  - {name: %s, matches: [{path: {value: /%s}}], backendRefs: [%s]}\n", name, name, fmt.Sprintf(ref, "a"))
		fmt.Fprintf(&policies, "---\napiVersion: gateway.kgateway.dev/v1alpha1\nkind: TrafficPolicy\nmetadata: {name: %s}\nspec:\n"+
			"  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: evil, sectionName: %s}]\n  %s\n", name, name, field)
	}
	grpc := "grpcService: {backendRef: " + fmt.Sprintf(ref, "service") + ", requestTimeout: 10s}"
	for name, spec := range map[string]string{
		"auth": "extAuth: {" + grpc + "}",
		"proc": "extProc: {" + grpc + ", messageTimeout: 10s}",
		"rate": "rateLimit: {domain: d, timeout: 10s, " + grpc + "}",
	} {
		fmt.Fprintf(&policies, "---\napiVersion: gateway.kgateway.dev/v1alpha1\nkind: GatewayExtension\nmetadata: {name: %s}\nspec: {%s}\n", name, spec)
	}
	return map[string]string{
		"calm.yaml": fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec: {gatewayClassName: gatefold, listeners: [{name: http, port: 8080, protocol: HTTP}]}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: a}
spec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: %d}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: calm}
spec: {parentRefs: [{name: eg}], rules: [{matches: [{path: {value: /calm}}], backendRefs: [%s]}]}
`, backend, fmt.Sprintf(ref, "a")),
		"evil.yaml": fmt.Sprintf(`
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: service}
spec: {type: Static, static: {appProtocol: grpc, hosts: [{host: 127.0.0.1, port: %d}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: evil}
spec:
  parentRefs: [{name: eg}]
  rules:
%s%s`, service, rules.String(), policies.String()),
	}
}

// TestServicesCannotBreakFraming has an external service of one team give every order that
// could end a message early or late, or begin one. The next request on the client's
// connection, and on Envoy's to the backend, is the innocent's, and stays it.
func TestServicesCannotBreakFraming(t *testing.T) {
	backend := startRawBackend(t)
	run := startCase(t, &cases.Case{Name: "framing"})
	run.apply(cases.Step{Files: hostileFolder(backend.port(), startHostileService(t))})
	address := run.address + ":8080"
	run.envoy.WaitListener(address)
	calm := "GET /calm HTTP/1.1\r\nhost: a\r\n\r\n"
	for _, service := range []string{"auth", "proc"} {
		for _, o := range hostileOrders() {
			if service == "auth" && strings.HasPrefix(o.Place, "response") {
				continue // Envoy has no rules for these: see TestServicesOfTeamsAreNotAsked
			}
			client := dialRaw(t, address)
			_ = client.conn.SetDeadline(time.Now().Add(10 * time.Second))
			attack := fmt.Sprintf("GET /%s HTTP/1.1\r\nhost: a\r\n%s\r\n", service, o.header())
			code, _ := client.send(attack)
			status, body := client.send(calm)
			if status == 0 { // Envoy closed the connection: that is safe
				client = dialRaw(t, address)
				_ = client.conn.SetDeadline(time.Now().Add(10 * time.Second))
				status, body = client.send(calm)
			}
			if status != 200 || body != calmBody {
				t.Errorf("%s %+v (%d): the next client gets %d %q", service, o, code, status, body)
			}
			for _, got := range backend.take() {
				if fault := framingFault(got); fault != "" {
					t.Errorf("%s %+v (%d): %s", service, o, code, fault)
				}
			}
		}
	}
}

// TestServicesOfTeamsAreNotAsked: Envoy lets a service split answers, by a header that it
// adds or by a body where the status says that none follows, and a rate limit service
// change any header of requests. Under path policies a team cannot have one: routes that
// ask for it answer 500, and the next request on the connection is served.
func TestServicesOfTeamsAreNotAsked(t *testing.T) {
	backend := startRawBackend(t)
	run := startCase(t, &cases.Case{Name: "services"})
	fenced, err := store.New(store.Options{ClusterPaths: tenancy.Globs{"platform/**"}})
	if err != nil {
		t.Fatal(err)
	}
	run.store = fenced
	files := hostileFolder(backend.port(), startHostileService(t))
	run.apply(cases.Step{Files: map[string]string{
		"platform/n.yaml":    "apiVersion: v1\nkind: Namespace\nmetadata: {name: default}\n",
		"platform/calm.yaml": files["calm.yaml"], "team/evil.yaml": files["evil.yaml"],
	}})
	address := run.address + ":8080"
	run.envoy.WaitListener(address)
	attacks := map[string][]orders{
		"auth": {{Place: "response set", Name: "content-length", Value: "0"}, {Place: "response set", Name: ":status", Value: "304"}, {Place: "denied set", Status: 204, Body: evilBody}},
		"proc": {{Place: "denied set", Status: 204, Body: evilBody}, {Place: "denied set", Status: 304, Body: evilBody}},
		"rate": {{Place: "response set", Name: "content-length", Value: "0"}, {Place: "request set", Name: "content-length", Value: "50"}, {Place: "request set", Name: "x-a", Value: "a\r\n\r\nGET /x HTTP/1.1\r\nhost: a"}},
	}
	client := dialRaw(t, address)
	_ = client.conn.SetDeadline(time.Now().Add(time.Minute))
	for service, list := range attacks {
		for _, o := range list {
			if status, body := client.send(fmt.Sprintf("GET /%s HTTP/1.1\r\nhost: a\r\n%s\r\n", service, o.header())); status != 500 {
				t.Errorf("%s %+v: %d %q", service, o, status, body)
			}
			if status, body := client.send("GET /calm HTTP/1.1\r\nhost: a\r\n\r\n"); status != 200 || body != calmBody {
				t.Fatalf("%s %+v: the next request gets %d %q", service, o, status, body)
			}
		}
	}
	for _, got := range backend.take() {
		if fault := framingFault(got); fault != "" || !strings.HasPrefix(got.head, "GET /calm ") {
			t.Errorf("the backend gets %q: %s", got.head, fault)
		}
	}
}

// hostileOrders are the headers that a message must not get, at all places of a service.
func hostileOrders() (all []orders) {
	headers := []orders{
		{Name: "content-length", Value: "0"}, {Name: "content-length", Value: "3"}, {Name: "Content-Length", Value: "50"},
		{Name: "transfer-encoding", Value: "chunked"}, {Name: "transfer-encoding", Value: "identity"}, {Name: "connection", Value: "close"}, {Name: "connection", Value: "x-orders"},
		{Name: "upgrade", Value: "h2c"}, {Name: "te", Value: "chunked"}, {Name: "trailer", Value: "content-length"}, {Name: "expect", Value: "100-continue"},
		{Name: "x-a", Value: "a\r\ncontent-length: 0"}, {Name: "x-a", Value: "a\r\n\r\n" + evilBody}, {Name: "x-a", Value: "a\nx-b: b"}, {Name: "x-a", Value: "a\x00b"}, {Name: "x-a\r\nx-b", Value: "b"}, {Name: "x b", Value: "b"},
		{Name: ":method", Value: "HEAD"}, {Name: ":method", Value: "CONNECT"}, {Name: ":status", Value: "204"}, {Name: ":status", Value: "304"}, {Name: ":status", Value: "101"}, {Name: ":status", Value: "100"},
		{Name: ":path", Value: "/calm HTTP/1.1\r\nx-b: b\r\n\r\nGET /x"}, {Name: ":authority", Value: "b"}, {Name: "host", Value: "b"}, {Name: "content_length", Value: "50"},
	}
	for _, place := range []string{"request set", "request append", "request remove", "response set", "response append", "response remove", "denied set", "denied append"} {
		for _, o := range headers {
			o.Place, o.Body = place, evilBody
			all = append(all, o)
		}
	}
	return all
}

// framingFault tells what is wrong with a request of this test that a backend got: it
// has no body and no headers of the connection.
func framingFault(got rawRequest) string {
	head := strings.ToLower(got.head)
	for _, bad := range []string{"\nx-b:", "\ncontent-length:", "\ncontent_length:", "\ntransfer-encoding:", "\nconnection:", "\nupgrade:", "\nte:", "\ntrailer:", "\nexpect:", "\nhost: b", "head ", "connect "} {
		if strings.Contains(head, bad) {
			return fmt.Sprintf("the backend gets %q with %q", bad, got.head)
		}
	}
	if got.fault != "" || got.body != "" || !strings.HasPrefix(got.head, "GET /") {
		return fmt.Sprintf("the backend gets %+v", got)
	}
	return ""
}

// TestFiltersCannotBreakFraming has one team write the filters that split answers and smuggle
// requests. Each rule answers 500, and the next request on the same connection is served.
func TestFiltersCannotBreakFraming(t *testing.T) {
	backend := startRawBackend(t)
	files := hostileFolder(backend.port(), startHostileService(t))
	filters := []string{
		`{type: ResponseHeaderModifier, responseHeaderModifier: {set: [{name: content-length, value: "0"}]}}`,
		`{type: ResponseHeaderModifier, responseHeaderModifier: {set: [{name: CONTENT-LENGTH, value: "3"}]}}`,
		`{type: ResponseHeaderModifier, responseHeaderModifier: {remove: [Content-Length], add: [{name: x-a, value: b}]}}`,
		`{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: Content-Length, value: "50"}]}}`,
		`{type: RequestHeaderModifier, requestHeaderModifier: {add: [{name: transfer-encoding, value: chunked}]}}`,
		`{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: expect, value: 100-continue}]}}`,
		`{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: content_length, value: "50"}]}}`,
	}
	var rules strings.Builder
	for i, filter := range filters {
		fmt.Fprintf(&rules, "  - {matches: [{path: {value: /f%d}}], filters: [%s], backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: a}]}\n", i, filter)
	}
	files["filters.yaml"] = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: filters}\nspec:\n  parentRefs: [{name: eg}]\n  rules:\n" + rules.String()
	run := startCase(t, &cases.Case{Name: "filters"})
	run.apply(cases.Step{Files: files})
	address := run.address + ":8080"
	run.envoy.WaitListener(address)
	client := dialRaw(t, address)
	_ = client.conn.SetDeadline(time.Now().Add(time.Minute))
	for i, filter := range filters {
		if status, body := client.send(fmt.Sprintf("GET /f%d HTTP/1.1\r\nhost: a\r\n\r\n", i)); status != 500 {
			t.Errorf("%s: %d %q", filter, status, body)
		}
		if status, body := client.send("GET /calm HTTP/1.1\r\nhost: a\r\n\r\n"); status != 200 || body != calmBody {
			t.Errorf("%s: the next request gets %d %q", filter, status, body)
		}
	}
	for _, got := range backend.take() {
		if fault := framingFault(got); fault != "" || !strings.HasPrefix(got.head, "GET /calm ") {
			t.Errorf("the backend gets %q: %s", got.head, fault)
		}
	}
}
