package xds

import (
	"bytes"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatefold/gatefold/translate/ir"
)

func prefixRule(prefix string, action ir.Action) *ir.Rule {
	return &ir.Rule{
		Name: "HTTPRoute/n/r/0/0", Position: []int{2, 1}, Source: &ir.Origin{},
		Match:  ir.Match{Path: ir.Path{Kind: ir.PathPrefix, Value: prefix}},
		Action: action,
	}
}

func forwardTo(backends ...ir.Backend) ir.Action {
	return ir.Action{Forward: &ir.Forward{Backends: backends}}
}

func decodeRoute(t *testing.T, rule *ir.Rule) *routev3.Route {
	t.Helper()
	body, problems := Route(rule)
	if len(problems) > 0 {
		t.Fatalf("refused: %+v", problems)
	}
	route := &routev3.Route{}
	decode(t, body, route)
	return route
}

func decode(t *testing.T, body []byte, message interface {
	proto.Message
	ValidateAll() error
}) {
	t.Helper()
	if err := proto.Unmarshal(body, message); err != nil {
		t.Fatal(err)
	}
	if err := message.ValidateAll(); err != nil {
		t.Fatal(err)
	}
}

func TestRouteConfigurationEqualsTheWholeMessage(t *testing.T) {
	whole := routeSettings()
	whole.Name = "n/g/http"
	var hosts []Host
	for _, domain := range []string{"*", "empty.test"} {
		host := &routev3.VirtualHost{Name: domain, Domains: []string{domain}}
		var routes [][]byte
		for _, path := range []string{"/a", "/" + strings.Repeat("b", 300)} {
			if domain == "empty.test" {
				continue
			}
			rule := prefixRule(path, forwardTo(ir.Backend{Cluster: "c", Weight: 1}))
			body, _ := Route(rule)
			routes, host.Routes = append(routes, body), append(host.Routes, decodeRoute(t, rule))
		}
		hosts, whole.VirtualHosts = append(hosts, VirtualHost(domain, nil, routes)), append(whole.VirtualHosts, host)
	}
	got := RouteConfiguration("n/g/http", hosts)
	if !bytes.Equal(got.Body, marshal(whole)) {
		t.Error("the joined encoding differs from the message's own")
	}
	if other := RouteConfiguration("n/g/http", hosts[:1]); other.Version == got.Version || len(got.Version) != 32 {
		t.Errorf("versions %q and %q", got.Version, other.Version)
	}
}

func TestForwardWeights(t *testing.T) {
	mods := &ir.HeaderMods{Set: []ir.Header{{Name: "x-a", Value: "100%"}}}
	tests := []struct {
		name     string
		backends []ir.Backend
		status   uint32   // direct response
		cluster  string   // single
		weighted []string // names
	}{
		{name: "none", status: 500},
		{name: "all zero", backends: []ir.Backend{{Cluster: "a"}, {Cluster: "b"}}, status: 500},
		{name: "unresolved", backends: []ir.Backend{{Weight: 1}, {Cluster: "b"}}, status: 500},
		{name: "one", backends: []ir.Backend{{Cluster: "a", Weight: 3}, {Cluster: "b"}}, cluster: "a"},
		{name: "two", backends: []ir.Backend{{Cluster: "a", Weight: 3}, {Weight: 1}}, weighted: []string{"a", NoCluster}},
		{name: "own headers", backends: []ir.Backend{{Cluster: "a", Weight: 1, RequestHeaders: mods}}, weighted: []string{"a"}},
	}
	for _, test := range tests {
		route := decodeRoute(t, prefixRule("/a", forwardTo(test.backends...)))
		if got := route.GetDirectResponse().GetStatus(); got != test.status {
			t.Errorf("%s: status %d", test.name, got)
		}
		if got := route.GetRoute().GetCluster(); got != test.cluster {
			t.Errorf("%s: cluster %q", test.name, got)
		}
		var names []string
		for _, weight := range route.GetRoute().GetWeightedClusters().GetClusters() {
			names = append(names, weight.Name)
			if len(weight.RequestHeadersToAdd) > 0 && weight.RequestHeadersToAdd[0].Header.Value != "100%%" {
				t.Errorf("%s: header value %q is not escaped", test.name, weight.RequestHeadersToAdd[0].Header.Value)
			}
		}
		if strings.Join(names, " ") != strings.Join(test.weighted, " ") {
			t.Errorf("%s: weighted %q", test.name, names)
		}
		if route.GetRoute() != nil && route.GetRoute().ClusterNotFoundResponseCode != routev3.RouteAction_INTERNAL_SERVER_ERROR {
			t.Errorf("%s: an unknown cluster does not answer 500", test.name)
		}
	}
}

func TestTimeouts(t *testing.T) {
	duration := func(d time.Duration) *time.Duration { return &d }
	tests := []struct {
		name             string
		request, backend *time.Duration
		retry            bool
		timeout, perTry  time.Duration
		idle             time.Duration // -1: the listener's
	}{
		{name: "unset", idle: -1},
		{name: "request", request: duration(time.Second), timeout: time.Second, idle: -1},
		{name: "backend only", backend: duration(2 * time.Second), timeout: 2 * time.Second, idle: -1},
		{name: "smaller wins", request: duration(3 * time.Second), backend: duration(2 * time.Second), timeout: 2 * time.Second, idle: -1},
		{name: "none is no limit", request: duration(0), backend: duration(2 * time.Second), timeout: 2 * time.Second, idle: -1},
		{name: "long", request: duration(time.Hour), timeout: time.Hour, idle: time.Hour},
		{name: "no limit", request: duration(0)},
		{name: "per try", request: duration(3 * time.Second), backend: duration(2 * time.Second), retry: true, timeout: 3 * time.Second, perTry: 2 * time.Second, idle: -1},
	}
	for _, test := range tests {
		action := forwardTo(ir.Backend{Cluster: "a", Weight: 1})
		action.RequestTimeout, action.BackendTimeout = test.request, test.backend
		if test.retry {
			action.Retry = &ir.Retry{Codes: []uint32{503}, Attempts: 2, Backoff: 10 * time.Millisecond}
		}
		route := decodeRoute(t, prefixRule("/", action)).GetRoute()
		idle := time.Duration(-1)
		if route.IdleTimeout != nil {
			idle = route.IdleTimeout.AsDuration()
		}
		perTry := route.GetRetryPolicy().GetPerTryTimeout().AsDuration()
		if route.Timeout.AsDuration() != test.timeout || perTry != test.perTry || idle != test.idle {
			t.Errorf("%s: timeout %s, per try %s, idle %s", test.name, route.Timeout.AsDuration(), perTry, idle)
		}
	}
}

// Envoy counts nanoseconds in 64 bits and rejects a table with a longer wait.
func TestLongestBackoff(t *testing.T) {
	action := forwardTo(ir.Backend{Cluster: "a", Weight: 1})
	action.Retry = &ir.Retry{Attempts: 1, Backoff: 4 * 99999 * time.Hour} // the longest of the schema
	backoff := decodeRoute(t, prefixRule("/", action)).GetRoute().GetRetryPolicy().GetRetryBackOff()
	least, most := backoff.GetBaseInterval().AsDuration(), backoff.GetMaxInterval().AsDuration()
	if least != action.Retry.Backoff || most < least || most > 1<<62 {
		t.Errorf("from %s to %s", least, most)
	}
}

func TestRefused(t *testing.T) {
	plain := forwardTo(ir.Backend{Cluster: "a", Weight: 1})
	header := func(name, value string) ir.Action {
		action := plain
		action.RequestHeaders = &ir.HeaderMods{Set: []ir.Header{{Name: name, Value: value}}}
		return action
	}
	pathRegex := func(pattern string) *ir.Rule {
		rule := prefixRule("/", plain)
		rule.Match.Path = ir.Path{Kind: ir.PathRegex, Value: pattern}
		return rule
	}
	badHeader := prefixRule("/", plain)
	badHeader.Match.Headers = []ir.ValueMatch{{Name: "a b", Value: "x"}}
	tests := []struct {
		rule    *ir.Rule
		field   string // "" when the rule is fine
		message string
		closed  bool // a 500 can stand in its place
	}{
		{rule: prefixRule("/a", plain)},
		{rule: pathRegex("/x/[a-z]{32}")},
		{rule: pathRegex("(("), field: "spec.rules[2].matches[1].path.value", message: "missing"},
		{rule: pathRegex(`/[\x{100}-\x{10FFFF}]`), field: "spec.rules[2].matches[1].path.value", message: `\x{100}`},
		{rule: pathRegex(`/\x{0000FF}\377\\400\pL\p{Lu}\P{^Greek}\p{Any}`)},
		{rule: pathRegex(`/\Q\p{foo}\x{100}\E\Q\400`)},
		{rule: pathRegex(`/\Qa\E\p{LC}`), field: "spec.rules[2].matches[1].path.value", message: `\p{LC}`},
		{rule: pathRegex(`/\\Q\p{LC}`), field: "spec.rules[2].matches[1].path.value", message: `\p{LC}`},
		{rule: pathRegex(`/\400`), field: "spec.rules[2].matches[1].path.value", message: `\400`},
		{rule: pathRegex(`/[\p{Letter}]`), field: "spec.rules[2].matches[1].path.value", message: `\p{Letter}`},
		{rule: pathRegex(`/\P{^greek}`), field: "spec.rules[2].matches[1].path.value", message: `\P{^greek}`},
		{rule: pathRegex(`/\p{LC}`), field: "spec.rules[2].matches[1].path.value", message: `\p{LC}`},
		{rule: pathRegex(""), field: "spec.rules[2].matches[1].path.value", message: "empty"},
		{rule: pathRegex(strings.Repeat("a", 1025)), field: "spec.rules[2].matches[1].path.value", message: "1024"},
		{rule: pathRegex("/a{1000}b{1000}c{1000}d{1000}e{1000}"), field: "spec.rules[2].matches[1].path.value", message: "instructions"},
		{rule: prefixRule("a", plain), field: "spec.rules[2].matches[1].path.value", message: "slash"},
		{rule: badHeader, field: "spec.rules[2].matches[1].headers[0].name", message: "legal"},
		{rule: prefixRule("/", header("host", "x")), field: "spec.rules[2].filters", message: "Host", closed: true},
		{rule: prefixRule("/", header(":path", "x")), field: "spec.rules[2].filters", message: "legal", closed: true},
		{rule: prefixRule("/", header("x", "a\r\nb")), field: "spec.rules[2].filters", message: "line break", closed: true},
		{rule: prefixRule("/", header("x", strings.Repeat("%", 9000))), field: "spec.rules[2].filters", message: "16384", closed: true},
		{rule: prefixRule("/", ir.Action{Redirect: &ir.Redirect{Status: 305}}), field: "spec.rules[2].filters", message: "305", closed: true},
		{rule: prefixRule("/", ir.Action{Redirect: &ir.Redirect{Status: 302, Path: &ir.PathChange{Full: true, Value: ".evil.test"}}}), field: "spec.rules[2].filters", message: "slash", closed: true},
		{rule: prefixRule("/", ir.Action{Respond: &ir.Respond{Status: 99}}), field: "spec.rules[2]", message: "Status", closed: true},
		{rule: prefixRule("/", forwardTo(ir.Backend{Cluster: "a", Weight: 1 << 31}, ir.Backend{Cluster: "b", Weight: 1 << 31})), field: "spec.rules[2].backendRefs", message: "weights", closed: true},
	}
	for i, test := range tests {
		body, problems := Route(test.rule)
		if test.field == "" {
			if body == nil || problems != nil {
				t.Errorf("%d: refused: %+v", i, problems)
			}
			continue
		}
		if body != nil || len(problems) != 1 || problems[0].Field != test.field || !strings.Contains(problems[0].Message, test.message) {
			t.Errorf("%d: want a problem at %s of %q, got %+v", i, test.field, test.message, problems)
		}
		if _, problems := Route(Closed(test.rule)); (problems == nil) != test.closed {
			t.Errorf("%d: the 500 in its place: %+v", i, problems)
		}
	}
}

func TestListener(t *testing.T) {
	listener := &listenerv3.Listener{}
	decode(t, Listener(&ir.Port{Name: "n/g/http-80", Addresses: []string{"0.0.0.0", "::"}, Port: 80, Chains: []ir.Chain{{RouteConfig: "r"}}}).Body, listener)
	if len(listener.AdditionalAddresses) != 1 {
		t.Fatalf("addresses: %v", listener)
	}
	second := listener.AdditionalAddresses[0].Address.GetSocketAddress()
	if second.Address != "::" || second.Ipv4Compat || second.GetPortValue() != 80 {
		t.Errorf("second address: %v", second)
	}
	if listener.EnableReusePort != nil {
		t.Error("Envoy is told how to share the port")
	}
	decode(t, Listener(&ir.Port{Name: "n/g/http-80", Addresses: []string{"0.0.0.0"}, Port: 80, Exclusive: true}).Body, listener)
	if reuse := listener.EnableReusePort; reuse == nil || reuse.Value {
		t.Errorf("an exclusive port has enable_reuse_port %v", reuse)
	}
}

func TestCluster(t *testing.T) {
	endpoints := []ir.Endpoint{{Host: "10.0.0.1", Port: 80}, {Host: "10.0.0.2", Port: 80, Draining: true}}
	eds := &ir.Cluster{Name: "c", Discovery: ir.EDS, Endpoints: endpoints, HTTP2: true}
	cluster, assignment := &clusterv3.Cluster{}, &endpointv3.ClusterLoadAssignment{}
	decode(t, Cluster(eds).Body, cluster)
	if cluster.LoadAssignment != nil || cluster.EdsClusterConfig.EdsConfig.InitialFetchTimeout.AsDuration() != edsTimeout {
		t.Errorf("EDS: %v", cluster)
	}
	if cluster.TypedExtensionProtocolOptions[httpOptions] == nil {
		t.Error("h2c is not asked for")
	}
	resource, ok := Assignment(eds)
	if !ok {
		t.Fatal("no assignment")
	}
	decode(t, resource.Body, assignment)
	if got := assignment.Endpoints[0].LbEndpoints[1].HealthStatus; got != corev3.HealthStatus_DRAINING {
		t.Errorf("draining endpoint: %s", got)
	}
	static := &ir.Cluster{Name: "c", Endpoints: endpoints}
	if _, ok := Assignment(static); ok {
		t.Error("a static cluster has an assignment")
	}
	decode(t, Cluster(static).Body, cluster)
	if len(cluster.LoadAssignment.Endpoints[0].LbEndpoints) != 2 {
		t.Errorf("static: %v", cluster)
	}
}

func BenchmarkRoute(b *testing.B) {
	rule := prefixRule("/a", forwardTo(ir.Backend{Cluster: "a", Weight: 1}))
	b.ReportAllocs()
	for b.Loop() {
		if _, problems := Route(rule); problems != nil {
			b.Fatal(problems)
		}
	}
}
